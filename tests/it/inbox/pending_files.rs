//! What `aof status` says of completion files that wait: what keeps which of them back, judged as when it is taken.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

/// Drops the word of an agent on a task, long ago.
fn dropped(env: &TestEnvironment, id: &str, agent: &str) {
    let path = format!(".aof/inbox/{id}.yaml");
    env.write(&path, format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: Done\n"));
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
    File::options().write(true).open(env.path(&path)).unwrap().set_modified(long_ago).unwrap();
}

/// Returns what is told of the inbox, and what to do about it.
fn issues(env: &TestEnvironment) -> Vec<(String, String)> {
    let before = (env.head(), env.files(".aof/inbox"), env.git(&["status", "--porcelain"]));
    let status = env.aof(&["--json", "status"]).success().json();
    assert_eq!((env.head(), env.files(".aof/inbox"), env.git(&["status", "--porcelain"])), before);
    let text = |point: &serde_json::Value, key: &str| point[key].as_str().unwrap().to_owned();
    let points = status["attention"].as_array().unwrap().iter();
    let points = points.filter(|point| text(point, "code").starts_with("inbox_"));
    points
        .map(|point| {
            (format!("{}: {}", text(point, "code"), text(point, "problem")), text(point, "fix"))
        })
        .collect()
}

fn watch_once(env: &TestEnvironment) {
    let _ = env.aof(&["watch", "--once"]);
}

#[test]
fn an_obstacle_of_a_completion_is_named_before_and_after_it_is_taken() {
    /// What is done to a task, what is told of it, part of what to do, and what undoes it.
    type Case =
        (fn(&TestEnvironment, &str), &'static str, &'static str, fn(&TestEnvironment, &str));
    let cases: [Case; 5] = [
        (
            |env, id| env.edit(&env.task_path(id), "current: review", "current: implement"),
            "was changed by hand in what the engine keeps",
            "git restore",
            |env, id| drop(env.git(&["restore", &env.task_path(id)])),
        ),
        (
            |env, id| fs::rename(env.path(&env.task_path(id)), env.path("away")).unwrap(),
            "is gone: `tasks/AOF-xxxxx.md`",
            "git restore",
            |env, id| fs::rename(env.path("away"), env.path(&format!("tasks/{id}.md"))).unwrap(),
        ),
        (
            |env, id| env.write(&format!("tasks/archive/2026/02/16/{id}.md"), "Mine\n"),
            "tasks/archive/2026/02/16/AOF-xxxxx.md` already exists",
            "move `",
            |env, id| {
                fs::remove_file(env.path(&format!("tasks/archive/2026/02/16/{id}.md"))).unwrap();
            },
        ),
        (
            |env, id| {
                let (path, text) = (env.task_path(id), env.task_text(id));
                env.write(&path, text.clone() + "Staged\n");
                env.git(&["add", &path]);
                env.write(&path, text);
            },
            "is staged",
            "fix that",
            |env, id| drop(env.git(&["restore", "--staged", &env.task_path(id)])),
        ),
        (
            |env, id| env.edit(&env.task_path(id), "title:", "title: [\ntitle:"),
            "cannot be read as a task",
            "AOF-xxxxx.md",
            |env, id| drop(env.git(&["restore", &env.task_path(id)])),
        ),
    ];
    for (begin, problem, fix, end) in cases {
        let env = TestEnvironment::new();
        let (id, other) = (env.new_task(&["Add login"]), env.new_task(&["Tidy up"]));
        let _ = env.complete(&id, "agent-7");
        assert_eq!(issues(&env), []);
        begin(&env, &id);
        dropped(&env, &id, "agent-3");
        let expected =
            "inbox_kept_back: 1 completion file waits in `.aof/inbox` (AOF-xxxxx.yaml): ";
        let is_reported = |answer: &(String, String)| {
            assert!(
                answer.0.starts_with(expected) && answer.0.contains(problem),
                "{problem}: {answer:?}"
            );
            assert!(
                answer.1.contains(fix) && answer.1.contains("`aof watch --once`"),
                "{fix}: {answer:?}"
            );
        };
        dropped(&env, &other, "agent-7");
        let [free, kept] = issues(&env).try_into().unwrap();
        assert_eq!(free.0, "inbox_waiting: 1 completion file waits in `.aof/inbox`");
        is_reported(&kept);
        assert!(!kept.1.contains(".taken"), "{kept:?}");
        watch_once(&env);
        let [kept] = issues(&env).try_into().unwrap();
        is_reported(&kept);
        assert!(
            kept.1.ends_with("; to take one back, remove it from `.aof/inbox/.taken`"),
            "{kept:?}"
        );
        end(&env, &id);
        let [free] = issues(&env).try_into().unwrap();
        assert_eq!(free.0, "inbox_waiting: 1 completion file waits in `.aof/inbox`", "{problem}");
        watch_once(&env);
        assert_eq!(issues(&env), []);
        assert!(env.task_path(&id).starts_with("tasks/archive/"), "{problem}");
        check(&env);
    }
}

#[test]
fn several_that_wait_for_the_same_are_reported_together() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "current: implement", "current: review");
    dropped(&env, &id, "agent-7");
    env.write(".aof/inbox/b.json", env.read(&format!(".aof/inbox/{id}.yaml")));
    fs::rename(env.path(".aof/inbox/b.json"), env.path(".aof/inbox/b.yaml")).unwrap();
    // What is refused when it is taken is kept back by nothing.
    env.write(
        ".aof/inbox/c.yaml",
        "task: AOF-nobody\nagent: agent-7\noutcome: complete\nsummary: Done\n",
    );
    let [free, kept] = issues(&env).try_into().unwrap();
    assert_eq!(free.0, "inbox_waiting: 1 completion file waits in `.aof/inbox`");
    let expected =
        "inbox_kept_back: 2 completion files wait in `.aof/inbox` (AOF-xxxxx.yaml, b.yaml): ";
    assert!(kept.0.starts_with(expected), "{kept:?}");
}

#[test]
fn while_git_is_busy_all_wait_for_that() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    dropped(&env, &id, "agent-7");
    env.git(&["checkout", "--quiet", "--detach"]);
    let [(problem, fix)] = issues(&env).try_into().unwrap();
    assert_eq!(problem, "inbox_waiting: 1 completion file waits in `.aof/inbox`");
    assert!(fix.contains("once it can"), "{fix}");
}

#[test]
fn a_rehearsal_meets_the_obstacles_of_the_command() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let place = format!("tasks/archive/2026/02/16/{id}.md");
    env.write(&place, "Mine\n");
    let rehearsed = env.say(&id, "agent-3", "complete", &["--dry-run"]).code(1);
    assert!(rehearsed.stderr.contains("already exists"), "{rehearsed}");
    fs::remove_file(env.path(&place)).unwrap();
    let (path, text) = (env.task_path(&id), env.task_text(&id));
    env.write(&path, text.clone() + "Staged\n");
    env.git(&["add", &path]);
    env.write(&path, text);
    let rehearsed = env.say(&id, "agent-3", "complete", &["--dry-run"]);
    let done = env.say(&id, "agent-3", "complete", &[]);
    assert_eq!((rehearsed.code, &rehearsed.stderr), (done.code, &done.stderr));
    assert_ne!(rehearsed.code, Some(0), "{rehearsed}");
}

#[test]
fn a_rehearsal_of_a_hand_made_task_meets_obstacles_of_its_adoption() {
    let words = ["complete", "--agent", "agent-7", "--outcome", "complete", "--summary", "Done"];
    for (command, more) in [("cancel", &["--reason", "Not needed"][..]), (words[0], &words[1..])] {
        let env = TestEnvironment::new();
        let path = env.hand_made("AOF-hand1", "Add login");
        env.git(&["add", &path]);
        env.edit(&path, "Add login", "Add logout");
        let args = [&["task", command, "AOF-hand1"], more].concat();
        let rehearsed = env.aof(&[&args[..], &["--dry-run"]].concat());
        let done = env.aof(&args);
        assert_eq!((rehearsed.code, &rehearsed.stderr), (done.code, &done.stderr));
        assert!(rehearsed.code != Some(0) && rehearsed.stderr.contains("is staged"), "{rehearsed}");
    }
}

#[test]
fn of_many_that_wait_those_are_named_that_something_is_in_the_way_of() {
    let env = TestEnvironment::new();
    let ids: Vec<String> =
        (0..7).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    let stage = |id: &str| {
        let (path, text) = (env.task_path(id), env.task_text(id));
        env.write(&path, text.clone() + "Staged\n");
        env.git(&["add", &path]);
        env.write(&path, text);
    };
    for id in &ids {
        dropped(&env, id, "agent-7");
    }
    // A second word on a task that nothing is in the way of.
    env.write(".aof/inbox/twice.yaml", env.read(&format!(".aof/inbox/{}.yaml", ids[0])));
    assert_eq!(issues(&env).len(), 1);
    for staged in [&ids[2], &ids[5]] {
        stage(staged);
    }
    let [free, one, other] = issues(&env).try_into().unwrap();
    assert_eq!(free.0, "inbox_waiting: 6 completion files wait in `.aof/inbox`");
    for kept in [one, other] {
        assert!(
            kept.0.starts_with("inbox_kept_back: 1 completion") && kept.0.contains("is staged"),
            "{kept:?}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_changed_in_place_keeps_the_work_of_an_agent_back_and_loses_none() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "routing:\n", "routing: &way\n");
    env.edit(&path, "workflowHash:", "mine: *way\nworkflowHash:");
    dropped(&env, &id, "agent-7");
    watch_once(&env);
    assert_eq!((env.files(".aof/inbox").len(), env.files(".aof/refused").len()), (1, 0));
    let points = issues(&env);
    assert!(
        points[0].0.contains("is shared by an anchor or alias")
            && points[0].1.contains("simplify that part"),
        "{points:?}"
    );
    env.edit(&path, "routing: &way\n", "routing:\n");
    env.edit(&path, "mine: *way\n", "");
    watch_once(&env);
    assert!(env.task_text(&id).contains("current: review"), "{}", env.task_text(&id));
    assert_eq!(env.files(".aof/inbox"), [""; 0]);
    check(&env);
}
