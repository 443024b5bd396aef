//! Task files that git left unmerged: `aof status` names each with what solves it, and `aof merge-driver --settle` solves what can be.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::merge_scene::{aside, entries, scene, verified};

/// Returns what `aof status` says of files that git left, as problem and fix.
fn left(env: &TestEnvironment) -> Vec<(String, String)> {
    let status = env.aof_aside(&["status", "--json"]).success().json();
    let points = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| point["code"] == "task_unmerged");
    let text = |point: &Value, key: &str| point[key].as_str().unwrap().to_owned();
    points.map(|point| (text(point, "problem"), text(point, "fix"))).collect()
}

/// Completes on both sides, otherwise.
fn both_complete(env: &TestEnvironment, id: &str) {
    aside(env, "side", || {
        let _ = env.say(id, "agent-8", "complete", &["--id", "theirs"]).success();
        let _ = env.aof(&["task", "edit", id, "--title", "Log in"]).success();
    });
    let _ = env.complete(id, "agent-7").success();
}

#[test]
fn without_the_driver_both_sides_are_in_the_file_with_markers() {
    let (env, id) = scene();
    both_complete(&env, &id);
    let path = env.task_path(&id);
    let fake = env.home().join("aof");
    // Git finds its own programs, and not ours; then one that is killed, and one that does not know what it is told.
    for script in [None, Some("kill -9 $$"), Some("exit 2")] {
        if let Some(script) = script {
            env.git(&["merge", "--abort"]);
            fs::write(&fake, format!("#!/bin/sh\n{script}\n")).unwrap();
            crate::support::environment::executable(&fake);
        }
        let mut merge = env.command("git");
        let merge = merge
            .args(["merge", "--no-edit", "side"])
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", env.home().display()))
            .output()
            .unwrap();
        assert_eq!(merge.status.code(), Some(1), "{merge:?}");
        let text = env.read(&path);
        assert!(text.contains("<<<<<<<") && text.contains("agent-7") && text.contains("agent-8"));
        assert!(text.contains("title: Log in"), "{text}");
    }
    let answer = left(&env);
    assert_eq!(answer.len(), 1, "{answer:?}");
    assert_snapshot!(env.plain(&format!("{}\n{}", answer[0].0, answer[0].1)), @"
    `tasks/AOF-xxxxx.md`: it is unmerged, and merges without a decision
    `aof merge-driver --settle` merges it by meaning and stages it
    ");
    let settled = env.aof(&["merge-driver", "--settle"]).success();
    assert!(settled.stderr.contains("`complete` by agent-8 no longer counts"), "{settled}");
    assert_eq!(left(&env), []);
    env.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("title: Log in"));
    let _ = verified(&env).success();
}

#[test]
fn edits_of_both_sides_that_do_not_overlap_are_kept_without_aof() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.edit(&path, "title: Add login", "title: Log in");
        env.commit_all("title");
    });
    env.write(&path, format!("{}\nWith tokens.\n", env.read(&path)));
    env.commit_all("body");
    let mut merge = env.command("git");
    let merge = merge
        .args(["merge", "--quiet", "--no-edit", "side"])
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .output()
        .unwrap();
    assert_eq!(merge.status.code(), Some(0), "{merge:?}");
    let text = env.read(&path);
    assert!(text.contains("title: Log in") && text.contains("With tokens."), "{text}");
    let _ = verified(&env).success();
}

#[test]
fn a_file_that_can_be_run_stays_one() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    fs::set_permissions(env.path(&path), fs::Permissions::from_mode(0o755)).unwrap();
    env.commit_all("it can be run");
    env.git(&["config", "--remove-section", "merge.aof"]);
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let _ = env.aof(&["merge-driver", "--settle"]).success();
    let staged = env.git(&["ls-files", "--stage", &path]);
    assert!(staged.starts_with("100755 "), "{staged}");
    assert_eq!(env.git(&["diff", "--name-only"]), "");
}

#[test]
fn a_file_saved_during_the_merge_is_not_overwritten() {
    let (env, _) = scene();
    let mut ids = ["One", "Two"].map(|title| env.new_task(&[title]));
    ids.sort();
    env.git(&["config", "--remove-section", "merge.aof"]);
    aside(&env, "side", || {
        for id in &ids {
            let _ = env.say(id, "agent-8", "complete", &["--id", "theirs"]).success();
        }
    });
    for id in &ids {
        let _ = env.complete(id, "agent-7").success();
    }
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let [first, second] = ids.map(|id| env.task_path(&id));
    // The first is written, and waits to be staged.
    env.write(".git/index.lock", "");
    let child = env.start(&["merge-driver", "--settle", "--wait", "60s"]);
    eventually("the first is settled", || !env.read(&first).contains("<<<<<<<"));
    let solved = format!("{}\nSolved by hand.\n", env.read(&second));
    env.write(&second, &solved);
    fs::remove_file(env.path(".git/index.lock")).unwrap();
    let settled = env.finish("merge-driver", child);
    assert_eq!(env.read(&second), solved, "{settled}");
    assert_eq!(env.git(&["status", "--porcelain"]), format!("UU {second}\n"));
}

#[test]
fn a_lock_that_cannot_be_made_is_nobodys() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    // What git says where it may not write.
    let answer = "fatal: Unable to create '.git/index.lock': Permission denied";
    let script = format!(
        "#!/bin/sh\nfor word; do\n[ \"$word\" = update-index ] && echo \"{answer}\" >&2 && exit 128\ndone\n\
         PATH=\"${{PATH#*:}}\" exec git \"$@\"\n"
    );
    let bin = env.home().join("bin");
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("git"), script).unwrap();
    fs::set_permissions(bin.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = env.aof_command(&["merge-driver", "--settle", "--wait", "0s"]);
    command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    let settled = env.run(command);
    assert!(settled.stderr.contains(answer) && !settled.stderr.contains("held by"), "{settled}");
    assert!(!matches!(settled.code, Some(0 | 7)), "{settled}");
}

#[test]
fn the_doctor_reports_a_merge_driver_that_git_cannot_find() {
    let (env, _) = scene();
    let doctor = |path: Option<&str>| {
        let mut command = env.aof_command(&["doctor"]);
        path.map(|path| command.env("PATH", path));
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    assert!(!doctor(None).contains("no folder of `PATH` has `aof`"));
    assert!(doctor(Some("/usr/local/bin:/usr/bin:/bin")).contains("no folder of `PATH` has `aof`"));
}

#[test]
fn a_file_merged_as_text_is_named_with_its_repair() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    assert_snapshot!(env.plain(&env.aof(&["status"]).success().stdout), @"
    on main
    1 open: 1 ready
    1 came to a gate under earlier rules, and it goes on under those in force

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 5
      ! nothing can be committed: a merge is in progress; end it with `git merge --continue` or `git merge --abort`
        changes wait until that is done; dropped files stay in the inbox
      ! 1 task stands where the rules have changed: AOF-xxxxx
        `aof watch` has them follow; `aof org reload` does it now, and so does `aof doctor --fix`
      ! `tasks/AOF-xxxxx.md`: it is unmerged, and merges without a decision
        `aof merge-driver --settle` merges it by meaning and stages it
      ! git merges tasks as text in this clone: its configuration does not know the merge driver of `.gitattributes`
        `aof doctor --fix` puts it in place
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    let _ = env.aof(&["merge-driver", "--settle"]).success();
    assert_eq!(left(&env), []);
}

#[test]
fn a_finished_task_that_git_did_not_see_move_is_named_and_settled() {
    let (env, _) = scene();
    for (into, other) in [("main", "side"), ("side", "main")] {
        let id = env.new_task(&["Short"]);
        env.git(&["checkout", "-q", "-B", "side"]);
        let _ = env.complete(&id, "agent-8").success();
        let _ = env.complete(&id, "agent-3").success();
        env.git(&["checkout", "-q", "main"]);
        let _ = env.aof(&["task", "edit", &id, "--title", "Ours"]).success();
        env.git(&["checkout", "-q", into]);
        assert_eq!(env.try_git(&["merge", "--no-edit", other]).code, Some(1));
        let answer = left(&env);
        assert_eq!(answer.len(), 1, "{answer:?}");
        assert!(answer[0].0.ends_with("is unmerged, and merges without a decision"), "{answer:?}");
        let _ = env.aof(&["merge-driver", "--settle"]).success();
        assert_eq!(left(&env), []);
        assert!(
            env.task_path(&id).starts_with("tasks/archive/")
                && env.task_text(&id).contains("title: Ours")
        );
        env.git(&["commit", "-q", "--no-edit"]);
        let _ = verified(&env).success();
        env.git(&["checkout", "-q", "-B", "main"]);
    }
}

#[test]
fn a_file_that_one_side_removed_is_left_to_a_person() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.git(&["rm", "-q", &path]);
        env.git(&["commit", "-q", "--no-verify", "-m", "away"]);
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Ours"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let answer = left(&env);
    assert_snapshot!(env.plain(&format!("{}\n{}", answer[0].0, answer[0].1)), @"
    `tasks/AOF-xxxxx.md`: one side changed it, and the other removed it
    keep it with `git add tasks/AOF-xxxxx.md`, or let it go with `git rm tasks/AOF-xxxxx.md`; a history that goes is found by `aof verify`
    ");
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(env.plain(&settled.to_string()), @"
    exit 1
    --- stderr
    conflict: tasks/AOF-xxxxx.md: one side changed it, and the other removed it
    keep it with `git add tasks/AOF-xxxxx.md`, or let it go with `git rm tasks/AOF-xxxxx.md`; a history that goes is found by `aof verify`
    ");
    env.git(&["add", &path]);
    assert_eq!(left(&env), []);
    env.git(&["commit", "-q", "--no-edit"]);
    assert!(env.task_text(&id).contains("title: Ours"));
}

#[test]
fn a_resolution_under_way_is_not_overwritten() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let path = env.task_path(&id);
    assert_eq!(left(&env), [], "its markers are told of as what cannot be read");
    let text = env.read(&path);
    let solved = text.replace(
        "<<<<<<< HEAD\ntitle: Log in\n=======\ntitle: Sign in\n>>>>>>> side\n",
        "title: Come in\n",
    );
    assert_ne!(solved, text);
    env.write(&path, &solved);
    let answer = left(&env);
    assert!(
        answer[0].0.ends_with("is unmerged, and somebody has changed it by hand"),
        "{answer:?}"
    );
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(settled.stderr.contains("somebody has changed it by hand"), "{settled}");
    assert_eq!(env.read(&path), solved);
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    let _ = verified(&env).success();
}

/// Makes a conflict in the title of a task that one side has finished, so that git says `modify/delete`.
fn disputed_and_finished(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Short"]);
    aside(env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Theirs, quite another one"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Ours"]).success();
    let _ = env.complete(&id, "agent-8").success();
    let _ = env.complete(&id, "agent-3").success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    assert!(env.git(&["status", "--porcelain"]).contains(&format!("DU tasks/{id}.md")));
    id
}

#[test]
fn a_disputed_finished_task_stays_one_file() {
    let (env, _) = scene();
    let id = disputed_and_finished(&env);
    let before = env.git(&["status", "--porcelain"]);
    let rehearsed = env.aof(&["merge-driver", "--settle", "--dry-run"]).code(1);
    assert!(rehearsed.stderr.contains("both sides changed `title`"), "{rehearsed}");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    for _ in 0..2 {
        let settled = env.aof(&["merge-driver", "--settle"]).code(1);
        assert!(settled.stderr.contains("`git add tasks/archive/"), "{settled}");
        let path = env.task_path(&id);
        assert!(path.starts_with("tasks/archive/"));
        assert_eq!(env.git(&["status", "--porcelain"]), format!("UU {path}\n"));
        assert_eq!(env.git(&["ls-files", "--stage", "--", &path]).lines().count(), 3);
    }
    let path = env.task_path(&id);
    let text = env.read(&path);
    let marked =
        "<<<<<<< ours\ntitle: Ours\n=======\ntitle: Theirs, quite another one\n>>>>>>> theirs\n";
    assert!(text.contains(marked), "{text}");
    env.write(&path, text.replace(marked, "title: Both\n"));
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    let _ = verified(&env).success();
    assert_eq!(env.files("tasks").iter().filter(|path| path.contains(&id)).count(), 1);
}

#[test]
fn only_files_of_tasks_are_settled() {
    let (env, _) = scene();
    let id = env.new_task(&["Fine"]);
    let (task, other) = (env.task_path(&id), format!("docs/{id}.md"));
    env.write(&other, "one\n");
    env.commit_all("a page about it");
    aside(&env, "side", || {
        env.write(&other, "two\n");
        env.commit_all("theirs");
    });
    env.write(&other, "three\n");
    env.commit_all("ours");
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let settled = env.aof(&["merge-driver", "--settle"]).success();
    assert_eq!(settled.stdout, "git left no task file unmerged\n");
    assert!(env.exists(&task));
    assert_eq!(env.git(&["status", "--porcelain"]), format!("UU {other}\n"));
}

#[test]
fn a_solution_that_only_takes_lines_away_is_not_written_over() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.git(&["config", "--remove-section", "merge.aof"]);
    aside(&env, "side", || {
        env.edit(&path, "title: Add login", "title: Sign in");
        env.edit(&path, "part 20.", "part twenty.");
        env.commit_all("theirs");
    });
    env.edit(&path, "title: Add login", "title: Log in");
    env.edit(&path, "part 20.", "part XX.");
    env.commit_all("ours");
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    // One of two conflicts is solved, by lines that were there.
    let text = env.read(&path);
    let solved = text.replace("<<<<<<< HEAD\ntitle: Log in\n=======\n", "").replacen(
        ">>>>>>> side\n",
        "",
        1,
    );
    assert_ne!(solved, text);
    env.write(&path, &solved);
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(settled.stderr.contains("somebody has changed it by hand"), "{settled}");
    assert_eq!(env.read(&path), solved);
    // Whoever begins again has nothing that could be lost.
    env.git(&["checkout", "--merge", &path]);
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(settled.stderr.contains("both sides changed `title`"), "{settled}");
    // A link is nothing that is written through.
    let elsewhere = env.path("elsewhere.md");
    std::fs::write(&elsewhere, "mine\n").unwrap();
    std::fs::remove_file(env.path(&path)).unwrap();
    std::os::unix::fs::symlink(&elsewhere, env.path(&path)).unwrap();
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(settled.stderr.contains("somebody has changed it by hand"), "{settled}");
    assert_eq!(env.read("elsewhere.md"), "mine\n");
}

#[test]
fn content_staged_meanwhile_stays_staged() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    env.write("code.txt", "one\n");
    env.commit_all("code");
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    // Another command is at work, as long as the lock is held.
    let held = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(env.path(".aof/lock"))
        .unwrap();
    held.lock().unwrap();
    let mut waiting = env.start(&["merge-driver", "--settle", "--wait", "1m"]);
    let mut answer = BufReader::new(waiting.stderr.take().unwrap());
    let mut line = String::new();
    answer.read_line(&mut line).unwrap();
    assert!(line.starts_with("waiting: "), "{line}");
    env.write("code.txt", "two\n");
    env.write("new.txt", "new\n");
    env.git(&["add", "code.txt", "new.txt"]);
    drop(held);
    let _ = env.finish("aof", waiting).success();
    let status = env.git(&["status", "--porcelain"]);
    assert!(status.contains("M  code.txt") && status.contains("A  new.txt"), "{status}");
}

#[test]
fn git_s_own_lock_is_waited_for() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    env.write(".git/index.lock", "");
    let settled = env.aof(&["merge-driver", "--settle", "--wait", "0"]).code(7);
    assert!(settled.stderr.contains("index.lock"), "{settled}");
    std::fs::remove_file(env.path(".git/index.lock")).unwrap();
    // What it had written already is its own.
    let _ = env.aof(&["merge-driver", "--settle"]).success();
    assert_eq!(left(&env), []);
}

#[test]
fn without_valid_rules_no_report_says_that_nothing_is_left() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: nonsense}\n",
        crate::support::environment::ORG,
    );
    let path = env.hand_made("AOF-abc", "One");
    env.commit_all("a task");
    aside(&env, "side", || {
        env.edit(&path, "One", "Two");
        env.commit_all("theirs");
    });
    env.edit(&path, "One", "Three");
    env.commit_all("ours");
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(settled.stderr, @"
    conflict: tasks/AOF-abc.md: it is unmerged, and the branch that is merged into has no rules that are valid
    solve it by hand, then `git add tasks/AOF-abc.md`
    ");
}

#[test]
fn changes_of_a_merge_are_not_manual_edits() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.write("code.txt", "one\n");
    env.commit_all("code");
    aside(&env, "side", || {
        env.write("code.txt", "two\n");
        env.commit_all("theirs");
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.complete(&id, "agent-3").success();
    });
    env.write("code.txt", "three\n");
    env.commit_all("ours");
    // Git stops at the code; the task is merged.
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
    let all = |args: &[&str]| env.aof_aside(args).to_string();
    for args in [
        &["task", "show", &id][..],
        &["why", &id],
        &["task", "show", &id, "--json"],
        &["status"],
        &["doctor"],
    ] {
        let answer = all(args);
        assert!(!answer.contains("git restore") && !answer.contains("by hand"), "{answer}");
    }
    let why = env.aof(&["why", &id]).success();
    assert!(why.stdout.contains("nothing moves it now: a merge is in progress"), "{why}");
    // A file that is gone, whoever took it away.
    std::fs::remove_file(env.path(&env.task_path(&id))).unwrap();
    let gone = env.aof(&["task", "show", &id]).code(3);
    assert_snapshot!(gone.stderr, @"
    error: the file of task `AOF-xxxxx` is gone: `tasks/AOF-xxxxx.md`

    hint: a merge is in progress; end it with `git merge --continue` or `git merge --abort`; `git status` says what that makes of the file
    ");
    env.git(&["merge", "--abort"]);
    std::fs::remove_file(env.path(&path)).unwrap();
    let gone = env.aof(&["task", "show", &id]).code(3);
    assert!(gone.stderr.contains("bring it back with `git restore"), "{gone}");
}

#[test]
fn a_text_that_quotes_a_conflict_is_none() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.edit(&path, "part 20.", "part 20:\n\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> side\n");
    let _ = env.aof(&["task", "comment", &id, "-m", "Seen"]).success();
    env.edit(&path, "title: Add login", "title: [Add login");
    let shown = env.aof(&["task", "show", &id]).code(6);
    assert!(shown.stderr.contains("`git log -p -- tasks/AOF-xxxxx.md`"), "{shown}");
    assert!(!shown.stderr.contains("markers"), "{shown}");
}

#[test]
fn a_merge_that_began_before_a_task_was_created_does_not_remove_it() {
    let (env, _) = scene();
    let _ = env.aof(&["doctor", "--fix"]);
    aside(&env, "side", || {
        env.write("code.txt", "theirs\n");
        env.commit_all("code");
    });
    // Git reads HEAD for a merge, and a commit of the engine comes before the merge is committed.
    let left = ["index", "MERGE_HEAD", "MERGE_MSG"];
    env.git(&["merge", "--quiet", "--no-commit", "--no-ff", "side"]);
    let kept = left.map(|name| fs::read(env.path(&format!(".git/{name}"))).unwrap());
    env.git(&["merge", "--abort"]);
    let id = env.new_task(&["Add logout"]);
    for (name, bytes) in left.iter().zip(&kept) {
        env.write(&format!(".git/{name}"), bytes);
    }
    env.write("code.txt", "theirs\n");
    let path = env.task_path(&id);
    let refused = env.try_git(&["commit", "--quiet", "--no-edit"]);
    assert_eq!(refused.code, Some(1), "{refused}");
    assert!(refused.stderr.contains(&env.plain(&path)), "{refused}");
    env.git(&["restore", "--staged", &path]);
    env.git(&["commit", "--quiet", "--no-edit"]);
    assert!(env.git(&["ls-tree", "-r", "--name-only", "HEAD"]).contains(&path));
    let _ = verified(&env).success();
}

#[cfg(debug_assertions)]
#[test]
fn a_command_that_waits_for_the_end_of_a_merge_does_not_keep_its_settling_waiting() {
    let (env, id) = scene();
    let other = env.new_task(&["Write docs"]);
    both_complete(&env, &id);
    // There is a write to be taken back first.
    let mut killed = env.aof_command(&["task", "comment", &other, "-m", "Almost there"]);
    killed.env("AOF_STOP_AT", "ops.file-written");
    assert_eq!(env.run(killed).code, None);
    fs::remove_file(env.path(".git/index.lock")).unwrap();
    let merge = ["-c", "merge.aof.driver=false", "merge", "--no-edit", "side"];
    let _ = env.try_git(&merge).code(1);
    let mut waiting = env.aof_command(&["task", "comment", &other, "-m", "Now", "--wait", "10m"]);
    let mut waiting = waiting.stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = String::new();
    let stderr = waiting.stderr.as_mut().unwrap();
    BufReader::new(stderr).read_line(&mut output).unwrap();
    assert!(output.contains("a merge is in progress"), "{output}");
    let _ = env.aof(&["merge-driver", "--settle", "--wait", "5m"]).success();
    env.git(&["commit", "-q", "--no-edit"]);
    assert!(waiting.wait().unwrap().success());
    assert!(env.task_text(&other).contains("Now"));
    let _ = verified(&env).success();
}
