//! A task that is finished moves to the archive: what goes with it, what stays, and what is in the way there.

use std::fs;

use crate::environment::{TestEnvironment, eventually};

/// A task that the next completion finishes, and where its file goes then.
fn last_gate(env: &TestEnvironment) -> (String, String) {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let place = format!("tasks/archive/2026/02/16/{id}.md");
    (id, place)
}

#[test]
fn what_a_person_has_at_its_place_in_the_archive_stays_theirs() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    env.write(&place, "My notes\n");
    let head = env.head();
    let refused = env.say(&id, "agent-3", "complete", &[]).code(1);
    assert!(refused.stderr.contains(&env.plain(&place)), "{refused}");
    assert_eq!((env.read(&place), env.head()), ("My notes\n".to_owned(), head));
    fs::remove_file(env.path(&place)).unwrap();
    let _ = env.complete(&id, "agent-3");
    assert!(env.read(&place).contains("status: complete"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_a_person_has_at_the_place_of_a_companion_stays_theirs() {
    for theirs in ["My notes\n", "the log\n"] {
        let env = TestEnvironment::new();
        let (id, place) = last_gate(&env);
        let (here, there) = (format!("tasks/{id}.log"), place.replace(".md", ".log"));
        env.write(&here, "the log\n");
        env.commit_all("log");
        env.write(&there, theirs);
        let head = env.head();
        let refused = env.say(&id, "agent-3", "complete", &[]).code(1);
        assert!(refused.stderr.contains(&env.plain(&there)), "{refused}");
        assert_eq!((env.read(&there), env.read(&here), env.head()), (theirs.to_owned(), "the log\n".to_owned(), head));
        assert!(!env.exists(&place) && env.task_text(&id).contains("status: ready"));
    }
}

#[test]
fn what_git_ignores_and_what_is_too_large_stays() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    env.write(".gitignore", "*.log\n");
    env.commit_all("ignore");
    env.write(&format!("tasks/{id}.log"), "not for git\n");
    env.write(&format!("tasks/{id}.mp4"), vec![b'x'; 17 * 1024 * 1024]);
    env.write(&format!("tasks/{id}.plan.md"), "the plan\n");
    let _ = env.complete(&id, "agent-3");
    assert_eq!(
        env.files("tasks"),
        [format!("tasks/{id}.log"), format!("tasks/{id}.mp4"), place.clone(), place.replace(".md", ".plan.md")]
    );
    assert_eq!(env.git(&["status", "--porcelain"]), format!("?? tasks/{id}.mp4\n"));
}

#[cfg(debug_assertions)]
#[test]
fn what_cannot_be_cleared_away_behind_a_commit_is_no_failure_of_the_act() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    let pipe = env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = env.aof_command(&["task", "complete", &id, "--agent", "agent-3", "--outcome", "complete"]);
    command.args(["--summary", "Fine"]).env("AOF_WAIT_AT", format!("ops.committed:{}", pipe.display()));
    let before = env.head();
    let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn().unwrap();
    eventually("it is committed", || env.head() != before);
    // What is no file cannot be removed as one.
    fs::remove_file(env.path(&format!("tasks/{id}.md"))).unwrap();
    fs::create_dir(env.path(&format!("tasks/{id}.md"))).unwrap();
    let opened = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let said = env.finish("task complete", child).success();
    drop(opened);
    assert!(said.stderr.is_empty(), "{said}");
    fs::remove_dir(env.path(&format!("tasks/{id}.md"))).unwrap();
    env.new_task(&["Another task"]);
    assert!(env.read(&place).contains("status: complete"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}
