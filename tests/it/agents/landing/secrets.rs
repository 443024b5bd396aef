//! The output of programs that run before a landing and before an agent: secrets are masked before it is cut.

use super::project::{last_entry, project_with, written};
use crate::support::environment::TestEnvironment;

const SECRET: &str = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
/// The agents, one of whom has a secret.
const AGENTS: &str =
    "agents: {coder: {run: {command: [sh, -c, 'true'], secrets: [MY_SECRET], attempts: 1}}}\n";

/// Returns a command that prints the secret, then so many letters.
fn printed(letters: usize) -> String {
    format!("printf %s $MY_SECRET; head -c {letters} /dev/zero | tr \"\\0\" .; exit 1")
}

/// Returns whether a part of the secret is in that text, or in git.
fn is_leaked(env: &TestEnvironment, text: &str) -> bool {
    let log = env.git(&["log", "--all", "--patch"]);
    [&log, text].iter().any(|text| text.contains("89ABCDEF"))
}

#[test]
fn no_part_of_a_secret_is_quoted_from_a_check() {
    let env = project_with("", AGENTS);
    let id = written(&env, "made.txt", "made\n");
    let mut command =
        env.aof_command(&["land", &id, "--agent", "lander", "--check", &printed(8160)]);
    command.env("MY_SECRET", SECRET);
    let _ = env.run(command).code(1);
    let blocker = last_entry(&env, &id)["blockers"][0].to_string();
    assert!(blocker.contains("ended with exit status 1:\\n"), "{blocker}");
    assert!(!is_leaked(&env, &blocker), "{blocker}");
}

#[test]
fn no_part_of_a_secret_is_quoted_from_a_set_up() {
    let setup = format!("workspaces: {{setup: [[sh, -c, '{}']]}}\n", printed(480));
    let env = project_with(&setup, AGENTS);
    let _ = env.new_task(&["Add made"]);
    let mut command = env.aof_command(&["run", "--agent", "coder"]);
    command.env("MY_SECRET", SECRET);
    let said = env.run(command);
    assert!(said.stdout.contains("the set-up of its workspace failed"), "{said}");
    let runs = env.files(".aof/branch/.aof/runs");
    let texts: String = runs.iter().map(|file| env.read(file)).collect();
    assert!(!is_leaked(&env, &format!("{said}{texts}")), "{said}{texts}");
}
