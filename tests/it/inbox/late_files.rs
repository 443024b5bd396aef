//! Completion files that wait while their visit is ended by another word: they never count for the next gate.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

use crate::support::checker::check;
use crate::support::environment::{PROJECT, TestEnvironment, eventually};
use crate::support::watcher::drop_file;
use crate::support::watcher::{Watcher, log};

/// One agent does everything.
const ALONE: &str = "\
roles:
  backend: {agents: [agent-7]}
  architect: {agents: [agent-7]}
";

/// What keeps the files of a task back, and what ends that.
type Trouble = (fn(&TestEnvironment, &str), fn(&TestEnvironment, &str));

const TROUBLES: [Trouble; 3] = [
    (
        |env, id| fs::rename(env.path(&env.task_path(id)), env.path("away")).unwrap(),
        |env, id| fs::rename(env.path("away"), env.path(&format!("tasks/{id}.md"))).unwrap(),
    ),
    (
        |env, id| env.edit(&env.task_path(id), "current: implement", "current: review"),
        |env, id| drop(env.git(&["restore", &env.task_path(id)])),
    ),
    (
        |env, id| {
            let (path, text) = (env.task_path(id), env.task_text(id));
            env.write(&path, text.clone() + "Staged\n");
            env.git(&["add", &path]);
            env.write(&path, text);
        },
        |env, id| drop(env.git(&["restore", "--staged", &env.task_path(id)])),
    ),
];

/// Drops a completion, long ago.
fn dropped(env: &TestEnvironment, name: &str, ticket: &str) {
    let path = format!(".aof/inbox/{name}");
    env.write(
        &path,
        format!("task: {ticket}\nagent: agent-7\noutcome: complete\nsummary: From {name}\n"),
    );
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
    File::options().write(true).open(env.path(&path)).unwrap().set_modified(long_ago).unwrap();
}

/// Returns a project with a task, and a completion `x.yaml` of it that was taken and waits.
fn waiting(begin: fn(&TestEnvironment, &str)) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(PROJECT, ALONE);
    let id = env.new_task(&["Add login"]);
    begin(&env, &id);
    dropped(&env, "x.yaml", &id);
    let output = env.aof(&["watch", "--once"]).code(1);
    assert_eq!(
        (env.files(".aof/inbox").len(), env.files(".aof/refused").len()),
        (1, 0),
        "{output}"
    );
    (env, id)
}

/// Says that the task was completed once, and which file came too late.
fn counted_once(env: &TestEnvironment, id: &str, late: &str) {
    let text = env.task_text(id);
    assert!(text.contains("current: review"), "{text}");
    let reason = env.read(&format!(".aof/refused/{late}.reason.json"));
    let reason: serde_json::Value = serde_json::from_str(&reason).unwrap();
    let is_late = match reason["error"].as_str() {
        Some("visit_ended") => reason["task"] == *id && reason["visit"] == 0,
        Some("repeated_completion") => reason["ticket"] == format!("{id}@1"),
        _ => false,
    };
    assert!(is_late, "{reason}");
    assert_eq!(env.files(".aof/inbox"), [""; 0]);
    check(env);
}

#[test]
fn a_waiting_file_is_late_once_another_file_ends_its_visit() {
    for (begin, end) in TROUBLES {
        let (env, id) = waiting(begin);
        end(&env, &id);
        dropped(&env, "y.yaml", &id);
        let _ = env.aof(&["watch", "--once"]);
        // Which of the two is first does not matter: neither counts for the review.
        let late = if env.exists(".aof/refused/x.yaml") { "x.yaml" } else { "y.yaml" };
        counted_once(&env, &id, late);
    }
}

#[test]
fn a_waiting_file_is_late_once_another_door_ends_its_visit() {
    for (begin, end) in TROUBLES {
        let (env, id) = waiting(begin);
        // A second look at what waits, by another process, finds it as it was.
        let _ = env.aof(&["watch", "--once"]).code(1);
        end(&env, &id);
        let _ = env.complete(&id, "agent-7");
        let _ = env.aof(&["watch", "--once"]);
        counted_once(&env, &id, "x.yaml");
    }
}

#[test]
fn a_waiting_file_counts_for_its_own_visit() {
    for (begin, end) in TROUBLES {
        let (env, id) = waiting(begin);
        dropped(&env, "y.yaml", &format!("{id}@1"));
        end(&env, &id);
        let _ = env.aof(&["watch", "--once"]).success();
        assert!(env.task_path(&id).starts_with("tasks/archive/"), "{}", env.task_text(&id));
        check(&env);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_from_before_the_first_completion_is_late_and_the_next_one_counts() {
    let env = TestEnvironment::with_rules(PROJECT, ALONE);
    let id = env.new_task(&["Add login"]);
    let watcher = Watcher::start(&env);
    eventually("it watches", || log(&env).contains("watching"));
    let text = |name: &str| {
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: From {name}\n")
    };
    // A file that somebody has open is left alone: this one comes first, and is taken behind the other.
    let mut open = File::create(env.path(".aof/inbox/y.yaml")).unwrap();
    open.write_all(text("y.yaml").as_bytes()).unwrap();
    drop_file(&env, "x.yaml", text("x.yaml"));
    eventually("the other one counts", || env.task_text(&id).contains("current: review"));
    drop(open);
    eventually("it is late", || env.exists(".aof/refused/y.yaml"));
    counted_once(&env, &id, "y.yaml");
    let next = text("z.yaml").replace(&id, &format!("{id}@1"));
    drop_file(&env, "z.yaml", next);
    eventually("what names the next visit is of that", || log(&env).contains("review → done"));
    watcher.stop("-TERM");
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn the_next_completion_may_follow_once_the_first_counts() {
    for point in ["ops.file-written", "git.ref-moved", "ops.committed"] {
        let env = TestEnvironment::with_rules(PROJECT, ALONE);
        let id = env.new_task(&["Add login"]);
        let pipe = env.home().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let watcher =
            Watcher::start_with(&env, &[("AOF_WAIT_AT", &format!("{point}:{}", pipe.display()))]);
        eventually("it watches", || log(&env).contains("watching"));
        let text = |name: &str| {
            format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: From {name}\n")
        };
        drop_file(&env, "x.yaml", text("x.yaml"));
        eventually("it can be seen", || pipe.with_extension("reached").exists());
        assert!(env.task_text(&id).contains("current: review"), "{point}");
        drop_file(&env, "y.yaml", text("y.yaml").replace(&id, &format!("{id}@1")));
        let opened = File::options().read(true).write(true).open(&pipe).unwrap();
        eventually("the next counts", || {
            log(&env).contains("review → done") || env.exists(".aof/refused/y.yaml")
        });
        assert_eq!(env.files(".aof/refused"), [""; 0], "{point}: {}", log(&env));
        watcher.stop("-TERM");
        drop(opened);
        check(&env);
    }
}

#[test]
fn a_wrong_ticket_says_nothing_of_the_words_without_one() {
    for visit in [0, 7] {
        let env = TestEnvironment::with_rules(PROJECT, ALONE);
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7").success();
        dropped(&env, "x.yaml", &format!("{id}@{visit}"));
        let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7"]).success();
        dropped(&env, "y.yaml", &id);
        let output = env.aof(&["watch", "--once"]);
        assert!(env.task_path(&id).starts_with("tasks/archive/"), "{output}");
        assert!(
            env.exists(".aof/refused/x.yaml") && !env.exists(".aof/refused/y.yaml"),
            "{output}"
        );
        check(&env);
    }
}

#[test]
fn a_file_from_before_a_visit_is_not_for_that_visit() {
    let both = "roles:\n  backend: {agents: [agent-7, agent-8]}\n  architect: {agents: [agent-7, agent-8]}\n";
    let env = TestEnvironment::with_rules(PROJECT, both);
    let id = env.new_task(&["Add login"]);
    let text = format!("task: {id}\nagent: agent-8\noutcome: complete\nsummary: Mine\n");
    drop_file(&env, "x.yaml", text);
    // As if the review began long after: file times are the system's.
    let later = "2099-02-16T10:00:00Z";
    let mut command = env.aof_command(&["task", "complete", &id, "--agent", "agent-7"]);
    command.args(["--outcome", "complete", "--summary", "Did it"]).env("AOF_NOW", later);
    let _ = env.run(command).success();
    let reflog = File::options().append(true).open(env.path(".git/logs/refs/heads/main")).unwrap();
    reflog.set_modified(SystemTime::now() + Duration::from_secs(9)).unwrap();
    let _ = env.aof(&["watch", "--once"]);
    assert!(env.task_text(&id).contains("current: review"), "{}", env.task_text(&id));
    let reason = env.read(".aof/refused/x.yaml.reason.json");
    assert!(reason.contains("visit_ended") && reason.contains("agent-7"), "{reason}");
    check(&env);
}

/// A gate for each of the roles; the first has two agents, and the last is for people.
const APART: &str = "\
workflow:
  gates:
    - {id: work, role: dev}
    - {id: look, role: qa}
    - {id: approve, role: boss, requireHuman: true}
";
const ROLES: &str = "\
roles:
  dev: {agents: [agent-7, agent-8]}
  qa: {agents: [agent-3, agent-4]}
  boss: {agents: [human-ada, human-bob]}
";

#[test]
fn a_loser_by_less_than_a_second_learns_the_winner_without_a_role_at_the_next_gate() {
    let env = TestEnvironment::with_rules(APART, ROLES);
    let id = env.new_task(&["Add login"]);
    let other = env.new_task(&["Add logout"]);
    let agents = [("agent-7", "agent-8"), ("agent-3", "agent-4"), ("human-ada", "human-bob")];
    for (visit, (winner, loser)) in agents.into_iter().enumerate() {
        // A task of its own is no reason to tell the loser anything else.
        if visit == 0 {
            let _ = env.aof(&["task", "assign", "--claim", &other, loser]).success();
        }
        let text = format!("task: {id}\nagent: {loser}\noutcome: complete\nsummary: Mine\n");
        drop_file(&env, "x.yaml", text);
        // The branch moves in the very second in which the file was dropped.
        let second = fs::metadata(env.path(".aof/inbox/x.yaml")).unwrap().ctime();
        let now = jiff::Timestamp::from_second(second).unwrap().to_string();
        let mut command = env.aof_command(&["task", "complete", &id, "--agent", winner]);
        command.args(["--outcome", "complete", "--summary", "Did it"]).env("AOF_NOW", now);
        let _ = env.run(command).success();
        let _ = env.aof(&["watch", "--once"]);
        let reason = env.read(".aof/refused/x.yaml.reason.json");
        let reason: serde_json::Value = serde_json::from_str(&reason).unwrap();
        assert_eq!(reason["error"], "visit_ended", "{reason}");
        assert_eq!((&reason["visit"], &reason["winningAgent"]), (&visit.into(), &winner.into()));
        let output = env.aof(&["events", "--type", "gate_conflict"]).success().stdout;
        assert_eq!(output.lines().count(), visit + 1, "{output}");
        fs::remove_dir_all(env.path(".aof/refused")).unwrap();
        // The next file is dropped in a later second than this move.
        eventually("the second has passed", || jiff::Timestamp::now().as_second() > second + 1);
    }
    check(&env);
}

#[test]
fn an_agent_without_a_role_at_the_ended_visit_is_refused_for_it() {
    let env = TestEnvironment::with_rules(APART, ROLES);
    let id = env.new_task(&["Add login"]);
    let text = format!("task: {id}\nagent: human-ada\noutcome: complete\nsummary: Mine\n");
    let _ = env.complete(&id, "agent-7");
    // It comes a moment after the step.
    drop_file(&env, "x.yaml", text);
    let _ = env.aof(&["watch", "--once"]);
    let reason = env.read(".aof/refused/x.yaml.reason.json");
    assert!(reason.contains("wrong_role"), "{reason}");
    check(&env);
}

#[test]
fn one_round_takes_json_at_once_and_waits_for_unfinished_files() {
    let env = TestEnvironment::new();
    let taken_in = |name: &str, text: &dyn Fn(&str) -> String| {
        let id = env.new_task(&["Add login"]);
        env.write(&format!(".aof/inbox/{name}"), text(&id));
        let start = std::time::Instant::now();
        // By the real clock, as the file has its time.
        let mut command = env.aof_command(&["watch", "--once"]);
        command.env_remove("AOF_NOW");
        let _ = env.run(command).success();
        assert!(env.task_text(&id).contains("current: review"), "{name}");
        start.elapsed()
    };
    let json = taken_in("a.json", &|id| {
        format!(
            "{{\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"complete\", \"summary\": \"Did it\"}}"
        )
    });
    let yaml = taken_in("b.yaml", &|id| {
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Did it\n")
    });
    assert!(json < yaml && yaml >= std::time::Duration::from_secs(1), "{json:?}, {yaml:?}");
}
