//! Who acts behind `aof mcp`, and how its wiring is checked.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Era, McpClient, WITH_BOSS, WITH_PERSON};

#[test]
fn the_server_fixes_the_agent_when_it_starts() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
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

    // What the client's file says counts only where nothing else does.
    let by_default: [(&[(&str, &str)], _); 3] = [
        (&[], "agent-7"),
        (&[("AOF_AGENT", "")], "agent-7"),
        (&[("AOF_AGENT", "agent-3")], "agent-3"),
    ];
    for (variables, agent) in by_default {
        let words = ["--default-agent", "agent-7"];
        let mut client = McpClient::start_with(&env, Era::Old, &words, variables);
        assert_eq!(client.call("aof_status", json!({}))["agent"], agent);
    }
}

#[test]
fn a_server_that_does_not_know_its_agent_starts_and_says_how_to_name_one() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    let id = env.new_task(&["Add login"]);
    let head = env.head();
    let of = |named: &str, error: &str| {
        let mut client = McpClient::start_with(&env, Era::New, &[], &[("AOF_AGENT", named)]);
        // Looking needs nobody.
        assert_eq!(client.call("aof_task_list", json!({}))["total"], 1);
        assert_eq!(client.call("aof_task_get", json!({"task": id}))["title"], "Add login");
        assert_eq!(client.call("aof_workflow_list", json!({}))["workflows"][0]["name"], "default");
        let status = client.call("aof_status", json!({}));
        assert_eq!(status["attention"][0]["code"], error, "{status}");
        assert_eq!(client.ask("resources/list", json!({}))["resources"][0]["uri"], "aof://brief");
        for (tool, arguments) in [
            ("aof_task_next", json!({})),
            ("aof_task_get", json!({})),
            ("aof_task_complete", json!({"task": id, "outcome": "complete", "summary": "x"})),
            ("aof_task_renew", json!({"task": id})),
            ("aof_task_release", json!({"task": id})),
            ("aof_task_create", json!({"title": "Mischief"})),
            ("aof_task_comment", json!({"text": "Mischief", "task": id})),
            ("aof_workflow_start", json!({"workflow": "default", "title": "Mischief"})),
        ] {
            let output = client.refused(tool, arguments);
            assert_eq!(output["error"], error, "{tool}: {output}");
        }
        let output = client.refused("aof_task_next", json!({}));
        let _ = client.end().success();
        env.plain(output["message"].as_str().unwrap())
    };
    assert_snapshot!(of("human-ada", "human_identity"), @"
    `human-ada` is a person, and a server acts for an agent

    set `AOF_AGENT` to an agent's id where the client is started, or write `--agent ID` after `mcp` in its file: `.mcp.json` (Claude Code), `.codex/config.toml` (Codex), `.gemini/settings.json` (Gemini CLI), `opencode.json` (OpenCode), `.vscode/mcp.json` (VS Code), `.cursor/mcp.json` (Cursor); org.yaml has `agent-3`, `agent-7`, `agent-8`

    No call fixes this: tell the person you work for.
    ");
    // Git's user is a person.
    assert_eq!(of("", "human_identity"), of("human-ada", "human_identity"));
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    assert_snapshot!(first(of("agent-77", "unknown_agent")), @"org.yaml has no agent `agent-77`");
    // A client that does not expand variables.
    assert_snapshot!(first(of("${AOF_AGENT:-agent-7}", "no_agent")), @"`${AOF_AGENT:-agent-7}`, which this server was started with, is no agent's id");
    env.git(&["config", "user.email", "nobody@example.org"]);
    assert_snapshot!(first(of("", "no_agent")), @"it is unknown which agent you are");
    assert_eq!(env.head(), head, "nothing was changed");
}

#[test]
fn an_agent_that_has_left_may_still_end_its_tasks() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
    let mut client = McpClient::of(&env, "agent-8");
    client.call("aof_task_next", json!({}));
    env.write("org.yaml", WITH_BOSS.replace(", agent-8", "").replace("  agent-8: {}\n", ""));
    env.commit_all("agent-8 leaves");
    client.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    let output =
        client.refused("aof_task_comment", json!({"text": "One more thing", "task": "AOF-abc"}));
    assert_eq!(output["error"], "unknown_agent", "{output}");
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
      branch    main
      agent     nobody
      roles     none
      gates     none
      protocol  2025-11-25, 2026-07-28
      tools     11 (N kB)

    ! `human-ada` is a person, and a server acts for an agent
      set `AOF_AGENT` to an agent's id where the client is started, or write `--agent ID` after `mcp` in its file: `.mcp.json` (Claude Code), `.codex/config.toml` (Codex), `.gemini/settings.json` (Gemini CLI), `opencode.json` (OpenCode), `.vscode/mcp.json` (VS Code), `.cursor/mcp.json` (Cursor); org.yaml has `agent-3`, `agent-7`, `agent-8`
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

    ! it is unknown which agent you are
      set `AOF_AGENT` to an agent's id where the client is started, or write `--agent ID` after `mcp` in its file: `.mcp.json` (Claude Code), `.codex/config.toml` (Codex), `.gemini/settings.json` (Gemini CLI), `opencode.json` (OpenCode), `.vscode/mcp.json` (VS Code), `.cursor/mcp.json` (Cursor); org.yaml has `agent-3`, `agent-7`, `agent-8`
    ");
    assert_snapshot!(output(&["mcp", "--check", "--agent", "agent 7"]), @"
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

    ! `agent 7`, which this server was started with, is no agent's id
      set `AOF_AGENT` to an agent's id where the client is started, or write `--agent ID` after `mcp` in its file: `.mcp.json` (Claude Code), `.codex/config.toml` (Codex), `.gemini/settings.json` (Gemini CLI), `opencode.json` (OpenCode), `.vscode/mcp.json` (VS Code), `.cursor/mcp.json` (Cursor); org.yaml has `agent-3`, `agent-7`, `agent-8`
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
