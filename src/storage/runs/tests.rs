use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;

use super::*;
use super::{KEPT, MOST_ATTEMPTS};
use crate::domain::Ticket;
use crate::storage::{Holder, Paths, StoreError};
use crate::system::process::{ProcessGroup, Program};

fn folder(attempt: &RunAttempt) -> PathBuf {
    attempt.path_of(RunFile::Record).parent().unwrap().to_owned()
}

fn ticket(text: &str) -> Ticket {
    text.parse().unwrap()
}

fn holder() -> Holder {
    Holder::this_process("aof run", "2026-02-16T10:00:00Z".parse().unwrap())
}

fn home() -> (TempDir, Runs) {
    let home = TempDir::new().unwrap();
    let runs = Runs::at(&Paths::at(home.path()));
    (home, runs)
}

fn open(runs: &Runs, visit: &str) -> VisitRuns {
    match runs.open(&ticket(visit), &holder()).unwrap() {
        RunRight::Ours(visit) => visit,
        RunRight::Taken(other) => panic!("{other:?} has it"),
    }
}

fn record(attempt: &RunAttempt, group: Option<ProcessGroup>) -> RunRecord {
    RunRecord {
        run: "01HZY".to_owned(),
        ticket: ticket("AOF-abc@3/security"),
        agent: "agent-1".parse().unwrap(),
        attempt: attempt.number(),
        started: "2026-02-16T10:00:00Z".parse().unwrap(),
        command: ["claude", "-p"].map(str::to_owned).into(),
        session: None,
        group,
        end: None,
    }
}

fn end(how: RunEnding) -> RunEnd {
    RunEnd {
        at: "2026-02-16T10:05:00Z".parse().unwrap(),
        how,
        status: Some(0),
        reason: None,
        transcript: Some(TranscriptMark { sha256: "ab".to_owned(), bytes: 5, left_out: 0 }),
        agent_report: AgentReport {
            session: Some("s-1".to_owned()),
            model: None,
            cost_usd: Some(0.25),
            tokens: Some(TokenCounts { input: 1000, output: 20 }),
        },
        verdict: Some(Ruling {
            source: "output".to_owned(),
            outcome: "complete".to_owned(),
            completion: "01HZX".parse().unwrap(),
        }),
        until: None,
    }
}

#[test]
fn an_attempt_has_its_files_and_the_next_one_its_number() {
    let (home, runs) = home();
    let visit = open(&runs, "AOF-abc@3/security");
    assert!(matches!(visit.latest().unwrap(), LatestRun::None));
    let attempt = visit.begin().unwrap();
    assert_eq!(folder(&attempt), home.path().join(".aof/runs/AOF-abc@3+security/1"));
    attempt.write(RunFile::Prompt, b"do it").unwrap();
    attempt.create(RunFile::Transcript).unwrap().write_all(b"done\n").unwrap();
    assert!(matches!(attempt.create(RunFile::Transcript), Err(StoreError::Exists { .. })));
    assert_eq!(attempt.read(RunFile::Prompt, 100).unwrap().unwrap(), b"do it");
    assert_eq!(attempt.read(RunFile::Output, 100).unwrap(), None);
    fs::write(attempt.path_of(RunFile::Output), "{\"outcome\": \"complete\"}").unwrap();
    assert!(matches!(attempt.read(RunFile::Output, 5), Err(StoreError::TooLarge { .. })));
    assert_eq!(attempt.read(RunFile::Output, 100).unwrap().unwrap().len(), 23);

    let begun = record(&attempt, None);
    attempt.note(&begun).unwrap();
    assert_eq!(attempt.record().unwrap(), Some(begun.clone()));
    let ended = RunRecord { end: Some(end(RunEnding::Verdict)), ..begun };
    attempt.note(&ended).unwrap();
    assert!(matches!(visit.latest().unwrap(), LatestRun::Ended(_, latest) if latest == ended));
    let text = fs::read_to_string(attempt.path_of(RunFile::Record)).unwrap();
    let fields: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(fields["ticket"], "AOF-abc@3/security");
    assert_eq!(fields["end"]["how"], "verdict");
    assert_eq!(fields["end"]["told"]["costUsd"], 0.25);

    let second = visit.begin().unwrap();
    assert_eq!((second.number(), visit.attempts().unwrap()), (2, 2));
    assert_eq!(visit.records().unwrap(), [ended]);
    assert_eq!(open(&runs, "AOF-abc@4").attempts().unwrap(), 0);
}

#[test]
fn nobody_else_can_look_into_it() {
    let (home, runs) = home();
    let attempt = open(&runs, "AOF-abc@1").begin().unwrap();
    attempt.write(RunFile::Prompt, b"secret").unwrap();
    attempt.create(RunFile::Transcript).unwrap();
    for _ in 0..2 {
        attempt.note(&record(&attempt, None)).unwrap();
    }
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for folder in
        [&folder(&attempt), folder(&attempt).parent().unwrap(), &home.path().join(".aof/runs")]
    {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    for file in [RunFile::Prompt, RunFile::Transcript, RunFile::Record] {
        assert_eq!(mode(&attempt.path_of(file)), 0o600, "{file:?}");
    }
    assert_eq!(fs::read_dir(folder(&attempt)).unwrap().count(), 3, "no temporary file is left");
}

#[test]
fn a_visit_has_one_runner_and_others_learn_its_name() {
    let (_home, runs) = home();
    let visit = ticket("AOF-abc@1");
    let ours = open(&runs, "AOF-abc@1");
    assert!(
        matches!(runs.open(&visit, &holder()).unwrap(), RunRight::Taken(Some(other)) if other == holder())
    );
    let branch = open(&runs, "AOF-abc@1/security");
    drop(ours);
    drop((open(&runs, "AOF-abc@1"), branch));
}

const PROJECT: &str = "AOF_TEST_RUN_PROJECT";

#[test]
#[ignore = "the body of another process, started by the test below"]
fn other_process_body() {
    let runs = Runs::at(&Paths::at(std::env::var_os(PROJECT).unwrap()));
    let visit = open(&runs, "AOF-abc@1");
    let attempt = visit.begin().unwrap();
    attempt.note(&record(&attempt, None)).unwrap();
    let running = Program::new(["sleep", "600"], &folder(&attempt)).unwrap().start().unwrap();
    attempt.note(&record(&attempt, running.group())).unwrap();
    println!("begun");
    loop {
        thread::park();
    }
}

#[test]
fn processes_of_a_killed_runner_are_found_and_can_be_ended() {
    let (home, runs) = home();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "storage::runs::tests::other_process_body", "--ignored", "--nocapture"])
        .env(PROJECT, home.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    assert!(
        lines.map_while(Result::ok).any(|line| line.contains("begun")),
        "the other process began nothing"
    );
    let visit = ticket("AOF-abc@1");
    let RunRight::Taken(Some(other)) = runs.open(&visit, &holder()).unwrap() else { panic!() };
    assert_eq!(other.pid, child.id());
    child.kill().unwrap();
    child.wait().unwrap();

    let ours = open(&runs, "AOF-abc@1");
    let LatestRun::Open(attempt, Some(found)) = ours.latest().unwrap() else { panic!() };
    assert!(found.is_alive() && attempt.number() == 1);
    assert!(found.group.as_ref().unwrap().end(Duration::from_mins(1)));
    assert!(!found.is_alive());
    attempt.note(&RunRecord { end: Some(end(RunEnding::Lost)), ..found }).unwrap();
    assert!(matches!(
        ours.latest().unwrap(),
        LatestRun::Ended(_, RunRecord { end: Some(RunEnd { how: RunEnding::Lost, .. }), .. })
    ));
}

#[test]
fn an_attempt_without_a_whole_record_is_open() {
    let (_home, runs) = home();
    let visit = open(&runs, "AOF-abc@1");
    let attempt = visit.begin().unwrap();
    assert!(matches!(visit.latest().unwrap(), LatestRun::Open(_, None)));
    fs::write(attempt.path_of(RunFile::Record), "{\"run\": ").unwrap();
    assert!(matches!(visit.latest().unwrap(), LatestRun::Open(_, None)));
    assert_eq!(visit.records().unwrap(), []);
}

#[test]
fn a_run_without_a_visit_and_a_linked_folder_are_refused() {
    let (home, runs) = home();
    let fault = runs.open(&ticket("AOF-abc"), &holder()).unwrap_err();
    assert!(matches!(fault, StoreError::BadPath(_)), "{fault}");
    let elsewhere = TempDir::new().unwrap();
    Paths::at(home.path()).prepare_local().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), home.path().join(".aof/runs")).unwrap();
    let fault = runs.open(&ticket("AOF-abc@1"), &holder()).unwrap_err();
    assert!(matches!(fault, StoreError::WrongKind { .. }), "{fault}");
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}

#[test]
fn only_the_last_attempts_of_a_visit_are_kept_and_they_keep_their_numbers() {
    let (_home, runs) = home();
    let visit = open(&runs, "AOF-abc@1");
    for _ in 0..MOST_ATTEMPTS + 3 {
        let attempt = visit.begin().unwrap();
        attempt.note(&record(&attempt, None)).unwrap();
    }
    drop(visit);
    let visit = open(&runs, "AOF-abc@1");
    let kept: Vec<u32> = visit.records().unwrap().iter().map(|record| record.attempt).collect();
    assert_eq!(kept, (4..=23).collect::<Vec<u32>>());
    assert_eq!((visit.attempts().unwrap(), visit.begin().unwrap().number()), (23, 24));
}

#[test]
fn visits_that_nobody_ran_for_long_go() {
    let (home, runs) = home();
    let place = home.path().join(".aof/runs");
    let count = || fs::read_dir(&place).unwrap().count();
    let prune = |now, stop| runs.prune(now, &AtomicBool::new(stop)).unwrap();
    prune(SystemTime::now(), false);
    for visit in 1..=25 {
        open(&runs, &format!("AOF-old@{visit}")).begin().unwrap();
    }
    fs::create_dir(place.join("mine")).unwrap();
    let held = open(&runs, "AOF-held@1");
    let day = Duration::from_hours(24);
    prune(SystemTime::now() + KEPT - day, false);
    assert_eq!(count(), 25 + 2, "nothing is old enough");
    let later = SystemTime::now() + KEPT + day;
    prune(later, true);
    assert_eq!(count(), 25 + 2, "it was to stop");
    prune(later, false);
    let mut left: Vec<String> = fs::read_dir(&place)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["AOF-held@1", "mine"], "the one that is held stays");
    drop(held);
}
