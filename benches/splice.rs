//! What reading, changing and proving a frontmatter costs: a usual task file, and one with a long history.

use std::hint::black_box;

use aof::format::frontmatter::{Edit, emit_document, parse, splice};
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

fn bench(criterion: &mut Criterion) {
    for entries in [5, 200] {
        let file = file(entries);
        let edits = [
            Edit::set(["gate", "current"], "qa"),
            Edit::set(["gate", "visit"], entries + 1),
            Edit::set("status", "blocked"),
            Edit::append("gateHistory", entry(entries)),
        ];
        let mut group = criterion.benchmark_group(format!("{entries} entries, {} bytes", file.len()));
        group.bench_function("parse", |b| b.iter(|| parse(black_box(file.as_bytes()))));
        group.bench_function("transition", |b| b.iter(|| splice(black_box(file.as_bytes()), &edits)));
        group.finish();
    }
}

criterion_group!(benches, bench);
criterion_main!(benches);
