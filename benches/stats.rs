//! What it costs to count a whole project: `cargo bench --bench stats [-- TASKS ENTRIES]`, as in `-- 10000 10`.
//!
//! Makes a project of so many tasks, each with so many entries in its history, two thirds of them finished, and runs the commands
//! that read all of it as processes: cold, without a cache of headers, and warm. Prints medians with the middle half of the samples, in
//! milliseconds.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aof::files::frontmatter::emit_document;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

const COLD: usize = 5;
const WARM: usize = 15;
const RULES: &str = "\
project: {name: garden}
workflow:
  gates:
    - {id: plan, role: lead}
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true}
    - {id: qa, role: tester, canReject: true}
    - {id: ship, role: lead}
";
const ORG: &str = "\
roles:
  lead: {agents: [human-ada]}
  backend: {agents: [agent-1, agent-2, agent-3]}
  architect: {agents: [agent-4]}
  tester: {agents: [agent-5]}
";
/// The way of every task: each third visit is a review, each third review sends the task back.
const WAY: [(&str, &str, &str); 4] = [
    ("plan", "lead", "human-ada"),
    ("implement", "backend", "agent-1"),
    ("review", "architect", "agent-4"),
    ("qa", "tester", "agent-5"),
];

fn main() {
    let mut numbers = std::env::args().skip(1).filter_map(|word| word.parse().ok());
    let (tasks, entries) = (numbers.next().unwrap_or(1_000), numbers.next().unwrap_or(10));
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder can be made");
    make(folder.path(), tasks, entries);
    println!(
        "{tasks} tasks with {entries} entries each\n\n| command | cold | warm |\n|---|---|---|"
    );
    for words in [&["stats"][..], &["stats", "--json"], &["metrics"], &["gate", "status"]] {
        let cold = times(COLD, || {
            let _ = fs::remove_file(folder.path().join(".aof/cache"));
            run(folder.path(), words)
        });
        let warm = times(WARM, || run(folder.path(), words));
        println!("| `aof {}` | {cold} | {warm} |", words.join(" "));
    }
}

/// Returns the median of so many samples, after one that does not count.
fn times(samples: usize, sample: impl Fn() -> Duration) -> String {
    sample();
    let mut times: Vec<Duration> = (0..samples).map(|_| sample()).collect();
    times.sort();
    let at = |part: usize| times[times.len() * part / 4].as_secs_f64() * 1e3;
    format!("{:.0} ({:.0} to {:.0})", at(2), at(1), at(3))
}

fn run(root: &Path, words: &[&str]) -> Duration {
    let start = Instant::now();
    let status = Command::new(env!("CARGO_BIN_EXE_aof"))
        .args(words)
        .current_dir(root)
        .stdout(Stdio::null())
        .status();
    assert!(status.expect("aof runs").success(), "{words:?}");
    start.elapsed()
}

fn make(root: &Path, tasks: usize, entries: usize) {
    let git = |words: &[&str]| {
        let status = Command::new("git").arg("-C").arg(root).args(words).status();
        assert!(status.expect("git runs").success(), "git {words:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    fs::write(root.join("project.yaml"), RULES).expect("a file");
    fs::write(root.join("org.yaml"), ORG).expect("a file");
    git(&["add", "-A"]);
    git(&[
        "-c",
        "user.name=Bench",
        "-c",
        "user.email=bench@example.org",
        "commit",
        "-q",
        "-m",
        "rules",
    ]);
    let start: Timestamp = "2026-01-05T08:00:00Z".parse().expect("it is a time");
    for number in 0..tasks {
        let made =
            start + SignedDuration::from_mins(i64::try_from(number * 7).expect("it is small"));
        let (folder, text) = task(number, made, entries);
        fs::create_dir_all(root.join(&folder)).expect("a folder");
        fs::write(root.join(folder).join(format!("{}.md", id(number))), text).expect("a file");
    }
}

fn id(number: usize) -> String {
    let digit = |place: u32| {
        char::from(b"0123456789abcdefghijklmnopqrstuvwxyz"[number / 36_usize.pow(place) % 36])
    };
    format!("AOF-{}", [4, 3, 2, 1, 0].map(digit).iter().collect::<String>())
}

/// Returns a task as its file says it, and the folder in which the file lies.
fn task(number: usize, made: Timestamp, entries: usize) -> (String, String) {
    let mut time = made;
    let mut history: Vec<Value> = Vec::with_capacity(entries);
    let is_finished = !number.is_multiple_of(3);
    for visit in 0..entries {
        let (gate, role, agent) = WAY[visit % WAY.len()];
        let seconds =
            i64::try_from(600 + (number * 31 + visit * 977) % 20_000).expect("it is small");
        let exited = time + SignedDuration::from_secs(seconds);
        let mut entry = json!({"gate": gate, "role": role, "agent": agent, "entered": time.to_string(),
            "exited": exited.to_string(), "duration": seconds, "outcome": "complete",
            "summary": "Fixed: the check, with tests", "to": WAY[(visit + 1) % WAY.len()].0});
        if is_finished && visit + 1 == entries {
            entry["to"] = json!("$end");
        } else if gate == "qa" {
            entry["outcome"] = json!("needs_review");
            entry["blockers"] = json!(["One case is missing"]);
            entry["to"] = json!("plan");
            entry["retry"] = json!(visit / WAY.len() + 1);
        }
        history.push(entry);
        time = exited;
    }
    let (gate, role, _) = WAY[entries % WAY.len()];
    let tag = ["api", "docs", "auth"][number % 3];
    let mut file = json!({"id": id(number), "title": "Fix the login", "created": made.to_string(), "updated": time.to_string(),
        "tags": [tag], "gateHistory": history});
    let (status, folder) = if is_finished {
        ("complete", format!("tasks/archive/{}", time.strftime("%Y/%m/%d")))
    } else {
        file["gate"] = json!({"current": gate, "entered": time.to_string(), "visit": entries});
        ("ready", "tasks".to_owned())
    };
    file["status"] = json!(status);
    file["routing"] = if is_finished {
        json!({"workflow": "default"})
    } else {
        json!({"workflow": "default", "role": role})
    };
    let head = emit_document(file.as_object().expect("it is written as an object"));
    (folder, format!("---\n{head}---\n\n# Fix the login\n\nDetails.\n"))
}
