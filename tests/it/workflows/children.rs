//! Tasks that are parts of others, and gates that wait for them.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

const WAITS: &str = "\
workflow:
  gates:
    - {id: plan, role: planner}
    - {id: integrate, role: planner, waitFor: children, canReject: true}
    - {id: release, role: planner}
";

const PEOPLE: &str = "roles: {planner: {agents: [agent-p, agent-q]}}\n";

/// Returns a project with a task that waits for children.
fn environment() -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(WAITS, PEOPLE);
    let parent = env.new_task(&["Feature"]);
    let _ = env.complete(&parent, "agent-p").success();
    (env, parent)
}

/// Takes a task through all three gates.
fn finish(env: &TestEnvironment, id: &str) {
    for visit in 0..3 {
        let _ = env.complete(&format!("{id}@{visit}"), "agent-p");
    }
}

#[test]
fn a_parent_passes_once_its_children_are_complete_or_cancelled() {
    let (env, parent) = environment();
    let first = env.new_task(&["Part one", "--parent", &parent]);
    let second = env.new_task(&["Part two", "--parent", &parent]);
    assert_snapshot!(env.say(&parent, "agent-q", "complete", &[]), @"
    exit 4
    --- stderr
    error: gate `integrate` waits for the children of task `AOF-xxxxx`: `AOF-xxxxx` (ready), `AOF-xxxxx` (ready)

    hint: say it again once they are complete or cancelled: `aof why AOF-xxxxx`
    ");
    let _ = env.say(&parent, "agent-p", "blocked", &["--blocker", "no staging server"]).success();
    let _ = env.aof(&["task", "unblock", &parent]).success();
    finish(&env, &first);
    let _ = env.aof(&["task", "cancel", &second, "--reason", "not needed"]).success();
    let _ = env.say(&parent, "agent-q", "complete", &[]).success();
    let text = env.task_text(&parent);
    let kept = text.split("    children:").nth(1).unwrap().split("    workflow").next().unwrap();
    let mut states = [format!("      {first}: complete"), format!("      {second}: cancelled")];
    states.sort();
    assert_eq!(kept, format!("\n{}\n", states.join("\n")));
    check(&env);
    let _ = env.aof(&["verify"]).success();
}
