//! A project in which tasks went their way, each step in a commit of its own that the engine made.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use aof::domain::{Completion, CompletionContent, TaskId};
use aof::project::workspace::Workspace;
use aof::storage::random::ulid;
use aof::tasks::complete::complete;
use aof::tasks::create::{NewTask, create};
use aof::tasks::plan::DryRun;
use jiff::Timestamp;

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

/// As many tasks at a time as people and agents work at.
pub(crate) const AT_ONCE: usize = 50;

/// Makes a project in which that many tasks went their way: seven commits each, in turns, behind one with the rules.
pub(crate) fn project(root: &Path, size: usize) -> Workspace {
    git(root, &["init", "-q", "-b", "main"]);
    for (key, value) in [
        ("user.name", "Ada"),
        ("user.email", "ada@garden.example"),
        ("core.fsync", "none"),
        ("gc.auto", "0"),
    ] {
        git(root, &["config", key, value]);
    }
    std::fs::write(root.join("project.yaml"), RULES).expect("a file");
    std::fs::write(root.join("org.yaml"), ORG).expect("a file");
    git(root, &["add", "."]);
    git(root, &["commit", "-q", "-m", "rules"]);
    let workspace = open(root);
    for start in (0..size).step_by(AT_ONCE) {
        let tasks: Vec<NewTask> = (start..size.min(start + AT_ONCE))
            .map(|number| {
                let mut new = NewTask::titled(format!("Task {number}"));
                new.fields.tags.push("web".to_owned());
                new
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

fn say(workspace: &Workspace, task: &TaskId, agent: &str, outcome: &str) {
    let completion = Completion {
        ticket: task.as_str().parse().expect("an id is a ticket"),
        gate: None,
        agent: agent.parse().expect("an id"),
        content: CompletionContent {
            outcome: Some(outcome.to_owned()),
            summary: Some(
                "Went through it, changed what was to be changed, and looked at what came of it"
                    .to_owned(),
            ),
            blockers: (outcome == "needs_review")
                .then(|| vec!["The case of an empty name has no test".to_owned()]),
            ..CompletionContent::default()
        },
        id: ulid(Timestamp::now()).expect("random numbers"),
        signature: None,
        facts: Box::default(),
    };
    complete(workspace, &completion, DryRun::No).expect("a completion");
}

/// Opens the project in a folder.
pub(crate) fn open(root: &Path) -> Workspace {
    let root = root.canonicalize().expect("a folder");
    Workspace::at(&root, "aof".to_owned(), Timestamp::now, Duration::from_mins(1), |_| {})
        .expect("a project")
}

/// Runs git there.
pub(crate) fn git(root: &Path, words: &[&str]) {
    let done = Command::new("git")
        .arg("-C")
        .arg(root)
        .args(words)
        .stdout(Stdio::null())
        .status()
        .expect("git");
    assert!(done.success(), "git {words:?}");
}
