//! The watcher at work: real processes, real files, real time.

use std::fs;

use crate::support::checker::{check, check_after_kills};
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::watcher::{Watcher, drop_file, log};

/// Drops a completion as a careful program does: under another name first.
fn completion(id: &str, agent: &str) -> String {
    format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: Done\n")
}

fn drop_completion(env: &TestEnvironment, id: &str, agent: &str) {
    env.write(".aof/dropping", completion(id, agent));
    fs::create_dir_all(env.path(".aof/inbox")).unwrap();
    fs::rename(env.path(".aof/dropping"), env.path(&format!(".aof/inbox/{id}-{agent}.yaml")))
        .unwrap();
}

#[test]
fn the_watcher_reacts_to_all_that_people_and_agents_do() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));

    drop_completion(&env, &id, "agent-7");
    eventually("the completion counts", || env.task_text(&id).contains("current: review"));

    env.hand_made("AOF-abc", "Written in an editor");
    let path = env.task_path(&id);
    env.edit(&path, "title: Add login", "title: Add login and logout");
    eventually("the hand-made task is adopted", || {
        env.log().contains("AOF-abc: adopted at implement")
    });
    eventually("the edit is committed as theirs", || {
        env.log().contains("Ada: AOF-xxxxx: edited by hand")
    });

    let slow = env.path(".aof/inbox/slow.json");
    let half = format!("{{\"task\": \"{id}\", \"agent\": \"agent-3\", ");
    let mut file = fs::File::create(&slow).unwrap();
    std::io::Write::write_all(&mut file, half.as_bytes()).unwrap();
    drop_completion(&env, "AOF-abc", "agent-7");
    eventually("the other completion counts", || {
        env.task_text("AOF-abc").contains("current: review")
    });
    std::io::Write::write_all(&mut file, b"\"outcome\": \"complete\", \"summary\": \"Good\"}")
        .unwrap();
    drop(file);
    eventually("the slow one counts", || {
        env.exists("tasks/archive") && env.task_path(&id).contains("archive")
    });
    eventually("the inbox is empty", || env.files(".aof/inbox").is_empty());
    watcher.stop("-TERM");
    check(&env);
    assert_eq!(env.files(".aof/refused"), [""; 0], "{}", log(&env));
}

#[test]
fn a_completion_counts_once_its_task_file_is_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    let (path, away) = (env.path(&env.task_path(&id)), env.path("away.md"));
    fs::rename(&path, &away).unwrap();
    drop_completion(&env, &id, "agent-7");
    eventually("it waits", || log(&env).contains("is gone"));
    fs::rename(&away, &path).unwrap();
    eventually("it counts", || env.task_text(&id).contains("current: review"));
    watcher.stop("-TERM");
    check(&env);
    assert_eq!(env.files(".aof/refused"), [""; 0], "{}", log(&env));
}

#[test]
fn many_that_wait_hold_up_no_other_and_go_on_together() {
    let env = TestEnvironment::new();
    let list = format!("[{}]", [r#"{"title": "Task"}"#; 60].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    let paths = env.files("tasks");
    let ids: Vec<&str> = paths
        .iter()
        .map(|path| path.trim_start_matches("tasks/").trim_end_matches(".md"))
        .collect();
    let (good, frozen) = ids.split_at(10);
    for id in frozen {
        env.edit(&format!("tasks/{id}.md"), "current: implement", "current: review");
        drop_completion(&env, id, "agent-7");
    }
    // Twice from the same agent: what it says is of the same visit.
    let twice = format!("task: {}\nagent: agent-7\noutcome: complete\nsummary: Again\n", frozen[0]);
    env.write(".aof/inbox/twice.yaml", twice);
    let watcher = Watcher::start(&env);
    let waiting = || env.files(".aof/inbox").iter().filter(|name| name.contains(".taken/")).count();
    eventually("they wait", || waiting() == frozen.len() + 1);
    for id in good {
        drop_completion(&env, id, "agent-7");
        eventually("it counts", || env.read(&format!("tasks/{id}.md")).contains("current: review"));
    }
    eventually("those alone wait still", || waiting() == frozen.len() + 1);
    // The watcher may have the index just now.
    let restored = || {
        let mut git = env.command("git");
        git.args(["restore", "tasks"]);
        env.run(git).code == Some(0)
    };
    eventually("they are put right", restored);
    eventually("the inbox is empty", || env.files(".aof/inbox").is_empty());
    watcher.stop("-TERM");
    for id in frozen {
        assert!(
            env.read(&format!("tasks/{id}.md")).contains("current: review"),
            "{id}: {}",
            log(&env)
        );
    }
    check(&env);
}

#[test]
fn a_completion_that_a_script_writes_line_by_line_is_taken_whole() {
    let env = TestEnvironment::new();
    let list = format!("[{}]", [r#"{"title": "Task"}"#; 8].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    let watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    let paths = env.files("tasks");
    let append = |name: &str, text: &str| {
        // As `>>` does: opened, written, closed.
        let mut file = fs::File::options().create(true).append(true).open(env.path(name)).unwrap();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
    };
    for path in &paths {
        let id = path.trim_start_matches("tasks/").trim_end_matches(".md");
        let name = format!(".aof/inbox/{id}.yaml");
        append(&name, "");
        append(&name, "outcome: blocked\n");
        append(&name, "summary: The API is missing\n");
        append(&name, &format!("task: {id}\n"));
        append(&name, "blockers:\n  - The API\n  - Its key\n");
        append(&name, "agent: agent-7\n");
    }
    eventually("the inbox is empty", || env.files(".aof/inbox").is_empty());
    for path in &paths {
        let task = env.read(path);
        assert!(
            task.contains("outcome: blocked") && task.contains("Its key"),
            "{task}\n{}",
            log(&env)
        );
    }
    assert_eq!(env.files(".aof/refused"), [""; 0], "{}", log(&env));

    // What the rules would refuse waits for the rest as well, and Markdown for its body.
    let id = env.new_task(&["Written slowly"]);
    let other = env.new_task(&["Written slowly, too"]);
    append(".aof/inbox/a.yaml", &format!("task: {id}\nagent: agent-7\noutcome: complete\n"));
    let front =
        format!("---\ntask: {other}\nagent: agent-7\noutcome: complete\nsummary: Done\n---\n");
    append(".aof/inbox/b.md", &front);
    // Files that came later are acted upon meanwhile, and these are not.
    let later = env.new_task(&["Written at once"]);
    append(
        &format!(".aof/inbox/{later}.yaml"),
        &format!("task: {later}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    eventually("the later one counts", || {
        // However long that takes, they have not been quiet for long.
        for slow in ["a.yaml", "b.md"] {
            if let Ok(file) = fs::File::open(env.path(&format!(".aof/inbox/{slow}"))) {
                file.set_modified(std::time::SystemTime::now()).unwrap();
            }
        }
        env.task_text(&later).contains("current: review")
    });
    append(".aof/inbox/a.yaml", "summary: At last\n");
    append(".aof/inbox/b.md", "\nThe body.\n");
    eventually("the inbox is empty", || env.files(".aof/inbox").is_empty());
    assert!(env.task_text(&id).contains("At last"), "{}", log(&env));
    assert!(env.task_text(&other).contains("The body."), "{}", log(&env));
    assert_eq!(env.files(".aof/refused"), [""; 0], "{}", log(&env));

    // What stays half is refused once it is left alone.
    append(".aof/inbox/half.yaml", "task: AOF-abc\n");
    eventually("the half one is refused", || env.exists(".aof/refused/half.yaml.reason.json"));
    watcher.stop("-TERM");
    check(&env);
}

#[test]
fn it_ends_on_either_signal_and_says_goodbye() {
    let env = TestEnvironment::new();
    for signal in ["-INT", "-TERM"] {
        let watcher = Watcher::start(&env);
        eventually("it begins", || log(&env).contains("watching"));
        watcher.stop(signal);
        fs::write(env.home().join("watch.log"), "").unwrap();
    }
    check(&env);
}

#[test]
fn watchers_that_are_killed_in_the_middle_lose_nothing() {
    let env = TestEnvironment::new();
    let list = format!("[{}]", vec![r#"{"title": "Task"}"#; 60].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    let files = env.files("tasks");
    let ids: Vec<&str> = files
        .iter()
        .map(|path| path.trim_start_matches("tasks/").trim_end_matches(".md"))
        .collect();
    let commits = || env.git(&["rev-list", "--count", "HEAD"]).trim().parse::<usize>().unwrap();
    let mut last = commits();
    let watchers = [Watcher::start(&env), Watcher::start(&env)];
    eventually("one begins", || log(&env).contains("watching"));
    eventually("the other stands by", || log(&env).contains("stands by"));
    for id in &ids[..30] {
        drop_completion(&env, id, "agent-7");
    }
    for mut watcher in watchers {
        eventually("some are done", || commits() > last || env.files(".aof/inbox").is_empty());
        last = commits();
        watcher.0.kill().unwrap();
        watcher.0.wait().unwrap();
    }
    for id in &ids[30..] {
        drop_completion(&env, id, "agent-7");
    }
    let watcher = Watcher::start(&env);
    eventually("all is done", || env.files(".aof/inbox").is_empty());
    watcher.stop("-TERM");
    check_after_kills(&env);
    for id in ids {
        assert_eq!(
            env.task_text(id).matches("- gate: implement").count(),
            1,
            "{id}\n{}",
            log(&env)
        );
    }
    assert_eq!(env.files(".aof/refused"), [""; 0], "{}", log(&env));
}

#[test]
fn a_hand_made_task_is_taken_up_once_its_workflow_is_committed() {
    let env = TestEnvironment::new();
    let _watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    env.write("tasks/AOF-abc.md", "---\ntitle: Add login\nrouting: {workflow: hotfix}\n---\n");
    eventually("the file is refused", || log(&env).contains("needs attention"));
    env.write("workflows/hotfix.yaml", "workflow:\n  gates:\n    - {id: mend, role: backend}\n");
    env.git(&["add", "workflows"]);
    env.git(&["commit", "--quiet", "--message", "hotfix"]);
    eventually("the file is taken up", || env.task_text("AOF-abc").contains("current: mend"));
}

#[test]
fn the_watcher_ends_overdue_visits_in_time() {
    let rules = "workflow:\n  gates:\n    - {id: implement, role: backend, timeout: 2s, escalateTo: architect}\n";
    let env = TestEnvironment::with_rules(rules, crate::support::environment::ORG);
    let watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    let mut new = env.aof_command(&["task", "new", "Add login"]);
    new.env_remove("AOF_NOW");
    let _ = env.run(new).success();
    eventually("the architect steps in", || {
        log(&env).contains("timed out at implement; it is architect's now")
    });
    watcher.stop("-TERM");
    check(&env);
}

#[test]
fn a_file_that_only_looks_like_a_task_is_named() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    std::os::unix::fs::symlink(format!("{id}.md"), env.path("tasks/AOF-linked.md")).unwrap();
    fs::create_dir(env.path("tasks/AOF-folder.md")).unwrap();
    env.write("tasks/notes.md", "# Notes\n");
    let output = env.aof(&["watch", "--once"]).success().stdout;
    let named = |path: &str, reason: &str| {
        assert!(
            output.contains(&format!("warning: `tasks/{path}` is no task: {reason}")),
            "{output}"
        );
    };
    named("AOF-linked.md", "it is a symbolic link, not a file");
    named("AOF-folder.md", "it is a folder, not a file");
    named("notes.md", "");
    let watcher = Watcher::start(&env);
    eventually("it has looked", || log(&env).contains("notes.md"));
    drop_completion(&env, &id, "agent-7");
    eventually("the completion counts", || env.task_text(&id).contains("current: review"));
    watcher.stop("-INT");
    assert_eq!(log(&env).matches("notes.md").count(), 1, "{}", log(&env));
}

#[test]
fn a_second_watcher_stands_by_and_takes_over() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let first = Watcher::start(&env);
    eventually("the first begins", || log(&env).contains("watching"));
    let second = Watcher::start(&env);
    eventually("the second stands by", || log(&env).contains("stands by"));
    assert_eq!(log(&env).matches("watching").count(), 1, "{}", log(&env));
    drop_completion(&env, &id, "agent-7");
    eventually("it counts once", || env.task_text(&id).contains("current: review"));
    let third = Watcher::start(&env);
    eventually("a third stands by", || log(&env).matches("stands by").count() == 2);
    third.stop("-TERM");

    // Killed, not stopped: the lock goes with the process.
    drop(first);
    eventually("the second takes over", || log(&env).matches("watching").count() == 2);
    drop_completion(&env, &id, "agent-3");
    eventually("the next counts", || env.task_path(&id).contains("archive"));
    second.stop("-TERM");
    check(&env);
}

#[cfg(debug_assertions)]
#[test]
fn a_file_that_counts_is_settled_by_the_next_command_of_any_kind() {
    for command in [&["task", "list"][..], &["status"], &["task", "new", "Another"]] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        drop_file(&env, "a.yaml", completion(&id, "agent-7"));
        let mut watch = env.aof_command(&["watch", "--once"]);
        watch.env("AOF_STOP_AT", "ops.settled");
        assert_eq!(env.run(watch).code, None, "it is killed");
        assert!(env.task_text(&id).contains("current: review"), "it counts");
        assert_eq!(env.files(".aof/inbox/.taken").len(), 1);
        let _ = env.aof(command).success();
        assert_eq!(env.files(".aof/inbox/.taken"), [""; 0], "{command:?}");
        env.new_task(&["Later"]);
        check(&env);
    }
}

#[test]
fn temporary_files_of_killed_commands_are_swept_by_the_next_command() {
    let env = TestEnvironment::new();
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let (dead, alive) = (child.id(), std::process::id());
    child.wait().unwrap();
    env.write(&format!(".aof/.aof-tmp-{dead}-0123456789abcdef"), "half");
    env.write(&format!(".aof/.aof-tmp-{alive}-0123456789abcdef"), "half");
    env.new_task(&["Add login"]);
    let left: Vec<String> =
        env.files(".aof").into_iter().filter(|name| name.contains(".aof-tmp-")).collect();
    assert_eq!(left, [format!(".aof/.aof-tmp-{alive}-0123456789abcdef")]);
}
