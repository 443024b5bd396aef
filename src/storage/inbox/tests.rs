use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::time::SystemTime;

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::storage::random::ulid;

fn project() -> (TempDir, Paths) {
    let home = TempDir::new().unwrap();
    let paths = Paths::at(home.path());
    paths.prepare_local().unwrap();
    (home, paths)
}

fn id() -> CompletionId {
    ulid(Timestamp::now()).unwrap()
}

fn item(name: impl Into<OsString>) -> InboxFile {
    InboxFile::dropped(name.into())
}

/// Writes a file with a modification time of that long ago.
fn put(folder: &Path, name: impl AsRef<OsStr>, text: &str, age: Duration) {
    let file = folder.join(name.as_ref());
    fs::write(&file, text).unwrap();
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(SystemTime::now() - age)
        .unwrap();
}

fn scan(paths: &Paths) -> Vec<Candidate> {
    Inbox::at(paths).scan(Timestamp::now(), &|_| Witnessed::Nothing).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn take_one(inbox: &Inbox<'_>, name: &str) -> InboxFile {
    inbox.take(&item(name), &id(), None).unwrap().unwrap()
}

const OLD: Duration = Duration::from_mins(1);

#[test]
fn half_a_file_is_never_ready() {
    let (_home, paths) = project();
    put(&paths.inbox(), "fresh.yaml", "task: AOF-a", Duration::ZERO);
    put(&paths.inbox(), "quiet.yaml", "task: AOF-abc", QUIET);
    put(&paths.inbox(), "fresh.exe", "", Duration::ZERO);
    fs::File::create(paths.inbox().join("ahead.yaml"))
        .unwrap()
        .set_modified(SystemTime::now() + OLD)
        .unwrap();
    let classes: BTreeMap<_, _> =
        scan(&paths).into_iter().map(|c| (c.file.file, c.class)).collect();
    assert_eq!(classes[OsStr::new("fresh.yaml")], FileClass::Growing);
    assert_eq!(classes[OsStr::new("fresh.exe")], FileClass::Growing);
    assert_eq!(classes[OsStr::new("quiet.yaml")], FileClass::Ready);
    assert_eq!(classes[OsStr::new("ahead.yaml")], FileClass::Ready);
    // The rename or the closing of the file was seen; a closed file may still be incomplete until it has been quiet.
    for (witnessed, class) in
        [(Witnessed::Renamed, FileClass::Ready), (Witnessed::Closed, FileClass::Closed)]
    {
        let seen = Inbox::at(&paths).scan(Timestamp::now(), &|_| witnessed).unwrap();
        let class_of = |name: &str| &seen.iter().find(|c| c.file.file == name).unwrap().class;
        assert_eq!(*class_of("fresh.yaml"), class);
        assert_eq!(*class_of("quiet.yaml"), FileClass::Ready);
        assert!(matches!(class_of("fresh.exe"), FileClass::Odd(_)));
    }
}

#[test]
fn the_oldest_comes_first() {
    let (_home, paths) = project();
    for (name, seconds) in [("c.yaml", 30), ("a.yaml", 10), ("b.md", 20), ("d.json", 40)] {
        put(&paths.inbox(), name, "x", Duration::from_secs(seconds));
    }
    let time = SystemTime::now() - OLD;
    for name in ["twin-b.yml", "twin-a.yml"] {
        fs::File::create(paths.inbox().join(name)).unwrap().set_modified(time).unwrap();
    }
    let order: Vec<_> = scan(&paths).into_iter().map(|c| c.file.file).collect();
    assert_eq!(order, ["twin-a.yml", "twin-b.yml", "d.json", "c.yaml", "b.md", "a.yaml"]);
}

#[test]
fn oddities_are_reported_without_being_opened() {
    let (_home, paths) = project();
    let inbox = paths.inbox();
    put(&inbox, "good.yaml", "x", OLD);
    put(&inbox, "notes.txt", "x", OLD);
    put(&inbox, "-rf", "x", OLD);
    put(&inbox, ".good.yaml.swp", "x", OLD);
    put(&inbox, "line\nbreak.yaml", "x", OLD);
    put(&inbox, OsStr::from_bytes(b"\xFF.yaml"), "x", OLD);
    put(&inbox, "huge.yaml", &"x".repeat(1024 * 1024 + 1), OLD);
    let long = format!("{}.yaml", "x".repeat(116));
    put(&inbox, &long, "x", OLD);
    put(&inbox, "twice.yaml", "x", OLD);
    fs::hard_link(inbox.join("twice.yaml"), inbox.join("twin.yaml")).unwrap();
    fs::create_dir(inbox.join("folder.yaml")).unwrap();
    symlink("/etc/passwd", inbox.join("link.yaml")).unwrap();
    let pipe = std::process::Command::new("mkfifo").arg(inbox.join("pipe.yaml")).status();
    assert!(pipe.unwrap().success());

    let classes: BTreeMap<_, _> = scan(&paths)
        .into_iter()
        .map(|c| (c.file.file.to_string_lossy().into_owned(), c.class))
        .collect();
    for (name, word) in [
        ("notes.txt", "must end in"),
        ("-rf", "must end in"),
        ("\u{FFFD}.yaml", "UTF-8"),
        ("huge.yaml", "1048577 bytes"),
        (&long, "too long"),
        ("twice.yaml", "hard link"),
        ("twin.yaml", "hard link"),
        ("folder.yaml", "a folder"),
        ("link.yaml", "a symbolic link"),
        ("pipe.yaml", "a pipe"),
    ] {
        assert!(matches!(&classes[name], FileClass::Odd(why) if why.contains(word)), "{name}");
    }
    let odd = classes.values().filter(|class| matches!(class, FileClass::Odd(_))).count();
    assert_eq!((odd, &classes[".good.yaml.swp"]), (10, &FileClass::Ignored));
    assert_eq!([&classes["good.yaml"], &classes["line\nbreak.yaml"]], [&FileClass::Ready; 2]);

    // All of them can be refused, of any kind; no link's target is touched.
    for candidate in scan(&paths) {
        if let FileClass::Odd(oddity) = candidate.class {
            let reason = json!({"error": "odd_file", "message": oddity});
            Inbox::at(&paths).refuse(&candidate.file, &reason).unwrap().unwrap();
        }
    }
    assert_eq!(names(&inbox), [".good.yaml.swp", ".taken", "good.yaml", "line\nbreak.yaml"]);
    assert_eq!(names(&paths.root().join(REFUSED)).len(), 20);
    assert!(
        fs::symlink_metadata(paths.root().join(REFUSED).join("link.yaml")).unwrap().is_symlink()
    );
}

#[test]
fn a_taken_file_keeps_its_id_over_a_crash() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    fs::write(paths.inbox().join("done.yaml"), b"task: AOF-abc").unwrap();
    let taken = take_one(&inbox, "done.yaml");
    assert_eq!(names(&paths.inbox()), [".taken"]);
    // A kill here; the next command continues.
    assert_eq!(inbox.taken().unwrap(), std::slice::from_ref(&taken));
    assert_eq!((taken.name.as_str(), taken.is_taken()), ("done.yaml", true));
    let open = inbox.open(&taken).unwrap().unwrap();
    assert_eq!(open.bytes, b"task: AOF-abc");
    inbox.remove_counted(&taken, &open).unwrap();
    inbox.remove_counted(&taken, &open).unwrap();
    assert_eq!(inbox.taken().unwrap(), []);
    assert!(inbox.open(&taken).unwrap().is_none());
}

#[test]
fn one_at_a_time_works_on_a_taken_file() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    fs::write(paths.inbox().join("done.yaml"), b"one").unwrap();
    let taken = take_one(&inbox, "done.yaml");
    let held = inbox.open(&taken).unwrap().unwrap();
    assert!(inbox.open(&taken).unwrap().is_none(), "somebody has it");
    drop(held);
    let held = inbox.open(&taken).unwrap().unwrap();
    inbox.refuse(&taken, &json!({})).unwrap().unwrap();
    assert!(inbox.open(&taken).unwrap().is_none(), "it is gone");
    drop(held);
    // A new file of the same name is locked separately.
    fs::write(paths.taken().join(&taken.file), b"two").unwrap();
    assert!(inbox.open(&taken).unwrap().is_some());
}

#[test]
fn another_file_in_its_place_is_not_settled() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    fs::write(paths.inbox().join("done.yaml"), b"one").unwrap();
    let taken = take_one(&inbox, "done.yaml");
    let open = inbox.open(&taken).unwrap().unwrap();
    let place = paths.taken().join(&taken.file);
    fs::write(paths.taken().join("other"), b"two").unwrap();
    fs::rename(paths.taken().join("other"), &place).unwrap();
    assert!(matches!(inbox.remove_counted(&taken, &open), Err(StoreError::Changed { .. })));
    assert_eq!(fs::read(&place).unwrap(), b"two");
}

#[test]
fn of_many_takers_one_gets_each_file() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    let files: Vec<String> = (0..20).map(|n| format!("{n}.yaml")).collect();
    for file in &files {
        put(&paths.inbox(), file, "x", OLD);
    }
    let counts: Vec<usize> = std::thread::scope(|scope| {
        let takers: Vec<_> = (0..4)
            .map(|_| {
                let (inbox, files) = (&inbox, &files);
                scope.spawn(move || {
                    let take = |file: &&String| inbox.take(&item(file), &id(), None).unwrap();
                    files.iter().filter(|file| take(file).is_some()).count()
                })
            })
            .collect();
        takers.into_iter().map(|taker| taker.join().unwrap()).collect()
    });
    assert_eq!(counts.iter().sum::<usize>(), 20, "{counts:?}");
    assert_eq!(inbox.taken().unwrap().len(), 20);
}

#[test]
fn a_refused_file_lies_beside_its_reason() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    let reason = json!({"error": "unknown_outcome", "message": "no outcome `done`"});
    let mut places = Vec::new();
    for text in ["one", "two"] {
        fs::write(paths.inbox().join("done.yaml"), text.as_bytes()).unwrap();
        let taken = take_one(&inbox, "done.yaml");
        places.push(inbox.refuse(&taken, &reason).unwrap().unwrap());
        assert_eq!(inbox.refuse(&taken, &reason).unwrap(), None);
    }
    // A kill left the reason, and not the file: it is refused for the same reason again.
    fs::write(paths.root().join(REFUSED).join("done-3.yaml.reason.json"), format!("{reason:#}\n"))
        .unwrap();
    put(&paths.inbox(), "done.yaml", "three", OLD);
    let again = inbox.refuse(&item("done.yaml"), &reason).unwrap().unwrap();
    assert_eq!(again, paths.root().join(REFUSED).join("done-3.yaml"));
    // A name that everyone uses.
    for number in 0..12 {
        put(&paths.inbox(), "done.yaml", &number.to_string(), OLD);
        inbox.refuse(&item("done.yaml"), &reason).unwrap().unwrap();
    }
    assert_eq!(
        places,
        [
            paths.root().join(REFUSED).join("done.yaml"),
            paths.root().join(REFUSED).join("done-2.yaml")
        ]
    );
    assert_eq!(fs::read(&places[0]).unwrap(), b"one");
    assert_eq!(fs::read(&places[1]).unwrap(), b"two");
    let written = fs::read(paths.root().join(REFUSED).join("done.yaml.reason.json")).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&written).unwrap(), reason);
    let all = names(&paths.root().join(REFUSED));
    assert_eq!(all.len(), 30);
    for name in all.iter().filter(|name| !name.ends_with(REASON)) {
        assert!(all.contains(&format!("{name}{REASON}")), "{name}");
    }
    assert_eq!(inbox.taken().unwrap(), []);
}

#[test]
fn a_reason_left_by_a_crash_is_not_given_to_another_file() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    fs::write(paths.root().join(REFUSED).join("done.yaml.reason.json"), b"{}").unwrap();
    put(&paths.inbox(), "done.yaml", "x", OLD);
    let place = inbox.refuse(&item("done.yaml"), &json!({"error": "e"})).unwrap().unwrap();
    assert!(place.ends_with("done-2.yaml"), "{}", place.display());
    assert!(paths.root().join(REFUSED).join("done-2.yaml.reason.json").exists());
}

#[test]
fn strangers_among_the_taken_files_are_seen() {
    let (_home, paths) = project();
    fs::write(paths.taken().join("put here by hand.yaml"), b"x").unwrap();
    let inbox = Inbox::at(&paths);
    let taken = inbox.taken().unwrap();
    let [stranger] = taken.as_slice() else { panic!("{taken:?}") };
    assert_eq!(stranger.id, None);
    let place = inbox.refuse(stranger, &json!({})).unwrap().unwrap();
    assert_eq!(place, paths.root().join(REFUSED).join("put here by hand.yaml"));
}

#[test]
fn a_name_as_long_as_can_be_is_refused_under_a_part_of_it() {
    let (_home, paths) = project();
    for name in
        [OsString::from(format!("{}.yaml", "é".repeat(125))), OsString::from_vec(vec![0xFF; 255])]
    {
        put(&paths.inbox(), &name, "x", OLD);
        Inbox::at(&paths).refuse(&item(name), &json!({})).unwrap().unwrap();
    }
    assert_eq!(names(&paths.inbox()), [".taken"]);
    assert_eq!(names(&paths.root().join(REFUSED)).len(), 4);
}

#[test]
fn a_taken_file_keeps_which_visit_it_means_and_is_refused_under_its_own_name() {
    let (_home, paths) = project();
    let inbox = Inbox::at(&paths);
    let long = format!("{}.yaml", "x".repeat(115));
    for (name, branch) in [("done.yaml", None), (&*long, Some("security"))] {
        put(&paths.inbox(), name, "x", OLD);
        let taken = take_one(&inbox, name);
        let mark = VisitMark { visit: 3, branch: branch.map(|branch| branch.parse().unwrap()) };
        inbox.mark(&mut taken.clone(), &mark).unwrap();
        // The file no longer has its old name.
        inbox.mark(&mut taken.clone(), &mark).unwrap();
        let [left] = &inbox.taken().unwrap()[..] else { panic!("{name}") };
        assert_eq!((&left.id, left.visit.as_ref()), (&taken.id, Some(&mark)));
        assert_eq!(left.name, name);
        assert_eq!(inbox.open(left).unwrap().unwrap().bytes, b"x");
        let refused = inbox.refuse(left, &json!({})).unwrap().unwrap();
        assert!(
            refused.file_name().unwrap().to_str().unwrap().starts_with(&name[..4]),
            "{refused:?}"
        );
    }
}

#[test]
fn a_mark_is_read_as_it_was_written_and_no_other_name_is_one() {
    for (visit, branch) in [(0, None), (3, Some("security")), (usize::MAX, Some("a-b_c"))] {
        let mark = VisitMark { visit, branch: branch.map(|branch| branch.parse().unwrap()) };
        for name in ["done.yaml", "a@b@c.yaml", ".odd", ""] {
            assert_eq!(VisitMark::split(&format!("{mark}{name}")), (Some(mark.clone()), name));
        }
    }
    for name in [
        "done.yaml",
        "3@@done.yaml",
        ".3@done.yaml",
        ".x@@done.yaml",
        ".+3@@done.yaml",
        ".@@x",
        ".3@a b@x",
    ] {
        assert_eq!(VisitMark::split(name), (None, name));
    }
}
