//! Repositories as they are met: none, bare, empty, in the middle of something, locked, of many worktrees.

use std::fs;

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{LAYOUTS, ORG, PROJECT, TestEnvironment, eventually};
use crate::support::merge_scene::{aside, scene, verified};

#[test]
fn a_missing_repository_or_project_is_named() {
    let env = TestEnvironment::without_repository();
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @"
    exit 3
    --- stderr
    error: no project at `$PROJECT` or above it

    hint: start one with `aof init`, or name its folder with `-C DIR`
    ");
    env.write("project.yaml", PROJECT);
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @"
    exit 3
    --- stderr
    error: `$PROJECT` is not in a git repository; run `aof init` or `git init` there
    ");
    assert_snapshot!(env.aof(&["-C", "nowhere", "task", "new", "Add login"]), @"
    exit 3
    --- stderr
    error: cannot enter `nowhere`: No such file or directory (os error 2)
    ");
}

#[test]
fn a_bare_repository_has_no_tasks() {
    let env = TestEnvironment::without_repository();
    env.git(&["init", "--quiet", "--bare"]);
    env.write("project.yaml", PROJECT);
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @"
    exit 1
    --- stderr
    error: the git repository at `$PROJECT/` is bare, so it has no task files; work in a clone of it
    ");
}

#[test]
fn the_first_commit_may_be_the_engine_s() {
    let env = TestEnvironment::without_rules();
    env.write(".aof/.gitignore", "*\n");
    let output = env.aof(&["task", "new", "Add login"]).success();
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at complete, ready for anybody
    ");
    assert_snapshot!(env.log(), @"Ada: AOF-xxxxx: created at complete");
    check(&env);
}

#[test]
fn without_a_name_nothing_is_committed() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    fs::write(env.home().join(".gitconfig"), "").unwrap();
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-7", "complete", &[]), @r#"
    exit 1
    --- stderr
    error: git does not know who you are: `user.name` is not set; run
      git config --global user.name "Your Name"
      git config --global user.email "you@example.org"
    "#);
    assert_snapshot!(env.aof(&["task", "new", "Tidy up", "--json"]), @r#"
    exit 1
    --- stdout
    {
      "error": "no_identity",
      "message": "git does not know who you are: `user.name` is not set; run\n  git config --global user.name \"Your Name\"\n  git config --global user.email \"you@example.org\"",
      "jsonVersion": 1
    }
    --- stderr
    git does not know who you are: `user.name` is not set; run
      git config --global user.name "Your Name"
      git config --global user.email "you@example.org"
    "#);
    assert_eq!(env.head(), head);
    check(&env);
}

/// Brings the repository to where a merge needs a person.
fn conflict(env: &TestEnvironment) {
    env.write("x.txt", "base\n");
    env.commit_all("base");
    env.git(&["switch", "--quiet", "--create", "side"]);
    env.write("x.txt", "side\n");
    env.commit_all("side");
    env.git(&["switch", "--quiet", "main"]);
    env.write("x.txt", "main\n");
    env.commit_all("main");
}

#[test]
fn while_git_is_in_the_middle_of_something_commands_wait() {
    for (start, abort) in [
        (vec!["merge", "side"], vec!["merge", "--abort"]),
        (vec!["rebase", "side"], vec!["rebase", "--abort"]),
        (vec!["cherry-pick", "side"], vec!["cherry-pick", "--abort"]),
        (vec!["revert", "--no-commit", "HEAD"], vec!["revert", "--abort"]),
        (vec!["bisect", "start"], vec!["bisect", "reset"]),
        (vec!["checkout", "--quiet", "--detach"], vec!["checkout", "--quiet", "main"]),
    ] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        conflict(&env);
        let _ = env.try_git(&start);
        let text = env.task_text(&id);
        let output = env.say(&id, "agent-7", "complete", &["--wait", "0"]).code(7);
        assert!(
            output.stderr.starts_with("error: ") && output.stdout.is_empty(),
            "{start:?}: {output}"
        );
        assert_eq!(
            env.say(&id, "agent-7", "complete", &["--wait", "0", "--json"]).code(7).json()["error"],
            "git_busy"
        );
        assert_eq!(env.task_text(&id), text, "{start:?}");
        env.git(&abort);
        let _ = env.complete(&id, "agent-7");
        check(&env);
    }
}

/// Returns what the status advises for rules that differ from what is committed.
fn remarks_about_rules(status: &serde_json::Value) -> Option<String> {
    let mut all = status["attention"].as_array().unwrap().iter();
    let output = all.find(|one| one["code"] == "rules_not_committed")?;
    Some(output["fix"].as_str().unwrap().to_owned())
}

#[test]
fn in_the_middle_of_something_the_status_says_how_to_go_on_and_not_to_commit() {
    for (start, go_on) in [
        (&["merge", "side"][..], "git merge --continue"),
        (&["rebase", "side"], "git rebase --continue"),
        (&["rebase", "--apply", "side"], "git rebase --continue"),
        (&["cherry-pick", "side"], "git cherry-pick --continue"),
        (&["revert", "--no-edit", "HEAD~1"], "git revert --continue"),
    ] {
        let env = TestEnvironment::new();
        let rules = |comment: &str| env.write("project.yaml", format!("{PROJECT}# {comment}\n"));
        rules("base");
        env.commit_all("base");
        env.git(&["switch", "--quiet", "--create", "side"]);
        rules("side");
        env.commit_all("side");
        env.git(&["switch", "--quiet", "main"]);
        rules("one");
        env.commit_all("one");
        if start[0] == "revert" {
            rules("two");
            env.commit_all("two");
        }
        let _ = env.try_git(start).code(1);
        // Whatever was solved and added: what is not committed yet is git's to commit.
        for text in [None, Some("solved")] {
            text.map(rules);
            let status = env.aof(&["status", "--json"]).success().json();
            let output = remarks_about_rules(&status).unwrap_or_else(|| panic!("{status}"));
            assert!(
                !output.contains("git commit")
                    && output.ends_with(&format!("`git add project.yaml && {go_on}`")),
                "{output}"
            );
        }
        let status = env.aof(&["status", "--json"]).success().json();
        let output = remarks_about_rules(&status).unwrap();
        let mut shell = env.command("sh");
        shell
            .env("GIT_EDITOR", "true")
            .args(["-c", output.trim_end_matches('`').rsplit('`').next().unwrap()]);
        let _ = env.run(shell).success();
        let status = env.aof(&["status", "--json"]).success().json();
        assert_eq!(remarks_about_rules(&status), None);
        assert!(!status.to_string().contains("git_busy"), "{status}");
    }
}

#[test]
fn one_that_waits_says_so_and_goes_on() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["bisect", "start"]);
    let mut child = env
        .start(&["task", "complete", &id, "--agent", "agent-7", "-s", "Did it", "--wait", "60s"]);
    let mut answer = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut answer, &mut line).unwrap();
    assert!(line.starts_with("waiting: "), "{line}");
    env.git(&["bisect", "reset"]);
    let _ = env.finish("aof complete", child).success();
    check(&env);
}

#[test]
fn a_detached_head_is_not_waited_for() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["checkout", "--quiet", "--detach"]);
    // A wait would outlast the test.
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--wait", "10h"]), @"
    exit 7
    --- stderr
    error: no branch is checked out (detached HEAD), so commits would be lost; check one out, as `git switch main`

    hint: or keep tasks on a branch of their own, whatever is checked out: `aof init --branch BRANCH`
    ");
}

#[test]
fn the_index_lock_of_another_is_waited_for_and_never_broken() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let text = env.task_text(&id);
    env.write(".git/index.lock", "");
    let output = env.say(&id, "agent-7", "complete", &["--wait", "0"]).code(7);
    assert!(
        output.stderr.contains("$PROJECT/.git/index.lock` is held by another git process"),
        "{output}"
    );
    assert!(env.exists(".git/index.lock"));
    assert_eq!(env.task_text(&id), text);
    assert!(!env.is_in_the_middle());
    let output = env.say(&id, "agent-7", "complete", &["--wait", "1s"]).code(7);
    let printed = "waiting: another git process has the index (`.git/index.lock`)\n";
    assert!(
        output.stderr.starts_with(printed) && output.stderr.matches("waiting:").count() == 1,
        "{output}"
    );

    let child = env
        .start(&["task", "complete", &id, "--agent", "agent-7", "-s", "Did it", "--wait", "60s"]);
    eventually("the command waits for git", || env.is_writing());
    assert!(!env.is_in_the_middle(), "nothing is written while git's index is somebody else's");
    fs::remove_file(env.path(".git/index.lock")).unwrap();
    let _ = env.finish("aof complete", child).success();
    check(&env);
}

#[test]
fn the_branch_lock_of_another_is_waited_for_and_never_broken() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let text = env.task_text(&id);
    env.write(".git/refs/heads/main.lock", "");
    let _ = env.say(&id, "agent-7", "complete", &["--wait", "0"]).code(7);
    assert!(env.exists(".git/refs/heads/main.lock") && !env.exists(".git/index.lock"));
    assert_eq!(env.task_text(&id), text, "the file is put back");
    fs::remove_file(env.path(".git/refs/heads/main.lock")).unwrap();
    let _ = env.complete(&id, "agent-7");
    check(&env);
}

#[test]
fn a_project_may_be_a_folder_of_a_repository() {
    let mut env = TestEnvironment::without_rules();
    env.write("tasks/AOF-top.md", "not a task of the project\n");
    env.write("apps/web/project.yaml", PROJECT);
    env.write("apps/web/org.yaml", ORG);
    env.commit_all("rules");
    env.enter("apps/web");
    let id = env.new_task(&["Add login"]);
    std::fs::create_dir_all(env.path("src/deep")).unwrap();
    let _ = env
        .aof(&["-C", "src/deep", "task", "complete", &id, "--agent", "agent-7", "-s", "Did it"])
        .success();
    let _ = env.complete(&id, "agent-3");
    assert_snapshot!(env.git_plain(&["log", "--format=%s", "--name-status", "--no-renames"]), @"
    AOF-xxxxx: review -> end (complete)

    D	apps/web/tasks/AOF-xxxxx.md
    A	apps/web/tasks/archive/2026/02/16/AOF-xxxxx.md
    AOF-xxxxx: implement -> review (complete)

    M	apps/web/tasks/AOF-xxxxx.md
    AOF-xxxxx: created at implement

    A	apps/web/tasks/AOF-xxxxx.md
    rules

    A	apps/web/org.yaml
    A	apps/web/project.yaml
    A	tasks/AOF-top.md
    ");
    check(&env);
}

#[test]
fn a_linked_worktree_has_its_own_branch() {
    let mut env = TestEnvironment::new();
    let main = env.head();
    env.git(&["worktree", "add", "--quiet", "-b", "side", "../side"]);
    env.enter("../side");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    check(&env);
    assert_eq!(env.git(&["rev-parse", "main"]).trim(), main);
    assert_eq!(env.git(&["rev-list", "--count", "side"]).trim(), "3");
    env.enter("../project");
    assert!(!env.exists("tasks"));
    check(&env);
}

#[test]
fn packed_branches_and_deep_names_are_no_matter() {
    let env = TestEnvironment::new();
    env.git(&["switch", "--quiet", "--create", "feature/deep/name"]);
    let id = env.new_task(&["Add login"]);
    env.git(&["pack-refs", "--all"]);
    env.git(&["gc", "--quiet"]);
    // Versions of git differ in how many of the folders that they emptied they remove.
    let _ = std::fs::remove_dir_all(env.path(".git/refs/heads/feature"));
    let _ = env.say(&id, "agent-7", "complete", &["--wait", "0"]).success();
    check(&env);
    assert_eq!(env.git(&["rev-list", "--count", "main..HEAD"]).trim(), "2");
}

#[test]
fn index_layouts_that_only_git_knows_stay_as_they_are() {
    for (key, value, update) in
        [("index.version", "4", "--index-version=4"), ("core.splitIndex", "true", "--split-index")]
    {
        let env = TestEnvironment::new();
        env.git(&["config", key, value]);
        env.git(&["update-index", update]);
        env.write("staged.txt", "staged\n");
        env.git(&["add", "staged.txt"]);
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
        let _ = env.complete(&id, "agent-3");
        check(&env);
        assert_eq!(env.git(&["diff", "--cached", "--name-status"]), "A\tstaged.txt\n");
    }
}

#[test]
fn without_git_no_index_is_called_broken() {
    for layout in [&["update-index", "--index-version", "4"][..], LAYOUTS[0]] {
        let (env, id) = scene();
        env.write("src/main.rs", "fn main() {}\n");
        env.commit_all("code");
        env.git(layout);
        let nowhere = env.home().join("nowhere");
        let without_git = |args: &[&str]| {
            let mut command = env.aof_command(args);
            command.env("PATH", &nowhere);
            env.run(command)
        };
        let status = without_git(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let point = points
            .iter()
            .find(|point| point["code"] == "git_fails")
            .unwrap_or_else(|| panic!("{status}"));
        assert!(point["problem"].as_str().unwrap().contains("ls-files"), "{status}");
        assert_eq!(point["fix"], "see that git is installed, in one of the folders of `PATH`");
        assert!(points.iter().all(|point| point["code"] != "index_unreadable"), "{status}");
        let refused = without_git(&["task", "comment", &id, "-m", "hi"]).code(1);
        assert!(refused.stderr.contains("hint: see that git is installed"), "{refused}");
        let _ = env.aof(&["task", "comment", &id, "-m", "hi"]).success();
    }
}

#[test]
fn an_index_that_only_git_reads_keeps_nobody_from_anything() {
    for layout in LAYOUTS {
        let (env, id) = scene();
        env.write("src/main.rs", "fn main() {}\n");
        env.commit_all("code");
        let _ = env.aof(&["doctor", "--fix"]).success();
        env.git(layout);
        let _ = env.complete(&id, "agent-7").success();
        for command in
            [&["status"][..], &["doctor"], &["merge-driver", "--settle"], &["doctor", "--fix"]]
        {
            let _ = env.aof(command).success();
        }
        let head = env.head();
        env.git(&["revert", "--no-commit", "HEAD"]);
        let refused = env.try_git(&["commit", "--quiet", "--message", "Back"]).code(1);
        assert!(refused.stderr.contains("not committed: "), "{refused}");
        env.git(&["reset", "--quiet", "--merge"]);
        assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
        // What git leaves unmerged is found, and settled.
        env.git(&["config", "--remove-section", "merge.aof"]);
        aside(&env, "side", || {
            let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
        });
        let _ = env.complete(&id, "agent-3").success();
        let _ = env.try_git(&["merge", "--no-edit", "side"]).code(1);
        let status = env.aof(&["status"]).success();
        assert!(status.stdout.contains("`aof merge-driver --settle`"), "{status}");
        let _ = env.aof(&["merge-driver", "--settle"]).success();
        env.git(&["commit", "--quiet", "--no-edit"]);
        assert!(env.task_text(&id).contains("title: Log in"));
        let _ = verified(&env).success();
    }
}

#[test]
fn a_clone_continues_the_work_of_the_other() {
    let mut env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    env.git(&["clone", "--quiet", ".", "../clone"]);
    env.enter("../clone");
    let _ = env.complete(&id, "agent-3");
    check(&env);
    env.enter("../project");
    env.git(&["pull", "--quiet", "--ff-only", "../clone", "main"]);
    check(&env);
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
}

#[test]
fn an_index_emptied_by_a_power_cut_is_reported_with_its_fix() {
    for bytes in [vec![], vec![0; 300]] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        fs::write(env.path(".git/index"), bytes).unwrap();
        let output = env.aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "agent-7",
            "--outcome",
            "complete",
            "--summary",
            "x",
        ]);
        assert!(
            output.code == Some(1) && output.stderr.contains("`git read-tree HEAD`"),
            "{output}"
        );
        env.git(&["read-tree", "HEAD"]);
        let _ = env.complete(&id, "agent-7");
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn a_look_that_waits_in_vain_ends_as_other_commands_do() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(
        ".aof/inbox/one.yaml",
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: done\n"),
    );
    let in_vain = || {
        let output = env.aof(&["--wait", "0", "watch", "--once"]).code(7);
        assert!(!output.stdout.contains("tried again"), "{output}");
        assert!(
            env.exists(".aof/inbox/one.yaml") || !env.files(".aof/inbox").is_empty(),
            "{output}"
        );
    };
    env.write(".git/index.lock", "");
    in_vain();
    fs::remove_file(env.path(".git/index.lock")).unwrap();
    env.write(".git/MERGE_HEAD", env.head());
    in_vain();
    fs::remove_file(env.path(".git/MERGE_HEAD")).unwrap();
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.files(".aof/inbox"), Vec::<String>::new());
}

#[cfg(debug_assertions)]
#[test]
fn objects_pruned_before_the_branch_moves_are_written_again() {
    // The last one is behind the last look before the branch moves.
    let points =
        ["git.objects-written", "git.index-locked", "git.index-written", "git.index-moved"];
    for point in points {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        let pipe = env.path("../pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut command = env.aof_command(&[
            "task",
            "complete",
            &id,
            "--agent",
            "agent-7",
            "--outcome",
            "complete",
        ]);
        command
            .args(["--summary", "Done"])
            .env("AOF_WAIT_AT", format!("{point}:{}", pipe.display()));
        let child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        eventually(point, || pipe.with_extension("reached").exists());
        let _ = env.git(&["prune", "--expire=now"]);
        // The second try comes there again.
        let opened = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let _ = env.finish("task complete", child).success();
        drop(opened);
        assert_eq!(env.git(&["fsck", "--strict", "--no-dangling"]), "", "{point}");
        assert_eq!(
            env.git(&["log", "--format=%s", "-1"]).trim(),
            "AOF-xxxxx: implement -> review (complete)".replace("AOF-xxxxx", &id),
            "{point}"
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{point}");
        let _ = env.aof(&["verify"]).success();
    }
}
