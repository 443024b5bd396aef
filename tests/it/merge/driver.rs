//! Real merges by the real git, with the driver and without it.

use insta::assert_snapshot;

use crate::support::environment::{TestEnvironment, nameless};
use crate::support::merge_scene::{THEN_DONE, aside, entries, forked, scene, verified};

#[test]
fn both_sides_keep_their_acts() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-7").success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in", "--tag", "auth"]).success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Mind the tokens"]).success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let text = env.task_text(&id);
    assert!(
        text.contains("title: Log in")
            && text.contains("current: review")
            && text.contains("Mind the tokens"),
        "{text}"
    );
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-3").success();
    assert!(env.exists(&env.task_path(&id)));
}

#[test]
fn a_visit_ends_once_and_the_merge_commit_lists_superseded_entries() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
        let _ = env.say(&id, "agent-3", "complete", &["--id", "last"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(0), "{merged}");
    assert_snapshot!(env.plain(&merged.stderr), @"
    AOF-xxxxx@0: `complete` by agent-8 no longer counts: agent-7 ended the visit on the branch that is merged into
    AOF-xxxxx@1: `complete` by agent-3 no longer counts: agent-7 ended the visit on the branch that is merged into
    ");
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert_eq!(env.files("tasks").iter().filter(|path| path.contains(&id)).count(), 1);
    let verified = verified(&env).success();
    assert_eq!(verified.stdout.matches("[superseded]").count(), 2, "{verified}");
}

#[test]
fn a_task_that_was_finished_on_one_side_is_found_in_its_archive() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-3").success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let path = env.task_path(&id);
    assert!(path.contains("archive") && env.read(&path).contains("title: Log in"), "{path}");
    let _ = verified(&env).success();
    let _ = env.aof(&["task", "show", &id]).success();
}

#[test]
fn of_two_claims_one_stands() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "assign", "--claim", &id, "agent-8"]).success();
    });
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert!(merged.stderr.contains("AOF-xxxxx@0: agent-8 no longer has it"), "{merged}");
    assert!(env.task_text(&id).contains("agent: agent-7"));
    let _ = verified(&env).success();
}

#[test]
fn rebasing_and_picking_go_the_same_way() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    aside(&env, "side", || {
        let _ = env.complete(&id, "agent-8").success();
        let _ = env.complete(&other, "agent-8").success();
        let _ = env.aof(&["task", "comment", &id, "-m", "From the side"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", "side"]);
    env.git(&["rebase", "-q", "--empty=drop", "main"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert_eq!(entries(&env, &other), ["implement agent-8 complete"]);
    assert!(env.task_text(&id).contains("From the side"));
    let _ = verified(&env).success();
    env.git(&["checkout", "-q", "main"]);
    env.git(&["cherry-pick", "side"]);
    assert!(env.task_text(&id).contains("From the side"));
    let _ = verified(&env).success();
}

#[test]
fn a_field_changed_on_both_sides_is_marked_and_only_its_task_waits() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(1), "{merged}");
    let path = env.task_path(&id);
    let text = env.read(&path);
    assert!(
        text.contains("<<<<<<< HEAD\ntitle: Log in\n=======\ntitle: Sign in\n>>>>>>> side\n"),
        "{text}"
    );
    assert_snapshot!(env.plain(&env.aof(&["task", "show", &id]).to_string()), @"
    exit 6
    --- stderr
    error: `tasks/AOF-xxxxx.md` cannot be read as a task

    error[conflict_markers]: line 3 is a merge conflict marker
     --> tasks/AOF-xxxxx.md:3:1
      |
    3 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 3 to 7, take the markers out, then `git add` the file and commit

    hint: a merge that is still in progress can be taken back with `git merge --abort`
    ");
    assert_snapshot!(env.plain(&env.aof(&["why", &id]).to_string()), @"
    exit 6
    --- stderr
    error: `tasks/AOF-xxxxx.md` cannot be read as a task

    error[conflict_markers]: line 3 is a merge conflict marker
     --> tasks/AOF-xxxxx.md:3:1
      |
    3 | <<<<<<< HEAD
      | ^^^^^^^^^^^^
      |
      = help: keep what counts of lines 3 to 7, take the markers out, then `git add` the file and commit

    hint: a merge that is still in progress can be taken back with `git merge --abort`
    ");
    assert_snapshot!(env.plain(&env.aof(&["task", "complete", &id, "--agent", "agent-7", "--outcome", "complete", "--summary", "x", "--wait", "0"]).to_string()), @"
    exit 7
    --- stderr
    error: a merge is in progress; end it with `git merge --continue` or `git merge --abort`
    ");
    assert_snapshot!(env.plain(&env.aof(&["status"]).to_string()), @"
    exit 0
    --- stdout
    on main
    2 open: 2 ready
    1 came to a gate under earlier rules, and it goes on under those in force

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 4
      ! nothing can be committed: a merge is in progress; end it with `git merge --continue` or `git merge --abort`
        changes wait until that is done; dropped files stay in the inbox
      ! 1 task stands where the rules have changed: AOF-xxxxx
        `aof watch` has them follow; `aof org reload` does it now, and so does `aof doctor --fix`
      ! `tasks/AOF-xxxxx.md:3:1` cannot be read: line 3 is a merge conflict marker
        keep what counts of lines 3 to 7, take the markers out, then `git add` the file and commit
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    let _ = env.aof(&["task", "show", &other]).success();
    env.write(
        &path,
        text.replace("<<<<<<< HEAD\n", "").replace("=======\ntitle: Sign in\n>>>>>>> side\n", ""),
    );
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-7").success();
}

#[test]
fn a_merge_is_made_again_to_judge_it() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    let path = env.task_path(&id);
    let amended = |text: &str, message: &str| {
        env.git(&["reset", "-q", "--hard", "main"]);
        env.git(&["checkout", "-q", "--detach"]);
        env.git(&["merge", "-q", "--no-edit", "side"]);
        env.write(&path, text);
        env.git(&["commit", "-q", "-a", "--no-verify", "--amend", "-m", message]);
        nameless(&env.aof_aside(&["verify"]))
    };
    let ours = env.task_text(&id);
    let theirs = env.git(&["show", &format!("side:{path}")]);
    let both = ours.replace("title: Add login", "title: Log in");
    let answer = format!("by hand\n\nAof-Superseded: {id}@0 theirs by agent-8 (complete)");
    let whole = amended(&both, &answer);
    assert!(whole.contains("exit 0") && !whole.contains("note:"), "{whole}");
    assert_snapshot!(amended(&both, "by hand"), @"
    exit 0
    --- stdout
    note: AOF-xxxxx: a merge superseded an entry [superseded]
      commit   COMMIT by hand
      by       Ada <ada@example.org>, 2026-02-16T10:00:17Z
      expected Aof-Superseded: AOF-xxxxx@0 theirs by agent-8 (complete)
      found    no trailer that says so
    all is as the rules allow: 6 commits, 5 changes of a task
    ");
    assert_snapshot!(amended(&theirs, &answer), @"
    exit 1
    --- stdout
    wrong: AOF-xxxxx: a merge left out what one side had [lost_in_merge]
      commit   COMMIT by hand
      by       Ada <ada@example.org>, 2026-02-16T10:00:21Z
      expected ready at review, with 1 entry, the last one complete at implement by agent-7
      found    ready at review, with 1 entry, the last one complete at implement by agent-8
    1 thing wrong: 6 commits, 5 changes of a task
    ");
    assert_snapshot!(amended(&ours.replace("agent-7", "agent-8"), &answer), @"
    exit 1
    --- stdout
    wrong: AOF-xxxxx: a merge left out what one side had [lost_in_merge]
      commit   COMMIT by hand
      by       Ada <ada@example.org>, 2026-02-16T10:00:25Z
      expected ready at review, with 1 entry, the last one complete at implement by agent-7
      found    ready at review, with 1 entry, the last one complete at implement by agent-8
    1 thing wrong: 6 commits, 5 changes of a task
    ");
}

#[test]
fn without_the_driver_only_the_file_in_conflict_waits() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    env.git(&["config", "--remove-section", "merge.aof"]);
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(1), "{merged}");
    let shown = env.aof(&["task", "show", &id]).code(6);
    assert!(
        shown.stderr.contains("is a merge conflict marker") && shown.stderr.contains("git add"),
        "{shown}"
    );
    assert!(env.aof(&["task", "list"]).code(6).stdout.contains("Another"));
    // Even committed as it is, it keeps nobody else from working.
    env.git(&["commit", "-q", "-a", "--no-edit"]);
    let _ = env.say(&id, "agent-3", "complete", &[]).code(6);
    let _ = env.complete(&other, "agent-7").success();
    let path = env.task_path(&id);
    env.git(&["checkout", "-q", "HEAD~2", "--", &path]);
    env.commit_all("ours");
    let _ = env.complete(&id, "agent-3").success();
}

#[test]
fn a_completion_at_a_branch_of_a_fork_is_carried() {
    let (env, _) = scene();
    env.write("project.yaml", forked(THEN_DONE));
    env.commit_all("a fork");
    let id = env.new_task(&["Add login", "--body", &"A line of text.\n".repeat(20)]);
    let _ = env.complete(&id, "agent-7").success();
    aside(&env, "side", || {
        let _ = env.complete(&format!("{id}@1/speed"), "agent-3").success();
    });
    let _ = env.complete(&format!("{id}@1/security"), "agent-7").success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(0), "{merged}");
    let expected = [
        "implement agent-7 complete",
        "check/security agent-7 complete",
        "check/speed agent-3 complete",
    ];
    assert_eq!(entries(&env, &id), expected);
    assert!(env.task_text(&id).contains("current: done"));
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-8").success();
    let _ = verified(&env).success();
}

#[test]
fn a_project_in_a_folder_of_a_repository_with_two_of_them_merges_by_its_own_rules() {
    let mut env = TestEnvironment::without_rules();
    for folder in ["one", "two"] {
        let _ = env.aof(&["init", folder]).success();
    }
    let top = env.path("");
    env.enter("two");
    env.write("project.yaml", crate::support::environment::PROJECT);
    env.write("org.yaml", crate::support::environment::ORG);
    env.commit_all("rules");
    let id = env.new_task(&["Add login"]);
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    let linked = env.home().join("linked");
    env.git(&["worktree", "add", "-q", "-b", "linked", &linked.to_string_lossy()]);
    let merge = |folder: &std::path::Path| {
        let output = env.try_git(&["-C", &folder.to_string_lossy(), "merge", "--no-edit", "side"]);
        assert_eq!(output.code, Some(0), "{output}");
        assert!(output.stderr.contains("no longer counts"), "{output}");
    };
    merge(&linked);
    merge(&top);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();
}

#[test]
fn a_superseded_agent_is_notified_once() {
    let (env, id) = scene();
    let notify = "agents:\n  agent-8: {notify: [{command: [sh, -c, \"cat >> told\"]}]}\n";
    env.write("org.yaml", format!("{}{notify}", crate::support::environment::ORG));
    env.commit_all("agent-8 listens");
    let _ = env.aof(&["notices", "--deliver"]).success();
    aside(&env, "side", || {
        let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let _ = env.aof(&["notices", "--deliver"]).success();
    let _ = env.aof(&["notices", "--deliver"]).success();
    let answer = env.read("told");
    let answer: Vec<&str> =
        answer.lines().filter(|line| line.contains("completion_superseded")).collect();
    assert_eq!(answer.len(), 1, "{answer:?}");
    assert!(answer[0].contains("counts no more") && answer[0].contains("theirs"), "{answer:?}");
    let events = env.aof(&["events", "--type", "completion_superseded"]).success();
    assert_snapshot!(events.stdout, @"Feb 16, 10:00  AOF-xxxxx  warning: a merge superseded `done` by agent-8 at implement: agent-7 was first");
    let lines = env.aof(&["events", "--type", "completion_superseded", "--json"]).success();
    let line = lines.json();
    let fields = ["gate", "agent", "outcome", "completion", "by"]
        .map(|key| line[key].as_str().unwrap().to_owned());
    assert_eq!(fields, ["implement", "agent-8", "complete", "theirs", "agent-7"]);
}

#[test]
fn unmerged_files_are_merged_by_meaning() {
    let (env, _) = scene();
    let [moved, plain, disputed] =
        ["Short", "Plain", "Disputed"].map(|title| env.new_task(&[title]));
    env.git(&["config", "--remove-section", "merge.aof"]);
    aside(&env, "side", || {
        let _ = env.complete(&moved, "agent-8").success();
        let _ = env.complete(&moved, "agent-3").success();
        let _ = env.complete(&plain, "agent-8").success();
        let _ = env.aof(&["task", "edit", &disputed, "--title", "Theirs"]).success();
    });
    let _ = env.aof(&["task", "edit", &moved, "--title", "Ours"]).success();
    let _ = env.complete(&plain, "agent-7").success();
    let _ = env.aof(&["task", "edit", &disputed, "--title", "Mine"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_eq!(settled.stdout.lines().count(), 2, "{settled}");
    assert!(settled.stderr.contains("both sides changed `title`"), "{settled}");
    assert!(env.task_path(&moved).starts_with("tasks/archive/"));
    assert!(
        env.task_text(&moved).contains("title: Ours")
            && env.task_text(&moved).contains("status: complete")
    );
    assert_eq!(entries(&env, &plain), ["implement agent-7 complete"]);
    let path = env.task_path(&disputed);
    env.git(&["checkout", "-q", "--ours", &path]);
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

#[test]
fn no_advice_discards_acts_of_the_other_side() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
        let _ = env.complete(&id, "agent-7").success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let advice = |env: &TestEnvironment| {
        let commands: [&[&str]; 3] = [&["status"], &["doctor"], &["task", "show", &id]];
        let answer: Vec<String> =
            commands.iter().map(|args| env.aof_aside(args).to_string()).collect();
        for answer in &answer {
            assert!(!answer.contains("git restore"), "{answer}");
            assert!(answer.contains("`git add` the file"), "{answer}");
        }
        answer
    };
    for answer in advice(&env) {
        assert!(answer.contains("git merge --abort"), "{answer}");
    }
    // Whoever commits the markers is told to solve them, and to commit that.
    env.git(&["commit", "--quiet", "-a", "--no-edit"]);
    for answer in &advice(&env)[..2] {
        assert!(!answer.contains("git merge --abort"), "{answer}");
    }
    let solved: String = env
        .read(&path)
        .split_inclusive('\n')
        .filter(|line| {
            !["<<<<<<<", "=======", ">>>>>>>", "title: Log in"]
                .iter()
                .any(|start| line.starts_with(start))
        })
        .collect();
    env.write(&path, solved);
    let status = env.aof(&["status"]).success().to_string();
    assert!(
        !status.contains("git restore")
            && status.contains("`git add tasks/AOF-xxxxx.md && git commit`"),
        "{status}"
    );
    env.commit_all("solved");
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("title: Sign in"));
}

#[test]
fn comments_of_the_side_that_does_not_stand_survive() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.edit(&path, "title: Add login\n", "title: Add login # keep\n");
        env.commit_all("why");
    });
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert!(env.read(&path).contains("title: Add login # keep\n"), "{}", env.read(&path));
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();
}

#[test]
fn comments_at_lines_of_the_engine_are_carried_or_reported() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.edit(&path, "status: ready\n", "# mind this\nstatus: ready # for now\n");
        env.edit(&path, "  visit: 0\n", "  visit: 0 # the first\n");
        env.commit_all("why");
    });
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.complete(&id, "agent-3").success();
    let merged = env.try_git(&["merge", "--no-edit", "side"]);
    assert_eq!(merged.code, Some(0), "{merged}");
    assert_snapshot!(env.plain(&merged.stderr), @"tasks/archive/2026/02/16/AOF-xxxxx.md: a comment found no place, since its line is gone or another one stands there: `# the first`");
    assert!(
        env.task_text(&id).contains("# mind this\nstatus: complete # for now\n"),
        "{}",
        env.task_text(&id)
    );
    let _ = verified(&env).success();
}

#[test]
fn line_endings_follow_the_side_that_changed_them() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    aside(&env, "side", || {
        env.write(&path, env.read(&path).replace('\n', "\r\n"));
        env.commit_all("another editor");
    });
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Mind the tokens"]).success();
    let before = env.read(&path);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(env.read(&path), before.replace('\n', "\r\n"));
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-3").success();
}
