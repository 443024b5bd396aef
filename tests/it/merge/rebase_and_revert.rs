//! Commits that git makes again elsewhere: what the rules allow there goes along, and at what they refuse git stops, with ways out that work
//! as they are told.

use std::fs;

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::merge_scene::{aside, scene, verified};

/// Rules by which agent-7 is nobody any more.
const WITHOUT_7: &str = "\
roles:
  backend: {agents: [agent-8]}
  architect: {agents: [agent-3]}
";

/// A task that agent-7 has completed on `side`, where one commit follows, and that was given to agent-8 here.
fn completed_and_given_away() -> (TestEnvironment, String) {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
        env.write("notes", "mine\n");
        env.commit_all("notes");
    });
    let _ = env.aof(&["task", "assign", &id, "agent-8"]).success();
    (env, id)
}

fn entries(env: &TestEnvironment, id: &str) -> Vec<String> {
    if env.task_text(id).contains("gateHistory:") {
        crate::support::merge_scene::entries(env, id)
    } else {
        Vec::new()
    }
}

/// Runs the command of git that the text tells, between backticks, and that begins like that.
fn follow(env: &TestEnvironment, told: &str, start: &str) -> Output {
    let commands = told.split('`').skip(1).step_by(2);
    let named =
        commands.filter_map(|one| one.strip_prefix("git ")).find(|one| one.starts_with(start));
    let words: Vec<&str> =
        named.unwrap_or_else(|| panic!("`git {start}`: {told}")).split(' ').collect();
    let mut git = env.command("git");
    git.env("GIT_EDITOR", "true").args(words);
    env.run(git)
}

/// Returns what the driver or the hook said, without what git says.
fn said(env: &TestEnvironment, output: &Output) -> String {
    let told = output.stderr.replace('\r', "\n");
    let from = told.find("conflict:").unwrap_or_else(|| panic!("{output}"));
    let lines: Vec<&str> = told[from..].lines().take(2).collect();
    env.plain(&lines.join("\n")).replace(&env.git(&["rev-parse", "main"])[..10], "MAIN")
}

#[test]
fn a_completion_is_not_rebased_onto_what_somebody_else_has() {
    let (env, id) = completed_and_given_away();
    env.git(&["checkout", "-q", "side"]);
    let rebased = env.try_git(&["rebase", "main"]).code(1);
    assert_snapshot!(said(&env, &rebased), @"
    conflict: tasks/AOF-xxxxx.md: the commit that is picked cannot stand here: the rules refuse it: entry 1, complete at implement by agent-7: task `AOF-xxxxx` is assigned to `agent-8`
    `git rebase --abort` takes the rebase back, and then `git merge MAIN` brings both together, and loses nothing; or leave this commit out (`git rebase --skip`), and say again what it says where that still holds
    ");
    // The file is as upstream has it, and nobody is told to merge it after all.
    assert!(env.task_text(&id).contains("agent: agent-8"), "{}", env.task_text(&id));
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("is unmerged: the commit that is picked cannot stand here"),
        "{status}"
    );
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(
        settled.stderr.contains("task `AOF-")
            && settled.stderr.contains("is assigned to `agent-8`"),
        "{settled}"
    );
    assert!(env.task_text(&id).contains("agent: agent-8"));

    let _ = follow(&env, &rebased.stderr, "rebase --abort").success();
    let _ = follow(&env, &rebased.stderr, "merge").success();
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"], "merged, it counts");
    let _ = verified(&env).success();
}

#[test]
fn what_is_skipped_can_be_said_again() {
    let (env, id) = completed_and_given_away();
    env.git(&["checkout", "-q", "side"]);
    let rebased = env.try_git(&["rebase", "main"]).code(1);
    let _ = follow(&env, &rebased.stderr, "rebase --skip").success();
    assert_eq!(
        (entries(&env, &id).len(), env.read("notes")),
        (0, "mine\n".to_owned()),
        "the next commit goes along"
    );
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-8").success();
    let _ = verified(&env).success();
}

#[test]
fn every_way_to_make_it_again_stops() {
    let onto = |env: &TestEnvironment, command: &[&str]| {
        env.git(&["checkout", "-q", if command[0] == "cherry-pick" { "main" } else { "side" }]);
        env.try_git(command)
    };
    for command in [
        &["rebase", "main"][..],
        &["rebase", "--apply", "main"],
        &["rebase", "-r", "main"],
        &["pull", "--rebase", ".", "main"],
        &["cherry-pick", "side~1"],
        &["cherry-pick", "main..side"],
    ] {
        // A git before 2.44 gives the sides no names.
        for driver in [None, Some("aof merge-driver %O %A %B %P --marker-size %L")] {
            let (env, id) = completed_and_given_away();
            if let Some(driver) = driver {
                env.git(&["config", "merge.aof.driver", driver]);
            }
            let stopped = onto(&env, command);
            assert_ne!(stopped.code, Some(0), "{command:?}: {stopped}");
            assert!(
                stopped.stderr.contains("is assigned to `agent-8`"),
                "{command:?} {driver:?}: {stopped}"
            );
            let word = if command[0] == "cherry-pick" { "cherry-pick" } else { "rebase" };
            let _ = follow(&env, &stopped.stderr, &format!("{word} --skip")).success();
            assert_eq!(entries(&env, &id).len(), 0, "{command:?}");
            assert!(!env.is_in_the_middle(), "{command:?}");
            let _ = verified(&env).success();
        }
    }
}

#[test]
fn what_builds_on_a_completion_that_was_left_out_stops_as_well() {
    for last in ["complete", "needs_review"] {
        let (env, id) = scene();
        aside(&env, "side", || {
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.say(&id, "agent-3", last, &["--blocker", "No tests"]).success();
        });
        let _ = env.aof(&["task", "assign", &id, "agent-8"]).success();
        env.git(&["checkout", "-q", "side"]);
        let first = env.try_git(&["rebase", "main"]).code(1);
        assert!(first.stderr.contains("is assigned to `agent-8`"), "{first}");
        let next = env.try_git(&["rebase", "--skip"]);
        assert!(next.stderr.contains("builds on an entry that is not there"), "{next}");
        let next = env.try_git(&["rebase", "--skip"]);
        assert_eq!(next.code, Some(0), "{next}");
        assert_eq!(env.head(), env.git(&["rev-parse", "main"]).trim());
        let _ = verified(&env).success();
    }
}

#[test]
fn a_commit_that_would_say_what_is_not_so_stops() {
    let (env, id) = scene();
    let text = "What I found.\n".repeat(3);
    env.write("text", text);
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-7", "complete", &["--file", "text"]).success();
    });
    let _ = env.complete(&id, "agent-8").success();
    env.git(&["checkout", "-q", "side"]);
    let rebased = env.try_git(&["rebase", "main"]).code(1);
    assert!(rebased.stderr.contains("counts no more: the visit was ended by agent-8"), "{rebased}");
    assert_snapshot!(said(&env, &rebased), @"
    conflict: tasks/AOF-xxxxx.md: nothing is left of the commit that is picked, since what it says was superseded
    `git rebase --abort` takes the rebase back, and then `git merge MAIN` brings both together, and loses nothing; or leave this commit out (`git rebase --skip`), and say again what it says where that still holds
    ");
    let _ = follow(&env, &rebased.stderr, "rebase --abort").success();
    let _ = follow(&env, &rebased.stderr, "merge").success();
    assert!(env.task_text(&id).contains("What I found."), "its text is not lost");
    let _ = verified(&env).success();
}

#[test]
fn rules_that_have_changed_stop_what_git_merges_by_itself() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
        env.write("notes", "mine\n");
        env.commit_all("notes");
    });
    env.write("org.yaml", WITHOUT_7);
    env.commit_all("agent-7 has left");
    env.git(&["checkout", "-q", "side"]);
    let rebased = env.try_git(&["rebase", "main"]).code(1);
    assert_snapshot!(said(&env, &rebased), @"
    conflict: the commit that is picked cannot stand here: the rules refuse it: entry 1, complete at implement by agent-7: gate `implement` is the work of role `backend`, and `agent-7` is in no role
    `git rebase --abort` takes the rebase back, and then `git merge MAIN` brings both together, and loses nothing; or leave this commit out (take its line out with `git rebase --edit-todo`, then `git rebase --skip`), and say again what it says where that still holds
    ");

    // Leave it out.
    let mut todo = env.command("git");
    let _ = env.run({
        todo.env("GIT_SEQUENCE_EDITOR", "sed -i 1d").args(["rebase", "--edit-todo"]);
        todo
    });
    let _ = follow(&env, &rebased.stderr, "rebase --skip").success();
    assert_eq!((entries(&env, &id).len(), env.read("notes")), (0, "mine\n".to_owned()));
    let _ = verified(&env).success();

    // Or merge.
    env.git(&["reset", "-q", "--hard", "ORIG_HEAD"]);
    let rebased = env.try_git(&["rebase", "main"]).code(1);
    let _ = follow(&env, &rebased.stderr, "rebase --abort").success();
    let _ = follow(&env, &rebased.stderr, "merge").success();
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();

    // A single one.
    env.git(&["checkout", "-q", "main"]);
    let picked = env.try_git(&["cherry-pick", "ORIG_HEAD~1"]);
    assert_ne!(picked.code, Some(0), "{picked}");
    let _ = follow(&env, &picked.stderr, "cherry-pick --abort").success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

#[test]
fn what_is_solved_by_hand_is_judged_before_it_is_committed() {
    let (env, id) = completed_and_given_away();
    env.git(&["checkout", "-q", "side"]);
    let _ = env.try_git(&["rebase", "main"]).code(1);
    env.git(&["checkout", "--theirs", "tasks"]);
    env.git(&["add", "tasks"]);
    let mut go_on = env.command("git");
    go_on.env("GIT_EDITOR", "true").args(["rebase", "--continue"]);
    let stopped = env.run(go_on).code(1);
    assert!(stopped.stderr.contains("is assigned to `agent-8`"), "{stopped}");
    let _ = follow(&env, &stopped.stderr, "rebase --skip").success();
    assert_eq!(entries(&env, &id).len(), 0);
    let _ = verified(&env).success();
}

#[test]
fn a_person_may_commit_what_he_likes_where_a_rebase_stops() {
    let (env, _) = completed_and_given_away();
    env.git(&["checkout", "-q", "side"]);
    let mut edit = env.command("git");
    edit.env("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/edit/").args(["rebase", "-i", "HEAD~2"]);
    let _ = env.run(edit).success();
    env.write("more", "more\n");
    env.git(&["add", "more"]);
    env.git(&["commit", "-q", "-m", "more"]);
    for _ in 0..2 {
        env.git(&["rebase", "--continue"]);
    }
    assert!(!env.is_in_the_middle());
    let _ = verified(&env).success();
}

#[test]
fn what_the_rules_allow_goes_along() {
    let (env, id) = scene();
    let other = env.new_task(&["Another", "--body", &"A line of text.\n".repeat(20)]);
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
        let _ = env.aof(&["task", "cancel", &other, "--reason", "No need"]).success();
    });
    let _ = env.aof(&["task", "assign", &other, "agent-8"]).success();
    let _ = env.aof(&["task", "assign", &id, "agent-7"]).success();
    let _ = env.aof(&["task", "comment", &id, "Mind the tokens"]).success();
    env.git(&["checkout", "-q", "side"]);
    env.git(&["rebase", "-q", "main"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete", "review agent-3 needs_review"]);
    assert_eq!(entries(&env, &other), ["implement null cancelled"]);
    let _ = verified(&env).success();
}

#[test]
fn a_branch_of_a_fork_is_said_again_where_its_commit_tells_it_as_it_is() {
    let rules = "\
workflow:
  gates:
    - id: check
      type: fork
      branches:
        - {id: security, role: backend}
        - {id: speed, role: architect}
    - {id: done, role: backend}
";
    let with_a_third =
        rules.replace("    - {id: done", "        - {id: style, role: architect}\n    - {id: done");
    // It is still what its commit says, unless it was said earlier than what is there, or ends the fork here.
    for (rules, is_earlier, stops) in
        [(&*with_a_third, false, false), (&with_a_third, true, true), (rules, false, true)]
    {
        let (env, _) = scene();
        env.write("project.yaml", rules);
        env.commit_all("a fork");
        let id = env.new_task(&["Add login", "--body", &"A line of text.\n".repeat(20)]);
        env.git(&["branch", "side"]);
        let say = |branch: &str, station: &str, agent: &str| {
            env.git(&["checkout", "-q", branch]);
            let _ = env.complete(&format!("{id}@0/{station}"), agent).success();
        };
        if is_earlier {
            say("side", "speed", "agent-3");
            say("main", "security", "agent-7");
        } else {
            say("main", "security", "agent-7");
            say("side", "speed", "agent-3");
        }
        env.git(&["checkout", "-q", "side"]);
        let rebased = env.try_git(&["rebase", "main"]);
        assert_eq!(rebased.code, Some(i32::from(stops)), "{rebased}");
        if stops {
            let _ = follow(&env, &rebased.stderr, "rebase --abort").success();
            let _ = follow(&env, &rebased.stderr, "merge").success();
        }
        assert_eq!(entries(&env, &id).len(), 2);
        let _ = verified(&env).success();
    }
}

#[test]
fn a_revert_takes_back_nothing_that_the_engine_committed() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    let head = env.head();
    let reverted = env.try_git(&["revert", "--no-edit", "HEAD"]);
    assert_ne!(reverted.code, Some(0), "{reverted}");
    assert_snapshot!(said(&env, &reverted), @"
    conflict: what the engine committed is not taken back by a revert: what was there is gone: 0 entries
    `git reset --merge` takes it back; a task is moved back by `aof task override AOF-xxxxx --to GATE --reason WHY`, or by `aof task reopen AOF-xxxxx --to GATE --reason WHY` when it is finished
    ");
    let _ = follow(&env, &reverted.stderr, "reset --merge").success();
    assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
    // Where something came behind it, git asks the driver.
    let _ = env.complete(&id, "agent-3").success();
    let reverted = env.try_git(&["revert", "--no-edit", "HEAD~1"]).code(1);
    let _ = follow(&env, &reverted.stderr, "revert --abort").success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ =
        env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", "Not done"]).success();
    // What people changed is taken back as ever.
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    let _ = env.complete(&id, "agent-8").success();
    env.git(&["revert", "--no-edit", "HEAD~1"]);
    assert!(env.task_text(&id).contains("title: Add login"));
    let _ = verified(&env).success();
}

#[test]
fn a_reverted_merge_takes_back_nothing_that_the_engine_committed() {
    // It comes with code, or without; git asks the driver where something came behind it.
    for (brings_code, goes_on) in [(false, false), (true, false), (true, true)] {
        let (env, id) = scene();
        aside(&env, "side", || {
            let _ = env.complete(&id, "agent-7").success();
            if brings_code {
                env.write("notes", "theirs\n");
                env.commit_all("notes");
            }
        });
        env.git(&["merge", "-q", "--no-ff", "--no-edit", "side"]);
        let merge = env.head();
        if goes_on {
            let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
        }
        let head = env.head();
        let known = entries(&env, &id);
        let reverted = env.try_git(&["revert", "-m", "1", "--no-edit", &merge]);
        assert_ne!(reverted.code, Some(0), "{reverted}");
        assert!(
            reverted.stderr.contains("what the engine committed is not taken back by a revert"),
            "{reverted}"
        );
        let way = if goes_on { "revert --abort" } else { "reset --merge" };
        let _ = follow(&env, &reverted.stderr, way).success();
        assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
        // What it brought beside tasks is taken back without them.
        if brings_code {
            let _ = env.try_git(&["revert", "-m", "1", "--no-commit", &merge]);
            env.git(&["restore", "--source", "HEAD", "--staged", "--worktree", "tasks"]);
            env.git(&["commit", "-q", "--no-edit"]);
            assert!(!env.exists("notes") && !env.is_in_the_middle());
        }
        assert_eq!(entries(&env, &id), known);
        let _ = verified(&env).success();
    }
}

#[test]
fn whatever_git_says_of_what_it_reverts_entries_stay() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    let head = env.head();
    let reverted = env.try_git(&["-c", "revert.reference=true", "revert", "--no-edit", "HEAD"]);
    assert_ne!(reverted.code, Some(0), "{reverted}");
    let _ = follow(&env, &reverted.stderr, "reset --merge").success();
    assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
    // Of several, none is left reverted.
    env.write("notes", "mine\n");
    env.commit_all("notes");
    let head = env.head();
    let reverted = env.try_git(&["revert", "--no-edit", "HEAD", "HEAD~1"]);
    assert_ne!(reverted.code, Some(0), "{reverted}");
    let _ = follow(&env, &reverted.stderr, "revert --abort").success();
    assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
    assert!(!env.path(".git/sequencer").exists());
    let _ = verified(&env).success();
}

#[test]
fn a_revert_that_a_rebase_makes_again_is_judged_as_the_rebase_it_is() {
    // It was made without the hook. What was wrong before may be rebased, whether git stops at it or not.
    for has_conflict in [false, true] {
        let (env, id) = scene();
        env.write("code", "base\n");
        env.commit_all("base");
        env.git(&["checkout", "-q", "-b", "side"]);
        let _ = env.complete(&id, "agent-7").success();
        env.git(&["-c", "core.hooksPath=/dev/null", "revert", "--no-commit", "HEAD"]);
        env.write("code", "side\n");
        env.git(&["add", "code"]);
        env.git(&["-c", "core.hooksPath=/dev/null", "commit", "-q", "--no-edit"]);
        assert!(env.git(&["log", "-1", "--format=%B"]).contains("\nThis reverts commit "));
        env.git(&["checkout", "-q", "main"]);
        env.write(if has_conflict { "code" } else { "notes" }, "main\n");
        env.commit_all("main");
        env.git(&["checkout", "-q", "side"]);
        let rebased = env.try_git(&["rebase", "main"]).code(i32::from(has_conflict));
        if has_conflict {
            env.write("code", "both\n");
            env.git(&["add", "code"]);
            let mut go_on = env.command("git");
            go_on.env("GIT_EDITOR", "true").args(["rebase", "--continue"]);
            let went_on = env.run(go_on).success();
            assert!(!went_on.stderr.contains("conflict:"), "{rebased}{went_on}");
        }
        assert!(!env.is_in_the_middle());
        assert_eq!(env.git(&["rev-list", "--count", "main..HEAD"]).trim(), "2");
    }
}

#[test]
fn a_revert_is_judged_whatever_its_message_is_written_in() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    let (head, file) = (env.head(), env.home().join("message"));
    let name = head.trim();
    fs::write(&file, [&b"Zur\xfcck\n\nThis reverts commit "[..], name.as_bytes(), b".\n"].concat())
        .unwrap();
    env.git(&["config", "i18n.commitEncoding", "ISO-8859-1"]);
    env.git(&["-c", "core.hooksPath=/dev/null", "revert", "--no-commit", "HEAD"]);
    let refused = env.try_git(&["commit", "-q", "-F", &file.display().to_string()]);
    assert!(
        refused.stderr.contains("what the engine committed is not taken back by a revert"),
        "{refused}"
    );
    assert_eq!(env.head(), head);
    // What it says is not touched where it may be committed.
    env.git(&["reset", "-q", "--merge"]);
    fs::write(&file, b"Zur\xfcck\n").unwrap();
    env.write("notes", "mine\n");
    env.git(&["add", "notes"]);
    // As long as something of aof's lies there, the hook looks at each commit.
    fs::write(env.path(".git/aof-index-copy_0"), "").unwrap();
    env.git(&["commit", "-q", "-F", &file.display().to_string()]);
    let told = env.command("git").args(["cat-file", "commit", "HEAD"]).output().unwrap();
    assert!(told.stdout.ends_with(b"\n\nZur\xfcck\n"), "{told:?}");
}

#[test]
fn commits_that_touch_no_task_are_made_again_without_a_look_at_any() {
    let (env, id) = scene();
    aside(&env, "side", || {
        for name in ["one", "two", "three"] {
            env.write(name, "mine\n");
            env.commit_all(name);
        }
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", "side"]);
    env.git(&["rebase", "-q", "main"]);
    env.git(&[
        "cherry-pick",
        "ORIG_HEAD~3..ORIG_HEAD",
        "--allow-empty",
        "--keep-redundant-commits",
    ]);
    // A commit that is judged is made before, under no name.
    assert_eq!(env.git(&["fsck", "--unreachable", "--no-progress"]), "");
    let _ = verified(&env).success();
}

#[test]
fn engine_commits_that_are_put_in_another_order_or_taken_out_stop() {
    for script in ["1d", "1{h;d};2G"] {
        let (env, id) = scene();
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
        let before = env.head();
        let mut edit = env.command("git");
        edit.env("GIT_SEQUENCE_EDITOR", format!("sed -i '{script}'"))
            .args(["rebase", "-i", "HEAD~2"]);
        let stopped = env.run(edit).code(1);
        assert!(stopped.stderr.contains("builds on an entry that is not there"), "{stopped}");
        assert!(!stopped.stderr.contains("git merge"), "there is nothing to merge: {stopped}");
        let _ = follow(&env, &stopped.stderr, "rebase --abort").success();
        assert_eq!(env.head(), before);
        let _ = verified(&env).success();
    }
}

#[test]
fn a_stash_is_nobodys_commit() {
    let (env, id) = scene();
    env.edit(&env.task_path(&id), "title: Add login", "title: Log in");
    env.git(&["stash", "-q"]);
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["stash", "pop", "-q"]);
    assert!(env.task_text(&id).contains("title: Log in"));
    env.git(&["restore", "."]);
    env.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    env.edit(&env.task_path(&id), "title: Add login", "title: Log in");
    env.git(&["checkout", "-q", "-m", "main"]);
    assert!(
        env.task_text(&id).contains("title: Log in")
            && env.task_text(&id).contains("current: review")
    );
    let _ = env.complete(&id, "agent-3").success();
    let _ = verified(&env).success();
}
