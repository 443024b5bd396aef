//! The order in which a runner takes work, how much at once, and who takes over from an agent that stalls.

use std::fs;

use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{
    DONE, at_home, history, project_of, said_at_home, shown, stand,
};

const ONE_GATE: &str = "workflow: {gates: [{id: work, role: worker}]}\n";

/// Notes who begins and ends, and the most that were at work at once.
fn counting(seconds: &str) -> String {
    format!(
        "cat > /dev/null\necho \"$AOF_TASK $AOF_AGENT\" >> \"$HOME/calls\"\nmkdir -p \"$HOME/now\"\ntouch \"$HOME/now/$AOF_RUN\"\n\
         ls \"$HOME/now\" | wc -l >> \"$HOME/at-once\"\nsleep {seconds}\nrm \"$HOME/now/$AOF_RUN\"\n{DONE}"
    )
}

fn most_at_once(env: &TestEnvironment) -> usize {
    said_at_home(env, "at-once").lines().map(|line| line.trim().parse().unwrap()).max().unwrap_or(0)
}

#[test]
fn the_most_urgent_work_of_all_agents_is_first() {
    let rules = "\
workflows:
  - {name: code, gates: [{id: work, role: worker}]}
  - {name: text, gates: [{id: write, role: writer}]}
defaultWorkflow: code
";
    let script = counting("0");
    let env =
        project_of(rules, &[("coder", "worker", "", &script), ("author", "writer", "", &script)]);
    let new = |title: &str, workflow: &str, priority: &str| {
        env.new_task(&[title, "--workflow", workflow, "--priority", priority])
    };
    let low = new("Low", "code", "low");
    let critical = new("Critical", "text", "critical");
    let high = new("High", "text", "high");
    let usual = new("Usual", "code", "medium");
    let _ = env.aof(&["run", "--agent", "coder", "--agent", "author"]).success();
    let order = [(&critical, "author"), (&high, "author"), (&usual, "coder"), (&low, "coder")];
    let order: String = order.map(|(id, agent)| format!("{id}@0 {agent}\n")).concat();
    assert_eq!(said_at_home(&env, "calls"), order);
    check(&env);
}

#[test]
fn two_runners_keep_to_max_tasks_and_to_the_places_of_a_program() {
    for (run, max_tasks) in [("parallel: 1", ""), ("", ", maxTasks: 1")] {
        let env = project_of(ONE_GATE, &[("coder", "worker", run, &counting("0.2"))]);
        if !max_tasks.is_empty() {
            let org = env.read("org.yaml");
            env.write("org.yaml", org.replace("}}\n", &format!("}}{max_tasks}}}\n")));
            env.commit_all("limits");
        }
        let ids: Vec<String> = (0..6).map(|at| env.new_task(&[&format!("Task {at}")])).collect();
        let runners: Vec<_> =
            (0..2).map(|_| env.start(&["run", "--agent", "coder", "--jobs", "3"])).collect();
        for runner in runners {
            let _ = env.finish("run", runner).success();
        }
        let _ = env.aof(&["run", "--agent", "coder"]).success();
        assert_eq!(most_at_once(&env), 1, "{run}{max_tasks}");
        for id in &ids {
            assert_eq!(stand(&env, id), "complete - -", "{run}{max_tasks}");
        }
        check(&env);
    }
}

#[test]
fn places_are_a_programs_and_others_work_on() {
    let script = counting("0.3");
    let env = project_of(
        ONE_GATE,
        &[
            ("coder", "worker", "parallel: 2", &script),
            ("other", "worker", "env: {WHO: b}", &script),
        ],
    );
    for at in 0..6 {
        let _ = env.new_task(&[&format!("Task {at}")]);
    }
    let _ = env.aof(&["run", "--all", "--jobs", "6"]).success();
    let calls = said_at_home(&env, "calls");
    assert_eq!(calls.lines().count(), 6, "{calls}");
    assert!(calls.contains("coder") && calls.contains("other"), "{calls}");
    check(&env);
}

#[test]
fn an_agent_with_as_many_tasks_as_it_may_have_gets_none_by_name() {
    let env = project_of(ONE_GATE, &[("coder", "worker", "", &counting("0"))]);
    let org = env.read("org.yaml");
    env.write("org.yaml", org.replace("}}\n", "}, maxTasks: 1}\n"));
    env.commit_all("limits");
    let (held, other) = (env.new_task(&["Held"]), env.new_task(&["Other"]));
    let _ = env.aof(&["claim", &held, "--agent", "coder"]).success();
    let output = env.aof(&["run", "--task", &other]).code(7);
    assert!(output.to_string().contains("`coder` may have 1 task at once"), "{output}");
    assert_eq!(stand(&env, &other), "ready work -");
    let _ = env.aof(&["run", "--task", &held]).success();
    let _ = env.aof(&["run", "--task", &other]).success();
}

/// Prints nothing, and so stalls.
const STALLS: &str = "cat > /dev/null\necho \"$AOF_AGENT\" >> \"$HOME/calls\"\nsleep 30\n";

fn stalled(env: &TestEnvironment, id: &str) -> Value {
    shown(env, id)["gateHistory"][0]["metadata"]["run"]["stalled"].clone()
}

#[test]
fn another_agent_of_the_role_tries_what_one_stalled_at() {
    let works = format!("cat > \"$HOME/prompt\"\necho \"$AOF_AGENT\" >> \"$HOME/calls\"\n{DONE}");
    let idle = "attempts: 1, idle: 1s";
    for own in [false, true] {
        let works = if own {
            works.replace(DONE, "\"$1\" complete \"$AOF_TASK\" --agent \"$AOF_AGENT\" --summary \"Did it\" > /dev/null\n")
        } else {
            works.clone()
        };
        let env = project_of(
            ONE_GATE,
            &[("coder", "worker", idle, STALLS), ("second", "worker", "env: {WHO: b}", &works)],
        );
        let id = env.new_task(&["Add login"]);
        let output = env.aof(&["run", "--task", &id]).success();
        assert!(output.stderr.contains("`coder` has failed, and `second` tries it"), "{output}");
        assert_eq!(said_at_home(&env, "calls"), "coder\nsecond\n");
        assert_eq!(stalled(&env, &id), json!(["coder"]), "{}", history(&env, &id));
        assert!(said_at_home(&env, "prompt").contains("it printed nothing for 1 s"));
        // A runner that starts only the one has no other.
        let id = env.new_task(&["Add logout"]);
        let _ = env.aof(&["run", "--agent", "coder"]).code(1);
        assert_eq!(stand(&env, &id), "blocked work -");
        check(&env);
    }
}

#[test]
fn a_task_is_blocked_once_all_agents_of_the_role_stalled() {
    let fails = "cat > /dev/null\necho \"$AOF_AGENT\" >> \"$HOME/calls\"\nexit 3\n";
    let env = project_of(
        ONE_GATE,
        &[
            ("coder", "worker", "attempts: 2, retry: {delay: 10ms}", fails),
            ("second", "worker", "attempts: 1", fails),
        ],
    );
    // Held before the run, it is handed on, too.
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["claim", &id, "--agent", "coder"]).success();
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(said_at_home(&env, "calls"), "coder\ncoder\nsecond\n");
    let visits = history(&env, &id);
    assert!(
        visits.starts_with("work second blocked [attempts] 3 attempts of `coder`, `second` failed"),
        "{visits}"
    );
    assert_eq!(stalled(&env, &id), json!(["coder"]));
    let _ = fs::remove_file(at_home(&env, "calls"));
    let _ = env.aof(&["unblock", &id, "--reason", "Again"]).success();
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(said_at_home(&env, "calls").lines().count(), 3, "each may try again");
    check(&env);
}
