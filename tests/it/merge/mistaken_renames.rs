//! One side finishes a task and makes a new one, and git takes the new file for the old one, renamed: nothing of the two is mixed, everybody is
//! told what brings both right, and that alone loses nothing.

use std::fs;

use insta::{allow_duplicates, assert_snapshot};

use crate::support::clones::Clones;
use crate::support::environment::{PROJECT, TestEnvironment};
use crate::support::merge_scene::{aside, entries, forked, scene, verified};

/// What tasks say: so much of it that git takes any for any other.
fn text() -> String {
    (1..30).map(|line| format!("What is to be done, part {line}.\n")).collect()
}

fn new(env: &TestEnvironment, title: &str) -> String {
    env.new_task(&[title, "--body", &text()])
}

/// Ends both visits of a task.
fn finish(env: &TestEnvironment, id: &str, agent: &str) {
    let _ = env.complete(id, agent).success();
    let _ = env.complete(id, "agent-3").success();
}

/// Has git do something at which it stops, and returns what it said.
fn stopped(env: &TestEnvironment, how: &[&str]) -> String {
    let merged = env.try_git(how);
    assert_eq!(merged.code, Some(1), "{merged}");
    merged.stderr + &merged.stdout
}

/// Does what everybody is told, and commits.
fn settled(env: &TestEnvironment) {
    let status = env.aof_aside(&["status"]).success();
    assert!(status.stdout.contains("`aof merge-driver --settle`"), "{status}");
    assert!(!status.stdout.contains("git add"), "{status}");
    let _ = env.aof(&["merge-driver", "--settle"]).success();
    assert!(!env.aof_aside(&["status"]).success().stdout.contains("merged"));
    env.git(&["commit", "-q", "--no-edit"]);
    whole(env);
}

/// Expects that nothing is left to do, and nothing was lost.
fn whole(env: &TestEnvironment) {
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(env).success();
}

/// Expects that there is one file of the task, and returns where.
fn only_file(env: &TestEnvironment, id: &str) -> String {
    let files = env.files("tasks").into_iter().filter(|path| path.contains(id)).collect::<Vec<_>>();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Has a side finish a task and make a new one, while another side goes on with it; merges the first into the second, or the other way round.
fn mixed(layout: &str, into: &str) -> (TestEnvironment, [String; 2], String) {
    let (env, _) = scene();
    env.write("project.yaml", format!("{PROJECT}tasks: {{layout: {layout}}}\n"));
    env.commit_all("another layout");
    let id = new(&env, "Add login");
    let mut other = String::new();
    aside(&env, "side", || {
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", into]);
    let merged =
        stopped(&env, &["merge", "--no-edit", if into == "main" { "side" } else { "main" }]);
    (env, [id, other], merged)
}

#[test]
fn a_new_task_taken_for_a_finished_one_is_not_mixed_with_it() {
    let (env, [id, other], merged) = mixed("flat", "main");
    assert_snapshot!(env.plain(&merged), @"
    conflict: tasks/AOF-xxxxx.md: git takes it for the file of `AOF-xxxxx`, renamed; nothing of the two was mixed
    `aof merge-driver --settle` brings both right; what is added before that loses what was done with `AOF-xxxxx`
    Auto-merging tasks/AOF-xxxxx.md
    CONFLICT (content): Merge conflict in tasks/AOF-xxxxx.md
    Automatic merge failed; fix conflicts and then commit the result.
    ");
    let made = env.git(&["show", &format!("side:tasks/{other}.md")]);
    assert_eq!(env.read(&format!("tasks/{other}.md")), made);
    let status = env.aof(&["status", "--json"]).success().json();
    let told = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["code"] == "task_unmerged")
        .unwrap();
    assert_snapshot!(env.plain(&format!("{}\n{}", told["problem"], told["fix"])), @r#"
    "`tasks/AOF-xxxxx.md`, `tasks/AOF-xxxxx.md` are not merged: git took the file of one task for that of another, renamed"
    "`aof merge-driver --settle` brings them right; whoever adds them before loses what was done with the other task"
    "#);
    let before = env.git(&["status", "--porcelain"]);
    assert_snapshot!(env.plain(&env.aof(&["merge-driver", "--settle", "--dry-run"]).success().to_string()), @"
    exit 0
    --- stdout
    tasks/AOF-xxxxx.md: would be merged and staged
    tasks/AOF-xxxxx.md: would be merged and staged
    --- stderr
    AOF-xxxxx@0: `complete` by agent-8 counts no more: the visit was ended by agent-7 on the branch that is merged into
    AOF-xxxxx@1: `complete` by agent-3 counts no more: the visit was ended by agent-7 on the branch that is merged into
    dry run: nothing was written
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    settled(&env);
    assert_eq!(only_file(&env, &id), format!("tasks/{id}.md"));
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&other).contains("title: Add logout"));
    assert_eq!(env.git(&["log", "-1", "--format=%B"]).matches("Aof-Superseded: ").count(), 2);
    let _ = env.complete(&id, "agent-3").success();
    let _ = env.complete(&other, "agent-7").success();
    whole(&env);
}

#[test]
fn it_is_the_same_the_other_way_round_and_in_shards() {
    for (layout, into) in [("flat", "side"), ("sharded", "main"), ("sharded", "side")] {
        let (env, [id, other], _) = mixed(layout, into);
        let settled_by = env.aof(&["merge-driver", "--settle", "--dry-run"]).success();
        assert!(settled_by.stderr.contains("counts no more"), "{settled_by}");
        settled(&env);
        let expected: &[&str] = match into {
            "main" => &["implement agent-7 complete"],
            _ => &["implement agent-8 complete", "review agent-3 complete"],
        };
        assert_eq!(entries(&env, &id), expected);
        assert_eq!(only_file(&env, &id).starts_with("tasks/archive/"), into == "side");
        assert!(!only_file(&env, &other).starts_with("tasks/archive/"));
    }
}

#[test]
fn both_sides_may_finish_it_and_make_a_task_each() {
    let (env, id) = scene();
    let mut theirs = String::new();
    aside(&env, "side", || {
        finish(&env, &id, "agent-8");
        theirs = new(&env, "Add logout");
    });
    finish(&env, &id, "agent-7");
    let ours = new(&env, "Sign up");
    let merged = stopped(&env, &["merge", "--no-edit", "side"]);
    assert!(!merged.contains("git add"), "{merged}");
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete", "review agent-3 complete"]);
    assert!(only_file(&env, &id).starts_with("tasks/archive/"));
    for (id, title) in [(&ours, "Sign up"), (&theirs, "Add logout")] {
        assert!(env.read(&only_file(&env, id)).contains(&format!("id: {id}\ntitle: {title}\n")));
    }
}

#[test]
fn both_may_finish_it_and_one_make_another() {
    for into in ["main", "side"] {
        let (env, id) = scene();
        let mut other = String::new();
        aside(&env, "side", || {
            finish(&env, &id, "agent-8");
            other = new(&env, "Add logout");
        });
        env.pass_minutes(24 * 60);
        finish(&env, &id, "agent-7");
        env.git(&["checkout", "-q", into]);
        let merged =
            stopped(&env, &["merge", "--no-edit", if into == "main" { "side" } else { "main" }]);
        assert!(!merged.contains("git add"), "{merged}");
        settled(&env);
        let agent = if into == "main" { "agent-7" } else { "agent-8" };
        assert_eq!(entries(&env, &id)[0], format!("implement {agent} complete"));
        assert!(only_file(&env, &id).starts_with("tasks/archive/"));
        assert!(env.read(&only_file(&env, &other)).contains("title: Add logout"));
    }
}

#[test]
fn what_both_said_at_a_fork_is_kept() {
    let (env, _) = scene();
    env.write("project.yaml", forked(""));
    env.commit_all("a fork at the end");
    // Too short for git to know it again in the archive.
    let id = env.new_task(&["Add login", "--body", &text()[..300]]);
    let _ = env.complete(&id, "agent-7").success();
    let mut other = String::new();
    aside(&env, "side", || {
        let _ = env.complete(&format!("{id}@1/security"), "agent-8").success();
        let _ = env.complete(&format!("{id}@1/speed"), "agent-3").success();
        other = env.new_task(&["Add logout", "--body", &text()[..300]]);
    });
    let _ = env.complete(&format!("{id}@1/security"), "agent-7").success();
    stopped(&env, &["merge", "--no-edit", "side"]);
    settled(&env);
    let expected = [
        "implement agent-7 complete",
        "check/security agent-7 complete",
        "check/speed agent-3 complete",
    ];
    assert_eq!(entries(&env, &id), expected);
    let listed = env.git(&["log", "-1", "--format=%B"]);
    assert!(
        listed.contains("Aof-Superseded: ") && listed.contains("by agent-8 (complete)"),
        "{listed}"
    );
    assert!(
        only_file(&env, &id).starts_with("tasks/archive/")
            && env.task_text(&other).contains("Add logout")
    );
}

#[test]
fn a_rebase_and_a_cherry_pick_go_the_same_way() {
    for how in [&["rebase", "main"][..], &["cherry-pick", "side"]] {
        let (env, id) = scene();
        aside(&env, "side", || {
            let _ = env.complete(&id, "agent-7").success();
        });
        finish(&env, &id, "agent-8");
        let other = new(&env, "Add logout");
        let head = env.head();
        if how[0] == "rebase" {
            env.git(&["checkout", "-q", "side"]);
        }
        let picked = stopped(&env, how);
        assert!(picked.contains("`aof merge-driver --settle`"), "{picked}");
        let settled = env.aof(&["merge-driver", "--settle"]).success();
        assert!(settled.stderr.contains("`complete` by agent-7 counts no more"), "{settled}");
        env.git(&[how[0], "--skip"]);
        assert_eq!(env.head(), head);
        assert_eq!(entries(&env, &id), ["implement agent-8 complete", "review agent-3 complete"]);
        assert!(env.task_text(&other).contains("title: Add logout"));
        whole(&env);
    }
}

#[test]
fn what_a_picked_commit_changes_comes_to_the_right_task() {
    for how in [&["rebase", "main"][..], &["cherry-pick", "side"], &["revert", "--no-edit", "side"]]
    {
        let (env, id) = scene();
        let path = env.task_path(&id);
        let change = || {
            env.edit(&path, "part 20.", "part twenty.");
            env.commit_all("another word");
        };
        if how[0] == "revert" {
            change();
            env.git(&["branch", "side"]);
        } else {
            aside(&env, "side", change);
        }
        finish(&env, &id, "agent-8");
        let other = new(&env, "Add logout");
        if how[0] == "rebase" {
            env.git(&["checkout", "-q", "side"]);
        }
        stopped(&env, how);
        let _ = env.aof(&["merge-driver", "--settle"]).success();
        env.git(&["-c", "core.editor=true", how[0], "--continue"]);
        assert_eq!(env.task_text(&id).contains("part twenty."), how[0] != "revert");
        assert!(env.task_text(&other).contains("part 20."));
        assert!(only_file(&env, &id).starts_with("tasks/archive/"));
        whole(&env);
    }
}

#[test]
fn a_picked_commit_that_cannot_stand_is_told_as_one_and_loses_nothing() {
    for (has_driver, how, way_out) in [
        (true, "rebase", "abort"),
        (true, "rebase", "skip"),
        (true, "cherry-pick", "skip"),
        (false, "rebase", "abort"),
    ] {
        let (env, id) = scene();
        let found = env.home().join("found");
        fs::write(&found, "What I found.\n".repeat(3)).unwrap();
        aside(&env, "side", || {
            let _ =
                env.say(&id, "agent-7", "complete", &["--file", found.to_str().unwrap()]).success();
        });
        finish(&env, &id, "agent-8");
        let other = new(&env, "Add logout");
        let head = env.head();
        if !has_driver {
            env.git(&["config", "--remove-section", "merge.aof"]);
        }
        let picked = stopped(
            &env,
            if how == "rebase" { &["rebase", "main", "side"] } else { &["cherry-pick", "side"] },
        );
        assert_eq!(picked.contains("`aof merge-driver --settle`"), has_driver, "{picked}");
        let before = env.git(&["status", "--porcelain"]);
        let settled = env.aof(&["merge-driver", "--settle"]).code(1);
        if how == "rebase" {
            let said = env.plain(&settled.stderr).replace(&head[..10], "MAIN");
            allow_duplicates!(assert_snapshot!(said, @"
            AOF-xxxxx@0: `complete` by agent-7 counts no more: the visit was ended by agent-8 on the branch that is merged into
            conflict: tasks/archive/2026/02/16/AOF-xxxxx.md: nothing is left of the commit that is picked, since what it says was superseded
            `git rebase --abort` takes the rebase back, and then `git merge MAIN` brings both together, and loses nothing; or leave this commit out (`git rebase --skip`), and say again what it says where that still holds
            conflict: tasks/AOF-xxxxx.md: git took it for the file of `AOF-xxxxx`, renamed
            solve `AOF-xxxxx` first, and settle again: `aof merge-driver --settle`
            "));
        }
        assert_eq!(env.git(&["status", "--porcelain"]), before, "nothing is staged");
        let status = env.aof(&["status"]).success();
        assert!(
            status.stdout.contains(&format!("`git {how} --skip`"))
                && !status.stdout.contains("git add"),
            "{status}"
        );
        env.git(&[how, &format!("--{way_out}")]);
        if way_out == "skip" {
            assert_eq!(env.head(), head);
        } else {
            stopped(&env, &["merge", "--no-edit", &head]);
            let _ = env.aof(&["merge-driver", "--settle"]).success();
            env.git(&["commit", "-q", "--no-edit"]);
            assert!(env.task_text(&id).contains("What I found."), "its text is not lost");
        }
        assert!(env.task_text(&other).contains("title: Add logout"));
        whole(&env);
    }
}

#[test]
fn what_somebody_takes_out_of_a_commit_that_a_rebase_has_made_is_theirs_to_say() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.edit(&path, "part 10.", "part ten.");
        env.edit(&path, "part 20.", "part twenty.");
        env.commit_all("other words");
    });
    let _ = env.aof(&["task", "edit", &id, "--tag", "auth"]).success();
    let mut edit = env.command("git");
    edit.env("GIT_SEQUENCE_EDITOR", "sed -i s/^pick/edit/").args(["rebase", "-i", "main", "side"]);
    let _ = env.run(edit).success();
    env.edit(&path, "part twenty.", "part 20.");
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    assert!(env.exists(".git/rebase-merge"));
    assert!(!env.aof(&["status"]).success().stdout.contains("--settle"));
    let settled = env.aof(&["merge-driver", "--settle"]).success();
    assert_eq!(settled.stdout, "git left no task file unmerged\n");
    env.git(&["rebase", "--continue"]);
    assert!(env.task_text(&id).contains("part ten.") && env.task_text(&id).contains("part 20."));
    whole(&env);
}

#[test]
fn without_the_driver_it_is_settled_all_the_same() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    let mut other = String::new();
    aside(&env, "side", || {
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.complete(&id, "agent-7").success();
    stopped(&env, &["merge", "--no-edit", "side"]);
    assert!(env.read(&format!("tasks/{other}.md")).contains("<<<<<<<"));
    for args in [&["task", "show", &other][..], &["why", &other]] {
        let said = env.aof_aside(args).code(6);
        assert!(
            said.stderr.contains("`aof merge-driver --settle`") && !said.stderr.contains("git add"),
            "{said}"
        );
    }
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
}

#[test]
fn branches_that_merged_each_other_are_no_other_case() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--tag", "auth"]).success();
    });
    let _ = env.aof(&["task", "comment", &id, "Mind the tokens"]).success();
    env.git(&["branch", "base"]);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    env.git(&["checkout", "-q", "side"]);
    env.git(&["merge", "-q", "--no-edit", "base"]);
    finish(&env, &id, "agent-8");
    let other = new(&env, "Add logout");
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&id, "agent-7").success();
    assert_eq!(env.git(&["merge-base", "--all", "main", "side"]).lines().count(), 2);
    stopped(&env, &["merge", "--no-edit", "side"]);
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("Mind the tokens") && env.task_text(&id).contains("auth"));
    assert!(env.task_text(&other).contains("title: Add logout"));
}

#[test]
fn what_people_have_to_decide_is_asked_in_the_right_file() {
    let (env, id) = scene();
    let mut other = String::new();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
        finish(&env, &id, "agent-8");
        other = new(&env, "Add logout");
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    stopped(&env, &["merge", "--no-edit", "side"]);
    let asked = env.aof(&["merge-driver", "--settle"]).code(1);
    let path = only_file(&env, &id);
    assert!(asked.stderr.contains("both sides changed `title`"), "{asked}");
    assert!(asked.stderr.contains("then `git add tasks/archive/"), "{asked}");
    assert_eq!(env.git(&["diff", "--name-only", "--diff-filter=U"]).trim(), path);
    let marked = "<<<<<<< ours\ntitle: Log in\n=======\ntitle: Sign in\n>>>>>>> theirs\n";
    env.edit(&path, marked, "title: Come in\n");
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    whole(&env);
    assert!(
        path.starts_with("tasks/archive/") && env.task_text(&other).contains("title: Add logout")
    );
}

#[test]
fn whoever_adds_it_first_is_told_what_would_be_lost() {
    for into in ["main", "side"] {
        let (env, [id, other], _) = mixed("flat", into);
        env.git(&["add", "--all"]);
        assert!(!env.git(&["status", "--porcelain"]).contains('U'));
        let status = env.aof(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let told: Vec<_> = points.iter().filter(|point| point["code"] == "task_unmerged").collect();
        if into == "main" {
            assert_snapshot!(env.plain(&format!("{}\n{}", told[0]["problem"], told[0]["fix"])), @r#"
            "`tasks/AOF-xxxxx.md` is staged as one side left it, and nothing of what the other one did"
            "`aof merge-driver --settle` merges it; whoever commits it now takes back what the other side did"
            "#);
            settled(&env);
        } else {
            // What the other side did counts no more, and the file has nothing of it.
            assert_eq!(told.len(), 0);
            env.git(&["commit", "-q", "--no-edit"]);
            whole(&env);
        }
        assert_eq!(
            entries(&env, &id)[0],
            if into == "main" {
                "implement agent-7 complete"
            } else {
                "implement agent-8 complete"
            }
        );
        assert!(env.task_text(&other).contains("title: Add logout"));
    }
}

#[test]
fn what_somebody_has_taken_from_one_side_where_both_may_be_right_is_theirs_to_say() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    let _ = stopped(&env, &["merge", "--no-edit", "side"]);
    env.git(&["checkout", "-q", "--theirs", &path]);
    env.git(&["add", &path]);
    assert!(!env.aof(&["status"]).success().stdout.contains("--settle"));
    let settled = env.aof(&["merge-driver", "--settle"]).success();
    assert_eq!(settled.stdout, "git left no task file unmerged\n");
    env.git(&["commit", "-q", "--no-edit"]);
    assert!(env.task_text(&id).contains("title: Sign in"));
    whole(&env);
}

#[test]
fn a_task_that_one_side_removed_is_not_gone_unasked() {
    for into in ["main", "side"] {
        let (env, id) = scene();
        let path = env.task_path(&id);
        let mut other = String::new();
        aside(&env, "side", || {
            env.git(&["rm", "-q", &path]);
            env.git(&["commit", "-q", "-m", "away"]);
            other = new(&env, "Add logout");
        });
        let _ = env.complete(&id, "agent-7").success();
        env.git(&["checkout", "-q", into]);
        stopped(&env, &["merge", "--no-edit", if into == "main" { "side" } else { "main" }]);
        let asked = env.aof(&["merge-driver", "--settle"]).code(1);
        assert!(asked.stderr.contains("one side changed it, and the other removed it"), "{asked}");
        let status = env.aof(&["status"]).success();
        assert!(status.stdout.contains("keep it with `git add tasks/AOF-xxxxx.md`"), "{status}");
        env.git(&["add", &path]);
        env.git(&["commit", "-q", "--no-edit"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        assert!(env.task_text(&other).contains("title: Add logout"));
    }
}

#[test]
fn nothing_is_staged_for_good_while_the_other_task_is_in_somebody_s_hands() {
    let (env, [id, other], _) = mixed("flat", "main");
    let archived = only_file(&env, &id);
    env.edit(&archived, "part 3.", "part three.");
    let before = env.git(&["status", "--porcelain"]);
    let said = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(env.plain(&said.to_string()), @"
    exit 1
    --- stderr
    conflict: tasks/AOF-xxxxx.md: git took it for the file of another task, renamed, and somebody has changed it by hand since
    keep what you wrote elsewhere, take it away with `rm tasks/AOF-xxxxx.md`, and settle again: `aof merge-driver --settle`
    conflict: tasks/AOF-xxxxx.md: git took it for the file of `AOF-xxxxx`, renamed
    solve `AOF-xxxxx` first, and settle again: `aof merge-driver --settle`
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), before);
    assert!(env.read(&archived).contains("part three."));
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("`rm tasks/AOF-xxxxx.md`") && !status.stdout.contains("git add"),
        "{status}"
    );
    fs::remove_file(env.path(&archived)).unwrap();
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&other).contains("title: Add logout"));
}

#[test]
fn a_merge_without_renames_is_settled_as_well() {
    let (env, [id, _], _) = mixed("flat", "main");
    env.git(&["merge", "--abort"]);
    stopped(&env, &["merge", "--no-edit", "-X", "find-renames=100%", "side"]);
    settled(&env);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
}

#[test]
fn what_is_in_no_commit_stays_where_it_was() {
    let (env, id) = scene();
    env.edit(&env.task_path(&id), "part 20.", "part twenty.");
    env.git(&["stash", "-q"]);
    finish(&env, &id, "agent-8");
    let other = new(&env, "Add logout");
    stopped(&env, &["stash", "pop"]);
    let said = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(env.plain(&said.to_string()), @"
    exit 1
    --- stderr
    conflict: tasks/AOF-xxxxx.md: git took it for the file of `AOF-xxxxx`, renamed, and does not tell what the two were
    `git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md` brings back this task; what came in is in the stash still
    ");
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("`git restore --source=HEAD --staged --worktree tasks/"),
        "{status}"
    );
    env.git(&["restore", "--source=HEAD", "--staged", "--worktree", &env.task_path(&other)]);
    whole(&env);
    assert!(env.git(&["stash", "show", "-p"]).contains("part twenty."));
}

#[test]
fn a_task_that_git_moves_to_the_finished_ones_beside_it_comes_back() {
    let (env, _) = scene();
    let (one, two) = ("AOF-ab111", "AOF-ab222");
    let hand_made = |id: &str| {
        env.write(
            &format!("tasks/ab/{id}.md"),
            format!("---\nid: {id}\ntitle: {id}\n---\n\n{}", text()),
        );
        env.commit_all(id);
        let _ = env.aof(&["watch", "--once"]).success();
    };
    hand_made(one);
    aside(&env, "side", || finish(&env, one, "agent-8"));
    hand_made(two);
    let merged = stopped(&env, &["merge", "--no-edit", "side"]);
    assert!(merged.contains("CONFLICT (file location)"), "{merged}");
    settled(&env);
    assert_eq!(only_file(&env, two), format!("tasks/ab/{two}.md"));
    assert!(only_file(&env, one).starts_with("tasks/archive/"));
}

#[test]
fn files_that_do_not_say_which_task_they_are_are_known_by_their_names() {
    for into in ["main", "side"] {
        let (env, _) = scene();
        let (id, path) = ("AOF-one", "tasks/AOF-one.md");
        env.write(path, format!("---\ntitle: One\n---\n\n{}", text()));
        env.commit_all("by hand");
        let mut other = String::new();
        aside(&env, "side", || {
            finish(&env, id, "agent-8");
            other = new(&env, "Add logout");
        });
        env.edit(path, "part 20.", "part twenty.");
        env.commit_all("by hand as well");
        env.git(&["checkout", "-q", into]);
        let _ =
            stopped(&env, &["merge", "--no-edit", if into == "main" { "side" } else { "main" }]);
        settled(&env);
        assert!(
            env.task_text(id).contains("part twenty.")
                && only_file(&env, id).starts_with("tasks/archive/")
        );
        assert!(env.task_text(&other).contains("part 20."));
    }
}

#[test]
fn a_sync_takes_no_task_for_another() {
    let clones = Clones::new(PROJECT, &["other"]);
    let id = new(&clones.env, "Add login");
    let _ = clones.sync(".").success();
    let _ = clones.sync("other").success();
    clones.completes("other", &id, "agent-1");
    clones.completes("other", &id, "agent-9");
    let _ = clones.aof("other", &["task", "new", "Add logout", "--body", &text()]).success();
    let _ = clones.sync("other").success();
    clones.completes(".", &id, "agent-7");
    let _ = clones.sync(".").success();
    assert_eq!(
        entries(&clones.env, &id),
        ["implement agent-1 complete", "review agent-9 complete"]
    );
    let listed = clones.aof(".", &["task", "list"]).success();
    assert!(listed.stdout.contains("Add logout"), "{listed}");
    whole(&clones.env);
}
