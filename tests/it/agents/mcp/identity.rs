//! Who acts behind `aof mcp`, and how its wiring is checked.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Era, McpClient, WITH_BOSS, WITH_PERSON, shown};

#[test]
fn who_acts_is_settled_when_the_server_starts() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
    assert_snapshot!(env.aof(&["mcp", "--agent", "human-ada"]), @"
    exit 4
    --- stderr
    error: `human-ada` is a person's, and behind a server is a program

    hint: name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; what a person has to say is said at a terminal, with `aof task complete`
    ");
    assert_eq!(
        env.aof(&["mcp"]).to_string(),
        env.aof(&["mcp", "--agent", "human-ada"]).to_string()
    );
    let mut by_variable = McpClient::start_with(&env, Era::New, &[], &[("AOF_AGENT", "agent-8")]);
    assert_eq!(by_variable.call("aof_status", json!({}))["agent"], "agent-8");

    env.write(
        "org.yaml",
        WITH_BOSS
            .replace("human-ada: {email: ada@example.org}", "human-ada: {}")
            .replace("agent-8: {}", "agent-8: {email: ada@example.org}"),
    );
    env.commit_all("Ada's machine runs agent-8");
    let mut by_git = McpClient::start(&env, Era::Old, &[]);
    assert_eq!(by_git.call("aof_status", json!({}))["agent"], "agent-8");
    by_git.call("aof_task_next", json!({}));
    by_git.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    assert_eq!(env.git(&["log", "-1", "--format=%an %ae"]).trim(), "agent-8 ada@example.org");

    env.git(&["config", "user.email", "nobody@example.org"]);
    let mut nobody = McpClient::start(&env, Era::Old, &[]);
    assert_eq!(nobody.call("aof_task_list", json!({}))["total"], 1);
    assert_snapshot!(shown(&env, &nobody.refused("aof_task_next", json!({}))), @r#"
    {
      "error": "no_agent",
      "message": "it is unknown which agent you are\n\nwhoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml\n\nNo call mends this: tell the person you work for.",
      "nextCall": null
    }
    "#);
    // Without an agent nothing is made either: git's person did not ask for it.
    assert_eq!(
        nobody.refused("aof_task_create", json!({"title": "Mischief"}))["error"],
        "no_agent"
    );
    assert_eq!(
        nobody.refused("aof_task_comment", json!({"text": "Mischief", "task": "AOF-abc"}))["error"],
        "no_agent"
    );
}

#[test]
fn the_wiring_can_be_checked() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let size = |text: String| {
        let kb = text.find(" kB)").and_then(|end| Some((text[..end].rfind('(')? + 1, end)));
        kb.map_or(text.clone(), |(from, to)| format!("{}N{}", &text[..from], &text[to..]))
    };
    let output = |words: &[&str]| size(env.aof(words).to_string());
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-7"]), @"
    exit 0
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-7
      roles     backend
      gates     implement
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)
    all is well
    ");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-77"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-77
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-77` is not in org.yaml, so no task is ever handed to it
      add it to a role in org.yaml, as in `backend: {agents: [agent-77]}`, and commit that; did you mean `agent-7`?
    ");
    assert_snapshot!(output(&["mcp", "--check"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    none
      agent     human-ada
      roles     boss
      gates     approve
      protocol  none
      tools     0 (N kB)

    ! `human-ada` is a person's, and behind a server is a program
      name the agent of the program with `--agent ID` or `AOF_AGENT`, or let it only look with `--read-only`; what a person has to say is said at a terminal, with `aof task complete`
    ");
    assert_snapshot!(output(&["mcp", "--check", "--read-only"]), @"
    exit 0
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     human-ada
      roles     boss
      gates     approve
      protocol  2025-11-25, 2026-07-28
      tools     4 (N kB)
    all is well
    ");
    env.git(&["config", "user.email", "nobody@example.org"]);
    assert_snapshot!(output(&["mcp", "--check"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     nobody
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! it is not known which agent acts
      whoever starts this server names the agent, with `aof mcp --agent ID` or `AOF_AGENT`; the ids are in org.yaml; it has `agent-3`, `agent-7`, `agent-8`
    ");
    let report = env.aof(&["mcp", "--check", "--agent", "agent-3", "--json"]).success().json();
    assert_eq!(
        (&report["ok"], &report["protocols"]),
        (&json!(true), &json!(["2025-11-25", "2026-07-28"]))
    );
    assert_eq!((&report["gates"], &report["roles"]), (&json!(["review"]), &json!(["architect"])));
    env.write("org.yaml", WITH_BOSS.replace("[agent-3]", "[human-bob]"));
    env.commit_all("agent-3 has left");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-3"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-3
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-3` is in no role, so no task is ever handed to it
      add it to a role in org.yaml, and commit that
    ");
    env.write("project.yaml", "workflow: {gates: []}\n");
    env.commit_all("no gates");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent-3"]), @"
    exit 1
    --- stdout
    aof mcp
      project   $PROJECT
      branch    main
      agent     agent-3
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `agent-3` is in no role, so no task is ever handed to it
      add it to a role in org.yaml, and commit that
    ");

    let nowhere = TestEnvironment::without_repository();
    assert_snapshot!(size(nowhere.aof(&["mcp", "--check", "--agent", "agent-7"]).to_string()), @"
    exit 3
    --- stdout
    aof mcp
      project   none
      branch    none
      agent     nobody
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! no project at `$PROJECT` or above it
      start one with `aof init`, or name its folder with `-C DIR`
    ");
}
