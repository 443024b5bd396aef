//! How often failed work is done again, and what a failure leads to.

use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::scripted_agents::{DONE, at_home, history, project_of, shown, stand};

const FAILING: &str = "date +%s%N >> \"$HOME/runs\"; echo broken >&2; exit 3\n";

/// Returns the pauses between the runs, in milliseconds.
fn pauses(env: &TestEnvironment) -> Vec<u128> {
    let runs = std::fs::read_to_string(at_home(env, "runs")).unwrap();
    let times: Vec<u128> = runs.lines().map(|line| line.parse().unwrap()).collect();
    times.windows(2).map(|pair| (pair[1] - pair[0]) / 1_000_000).collect()
}

#[test]
fn two_retries_are_three_runs_with_pauses_that_double() {
    let rules = "workflow: {gates: [{id: work, role: worker, maxRetries: 2, onFailure: work, onExhausted: $fail, run: {retry: {delay: 300ms}}}]}\n";
    let env = project_of(rules, &[("coder", "worker", "attempts: 3", FAILING)]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id]);
    assert_eq!(stand(&env, &id), "failed - -", "{}", history(&env, &id));
    let pauses = pauses(&env);
    assert_eq!(pauses.len(), 2, "three runs in all: {pauses:?}");
    assert!(pauses[0] >= 300 && pauses[1] >= 600, "{pauses:?}");
    // Attempts at such a gate would multiply the runs.
    env.edit("project.yaml", "run: {", "run: {attempts: 2, ");
    let output = env.aof(&["workflow", "validate"]).code(6);
    assert!(output.to_string().contains("`run.attempts` would multiply the runs"), "{output}");
}

#[test]
fn the_pause_also_comes_if_an_earlier_gate_tries_first() {
    let rules = "\
workflow:
  gates:
    - {id: plan, role: planner}
    - {id: work, role: worker, maxRetries: 2, onFailure: plan, onExhausted: $fail, run: {retry: {delay: 800ms}}}
";
    let env =
        project_of(rules, &[("planner", "planner", "", DONE), ("coder", "worker", "", FAILING)]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id]);
    assert_eq!(stand(&env, &id), "failed - -", "{}", history(&env, &id));
    let pauses = pauses(&env);
    assert!(pauses.len() == 2 && pauses[0] >= 800 && pauses[1] >= 1600, "{pauses:?}");
}

#[test]
fn without_a_way_for_failures_attempts_count() {
    let rules = "workflow: {gates: [{id: work, role: worker}]}\n";
    let run = "attempts: 3, retry: {delay: 200ms}";
    let env = project_of(rules, &[("coder", "worker", run, FAILING)]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id]);
    assert_eq!(stand(&env, &id), "blocked work -");
    let pauses = pauses(&env);
    assert!(pauses.len() == 2 && pauses[0] >= 200 && pauses[1] >= 400, "{pauses:?}");
}

#[test]
fn a_branch_with_a_failing_program_takes_the_error_route() {
    let file = json!({"id": "checks", "steps": [
        {"id": "build", "agent": "builder", "on_success": "checks", "on_error": "end"},
        {"id": "checks", "type": "parallel", "agents": ["tester", "linter"], "on_success": "end", "on_error": "build", "max_retries": 1},
    ]});
    let failing = |name: &str| if name == "linter" { "exit 1\n" } else { DONE };
    let agents = ["builder", "tester", "linter"].map(|name| (name, name, "", failing(name)));
    let env = project_of("project: {name: demo}\n", &agents);
    env.write("checks.json", file.to_string());
    let _ = env.aof(&["workflow", "import", "checks.json"]).success();
    let id = env.new_task(&["Add login", "--workflow", "checks"]);
    for _ in 0..3 {
        let _ = env.aof(&["run", "--task", &id, "--once"]);
    }
    let visits = history(&env, &id);
    assert!(visits.contains("linter failed"), "{visits}");
    assert_eq!(stand(&env, &id), "ready build -", "{visits}");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_condition_that_cannot_be_evaluated_blocks_the_task() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: big, type: condition, when: context.work.tier.startsWith('2'), routes: {true: review, false: $end}}
    - {id: review, role: worker}
";
    let env = project_of(rules, &[("coder", "worker", "", "")]);
    let id = env.new_task(&["Add login"]);
    let output = env.complete(&id, "coder").success();
    assert!(output.stderr.contains("the task is blocked there"), "{output}");
    assert_eq!(stand(&env, &id), "blocked big -", "{}", history(&env, &id));
    let output = env.aof(&["task", "unblock", &id]).success();
    assert!(output.stdout.contains("unblocked, and blocked again at once"), "{output}");
    let blocker = shown(&env, &id)["blockers"][0].as_str().unwrap().to_owned();
    assert!(
        blocker.starts_with("The condition cannot be evaluated: ")
            && blocker.ends_with(": context.work.tier.startsWith('2')"),
        "{blocker}"
    );
    let why = env.aof(&["why", &id]);
    assert!(why.to_string().contains("The condition cannot be evaluated"), "{why}");
    // Mended, it is evaluated again.
    env.edit("project.yaml", "context.work.tier.startsWith('2')", "context.work === undefined");
    env.commit_all("mend");
    let _ = env.aof(&["task", "unblock", &id]).success();
    assert_eq!(stand(&env, &id), "ready review -", "{}", history(&env, &id));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn sessions_come_from_agents_that_have_one() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: worker, separateFrom: {gates: [work], by: session}}
";
    let env = project_of(rules, &[("coder", "worker", "", DONE), ("other", "worker", "", "")]);
    let begin = || {
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "coder").success();
        id
    };
    // A session that a completion only claims to have is none: the agents are compared, and no session helps.
    let id = begin();
    let ticket = format!("{id}@1");
    let output = env.say(&ticket, "coder", "complete", &["--meta", "session=mine"]).code(4);
    assert!(output.stderr.contains("leave it to another agent of the role"), "{output}");
    assert!(!output.stderr.contains("AOF_SESSION"), "{output}");
    let why = env.aof(&["why", &id]).success();
    assert!(why.stdout.contains("other") && !why.stdout.contains("coder,"), "{why}");
    let _ = env.complete(&ticket, "other").success();
    // Each run, each connection, and what the environment names is one.
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id, "--agent", "coder"]);
    let _ = env.aof(&["run", "--task", &id]);
    assert_eq!(stand(&env, &id), "complete - -", "{}", history(&env, &id));
    let id = env.new_task(&["Add login"]);
    for call in [
        json!({"outcome": "complete", "summary": "x", "task": format!("{id}@0")}),
        json!({"outcome": "complete", "summary": "x", "task": format!("{id}@1")}),
    ] {
        let mut client = McpClient::of(&env, "coder");
        client.call("aof_task_complete", call);
    }
    assert_eq!(stand(&env, &id), "complete - -");
    let id = env.new_task(&["Add login"]);
    let complete = |visit: usize, session: &str| {
        let ticket = format!("{id}@{visit}");
        let args = [
            "task",
            "complete",
            &ticket,
            "--agent",
            "coder",
            "--outcome",
            "complete",
            "--summary",
            "x",
        ];
        let mut command = env.aof_command(&args);
        command.env("AOF_SESSION", session);
        env.run(command)
    };
    let _ = complete(0, "morning").success();
    let output = complete(1, "morning").code(4);
    assert!(output.stderr.contains("AOF_SESSION"), "{output}");
    let _ = complete(1, "evening").success();
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn an_agent_without_a_session_is_not_offered_the_next_gate() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: worker, separateFrom: {gates: [work], by: session}}
";
    let env = project_of(rules, &[("coder", "worker", "", DONE)]);
    let output = env.aof(&["workflow", "validate"]).success();
    let text = output.to_string();
    assert!(
        text.contains(
            "nobody can complete gate `review` after work at `work` that names no session"
        ),
        "{text}"
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "coder").success();
    let why = env.aof(&["why", &id, "--json"]).success();
    assert!(
        !why.stdout.contains("coder can") && !why.stdout.contains("\"agents\":[\"coder\"]"),
        "{why}"
    );
    let next = env.aof(&["task", "next", "--agent", "coder"]);
    assert!(!next.stdout.contains(&id), "{next}");
    let run = env.aof(&["run", "--task", &id]);
    assert_eq!(stand(&env, &id), "ready review -", "{run}\n{}", history(&env, &id));
    assert_eq!(shown(&env, &id)["gateHistory"].as_array().unwrap().len(), 1);
}

#[test]
fn a_gate_that_nobody_can_pass_is_named() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: worker, separateFrom: [work]}
";
    let env = project_of(rules, &[("coder", "worker", "", "")]);
    let output = env.aof(&["workflow", "validate"]);
    let text = output.to_string();
    assert!(
        text.contains("nobody can complete gate `review`") && text.contains("`coder`"),
        "{text}"
    );
    env.edit("org.yaml", "[coder]", "[coder, critic]");
    env.edit("org.yaml", "agents:\n", "agents:\n  critic: {}\n");
    let output = env.aof(&["workflow", "validate"]).success();
    assert!(!output.to_string().contains("nobody can complete"), "{output}");
}
