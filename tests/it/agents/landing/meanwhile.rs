//! Acts of others while work lands: their commits stay, and what came to the work later lands too.

use std::process::Stdio;

use super::project::{beside, is_sound, land, project, with_remote, written, written_beside};
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::scripted_agents::stand;

/// A commit on `main` that no worktree has checked out.
const ELSEWHERE: &str =
    "git update-ref refs/heads/main $(git commit-tree 'main^{tree}' -p main -m 'By hand')";
/// A commit in the worktree where people work.
const HERE: &str =
    "echo mine > mine.txt && git add mine.txt && git commit --quiet --message 'By hand'";

/// Returns a check during which somebody acts where people work, in the first round of a landing.
fn check(env: &TestEnvironment, act: &str) -> String {
    let mark = env.home().join("acted").display().to_string();
    let here = env.path(".").display().to_string();
    format!("test -e '{mark}' || {{ touch '{mark}' && cd '{here}' && {act}; }}")
}

/// Returns whether a commit that was made by hand, and the landing, are on `main`.
fn has_both(env: &TestEnvironment) -> (bool, bool) {
    let log = env.git(&["log", "--format=%s", "main"]);
    (log.contains("By hand"), log.contains(": Add made"))
}

#[test]
fn commits_that_come_to_the_target_stay() {
    // The person's worktree has another branch, or the target.
    for (branch, act) in [("desk", ELSEWHERE), ("main", HERE)] {
        let env = project();
        let id = written(&env, "made.txt", "made\n");
        env.git(&["checkout", "--quiet", "-B", branch]);
        let said = land(&env, &id, &["--check", &check(&env, act)]).success();
        assert!(said.stdout.starts_with("Landed on `main` as "), "{said}");
        assert_eq!(has_both(&env), (true, true), "{branch}");
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{branch}");
        assert_eq!(stand(&env, &id), "complete - -");
        assert!(is_sound(&env), "{branch}");
    }
}

#[test]
fn a_target_that_is_checked_out_meanwhile_gets_the_files() {
    let env = project();
    let id = written(&env, "made.txt", "made\n");
    env.git(&["switch", "--quiet", "--create", "desk"]);
    let _ = land(&env, &id, &["--check", &check(&env, "git switch --quiet main")]).success();
    assert_eq!(
        (env.read("made.txt"), env.git(&["status", "--porcelain"])),
        ("made\n".into(), String::new())
    );
    assert_eq!(
        env.git(&["log", "--merges", "--format=%s", "-1"]),
        format!("Land {id}: Add made\n")
    );
}

#[test]
fn tasks_that_are_made_beside_the_code_stay() {
    let env = beside();
    let id = written_beside(&env, "made.txt");
    let make = check(&env, "aof new Second --agent human-pat");
    let _ = land(&env, &id, &["--onto", "main", "--check", &make]).success();
    assert_eq!(stand(&env, &id), "complete - -");
    assert!(env.aof(&["list"]).stdout.contains("Second") && is_sound(&env));
    assert_eq!(
        (env.read("made.txt"), env.git(&["status", "--porcelain"])),
        ("made\n".into(), String::new())
    );
}

#[test]
fn commits_that_are_not_pushed_hold_a_landing_up() {
    let env = project();
    with_remote(&env);
    let id = written(&env, "made.txt", "made\n");
    env.git(&["switch", "--quiet", "--create", "desk"]);
    let act = format!("git switch --quiet main && {HERE}");
    let refused = land(&env, &id, &["--check", &check(&env, &act)]).code(4);
    assert!(refused.stderr.contains("`main` has 1 commit that origin/main lacks"), "{refused}");
    assert_eq!(has_both(&env), (true, false));
    assert_eq!(
        env.git(&["-C", "../hub.git", "log", "--format=%s", "-1", "main"]),
        "Tasks live on the branch aof\n"
    );
    assert_eq!(
        (stand(&env, &id), env.git(&["status", "--porcelain"])),
        ("ready land -".into(), String::new())
    );
    env.git(&["push", "--quiet"]);
    let _ = land(&env, &id, &["--check", "true"]).success();
    assert_eq!(has_both(&env), (true, true));
    assert_eq!(env.git(&["rev-parse", "main"]), env.git(&["rev-parse", "origin/main"]));
}

#[test]
fn a_rebase_never_rewrites_the_target() {
    let env = project();
    let id = env.new_task(&["Add made"]);
    let _ = env.aof(&["workspace", "path", &id]).success();
    let folder = format!(".aof/work/{id}");
    let edit = |at: &str, text: &str| {
        env.write(&format!("{at}/code.txt"), text);
        env.git(&["-C", at, "commit", "--quiet", "--all", "--message", text]);
    };
    edit(&folder, "ONE\ntwo\nthree\n");
    edit(&folder, "ONE\ntwo\nTHREE\n");
    let _ = env.complete(&id, "coder").success();
    // The target has both by copies, and goes on from there.
    env.write("other.txt", "other\n");
    env.commit_all("other");
    env.git(&["cherry-pick", &format!("aof-work/{id}~1"), &format!("aof-work/{id}")]);
    edit(".", "uno\ntwo\nTHREE\n");
    env.git(&["switch", "--quiet", "--create", "desk"]);
    let before = env.git(&["rev-parse", "main"]);
    let said = land(&env, &id, &["--rebase"]).success();
    assert!(said.stdout.starts_with("`main` has all of the work"), "{said}");
    assert_eq!(env.git(&["rev-parse", "main"]), before);
    assert_eq!(stand(&env, &id), "complete - -");
}

#[test]
#[cfg(debug_assertions)]
fn work_that_comes_after_a_killed_landing_lands_too() {
    for style in ["--merge", "--squash", "--rebase"] {
        let env = project();
        let id = written(&env, "made.txt", "made\n");
        let folder = format!(".aof/work/{id}");
        env.write(&format!("{folder}/two.txt"), "two\n");
        env.git(&["-C", &folder, "add", "--all"]);
        env.git(&["-C", &folder, "commit", "--quiet", "--message", "two"]);
        let kill = || {
            let mut killed = env.aof_command(&["land", &id, "--agent", "lander", style]);
            killed.env("AOF_STOP_AT", "land.moved");
            assert!(env.run(killed).code.is_none());
        };
        kill();
        env.write(&format!("{folder}/late.txt"), "late\n");
        env.git(&["-C", &folder, "add", "--all"]);
        env.git(&["-C", &folder, "commit", "--quiet", "--message", "late"]);
        kill();
        let landed = env.git(&["rev-parse", "main"]);
        // The work has landed, whatever becomes of it there.
        for file in ["made.txt", "late.txt"] {
            env.write(file, "changed\n");
        }
        env.commit_all("changed");
        let said = land(&env, &id, &[style]).success();
        assert!(
            said.stdout.starts_with(&format!("Landed on `main` as {}", &landed[..7])),
            "{said}"
        );
        let files = env.git(&["ls-tree", "--name-only", landed.trim()]);
        assert!(files.contains("late.txt") && files.contains("two.txt"), "{style}: {files}");
        assert!(is_sound(&env), "{style}");
    }
}

#[test]
fn work_that_comes_while_another_landing_goes_first_lands_too() {
    let env = project();
    let ids = [written(&env, "made.txt", "made\n"), written(&env, "two.txt", "two\n")];
    let there = env.path(&format!(".aof/work/{}", ids[1])).display().to_string();
    let wait = format!(
        "while test $(ls \"$AOF_PROJECT\"/../work/*.queue | wc -l) -lt 2; do sleep 0.02; done
        test -e '{there}/late.txt' || {{ cd '{there}' && echo late > late.txt && git add . && git commit -qm late; }}"
    );
    let start = |id: &str, check: &str| {
        let mut command = env.aof_command(&["land", id, "--agent", "lander", "--check", check]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let first = start(&ids[0], &wait);
    let is_first = || env.aof(&["workspace", "list"]).stdout.contains(" lands on main");
    eventually("the first one lands", is_first);
    let second = start(&ids[1], "true");
    let _ = env.finish("aof land", first).success();
    let _ = env.finish("aof land", second).success();
    assert!(env.exists("two.txt") && env.exists("late.txt"));
}

#[test]
fn a_lock_that_was_removed_while_a_landing_waits_is_made_again() {
    let env = project();
    let id = written(&env, "made.txt", "made\n");
    let place = format!(".aof/work/landing.{id}.lock");
    env.write(&place, "");
    let held = std::fs::File::open(env.path(&place)).unwrap();
    held.lock().unwrap();
    let check = format!("test -e \"$AOF_PROJECT\"/../work/landing.{id}.lock");
    let landing = env.start(&["land", &id, "--agent", "lander", "--check", &check]);
    let is_waiting = || env.aof(&["workspace", "list"]).stdout.contains(" lands on main");
    eventually("the landing waits", is_waiting);
    std::thread::sleep(std::time::Duration::from_millis(300));
    std::fs::remove_file(env.path(&place)).unwrap();
    drop(held);
    let _ = env.finish("aof land", landing).success();
}

#[test]
fn code_may_have_a_folder_of_the_name_tasks() {
    let env = project();
    let id = written(&env, "tasks/build.py", "made\n");
    let _ = land(&env, &id, &[]).success();
    assert_eq!(
        (env.read("tasks/build.py"), stand(&env, &id)),
        ("made\n".into(), "complete - -".into())
    );
}
