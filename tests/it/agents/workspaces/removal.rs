//! The removal of workspaces: whatever comes in between, and whatever a person, a set-up or a killed process left there.

use std::fs;

use super::worktrees::{project, two_gates};
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::scripted_agents::stand;

/// Returns the text of a file that the salvage of a task keeps.
fn salvaged(env: &TestEnvironment, id: &str, file: &str) -> String {
    env.git(&["show", &format!("refs/aof/salvage/{id}:{file}")])
}

fn cancelled(env: &TestEnvironment, id: &str) {
    let _ = env.aof(&["cancel", id, "-m", "no"]).success();
}

#[cfg(debug_assertions)]
#[test]
fn a_commit_between_the_list_and_the_removal_stays() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    cancelled(&env, &id);
    let pipe = env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = env.aof_command(&["workspace", "prune"]);
    command.env("AOF_WAIT_AT", format!("prune.listed:{}", pipe.display()));
    let piped = std::process::Stdio::piped;
    let child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    eventually("it has listed them", || pipe.with_extension("reached").exists());
    let folder = format!(".aof/work/{id}");
    env.write(&format!("{folder}/late.txt"), "late\n");
    env.git(&["-C", &folder, "add", "late.txt"]);
    env.git(&["-C", &folder, "commit", "--quiet", "--message", "late"]);
    let opened = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let pruned = env.finish("workspace prune", child).success().stdout;
    drop(opened);
    assert!(pruned.contains("AOF-xxxxx stays: its work is not on the base"), "{pruned}");
    assert_eq!(env.git(&["show", &format!("aof-work/{id}:late.txt")]), "late\n");
    assert_eq!(env.read(&format!("{folder}/late.txt")), "late\n");
}

#[test]
fn commits_without_a_branch_outlast_a_folder_that_a_person_removes() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    let folder = format!(".aof/work/{id}");
    env.git(&["-C", &folder, "checkout", "--quiet", "--detach"]);
    env.write(&format!("{folder}/aside.txt"), "aside\n");
    env.git(&["-C", &folder, "add", "aside.txt"]);
    env.git(&["-C", &folder, "commit", "--quiet", "--message", "aside"]);
    fs::remove_dir_all(env.path(&folder)).unwrap();
    cancelled(&env, &id);
    let pruned = env.aof(&["workspace", "prune"]).success();
    assert_eq!(pruned.stdout, "removed AOF-xxxxx\n");
    env.git(&["worktree", "prune"]);
    assert_eq!(salvaged(&env, &id, "aside.txt"), "aside\n");
}

#[test]
fn commits_without_a_branch_stay_in_a_folder_that_was_moved() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    env.git(&["worktree", "move", &format!(".aof/work/{id}"), "../moved"]);
    env.git(&["-C", "../moved", "checkout", "--quiet", "--detach"]);
    env.write("../moved/aside.txt", "aside\n");
    env.git(&["-C", "../moved", "add", "aside.txt"]);
    env.git(&["-C", "../moved", "commit", "--quiet", "--message", "aside"]);
    cancelled(&env, &id);
    let pruned = env.aof(&["workspace", "prune"]).success().stdout;
    assert!(pruned.starts_with("AOF-xxxxx stays: its work is not on the base\n"), "{pruned}");
    // By force it goes, and is kept.
    let _ = env.aof(&["workspace", "prune", "--force", &id]).success();
    assert!(!env.exists("../moved"));
    assert_eq!(salvaged(&env, &id, "aside.txt"), "aside\n");
}

#[test]
fn a_file_of_set_up_that_was_edited_is_salvaged() {
    let env = project(
        "workspaces: {setup: [[sh, -c, 'echo sample > made.json']]}",
        "{id: write, role: coders}",
        &[(
            "coder",
            "echo mine > made.json; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT",
        )],
    );
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    // It is the set-up's: it is not committed, and holds nothing up.
    assert!(!env.exists(&format!(".aof/work/{id}")));
    assert_eq!(salvaged(&env, &id, "made.json"), "mine\n");
}

#[test]
fn a_file_that_was_there_before_a_second_set_up_is_salvaged() {
    let env = two_gates("workspaces: {setup: [[sh, -c, 'test -f $HOME/ready']]}");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).code(4);
    env.write(&format!(".aof/work/{id}/notes.txt"), "a person's\n");
    fs::write(env.home().join("ready"), "").unwrap();
    let _ = env.aof(&["workspace", "path", &id]).success();
    cancelled(&env, &id);
    let _ = env.aof(&["workspace", "prune"]).success();
    assert!(!env.exists(&format!(".aof/work/{id}")));
    assert_eq!(salvaged(&env, &id, "notes.txt"), "a person's\n");
}

#[test]
fn what_killed_processes_left_of_forks_and_landings_is_listed_and_goes() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    cancelled(&env, &id);
    let _ = env.aof(&["workspace", "prune"]).success();
    let left = [format!("{id}.law"), format!("landing.{id}")];
    for name in &left {
        env.git(&["worktree", "add", "--quiet", "--detach", &format!(".aof/work/{name}")]);
        env.write(&format!(".aof/work/{name}.lock"), "");
    }
    // A visit leaves its lock behind.
    env.write(&format!(".aof/work/{id}.text.lock"), "");
    let listed = env.aof(&["workspace", "list"]).success().stdout;
    assert!(listed.contains("AOF-xxxxx"), "{listed}");
    let pruned = env.aof(&["workspace", "prune"]).success();
    assert_eq!(pruned.stdout, "removed AOF-xxxxx\n");
    assert_eq!(env.files(".aof/work"), [".aof/work/.gitignore", ".aof/work/lock"]);
    let listed = env.aof(&["workspace", "list"]).success();
    assert_eq!(listed.stdout, "no task has a workspace here\n");
}

/// A clean-up that fails is no reason to give up what is done, or other tasks.
#[test]
fn a_failed_removal_ends_no_run() {
    let env = project(
        "",
        "{id: write, role: coders}",
        &[(
            "coder",
            "touch ../../../.git/packed-refs.lock; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT",
        )],
    );
    let (one, two) = (env.new_task(&["One"]), env.new_task(&["Two"]));
    env.git(&["pack-refs", "--all"]);
    let ran = env.aof(&["run", "--all"]).success();
    assert!(format!("{ran}").contains("packed-refs.lock"), "{ran}");
    for id in [one, two] {
        assert_eq!(stand(&env, &id), "complete - -", "{ran}");
    }
}
