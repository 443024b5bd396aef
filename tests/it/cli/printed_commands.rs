//! Every command that `aof` prints runs as it stands.

use std::collections::BTreeSet;

use crate::support::environment::{Output, TestEnvironment, is_of_a_person, silent_terminal};

/// The commands in what was printed: in backticks, or alone on an indented line, up to its explanation.
fn commands(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.replace("\\\n    ", "").lines() {
        let quoted = line.split('`').skip(1).step_by(2);
        found.extend(quoted.filter(|part| part.starts_with("aof ")).map(str::to_owned));
        let own = line.trim_start();
        if own.len() < line.len() && own.starts_with("aof ") {
            found.insert(own.split("  ").next().unwrap().to_owned());
        }
    }
    found
}

/// Returns whether the text only names a command, as `aof why` does, or waits for ever.
fn is_name(command: &str) -> bool {
    command.split(' ').skip(1).all(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
        && !command.contains(" next")
}

#[test]
fn every_printed_command_runs_as_it_stands() {
    let env = TestEnvironment::new();
    env.hand_made("AOF-abc", "Add login");
    env.hand_made("AOF-def", "Add logout");
    env.hand_made("AOF-fin", "Done");
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    let mut check = |printed: Output| {
        let text = format!("{}\n{}", printed.stdout, printed.stderr);
        for command in commands(&text) {
            if is_name(&command) || !seen.insert((command.clone(), env.head())) {
                continue;
            }
            let copy = env.copy();
            let mut shell = copy.command("sh");
            shell.args(["-c", &command]);
            if is_of_a_person(&command.split(' ').skip(1).collect::<Vec<_>>()) {
                shell.stdin(silent_terminal());
            }
            let ran = copy.run(shell);
            let is_understood = ran.code != Some(2) && !ran.stderr.contains("which agent you are");
            if !is_understood {
                faults.push(format!(
                    "{command}\n    printed by {}\n    {}",
                    printed.command, ran.stderr
                ));
            }
        }
    };
    let say = |id: &str, agent: &str, outcome: &str, more: &[&str]| {
        let mut args = vec!["task", "complete", id, "--agent", agent, "--outcome", outcome];
        args.extend(more);
        env.aof(&args)
    };
    for args in [
        &["status"][..],
        &["task", "list"],
        &["gate", "status"],
        &["doctor"],
        &["org", "show"],
        &["workflow", "show"],
        &["stats"],
    ] {
        check(env.aof(args));
    }
    check(env.aof(&["task", "next"]));
    // The next command that changes a hand-made task puts it at its first gate.
    for id in ["AOF-abc", "AOF-def", "AOF-fin"] {
        let _ = env.aof(&["task", "comment", id, "-m", "Begin"]).success();
    }
    let next = env.aof(&["task", "next", "--agent", "agent-7"]);
    assert!(next.stdout.contains("AOF-abc@0"), "{next}");
    check(next);
    check(env.aof(&["task", "brief", "AOF-abc"]));
    check(env.aof(&["task", "show", "AOF-abc"]));
    check(env.aof(&["why", "AOF-abc"]));
    check(env.aof(&["task", "show", "AOF-nix"]));
    check(env.aof(&["task", "nxt"]));
    // Refusals.
    check(say("AOF-abc", "agent-8", "complete", &["--summary", "x"]));
    check(say("AOF-def", "agent-7", "complete", &["--summary", "x"]));
    check(say("AOF-def", "agent-3", "complete", &["--summary", "x"]));
    check(say("AOF-abc", "agent-7", "complete", &[]));
    check(say("AOF-abc", "agent-7", "approved", &["--summary", "x"]));
    check(say("AOF-abc", "agent-7", "needs_review", &["--summary", "x"]));
    check(say("AOF-abc", "agent-7", "blocked", &["--summary", "x"]));
    check(say(
        "AOF-abc",
        "agent-7",
        "blocked",
        &["--summary", "x", "--blocker", "No access to the key"],
    ));
    check(env.aof(&["why", "AOF-abc"]));
    check(env.aof(&["status"]));
    check(say("AOF-abc", "agent-7", "complete", &["--summary", "x"]));
    check(env.aof(&["task", "next", "--agent", "agent-7"]));
    check(env.aof(&["task", "unblock", "AOF-abc", "--reason", "There is one now"]));
    check(say("AOF-abc@0", "agent-7", "complete", &["--summary", "x"]));
    check(say("AOF-abc@9", "agent-7", "complete", &["--summary", "x"]));
    check(say("AOF-abc", "agent-7", "complete", &["--summary", "Done it"]));
    check(say("AOF-abc", "agent-7", "complete", &["--summary", "Done it"]));
    check(say("AOF-abc", "agent-3", "complete", &[]));
    check(say("AOF-abc", "agent-3", "needs_review", &["--summary", "No"]));
    check(say(
        "AOF-abc",
        "agent-3",
        "needs_review",
        &["--summary", "No", "--blocker", "Tests are missing for login"],
    ));
    check(env.aof(&["task", "next", "--agent", "agent-7"]));
    check(env.aof(&["why", "AOF-abc"]));
    check(env.aof(&["task", "hold", "AOF-def", "--reason", "wait"]));
    check(say("AOF-def", "agent-8", "complete", &["--summary", "x"]));
    check(say("AOF-fin", "agent-8", "complete", &["--summary", "x"]));
    check(say("AOF-fin", "agent-3", "complete", &["--summary", "x"]));
    check(say("AOF-fin", "agent-3", "complete", &["--summary", "x"]));
    check(env.aof(&["task", "unblock", "AOF-fin"]));
    check(env.aof(&["why", "AOF-fin"]));
    check(env.aof(&["task", "override", "AOF-def", "--to", "nix", "--reason", "x"]));
    check(env.aof(&["task", "comment", "AOF-def"]));
    check(env.aof(&["task", "edit", "AOF-def"]));
    check(env.aof(&["task", "assign", "--claim", "AOF-def", "nobody"]));
    check(env.aof(&["workflow", "show", "nix"]));
    assert!(seen.len() > 15, "{seen:?}");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
