//! What a transition costs in its file: reading it, and making the change from what was read. A usual task file, and one with a
//! long history.
//!
//! `parse` is the parser and its tree alone. `read` is what a command does with a file: the parser, a tree that outlives the bytes,
//! and the task that it says. `transition` begins with a file that was read: the edits, the splice, the new bytes parsed whole and
//! compared with what they should say, and the task after it. `read` and `transition` together are all that a transition spends on
//! its file, and each parses once.

use std::hint::black_box;

use aof::domain::{OpenVisit, Status, Task, TaskId, Timestamp};
use aof::files::frontmatter::{emit_document, parse};
use aof::files::task_file;
use aof::files::task_file::{Defaults, TaskFile};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

fn entry(visit: usize) -> Value {
    json!({"gate": "review", "role": "architect", "agent": format!("agent-{visit}"), "entered": "2026-02-16T14:30:00Z",
        "exited": "2026-02-16T15:00:00Z", "outcome": "complete", "summary": "Fixed: the check, with tests", "duration": 1800})
}

fn file(entries: usize) -> String {
    let task = json!({"id": "AOF-abc", "title": "Fix the login", "status": "in_progress", "tags": ["auth", "security"],
        "gate": {"current": "review", "entered": "2026-02-16T15:00:00Z", "visit": entries},
        "routing": {"workflow": "default", "role": "architect"},
        "gateHistory": (0..entries).map(entry).collect::<Vec<_>>(), "metadata": {"priority": "high"}});
    let head = emit_document(task.as_object().expect("it is written as an object"));
    format!("---\n{head}---\n\n# Fix the login\n\nDetails.\n")
}

/// Returns the task after one more visit that was like the last, blocked at the next gate.
fn after(file: &TaskFile) -> Task {
    let mut task = file.task.clone();
    task.history.extend(file.task.history.last().cloned());
    let gate = "qa".parse().expect("a gate");
    let entered: Timestamp = "2026-02-16T15:00:00Z".parse().expect("a time");
    task.gate = Some(OpenVisit::at(gate, entered, task.history.len()));
    task.status = Status::Blocked;
    task
}

fn bench(criterion: &mut Criterion) {
    let id: TaskId = "AOF-abc".parse().expect("an id");
    let created = "2026-02-16T09:00:00Z".parse().expect("a time");
    let defaults = Defaults { workflow: "default".parse().expect("a workflow"), created };
    let read = |bytes: &[u8]| task_file::parse(bytes, &id, &defaults).expect("a task file");
    for entries in [5, 200] {
        let text = file(entries);
        let file = read(text.as_bytes());
        let after = after(&file);
        let mut group =
            criterion.benchmark_group(format!("{entries} entries, {} bytes", text.len()));
        group.bench_function("parse", |b| b.iter(|| parse(black_box(text.as_bytes()))));
        group.bench_function("read", |b| b.iter(|| read(black_box(text.as_bytes()))));
        group.bench_function("transition", |b| {
            b.iter(|| {
                let changed = black_box(&file).update(&after).expect("a change of this file");
                task_file::read(&changed, &id, &defaults)
            });
        });
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
