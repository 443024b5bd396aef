//! A person's `git commit` or `git merge` that a command overtook: git had read its index before, and wrote it back behind.

use std::fs;

use crate::environment::{TestEnvironment, eventually};
use crate::git_states::LAYOUTS;
use crate::watch::{Watcher, log};

/// A project where nothing is left to do.
fn scene() -> (TestEnvironment, String) {
    let (env, id) = crate::merging::scene();
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
fn the_watcher_has_the_index_have_again_what_is_committed_and_what_is_staged_stays() {
    let (env, id) = scene();
    env.write("project.yaml", format!("{}watch: {{commitEdits: false}}\n", env.read("project.yaml")));
    env.write(&format!("tasks/{id}.plan.md"), "The plan\n");
    env.commit_all("own");
    let own = own(&env);
    let _watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    complete(&env, &id);
    eventually("the index has what is committed", || staged(&env) == own);
    let told = format!("git's index had an earlier version of tasks/{id}.md, as a command of git's leaves it");
    eventually("it is told", || log(&env).contains(&told));
    // A finished task is at another place, with what is beside it.
    cancel(&env, &id);
    eventually("the index has what is committed", || staged(&env) == own);
    eventually("no record is left", || !env.is_in_the_middle());
}

#[test]
fn who_looks_once_has_it_too_whatever_the_layout_of_the_index() {
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
        let told = env.aof(&["watch", "--once", "--json"]).success().stdout;
        let event = "\"event\":\"index_caught_up\",\"files\":[\"tasks/AOF-xxxxx.md\"]";
        assert!(told.contains(event), "{told}");
        assert_eq!(staged(&env), "A\tcode.txt\n");
        let again = env.aof(&["watch", "--once", "--json"]).success().stdout;
        assert!(!again.contains("index_caught_up"), "{again}");
    }
}

#[test]
fn what_would_be_taken_back_is_told_by_status_and_mended_by_the_doctor() {
    let (env, id) = scene();
    env.write(&format!("tasks/{id}.plan.md"), "The plan\n");
    env.commit_all("own");
    let codes = |env: &TestEnvironment| -> Vec<String> {
        let status = env.aof_aside(&["status", "--json"]).success().json();
        let points = status["attention"].as_array().unwrap().iter();
        points.map(|point| point["code"].as_str().unwrap().to_owned()).filter(|code| code != "no_watcher").collect()
    };
    assert!(codes(&env).is_empty());
    complete(&env, &id);
    assert_eq!(codes(&env), ["index_behind"]);
    let told = env.aof_aside(&["status"]).success().stdout;
    assert!(told.contains("git's index has an earlier version of 1 task file: tasks/AOF-xxxxx.md"), "{told}");
    assert!(told.contains("`git restore --staged tasks/AOF-xxxxx.md`; `aof doctor --fix` does it"), "{told}");
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
