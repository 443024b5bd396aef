//! The names, types and labels of metrics.

use insta::assert_snapshot;

use super::{ORG, PROJECT};
use crate::support::environment::TestEnvironment;

/// Labels whose values are a contract, too.
const WORDS: &[&str] = &["le", "outcome", "reason"];

/// Returns the families of a page of metrics: each with its type, its series and its words.
fn families(page: &str) -> String {
    let mut output = String::new();
    let mut known: Vec<String> = Vec::new();
    let mut note = |line: String| {
        if !known.contains(&line) {
            output += &format!("{line}\n");
            known.push(line);
        }
    };
    let mut family = "";
    for line in page.lines() {
        let comment: Vec<&str> = line.split(' ').collect();
        match comment[..] {
            ["#", "HELP", name, ..] => {
                family = name;
                note(format!("HELP {name}"));
            }
            ["#", ..] => note(comment[1..].join(" ")),
            _ => {
                let (name, labels) = labels_of(line);
                let keys: Vec<&str> = labels.iter().map(|(key, _)| *key).collect();
                note(format!("  {name}{{{}}}", keys.join(",")));
                let words = labels.iter().filter(|(key, _)| WORDS.contains(key));
                words.for_each(|(key, word)| note(format!("    {family} {key}={word}")));
            }
        }
    }
    output
}

/// Returns the name of a sample's series, and its labels.
fn labels_of(line: &str) -> (&str, Vec<(&str, &str)>) {
    let (series, _) = line.rsplit_once(' ').unwrap();
    let Some((name, labels)) = series.split_once('{') else { return (series, Vec::new()) };
    let labels = labels.trim_end_matches("\"}").split("\",");
    (name, labels.map(|label| label.split_once("=\"").unwrap()).collect())
}

#[test]
fn metrics_have_these_names_and_labels() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&env.new_task(&["Ask nobody", "--workflow", "empty"]), "agent-7");
    for format in ["text", "openmetrics"] {
        let page = env.aof(&["metrics", "--format", format]).success().stdout;
        assert_snapshot!(format!("metrics_as_{format}"), families(&page));
    }
}
