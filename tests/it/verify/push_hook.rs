//! `aof verify` where there is no worktree: in bare repositories, and in the hook that judges what is pushed to them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::environment::{Output, PROGRAM, TestEnvironment};

/// The hook of docs/guides/ci.md.
fn hook() -> String {
    let page = include_str!("../../../docs/guides/ci.md");
    let start = page.find("#!/bin/sh\n").expect("docs/guides/ci.md shows the hook");
    page[start..].split("```").next().unwrap().to_owned()
}

/// A project, a task that went a step, and a bare repository that judges what is pushed to it.
fn scene() -> (TestEnvironment, String, PathBuf) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let server = server(&env);
    (env, id, server)
}

fn server(env: &TestEnvironment) -> PathBuf {
    let server = env.home().join("server.git");
    env.git(&["init", "-q", "--bare", "--initial-branch=main", &server.to_string_lossy()]);
    env.git(&["remote", "add", "origin", &server.to_string_lossy()]);
    let path = server.join("hooks/pre-receive");
    fs::write(&path, hook().replace("aof verify", &format!("{} verify", *PROGRAM))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    server
}

fn push(env: &TestEnvironment, args: &[&str]) -> Output {
    env.try_git(&[&["push", "-q", "origin"], args].concat())
}

/// Returns what the hook said to whom pushed.
fn heard(output: &Output) -> String {
    let is_id = |word: &str| word.len() == 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let nameless = |line: &str| -> String {
        line.split(' ')
            .map(|word| if is_id(word) { "COMMIT" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    let lines = output.stderr.lines().filter_map(|line| line.strip_prefix("remote: "));
    lines.map(|line| nameless(line.trim_end()) + "\n").collect()
}

/// Makes the newest commit again with another file of the task; its author, date and message stay.
fn amend(env: &TestEnvironment, id: &str, from: &str, to: &str) {
    env.edit(&env.task_path(id), from, to);
    env.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
}

#[test]
fn a_push_is_let_in_or_not_and_hears_why() {
    let (env, id, server) = scene();
    let first = push(&env, &["main"]).success();
    assert_snapshot!(heard(&first), @"
    refs/heads/main
    all is as the rules allow: 3 commits, 2 changes of a task
    ");
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test covers it"]).success();
    let _ = push(&env, &["main"]).success();
    let _ = env.complete(&id, "agent-7").success();
    amend(&env, &id, "No test covers it", "All is well");
    let refused = push(&env, &["main"]).code(1);
    assert_snapshot!(heard(&refused), @r#"
    refs/heads/main
    wrong: AOF-xxxxx: an entry says something else than it did [rewritten]
      commit   COMMIT AOF-xxxxx: implement -> review (complete)
      by       agent-7 <agent-7@aof.invalid>, 2026-02-16T10:00:11Z
      expected entry 2 as it was: blockers: ["No test covers it"]
      found    blockers: ["All is well"]
    1 thing wrong: 1 commit, 1 change of a task
    "#);
    assert!(refused.stderr.contains("pre-receive hook declined"), "{refused}");
    let there = server.to_string_lossy();
    assert_snapshot!(env.aof(&["-C", &there, "verify"]).success().stdout, @"all is as the rules allow: 4 commits, 3 changes of a task");
    assert_snapshot!(env.aof(&["-C", &there, "verify", "--since", "HEAD~1"]).success().stdout, @"all is as the rules allow: 1 commit, 1 change of a task");
    // Nothing that was refused is there, and nothing was written.
    assert!(!server.join(".aof").exists());
}

#[test]
fn a_push_that_git_keeps_in_one_pack_is_seen_too() {
    let (env, id, server) = scene();
    let there = server.to_string_lossy();
    env.git(&["-C", &there, "config", "receive.unpackLimit", "1"]);
    let _ = push(&env, &["main"]).success();
    amend(&env, &id, "current: review", "current: implement");
    let refused = push(&env, &["main:side"]).code(1);
    assert!(heard(&refused).contains("wrong"), "{refused}");
}

#[test]
fn each_reference_is_judged_from_its_old_commit() {
    let (env, id, _) = scene();
    let _ = push(&env, &["main", "HEAD~1:refs/heads/older"]).success();
    // A branch and a tag of what is there already bring nothing.
    env.git(&["tag", "-a", "v1", "-m", "the first"]);
    env.git(&["tag", "of-a-file", "HEAD:project.yaml"]);
    let again = push(&env, &["main:again", "v1", "of-a-file"]).success();
    assert_snapshot!(heard(&again), @"
    refs/heads/again
    all is as the rules allow: 0 commits, 0 changes of a task
    refs/tags/v1
    all is as the rules allow: 0 commits, 0 changes of a task
    ");
    // What is deleted leaves nothing to judge.
    assert_snapshot!(heard(&push(&env, &[":older"]).success()), @"nothing of a project is pushed");
    // Neither a branch nor a tag lets in what the other one would not.
    env.edit(&env.task_path(&id), "current: review", "current: implement");
    env.commit_all("moved");
    env.git(&["tag", "v2"]);
    for refs in [&["main"][..], &["v2"], &["main:refs/elsewhere/x"], &["main:new"], &["main", "v2"]]
    {
        let refused = push(&env, refs).code(1);
        assert!(heard(&refused).contains("[moved_by_hand]"), "{refs:?}: {refused}");
    }
}

#[test]
fn a_branch_that_leaves_commits_behind_is_not_let_in() {
    let (env, _, server) = scene();
    let _ = push(&env, &["main"]).success();
    env.git(&["tag", "judged"]);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let refused = push(&env, &["--force", "main"]).code(1);
    assert_snapshot!(heard(&refused), @"
    refs/heads/main
    wrong: the branch loses commits that it had [forced]
      commit   COMMIT AOF-xxxxx: created at implement
      by       Ada <ada@example.org>, 2026-02-16T10:00:04Z
      expected a branch that goes on from commit COMMIT
      found    one that leaves 1 commit of it behind
    1 thing wrong: 0 commits, 0 changes of a task
    ");
    // So says who judges from where he was the last time.
    let from = env.aof(&["verify", "--since", "judged"]).code(1);
    assert!(from.stdout.contains("[forced]"), "{from}");
    let _ = env.aof(&["verify", "judged..HEAD"]).success();
    let there = server.to_string_lossy();
    let _ = env.aof(&["-C", &there, "verify"]).success();
}

#[test]
fn every_project_of_a_repository_is_judged_in_its_folder() {
    let env = TestEnvironment::without_rules();
    let place = |folder: &str, args: &[&str]| {
        env.aof(&[&["-C", &env.path(folder).to_string_lossy()], args].concat())
    };
    for folder in ["shop", "bank/inner"] {
        env.write(&format!("{folder}/project.yaml"), crate::support::environment::PROJECT);
        env.write(&format!("{folder}/org.yaml"), crate::support::environment::ORG);
        env.commit_all("rules");
        let _ = place(folder, &["task", "new", "Add login"]).success();
    }
    let server = server(&env);
    let pushed = push(&env, &["main"]).success();
    assert_snapshot!(heard(&pushed), @"
    refs/heads/main in bank/inner
    all is as the rules allow: 4 commits, 1 change of a task
    refs/heads/main in shop
    all is as the rules allow: 4 commits, 1 change of a task
    ");
    let there = server.to_string_lossy().into_owned();
    assert_snapshot!(env.aof(&["-C", &there, "verify"]).code(3), @"
    exit 3
    --- stderr
    error: there are several projects in the commit `HEAD`: `bank/inner`, `shop`

    hint: name the one that is meant with `--project FOLDER`
    ");
    let _ = place("shop", &["verify"]).success();
    env.edit(&env.files("shop/tasks")[0], "current: implement", "current: review");
    env.commit_all("moved");
    assert!(heard(&push(&env, &["main"]).code(1)).contains("[moved_by_hand]"));
    let _ = env.aof(&["verify", "--project", "shop"]).code(1);
    let _ = env.aof(&["verify", "--project", "bank/inner"]).success();
    assert_snapshot!(env.aof(&["verify", "--project", "nowhere", "main"]), @"
    exit 3
    --- stderr
    error: there is no project in the folder `nowhere`, and never was

    hint: name its folder as seen from the top of the repository, where its `project.yaml` is
    ");
    let lines = format!(
        "{} {} refs/heads/main\n",
        "0".repeat(40),
        env.git(&["rev-parse", "HEAD~1"]).trim()
    );
    let nowhere = env.aof_reading(
        &["-C", &there, "verify", "--stdin", "--project", "nowhere"],
        lines.as_bytes(),
    );
    assert_eq!(nowhere.code, Some(3), "{nowhere}");
    // A project cannot be moved out of sight of the hook.
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.git(&["mv", "shop", "hidden"]);
    env.commit_all("moved away");
    assert!(heard(&push(&env, &["main"]).code(1)).contains("[removed]"));
    assert!(env.aof(&["verify", "--project", "shop"]).code(1).stdout.contains("[removed]"));
}

#[test]
fn a_push_cannot_supersede_steps_that_were_shared_first() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let server = server(&env);
    let _ = push(&env, &["main"]).success();
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.complete(&id, "agent-8").success();
    let _ = push(&env, &["side"]).success();
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["tag", "shared"]);
    let _ = push(&env, &["main"]).success();
    // Whoever merges main into his branch has his own stand there, and that is no merge of main.
    env.git(&["checkout", "-q", "-b", "other", "side"]);
    env.git(&["merge", "-q", "--no-edit", "-s", "ours", "main"]);
    let _ = push(&env, &["other"]).success();
    let refused = push(&env, &["other:main"]).code(1);
    assert_snapshot!(heard(&refused), @"
    refs/heads/main
    note: AOF-xxxxx: a merge superseded an entry [superseded]
      commit   COMMIT Merge branch 'main' into other
      by       Ada <ada@example.org>, 2026-02-16T10:00:16Z
      expected Aof-Superseded: AOF-xxxxx@0 ULID by agent-7 (complete)
      found    no trailer that says so
    wrong: AOF-xxxxx: what was shared first counts no more [superseded_shared]
      commit   COMMIT Merge branch 'main' into other
      by       Ada <ada@example.org>, 2026-02-16T10:00:16Z
      expected entry 1, complete at implement by agent-7, as commit COMMIT has it
      found    complete at implement by agent-8 in its place
    1 thing wrong: 2 commits, 2 changes of a task
    ");
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--ff-only", "other"]);
    assert!(
        env.aof(&["verify", "--since", "shared"]).code(1).stdout.contains("[superseded_shared]")
    );
    // The other way round it is what main decided, and the branch may follow, also in the same push.
    env.git(&["reset", "-q", "--hard", "shared"]);
    env.git(&["merge", "-q", "--no-edit", "-s", "ours", "side"]);
    let _ = env.aof(&["verify", "--since", "shared"]).success();
    let _ = push(&env, &["main", "main:side"]).success();
    let _ = env.aof(&["-C", &server.to_string_lossy(), "verify"]).success();
}

#[test]
fn nothing_but_tasks_and_rules_is_read() {
    let (env, id, server) = scene();
    env.write("assets/film.bin", "100 MB of it");
    env.commit_all("a film");
    let blob = env.git(&["rev-parse", "HEAD:assets/film.bin"]).trim().to_owned();
    env.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{},lib", "a".repeat(40))]);
    env.git(&["commit", "-q", "-m", "a submodule"]);
    let _ = env.complete(&id, "agent-3").success();
    let _ = push(&env, &["main"]).success();
    for objects in [env.path(".git/objects"), server.join("objects")] {
        fs::remove_file(objects.join(&blob[..2]).join(&blob[2..])).unwrap();
    }
    let _ = env.aof(&["verify"]).success();
    let _ = env.aof(&["-C", &server.to_string_lossy(), "verify"]).success();
}

#[test]
fn a_command_without_a_push_says_so() {
    let (env, _, server) = scene();
    let there = server.to_string_lossy();
    let none = env.aof_reading(&["-C", &there, "verify", "--stdin"], b"");
    assert_snapshot!(none.success().stdout, @"nothing of a project is pushed");
    let bad = env.aof_reading(&["-C", &there, "verify", "--stdin"], b"main\n");
    assert_snapshot!(bad, @"
    exit 4
    --- stderr
    error: `main` does not say what is pushed

    hint: `--stdin` is for what git tells a `pre-receive` hook: `OLD NEW REF`, line by line
    ");
    let absent = format!("{} {} refs/heads/main\n", "0".repeat(40), "a".repeat(40));
    let absent = env.aof_reading(&["-C", &there, "verify", "--stdin"], absent.as_bytes());
    assert_eq!(absent.code, Some(1), "{absent}");
    assert_snapshot!(env.aof(&["-C", &there, "verify"]).code(3), @"
    exit 3
    --- stderr
    error: there is no commit `HEAD`

    hint: name a branch, a tag, or the beginning of a commit's id; `git log --oneline` shows them
    ");
    let _ = push(&env, &["main"]).success();
    let line = format!("{} {} refs/heads/main\n", "0".repeat(40), env.head());
    let json = env
        .aof_reading(&["-C", &there, "verify", "--stdin", "--json"], line.as_bytes())
        .success()
        .json();
    assert_eq!(json["refs"][0]["ref"], "refs/heads/main");
    assert_eq!((&json["ok"], &json["refs"][0]["project"]), (&true.into(), &"".into()));
}
