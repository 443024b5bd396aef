//! What `aof status` and `aof doctor` tell of a project whose files somebody took away, broke or hid: they survive what they are there
//! to tell, and name the way out.

use std::fs;
use std::time::{Duration, SystemTime};

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::TestEnvironment;

/// Returns what `aof status` says needs attention, but for the watcher that nobody started.
fn attention(env: &TestEnvironment) -> Vec<Value> {
    let output = env.aof_command(&["--json", "status"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let points = status["attention"].as_array().unwrap().clone();
    points.into_iter().filter(|point| point["code"] != "no_watcher").collect()
}

/// Returns the only point.
fn only(env: &TestEnvironment) -> Value {
    let mut points = attention(env);
    assert_eq!(points.len(), 1, "{points:#?}");
    points.remove(0)
}

/// Runs the command of git's that a text names.
fn run_remarks(env: &TestEnvironment, output: &Value, start: &str) {
    let output = output.as_str().unwrap();
    let command = output
        .split('`')
        .find(|part| part.starts_with(start))
        .unwrap_or_else(|| panic!("{start}: {output}"));
    let mut shell = env.command("sh");
    shell.args(["-c", command]);
    let _ = env.run(shell).success();
}

/// Makes a task and completes both gates.
fn finished(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    env.task_path(&id)
}

#[test]
fn archived_files_that_were_edited_or_deleted_are_reported() {
    let env = TestEnvironment::new();
    let (one, other) = (finished(&env), finished(&env));
    env.write("notes.txt", "mine");
    assert_eq!(attention(&env), Vec::<Value>::new());

    env.edit(&one, "Did it", "Did nothing");
    let point = only(&env);
    assert_eq!(point["code"], "archive_changed");
    let problem = env.plain(point["problem"].as_str().unwrap());
    assert_eq!(
        problem,
        "1 archived file is edited or deleted, and not committed: tasks/archive/2026/02/16/AOF-xxxxx.md"
    );
    let doctor = env.aof(&["doctor"]).code(1);
    assert!(doctor.stdout.contains("edited or deleted"), "{doctor}");
    run_remarks(&env, &point["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());

    // Also where that is staged, or only that.
    env.git(&["rm", "--quiet", &one]);
    fs::remove_file(env.path(&other)).unwrap();
    let point = only(&env);
    assert!(
        point["problem"].as_str().unwrap().starts_with("2 archived files are edited or deleted"),
        "{point}"
    );
    run_remarks(&env, &point["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());
    env.git(&["rm", "--quiet", "--cached", &one]);
    assert_eq!(only(&env)["code"], "task_taken_out");
    run_remarks(&env, &only(&env)["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());

    // A file that only looks newer is none.
    let text = env.read(&one);
    env.write(&one, text);
    assert_eq!(attention(&env), Vec::<Value>::new());
}

#[test]
fn rules_that_are_gone_are_missed_with_the_way_back() {
    let env = TestEnvironment::new();
    let _ = finished(&env);
    fs::remove_file(env.path("project.yaml")).unwrap();
    let point = only(&env);
    assert_eq!(point["code"], "rules_not_committed");
    assert_eq!(point["problem"], "`project.yaml` is gone; the committed rules count");
    let validated = env.aof(&["workflow", "validate"]).code(6);
    assert_snapshot!(validated.stdout, @"
    error[missing_file]: project.yaml is gone, and what is committed has it
    --> project.yaml:1:1
     = help: bring it back with `git restore --source=HEAD --staged --worktree project.yaml`

    invalid: 1 error
    ");
    run_remarks(&env, &point["fix"], "git restore");
    assert_eq!(attention(&env), Vec::<Value>::new());
    let _ = env.aof(&["workflow", "validate"]).success();

    // Committed as gone, with org.yaml and without.
    env.git(&["rm", "--quiet", "project.yaml"]);
    env.git(&["commit", "--quiet", "--message", "gone"]);
    let point = only(&env);
    assert_eq!(point["code"], "rules_not_committed");
    assert_eq!(
        point["problem"],
        "no project.yaml is committed, and without it nothing says which gates there are"
    );
    env.git(&["rm", "--quiet", "org.yaml"]);
    env.git(&["commit", "--quiet", "--message", "both gone"]);
    let point = only(&env);
    assert_eq!(point["code"], "no_rules");
    run_remarks(&env, &point["fix"], "git restore");
    env.git(&["restore", "--source=HEAD~1", "--staged", "--worktree", "org.yaml"]);
    env.git(&["commit", "--quiet", "--message", "back"]);
    assert!(env.read("project.yaml").contains("implement"));
    assert_eq!(attention(&env), Vec::<Value>::new());
}

#[test]
fn status_reports_a_link_in_place_of_the_rules() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    fs::rename(env.path("project.yaml"), env.path("rules.yaml")).unwrap();
    std::os::unix::fs::symlink("rules.yaml", env.path("project.yaml")).unwrap();
    let point = only(&env);
    assert_eq!(point["code"], "rules_not_committed");
    let printed = |point: &Value| env.plain(point["problem"].as_str().unwrap());
    assert_eq!(
        printed(&point),
        "`$PROJECT/project.yaml` is a symbolic link, not a file; the committed rules count"
    );
    fs::remove_file(env.path("project.yaml")).unwrap();
    fs::create_dir(env.path("project.yaml")).unwrap();
    assert_eq!(
        printed(&only(&env)),
        "`$PROJECT/project.yaml` is a folder, not a file; the committed rules count"
    );
    assert!(env.aof(&["doctor"]).code(1).stdout.contains("is a folder, not a file"));
    let _ = env.aof(&["workflow", "validate"]).code(6);
    let _ = env.new_task(&["Goes on"]);
}

#[test]
fn a_file_in_place_of_the_tasks_is_reported_as_such() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    fs::rename(env.path("tasks"), env.path("elsewhere")).unwrap();
    for what in ["a symbolic link", "a file"] {
        if what == "a file" {
            fs::remove_file(env.path("tasks")).unwrap();
            env.write("tasks", "none");
        } else {
            std::os::unix::fs::symlink("elsewhere", env.path("tasks")).unwrap();
        }
        let points = attention(&env);
        let point = points.iter().find(|point| point["code"] == "unreadable_task").unwrap();
        assert_eq!(point["problem"], format!("`tasks` cannot be read: it is {what}, not a folder"));
        assert!(point["fix"].as_str().unwrap().starts_with("make it a folder"), "{point}");
        assert!(points.iter().all(|point| point["code"] != "task_missing"), "{points:#?}");
        let list = env.aof(&["task", "list"]).code(6);
        assert_eq!(
            list.stderr,
            format!("no tasks\nerror: `tasks` cannot be read: it is {what}, not a folder\n")
        );
        let watched = env.aof(&["watch", "--once"]).code(1);
        assert!(
            watched.stdout.contains(&format!("`$PROJECT/tasks` is {what}, not a folder")),
            "{watched}"
        );
    }
    fs::remove_file(env.path("tasks")).unwrap();
    fs::rename(env.path("elsewhere"), env.path("tasks")).unwrap();
    assert_eq!(attention(&env), Vec::<Value>::new());
}

#[test]
fn status_reports_a_file_in_place_of_the_inbox() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    fs::remove_dir_all(env.path(".aof/inbox")).unwrap();
    env.write(".aof/inbox", "none");
    let point = only(&env);
    assert_eq!(point["code"], "inbox_unreadable");
    let problem = env.plain(point["problem"].as_str().unwrap());
    assert_eq!(problem, "`$PROJECT/.aof/inbox` is a file, not a folder");
    let doctor = env.aof(&["doctor"]).code(1).stdout;
    assert!(
        doctor.contains("[inbox_unreadable]")
            && doctor.matches("is a file, not a folder").count() == 1,
        "{doctor}"
    );
    let watched = env.aof(&["watch", "--once"]).code(1);
    assert!(watched.stdout.contains("`$PROJECT/.aof/inbox` is a file, not a folder"), "{watched}");
    fs::remove_file(env.path(".aof/inbox")).unwrap();
    let _ = env.new_task(&["Makes it again"]);
    assert_eq!(attention(&env), Vec::<Value>::new());
}

#[test]
fn a_lock_that_somebody_left_is_reported_with_its_age() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(".git/index.lock", "");
    assert_eq!(attention(&env), Vec::<Value>::new(), "somebody may be at work");
    let lock = fs::File::options().write(true).open(env.path(".git/index.lock")).unwrap();
    lock.set_modified(SystemTime::now() - Duration::from_hours(73)).unwrap();
    let point = only(&env);
    assert_eq!(point["code"], "git_locked");
    let problem = env.plain(point["problem"].as_str().unwrap());
    assert_eq!(problem, "nothing can be committed: `$PROJECT/.git/index.lock` is 3 days old");
    let refused = env.say(&id, "agent-7", "complete", &["--wait", "0"]).code(7);
    assert!(refused.stderr.contains("(it is 3 days old)"), "{refused}");
    let doctor = env.aof(&["doctor"]).code(1);
    assert_eq!(doctor.stdout.matches("3 days old").count(), 1, "{doctor}");
}

#[test]
fn a_missing_or_damaged_index_is_reported_with_its_fix() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = finished(&env);
    let codes = |points: &[Value]| -> Vec<String> {
        points.iter().map(|point| point["code"].as_str().unwrap().to_owned()).collect()
    };
    for (damage, output, cure) in
        [(None, "is gone", "git reset"), (Some("no index"), "cannot be read", "git read-tree")]
    {
        match damage {
            None => fs::remove_file(env.path(".git/index")).unwrap(),
            Some(bytes) => env.write(".git/index", bytes),
        }
        let points = attention(&env);
        assert_eq!(codes(&points), ["index_unreadable"], "{points:#?}");
        assert!(points[0]["problem"].as_str().unwrap().contains(output), "{points:#?}");
        for refused in
            [env.say(&id, "agent-7", "complete", &[]), env.aof(&["task", "new", "Another"])]
        {
            let refused = refused.code(1);
            assert!(refused.stderr.contains(&format!("`{cure}")), "{refused}");
        }
        assert!(env.aof(&["doctor"]).code(1).stdout.contains(output));
        run_remarks(&env, &points[0]["fix"], "git");
        assert_eq!(attention(&env), Vec::<Value>::new());
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    }
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn status_tells_that_nothing_can_be_committed_without_a_name() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    env.git(&["config", "user.name", ""]);
    let point = only(&env);
    assert_eq!(point["code"], "no_identity");
    run_remarks(&env, &point["fix"], "git config user.name");
    assert_eq!(attention(&env), Vec::<Value>::new());
    assert_eq!(env.git(&["config", "user.name"]), "Your Name\n");
}

#[test]
fn a_bare_repository_is_reported_as_that() {
    let mut env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    env.git(&["clone", "--quiet", "--bare", ".", "../bare"]);
    env.enter("../bare");
    for command in [&["status"][..], &["task", "list"], &["init"]] {
        let refused = env.aof(command).code(1);
        assert!(
            refused.stderr.contains("is bare, so it has no task files; work in a clone of it"),
            "{refused}"
        );
    }
}

#[test]
fn a_clone_that_does_not_know_the_merge_driver_is_reported() {
    let mut env = TestEnvironment::without_repository();
    let _ = env.aof(&["init", "--name", "Garden"]).success();
    assert_eq!(attention(&env), Vec::<Value>::new());
    env.git(&["clone", "--quiet", ".", "../clone"]);
    env.enter("../clone");
    assert_eq!(only(&env)["code"], "merge_driver_missing");
    assert_eq!(env.aof(&["doctor"]).code(1).stdout.matches("[merge_driver_missing]").count(), 1);
    let _ = env.aof(&["doctor", "--fix"]).success();
    assert_eq!(attention(&env), Vec::<Value>::new());
}

#[test]
fn init_names_a_foreign_hook_and_the_line_it_lacks() {
    let env = TestEnvironment::without_repository();
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    env.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
    let rehearsed = env.aof(&["init", "--dry-run", "--json"]).success().json();
    assert_eq!(rehearsed["setUp"]["foreignHook"], "$PROJECT/.git/hooks/pre-commit", "{rehearsed}");
    let output = env.aof(&["init"]).success().stdout;
    let line = output.lines().find(|line| line.contains("hooks/pre-commit")).unwrap();
    assert_eq!(
        line.trim(),
        ".git/hooks/pre-commit   yours, and stays: `aof doctor` says what it lacks"
    );
    assert_eq!(env.read(".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n");

    let env = TestEnvironment::without_repository();
    env.git(&["init", "--quiet", "--initial-branch=main"]);
    env.git(&["config", "core.hooksPath", "hooks"]);
    let output = env.aof(&["init"]).success().stdout;
    let line = output.lines().find(|line| line.contains("hooks/pre-commit")).unwrap();
    assert!(line.contains("not made, git looks for hooks there"), "{output}");
}
