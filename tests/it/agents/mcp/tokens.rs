//! `aof mcp token`: tokens by which agents act over HTTP.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{WITH_BOSS, WITH_PERSON};

fn tokens(env: &TestEnvironment, args: &[&str]) -> String {
    env.aof(&[&["mcp", "token"], args].concat()).success().stdout
}

#[test]
fn an_agent_gets_one_token_which_is_shown_once() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    assert_snapshot!(tokens(&env, &["--list"]), @"
    no agent has a token; `aof mcp token AGENT` creates one
    ");
    assert_snapshot!(tokens(&env, &["agent-7"]), @r#"
    The token of agent-7, shown only now:

      aof_TOKEN

    Where `aof serve` runs, Claude Code uses it like this:

      claude mcp add --transport http aof http://localhost:7420/mcp --header "Authorization: Bearer aof_TOKEN"
    "#);
    assert!(
        tokens(&env, &["agent-7"]).contains("shown only now; the one before it no longer counts")
    );
    // As it is printed: other outputs have a stand-in.
    let created = env.aof_command(&["mcp", "token", "agent-3", "--json"]).output().unwrap();
    let created: Value = serde_json::from_slice(&created.stdout).unwrap();
    let token = created["token"].as_str().unwrap();
    assert!(token.starts_with("aof_") && token.len() == 54, "{token}");
    let file = env.path(".aof/tokens.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(!env.read(".aof/tokens.json").contains(token));
    assert_snapshot!(tokens(&env, &["--list"]), @"
    AGENT    CREATED
    agent-3  Feb 16, 10:00
    agent-7  Feb 16, 10:00
    ");
    assert_snapshot!(tokens(&env, &["--revoke", "agent-7"]), @"
    The token of agent-7 no longer counts.
    ");
    let listed = env.aof(&["mcp", "token", "--list", "--json"]).success().json();
    assert_eq!(listed["tokens"].as_array().unwrap().len(), 1);
    assert_eq!(listed["tokens"][0]["agent"], "agent-3");
    // The name of the agent in the environment is another matter.
    let mut command = env.aof_command(&["mcp", "token", "agent-8"]);
    command.env("AOF_AGENT", "agent-3");
    assert!(env.run(command).success().stdout.contains("The token of agent-8"));
}

#[test]
fn people_and_strangers_get_none() {
    let org = WITH_BOSS.replace("agents: [human-ada]", "agents: [human-ada, agent-9]");
    let env = TestEnvironment::with_rules(
        WITH_PERSON,
        &org.replace("boss: {", "boss: {requireHuman: true, "),
    );
    let refused =
        |args: &[&str], code| env.aof(&[&["mcp", "token"], args].concat()).code(code).stderr;
    assert_snapshot!(refused(&["human-ada"], 4), @"
    error: `human-ada` is a person, or has only roles for people: tokens are for agents

    hint: people log in; `aof org show` shows who is in which role
    ");
    assert_snapshot!(refused(&["agent-9"], 4), @"
    error: `agent-9` is a person, or has only roles for people: tokens are for agents

    hint: people log in; `aof org show` shows who is in which role
    ");
    assert_snapshot!(refused(&["agnt-7"], 3), @"
    error: there is no agent `agnt-7`

    hint: did you mean `agent-7`?
    ");
    assert_snapshot!(refused(&["--revoke", "agent-8"], 4), @"
    error: `agent-8` has no token

    hint: see `aof mcp token --list`
    ");
    assert!(refused(&[], 2).contains("AGENT"));
    assert!(!env.exists(".aof/tokens.json") || env.read(".aof/tokens.json") == "{}");
}
