//! A project in which git merges tasks by their meaning, and what is asked of it after a merge.

use crate::support::checker::check_history;
use crate::support::environment::{Output, TestEnvironment};

/// Returns a project in which git merges tasks by their meaning, with a task.
pub(crate) fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::without_rules();
    let _ = env.aof(&["init", "--template", "sdlc"]).success();
    env.write("project.yaml", crate::support::environment::PROJECT);
    env.write("org.yaml", crate::support::environment::ORG);
    env.commit_all("rules");
    let body =
        (1..30).map(|line| format!("What is to be done, part {line}.\n")).collect::<String>();
    let id = env.new_task(&["Add login", "--body", &body]);
    (env, id)
}

/// Does something on another branch that leaves here.
pub(crate) fn aside(env: &TestEnvironment, branch: &str, work: impl FnOnce()) {
    env.git(&["checkout", "-q", "-b", branch]);
    work();
    env.git(&["checkout", "-q", "main"]);
}

/// Returns rules with a fork of two branches behind the work, and these gates behind the fork.
pub(crate) fn forked(then: &str) -> String {
    format!(
        "\
workflow:
  gates:
    - {{id: implement, role: backend}}
    - id: check
      type: fork
      branches:
        - {{id: security, role: backend}}
        - {{id: speed, role: architect}}
{then}"
    )
}

/// A last gate behind the fork.
pub(crate) const THEN_DONE: &str = "    - {id: done, role: backend}\n";

pub(crate) fn entries(env: &TestEnvironment, id: &str) -> Vec<String> {
    let shown = env.aof_aside(&["task", "show", id, "--json"]).success().json();
    let entries = shown["gateHistory"].as_array().unwrap().iter();
    entries
        .map(|entry| {
            format!("{} {} {}", entry["gate"], entry["agent"], entry["outcome"]).replace('"', "")
        })
        .collect()
}

/// Judges the history, by `aof verify` and by the checker that shares no code with it.
pub(crate) fn verified(env: &TestEnvironment) -> Output {
    check_history(env);
    env.aof_aside(&["verify"])
}
