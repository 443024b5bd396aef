//! Task files that a person renamed, moved, copied, deleted, or sorted into the archive: the name of the file is the task, wherever it
//! stands, and what is told of it is true and can be done.

use std::fs;

use crate::support::environment::TestEnvironment;
use crate::support::merge_scene::verified;

/// A task with one entry.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

fn run(env: &TestEnvironment, command: &str) {
    let mut shell = env.command("sh");
    shell.args(["-c", command]).current_dir(env.path("."));
    let _ = env.run(shell).success();
}

/// Everything that is told of the task at that path.
fn reports(env: &TestEnvironment, id: &str) -> [String; 3] {
    [
        env.aof(&["status"]).success().stdout,
        env.aof(&["doctor"]).stdout,
        env.say(id, "agent-3", "complete", &[]).code(6).stderr,
    ]
}

#[test]
fn a_renamed_task_file_is_to_be_renamed_back() {
    for (is_known, is_committed) in [(false, false), (true, false), (true, true)] {
        let (env, id) = scene();
        let (here, there) = (format!("tasks/{id}.md"), "tasks/AOF-renamed.md");
        if is_known {
            env.git(&["mv", &here, there]);
        } else {
            fs::rename(env.path(&here), env.path(there)).unwrap();
        }
        if is_committed {
            env.git(&["commit", "--no-verify", "-qm", "renamed"]);
        }
        let command = format!("{} {there} {here}", if is_known { "git mv" } else { "mv" });
        for text in reports(&env, "AOF-renamed") {
            assert!(text.contains("if it was renamed, rename it back"), "{text}");
        }
        run(&env, &command);
        if is_committed {
            // What a commit took away is told by `aof verify`; the task goes on with what it had.
            let status = env.aof(&["status"]).success().stdout;
            assert!(
                status
                    .contains(&env.plain(&format!("commit that it is back with `git add {here}"))),
                "{status}"
            );
            env.commit_all("back");
        } else {
            assert_eq!(env.git(&["status", "--porcelain"]), "");
            let _ = verified(&env).success();
        }
        let _ = env.say(&id, "agent-3", "complete", &[]).success();
    }
}

#[test]
fn another_id_in_a_renamed_file_asks_to_rename_it_back() {
    let (env, id) = scene();
    env.git(&["mv", &format!("tasks/{id}.md"), "tasks/AOF-renamed.md"]);
    env.git(&["commit", "--no-verify", "-qm", "renamed"]);
    env.edit("tasks/AOF-renamed.md", &format!("id: {id}"), "id: AOF-renamed");
    let refused = env.say("AOF-renamed", "agent-3", "complete", &[]).code(5);
    let back = "if it is another task's file, renamed, rename it back";
    assert!(refused.stderr.contains(back), "{refused}");
    assert!(env.aof(&["status"]).success().stdout.contains(back));
}

#[test]
fn a_copy_must_not_be_committed_with_the_engines_fields() {
    let (env, id) = scene();
    let text = env.task_text(&id);
    // As it is.
    env.write("tasks/AOF-copy1.md", &text);
    for output in reports(&env, "AOF-copy1") {
        assert!(
            output.contains("if it is a copy, remove it") && !output.contains("commit it"),
            "{output}"
        );
    }
    // With an id of its own, and a history that is not.
    env.write("tasks/AOF-copy1.md", text.replace(&id, "AOF-copy1"));
    for output in [
        env.say("AOF-copy1", "agent-3", "complete", &[]).code(5).stderr,
        env.aof(&["status"]).success().stdout,
        env.aof(&["watch", "--once"]).to_string(),
    ] {
        assert!(
            output.contains("to have it begin again") && !output.contains("commit it"),
            "{output}"
        );
    }
    // What is told can be done.
    let plain: String = text
        .lines()
        .filter(|line| line.starts_with("---") || line.starts_with("title:"))
        .map(|line| format!("{line}\n"))
        .collect();
    env.write("tasks/AOF-copy1.md", plain);
    let _ = env.aof(&["watch", "--once"]).success();
    let _ = env.complete("AOF-copy1", "agent-7").success();
    let _ = verified(&env).success();
    // Once somebody committed it.
    env.write("tasks/AOF-copy2.md", &text);
    env.commit_all("copy");
    assert!(env.aof(&["status"]).success().stdout.contains("if it is a copy, remove it"));
    env.git(&["rm", "-q", "tasks/AOF-copy2.md"]);
    env.git(&["commit", "-qm", "no copy"]);
    let _ = env.aof(&["verify"]).success();
}

const DAY: &str = "tasks/archive/2026/02/16";

/// Moves the file there, and commits that if it is to be.
fn put(env: &TestEnvironment, from: &str, to: &str, is_committed: bool) {
    fs::create_dir_all(env.path(to).parent().unwrap()).unwrap();
    fs::rename(env.path(from), env.path(to)).unwrap();
    if is_committed {
        env.commit_all("sorted");
    }
}

fn is_home(env: &TestEnvironment, id: &str) {
    assert_eq!(env.files("tasks"), [format!("tasks/{id}.md")]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(env).success();
}

#[test]
fn an_active_task_in_the_archive_is_reported_and_comes_back() {
    for folder in ["tasks/archive", "tasks/archive/2026-Q1", DAY, "tasks/archive/2026/02/16/later"]
    {
        for command in [&["watch", "--once"][..], &["doctor", "--fix"]] {
            let env = TestEnvironment::new();
            let id = env.new_task(&["Add login"]);
            let text = env.task_text(&id);
            put(&env, &format!("tasks/{id}.md"), &format!("{folder}/{id}.md"), true);
            let case = format!("{folder}, {command:?}");
            let output = env.aof(&["status"]).success().stdout;
            let place = "1 task has its file where its status does not belong: AOF-xxxxx";
            assert!(output.contains(place) && !output.contains("is gone"), "{case}\n{output}");
            assert!(env.aof(&["doctor"]).stdout.contains(place), "{case}");
            let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
            assert_eq!(shown["status"], "ready", "{case}");
            let _ = env.aof(command);
            is_home(&env, &id);
            assert_eq!(env.task_text(&id), text, "{case}: no other byte changes");
            let head = env.head();
            let _ = env.aof(&["watch", "--once"]).success();
            assert_eq!(env.head(), head, "{case}");
            assert!(!env.aof(&["status"]).success().stdout.contains("does not belong"), "{case}");
        }
    }
}

#[test]
fn an_act_on_an_active_task_in_the_archive_brings_it_back() {
    for is_committed in [true, false] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        put(&env, &format!("tasks/{id}.md"), &format!("tasks/archive/{id}.md"), is_committed);
        let _ = env.complete(&id, "agent-7").success();
        is_home(&env, &id);
        put(&env, &format!("tasks/{id}.md"), &format!("tasks/archive/{id}.md"), is_committed);
        env.write(
            ".aof/inbox/c.yaml",
            format!("task: {id}\nagent: agent-3\noutcome: complete\nsummary: x\n"),
        );
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(env.files("tasks").len(), 1);
        assert!(
            env.task_path(&id).starts_with("tasks/archive/")
                && env.task_text(&id).contains("status: complete")
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(&env).success();
    }
}

#[test]
fn a_finished_task_stays_in_the_folder_a_person_chose() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    let sorted = format!("tasks/archive/2026-Q1/{id}.md");
    put(&env, &format!("{DAY}/{id}.md"), &sorted, true);
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(!env.aof(&["status"]).success().stdout.contains("AOF-xxxxx"));
    let _ = env.aof(&["doctor"]).success();
    assert_eq!(env.aof(&["task", "show", &id, "--json"]).success().json()["status"], "cancelled");
    assert!(env.aof(&["task", "history", &id]).success().stdout.contains("Not now"));
    let _ = env.aof(&["task", "comment", &id, "-m", "Mind the tokens"]).success();
    assert_eq!(env.task_path(&id), sorted);
    let _ = env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", "Now"]).success();
    is_home(&env, &id);
}

#[test]
fn of_two_files_that_people_sorted_nobody_says_which_counts() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    put(&env, &format!("{DAY}/{id}.md"), &format!("tasks/archive/one/{id}.md"), false);
    fs::create_dir_all(env.path("tasks/archive/two")).unwrap();
    fs::copy(
        env.path(&format!("tasks/archive/one/{id}.md")),
        env.path(&format!("tasks/archive/two/{id}.md")),
    )
    .unwrap();
    env.commit_all("sorted twice");
    let shown = env.aof(&["task", "show", &id]);
    assert!(
        shown.stderr.contains("tasks/archive/one") && shown.stderr.contains("tasks/archive/two"),
        "{shown}"
    );
    // What stands by day counts, as it always did.
    put(&env, &format!("tasks/archive/two/{id}.md"), &format!("{DAY}/{id}.md"), true);
    assert_eq!(
        env.aof(&["task", "show", &id, "--json"]).success().json()["path"],
        env.plain(&format!("{DAY}/{id}.md"))
    );
}

#[test]
fn a_file_that_was_deleted_is_missed_and_can_be_brought_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    std::fs::remove_file(env.path(&path)).unwrap();

    let output = env.say(&id, "agent-7", "complete", &[]).code(3);
    assert!(output.stderr.contains("is gone"), "{output}");
    let status = env.aof(&["--json", "status"]).success().json();
    let point = &status["attention"][0];
    assert_eq!(point["code"], "task_missing", "{status}");

    // The command that is named does what it says.
    let fix = point["fix"].as_str().unwrap();
    let command =
        fix.split('`').nth(1).unwrap().strip_prefix("git ").unwrap().replace("AOF-xxxxx", &id);
    env.git(&command.split(' ').collect::<Vec<_>>());
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn a_file_that_was_moved_is_not_missed() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    std::fs::create_dir(env.path("tasks/sprint")).unwrap();
    std::fs::rename(env.path(&path), env.path("tasks/sprint").join(format!("{id}.md"))).unwrap();
    let status = env.aof(&["--json", "status"]).success().json();
    assert!(!status.to_string().contains("task_missing"), "{status}");
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn a_copy_in_another_folder_is_not_taken_for_a_move() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    std::fs::create_dir(env.path("tasks/sprint")).unwrap();
    env.git(&["mv", &env.task_path(&id), "tasks/sprint/"]);
    env.commit_all("sorted");
    let head = env.head();
    std::fs::copy(env.path(&format!("tasks/sprint/{id}.md")), env.path(&format!("tasks/{id}.md")))
        .unwrap();

    let output = env.say(&id, "agent-7", "complete", &[]).code(6);
    assert!(output.stderr.contains("has 2 files"), "{output}");
    assert_eq!(env.head(), head);
}

#[test]
fn a_renamed_task_that_no_commit_knows_is_refused_with_the_way_on() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    std::fs::rename(env.path(&env.task_path(&id)), env.path("tasks/AOF-login.md")).unwrap();
    env.edit("tasks/AOF-login.md", &format!("id: {id}"), "id: AOF-login");

    let output = env.say("AOF-login", "agent-3", "complete", &[]).code(5);
    assert!(output.stderr.contains("was never committed"), "{output}");
    assert!(!output.stderr.contains("git restore"), "there is nothing to restore: {output}");
    env.commit_all("renamed");
    let _ = env.complete("AOF-login", "agent-3");
}
