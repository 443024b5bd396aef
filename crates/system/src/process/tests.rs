//! Real children, most of them shells.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::transcript::SHORTEST_SECRET;
use super::*;

/// Longer than any run that is not ended early.
const AGES: Duration = Duration::from_mins(2);
const LIMITS: ProcessLimits =
    ProcessLimits { time: AGES, idle: None, grace: AGES, orphans: Orphans::Killed };
const MIB: usize = 1024 * 1024;

/// Keeps the output; ends the program when the output contains a word.
struct Guest<'a> {
    transcript: Transcript<&'a mut Vec<u8>>,
    word: Option<&'static str>,
}

impl Attendant for Guest<'_> {
    type Reason = &'static str;

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        self.transcript.take(stream, bytes);
    }

    fn wants_end(&mut self) -> Option<&'static str> {
        self.word.filter(|word| self.transcript.last_line().contains(word))
    }
}

struct Seen {
    ended: Ended<&'static str>,
    printed: Printed,
    file: Vec<u8>,
}

impl Seen {
    fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.printed.stdout.bytes).into_owned()
    }
}

fn shell(script: &str, home: &Path) -> Program {
    Program::new(["sh", "-c", script], home).unwrap()
}

fn run_until(program: Program, limits: ProcessLimits, word: Option<&'static str>) -> Seen {
    run_all(program, limits, word, &Secrets::default(), Room::default())
}

fn run_all(
    program: Program,
    limits: ProcessLimits,
    word: Option<&'static str>,
    secrets: &Secrets,
    room: Room,
) -> Seen {
    let mut file = Vec::new();
    let mut guest = Guest { transcript: Transcript::new(&mut file, secrets, room), word };
    let ended = program.start().unwrap().wait(&limits, &mut guest).unwrap();
    let printed = guest.transcript.finish();
    Seen { ended, printed, file }
}

fn run(script: &str, limits: ProcessLimits) -> Seen {
    let home = TempDir::new().unwrap();
    run_until(shell(script, home.path()), limits, None)
}

/// Returns whether the process whose number the script printed is alive.
fn alive(number: &str) -> bool {
    ProcessGroup::of(number.trim().parse().unwrap()).is_some()
}

fn comes_true(mut condition: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    while !condition() {
        if begun.elapsed() > AGES {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}

/// Retries at slower and slower paces, until the machine is fast enough to show the effect.
fn at_some_pace<T>(attempt: impl Fn(Duration) -> Option<T>) -> T {
    let paces = (0..6).map(|slower| Duration::from_millis(50 << (2 * slower)));
    paces.into_iter().find_map(attempt).expect("it is seen at no pace")
}

#[test]
fn a_program_gets_its_words_folder_environment_and_input() {
    let home = TempDir::new().unwrap();
    let script =
        "/bin/pwd -P; echo \"$0|$1|$AOF_X|${AOF_Y:-none}|${HOME-gone}\"; cat; echo said >&2";
    let mut program = shell(script, home.path()).with("AOF_X", "it's\n\"x\"");
    program.arguments.extend(["a b".into(), "$(rm x)".into()]);
    program.removed.push("HOME".to_owned());
    program.input = b"one\ntwo\n".to_vec();
    let seen = run_until(program, LIMITS, None);
    assert_eq!(seen.ended.how, How::Exited(0));
    let home = fs::canonicalize(home.path()).unwrap();
    let expected = format!("{}\na b|$(rm x)|it's\n\"x\"|none|gone\none\ntwo\n", home.display());
    assert_eq!(seen.stdout(), expected);
    assert_eq!(seen.printed.stderr.bytes, b"said\n");
}

#[test]
fn the_way_it_ended_is_reported() {
    assert_eq!(run("exit 0", LIMITS).ended.how, How::Exited(0));
    assert_eq!(run("exit 7", LIMITS).ended.how, How::Exited(7));
    assert_eq!(run("kill -9 $$", LIMITS).ended.how, How::Signalled(9));
    assert_eq!(run("exec >&- 2>&-; exit 5", LIMITS).ended.how, How::Exited(5));
}

#[test]
fn a_program_that_cannot_start_says_why() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("text"), "no program").unwrap();
    let obstacle = |program: Program| {
        program.start().err().map(|fault| (fault.program, fault.obstacle)).unwrap()
    };
    let named = |name: &str| Program::new([name], home.path()).unwrap();
    assert_eq!(
        obstacle(named("aof-no-such-agent")),
        ("aof-no-such-agent".to_owned(), StartObstacle::NotFound)
    );
    assert_eq!(obstacle(named("./text")).1, StartObstacle::NotExecutable);
    assert_eq!(
        obstacle(Program { directory: "/no/such/folder".into(), ..named("sh") }).1,
        StartObstacle::NoDirectory
    );
    let long = Program { arguments: vec!["x".repeat(64 * MIB).into()], ..named("true") };
    assert_eq!(obstacle(long).1, StartObstacle::TooLong);
    assert_eq!(obstacle(named("true").with("A", "nul\0")).1, StartObstacle::System);
    assert!(Program::new(Vec::<String>::new(), home.path()).is_none());
}

#[test]
fn a_secret_is_not_shown_by_accident() {
    let program = Program::new(["sh"], Path::new("/")).unwrap().with("TOKEN", "hunter2hunter2");
    let secrets = Secrets::new([("TOKEN", "hunter2hunter2")]);
    let shown = format!("{program:?} {secrets:?}");
    assert!(shown.contains("TOKEN") && !shown.contains("hunter2"), "{shown}");
}

#[test]
fn an_input_that_is_not_read_does_no_harm_and_a_long_one_gets_there() {
    let home = TempDir::new().unwrap();
    for script in ["exit 0", "exec <&-; echo", "head -c 10 >/dev/null", "sleep 0.01"] {
        let program = Program { input: vec![b'x'; 3 * MIB], ..shell(script, home.path()) };
        assert_eq!(run_until(program, LIMITS, None).ended.how, How::Exited(0), "{script}");
    }
    // It prints while it reads: neither pipe may fill up for good.
    let program = Program { input: vec![b'x'; 3 * MIB], ..shell("tee /dev/stderr", home.path()) };
    let seen = run_until(program, LIMITS, None);
    assert_eq!(
        (seen.printed.stdout.bytes.len(), seen.printed.stderr.bytes.len()),
        (3 * MIB, 3 * MIB)
    );
    let seen = run("cat; echo end", LIMITS);
    assert_eq!(seen.stdout(), "end\n");
}

#[test]
fn the_end_of_its_time_is_the_end_of_its_children() {
    let script = "sh -c 'sleep 600 & echo $!; wait' & sleep 600 & echo $!; wait";
    let numbers = at_some_pace(|time| {
        let seen = run(script, ProcessLimits { time, ..LIMITS });
        assert_eq!(seen.ended.how, How::TimedOut);
        Some(seen.stdout()).filter(|numbers| numbers.lines().count() == 2)
    });
    for number in numbers.lines() {
        assert!(comes_true(|| !alive(number)), "{number} lives");
    }
}

#[test]
fn one_that_ignores_the_polite_signal_gets_the_other() {
    let home = TempDir::new().unwrap();
    let end = |grace| {
        let program = shell(
            "trap 'echo no' TERM; echo ready; while :; do sleep 600 & wait $!; done",
            home.path(),
        );
        let seen = run_until(program, ProcessLimits { grace, ..LIMITS }, Some("ready"));
        assert_eq!(seen.ended.how, How::Stopped("ready"));
        seen.stdout()
    };
    // Its output in the meantime is kept.
    at_some_pace(|grace| (end(grace) == "ready\nno\n").then_some(()));
    assert_eq!(end(Duration::ZERO), "ready\n");
}

#[test]
fn one_that_takes_the_polite_signal_is_not_waited_for_longer() {
    let home = TempDir::new().unwrap();
    let program = shell(
        "trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 600 & wait $!; done",
        home.path(),
    );
    let seen = run_until(program, LIMITS, Some("ready"));
    assert_eq!((seen.ended.how, seen.stdout().as_str()), (How::Stopped("ready"), "ready\nbye\n"));
    let program = shell("echo ready; kill -STOP $$", home.path());
    let seen = run_until(program, LIMITS, Some("ready"));
    assert_eq!(seen.ended.how, How::Stopped("ready"), "suspended, it is ended too");
    assert!(seen.ended.took < AGES);
}

#[test]
fn one_that_is_to_stop_from_the_beginning_is_stopped() {
    let home = TempDir::new().unwrap();
    let seen = run_until(shell("sleep 600", home.path()), LIMITS, Some(""));
    assert_eq!(seen.ended.how, How::Stopped(""));
}

#[test]
fn silence_differs_from_a_long_run() {
    at_some_pace(|idle| {
        let seen = run("echo begun; sleep 600", ProcessLimits { idle: Some(idle), ..LIMITS });
        assert_eq!(seen.ended.how, How::Idle);
        (seen.stdout() == "begun\n").then_some(())
    });
    // Runs longer than the idle limit, but never idle for that long: on stdout, then on stderr.
    at_some_pace(|pause| {
        let pause = pause.as_secs_f64();
        let talk = format!(
            "for i in 1 2 3 4 5; do echo $i; sleep {pause}; echo $i >&2; sleep {pause}; done"
        );
        let idle = Duration::from_secs_f64(pause * 8.0);
        let seen = run(&talk, ProcessLimits { idle: Some(idle), ..LIMITS });
        (seen.ended.how == How::Exited(0) && seen.ended.took > idle).then_some(())
    });
}

#[test]
fn background_processes_end_with_the_run_or_are_spared() {
    // The process holds the pipes in the first case, and not in the second.
    for script in ["sleep 600 & echo $!", "sleep 600 >/dev/null 2>&1 & echo $!"] {
        let seen = run(script, LIMITS);
        assert_eq!(seen.ended.how, How::Exited(0));
        assert!(comes_true(|| !alive(&seen.stdout())), "{script}: it lives");
        let seen = run(script, ProcessLimits { orphans: Orphans::Spared, ..LIMITS });
        assert_eq!(seen.ended.how, How::Exited(0));
        assert!(alive(&seen.stdout()), "{script}: it is gone");
        let number = seen.stdout().trim().parse().unwrap();
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(number).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
    }
}

#[test]
fn a_spared_process_may_go_on_printing() {
    let home = TempDir::new().unwrap();
    let script = "(while [ ! -e go ]; do sleep 0.01; done; head -c 1000000 /dev/zero && echo >done) & exit 0";
    let seen = run_until(
        shell(script, home.path()),
        ProcessLimits { orphans: Orphans::Spared, ..LIMITS },
        None,
    );
    assert_eq!(seen.ended.how, How::Exited(0));
    fs::write(home.path().join("go"), "").unwrap();
    assert!(comes_true(|| home.path().join("done").exists()));
}

#[test]
fn a_process_outside_the_group_delays_no_end() {
    if run("command -v setsid", LIMITS).ended.how != How::Exited(0) {
        return;
    }
    let script = "setsid sh -c 'echo $$ >child; exec sleep 600' & while [ ! -s child ]; do :; done; cat child; exit 4";
    let seen = run(script, LIMITS);
    assert_eq!(seen.ended.how, How::Exited(4));
    let number = seen.stdout().trim().parse().unwrap();
    assert!(ProcessGroup::of(number).expect("it lives").end(Duration::ZERO));
}

#[test]
fn a_gigabyte_is_read_and_little_of_it_is_kept() {
    let home = TempDir::new().unwrap();
    let room = Room { beginning: 1000, end: 2000, each: 3000 };
    let program = shell("echo begin; yes aof | head -c 1000000000; echo end", home.path());
    let seen = run_all(program, LIMITS, None, &Secrets::default(), room);
    assert_eq!(seen.ended.how, How::Exited(0));
    assert_eq!(
        (seen.printed.stdout.bytes.len(), seen.printed.stdout.lost),
        (3000, 1_000_000_010 - 3000)
    );
    let file = String::from_utf8(seen.file.clone()).unwrap();
    assert!(file.starts_with("begin\naof\naof\n") && file.ends_with("aof\nend\n"), "{file}");
    let left_out = 1_000_000_010 - 3000;
    assert_eq!(file.matches(&format!("\n[{left_out} bytes are left out here]\n")).count(), 1);
    let written = seen.printed.file.unwrap();
    assert_eq!((written.bytes, written.left_out), (seen.file.len() as u64, left_out));
    assert!(file.len() < 3100);
}

#[test]
fn one_that_is_dropped_is_ended() {
    let home = TempDir::new().unwrap();
    let running = shell("sleep 600 & echo $! >child; wait", home.path()).start().unwrap();
    let child = || fs::read_to_string(home.path().join("child")).unwrap_or_default();
    assert!(comes_true(|| child().ends_with('\n')));
    let group = running.group().unwrap();
    assert!(group.is_alive());
    drop(running);
    assert!(!group.is_alive() && comes_true(|| !alive(&child())));
}

#[test]
fn a_group_is_known_by_more_than_its_number() {
    let home = TempDir::new().unwrap();
    let running =
        shell("trap '' TERM; sleep 600 & echo $! >child; wait", home.path()).start().unwrap();
    let child = || fs::read_to_string(home.path().join("child")).unwrap_or_default();
    assert!(comes_true(|| child().ends_with('\n')));
    let group = running.group().unwrap();
    let stranger = ProcessGroup { started: "yesterday".to_owned(), ..group.clone() };
    assert!(!stranger.is_alive() && stranger.end(Duration::ZERO));
    assert!(group.is_alive(), "a stranger's end is not its");
    let read: ProcessGroup = serde_json::from_str(&serde_json::to_string(&group).unwrap()).unwrap();
    assert!(read.end(Duration::from_millis(50)) && !group.is_alive());
    assert!(comes_true(|| !alive(&child())));
    assert!(!ProcessGroup { pid: 0, ..group }.is_alive());
}

/// Returns a text masked with all places of secrets known at once.
fn masked(text: &[u8], secrets: &[(&str, &str)]) -> Vec<u8> {
    let mut places: Vec<(usize, usize, &str)> = Vec::new();
    for (name, value) in secrets.iter().filter(|(_, value)| value.len() >= SHORTEST_SECRET) {
        let found =
            text.windows(value.len()).enumerate().filter(|(_, window)| *window == value.as_bytes());
        places.extend(found.map(|(at, _)| (at, at + value.len(), *name)));
    }
    places.sort_by_key(|(start, end, _)| (*start, usize::MAX - end));
    let mut out = Vec::new();
    let mut at = 0;
    let mut places = places.into_iter().peekable();
    while let Some((start, mut end, name)) = places.next() {
        while let Some((_, other, _)) = places.next_if(|(start, ..)| *start < end) {
            end = end.max(other);
        }
        out.extend_from_slice(&text[at..start]);
        out.extend_from_slice(format!("[secret {name}]").as_bytes());
        at = end;
    }
    out.extend_from_slice(&text[at..]);
    out
}

fn kept(pieces: &[&[u8]], secrets: &[(&str, &str)]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut transcript =
        Transcript::new(&mut file, &Secrets::new(secrets.iter().copied()), Room::default());
    for piece in pieces {
        transcript.take(Stream::Stdout, piece);
    }
    let printed = transcript.finish();
    assert_eq!(printed.stdout.bytes, file);
    file
}

proptest! {
    #[test]
    fn a_text_is_masked_the_same_at_any_cut(
        text in "[ab]{0,400}",
        values in proptest::collection::vec("[ab]{6,14}", 0..4),
        cuts in proptest::collection::vec(0_usize..400, 0..12),
    ) {
        let secrets: Vec<(&str, &str)> = ["A", "B", "C", "D"].into_iter().zip(values.iter().map(String::as_str)).collect();
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        let expected = masked(text.as_bytes(), &secrets);
        prop_assert_eq!(String::from_utf8(kept(&pieces, &secrets)), String::from_utf8(expected.clone()));
        let letters: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        prop_assert_eq!(kept(&letters, &secrets), expected);
    }
}

#[test]
fn secrets_are_masked_by_name() {
    let shown = |text: &str, secrets: &[(&str, &str)]| {
        String::from_utf8(kept(&[text.as_bytes()], secrets)).unwrap()
    };
    let secrets = [
        ("KEY", "sk-12345678"),
        ("PIN", "1234567"),
        ("PEM", "-----BEGIN\nMIIEvQIBADAN\n-----END KEY\n"),
    ];
    assert_eq!(shown("key=sk-12345678, pin=1234567", &secrets), "key=[secret KEY], pin=1234567");
    assert_eq!(
        shown("sk-12345678sk-12345678sk-1234567", &secrets),
        "[secret KEY][secret KEY]sk-1234567"
    );
    assert_eq!(
        shown("{\"pem\":\"-----BEGIN\\nMIIEvQIBADAN\\n\"}", &secrets),
        "{\"pem\":\"[secret PEM]\\n[secret PEM]\\n\"}"
    );
    assert_eq!(shown("-----BEGIN\nMIIEvQIBADAN\n-----END KEY\n.", &secrets), "[secret PEM]\n.");
    assert_eq!(shown("abcdefghijklm", &[("A", "abcdefgh"), ("B", "fghijklm")]), "[secret A]");
    assert_eq!(
        shown("xxabcdefghyy", &[("IN", "abcdefgh"), ("OUT", "xabcdefghy")]),
        "x[secret OUT]y"
    );
}

#[test]
fn a_secret_that_repeats_itself_takes_no_longer_and_no_memory() {
    let value = format!("{}b", "a".repeat(2000));
    let secrets = Secrets::new([("A", value.as_str()), ("EIGHT", "aaaaaaaa")]);
    let room = Room { beginning: 0, end: 0, each: 100 };
    let mut transcript = Transcript::new(io::sink(), &secrets, room);
    let piece = vec![b'a'; 64 * 1024];
    // A quadratic search would take hours.
    for _ in 0..160 {
        transcript.take(Stream::Stdout, &piece);
    }
    assert_eq!(transcript.finish().stdout.bytes, b"[secret EIGHT]");
}

#[test]
fn a_secret_between_the_streams_stays_each_stream_s_own() {
    let secrets = Secrets::new([("KEY", "sk-12345678")]);
    let mut file = Vec::new();
    let mut transcript = Transcript::new(&mut file, &secrets, Room::default());
    transcript.take(Stream::Stdout, b"out sk-123");
    transcript.take(Stream::Stderr, b"err\n");
    transcript.take(Stream::Stdout, b"45678\n");
    let printed = transcript.finish();
    assert_eq!(printed.stdout.bytes, b"out [secret KEY]\n");
    assert_eq!(printed.stderr.bytes, b"err\n");
    assert_eq!(file, b"out err\n[secret KEY]\n");
}

#[test]
fn the_last_line_is_the_last_that_says_something() {
    let mut transcript = Transcript::new(io::sink(), &Secrets::default(), Room::default());
    let mut last = |stream, text: &str| {
        transcript.take(stream, text.as_bytes());
        transcript.last_line()
    };
    assert_eq!(last(Stream::Stdout, ""), "");
    assert_eq!(last(Stream::Stdout, "one\ntwo"), "two");
    assert_eq!(last(Stream::Stdout, " more\n\n  \n"), "two more");
    assert_eq!(last(Stream::Stderr, "10 %\r20 %\r"), "20 %");
    assert_eq!(last(Stream::Stdout, "\u{1b}[2Jx\n"), "\u{1b}[2Jx");
    assert_eq!(last(Stream::Stdout, &"y".repeat(100_000)).len(), 4096);
}

/// A disk with room for that many bytes.
struct Disk(usize);

impl io::Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = bytes.len().min(self.0);
        self.0 -= length;
        if length == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(length) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    let mut transcript = Transcript::new(Disk(5), &Secrets::default(), Room::default());
    for _ in 0..3 {
        transcript.take(Stream::Stderr, b"four");
    }
    let printed = transcript.finish();
    assert_eq!(printed.stderr.bytes, b"fourfourfour");
    assert_eq!(printed.file.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

#[test]
fn the_digest_is_that_of_the_file() {
    let mut file = Vec::new();
    let room = Room { beginning: 3, end: 4, each: 2 };
    let mut transcript = Transcript::new(&mut file, &Secrets::default(), room);
    transcript.take(Stream::Stdout, b"abcdefgh");
    transcript.take(Stream::Stdout, b"ij");
    let printed = transcript.finish();
    assert_eq!(file, b"abc\n[3 bytes are left out here]\nghij");
    let written = printed.file.unwrap();
    let hex = written.sha256;
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    assert_eq!((0..64).step_by(2).map(byte).collect::<Vec<u8>>(), Sha256::digest(&file).to_vec());
    assert_eq!(hex, hex.to_lowercase());
    assert_eq!(printed.stdout, Kept { bytes: b"ij".to_vec(), lost: 8 });
}
