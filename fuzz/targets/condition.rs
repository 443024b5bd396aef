//! A condition is compiled or refused, and ends with an answer or with what JavaScript would say: always soon, and always the same.

#![no_main]

use aof::rules::condition::Condition;
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(source) = std::str::from_utf8(bytes) else { return };
    let scope: [(&str, Value); 4] = [
        ("tags", json!(["auth", "x", "\u{e9}\u{1f600}"])),
        ("metadata", json!({"priority": "high", "n": 2.5, "list": [1, null, {"a": []}]})),
        ("gateHistory", json!([{"gate": "implement", "outcome": "complete", "duration": 3}])),
        ("title", json!("Add login")),
    ];
    let names: Vec<&str> = scope.iter().map(|(name, _)| *name).collect();
    let Ok(condition) = Condition::compile(source, &names) else { return };
    let scope: Vec<(&str, &Value)> = scope.iter().map(|(name, value)| (*name, value)).collect();
    let answer = condition.evaluate(&scope);
    assert_eq!(answer, condition.evaluate(&scope), "same input, same answer");
    if let Err(error) = answer {
        assert!(source.get(error.range.clone()).is_some(), "{error:?} is of this source");
    }
});
