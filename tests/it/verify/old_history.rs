//! A history that an earlier program wrote, with each act: its texts are data, so a later program must make the same ones.

use std::fs;

use serde_json::Value;

use crate::support::checker::check_history;
use crate::support::environment::TestEnvironment;

/// Made by `every-act` beside it.
const EXPORT: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/history/every-act.export");

/// Returns a repository with the commits of the text.
fn imported(export: &[u8]) -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("../export", export);
    let mut import = env.command("git");
    import.args(["fast-import", "--quiet"]).stdin(fs::File::open(env.path("../export")).unwrap());
    let _ = env.run(import).success();
    env.git(&["reset", "--quiet", "--hard"]);
    env
}

fn findings(env: &TestEnvironment) -> Vec<String> {
    let found = env.aof(&["verify", "--json"]).json();
    let texts = |found: &Value| {
        format!("{} {}", found["rule"].as_str().unwrap(), found["task"].as_str().unwrap())
    };
    found["findings"].as_array().unwrap().iter().map(texts).collect()
}

#[test]
fn each_stored_text_is_made_again() {
    let env = imported(&fs::read(EXPORT).unwrap());
    // Git's own message of the merge lacks their trailers.
    let superseded = ["superseded AOF-lll", "superseded AOF-mmm", "superseded AOF-mmm"];
    assert_eq!(findings(&env), superseded);
    let _ = env.aof(&["verify"]).success();
    check_history(&env);
    let tasks = env.aof(&["list", "--all", "--json"]).success().json();
    assert_eq!(tasks["tasks"].as_array().unwrap().len(), 13);
}

#[test]
fn another_text_of_the_engine_is_a_finding() {
    let export = fs::read(EXPORT).unwrap();
    let export = String::from_utf8(export).unwrap();
    for (stored, other) in [
        ("Timed out after 4h", "Ran out after 4h.."),
        ("is not in workflow `default` any more", "is no longer in the workflow default."),
        ("which was cancelled: Too", "which is cancelled:. Too"),
    ] {
        assert_eq!(stored.len(), other.len(), "the lengths of the blobs are in the file");
        assert!(export.contains(stored), "{stored}");
        let env = imported(export.replace(stored, other).as_bytes());
        assert!(!findings(&env).iter().all(|found| found.starts_with("superseded")), "{stored}");
    }
}
