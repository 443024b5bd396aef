//! A project on a branch of its own: the log of the code stays free of it, and every command finds it.

use std::fs;

use insta::assert_snapshot;

use crate::environment::TestEnvironment;

fn repository() -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.commit_all("code");
    env
}

#[test]
fn tasks_live_beside_the_code() {
    let env = repository();
    assert_snapshot!(env.aof(&["init", "--branch", "aof", "--dry-run"]).success().stdout, @"
    would begin `project` in $PROJECT/.aof/branch
      project.yaml        the gates that every task goes through
      org.yaml            who works at them
      tasks/AOF-xxxxx.md  a first task, which explains itself
      .gitattributes      has git merge tasks by their meaning
      .aof/               local, never committed: the inbox, the lock, schemas for editors
    dry run: nothing was written
    ");
    assert_eq!(env.git(&["branch", "--list", "aof"]), "");
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).success().stdout, @r#"
    began `project` in $PROJECT/.aof/branch, commit COMMIT
      project.yaml        the gates that every task goes through
      org.yaml            who works at them
      tasks/AOF-xxxxx.md  a first task, which explains itself
      .gitattributes      has git merge tasks by their meaning
      .aof/               local, never committed: the inbox, the lock, schemas for editors

    try next:
      aof task show AOF-xxxxx     read the first task, and take it through
      aof workflow show           see the way that a task goes
      aof task new "Add login"    create a task of your own
    "#);
    let id = env.new_task(&["Add login"]);
    env.write("sub/folder/x.txt", "x\n");
    let mut inside = env.aof_command(&["task", "list"]);
    inside.current_dir(env.path("sub/folder"));
    assert!(env.run(inside).success().stdout.contains("Add login"));
    assert!(env.exists(&format!(".aof/branch/tasks/{id}.md")));
    // What people work at is theirs alone.
    assert_snapshot!(env.log(), @"
    Ada: Tasks live on the branch aof
    Ada: code
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), "?? sub/\n");
    assert_snapshot!(env.read("project.yaml"), @"
    # The tasks of this repository, and the rules that they follow, live on a branch of their own: every `aof` command works
    # there. It is checked out in `.aof/branch`.
    git:
      branch: aof
    ");
    assert!(env.git(&["log", "--format=%s", "aof"]).lines().count() >= 3);
    // From inside the branch it is the same project, and from another worktree of the code.
    let mut inside = env.aof_command(&["task", "show", &id]);
    inside.current_dir(env.path(".aof/branch"));
    let _ = env.run(inside).success();
    env.git(&["worktree", "add", "--quiet", "-b", "feature", "../feature"]);
    let mut beside = env.aof_command(&["task", "show", &id]);
    beside.current_dir(env.path("../feature"));
    let _ = env.run(beside).success();
    assert!(!env.exists("../feature/.aof/branch"));
    // Who removes the folder gets it again, with all that was committed.
    fs::remove_dir_all(env.path(".aof")).unwrap();
    let _ = env.aof(&["task", "show", &id]).success();
}

#[test]
fn a_fresh_clone_has_it_by_its_first_command() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "origin", "main"]);
    let _ = env.aof(&["sync"]).success();
    env.git(&["clone", "--quiet", "../hub.git", "../b"]);
    let there = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.current_dir(env.path("../b"));
        env.run(command).success()
    };
    assert!(there(&["task", "show", &id]).stdout.contains("Add login"));
    let _ = there(&["task", "comment", &id, "Seen"]);
    let _ = there(&["sync"]);
    let _ = env.aof(&["sync"]).success();
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Seen"));
    assert_eq!(env.git(&["log", "--oneline", "main"]).lines().count(), 2);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_missing_for_it_is_said() {
    let env = TestEnvironment::without_rules();
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).code(4).stderr, @"
    error: nothing is committed on `main` yet

    hint: commit something there first: it will say where the project is
    ");
    let env = repository();
    env.git(&["branch", "aof"]);
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).code(4).stderr, @"
    error: there is a branch `aof` already

    hint: name another; if a project lives on it, commit a project.yaml with `git: {branch: aof}` here, and every command finds it
    ");
    env.write("project.yaml", "git: {branch: tasks}\n");
    assert_snapshot!(env.aof(&["status"]).code(4).stderr, @"
    error: the project lives on the branch `tasks` (`git.branch` in project.yaml), which is not here

    hint: get it with `git fetch origin tasks:tasks`
    ");
    assert!(!env.exists(".aof"));
}
