//! Runners that are killed, stopped or not alone, and tasks that are taken out of an agent's hands.

use std::process::Child;

use insta::assert_snapshot;

use crate::support::checker::{check, check_after_kills};
use crate::support::environment::{TestEnvironment, eventually};
use crate::support::scripted_agents::{
    DONE, at_home, endings, history, line_at_home, lives, one_gate, project_of, prompt, records,
    said_at_home, send, stand,
};

/// Works for ever, with another program beside it, the first time; later it is done at once.
const ENDLESS: &str = "\
echo x >> \"$HOME/calls\"
[ -e \"$HOME/go\" ] && { echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}' > \"$AOF_OUTPUT\"; exit 0; }
echo begun > half.txt
sleep 600 &
echo $! > \"$HOME/other\"
echo $$ > \"$HOME/pid\"
wait
";

/// A task that somebody works at, and the runner.
fn at_work(env: &TestEnvironment) -> (String, Child) {
    let id = env.new_task(&["Add login"]);
    let runner = env.start(&["run", "--task", &id]);
    line_at_home(env, "pid");
    (id, runner)
}

fn kill(mut runner: Child) {
    runner.kill().unwrap();
    runner.wait().unwrap();
}

fn are_gone(env: &TestEnvironment) {
    for name in ["pid", "other"] {
        let pid = line_at_home(env, name);
        eventually("the agent is ended, and what it had started", || !lives(&pid));
    }
}

#[test]
fn processes_of_a_killed_runner_end_and_the_work_goes_on() {
    let env = one_gate("", ENDLESS);
    let (id, runner) = at_work(&env);
    eventually("the record knows the group", || {
        records(&env, &format!("{id}@0")).first().is_some_and(|record| record["group"].is_object())
    });
    kill(runner);
    assert!(lives(&line_at_home(&env, "pid")) && lives(&line_at_home(&env, "other")));
    assert_eq!(stand(&env, &id), "in_progress work coder");
    std::fs::write(at_home(&env, "go"), "").unwrap();
    let output = env.aof(&["run", "--task", &id]).success();
    let ended = output.stderr.lines().next().unwrap();
    assert!(ended.ends_with("and its runner was killed; it was ended"), "{ended}");
    let rest: String = output.stderr.split_inclusive('\n').skip(1).collect();
    assert_snapshot!(crate::support::scripted_agents::timeless(&rest), @"
    Step 1/1: work: coder at AOF-xxxxx@0
    AOF-xxxxx: work → done after TIME: Did it
    ");
    are_gone(&env);
    assert_snapshot!(endings(&env, &format!("{id}@0")), @"
    lost: its runner was killed
    verdict complete by file
    ");
    let printed = prompt(&env, &format!("{id}@0"), 2);
    assert_snapshot!(printed.split("\n# ").next().unwrap(), @"
    ## Another attempt

    This is attempt 1 of 2. The attempt before was interrupted, and does not count: its runner was killed.
    Do not begin again: look at what is there, keep what is good, and finish it.

    It left these files behind, which are not committed:

    - new half.txt
    ");
    assert_eq!(said_at_home(&env, "calls"), "x\nx\n");
    assert_eq!(history(&env, &id).lines().count(), 1);
    check(&env);
}

#[test]
fn a_program_that_outlived_its_runner_is_reported_and_ended() {
    for ends in [&["doctor", "--fix"][..], &["run", "--agent", "other"]] {
        let agents = [("coder", "worker", "", ENDLESS), ("other", "other", "", DONE)];
        let env = project_of("workflow: {gates: [{id: work, role: worker}]}\n", &agents);
        let (id, runner) = at_work(&env);
        let record = || records(&env, &format!("{id}@0")).into_iter().next();
        eventually("the record knows the group", || {
            record().is_some_and(|record| record["group"].is_object())
        });
        let doctor = |more: &[&str]| env.aof(&[&["doctor", "--json"], more].concat()).stdout;
        assert!(!doctor(&[]).contains("agent_outlived_runner"), "its runner lives");
        kill(runner);
        let pid = line_at_home(&env, "pid");
        let words = format!("`coder` runs on at AOF-xxxxx@0, as process {pid}");
        let status = env.aof(&["status"]).success();
        assert!(status.stdout.contains(&words), "{status}");
        assert!(doctor(&["--fix", "--dry-run"]).contains("agent_outlived_runner"));
        let watched = env.aof(&["watch", "--once"]);
        assert!(watched.to_string().contains(&words), "{watched}");
        assert!(lives(&pid), "whoever only looks ends nothing");
        let _ = env.aof(ends);
        are_gone(&env);
        assert_eq!(endings(&env, &format!("{id}@0")), "lost: its runner was killed\n");
        assert!(!doctor(&[]).contains("agent_outlived_runner"));
        check(&env);
    }
}

/// A number of a process that is another one's by now is left alone.
#[test]
fn another_process_of_the_same_number_is_not_ended() {
    let env = one_gate("", ENDLESS);
    let (id, runner) = at_work(&env);
    let path = format!(".aof/runs/{id}@0/1/run.json");
    eventually("the record knows the group", || {
        records(&env, &format!("{id}@0")).first().is_some_and(|record| record["group"].is_object())
    });
    kill(runner);
    let mut record = records(&env, &format!("{id}@0")).remove(0);
    record["group"]["started"] = "another time".into();
    env.write(&path, record.to_string());
    assert!(!env.aof(&["doctor", "--fix", "--json"]).stdout.contains("agent_outlived_runner"));
    assert!(lives(&line_at_home(&env, "pid")));
    for name in ["pid", "other"] {
        let pid = line_at_home(&env, name);
        let status = std::process::Command::new("kill").args(["-KILL", &pid]).status();
        assert!(status.unwrap().success());
    }
}

/// The agent ends by itself while its runner is stopped, and the runner is killed. Returns the task.
fn ended_unseen(answer: &str) -> (TestEnvironment, String) {
    let script = format!(
        "echo x >> \"$HOME/calls\"\necho $$ > \"$HOME/pid\"\nuntil [ -e \"$HOME/go\" ]; do sleep 0.01; done\necho '{answer}' > \"$AOF_OUTPUT\"\n"
    );
    let env = one_gate("", &script);
    let (id, runner) = at_work(&env);
    eventually("the record knows the group", || {
        records(&env, &format!("{id}@0")).first().is_some_and(|record| record["group"].is_object())
    });
    send("STOP", &runner);
    std::fs::write(at_home(&env, "go"), "").unwrap();
    let pid = line_at_home(&env, "pid");
    eventually("the agent has ended", || !lives(&pid));
    kill(runner);
    (env, id)
}

#[test]
fn a_block_counts_that_nobody_was_there_to_hear() {
    let (env, id) = ended_unseen(
        "{\"outcome\": \"blocked\", \"summary\": \"No way on\", \"blockers\": [\"No access\"]}",
    );
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(said_at_home(&env, "calls"), "x\n", "it is done once");
    assert_snapshot!(history(&env, &id), @"work coder blocked [file] No way on");
    assert_eq!(endings(&env, &format!("{id}@0")), "verdict blocked by file\n");
    check(&env);
}

/// Nobody knows whether the program ended well, nor whether the answer was whole.
#[test]
fn a_pass_does_not_count_that_nobody_was_there_to_hear() {
    let (env, id) = ended_unseen("{\"outcome\": \"complete\", \"summary\": \"Did it all alone\"}");
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(said_at_home(&env, "calls"), "x\nx\n", "it is done again");
    assert_eq!(history(&env, &id).lines().count(), 1);
    check(&env);
}

/// The runner is killed while it completes: what was said is neither lost nor said twice.
#[cfg(debug_assertions)]
#[test]
fn a_runner_that_is_killed_while_it_hands_in_an_answer_loses_nothing() {
    for point in [
        "ops.prepared",
        "ops.intent-written",
        "git.objects-written",
        "git.ref-moved",
        "ops.settled",
    ] {
        let env = one_gate("", &format!("echo x >> \"$HOME/calls\"\n{DONE}"));
        let id = env.new_task(&["Add login"]);
        // The first change is the claim.
        let mut command = env.aof_command(&["run", "--task", &id]);
        command.env("AOF_STOP_AT", format!("{point}:2"));
        let killed = env.run(command);
        assert_eq!(killed.code, None, "{point}: {killed}");
        let again = env.aof(&["run", "--task", &id]);
        assert_eq!(again.code, Some(0), "{point}: {again}");
        assert_eq!(said_at_home(&env, "calls"), "x\n", "{point}: it is done once");
        assert_eq!(history(&env, &id).lines().count(), 1, "{point}");
        // The next change settles what a kill left half done.
        let _ = env.new_task(&["Another"]);
        check_after_kills(&env);
    }
}

#[test]
fn one_of_two_runners_works_and_the_other_names_it() {
    let env = one_gate("", ENDLESS);
    let (id, runner) = at_work(&env);
    let other = env.aof(&["run", "--task", &id]).code(7);
    let text = other.to_string().replace(&runner.id().to_string(), "PID");
    assert_snapshot!(text, @"
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    AOF-xxxxx@0 work: `aof run` (process PID, since Feb 16, 10:00) runs it
    ");
    let other = env.aof(&["run", "--agent", "coder"]).success();
    assert_snapshot!(other.to_string().replace(&runner.id().to_string(), "PID"), @"
    exit 0
    --- stdout
    nothing is left to do, 0 visits
    --- stderr
    note: AOF-xxxxx@0: `aof run` (process PID, since Feb 16, 10:00) runs it
    ");
    assert_eq!(said_at_home(&env, "calls"), "x\n");
    send("INT", &runner);
    let _ = env.finish("run", runner).code(130);
}

#[test]
fn an_agent_at_its_limit_in_another_runner_gets_nothing() {
    let env = one_gate("", ENDLESS);
    env.edit("org.yaml", "coder: {run:", "coder: {maxTasks: 1, run:");
    env.commit_all("one at a time");
    let (_, runner) = at_work(&env);
    let _ = env.new_task(&["Another"]);
    let other = env.aof(&["run", "--agent", "coder"]).success();
    assert_eq!(other.stdout, "nothing is left to do, 0 visits\n");
    assert!(other.stderr.contains("runs it"), "{other}");
    send("INT", &runner);
    let _ = env.finish("run", runner).code(130);
}

#[test]
fn a_claim_that_would_end_is_renewed_while_its_agent_works() {
    // It works until its claim has been renewed.
    let script =
        format!("until git log --format=%s | grep -q renewed; do sleep 0.05; done\n{DONE}");
    let env = one_gate("", &script);
    env.edit("project.yaml", "role: worker", "role: worker, lease: 3s");
    env.commit_all("lease");
    let on_time = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.env_remove("AOF_NOW");
        env.run(command).success()
    };
    let _ = on_time(&["task", "new", "Add login"]);
    let _ = on_time(&["run", "--agent", "coder"]);
    assert_snapshot!(env.log(), @"
    coder: AOF-xxxxx: work -> end (complete)
    coder: AOF-xxxxx: renewed by coder at work
    coder: AOF-xxxxx: claimed by coder at work
    Ada: AOF-xxxxx: created at work
    Ada: lease
    Ada: rules
    ");
    check(&env);
}

#[test]
fn a_stopped_runner_ends_its_agent_and_gives_its_task_back() {
    for signal in ["INT", "TERM"] {
        insta::allow_duplicates! {
        let env = one_gate("", ENDLESS);
        let (id, runner) = at_work(&env);
        assert_eq!(stand(&env, &id), "in_progress work coder");
        send(signal, &runner);
        let output = env.finish("run", runner).code(130);
        assert_eq!(output.stdout, "AOF-xxxxx: stopped; the task files say where it goes on\n");
        are_gone(&env);
        assert_eq!(stand(&env, &id), "ready work -");
        assert_eq!(endings(&env, &format!("{id}@0")), "stopped\n");
        // It is no attempt that failed, and what it left is told.
        std::fs::write(at_home(&env, "go"), "").unwrap();
        let _ = env.aof(&["run", "--task", &id]).success();
        let printed = prompt(&env, &format!("{id}@0"), 2);
        assert_snapshot!(printed.split("\n# ").next().unwrap(), @"
        ## Another attempt

        This is attempt 1 of 2. The attempt before was interrupted, and does not count: somebody stopped it.
        Do not begin again: look at what is there, keep what is good, and finish it.

        It left these files behind, which are not committed:

        - new half.txt
        ");
        check(&env);
        }
    }
}

#[test]
fn a_claim_from_before_the_run_is_kept() {
    let env = one_gate("", ENDLESS);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "coder"]).success();
    let runner = env.start(&["run", "--agent", "coder"]);
    line_at_home(&env, "pid");
    send("TERM", &runner);
    let _ = env.finish("run", runner).code(130);
    assert_eq!(stand(&env, &id), "in_progress work coder");
}

/// Does something to a task while somebody works at it; nothing of that work counts.
fn taken_away(act: &[&str]) -> String {
    let rules = "workflow: {gates: [{id: work, role: worker}, {id: review, role: reviewer}]}\n";
    let script = format!("{DONE}{ENDLESS}");
    let env = project_of(
        rules,
        &[
            ("coder", "worker", "", &script),
            ("typist", "worker", "", ""),
            ("critic", "reviewer", "", ""),
        ],
    );
    let (id, runner) = at_work(&env);
    let words: Vec<&str> =
        act.iter().map(|word| if *word == "ID" { id.as_str() } else { *word }).collect();
    let _ = env.aof(&words).success();
    let output = env.finish("run", runner);
    are_gone(&env);
    assert_eq!(history(&env, &id).matches("Did it").count(), 0);
    check(&env);
    format!("{}\n{output}{}", stand(&env, &id), endings(&env, &format!("{id}@0")))
}

#[test]
fn cancelling_a_task_ends_its_agent() {
    assert_snapshot!(taken_away(&["task", "cancel", "ID", "--reason", "Not wanted"]), @"
    cancelled - -
    exit 1
    --- stdout
    AOF-xxxxx: cancelled: Not wanted
    --- stderr
    Step 1/2: work: coder at AOF-xxxxx@0
    overtaken: the visit was ended: cancelled
    ");
}

#[test]
fn moving_a_task_ends_its_agent() {
    assert_snapshot!(taken_away(&["task", "override", "ID", "--to", "review", "--reason", "Good enough"]), @"
    ready review -
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    Step 1/2: work: coder at AOF-xxxxx@0
    AOF-xxxxx@1 review: waits for `critic`: org.yaml does not say how to start any of them (`run`)
    overtaken: the visit was ended: override
    ");
}

#[test]
fn reassigning_a_task_ends_its_agent() {
    assert_snapshot!(taken_away(&["task", "assign", "--claim", "ID", "typist"]), @"
    in_progress work typist
    exit 7
    --- stdout
    AOF-xxxxx: waits, 0 visits so far
    --- stderr
    Step 1/2: work: coder at AOF-xxxxx@0
    AOF-xxxxx@0 work: `typist` has it now
    overtaken: `typist` has it now
    ");
}

#[test]
fn holding_a_task_ends_its_agent() {
    let env = one_gate("", ENDLESS);
    let (id, runner) = at_work(&env);
    let _ = env.aof(&["task", "hold", &id, "--reason", "Wait for legal"]).success();
    let _ = env.finish("run", runner).code(7);
    are_gone(&env);
    assert_eq!(
        endings(&env, &format!("{id}@0")),
        "overtaken: a person holds the task\n",
        "no attempt is used up"
    );
    assert_eq!(history(&env, &id), "");
}

/// One agent breaks its own task file; the other's work is not its matter.
#[test]
fn a_task_that_cannot_be_read_any_more_stops_no_other() {
    let rules = "workflow: {gates: [{id: work, role: worker}]}\n";
    let breaks = "printf 'no: [yaml' > \"tasks/${AOF_TASK%@*}.md\"\n";
    let env =
        project_of(rules, &[("breaker", "worker", "", breaks), ("coder", "worker", "", DONE)]);
    env.new_task(&["One"]);
    env.new_task(&["Two"]);
    let run = env.aof(&["run", "--agent", "breaker", "--agent", "coder"]).code(7);
    assert!(run.stdout.contains("1 visit, and AOF-xxxxx@0 waits: "), "{run}");
    assert!(run.stderr.contains("coder at "), "{run}");
}

#[test]
fn a_visit_that_came_to_nothing_is_a_failure_of_the_run() {
    let env = one_gate("attempts: 1", "exit 3\n");
    env.new_task(&["Add login"]);
    let run = env.aof(&["run", "--agent", "coder", "--json"]).code(1);
    let last: serde_json::Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(last["success"], false, "{run}");
    assert!(last["error"].as_str().unwrap().contains("@0 failed"), "{run}");
}
