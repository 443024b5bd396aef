//! Agents that are shell scripts: what runners start in these tests. `$1` of each is the path of `aof`, and what it leaves in
//! `$HOME` is out of the project's way.

use std::fs;
use std::path::PathBuf;
use std::process::Child;

use serde_json::Value;

use crate::support::environment::{Output, TestEnvironment, eventually};

/// Says in the file that everything went well.
pub(crate) const DONE: &str =
    "echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}' > \"$AOF_OUTPUT\"\n";

/// Returns a project with this `project.yaml` and these agents: each with its role, what else stands in its `run`, and its
/// script. Nobody waits long for another attempt, nor works for ever.
pub(crate) fn project_of(rules: &str, agents: &[(&str, &str, &str, &str)]) -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    let mut roles: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut known = String::new();
    for (agent, role, run, script) in agents {
        match roles.iter_mut().find(|(name, _)| name == role) {
            Some((_, members)) => members.push(agent),
            None => roles.push((role, vec![agent])),
        }
        if script.is_empty() {
            known += &format!("  {agent}: {{maxTasks: 5}}\n");
            continue;
        }
        env.write(&format!("agents/{agent}.sh"), script);
        let usual = [("timeout:", "timeout: 30s"), ("retry:", "retry: {delay: 1s}")];
        let unsaid = usual.iter().filter(|(word, _)| !run.contains(word)).map(|(_, usual)| *usual);
        let bounds: Vec<&str> = unsaid.chain([*run]).filter(|text| !text.is_empty()).collect();
        let command = format!("[sh, agents/{agent}.sh, \"{{aof}}\"]");
        known += &format!("  {agent}: {{run: {{command: {command}, {}}}}}\n", bounds.join(", "));
    }
    let roles: String = roles
        .iter()
        .map(|(role, members)| format!("  {role}: {{agents: [{}]}}\n", members.join(", ")))
        .collect();
    env.write("project.yaml", rules);
    env.write("org.yaml", format!("roles:\n{roles}agents:\n{known}"));
    env.commit_all("rules");
    env
}

/// One gate, and one agent for it.
pub(crate) fn one_gate(run: &str, script: &str) -> TestEnvironment {
    project_of(
        "workflow: {gates: [{id: work, role: worker}]}\n",
        &[("coder", "worker", run, script)],
    )
}

/// A gate that rejects, behind the work of somebody who always does it.
pub(crate) fn review(run: &str, script: &str) -> TestEnvironment {
    let rules = "workflow: {gates: [{id: work, role: worker}, {id: review, role: reviewer, canReject: true}]}\n";
    project_of(rules, &[("coder", "worker", "", DONE), ("critic", "reviewer", run, script)])
}

/// Makes a task, has it worked at, and returns its id with what was said.
pub(crate) fn worked(env: &TestEnvironment) -> (String, Output) {
    let id = env.new_task(&["Add login"]);
    let output = env.aof(&["run", "--task", &id]);
    (id, output)
}

/// Returns the records of a visit, the first attempt first.
pub(crate) fn records(env: &TestEnvironment, visit: &str) -> Vec<Value> {
    let record =
        |number: usize| fs::read(env.path(&format!(".aof/runs/{visit}/{number}/run.json")));
    let found = (1..).map_while(|number| record(number).ok());
    // One that is just being begun says nothing yet.
    found.map_while(|bytes| serde_json::from_slice(&bytes).ok()).collect()
}

/// Returns how the attempts of a visit ended: `crash: why`.
pub(crate) fn endings(env: &TestEnvironment, visit: &str) -> String {
    let one = |record: &Value| {
        let end = &record["end"];
        let how = end["how"].as_str().unwrap_or("open");
        let verdict = end["verdict"].as_object();
        let verdict = verdict.map(|verdict| {
            format!(
                " {} by {}",
                verdict["outcome"].as_str().unwrap(),
                verdict["source"].as_str().unwrap()
            )
        });
        let reason = end["reason"].as_str().map(|reason| format!(": {reason}")).unwrap_or_default();
        format!("{how}{}{reason}\n", verdict.unwrap_or_default())
    };
    env.plain(&records(env, visit).iter().map(one).collect::<String>())
}

/// Returns what an attempt was told.
pub(crate) fn prompt(env: &TestEnvironment, visit: &str, attempt: usize) -> String {
    env.plain(&env.read(&format!(".aof/runs/{visit}/{attempt}/prompt.md")))
}

/// Returns the task as programs see it.
pub(crate) fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["task", "show", id, "--json"]).success().json()
}

/// Returns the history: a line for each visit.
pub(crate) fn history(env: &TestEnvironment, id: &str) -> String {
    let task = shown(env, id);
    let one = |visit: &Value| {
        let word = |key: &str| visit[key].as_str().unwrap_or("-").to_owned();
        let source = visit["metadata"]["run"]["verdict"].as_str().unwrap_or("-");
        format!(
            "{} {} {} [{source}] {}\n",
            word("gate"),
            word("agent"),
            word("outcome"),
            word("summary")
        )
    };
    let visits = task["gateHistory"].as_array().map(Vec::as_slice).unwrap_or_default();
    env.plain(&visits.iter().map(one).collect::<String>())
}

/// Returns how a task stands: status, gate, agent.
pub(crate) fn stand(env: &TestEnvironment, id: &str) -> String {
    let task = shown(env, id);
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    format!(
        "{} {} {}",
        word(&task["status"]),
        word(&task["gate"]["current"]),
        word(&task["routing"]["agent"])
    )
}

/// Returns a file in the home of the test's user.
pub(crate) fn at_home(env: &TestEnvironment, name: &str) -> PathBuf {
    env.home().join(name)
}

/// Returns what stands in a file there; nothing while it is not.
pub(crate) fn said_at_home(env: &TestEnvironment, name: &str) -> String {
    fs::read_to_string(at_home(env, name)).unwrap_or_default()
}

/// Waits until a line is whole in a file there, and returns it.
#[track_caller]
pub(crate) fn line_at_home(env: &TestEnvironment, name: &str) -> String {
    eventually(&format!("a line in ~/{name}"), || said_at_home(env, name).ends_with('\n'));
    said_at_home(env, name).trim().to_owned()
}

/// Returns whether a process lives: one that nobody has asked about since it ended does not.
pub(crate) fn lives(pid: &str) -> bool {
    assert!(pid.parse::<u32>().is_ok(), "`{pid}` is no number of a process");
    let status =
        std::process::Command::new("ps").args(["-o", "stat=", "-p", pid]).output().unwrap();
    let state = String::from_utf8_lossy(&status.stdout).trim().to_owned();
    !state.is_empty() && !state.starts_with('Z')
}

/// Sends a signal to a process.
pub(crate) fn send(signal: &str, child: &Child) {
    let status = std::process::Command::new("kill")
        .args([&format!("-{signal}"), &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Makes the same in every run what says how long something took.
pub(crate) fn timeless(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines() {
        let mut words: Vec<&str> = line.split(' ').collect();
        for at in 1..words.len() {
            let (number, colon) =
                words[at].strip_suffix(':').map_or((words[at], false), |word| (word, true));
            let is_time =
                number.strip_suffix('s').is_some_and(|number| number.parse::<u32>().is_ok());
            if words[at - 1] == "after" && is_time {
                words[at] = if colon { "TIME:" } else { "TIME" };
            }
        }
        lines += &words.join(" ");
        lines.push('\n');
    }
    lines
}
