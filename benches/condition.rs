//! What a `when` expression costs: compiled once when the workflow is loaded, evaluated at every routing decision.

use std::hint::black_box;

use aof::rules::condition::Condition;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

const NAMES: &[&str] = &["tags", "metadata", "gateHistory"];

const SOURCES: [(&str, &str); 4] = [
    ("tags", "tags.includes('security') || tags.includes('auth')"),
    ("number", "metadata.dealSize > 50000"),
    ("history", "gateHistory.some(v => v.gate === 'review' && v.outcome === 'complete')"),
    ("count", "gateHistory.filter(v => v.gate === 'review' && v.duration > 60).length > 3"),
];

fn conditions(criterion: &mut Criterion) {
    let tags = json!(["api", "backend", "auth"]);
    let metadata = json!({"priority": "high", "dealSize": 60000});
    let history: serde_json::Value = (0..8)
        .map(|visit| json!({"gate": "implement", "outcome": "complete", "duration": visit}))
        .chain([json!({"gate": "review", "outcome": "complete", "duration": 90})])
        .collect();
    let scope = [("tags", &tags), ("metadata", &metadata), ("gateHistory", &history)];

    for (name, source) in SOURCES {
        criterion.bench_function(&format!("condition/compile/{name}"), |bencher| {
            bencher.iter(|| Condition::compile(black_box(source), NAMES));
        });
        let condition =
            Condition::compile(source, NAMES).expect("the sources above are conditions");
        criterion.bench_function(&format!("condition/evaluate/{name}"), |bencher| {
            bencher.iter(|| condition.evaluate(black_box(&scope)));
        });
    }
}

/// The dearest thing a condition may ask for: it ends by its budget, far under 100 ms.
fn exhaustion(criterion: &mut Criterion) {
    let tags: serde_json::Value = (0..10_000).map(|index| json!(format!("tag-{index}"))).collect();
    let condition = Condition::compile("tags.every(a => tags.every(b => a != b.length))", NAMES)
        .expect("the source above is a condition");
    criterion.bench_function("condition/exhaust", |bencher| {
        bencher.iter(|| condition.evaluate(black_box(&[("tags", &tags)])));
    });
}

criterion_group!(benches, conditions, exhaustion);
criterion_main!(benches);
