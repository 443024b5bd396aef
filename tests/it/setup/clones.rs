//! A clone finds the project on a branch of its remote, which names itself.

use insta::assert_snapshot;

use crate::git::project_branch::repository;
use crate::support::environment::{Output, TestEnvironment};

/// Returns a repository with tasks on the branch `aof`, and its remote, which has that branch and the code without the pointer.
fn published() -> (TestEnvironment, String) {
    let env = repository();
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "origin", "main"]);
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["sync"]).success();
    (env, id)
}

fn cloned(env: &TestEnvironment) {
    env.git(&["clone", "--quiet", "../hub.git", "../b"]);
}

fn in_b(env: &TestEnvironment, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.current_dir(env.path("../b"));
    env.run(command)
}

#[test]
fn a_clone_without_a_pointer_finds_the_branch_that_names_itself() {
    let (env, id) = published();
    cloned(&env);
    let main = env.git(&["-C", "../b", "rev-parse", "main"]);
    // Neither the branch of the code nor others with a project.yaml count.
    for (branch, names) in [("old", ""), ("other", "git: {branch: aof}\n"), ("x/aof", "")] {
        env.git(&["checkout", "--quiet", "-b", branch, "main~1"]);
        env.write("project.yaml", names);
        env.commit_all("another");
        env.git(&["push", "--quiet", "origin", branch]);
    }
    env.git(&["-C", "../b", "fetch", "--quiet"]);
    // Nothing is fetched.
    env.git(&["-C", "../b", "remote", "set-url", "origin", "../nowhere.git"]);
    let shown = in_b(&env, &["show", &id]).success();
    assert!(shown.stdout.contains("Add login"), "{shown}");
    assert_snapshot!(shown.stderr, @"note: the project of this repository is on `origin/aof`; it is checked out in `.aof/branch` now");
    let mut below = env.aof_command(&["show", &id]);
    std::fs::create_dir(env.path("../b/src")).unwrap();
    below.current_dir(env.path("../b/src"));
    let again = env.run(below).success();
    assert!(again.stderr.is_empty() && again.stdout.contains("Add login"), "{again}");
    assert_eq!(
        env.git(&["-C", "../b", "rev-parse", "--abbrev-ref", "aof@{upstream}"]),
        "origin/aof\n"
    );
    assert_eq!(env.git(&["-C", "../b", "rev-parse", "main"]), main);
    assert_eq!(env.git(&["-C", "../b", "status", "--porcelain"]), "");
    env.git(&["-C", "../b", "remote", "set-url", "origin", "../hub.git"]);
    let _ = in_b(&env, &["comment", &id, "-m", "Seen"]).success();
    let _ = in_b(&env, &["sync"]).success();
    let _ = in_b(&env, &["verify"]).success();
}

#[test]
fn init_refuses_in_such_a_clone() {
    let (env, id) = published();
    cloned(&env);
    for args in
        [&["init"][..], &["init", "--here"], &["init", "--branch", "tasks"], &["init", "--dry-run"]]
    {
        let refused = in_b(&env, args).code(4);
        assert!(refused.stderr.contains("`origin/aof` has the project of"), "{refused}");
    }
    assert_snapshot!(in_b(&env, &["init"]).code(4).stderr, @"
    error: `origin/aof` has the project of this repository

    hint: `aof status` checks it out, and every command works there; a project.yaml with `git: {branch: aof}` on each branch of the code names it
    ");
    assert_eq!(in_b(&env, &["init", "--json"]).code(4).json()["error"], "project_on_remote");
    assert!(!env.exists("../b/.aof") && !env.exists("../b/project.yaml"));
    let _ = in_b(&env, &["init", "part"]).code(4);
    // A part of the repository may have a project of its own, if that is asked for.
    let _ = in_b(&env, &["init", "part", "--here"]).success();
    assert!(in_b(&env, &["show", &id]).success().stdout.contains("Add login"));
}

#[test]
fn of_several_none_is_taken() {
    let (env, id) = published();
    env.git(&["clone", "--quiet", "--bare", "../hub.git", "../fork.git"]);
    cloned(&env);
    env.git(&["-C", "../b", "remote", "add", "fork", "../fork.git"]);
    env.git(&["-C", "../b", "fetch", "--quiet", "fork"]);
    let refused = in_b(&env, &["status"]).code(4);
    let hint = refused.stderr.clone();
    assert_snapshot!(refused.stderr, @"
    error: no project is checked out here, and several branches of remotes have one: `fork/aof`, `origin/aof`

    hint: check one of them out: `git -C $ROOT/b worktree add --track -b aof .aof/branch fork/aof`
    ");
    assert!(!env.exists("../b/.aof"));
    let root = env.home().parent().unwrap().display().to_string();
    let command = hint.split('`').find(|part| part.starts_with("git -C")).unwrap();
    let mut shell = env.command("sh");
    shell.args(["-c", &command.replace("$ROOT", &root)]);
    let _ = env.run(shell).success();
    assert!(in_b(&env, &["show", &id]).success().stdout.contains("Add login"));
    assert_eq!(env.git(&["-C", "../b", "status", "--porcelain"]), "");
}

#[test]
fn a_branch_of_that_name_that_is_something_else_is_never_checked_out() {
    let (env, id) = published();
    cloned(&env);
    env.git(&["-C", "../b", "branch", "--no-track", "aof", "main"]);
    let refused = in_b(&env, &["status"]).code(4);
    assert_snapshot!(refused.stderr, @"
    error: `origin/aof` has the project of this repository, and the local branch `aof` has not

    hint: rename yours: `git branch -m aof OTHER`
    ");
    assert!(!env.exists("../b/.aof"));
    env.git(&["-C", "../b", "branch", "-m", "aof", "mine"]);
    let _ = in_b(&env, &["show", &id]).success();
    // A linked worktree has the same checkout, also where HEAD is detached.
    env.git(&["-C", "../b", "worktree", "add", "--quiet", "--detach", "../c"]);
    let mut beside = env.aof_command(&["show", &id]);
    beside.current_dir(env.path("../c"));
    let _ = env.run(beside).success();
    assert!(!env.exists("../c/.aof"));
}

#[test]
fn a_linked_worktree_checks_out_beside_the_main_one() {
    let (env, id) = published();
    cloned(&env);
    env.git(&["-C", "../b", "worktree", "add", "--quiet", "--detach", "../c"]);
    let mut beside = env.aof_command(&["show", &id]);
    beside.current_dir(env.path("../c"));
    let _ = env.run(beside).success();
    assert!(!env.exists("../c/.aof") && env.exists("../b/.aof/branch/project.yaml"));
    assert!(in_b(&env, &["show", &id]).success().stderr.is_empty());
}

#[test]
fn a_pointer_that_is_not_pushed_is_reported() {
    let (env, _) = published();
    let synced = env.aof(&["sync"]).success();
    assert_snapshot!(synced.stdout, @"
    nothing to do: the same as origin/aof
    ! project.yaml on `main`, which names the branch of the tasks, is not pushed
      push it with `git push origin main`, or by a pull request; until then clones look for the branch `aof` themselves
    ");
    assert!(env.aof(&["sync", "--json"]).success().json()["pointer"]["fix"].is_string());
    let status = env.aof(&["status"]).success().stdout;
    assert!(
        status
            .contains("project.yaml on `main`, which names the branch of the tasks, is not pushed"),
        "{status}"
    );
    let doctor = env.aof(&["doctor"]).success().stdout;
    assert!(doctor.contains("[pointer_not_pushed]"), "{doctor}");
    env.git(&["push", "--quiet", "origin", "main"]);
    env.git(&["switch", "--quiet", "-c", "feature"]);
    for args in [&["sync"][..], &["status"], &["doctor"]] {
        let output = env.aof(args).success();
        assert!(
            !output.stdout.contains("not pushed") && !output.stdout.contains("pointer_"),
            "{output}"
        );
    }
    assert!(env.aof(&["sync", "--json"]).success().json().get("pointer").is_none());
}

#[test]
fn code_beside_synced_tasks_is_reported_before_it_stops_the_sync() {
    let env = TestEnvironment::new();
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.write("project.yaml", format!("git: {{sync: true}}\n{}", env.read("project.yaml")));
    env.write("README.md", "Tasks\n");
    env.commit_all("sync");
    env.git(&["push", "--quiet", "--set-upstream", "origin", "main"]);
    let fixed = env.aof(&["doctor", "--fix"]).success();
    assert!(!fixed.stdout.contains("code_stops_sync"), "{fixed}");
    env.write("src/main.rs", "fn main() {}\n");
    env.commit_all("code");
    env.git(&["push", "--quiet"]);
    let doctor = env.aof(&["doctor"]).success().stdout;
    let at = doctor.find("advice: tasks share").unwrap();
    assert_snapshot!(&doctor[at..], @"
    advice: tasks share `main` with code, and `git.sync` is on: the first commit of code on `main` stops the sync, and so all claims, until somebody pushes it [code_stops_sync]
      why  agents wait, and the watcher hands out nothing meanwhile
      fix  `aof migrate branch` moves the tasks to a branch of their own; or have agents commit on other branches
    nothing is wrong
    ");
    for args in [&["workflow", "validate"][..], &["run"]] {
        let output = env.aof(args);
        assert!(output.stderr.contains("warning: tasks share `main` with code"), "{output}");
    }
    env.edit("project.yaml", "sync: true", "sync: false");
    env.commit_all("alone");
    assert!(!env.aof(&["doctor"]).stdout.contains("code_stops_sync"));
}

#[test]
fn init_on_a_branch_needs_a_branch_of_the_code() {
    let env = repository();
    env.git(&["checkout", "--quiet", "--detach"]);
    for args in [&["init", "--branch", "aof"][..], &["init", "--branch", "aof", "--dry-run"]] {
        let refused = env.aof(args).code(4);
        assert!(refused.stderr.contains("hint: that branch gets a commit"), "{refused}");
    }
    assert!(env.git(&["branch", "--list", "aof"]).is_empty() && !env.exists(".aof"));
}
