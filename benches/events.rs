//! How fast the event stream is made again: `cargo bench --bench events [-- TASKS..]`, as in `-- 2500`.
//!
//! Each task is created and completed at four gates, once sent back, each in a commit of its own, in turns: 2,500 tasks are 17,500
//! commits. The stream is made from history where its objects are loose files, and where git has packed them; beside it `git log
//! --raw` walks the same commits and compares the same trees, and reads no file. Prints medians of three rounds.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use aof::model::{Completion, Map};
use aof::ops::{DryRun, NewTask, Workspace, catch_up_events, complete, create, rebuild_events};
use aof::store::random::DeliveryId;
use jiff::Timestamp;

const ROUNDS: usize = 3;
const RULES: &str = "\
tasks: {layout: sharded}
workflow:
  gates:
    - {id: plan, role: backend}
    - {id: implement, role: backend}
    - {id: review, role: reviewer, canReject: true, routes: {needs_review: {to: $previous}}}
    - {id: test, role: reviewer, when: \"tags.includes('tested')\"}
    - {id: ship, role: backend}
";
const ORG: &str = "\
roles:
  backend: {agents: [agent-1]}
  reviewer: {agents: [agent-2]}
";
/// Who says what, one after the other.
const STORY: &[(&str, &str)] = &[
    ("agent-1", "complete"),
    ("agent-1", "complete"),
    ("agent-2", "needs_review"),
    ("agent-1", "complete"),
    ("agent-2", "complete"),
    ("agent-1", "complete"),
];

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![1_250] } else { sizes };
    println!("| tasks | objects | commits | events | made again in | a second | one more commit | `git log --raw` |");
    println!("|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let folder = tempfile::TempDir::new().expect("a folder");
        let workspace = project(folder.path(), size);
        report(&workspace, size, "loose");
        git(folder.path(), &["gc", "--quiet", "--prune=now"]);
        report(&open(folder.path()), size, "packed");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).map_or("unknown", str::trim);
    println!("\nmost memory that was ever in use, the making of the history included: {peak}");
}

fn report(workspace: &Workspace, size: usize, objects: &str) {
    let (mut times, mut walks, mut single) = (Vec::new(), Vec::new(), Vec::new());
    let (mut commits, mut events) = (0, 0);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let rebuilt = rebuild_events(workspace).expect("a stream");
        times.push(begun.elapsed());
        (commits, events) = (rebuilt.commits, rebuilt.lines);
        let begun = Instant::now();
        git(workspace.paths.root(), &["log", "--raw", "--no-renames", "--first-parent"]);
        walks.push(begun.elapsed());
        create(workspace, &[NewTask { title: "One more".to_owned(), ..NewTask::default() }], None, DryRun::No)
            .expect("a task");
        let begun = Instant::now();
        catch_up_events(workspace).expect("a stream");
        single.push(begun.elapsed());
    }
    let time = median(&mut times);
    println!(
        "| {size} | {objects} | {commits} | {events} | {:.2} s | {:.0} | {:.1} ms | {:.2} s |",
        time.as_secs_f64(),
        f64::from(u32::try_from(events).unwrap_or(u32::MAX)) / time.as_secs_f64(),
        median(&mut single).as_secs_f64() * 1e3,
        median(&mut walks).as_secs_f64(),
    );
}

/// Returns a project in which that many tasks went their way.
fn project(root: &Path, size: usize) -> Workspace {
    git(root, &["init", "-q"]);
    for (key, value) in
        [("user.name", "Ada"), ("user.email", "ada@garden.example"), ("core.fsync", "none"), ("gc.auto", "0")]
    {
        git(root, &["config", key, value]);
    }
    std::fs::write(root.join("project.yaml"), RULES).expect("a file");
    std::fs::write(root.join("org.yaml"), ORG).expect("a file");
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "-m", "rules"]);
    let workspace = open(root);
    // As many at a time as people and agents work at.
    for start in (0..size).step_by(50) {
        let tasks: Vec<NewTask> = (start..size.min(start + 50))
            .map(|number| NewTask {
                title: format!("Task {number}"),
                tags: vec!["web".to_owned()],
                ..NewTask::default()
            })
            .collect();
        let created = create(&workspace, &tasks, None, DryRun::No).expect("tasks");
        for (agent, outcome) in STORY {
            for task in &created {
                say(&workspace, &task.after.task.id, agent, outcome);
            }
        }
    }
    workspace
}

fn say(workspace: &Workspace, task: &aof::model::TaskId, agent: &str, outcome: &str) {
    let completion = Completion {
        ticket: task.as_str().parse().expect("an id is a ticket"),
        agent: agent.parse().expect("an id"),
        outcome: Some(outcome.to_owned()),
        summary: Some("Went through it, changed what was to be changed, and looked at what came of it".to_owned()),
        blockers: (outcome == "needs_review").then(|| vec!["The case of an empty name has no test".to_owned()]),
        rejection_notes: None,
        outputs: Map::new(),
        metadata: Map::new(),
        body: None,
        id: DeliveryId::new(Timestamp::now()).expect("random numbers").completion(),
    };
    complete(workspace, &completion, DryRun::No).expect("a completion");
}

fn open(root: &Path) -> Workspace {
    let root = root.canonicalize().expect("a folder");
    Workspace::at(&root, "aof".to_owned(), Timestamp::now, Duration::from_mins(1), |_| {}).expect("a project")
}

fn git(root: &Path, words: &[&str]) {
    let done = Command::new("git").arg("-C").arg(root).args(words).stdout(Stdio::null()).status().expect("git");
    assert!(done.success(), "git {words:?}");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
