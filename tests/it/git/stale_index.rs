//! A person's `git commit` or `git merge` that a command overtook: git had read its index before, and wrote it back behind.

use std::fs;

use crate::support::environment::LAYOUTS;
use crate::support::environment::{Output, TestEnvironment, eventually};
use crate::support::merge_scene::{aside, entries, verified};
use crate::support::watcher::{Watcher, log};

/// A project with git's hook, where nothing is left to do.
fn scene() -> (TestEnvironment, String) {
    let (env, id) = crate::support::merge_scene::scene();
    let _ = env.aof(&["org", "reload"]).success();
    (env, id)
}

/// Has git's index be again what it was before that, as a git that had read it writes it.
fn overtaken(env: &TestEnvironment, act: impl FnOnce()) {
    let index = env.path(".git/index");
    let read = fs::read(&index).unwrap();
    act();
    let lock = env.path(".git/index.lock");
    fs::write(&lock, read).unwrap();
    fs::rename(lock, index).unwrap();
}

fn complete(env: &TestEnvironment, id: &str) {
    overtaken(env, || drop(env.complete(id, "agent-7")));
}

fn cancel(env: &TestEnvironment, id: &str) {
    overtaken(env, || drop(env.aof(&["task", "cancel", id, "--reason", "Not now"]).success()));
}

fn staged(env: &TestEnvironment) -> String {
    env.git(&["diff", "--cached", "--name-status", "--no-renames"])
}

/// What a person has staged, which is to stay as it is.
fn own(env: &TestEnvironment) -> String {
    let path = env.task_path(&env.new_task(&["Write docs"]));
    env.edit(&path, "Write docs", "Write the docs");
    env.write("code.txt", "staged\n");
    env.git(&["add", &path, "code.txt"]);
    format!("A\tcode.txt\nM\t{path}\n")
}

#[test]
fn the_watcher_restores_committed_entries_of_the_index_and_keeps_staged_ones() {
    let (env, id) = scene();
    env.write(
        "project.yaml",
        format!("{}watch: {{commitEdits: false}}\n", env.read("project.yaml")),
    );
    env.write(&format!("tasks/{id}.plan.md"), "The plan\n");
    env.commit_all("own");
    let own = own(&env);
    let _watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    complete(&env, &id);
    eventually("the index has what is committed", || staged(&env) == own);
    let output = format!(
        "git's index had an earlier version of tasks/{id}.md, left by a git command that raced with another one"
    );
    eventually("it is told", || log(&env).contains(&output));
    // A finished task is at another place, with what is beside it.
    cancel(&env, &id);
    eventually("the index has what is committed", || staged(&env) == own);
    eventually("no record is left", || !env.is_in_the_middle());
}

#[test]
fn a_sweep_repairs_every_layout_of_the_index() {
    for layout in [&["update-index", "--no-split-index"][..]].into_iter().chain(LAYOUTS) {
        let (env, id) = scene();
        env.git(layout);
        env.write("code.txt", "staged\n");
        env.git(&["add", "code.txt"]);
        complete(&env, &id);
        assert_eq!(staged(&env), format!("A\tcode.txt\nM\ttasks/{id}.md\n"));
        // Somebody who has git's index is not waited for.
        fs::write(env.path(".git/index.lock"), "").unwrap();
        let _ = env.aof(&["watch", "--once", "--json"]);
        assert!(staged(&env).contains(&format!("tasks/{id}.md")));
        fs::remove_file(env.path(".git/index.lock")).unwrap();
        let output = env.aof(&["watch", "--once", "--json"]).success().stdout;
        let event = "\"event\":\"index_caught_up\",\"files\":[\"tasks/AOF-xxxxx.md\"]";
        assert!(output.contains(event), "{output}");
        assert_eq!(staged(&env), "A\tcode.txt\n");
        let again = env.aof(&["watch", "--once", "--json"]).success().stdout;
        assert!(!again.contains("index_caught_up"), "{again}");
    }
}

#[test]
fn staged_reversals_are_reported_by_status_and_repaired_by_the_doctor() {
    let (env, id) = scene();
    env.write(&format!("tasks/{id}.plan.md"), "The plan\n");
    env.commit_all("own");
    let codes = |env: &TestEnvironment| -> Vec<String> {
        let status = env.aof_aside(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap().iter();
        points
            .map(|point| point["code"].as_str().unwrap().to_owned())
            .filter(|code| code != "no_watcher")
            .collect()
    };
    assert!(codes(&env).is_empty());
    complete(&env, &id);
    assert_eq!(codes(&env), ["index_behind"]);
    let output = env.aof_aside(&["status"]).success().stdout;
    assert!(
        output.contains("git's index has an earlier version of 1 task file: tasks/AOF-xxxxx.md"),
        "{output}"
    );
    assert!(
        output.contains("`git restore --staged tasks/AOF-xxxxx.md`; `aof doctor --fix` does it"),
        "{output}"
    );
    assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[index_behind]"));
    assert_eq!((codes(&env), staged(&env)), (Vec::new(), String::new()));
    // All that went into the archive, and what is there now.
    cancel(&env, &id);
    assert_eq!(staged(&env).lines().count(), 4);
    assert_eq!(codes(&env), ["index_behind"]);
    assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[index_behind]"));
    assert_eq!((codes(&env), staged(&env)), (Vec::new(), String::new()));
    assert!(!env.is_in_the_middle());
    let _ = env.aof_aside(&["verify"]).success();
}

fn commit(env: &TestEnvironment, more: &[&str]) -> Output {
    env.try_git(&[&["commit", "--quiet", "--message", "own"], more].concat())
}

/// Expects that the hook stops a commit, and that what it tells helps.
fn is_stopped(env: &TestEnvironment, id: &str) {
    let head = env.head();
    let refused = commit(env, &[]);
    assert_ne!(refused.code, Some(0), "{refused}");
    let output = refused.stderr.replace("AOF-xxxxx", id);
    assert!(output.contains("not committed: this would "), "{refused}");
    assert_eq!(env.head(), head);
    let command = output
        .split('`')
        .find(|part| part.starts_with("git restore --staged "))
        .expect("a command");
    env.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    let _ = commit(env, &[]).success();
}

#[test]
fn a_commit_that_would_take_a_completion_back_is_stopped_and_made_again() {
    let (env, id) = scene();
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    complete(&env, &id);
    // What is committed alone, or as it stands, takes nothing back.
    env.write("other.txt", "mine\n");
    env.git(&["add", "other.txt"]);
    let _ = commit(&env, &["--", "other.txt"]).success();
    is_stopped(&env, &id);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    env.write("code.txt", "again\n");
    env.git(&["add", "code.txt"]);
    cancel(&env, &id);
    is_stopped(&env, &id);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    assert_eq!(entries(&env, &id).len(), 2);
    let _ = verified(&env).success();
}

#[test]
fn a_merge_that_would_take_a_completion_back_is_stopped_and_made_again() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    aside(&env, "side", || {
        env.write("code.txt", "side\n");
        env.commit_all("side");
    });
    let earlier = env.git(&["rev-parse", &format!("HEAD:{path}")]);
    let _ = env.complete(&id, "agent-7");
    env.git(&["merge", "--quiet", "--no-ff", "--no-commit", "side"]);
    env.git(&["update-index", "--cacheinfo", &format!("100644,{},{path}", earlier.trim())]);
    is_stopped(&env, &id);
    assert_eq!(env.git(&["log", "-1", "--format=%P"]).split(' ').count(), 2);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();
}

#[test]
fn in_a_subfolder_it_is_stopped_as_well() {
    let (mut env, _) = scene();
    env.git(&["config", "commit.gpgSign", "false"]);
    fs::create_dir_all(env.path("apps/web")).unwrap();
    env.enter("apps/web");
    let _ = env.aof(&["init", "--template", "sdlc"]).success();
    let id = env.new_task(&["Add login"]);
    let top = env.path("../../.git/index");
    let read = fs::read(&top).unwrap();
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    fs::write(&top, read).unwrap();
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    let refused = commit(&env, &[]);
    assert!(
        refused.stderr.contains("`git restore --staged apps/web/tasks/AOF-xxxxx.md "),
        "{refused}"
    );
    let output = env.aof(&["doctor", "--fix"]).stdout;
    assert!(output.contains("[index_behind]"), "{output}");
    let _ = commit(&env, &[]).success();
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "apps/web/code.txt\n");
}

#[test]
fn a_commit_that_would_take_a_claim_a_new_task_or_an_archived_one_back_is_stopped() {
    let (env, id) = scene();
    let own = || {
        env.write("code.txt", env.head());
        env.git(&["add", "code.txt"]);
    };
    own();
    overtaken(&env, || drop(env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success()));
    is_stopped(&env, &id);
    own();
    let mut new = String::new();
    overtaken(&env, || new = env.new_task(&["Write docs"]));
    is_stopped(&env, &new);
    // The index has the finished task at its old path too.
    own();
    let path = format!("tasks/{id}.md");
    let active = env.git(&["rev-parse", &format!("HEAD:{path}")]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    let entry = format!("100644,{},{path}", active.trim());
    env.git(&["update-index", "--add", "--cacheinfo", &entry]);
    is_stopped(&env, &id);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    let _ = verified(&env).success();
}

#[test]
fn a_commit_of_all_files_does_not_take_a_claim_back_that_the_worktree_lacks() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    let unclaimed = env.read(&path);
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
    env.write(&path, format!("{unclaimed}A note.\n"));
    let refused = commit(&env, &["--all"]).code(1);
    assert!(refused.stderr.contains("`git commit -a`, run `aof watch --once`"), "{refused}");
    let _ = env.aof(&["watch", "--once"]).success();
    let _ = commit(&env, &["--all", "--allow-empty"]).success();
    let text = env.git(&["show", &format!("HEAD:{path}")]);
    assert!(text.contains("agent: agent-7") && text.contains("A note."), "{text}");
    let _ = verified(&env).success();
}

#[cfg(debug_assertions)]
#[test]
fn a_branch_that_is_created_while_a_completion_is_written_gets_it_whole() {
    let (env, id) = scene();
    let pipe = env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = env.aof_command(&["task", "complete", &id, "--agent", "agent-7"]);
    command.args(["--outcome", "complete", "--summary", "Done"]);
    command.env("AOF_WAIT_AT", format!("git.index-written:{}", pipe.display()));
    let piped = std::process::Stdio::piped;
    let child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    eventually("it holds the index", || pipe.with_extension("reached").exists());
    // Git needs no lock of the index for this.
    env.git(&["switch", "--quiet", "--create", "side"]);
    let opened = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let _ = env.finish("task complete", child).success();
    drop(opened);
    assert_eq!(env.git(&["log", "-1", "--format=%S", "--source", "side"]), "side\n");
    assert_eq!(env.git(&["rev-parse", "main"]), env.git(&["rev-parse", "side~1"]));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

#[test]
fn a_step_that_came_while_git_created_a_branch_is_not_committed_there() {
    for (was_logged_first, goes_on) in [(true, false), (false, false), (true, true), (false, true)]
    {
        let (env, id) = scene();
        let begun = env.head();
        let _ = env.complete(&id, "agent-7").success();
        let new = env.new_task(&["Write docs"]);
        let from = if was_logged_first { &begun } else { &env.head() };
        // Git had read HEAD before, and leaves the index and the worktree as they are.
        env.git(&["update-ref", "refs/heads/side", &begun]);
        env.write(".git/HEAD", "ref: refs/heads/side\n");
        let (from, begun) = (from.trim(), begun.trim());
        let line = format!(
            "{from} {begun} Ada <ada@example.org> 0 +0000\tcheckout: moving from main to side\n"
        );
        env.write(".git/logs/HEAD", env.read(".git/logs/HEAD") + &line);
        if goes_on {
            let _ = env.new_task(&["Write more"]);
        }
        env.write("code.txt", "mine\n");
        env.git(&["add", "code.txt"]);
        let refused = commit(&env, &[]).code(1);
        assert!(refused.stderr.contains("that aof did not make on this branch"), "{refused}");
        env.git(&["restore", "--staged", &format!("tasks/{id}.md")]);
        let refused = commit(&env, &[]).code(1);
        assert!(refused.stderr.contains("that aof did not make on this branch"), "{refused}");
        env.git(&["restore", "--staged", &format!("tasks/{new}.md")]);
        let _ = commit(&env, &[]).success();
        assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    }
}

#[test]
fn a_claim_that_git_dropped_is_not_committed_by_a_person() {
    let (env, id) = scene();
    let begun = env.head();
    let _ = env.aof(&["task", "claim", &id, "--agent", "agent-7"]).success();
    env.git(&["update-ref", "-m", "reset: moving to HEAD", "refs/heads/main", &begun]);
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    let refused = commit(&env, &["--all"]).code(1);
    assert!(refused.stderr.contains("that aof did not make on this branch"), "{refused}");
    let _ = env.aof(&["watch", "--once"]).success();
    let _ = commit(&env, &["--all"]).success();
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    let _ = verified(&env).success();
}

#[test]
fn a_person_s_changes_to_task_files_go_through() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    // An edit, the same amended, and back to what it was.
    let edited = |from: &str, to: &str| {
        env.edit(&path, from, to);
        env.git(&["add", &path]);
    };
    edited("Add login", "Add a login");
    let _ = commit(&env, &[]).success();
    edited("Add a login", "Add the login");
    let _ = commit(&env, &["--amend"]).success();
    edited("Add the login", "Add login");
    let _ = commit(&env, &[]).success();
    let _ = env.try_git(&["revert", "--no-edit", "HEAD"]).success();
    env.git(&["reset", "--quiet", "--soft", "HEAD~1"]);
    let _ = commit(&env, &[]).success();
    env.git(&["checkout", "--quiet", "HEAD~1", "--", &path]);
    let _ = commit(&env, &[]).success();
    fs::create_dir(env.path("tasks/sub")).unwrap();
    let there = format!("tasks/sub/{id}.md");
    env.git(&["mv", &path, &there]);
    let _ = commit(&env, &[]).success();
    fs::copy(env.path(&there), env.path(&path)).unwrap();
    env.git(&["add", &path]);
    env.git(&["rm", "--quiet", "--cached", &there]);
    let _ = commit(&env, &[]).success();
    fs::remove_file(env.path(&there)).unwrap();
    env.git(&["rm", "--quiet", &path]);
    let refused = commit(&env, &[]).code(1);
    assert!(refused.stderr.contains("which aof keeps with its history"), "{refused}");
    let _ = commit(&env, &["--no-verify"]).success();
}

#[test]
fn a_task_that_came_while_git_read_its_index_is_named_and_stays_in_git() {
    let (env, _) = scene();
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    let mut id = String::new();
    overtaken(&env, || id = env.new_task(&["Write docs"]));
    let path = format!("tasks/{id}.md");
    let index = staged(&env);
    assert_eq!(index, format!("A\tcode.txt\nD\t{path}\n"));
    let output = env.aof_aside(&["status"]).success().stdout;
    assert!(
        output.contains(&format!(
            "git's index does not have a task whose file exists: {}",
            env.plain(&path)
        )),
        "{output}"
    );
    assert!(output.contains(&format!("`git restore --staged {}`", env.plain(&path))), "{output}");
    assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[task_taken_out]"));
    let _ = env.aof(&["watch", "--once"]);
    assert_eq!(staged(&env), index);
}

#[test]
fn an_edit_after_a_commit_does_not_claim_leftovers_of_git() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    complete(&env, &id);
    env.edit(&path, "Add login", "Add a login");
    let output = env.aof_aside(&["status"]).success().stdout;
    assert!(output.contains("git's index has an earlier version of 1 task file"), "{output}");
    is_stopped(&env, &id);
    assert_eq!(env.git(&["show", "--format=", "--name-only"]), "code.txt\n");
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("title: Add a login"));
    assert_eq!(env.git(&["diff", "--name-only"]), format!("{path}\n"));
    let _ = verified(&env).success();
    // What is staged as it stands, somebody is at: as after `git checkout REV -- FILE`.
    env.git(&["checkout", "--quiet", "HEAD~2", "--", &path]);
    assert_eq!(staged(&env), format!("M\t{path}\n"));
    assert!(
        !env.aof_aside(&["status"]).success().stdout.contains("git's index has an earlier version")
    );
}

#[test]
fn an_older_version_that_a_person_staged_stays_staged() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    env.write("tasks/README.md", "One\n");
    env.commit_all("own");
    env.write("tasks/README.md", "Two\n");
    env.write("code.txt", "mine\n");
    env.edit(&path, "Add login", "Add a login");
    env.commit_all("mine");
    // What is taken out of the last commit stays in the worktree.
    let out = || env.git(&["reset", "--quiet", "HEAD^", "--", "tasks/README.md", &path]);
    out();
    let own = format!("M\ttasks/{id}.md\nM\ttasks/README.md\n").replace(&id, "AOF-xxxxx");
    assert_eq!(staged(&env).replace(&id, "AOF-xxxxx"), own);
    let index = env.git(&["ls-files", "--stage"]);
    let output = env.aof(&["watch", "--once", "--json"]).success().stdout;
    assert!(!output.contains("index_caught_up"), "{output}");
    assert!(
        !env.aof_aside(&["status"]).success().stdout.contains("git's index has an earlier version")
    );
    assert!(!env.aof(&["doctor", "--fix"]).stdout.contains("[index_behind]"));
    let refused = env.aof(&["task", "comment", &id, "-m", "Look"]).code(5);
    assert!(refused.stderr.contains("staged"), "{refused}");
    assert_eq!(env.git(&["ls-files", "--stage"]), index);
    let _ = commit(&env, &["--amend"]).success();
    assert!(env.git(&["show", &format!("HEAD:{path}")]).contains("title: Add login"));
    assert_eq!(env.git(&["show", "HEAD:tasks/README.md"]), "One\n");
    assert!(env.read(&path).contains("title: Add a login"));
}

#[test]
fn changes_that_a_sync_brought_are_not_taken_back() {
    let (env, id) = scene();
    let path = format!("tasks/{id}.md");
    let remote = env.path("../remote.git");
    let remote = remote.to_str().unwrap();
    env.git(&["clone", "--quiet", "--bare", ".", remote]);
    env.git(&["remote", "add", "origin", remote]);
    env.git(&["fetch", "--quiet"]);
    env.git(&["branch", "--quiet", "--set-upstream-to", "origin/main"]);
    // A colleague commits an edit themselves.
    aside(&env, "side", || {
        env.edit(&path, "Add login", "Add a login");
        env.commit_all("theirs");
        env.git(&["push", "--quiet", "origin", "side:main"]);
    });
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    overtaken(&env, || drop(env.aof(&["sync"]).success()));
    assert_eq!(staged(&env), format!("A\tcode.txt\nM\t{path}\n"));
    assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[index_behind]"));
    assert_eq!(staged(&env), "A\tcode.txt\n");
}

#[test]
fn an_edit_beside_a_task_that_was_committed_meanwhile_is_not_taken_back() {
    let (env, id) = scene();
    let plan = format!("tasks/{id}.plan.md");
    env.write(&plan, "The plan\n");
    env.commit_all("own");
    env.write(&plan, "Another plan\n");
    env.write("code.txt", "mine\n");
    env.git(&["add", "code.txt"]);
    cancel(&env, &id);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(staged(&env), "A\tcode.txt\n");
}
