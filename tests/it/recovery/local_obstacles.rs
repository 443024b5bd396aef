//! Git dropped a step, and one file is in the way of putting it back: only that task waits.

use std::fs;

use crate::support::environment::{Output, PROJECT, TestEnvironment};
use crate::support::merge_scene::{entries, scene, verified};
use crate::support::watcher::drop_file;

const RESET: &str = "reset: moving to HEAD";
const ABORTED: &str = "rebase (abort): returning to refs/heads/main";
const MERGE: &str = "merge side: updating HEAD";

/// A task whose step git dropped, and two others.
struct Scene {
    env: TestEnvironment,
    dropped: String,
    others: [String; 2],
}

impl Scene {
    /// Something is put away with `git stash` first, if asked, which will conflict when it is popped.
    fn new(how: &str, stashed: bool) -> Self {
        let (env, dropped) = scene();
        let _ = env.aof(&["org", "reload"]).success();
        let others = ["Write docs", "Sing"].map(|title| env.new_task(&[title]));
        env.write("code.txt", "one\n");
        env.commit_all("code");
        if stashed {
            env.write("code.txt", "two\n");
            env.git(&["stash", "--quiet"]);
            env.write("code.txt", "three\n");
            env.commit_all("more code");
        }
        let begun = env.head();
        let _ = env.complete(&dropped, "agent-7").success();
        env.git(&["read-tree", "-m", "-u", "HEAD", &begun]);
        env.git(&["update-ref", "-m", how, "refs/heads/main", &begun]);
        Self { env, dropped, others }
    }

    /// Every door works for the other tasks.
    fn others_go_on(&self) {
        let Self { env, others: [first, second], .. } = self;
        let _ = env.complete(first, "agent-7").success();
        let _ = env.new_task(&["Another"]);
        let handed = env.aof(&["task", "next", "--agent", "agent-8"]).success();
        let dropped = env.git(&["show", &format!("HEAD:tasks/{}.md", self.dropped)]);
        assert!(!dropped.contains("agent-8"), "{handed}");
        let _ = env.aof(&["task", "comment", second, "-m", "Look"]).success();
        drop_file(
            env,
            "x.yaml",
            format!("task: {second}\nagent: agent-8\noutcome: complete\nsummary: Sung\n"),
        );
        let _ = env.aof(&["watch", "--once"]);
        for id in [first, second] {
            assert_eq!(entries(env, id).len(), 1, "{id}");
        }
    }

    /// Its task waits at each door, with this way out.
    fn waits(&self, advice: &str) {
        let Self { env, dropped, .. } = self;
        let refused = env.say(dropped, "agent-8", "complete", &[]);
        Self::is_reported(&refused.code(5), advice);
        Self::is_reported(&env.aof(&["task", "comment", dropped, "-m", "Look"]).code(5), advice);
        let text = format!("task: {dropped}\nagent: agent-8\noutcome: complete\nsummary: Mine\n");
        drop_file(env, "late.yaml", text);
        let _ = env.aof(&["watch", "--once"]).code(1);
        assert_eq!(env.files(".aof/inbox").len(), 1, "it is not refused, and waits");
        let status = env.aof_aside(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let output = points.iter().find(|point| point["code"] == "taken_back").expect("it is told");
        assert!(output["fix"].as_str().unwrap().contains(advice), "{output}");
    }

    fn is_reported(refused: &Output, advice: &str) {
        let waits =
            "`AOF-xxxxx` waits: git was overtaken and moved the branch back over 1 step: AOF-xxxxx";
        assert!(refused.stderr.contains(waits), "{refused}");
        assert!(refused.stderr.contains(advice), "{refused}");
    }

    /// Its step is there again, once the way is free.
    fn comes_back(&self) {
        let Self { env, dropped, .. } = self;
        let fixed = env.aof(&["doctor", "--fix"]);
        assert!(fixed.stdout.contains("[taken_back]"), "{fixed}");
        assert_eq!(entries(env, dropped), ["implement agent-7 complete"], "{fixed}");
        // The file that waited was about the visit that had ended all along.
        let _ = env.aof(&["watch", "--once"]).success();
        assert!(env.exists(".aof/refused/late.yaml"));
        assert_eq!(entries(env, dropped), ["implement agent-7 complete"]);
        let _ = env.aof(&["task", "comment", dropped, "-m", "Look"]).success();
        let _ = verified(env).success();
    }
}

#[test]
fn a_conflict_of_a_popped_stash_stops_only_its_task() {
    for how in [RESET, ABORTED, MERGE] {
        let scene = Scene::new(how, true);
        let env = &scene.env;
        let _ = env.try_git(&["stash", "pop"]).code(1);
        scene.others_go_on();
        scene.waits("resolve the merge conflict in `code.txt`, and `git add code.txt`");
        env.write("code.txt", "four\n");
        env.git(&["add", "code.txt"]);
        scene.comes_back();
        assert_eq!(env.git(&["status", "--porcelain", "code.txt"]), "M  code.txt\n");
    }
}

#[test]
fn a_file_that_git_may_not_look_at_stops_only_its_own_task() {
    for mark in ["assume-unchanged", "skip-worktree"] {
        let scene = Scene::new(RESET, false);
        let (env, path) = (&scene.env, scene.env.task_path(&scene.dropped));
        env.git(&["update-index", &format!("--{mark}"), &path]);
        env.edit(&path, "Add login", "Add a login");
        scene.others_go_on();
        scene.waits(&format!("`git update-index --no-{mark} tasks/AOF-xxxxx.md`; then"));
        env.git(&["update-index", &format!("--no-{mark}"), &path]);
        env.git(&["restore", &path]);
        scene.comes_back();
    }
}

#[test]
fn something_else_in_the_place_of_a_file_stops_only_its_own_task() {
    let makes: [fn(&TestEnvironment, &str); 4] = [
        |env, path| fs::create_dir(env.path(path)).unwrap(),
        |env, path| env.write(&format!("{path}/notes.txt"), "mine"),
        |env, path| std::os::unix::fs::symlink("nowhere", env.path(path)).unwrap(),
        |env, path| {
            let _ = env.run({
                let mut command = env.command("mkfifo");
                command.arg(env.path(path));
                command
            });
        },
    ];
    for make in makes {
        let scene = Scene::new(ABORTED, false);
        let (env, path) = (&scene.env, scene.env.task_path(&scene.dropped));
        fs::remove_file(env.path(&path)).unwrap();
        make(env, &path);
        scene.others_go_on();
        let _ = env.aof(&["task", "comment", &scene.dropped, "-m", "Look"]).code(6);
        let standing = env.path(&path);
        let _ = fs::remove_dir_all(&standing).or_else(|_| fs::remove_file(&standing));
        env.git(&["restore", &path]);
        drop_file(
            env,
            "late.yaml",
            format!("task: {}\nagent: agent-8\noutcome: complete\nsummary: x\n", scene.dropped),
        );
        scene.comes_back();
    }
}

#[test]
fn a_missing_file_is_restored_with_the_step_that_git_dropped() {
    for how in [RESET, ABORTED, MERGE] {
        let scene = Scene::new(how, false);
        let (env, path) = (&scene.env, scene.env.task_path(&scene.dropped));
        fs::remove_file(env.path(&path)).unwrap();
        let answer = env.new_task(&["Another"]);
        assert!(!answer.contains("sync"), "{answer}");
        assert_eq!(entries(env, &scene.dropped), ["implement agent-7 complete"]);
        scene.others_go_on();
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(env).success();
    }
}

/// What a person's git begins, and gives up.
#[test]
fn an_abandoned_git_operation_leaves_every_task_free() {
    let ways: [(&[&str], &[&str]); 4] = [
        (&["rebase", "side"], &["rebase", "--abort"]),
        (&["merge", "side"], &["merge", "--abort"]),
        (&["cherry-pick", "side"], &["cherry-pick", "--abort"]),
        (&["revert", "HEAD~1"], &["revert", "--abort"]),
    ];
    for (begin, give_up) in ways {
        let (env, id) = scene();
        let other = env.new_task(&["Write docs"]);
        env.write("code.txt", "one\n");
        env.commit_all("code");
        env.git(&["switch", "--quiet", "--create", "side"]);
        env.write("code.txt", "two\n");
        env.commit_all("theirs");
        env.git(&["switch", "--quiet", "main"]);
        env.write("code.txt", "three\n");
        env.commit_all("ours");
        env.write("code.txt", "four\n");
        env.commit_all("ours again");
        let _ = env.try_git(begin).code(1);
        let waits = env.aof(&["--wait", "0", "task", "comment", &id, "-m", "Look"]);
        assert_ne!(waits.code, Some(0), "{waits}");
        fs::remove_file(env.path(&env.task_path(&other))).unwrap();
        env.git(give_up);
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.new_task(&["Another"]);
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        let _ = verified(&env).success();
    }
}

#[test]
fn steps_dropped_by_a_reset_are_put_back() {
    // Git runs this hook between the new index and the move of the branch, as a command that commits at that moment.
    let (env, id) = scene();
    let other = env.new_task(&["Write docs"]);
    let hook = env.path(".git/hooks/post-index-change");
    let mut complete = env.aof_command(&[
        "task",
        "complete",
        &id,
        "--agent",
        "agent-7",
        "--outcome",
        "complete",
        "--summary",
        "Did it",
    ]);
    complete.env_remove("GIT_DIR");
    let program = complete.get_program().to_string_lossy().into_owned();
    fs::write(
        &hook,
        format!("#!/bin/sh\nrm -f .git/hooks/post-index-change\nunset GIT_DIR GIT_INDEX_FILE\n{program} task complete {id} --agent agent-7 --outcome complete --summary 'Did it' >.git/said 2>&1\n"),
    )
    .unwrap();
    crate::support::environment::executable(&hook);
    env.git(&["reset", "--quiet", "--hard", "HEAD"]);
    let answer = env.read(".git/said");
    assert!(answer.contains("implement → review"), "{answer}");
    assert!(env.git(&["reflog", "-1", "--format=%gs"]).starts_with("reset: moving to HEAD"));
    let _ = env.complete(&other, "agent-7").success();
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();
}

#[test]
fn a_sync_restores_a_task_file_that_was_deleted_by_hand() {
    use crate::support::clones::Clones;
    for finishes in [false, true] {
        let clones = Clones::new(PROJECT, &["b"]);
        let (id, other) = (clones.env.new_task(&["Add login"]), clones.env.new_task(&["Sing"]));
        clones.does(".", &["sync"]);
        clones.does("b", &["sync"]);
        clones.completes("b", &id, "agent-2");
        if finishes {
            clones.does("b", &["task", "cancel", &id, "--reason", "Not now"]);
        }
        clones.completes("b", &other, "agent-2");
        clones.does("b", &["sync"]);
        fs::remove_file(clones.env.path(&format!("tasks/{id}.md"))).unwrap();
        let _ = clones.sync(".").success();
        assert_eq!((clones.head("."), clones.status(".")), (clones.head("b"), String::new()));
        assert_eq!(entries(&clones.env, &id)[0], "implement agent-2 complete");
    }
}
