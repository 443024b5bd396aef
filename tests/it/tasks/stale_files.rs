//! Task files that are earlier versions of themselves: a checkout that raced with a command, or an editor that saved late.

use std::fs;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::{entries, scene, verified};

/// A task that went one step on after its file was read.
fn stale() -> (TestEnvironment, String, String) {
    let (env, id) = scene();
    let _ = env.aof(&["org", "reload"]).success();
    let old = env.task_text(&id);
    let _ = env.complete(&id, "agent-7").success();
    (env, id, old)
}

fn kept(env: &TestEnvironment) -> Vec<String> {
    let Ok(folder) = fs::read_dir(env.path(".aof/stale")) else { return Vec::new() };
    folder.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
}

#[test]
fn the_next_command_brings_an_earlier_version_up() {
    let (env, id, old) = stale();
    let committed = env.task_text(&id);
    env.write(&env.task_path(&id), &old);
    let task = env.aof(&["task", "show", &id]).success().stderr;
    assert!(task.contains("is an earlier version of the task"), "{task}");
    let commented = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
    assert!(commented.stderr.contains("was an earlier version of the task"), "{commented}");
    assert_eq!(kept(&env), [old]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).len() > committed.len());
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

#[test]
fn edits_of_an_earlier_version_are_committed_on_top_of_the_step() {
    let (env, id, old) = stale();
    let edited = old.replace("title: Add login", "title: Add a login") + "\nMore to say.\n";
    env.write(&env.task_path(&id), &edited);
    let output = env.aof(&["watch", "--once"]).success().stderr;
    assert!(
        output.contains("was an earlier version of the task: your edits are in HEAD's"),
        "{output}"
    );
    assert_eq!(kept(&env), [edited]);
    let text = env.task_text(&id);
    assert!(text.contains("title: Add a login") && text.ends_with("More to say.\n"), "{text}");
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

#[test]
fn edits_that_overlap_wait_for_a_person() {
    let (env, id, old) = stale();
    env.edit(&env.task_path(&id), "title: Add login", "title: Add the login");
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
    let edited = old.replace("title: Add login", "title: Add a login");
    env.write(&env.task_path(&id), &edited);
    let head = env.head();
    let refused = env.aof(&["task", "comment", &id, "-m", "Again"]);
    assert_eq!(refused.code, Some(5), "{refused}");
    let overlap =
        "is an earlier version of the task, and what you changed has changed in HEAD too: title";
    assert!(refused.stderr.contains(overlap), "{refused}");
    assert_eq!((env.head(), env.task_text(&id), kept(&env)), (head, edited, Vec::new()));
    // What counts is shown meanwhile.
    let shown = env.aof(&["task", "show", &id]).success();
    assert!(shown.stdout.contains("Add the login") && shown.stdout.contains("review"), "{shown}");
    let command = refused.stderr.split('`').find(|text| text.starts_with("git stash")).unwrap();
    let command = command.replace("AOF-xxxxx", &id);
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    env.git(&words);
    assert!(env.git(&["stash", "show", "-p"]).contains("+title: Add a login"));
    let _ = env.aof(&["task", "comment", &id, "-m", "Again"]).success();
    let _ = verified(&env).success();
}
