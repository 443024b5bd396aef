//! Task files that git left unmerged: `aof status` names each with what solves it, and `aof merge-driver --settle` solves what can be.

use insta::assert_snapshot;
use serde_json::Value;

use crate::environment::TestEnvironment;
use crate::merging::{aside, entries, scene, verified};

/// Returns what `aof status` says of files that git left, as problem and fix.
fn left(env: &TestEnvironment) -> Vec<(String, String)> {
    let status = env.aof_aside(&["status", "--json"]).success().json();
    let points = status["attention"].as_array().unwrap().iter().filter(|point| point["code"] == "task_unmerged");
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
fn where_git_could_not_run_aof_status_says_that_theirs_is_missing() {
    let (env, id) = scene();
    both_complete(&env, &id);
    let path = env.task_path(&id);
    // Git finds its own programs, and not ours.
    let mut merge = env.command("git");
    let merge =
        merge.args(["merge", "--no-edit", "side"]).env("PATH", "/usr/local/bin:/usr/bin:/bin").output().unwrap();
    assert_eq!(merge.status.code(), Some(1), "{merge:?}");
    assert!(!env.read(&path).contains("<<<<<<<"));
    let said = left(&env);
    assert_eq!(said.len(), 1, "{said:?}");
    assert_snapshot!(env.plain(&format!("{}\n{}", said[0].0, said[0].1)), @"
    `tasks/AOF-xxxxx.md` is unmerged and has nothing of what comes in: git did not run `aof`
    `aof merge-driver --settle` merges it; whoever adds it now takes back what the other side did. See that git finds `aof` in its `PATH`: `aof doctor`
    ");
    let settled = env.aof(&["merge-driver", "--settle"]).success();
    assert!(settled.stderr.contains("`complete` by agent-8 counts no more"), "{settled}");
    assert_eq!(left(&env), []);
    env.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("title: Log in"));
    let _ = verified(&env).success();
}

#[test]
fn the_doctor_says_where_git_would_not_find_aof() {
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
fn what_git_merged_as_text_is_named_with_what_settles_it() {
    let (env, id) = scene();
    env.git(&["config", "--remove-section", "merge.aof"]);
    both_complete(&env, &id);
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    assert_snapshot!(env.plain(&env.aof(&["status"]).success().stdout), @"
    on branch main
    1 active task: 1 ready
    1 came to a gate under earlier rules, and it goes on under those in force

    Needs attention
      ! nothing can be committed: a merge is in progress; end it with `git merge --continue` or `git merge --abort`
        changes wait until that is done; dropped files stay in the inbox
      ! 1 task stands where the rules have changed: AOF-xxxxx
        `aof watch` has them follow; `aof org reload` does it now
      ! `tasks/AOF-xxxxx.md` is unmerged, and nobody has to decide anything
        `aof merge-driver --settle` merges it by meaning and stages it
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
        let said = left(&env);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].0.ends_with("is unmerged, and nobody has to decide anything"), "{said:?}");
        let _ = env.aof(&["merge-driver", "--settle"]).success();
        assert_eq!(left(&env), []);
        assert!(env.task_path(&id).starts_with("tasks/archive/") && env.task_text(&id).contains("title: Ours"));
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
        env.git(&["commit", "-q", "-m", "away"]);
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Ours"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let said = left(&env);
    assert_snapshot!(env.plain(&format!("{}\n{}", said[0].0, said[0].1)), @"
    `tasks/AOF-xxxxx.md`: one side changed it, and the other removed it
    keep it with `git add tasks/AOF-xxxxx.md`, or let it go with `git rm tasks/AOF-xxxxx.md`; a history that goes is found by `aof verify`
    ");
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert_snapshot!(env.plain(&settled.to_string()), @"
    exit 1
    --- stderr
    conflict: tasks/AOF-xxxxx.md: one side changed it, and the other removed it
    keep it with `git add tasks/AOF-xxxxx.md`, or let it go with `git rm tasks/AOF-xxxxx.md`
    ");
    env.git(&["add", &path]);
    assert_eq!(left(&env), []);
    env.git(&["commit", "-q", "--no-edit"]);
    assert!(env.task_text(&id).contains("title: Ours"));
}

#[test]
fn what_somebody_has_begun_to_solve_is_not_written_over() {
    let (env, id) = scene();
    aside(&env, "side", || {
        let _ = env.aof(&["task", "edit", &id, "--title", "Sign in"]).success();
    });
    let _ = env.aof(&["task", "edit", &id, "--title", "Log in"]).success();
    assert_eq!(env.try_git(&["merge", "--no-edit", "side"]).code, Some(1));
    let path = env.task_path(&id);
    assert_eq!(left(&env), [], "its markers are told of as what cannot be read");
    let text = env.read(&path);
    let solved =
        text.replace("<<<<<<< HEAD\ntitle: Log in\n=======\ntitle: Sign in\n>>>>>>> side\n", "title: Come in\n");
    assert_ne!(solved, text);
    env.write(&path, &solved);
    let said = left(&env);
    assert!(said[0].0.ends_with("is unmerged, and somebody has changed it by hand"), "{said:?}");
    let settled = env.aof(&["merge-driver", "--settle"]).code(1);
    assert!(settled.stderr.contains("so it is left as it is"), "{settled}");
    assert_eq!(env.read(&path), solved);
    env.git(&["add", &path]);
    env.git(&["commit", "-q", "--no-edit"]);
    let _ = verified(&env).success();
}
