//! Merges across each other: two branches that have each merged the other one. Git merges the places at which they parted first, with
//! our driver, into a version that no commit has.

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment};
use crate::support::merge_scene::{THEN_DONE, aside, entries, forked, scene, verified};

/// Merges two branches into each other, and leaves the first checked out: `main`, with `other` beside it.
fn crossed(env: &TestEnvironment, main: impl FnOnce(), side: impl FnOnce()) {
    aside(env, "side", side);
    main();
    env.git(&["branch", "other", "side"]);
    env.git(&["branch", "base", "main"]);
    merged(env, "side");
    env.git(&["checkout", "-q", "other"]);
    merged(env, "base");
    env.git(&["checkout", "-q", "main"]);
    assert_eq!(env.git(&["merge-base", "--all", "main", "other"]).lines().count(), 2);
}

/// Merges, and solves what is disputed by what the branch has that is merged into.
fn merged(env: &TestEnvironment, branch: &str) {
    let merge = env.try_git(&["merge", "--no-edit", branch]);
    if merge.code != Some(0) {
        let files = env.git(&["diff", "--name-only", "--diff-filter=U"]);
        for file in files.lines() {
            env.write(file, ours(&env.read(file)));
            env.git(&["add", file]);
        }
        env.git(&["commit", "-q", "--no-edit"]);
    }
}

/// Keeps what is ours of what is marked.
fn ours(text: &str) -> String {
    let mut keeps = true;
    let mut out = String::new();
    for line in text.split_inclusive('\n') {
        match line.get(..7) {
            Some("<<<<<<<") => {}
            Some("=======") => keeps = false,
            Some(">>>>>>>") => keeps = true,
            _ if keeps => out.push_str(line),
            _ => {}
        }
    }
    out
}

fn crosswise(env: &TestEnvironment) -> Output {
    env.try_git(&["merge", "--no-edit", "other"])
}

#[test]
fn a_visit_that_both_ended_ends_once_across_too() {
    let (env, id) = scene();
    crossed(
        &env,
        || {
            let _ = env.complete(&id, "agent-7").success();
        },
        || {
            let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
            let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No tests"]).success();
        },
    );
    env.git(&["checkout", "-q", "other"]);
    let _ = env.aof(&["task", "comment", &id, "-m", "From the other side"]).success();
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&id, "agent-3").success();
    let merge = crosswise(&env);
    assert_eq!(merge.code, Some(0), "{merge}");
    assert!(
        !merge.stderr.contains("no longer counts: agent-8 ended"),
        "main has agent-7's: {merge}"
    );
    assert_eq!(entries(&env, &id), ["implement agent-7 complete", "review agent-3 complete"]);
    assert!(env.task_text(&id).contains("From the other side"));
    let _ = verified(&env).success();
}

#[test]
fn the_other_way_round_it_is_the_same() {
    let (env, id) = scene();
    crossed(
        &env,
        || {
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.complete(&id, "agent-3").success();
        },
        || {
            let _ = env.say(&id, "agent-8", "complete", &["--id", "theirs"]).success();
        },
    );
    env.git(&["checkout", "-q", "other"]);
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    let merge = env.try_git(&["merge", "--no-edit", "main"]);
    assert_eq!(merge.code, Some(0), "{merge}");
    assert_snapshot!(env.plain(&merge.stderr), @"
    AOF-xxxxx@0: `complete` by agent-7 no longer counts: agent-8 ended the visit on the branch that is merged into
    AOF-xxxxx@1: `complete` by agent-3 no longer counts: agent-8 ended the visit on the branch that is merged into
    ");
    assert_eq!(entries(&env, &id), ["implement agent-8 complete"]);
    let _ = verified(&env).success();
    // It is open, and one side had archived it.
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.task_path(&id), format!("tasks/{id}.md"));
    let _ = verified(&env).success();
}

#[test]
fn branches_of_a_fork_that_both_merged_are_there_once() {
    let (env, _) = scene();
    env.write("project.yaml", forked(THEN_DONE));
    env.commit_all("a fork");
    let id = env.new_task(&["Add login", "--body", &"A line of text.\n".repeat(20)]);
    let _ = env.complete(&id, "agent-7").success();
    crossed(
        &env,
        || {
            let _ = env.complete(&format!("{id}@1/security"), "agent-7").success();
        },
        || {
            let _ = env.complete(&format!("{id}@1/speed"), "agent-3").success();
        },
    );
    env.git(&["checkout", "-q", "other"]);
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&id, "agent-8").success();
    let merge = crosswise(&env);
    assert_eq!(merge.code, Some(0), "{merge}");
    let entries = entries(&env, &id);
    let expected = [
        "implement agent-7 complete",
        "check/security agent-7 complete",
        "check/speed agent-3 complete",
        "done agent-8 complete",
    ];
    assert_eq!(entries, expected);
    assert!(env.task_text(&id).contains("title: Log in"));
    let _ = verified(&env).success();
}

#[test]
fn of_claims_across_one_stands() {
    let (env, id) = scene();
    crossed(
        &env,
        || {
            let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
        },
        || {
            let _ = env.aof(&["task", "assign", "--claim", &id, "agent-8"]).success();
        },
    );
    let merge = crosswise(&env);
    assert_eq!(merge.code, Some(0), "{merge}");
    let claims = ["agent-7", "agent-8"]
        .into_iter()
        .filter(|agent| env.task_text(&id).contains(&format!("agent: {agent}")));
    assert_eq!(claims.count(), 1);
    let _ = verified(&env).success();
}

/// Returns a project in which both sides gave the task another title and changed one line, and each solved that for itself; then each went
/// on elsewhere.
fn disputed() -> (TestEnvironment, String) {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.edit(
        &path,
        "title: Add login\n",
        "title: Add login\nestimate: 3d\ntags: [a, b]\nowner: ada\n",
    );
    env.commit_all("more");
    let says = |title: &str, who: &str| {
        let _ = env.aof(&["task", "edit", &id, "--title", title]).success();
        env.edit(&path, "part 3.", &format!("part 3, {who}."));
        env.commit_all("text");
    };
    crossed(&env, || says("Log in", "ours"), || says("Sign in", "theirs"));
    env.edit(&path, "tags: [a, b]", "tags: [a]");
    env.edit(&path, "part 20.", "part 20, ours.");
    env.commit_all("ours");
    env.git(&["checkout", "-q", "other"]);
    env.edit(&path, "estimate: 3d\n", "");
    env.edit(&path, "owner: ada\n", "owner: bob\n");
    env.edit(&path, "part 25.", "part 25, theirs.");
    env.commit_all("theirs");
    env.git(&["checkout", "-q", "main"]);
    (env, id)
}

#[test]
fn only_the_earlier_dispute_is_asked_again() {
    let (env, id) = disputed();
    let merge = crosswise(&env);
    assert_snapshot!(env.plain(&merge.to_string()), @"
    exit 1
    --- stdout
    Auto-merging tasks/AOF-xxxxx.md
    CONFLICT (content): Merge conflict in tasks/AOF-xxxxx.md
    Automatic merge failed; fix conflicts and then commit the result.
    --- stderr
    conflict: tasks/AOF-xxxxx.md: both sides changed `title` differently
    conflict: tasks/AOF-xxxxx.md: both sides changed the same lines of the text
    edit `tasks/AOF-xxxxx.md`, then `git add tasks/AOF-xxxxx.md`; until then only this task waits
    ");
    let text = env.task_text(&id);
    let marked = |ours: &str, theirs: &str| {
        format!("<<<<<<< HEAD\n{ours}\n=======\n{theirs}\n>>>>>>> other\n")
    };
    for part in [
        marked("title: Log in", "title: Sign in"),
        marked("What is to be done, part 3, ours.", "What is to be done, part 3, theirs."),
        "tags: [a]\nowner: bob\nstatus: ready\n".to_owned(),
        "part 20, ours.".to_owned(),
        "part 25, theirs.".to_owned(),
    ] {
        assert!(text.contains(&part), "{part}\n{text}");
    }
    assert_eq!(text.matches("<<<<<<<").count(), 2, "{text}");
    assert!(!text.contains("undecided"), "{text}");
    env.write(&env.task_path(&id), ours(&text));
    env.git(&["commit", "-q", "-a", "--no-edit"]);
    let _ = verified(&env).success();
    let _ = env.complete(&id, "agent-7").success();
}

#[test]
fn git_says_by_its_labels_that_it_merges_for_itself() {
    let (env, _) = disputed();
    let labels = env.home().join("labels");
    let driver = env.git(&["config", "merge.aof.driver"]);
    let driver = format!("echo '%X|%Y|%S|%L' >> '{}'; {}", labels.display(), driver.trim());
    env.git(&["config", "merge.aof.driver", &driver]);
    assert_eq!(crosswise(&env).code, Some(1));
    let answer = std::fs::read_to_string(labels).unwrap();
    let answer: Vec<&str> = answer.lines().collect();
    assert_eq!(answer.len(), 2, "{answer:?}");
    let first: Vec<&str> = answer[0].split('|').collect();
    assert_eq!(
        (first[0], first[1], first[3]),
        ("Temporary merge branch 1", "Temporary merge branch 2", "9")
    );
    assert_eq!(answer[1], "HEAD|other|merged common ancestors|7");
}
