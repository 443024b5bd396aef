//! What a runner cannot clear away itself: it says what is needed, and waits no longer than `--wait`.

use std::fs;

use serde_json::Value;

use crate::support::checker::check;
use crate::support::clones::Clones;
use crate::support::environment::{Output, TestEnvironment};
use crate::support::scripted_agents::{DONE, history, one_gate, said_at_home, shown, stand};

fn run(env: &TestEnvironment, more: &[&str]) -> Output {
    env.aof(&[&["run", "--agent", "coder", "--wait", "0s"], more].concat())
}

/// Expects that the runner waits for something, with these words, and that programs are told so.
#[track_caller]
fn waits(env: &TestEnvironment, words: &[&str]) {
    let output = run(env, &[]).code(7);
    for word in words {
        assert!(output.stdout.contains(word), "{word}: {output}");
    }
    let printed = run(env, &["--json"]).code(7);
    let ended: Value = serde_json::from_str(printed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(ended["success"], false, "{printed}");
    assert!(ended["error"].as_str().unwrap().contains(words[0]), "{printed}");
}

fn synced() -> Clones {
    let script = format!("echo x >> $HOME/calls; {}", DONE.trim());
    let script = serde_json::to_string(&script).unwrap();
    Clones::with_org(
        "git: {sync: true}\nworkflow: {gates: [{id: work, role: worker}]}\n",
        &format!(
            "roles: {{worker: {{agents: [coder]}}}}\nagents: {{coder: {{run: {{command: [sh, -c, {script}]}}}}}}\n"
        ),
        &["b"],
    )
}

#[test]
fn a_sync_that_needs_a_person_ends_the_run_at_once() {
    let clones = synced();
    let env = &clones.env;
    let _ = env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    // Code that was pushed, and code that was not: a sync merges and pushes neither.
    env.write("code.txt", "one\n");
    env.commit_all("code");
    // The time to wait makes no difference.
    let output = env.aof(&["run", "--agent", "coder", "--wait", "10m"]).code(7);
    assert!(output.stdout.contains("code.txt") && output.stdout.contains("git push"), "{output}");
    waits(env, &["code.txt"]);
    clones.git("b", &["pull", "--quiet"]);
    env.write("../b/other.txt", "two\n");
    clones.git("b", &["add", "--all"]);
    clones.git("b", &["commit", "--quiet", "--message", "other"]);
    clones.git("b", &["push", "--quiet"]);
    waits(env, &["code.txt", "git pull"]);
    assert_eq!(said_at_home(env, "calls"), "");
    env.git(&["pull", "--quiet", "--no-rebase", "--no-edit"]);
    env.git(&["push", "--quiet"]);
    let _ = run(env, &[]).success();
    assert_eq!(said_at_home(env, "calls"), "x\n");
}

#[test]
fn a_remote_that_is_gone_is_waited_for_as_long_as_one_says() {
    let clones = synced();
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    fs::rename(clones.env.path("../hub.git"), clones.env.path("../gone.git")).unwrap();
    waits(&clones.env, &["`origin/main` cannot be reached"]);
    let one = clones.env.aof(&["run", "--agent", "coder", "--once", "--wait", "0s"]).code(7);
    assert!(one.stdout.contains("`origin/main` cannot be reached"), "{one}");
    assert_eq!(stand(&clones.env, &id), "ready work -");
}

#[test]
fn a_merge_or_a_detached_head_is_waited_for_as_long_as_one_says() {
    let env = one_gate("", DONE);
    let id = env.new_task(&["Add login"]);
    let head = env.head();
    env.write(".git/MERGE_HEAD", format!("{head}\n"));
    waits(&env, &["merge"]);
    let task = env.aof(&["run", "--task", &id, "--wait", "0s"]).code(7);
    assert!(task.stderr.contains("a merge is in progress"), "{task}");
    fs::remove_file(env.path(".git/MERGE_HEAD")).unwrap();
    env.git(&["checkout", "--quiet", "--detach"]);
    waits(&env, &["branch"]);
    env.git(&["checkout", "--quiet", "main"]);
    let _ = run(&env, &[]).success();
}

#[test]
fn an_answer_that_cannot_be_committed_now_counts_in_a_later_run() {
    let script =
        format!("echo x >> \"$HOME/calls\"\n{DONE}cp .git/refs/heads/main .git/MERGE_HEAD\n");
    let env = one_gate("", &script);
    let id = env.new_task(&["Add login"]);
    let output = run(&env, &[]).code(7);
    assert!(output.stdout.contains("merge"), "{output}");
    fs::remove_file(env.path(".git/MERGE_HEAD")).unwrap();
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(said_at_home(&env, "calls"), "x\n", "the work is done once");
    assert_eq!(shown(&env, &id)["status"], "complete");
    check(&env);
}

#[test]
fn a_frozen_task_is_not_waited_for() {
    let env = one_gate("", DONE);
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "current: work", "current: elsewhere");
    let output = env.aof(&["run", "--task", &id, "--wait", "0s"]);
    assert!(matches!(output.code, Some(5 | 7)), "{output}");
    assert!(output.to_string().contains("git restore"), "{output}");
}

#[test]
fn an_untrusted_test_is_named_with_the_command_and_the_answer_waits() {
    let rules = "workflow: {gates: [{id: work, role: worker, check: tests}]}\n";
    let script = format!("echo x >> \"$HOME/calls\"\n{DONE}");
    let env =
        crate::support::scripted_agents::project_of(rules, &[("coder", "worker", "", &script)]);
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(
        &path,
        "---\n",
        "---\ntests: [{when: {run: [sh, -c, touch tested]}, then: {exit: 0}}]\n",
    );
    env.commit_all("tests");
    let untrusting = |args: &[&str], hash: &str| {
        let mut command = env.aof_command(args);
        command.env_remove("AOF_TRUST");
        if !hash.is_empty() {
            command.env("AOF_TRUST", hash);
        }
        env.run(command)
    };
    // The program itself.
    let refused = untrusting(&["run", "--agent", "coder"], "").code(7);
    assert!(refused.stderr.contains("`aof trust`"), "{refused}");
    let json = untrusting(&["run", "--agent", "coder", "--json"], "").code(7);
    assert!(json.stdout.contains("\"program_untrusted\""), "{json}");
    let (_, after) = refused.stderr.split_once("AOF_TRUST=").unwrap();
    let hash: String = after.chars().take_while(char::is_ascii_hexdigit).collect();
    // The tests of the task.
    let output = untrusting(&["run", "--agent", "coder"], &hash).code(7);
    assert!(output.stdout.contains(&format!("`aof trust {}`", env.plain(&id))), "{output}");
    assert_eq!(history(&env, &id), "");
    let _ = run(&env, &[]).success();
    assert_eq!(said_at_home(&env, "calls"), "x\n", "the work is done once");
    assert!(env.exists("tested"));
}
