use tempfile::TempDir;

use super::*;

/// Returns a new stream with three lines, and its writer.
fn begun(home: &TempDir) -> (EventStream, StreamWriter) {
    let stream = EventStream::at(&Paths::at(home.path()));
    let writer = stream.writing().unwrap().unwrap();
    let mut record = StreamRecord { kept: 7_u32, ..StreamRecord::default() };
    writer.append(&mut record, b"one\n").unwrap();
    writer.append(&mut record, b"two\nthree\n").unwrap();
    (stream, writer)
}

fn text(home: &TempDir) -> String {
    fs::read_to_string(home.path().join(".aof/events.jsonl")).unwrap()
}

fn settled(writer: &StreamWriter) -> Option<(u64, Vec<String>)> {
    match writer.recover::<u32>(&|line| line.starts_with("again")).unwrap() {
        StreamState::Known(record, strays) => Some((record.end.size, strays)),
        StreamState::Lost | StreamState::Missing => None,
    }
}

#[test]
fn behind_the_known_end_rewritten_lines_go_and_lines_of_others_stay() {
    for (added, left, strays) in [
        ("", "", vec![]),
        ("again 1\nagain 2\n", "", vec![]),
        ("agai", "", vec![]),
        ("again 1\ntheirs\nagain 2\ntor", "theirs\n", vec!["theirs\n"]),
    ] {
        let home = TempDir::new().unwrap();
        let (_, writer) = begun(&home);
        let path = home.path().join(".aof/events.jsonl");
        fs::write(&path, format!("{}{added}", text(&home))).unwrap();
        let (at, found) = settled(&writer).unwrap();
        assert_eq!(
            (text(&home), found),
            (format!("one\ntwo\nthree\n{left}"), strays.iter().map(ToString::to_string).collect())
        );
        assert_eq!(at, text(&home).len() as u64);
    }
}

#[test]
fn a_stream_with_a_misplaced_last_line_is_lost() {
    for (now, at) in [
        ("one\ntwo\nthree\n", Some(14)),
        ("One\nTwo\nthree\n", Some(14)),
        ("one\nmore\ntwo\nthree\n", None),
        ("two\nthree\n", None),
        ("one\ntwo\n", None),
        ("one\ntwo\nthre", None),
        ("one\ntwo\n\0\0\0\0\0\0", None),
        ("", None),
    ] {
        let home = TempDir::new().unwrap();
        let (_, writer) = begun(&home);
        fs::write(home.path().join(".aof/events.jsonl"), now).unwrap();
        assert_eq!(settled(&writer).map(|(at, _)| at), at, "{now:?}");
    }
    let home = TempDir::new().unwrap();
    let (_, writer) = begun(&home);
    fs::write(home.path().join(".aof/events/record"), "{").unwrap();
    assert_eq!(settled(&writer), None, "nobody knows how far it goes");
}

#[test]
fn a_reader_notices_another_stream() {
    let home = TempDir::new().unwrap();
    let (stream, writer) = begun(&home);
    assert!(stream.writing().unwrap().is_none(), "one writes at a time");
    let mut reading = stream.open().unwrap().unwrap();
    assert_eq!(reading.line().unwrap().as_deref(), Some("one"));
    let mut rewriting = writer.rewrite().unwrap();
    rewriting.add(b"new\n").unwrap();
    assert!(!reading.is_over(), "it is not whole yet");
    rewriting.finish(8_u32).unwrap();
    assert!(reading.is_over());
    assert_eq!(reading.line().unwrap().as_deref(), Some("two"));
    let (record, is_whole) = stream.record::<u32>().unwrap().unwrap();
    assert_eq!((record.kept, is_whole, text(&home).as_str()), (8, true, "new\n"));
}

#[test]
fn a_part_of_a_line_is_read_when_it_is_whole() {
    let home = TempDir::new().unwrap();
    let (stream, _writer) = begun(&home);
    let mut reading = stream.open().unwrap().unwrap();
    let path = home.path().join(".aof/events.jsonl");
    let whole = text(&home);
    fs::write(&path, format!("{whole}fo")).unwrap();
    let read: Vec<String> = std::iter::from_fn(|| reading.line().unwrap()).collect();
    assert_eq!(read, ["one", "two", "three"]);
    fs::write(&path, format!("{whole}four\n")).unwrap();
    assert_eq!(reading.line().unwrap().as_deref(), Some("four"));
}

#[test]
fn the_first_lines_left_for_the_stream_stay() {
    let home = TempDir::new().unwrap();
    let (stream, writer) = begun(&home);
    let id = EventId::new("one");
    for line in ["first\n", "second\n"] {
        stream.leave(&id, line).unwrap();
    }
    for stranger in [".aof-tmp-x.json", "aof_1.json"] {
        fs::write(home.path().join(".aof/events").join(stranger), "").unwrap();
    }
    fs::create_dir(home.path().join(format!(".aof/events/{}.json", EventId::new("two")))).unwrap();
    let left = stream.left().unwrap();
    assert_eq!(left, [(id.clone(), "first\n".to_owned())]);
    writer.clear(&[id, EventId::new("three")]).unwrap();
    assert_eq!(stream.left().unwrap(), []);
}
