//! What the runner costs a visit: `cargo bench --bench run [-- SIZES..]`, as in `-- 1000`.
//!
//! An agent that does nothing (`true`, whose exit status the gate reads) is run for one visit after the other: found, claimed,
//! briefed, started, judged, completed, each change a commit. What a start of `true` costs by itself, in a process group with three
//! pipes, is measured in turns with it. Prints medians with the middle half of the samples, in milliseconds.

#![allow(clippy::print_stdout, reason = "its table is what it is for")]

use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use aof::agents::runner::{Audience, Pace, PersonQuestion, RunEvent, RunTarget, RunnerSetup, work};
use aof::domain::Completion;
use aof::project::workspace::{Network, Workspace};
use aof::system::process::{Attendant, Orphans, ProcessLimits, Program, Stream};
use aof::tasks::create::{NewTask, create};
use aof::tasks::plan::DryRun;
use jiff::Timestamp;

const SAMPLES: usize = 60;
const RULES: &str = "\
workflow:
  gates:
    - {id: implement, role: backend, run: {exit: {complete: 0}}}
    - {id: review, role: reviewer}
";
const ORG: &str = "\
roles:
  backend: {agents: [noop]}
  reviewer: {agents: [human-ada]}
agents:
  noop: {run: {command: ['true']}}
  human-ada:
";

fn main() {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let sizes = if sizes.is_empty() { vec![100, 1_000] } else { sizes };
    println!("| tasks | a visit | the start alone | the runner's part |");
    println!("|---|---|---|---|");
    for size in sizes {
        report(size.max(SAMPLES + 1));
    }
}

fn report(size: usize) {
    let folder = tempfile::TempDir::new().expect("a folder");
    let project = project(folder.path(), size);
    let wish = RunTarget::Agents { agents: vec!["noop".parse().expect("an id")], role: None };
    let (mut visits, mut starts) = (Vec::new(), Vec::new());
    for round in 0..=SAMPLES {
        let begun = Instant::now();
        let stop = AtomicBool::new(false);
        let account =
            work(&project, &wish, 1, Pace::OneVisit, &stop, &mut Nobody).expect("a visit");
        assert_eq!(account.visits, 1);
        let visit = begun.elapsed();
        let start = bare(folder.path());
        // The first one warms caches.
        if round > 0 {
            visits.push(visit);
            starts.push(start);
        }
    }
    let part = median(&mut visits).saturating_sub(median(&mut starts));
    println!("| {size} | {} | {} | {:.1} |", spread(&visits), spread(&starts), milliseconds(part));
}

/// Returns a project with that many tasks at the first gate.
fn project(root: &Path, size: usize) -> RunnerSetup {
    let git = |words: &[&str]| {
        let done = Command::new("git").arg("-C").arg(root).args(words).status().expect("git");
        assert!(done.success(), "git {words:?}");
    };
    git(&["init", "-q"]);
    git(&["config", "user.name", "Ada"]);
    git(&["config", "user.email", "ada@garden.example"]);
    std::fs::write(root.join("project.yaml"), RULES).expect("a file");
    std::fs::write(root.join("org.yaml"), ORG).expect("a file");
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "rules"]);
    let root = root.canonicalize().expect("a folder");
    let clock = Timestamp::now;
    let workspace = Workspace::at(&root, "aof".to_owned(), clock, Duration::from_secs(10), |_| {})
        .expect("a project");
    let tasks: Vec<NewTask> =
        (0..size).map(|number| NewTask::titled(format!("Task {number}"))).collect();
    create(&workspace, &tasks, None, DryRun::No).expect("tasks");
    RunnerSetup {
        checkout: root.clone(),
        root,
        command: "aof run".to_owned(),
        clock,
        wait: Duration::from_secs(10),
        network: Network::Used,
        aof: "aof".into(),
    }
}

/// Starts what the agent is, and nothing besides.
fn bare(root: &Path) -> Duration {
    let begun = Instant::now();
    let running = Program::new(["true"], root).expect("a program").start().expect("it starts");
    let limits = ProcessLimits {
        time: Duration::from_secs(10),
        idle: None,
        grace: Duration::ZERO,
        orphans: Orphans::Killed,
    };
    running.wait(&limits, &mut Nobody).expect("it ends");
    begun.elapsed()
}

struct Nobody;

impl Audience for Nobody {
    fn hear(&mut self, _: &RunEvent) {}

    fn decide(&mut self, _: &PersonQuestion<'_>) -> Option<Completion> {
        None
    }
}

impl Attendant for Nobody {
    type Reason = ();

    fn printed(&mut self, _: Stream, _: &[u8]) {}

    fn wants_end(&mut self) -> Option<()> {
        None
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn spread(times: &[Duration]) -> String {
    let at = |part: usize| milliseconds(times[times.len() * part / 4]);
    format!("{:.1} ({:.1} to {:.1})", at(2), at(1), at(3))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
