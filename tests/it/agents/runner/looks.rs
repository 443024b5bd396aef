//! Gates whose programs look whether something outside has happened, without a claim.

use serde_json::Value;

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::scripted_agents::{project_of, send};

const RULES: &str = "\
workflow:
  gates:
    - {id: work, role: backend}
    - {id: merged, role: forge, canReject: true, timeout: 7d, run: {exit: {complete: 0, needs_review: 1, wait: 75}, every: 2m}}
    - {id: publish, role: backend}
";

/// Counts the looks; ends with the status in a file, otherwise with 75.
const FORGE: &str =
    "echo look >> \"$HOME/looks\"\nexit $(cat \"$HOME/status\" 2>/dev/null || echo 75)\n";

fn environment() -> TestEnvironment {
    project_of(
        RULES,
        &[("gh", "forge", "", FORGE), ("other", "forge", "", FORGE), ("coder", "backend", "", "")],
    )
}

/// Returns a task at the gate that waits.
fn landing(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Land it"]);
    let _ = env.complete(&id, "coder").success();
    id
}

fn looks(env: &TestEnvironment) -> usize {
    std::fs::read_to_string(env.home().join("looks")).unwrap_or_default().lines().count()
}

fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof_aside(&["show", id, "--json"]).success().json()
}

#[test]
fn a_look_claims_and_records_nothing_until_there_is_an_answer() {
    let env = environment();
    let id = landing(&env);
    let head = env.head();
    let _ = env.aof(&["run", "--agent", "gh"]);
    assert_eq!((looks(&env), env.head()), (1, head.clone()));
    assert_eq!(shown(&env, &id)["state"], "waiting");
    let list = env.aof_aside(&["list"]).success().stdout;
    assert!(list.contains("at 10:0"), "{list}");
    let why = env.aof_aside(&["why", &id]).success().stdout;
    assert!(why.contains("its program looked, and looks again at 10:0"), "{why}");
    let runs = env.path(".aof/runs");
    let kept: Vec<String> = std::fs::read_dir(runs.join(format!("{id}@1")))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "lock")
        .collect();
    assert_eq!(kept, [""; 0], "an attempt is kept");

    // Not before its time; no agent asks for it; it is handed out to nobody.
    let _ = env.aof(&["run", "--agent", "gh"]);
    assert_eq!(looks(&env), 1);
    let waits = env.aof(&["run", "--task", &id]).code(7);
    assert!(waits.to_string().contains("its program looks again at"), "{waits}");
    let next = env.aof(&["next", "--agent", "other", "--json"]).success().json();
    assert_eq!(next["task"], Value::Null);
    env.pass_minutes(2);
    let _ = env.aof(&["run", "--agent", "other"]);
    assert_eq!((looks(&env), env.head()), (2, head));

    // An answer claims, and completes.
    std::fs::write(env.home().join("status"), "0").unwrap();
    env.pass_minutes(2);
    let _ = env.aof(&["run", "--agent", "gh"]).success();
    assert_eq!(looks(&env), 3);
    let log = env.git(&["log", "-2", "--format=%s", "--reverse"]);
    assert_eq!(
        log.replace(&id, "ID"),
        "ID: claimed by gh at merged\nID: merged -> publish (complete)\n"
    );
    assert_eq!(shown(&env, &id)["gate"]["current"], "publish");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn an_answer_that_sends_back_and_a_crash_count_as_elsewhere() {
    let env = environment();
    let id = landing(&env);
    std::fs::write(env.home().join("status"), "1").unwrap();
    let _ = env.aof(&["run", "--agent", "gh", "--once"]).success();
    let task = shown(&env, &id);
    assert_eq!(task["gateHistory"][1]["outcome"], "needs_review");
    assert_eq!(task["gate"]["current"], "work");

    // A crash is tried again, and then a person is asked.
    std::fs::write(env.home().join("status"), "3").unwrap();
    let id = landing(&env);
    let _ = env.aof(&["run", "--agent", "gh", "--once"]);
    let task = shown(&env, &id);
    assert_eq!(task["status"], "blocked", "{task}");
    assert!(task["blockers"].to_string().contains("exit status 3"), "{task}");
}

#[test]
fn a_program_looks_at_a_gate_that_its_agent_has_claimed_by_hand_no_oftener() {
    let env = environment();
    let id = landing(&env);
    let _ = env.aof(&["claim", &id, "--agent", "gh"]).success();
    let _ = env.aof(&["run", "--agent", "gh"]);
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(looks(&env), 1);
    assert_eq!(shown(&env, &id)["routing"]["agent"], "gh");
}

#[test]
fn a_program_that_never_stops_waiting_is_ended_by_the_limit_of_its_gate() {
    let env = environment();
    env.edit("project.yaml", "timeout: 7d", "timeout: 1d, escalateTo: backend");
    env.commit_all("a day");
    let id = landing(&env);
    let _ = env.aof(&["run", "--agent", "gh"]);
    env.pass_minutes(24 * 60);
    let _ = env.aof(&["sweep"]).success();
    let task = shown(&env, &id);
    assert_eq!(task["routing"]["role"], "backend", "{task}");
    // The work is another role's now, which an agent asks for as usual.
    let _ = env.aof(&["run", "--agent", "gh"]);
    assert_eq!(looks(&env), 1);
    let next = env.aof(&["next", "--agent", "coder", "--json"]).success().json();
    assert_eq!(next["task"]["title"], "Land it", "{next}");
}

/// A runner that is killed when the test ends.
struct Following(std::process::Child);

impl Drop for Following {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_runner_that_follows_goes_on_with_work_that_comes_later() {
    let env = environment();
    let mut command = env.aof_command(&["run", "--agent", "gh", "--follow"]);
    let piped = std::process::Stdio::null;
    command.env_remove("AOF_NOW").stdout(piped()).stderr(piped());
    let mut runner = Following(command.spawn().unwrap());
    let is_said = || env.aof_aside(&["status"]).stdout.contains("a runner runs");
    eventually("it runs", is_said);
    std::fs::write(env.home().join("status"), "0").unwrap();
    for _ in 0..2 {
        let id = landing(&env);
        eventually("it goes on", || shown(&env, &id)["gate"]["current"] == "publish");
    }
    // A task at which it looks later is no work to end for.
    std::fs::write(env.home().join("status"), "75").unwrap();
    let id = landing(&env);
    eventually("it has looked", || shown(&env, &id)["state"] == "waiting");
    assert!(runner.0.try_wait().unwrap().is_none());
    send("TERM", &runner.0);
    let _ = runner.0.wait().unwrap();
    assert!(!is_said());
    let _ = env.aof(&["run", "--agent", "gh", "--follow", "--once"]).code(2);
}

#[test]
fn a_gate_that_waits_without_a_limit_is_warned_of_and_what_makes_no_sense_refused() {
    let env = environment();
    env.edit("project.yaml", "timeout: 7d, ", "");
    let warned = env.aof(&["workflow", "validate"]).success();
    assert!(warned.to_string().contains("gate `merged` may wait for ever"), "{warned}");
    for (from, to, problem) in [
        ("every: 2m", "every: 5s", "`every` is at least 10 seconds"),
        ("every: 5s", "every: 2m, retries: 1", "retries"),
        ("wait: 75", "wait: 1", "exit status 1 has two meanings"),
        (", wait: 1}", "}", "`every` counts only where an exit status means `wait`"),
    ] {
        env.edit("project.yaml", from, to);
        let refused = env.aof(&["workflow", "validate"]);
        assert!(refused.to_string().contains(problem), "{to}: {refused}");
    }
}
