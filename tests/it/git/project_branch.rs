//! A project on a branch of its own: the log of the code stays free of it, and every command finds it.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::watcher::drop_file;
use crate::support::watcher::{Watcher, log};

pub(crate) fn repository() -> TestEnvironment {
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
      project.yaml, org.yaml  the gates of every task, and who works at them
      tasks/AOF-xxxxx.md      a first task, which explains itself
      .git/, .gitattributes   merge tasks by their meaning (undo: aof init --remove)
      project.yaml            on `main`: names the branch of the tasks
    dry run: nothing was written
    ");
    assert_eq!(env.git(&["branch", "--list", "aof"]), "");
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).success().stdout, @"
    began `project` in $PROJECT/.aof/branch, commit COMMIT
      project.yaml, org.yaml  the gates of every task, and who works at them
      tasks/AOF-xxxxx.md      a first task, which explains itself
      .git/, .gitattributes   merge tasks by their meaning (undo: aof init --remove)
      project.yaml            on `main`, commit COMMIT: names the branch of the tasks
    next: aof show AOF-xxxxx  read the first task, and complete it
          aof init --agents   connect your coding agents
    more: aof init --help     what else was made, and how to undo it
    ");
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
    let _ = there(&["task", "comment", &id, "-m", "Seen"]);
    let _ = there(&["sync"]);
    let _ = env.aof(&["sync"]).success();
    assert!(env.aof(&["task", "show", &id]).success().stdout.contains("Seen"));
    assert_eq!(env.git(&["log", "--oneline", "main"]).lines().count(), 2);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_shallow_clone_is_judged_and_synced_as_far_as_it_goes() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "One"]).success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Two"]).success();
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "--quiet", "origin", "main"]);
    let _ = env.aof(&["sync"]).success();
    let hub = format!("file://{}", env.path("../hub.git").display());
    env.git(&["clone", "--quiet", "--depth", "2", "--no-single-branch", &hub, "../b"]);
    let there = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.current_dir(env.path("../b"));
        env.run(command).success()
    };
    assert_snapshot!(there(&["verify"]).stdout, @"
    note: history ends at commit COMMIT here: earlier commits cannot be checked; `git fetch --unshallow` gets them
    all is as the rules allow: 1 commit, 1 change of a task
    ");
    let _ = there(&["task", "comment", &id, "-m", "Seen"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "Three"]).success();
    let _ = env.aof(&["sync"]).success();
    let _ = there(&["sync"]);
    let _ = env.aof(&["sync"]).success();
    for output in
        [env.aof(&["task", "show", &id]).success().stdout, there(&["task", "show", &id]).stdout]
    {
        assert!(output.contains("Seen") && output.contains("Three"), "{output}");
    }
    let _ = there(&["verify"]);
}

#[test]
fn missing_requirements_are_named() {
    let env = TestEnvironment::without_rules();
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).code(4).stderr, @"
    error: nothing is committed on `main` yet

    hint: commit something there first: it will name the project's branch
    ");
    let env = repository();
    env.git(&["branch", "aof"]);
    assert_snapshot!(env.aof(&["init", "--branch", "aof"]).code(4).stderr, @"
    error: there is a branch `aof` already

    hint: name another; if a project lives on it, commit a project.yaml with `git: {branch: aof}` here, and every command finds it
    ");
    env.write("project.yaml", "git: {branch: tasks}\n");
    env.commit_all("pointer");
    assert_snapshot!(env.aof(&["status"]).code(4).stderr, @"
    error: the project is kept on the branch `tasks` (`git.branch` in project.yaml), which is not here

    hint: get it with `git fetch origin tasks:tasks`
    ");
    assert!(!env.exists(".aof"));
}

#[test]
fn a_beginning_that_was_killed_is_gone_on_with() {
    for is_checked_out in [false, true] {
        let env = repository();
        let tree = env.git(&["mktree", "--missing"]).trim().to_owned();
        let first = env.git(&["commit-tree", &tree, "-m", "Begin aof: a branch for tasks"]);
        env.git(&["branch", "aof", first.trim()]);
        if is_checked_out {
            env.git(&["worktree", "add", "--quiet", ".aof/branch", "aof"]);
        }
        let _ = env.aof(&["init", "--branch", "aof", "--dry-run"]).success();
        let begun = env.aof(&["init", "--branch", "aof", "--json"]).success().json();
        assert_eq!(begun["checkout"]["committed"], serde_json::json!(["project.yaml"]));
        let id = env.new_task(&["Add login"]);
        assert!(env.exists(&format!(".aof/branch/tasks/{id}.md")));
        assert_eq!(
            env.git(&["log", "--format=%s", "--reverse", "aof"]).lines().next(),
            Some("Begin aof: a branch for tasks")
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = env.aof(&["init", "--branch", "aof"]).code(1);
    }
    // What has anything else is somebody's.
    let env = repository();
    env.git(&["checkout", "--quiet", "--orphan", "aof"]);
    env.git(&["commit", "--quiet", "-m", "Begin aof: a branch for tasks"]);
    env.git(&["checkout", "--quiet", "main"]);
    let refused = env.aof(&["init", "--branch", "aof"]).code(4);
    assert!(refused.stderr.contains("there is a branch `aof` already"), "{refused}");
}

/// Returns a project on a branch of its own with a task, whose folder somebody removed.
pub(crate) fn without_its_folder() -> (TestEnvironment, String) {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    fs::remove_dir_all(env.path(".aof")).unwrap();
    env.git(&["worktree", "prune"]);
    (env, id)
}

#[test]
fn the_first_command_waits_for_the_whole_checkout() {
    let (env, id) = without_its_folder();
    // Git stops in the middle of checking out.
    env.write(".git/info/attributes", "tasks/** filter=slow\n");
    env.git(&[
        "config",
        "filter.slow.smudge",
        &format!("touch '{0}/begun'; cat '{0}/go' >/dev/null; cat", env.home().display()),
    ]);
    let made = env.command("mkfifo").arg(env.home().join("go")).status().unwrap();
    assert!(made.success());
    let mut first = env.start(&["task", "show", &id]);
    eventually("git checks out", || env.home().join("begun").exists());
    // Git lives on where the command that started it is killed.
    first.kill().unwrap();
    let _ = first.wait().unwrap();
    assert!(env.exists(".git/worktrees/branch/locked"));
    let others = [env.start(&["task", "show", &id]), env.start(&["task", "list"])];
    // As many readers as there are files, each when it asks.
    let go = env.home().join("go");
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let opener = std::thread::spawn({
        let done = std::sync::Arc::clone(&done);
        move || {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // Both ways, so that it does not wait for a reader that is gone.
                drop(fs::OpenOptions::new().read(true).write(true).open(&go).unwrap());
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    });
    let outputs = others.map(|child| env.finish("aof", child));
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    opener.join().unwrap();
    for output in outputs {
        assert!(output.success().stdout.contains("Add login"));
    }
    assert!(env.exists(&format!(".aof/branch/tasks/{id}.md")));
}

#[test]
fn no_link_leads_the_branch_elsewhere() {
    for link in [".aof", ".aof/branch"] {
        let (env, id) = without_its_folder();
        let elsewhere = env.home().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let path = env.path(link);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(&elsewhere, &path).unwrap();
        let output = env.aof(&["task", "show", &id]);
        assert_ne!(output.code, Some(0), "{output}");
        assert!(
            output.stderr.contains("symbolic link") || output.stderr.contains("symlink"),
            "{output}"
        );
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
        assert!(!env.exists(".git/worktrees/branch"));
    }
}

#[test]
fn a_cleaned_exclusion_is_written_again() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    for args in [
        &["task", "new", "Add login"][..],
        &["doctor", "--fix"],
        &["watch", "--once"],
        &["task", "list"],
    ] {
        env.git(&["clean", "--quiet", "-fdx"]);
        assert!(env.exists(".aof/branch/project.yaml"), "git leaves a worktree");
        let _ = env.aof(args).success();
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{args:?}");
        env.git(&["add", "--all"]);
        let _ = env.aof(&["task", "new", "Add logout"]).success();
    }
}

#[test]
fn one_inbox_counts_and_files_elsewhere_are_named() {
    let env = repository();
    let begun = env.aof(&["init", "--branch", "aof", "--json"]).success().json();
    assert_eq!(begun["checkout"]["committed"], serde_json::json!(["project.yaml"]));
    assert_eq!(begun["checkout"]["branch"], "main");
    assert_eq!(begun["checkout"]["commit"], "COMMIT");
    let id = env.new_task(&["Add login"]);
    for folder in [".aof/inbox", ".aof/refused"] {
        assert!(!env.exists(folder) && env.exists(&format!(".aof/branch/{folder}")), "{folder}");
    }
    let watcher = Watcher::start(&env);
    eventually("it says where", || {
        log(&env).contains("drop completion files into `.aof/branch/.aof/inbox/`")
    });
    drop(watcher);
    let answer = format!("task: {id}\nagent: agent-1\noutcome: complete\nsummary: Done\n");
    drop_file(&env, "login.yaml", answer);
    let _ = env.aof(&["watch", "--once"]).success();
    let status = env.aof(&["status"]).success().stdout;
    assert!(
        status.contains("in `$PROJECT/.aof/inbox`, where nobody takes them: login.yaml"),
        "{status}"
    );
    let output = env.aof(&["doctor"]).code(1).stdout;
    assert!(
        output.contains("login.yaml") && output.contains("`$PROJECT/.aof/branch/.aof/inbox`"),
        "{output}"
    );
    fs::rename(env.path(".aof/inbox/login.yaml"), env.path(".aof/branch/.aof/inbox/login.yaml"))
        .unwrap();
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(!env.aof(&["status"]).success().stdout.contains("login.yaml"));
    assert!(env.aof(&["task", "history", &id]).success().stdout.contains("agent-1"));
    // A fresh clone has the one inbox, too.
    fs::remove_dir_all(env.path(".aof")).unwrap();
    let _ = env.aof(&["task", "show", &id]).success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Seen"]).success();
    assert!(!env.exists(".aof/inbox") && env.exists(".aof/branch/.aof/inbox"));
}

#[test]
fn the_committed_project_yaml_names_its_branch() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    env.new_task(&["Add login"]);
    env.write("project.yaml", "git: {branch: other}\n");
    let shown = env.aof(&["task", "list"]).success();
    assert!(shown.stdout.contains("Add login"), "{shown}");
    assert_snapshot!(env.plain(&shown.stderr), @"warning: `$PROJECT/project.yaml` differs from what is committed; the committed file says which branch the project is on");
    let status = env.aof(&["status"]).success();
    assert!(
        status
            .stdout
            .contains("differs from what is committed; the committed file says which branch"),
        "{status}"
    );
    // What nobody committed decides nothing.
    let env = TestEnvironment::new();
    env.git(&["branch", "other"]);
    env.write("project.yaml", "git: {branch: other}\n");
    let _ = env.aof(&["task", "list"]).success();
    assert!(!env.exists(".aof/branch"));
}

#[test]
fn shown_git_commands_work_in_the_readers_folder() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    let path = format!(".aof/branch/tasks/{id}.md");
    fs::remove_file(env.path(&path)).unwrap();
    let status = env.aof(&["status", "--json"]).success().json();
    let points = status["attention"].as_array().unwrap();
    let missing = points.iter().find(|point| point["code"] == "task_missing").unwrap();
    let output = missing["fix"].as_str().unwrap().split('`').nth(1).unwrap();
    assert!(output.starts_with("git -C .aof/branch restore "), "{output}");
    let run = |output: &str| {
        env.run({
            let mut shell = env.command("sh");
            shell.args(["-c", output]);
            shell
        })
    };
    let _ = run(&output.replace("AOF-xxxxx", &id)).success();
    assert!(env.exists(&path));
    env.edit(&path, "status: ready", "status: blocked");
    let refused = env.aof(&["task", "comment", &id, "-m", "Seen"]);
    assert!(
        refused
            .stderr
            .contains("`git -C .aof/branch restore --source=HEAD --staged --worktree tasks/"),
        "{refused}"
    );
    // What is wrong says so, too.
    env.git(&["-C", ".aof/branch", "checkout", "--quiet", "HEAD", "--", "tasks"]);
    env.edit(&path, "Add login", "Log in");
    env.git(&["-C", ".aof/branch", "add", "tasks"]);
    env.edit(&path, "Log in", "Log on");
    let staged = env.aof(&["task", "comment", &id, "-m", "Seen"]).code(5);
    assert_snapshot!(staged.stderr, @"error: another version of `tasks/AOF-xxxxx.md` is staged in git's index; commit it, or take it back with `git -C .aof/branch restore --staged tasks/AOF-xxxxx.md`");
    let json = env.aof(&["task", "comment", &id, "-m", "Seen", "--json"]).code(5);
    assert!(json.stdout.contains("`git -C .aof/branch restore --staged tasks/"), "{json}");
    assert!(json.stderr.contains("`git -C .aof/branch restore --staged tasks/"), "{json}");
    env.git(&["-C", ".aof/branch", "reset", "--quiet", "--hard"]);
    let merge = ["-C", ".aof/branch", "merge", "--quiet", "--no-commit", "--no-ff", "side"];
    env.git(&["-C", ".aof/branch", "branch", "side"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "Here"]).success();
    env.git(&["-C", ".aof/branch", "switch", "--quiet", "side"]);
    env.write(".aof/branch/notes.txt", "theirs\n");
    env.git(&["-C", ".aof/branch", "add", "notes.txt"]);
    env.git(&["-C", ".aof/branch", "commit", "--quiet", "-m", "notes"]);
    env.git(&["-C", ".aof/branch", "switch", "--quiet", "aof"]);
    env.git(&merge);
    let late = env.aof(&["task", "comment", &id, "-m", "Seen", "--wait", "1s"]).code(7);
    assert_snapshot!(late.stderr, @"
    waiting: a merge is in progress; end it with `git -C .aof/branch merge --continue` or `git -C .aof/branch merge --abort`
    error: a merge is in progress; end it with `git -C .aof/branch merge --continue` or `git -C .aof/branch merge --abort`
    ");
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("`git -C .aof/branch merge --abort`"), "{status}");
    env.git(&["-C", ".aof/branch", "merge", "--abort"]);
    env.edit(&path, "status: ready", "status: blocked");
    for command in ["doctor", "status", "why"] {
        let args = [command, &id];
        let answer = env.aof(if command == "why" { &args } else { &args[..1] });
        assert!(
            answer
                .stdout
                .contains("`git -C .aof/branch restore --source=HEAD --staged --worktree tasks/"),
            "{answer}"
        );
    }
    // From elsewhere the whole path is told.
    env.write("sub/x.txt", "x");
    let mut inside = env.aof_command(&["status"]);
    inside.current_dir(env.path("sub"));
    let answer = env.run(inside).success();
    assert!(answer.stdout.contains("git -C $PROJECT/.aof/branch restore"), "{answer}");
}

#[test]
fn branches_of_the_code_that_know_nothing_of_it_find_it() {
    let env = repository();
    env.git(&["branch", "older"]);
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let id = env.new_task(&["Add login"]);
    env.git(&["switch", "--quiet", "older"]);
    assert!(!env.exists("project.yaml"));
    assert!(env.aof(&["task", "list"]).success().stdout.contains("Add login"));
    env.write("deep/er/x.txt", "x\n");
    let mut inside = env.aof_command(&["task", "comment", &id, "-m", "From an older branch"]);
    inside.current_dir(env.path("deep/er"));
    let _ = env.run(inside).success();
    assert!(env.read(&format!(".aof/branch/tasks/{id}.md")).contains("From an older branch"));
    // So does another worktree, which has not even got the folder.
    env.git(&["worktree", "add", "--quiet", "-b", "other", "../other", "older"]);
    let mut outside = env.aof_command(&["task", "list"]);
    outside.current_dir(env.path("../other"));
    assert!(env.run(outside).success().stdout.contains("Add login"));
    assert_eq!(env.git(&["-C", "../other", "status", "--porcelain"]), "");
    // What is a project there is that one.
    env.write("project.yaml", crate::support::environment::PROJECT);
    env.write("org.yaml", crate::support::environment::ORG);
    env.commit_all("a project of its own");
    assert!(!env.aof(&["task", "list"]).success().stdout.contains("Add login"));
}

#[test]
fn the_project_branch_is_announced_beside_the_code() {
    let env = repository();
    let _ = env.aof(&["init", "--branch", "aof", "--agents"]).success();
    let file = fs::read_dir(env.path(".aof/branch/tasks")).unwrap().next().unwrap().unwrap().path();
    let id = file.file_stem().unwrap().to_str().unwrap();
    assert!(env.git(&["show", "main:AGENTS.md"]).contains("aof"));
    assert!(!env.exists(".aof/branch/AGENTS.md") && !env.exists(".aof/branch/.mcp.json"));

    let shown = env.aof(&["task", "show", id]).success().stdout;
    assert!(shown.contains("git -C .aof/branch log tasks/"), "{shown}");
    assert_ne!(env.git(&["-C", ".aof/branch", "log", "tasks/"]), "");
    assert!(shown.contains(" .aof/branch/tasks/AOF-"), "{shown}");

    let _ = env.aof(&["init", "--remove", "--dry-run"]).success();
    assert!(env.read(".aof/branch/.gitattributes").contains("merge=aof"));
    let removed = env.aof(&["init", "--remove"]).success();
    assert_snapshot!(removed.stdout.lines().last().unwrap(), @r#"commit it with `git -C .aof/branch add .gitattributes && git -C .aof/branch commit -m "Remove aof" -- .gitattributes`"#);
    assert!(!env.exists("AGENTS.md") && !env.exists(".aof/branch/.gitattributes"));
    for line in removed.stdout.lines().filter_map(|line| line.strip_prefix("commit it with `")) {
        let mut shell = env.command("sh");
        shell.args(["-c", line.trim_end_matches('`')]);
        let _ = env.run(shell).success();
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.git(&["-C", ".aof/branch", "status", "--porcelain"]), "");
    assert_eq!(env.aof(&["init", "--remove"]).success().stdout, "nothing to remove\n");
}
