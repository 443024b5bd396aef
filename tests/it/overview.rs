//! What `aof status` and `aof doctor` tell of a project whose files somebody took away, broke or hid: they survive what they are there
//! to tell, and name the way out.

use std::fs;

use serde_json::Value;

use crate::environment::TestEnvironment;

/// Returns what `aof status` says needs attention, but for the watcher that nobody started.
fn attention(env: &TestEnvironment) -> Vec<Value> {
    let output = env.aof_command(&["--json", "status"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = status["attention"].as_array().unwrap().clone();
    points.into_iter().filter(|point| point["code"] != "no_watcher").collect()
}

/// Returns the only point.
fn only(env: &TestEnvironment) -> Value {
    let mut points = attention(env);
    assert_eq!(points.len(), 1, "{points:#?}");
    points.remove(0)
}

/// Runs the command of git's that a text names.
fn run_told(env: &TestEnvironment, told: &Value, start: &str) {
    let told = told.as_str().unwrap();
    let command = told.split('`').find(|part| part.starts_with(start)).unwrap_or_else(|| panic!("{start}: {told}"));
    let mut shell = env.command("sh");
    shell.args(["-c", command]);
    let _ = env.run(shell).success();
}

/// Makes a task and completes both gates.
fn finished(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    env.task_path(&id)
}

#[test]
fn archived_files_that_were_edited_or_deleted_are_told() {
    let env = TestEnvironment::new();
    let (one, other) = (finished(&env), finished(&env));
    env.write("notes.txt", "mine");
    assert_eq!(attention(&env), Vec::<Value>::new());

    env.edit(&one, "Did it", "Did nothing");
    let point = only(&env);
    assert_eq!(point["code"], "archive_changed");
    let problem = env.plain(point["problem"].as_str().unwrap());
    assert_eq!(
        problem,
        "1 archived file is edited or deleted, and not committed: tasks/archive/2026/02/16/AOF-xxxxx.md"
    );
    let doctor = env.aof(&["doctor"]).code(1);
    assert!(doctor.stdout.contains("edited or deleted"), "{doctor}");
    run_told(&env, &point["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());

    // Also where that is staged, or only that.
    env.git(&["rm", "--quiet", &one]);
    fs::remove_file(env.path(&other)).unwrap();
    let point = only(&env);
    assert!(point["problem"].as_str().unwrap().starts_with("2 archived files are edited or deleted"), "{point}");
    run_told(&env, &point["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());
    env.git(&["rm", "--quiet", "--cached", &one]);
    assert_eq!(only(&env)["code"], "archive_changed");
    run_told(&env, &only(&env)["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());

    // A file that only looks newer is none.
    let text = env.read(&one);
    env.write(&one, text);
    assert_eq!(attention(&env), Vec::<Value>::new());
}
