//! More than one attempt: how they are bounded, what they are told, and what follows when none comes to anything.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{Output, TestEnvironment, eventually};
use crate::support::scripted_agents::{
    DONE, endings, history, line_at_home, one_gate, project_of, prompt, said_at_home, send, shown,
    stand, timeless, worked,
};

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let env = one_gate("timeout: 1s, attempts: 1", "echo $$ > \"$HOME/pid\"\nsleep 600\n");
    let (id, output) = worked(&env);
    assert_snapshot!(timeless(&output.code(7).to_string()), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 1 visit so far
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: AOF-xxxxx@0: attempt 1 failed: it was not done after 1 s; that was the last one
    AOF-xxxxx: blocked at work: 1 attempt of `coder` failed; the last one: it was not done after 1 s
    AOF-xxxxx@1 work: is blocked: attempt 1: it was not done after 1 s; `aof unblock AOF-xxxxx --reason ...` lets it go on
    ");
    assert_eq!(endings(&env, &format!("{id}@0")), "timeout: it was not done after 1 s\n");
    assert!(!crate::support::scripted_agents::lives(&line_at_home(&env, "pid")));
    assert_eq!(stand(&env, &id), "blocked work -");
}

#[test]
fn a_run_that_says_nothing_for_too_long_is_ended() {
    let env = one_gate("idle: 1s, attempts: 1", "echo begun\nsleep 600\n");
    let (id, output) = worked(&env);
    assert_snapshot!(output.code(7).stderr.lines().nth(1).unwrap(), @"warning: AOF-xxxxx@0: attempt 1 failed: it printed nothing for 1 s; that was the last one");
    assert_eq!(endings(&env, &format!("{id}@0")), "idle: it printed nothing for 1 s\n");
}

#[test]
fn attempts_are_bounded_and_end_in_a_blocked_task_with_their_record() {
    let script = "\
echo x >> \"$HOME/calls\"
[ -e \"$HOME/mended\" ] || { echo \"no server ($AOF_ATTEMPT)\" >&2; exit 3; }
echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}'
";
    let env = one_gate("", script);
    let (id, output) = worked(&env);
    assert_snapshot!(timeless(&output.code(7).to_string()), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 1 visit so far
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: AOF-xxxxx@0: attempt 1 failed: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (1); again in 1s
    Step 1/1: work: coder at AOF-xxxxx@0, attempt 2 of 2
    warning: AOF-xxxxx@0: attempt 2 failed: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2); that was the last one
    AOF-xxxxx: blocked at work: 2 attempts of `coder` failed; the last one: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2)
    AOF-xxxxx@1 work: is blocked: attempt 1: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (1); attempt 2: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2); `aof unblock AOF-xxxxx --reason ...` lets it go on
    ");
    assert_eq!(said_at_home(&env, "calls"), "x\nx\n");
    assert_snapshot!(endings(&env, &format!("{id}@0")), @"
    crash: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (1)
    crash: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2)
    ");
    let task = shown(&env, &id);
    assert_snapshot!(format!("{:#}", task["blockers"]), @r#"
    [
      "attempt 1: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (1)",
      "attempt 2: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2)"
    ]
    "#);
    assert!(task["gateHistory"][0].get("retry").is_none(), "nothing was rejected: {task:#}");
    // A person sets it going: a new visit has its attempts again.
    std::fs::write(env.home().join("mended"), "").unwrap();
    let _ = env.aof(&["task", "unblock", &id, "--reason", "The server is up"]).success();
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(said_at_home(&env, "calls"), "x\nx\nx\n");
    assert_snapshot!(history(&env, &id), @"
    work coder blocked [attempts] 2 attempts of `coder` failed; the last one: `sh agents/coder.sh` ended with exit status 3; the last thing it printed: no server (2)
    work coder complete [structured] Did it
    ");
    check(&env);
}

/// Prints that everything went well.
const ANSWERED: &str = "echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}'\n";

/// Runs an agent that removes the folder of its first two attempts, so that their records cannot be written, and then does the rest.
/// Returns the task's id and the output.
fn without_records(gate: &str, rest: &str) -> (TestEnvironment, String, Output) {
    let script = format!(
        "\
echo x >> \"$HOME/calls\"
at=$(dirname \"$AOF_OUTPUT\")
until grep -q '\"pid\"' \"$at/run.json\"; do :; done
[ $(wc -l < \"$HOME/calls\") -gt 2 ] || rm -r \"$at\"
{rest}"
    );
    let rules = format!("workflow: {{gates: [{{id: work, role: worker{gate}}}]}}\n");
    let env = project_of(&rules, &[("coder", "worker", "attempts: 1", &script)]);
    let (id, output) = worked(&env);
    (env, id, output)
}

#[test]
fn an_attempt_whose_record_cannot_be_kept_is_the_last_of_its_runner() {
    let (env, id, output) = without_records("", "exit 3\n");
    assert_eq!(said_at_home(&env, "calls"), "x\n", "{output}");
    assert_snapshot!(output.code(7), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: AOF-xxxxx@0: attempt 1 failed: `sh agents/coder.sh` ended with exit status 3; that was the last one
    AOF-xxxxx@0 work: the record of the attempt could not be kept: cannot make `$PROJECT/.aof/runs/AOF-xxxxx@0/1/run.json`: no such file or directory (os error 2); see that this file can be written, then run the command again
    ");
    assert_eq!(stand(&env, &id), "ready work -");
    // An answer that is refused is such an attempt, too.
    let gate = ", outputs: {properties: {branch: {type: string}}, required: [branch]}";
    let (env, _, output) = without_records(gate, ANSWERED);
    assert_eq!(said_at_home(&env, "calls"), "x\n", "{output}");
    assert_snapshot!(output.code(7), @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    warning: AOF-xxxxx@0: attempt 1 failed: its verdict was refused: one thing is wrong with the outputs for `complete` at gate `work`; fix this, all at once: - `branch` is missing: it is a text; that was the last one
    AOF-xxxxx@0 work: the record of the attempt could not be kept: cannot make `$PROJECT/.aof/runs/AOF-xxxxx@0/1/run.json`: no such file or directory (os error 2); see that this file can be written, then run the command again
    ");
    check(&env);
}

#[test]
fn a_verdict_counts_without_a_record() {
    let (env, id, output) = without_records("", ANSWERED);
    assert_snapshot!(timeless(&output.success().to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete, 1 visit
    --- stderr
    Step 1/1: work: coder at AOF-xxxxx@0
    AOF-xxxxx: work → done after TIME: Did it
    note: AOF-xxxxx@0: the record of the attempt could not be kept: cannot make `$PROJECT/.aof/runs/AOF-xxxxx@0/1/run.json`: no such file or directory (os error 2)
    ");
    assert_eq!(said_at_home(&env, "calls"), "x\n");
    assert_snapshot!(history(&env, &id), @"work coder complete [structured] Did it");
}

#[test]
fn a_gate_routes_a_task_after_its_agent_failed() {
    let rules = "\
workflow:
  gates:
    - {id: work, role: worker, onFailure: {to: rescue}, run: {attempts: 1}, routes: {complete: {to: $end}}}
    - {id: rescue, role: medic}
";
    let env = project_of(
        rules,
        &[("coder", "worker", "attempts: 5", "exit 3\n"), ("medic", "medic", "", DONE)],
    );
    let (id, output) = worked(&env);
    let _ = output.success();
    assert_snapshot!(history(&env, &id), @"
    work coder failed [attempts] 1 attempt of `coder` failed; the last one: `sh agents/coder.sh` ended with exit status 3
    rescue medic complete [file] Did it
    ");
    check(&env);
}

#[test]
fn attempts_that_failed_count_after_a_restart() {
    let env =
        one_gate("retry: {delay: 1m}", &format!("[ \"$AOF_ATTEMPT\" = 1 ] && exit 3\n{DONE}"));
    let id = env.new_task(&["Add login"]);
    let runner = env.start(&["run", "--task", &id]);
    eventually("the first attempt is over", || {
        endings(&env, &format!("{id}@0")).starts_with("crash")
    });
    send("TERM", &runner);
    let _ = env.finish("run", runner).code(130);
    assert_eq!(stand(&env, &id), "ready work -");
    let output = env.aof(&["run", "--task", &id]).success();
    assert_snapshot!(timeless(&output.stderr), @"
    Step 1/1: work: coder at AOF-xxxxx@0, attempt 2 of 2
    AOF-xxxxx: work → done after TIME: Did it
    ");
    assert!(prompt(&env, &format!("{id}@0"), 2).starts_with(
        "## Another attempt\n\nThis is attempt 2 of 2. The attempt before failed: `sh agents/coder.sh` ended with exit status 3.\n"
    ));
    check(&env);
}

#[test]
fn the_narrowest_bound_counts() {
    let rules = "\
workflow:
  run: {timeout: 3h, idle: 3m, model: wide, attempts: 3}
  gates:
    - {id: work, role: worker, run: {attempts: 7}}
    - {id: review, type: fork, branches: [{id: code, role: worker, run: {model: narrow}}, {id: docs, role: worker}]}
";
    let env = project_of(rules, &[("coder", "worker", "timeout: 2h, attempts: 5", DONE)]);
    let output = env
        .aof(&["--json", "workflow", "run", "default", "--input", "Add login", "--dry-run"])
        .success()
        .json();
    let runs: Vec<String> = output["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| {
            let bounds = ["gate", "timeoutSeconds", "idleSeconds", "attempts", "model"]
                .map(|key| run[key].to_string());
            bounds.join(" ")
        })
        .collect();
    assert_snapshot!(runs.join("\n"), @r#"
    "work" 7200 180 7 "wide"
    "review/code" 7200 180 5 "narrow"
    "review/docs" 7200 180 5 "wide"
    "#);
}
