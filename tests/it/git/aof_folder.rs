//! What is local to a clone, `.aof/`, is made by whatever needs it: in fresh clones, after it was deleted, and after an upgrade.

use std::fs;
use std::path::Path;

use crate::support::environment::{TestEnvironment, eventually};

const MADE: [&str; 3] = [".aof/inbox", ".aof/.gitignore", ".aof/schema/project.json"];

/// A clone of a project, of which nothing local is there.
fn clone() -> TestEnvironment {
    let mut env = TestEnvironment::new();
    env.hand_made("AOF-abc", "Add login");
    let _ = env.aof(&["watch", "--once"]);
    let _ = env.aof(&["doctor", "--fix"]).success();
    env.git(&["clone", "--quiet", ".", "../clone"]);
    env.enter("../clone");
    env
}

#[track_caller]
fn is_there(env: &TestEnvironment, after: &str) {
    for name in MADE {
        assert!(env.exists(name), "no {name} after {after}");
    }
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/files/src/schema");
    for schema in fs::read_dir(schemas).unwrap() {
        let name = schema.unwrap().file_name().into_string().unwrap();
        // The tests of the schemas stand among them.
        let Some(schema) = name.strip_suffix(".json") else { continue };
        let text = fs::read(env.path(&format!(".aof/schema/{name}"))).unwrap();
        let printed = env.aof_command(&["schema", schema]).output().unwrap();
        assert!(text == printed.stdout, "{name} after {after}");
    }
    let tracked = env.git(&["status", "--porcelain", "--ignored=no", "--", ".aof"]);
    assert_eq!(tracked, "", "after {after}");
}

#[test]
fn every_command_that_writes_makes_the_inbox_and_the_schemas() {
    for args in [
        &["task", "new", "Add logout"][..],
        &["task", "comment", "AOF-abc", "-m", "Seen"],
        &["watch", "--once"],
        &["sweep"],
        &["doctor", "--fix"],
    ] {
        let env = clone();
        let _ = env.aof(args).success();
        is_there(&env, &format!("{args:?} in a clone"));
        fs::remove_dir_all(env.path(".aof")).unwrap();
        let _ = env.aof(args).success();
        is_there(&env, &format!("{args:?} without .aof"));
    }
}

#[test]
fn schemas_of_another_version_are_made_anew() {
    let env = clone();
    let _ = env.aof(&["sweep"]).success();
    env.write(".aof/schema/project.json", "{}\n");
    env.write(".aof/schema/edition", "0.0.1 4711\n");
    let _ = env.aof(&["task", "comment", "AOF-abc", "-m", "Seen"]).success();
    is_there(&env, "an upgrade");
}

#[test]
fn unwritable_schemas_stop_nothing_else_and_the_doctor_reports_them() {
    let env = clone();
    env.write(".aof/schema", "mine\n");
    let _ = env.aof(&["task", "new", "Add logout"]).success();
    let outcome = |args: &[&str]| {
        let found = env.aof(&[&["doctor", "--json"], args].concat()).json();
        let complaints = found["complaints"].as_array().unwrap();
        complaints
            .iter()
            .find(|one| one["code"] == "schemas_missing")
            .map(|one| one["outcome"].clone())
    };
    assert_eq!((outcome(&[]), outcome(&["--fix"])), (Some("told".into()), Some("failed".into())));
    assert_eq!(env.read(".aof/schema"), "mine\n");
    fs::remove_file(env.path(".aof/schema")).unwrap();
    let _ = env.aof(&["doctor", "--fix"]).success();
    is_there(&env, "`aof doctor --fix`");
    assert_eq!(outcome(&[]), None);
}

#[test]
fn a_watcher_restores_deleted_folders() {
    let env = clone();
    let mut watcher = env.start(&["watch"]);
    eventually("the schemas are made", || MADE.iter().all(|name| env.exists(name)));
    // The watcher may still be writing the last file there.
    eventually("the schemas are deleted", || fs::remove_dir_all(env.path(".aof/schema")).is_ok());
    // The next look makes them, whatever it is for.
    env.write("tasks/AOF-abd.md", "---\ntitle: Add a page\n---\n");
    eventually("the schemas are made again", || MADE.iter().all(|name| env.exists(name)));
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}
