use serde_json::{Value, json};

use super::*;

fn agent() -> AgentId {
    "agent-1".parse().unwrap()
}

fn merged(file: AgentFile, text: &str) -> String {
    let merge = |text: &str| file.merged(Some(text), Some(&agent()));
    let merged = merge(text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
    assert_eq!(merge(&merged).as_deref(), Ok(merged.as_str()), "a second time");
    merged
}

fn refused(file: AgentFile, text: &str) -> String {
    let fault = file.merged(Some(text), Some(&agent())).unwrap_err();
    format!(
        "{}: {} ({})",
        fault.line.map_or_else(|| "-".to_owned(), |line| line.to_string()),
        fault.problem,
        fault.fix
    )
}

#[test]
fn new_files_are_whole() {
    for file in AgentFile::ALL {
        let new = file.merged(None, Some(&agent())).unwrap();
        assert_eq!(merged(file, &new), new);
        assert_eq!(file.snippet(Some(&agent())), new);
    }
    insta::assert_snapshot!(AgentFile::ClaudeCode.snippet(Some(&agent())), @r#"
    {
      "mcpServers": {
        "aof": {
          "command": "aof",
          "args": [
            "mcp"
          ],
          "env": {
            "AOF_AGENT": "${AOF_AGENT:-agent-1}"
          }
        }
      }
    }
    "#);
    insta::assert_snapshot!(AgentFile::OpenCode.snippet(Some(&agent())), @r#"
    {
      "$schema": "https://opencode.ai/config.json",
      "mcp": {
        "aof": {
          "type": "local",
          "command": ["aof", "mcp", "--default-agent", "agent-1"],
          "enabled": true
        }
      }
    }
    "#);
    insta::assert_snapshot!(AgentFile::Codex.snippet(Some(&agent())), @r#"
    [mcp_servers.aof]
    command = "aof"
    args = ["mcp", "--default-agent", "agent-1"]
    env_vars = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"]

    [shell_environment_policy.set]
    AOF_AGENT = "agent-1"
    "#);
    assert_eq!(AgentFile::ClaudeInstructions.snippet(Some(&agent())), "@AGENTS.md\n");
    assert!(AgentFile::Instructions.snippet(Some(&agent())).lines().count() <= 25);
}

#[test]
fn the_block_is_one_and_the_rest_is_not_touched() {
    let block = AgentFile::Instructions.snippet(Some(&agent()));
    assert_eq!(
        merged(AgentFile::Instructions, "# House\n\nrules"),
        format!("# House\n\nrules\n\n{block}")
    );
    let old =
        "# House\r\n\r\n  <!-- AOF:BEGIN old -->\r\nstale\r\n<!-- AOF:END --> \r\nafter\n\tend";
    let crlf = block.replace('\n', "\r\n");
    let new = merged(AgentFile::Instructions, old);
    assert_eq!(new, format!("# House\r\n\r\n{crlf}after\n\tend"));
    let unended = "x\n<!-- AOF:BEGIN -->\n<!-- AOF:END -->";
    assert_eq!(merged(AgentFile::Instructions, unended), format!("x\n{}", block.trim_end()));
    for (text, fault) in [
        ("<!-- AOF:BEGIN -->\nx\n", "1: the block that begins on line 1 never ends"),
        ("a\n<!-- AOF:END -->\n", "2: `<!-- AOF:END -->` on line 2 ends a block that never began"),
        (
            "<!-- AOF:BEGIN -->\n<!-- AOF:BEGIN -->\n<!-- AOF:END -->\n",
            "2: line 2 is a second marker",
        ),
        (
            "<!-- AOF:BEGIN -->\n<!-- AOF:END -->\n<!-- AOF:END -->\n",
            "3: line 3 is a second marker",
        ),
        (
            "<!-- AOF:BEGIN -->\n<!-- AOF:END -->\n<!-- AOF:BEGIN -->\n",
            "3: line 3 is a second marker",
        ),
    ] {
        assert!(
            refused(AgentFile::Instructions, text).starts_with(fault),
            "{}",
            refused(AgentFile::Instructions, text)
        );
    }
}

#[test]
fn claude_code_gets_one_line_that_names_the_instructions() {
    let file = AgentFile::ClaudeInstructions;
    assert_eq!(merged(file, "# Claude\r\n"), "# Claude\r\n\r\n@AGENTS.md\r\n");
    assert_eq!(merged(file, "# Claude"), "# Claude\n\n@AGENTS.md\n");
    for there in ["@AGENTS.md", "See @AGENTS.md for all.\n", "@./AGENTS.md\n"] {
        assert_eq!(merged(file, there), there);
    }
    for not_there in ["`@AGENTS.md`\n", "```\n@AGENTS.md\n```\n", "@AGENTS.md.old\n", "AGENTS.md\n"]
    {
        assert_eq!(merged(file, not_there), format!("{not_there}\n@AGENTS.md\n"));
    }
}

#[test]
fn json_keeps_entries_of_others() {
    insta::assert_snapshot!(merged(AgentFile::GeminiCli, "{\n    // mine\n    \"theme\": \"x\", /* why */\n    \"mcpServers\": {\n        \"git\": {\"command\": \"uvx\"}, // theirs\n    },\n}\n"), @r#"
    {
        // mine
        "theme": "x", /* why */
        "mcpServers": {
            "git": {"command": "uvx"}, // theirs
            "aof": {
                "command": "aof",
                "args": ["mcp"],
                "env": {
                    "AOF_AGENT": "${AOF_AGENT:-agent-1}",
                },
            },
        },
    }
    "#);
    insta::assert_snapshot!(merged(AgentFile::ClaudeCode, "{}"), @r#"
    {
      "mcpServers": {
        "aof": {
          "command": "aof",
          "args": ["mcp"],
          "env": {
            "AOF_AGENT": "${AOF_AGENT:-agent-1}"
          }
        }
      }
    }
    "#);
    insta::assert_snapshot!(merged(AgentFile::ClaudeCode, "{\"mcpServers\":{\"aof\":{\"command\":\"npx\",\"args\":[\"old\"],\"env\":{\"A\":\"b\"}}}}"), @r#"{"mcpServers":{"aof":{"command":"aof","args":["mcp"],"env":{"A":"b"}}}}"#);
    let crlf = merged(AgentFile::ClaudeCode, "{\r\n  \"a\": 1\r\n}\r\n");
    assert_eq!(crlf.matches('\n').count(), crlf.matches("\r\n").count(), "{crlf:?}");
    let value: Value = serde_json::from_str(&crlf).unwrap();
    assert_eq!(value["mcpServers"]["aof"], AgentFile::ClaudeCode.server(Some(&agent())));
}

#[test]
fn an_entry_that_starts_the_server_is_a_persons_to_extend() {
    for (file, text) in [
        (
            AgentFile::ClaudeCode,
            r#"{"mcpServers": {"aof": {"command": "/opt/aof", "args": ["mcp", "--read-only"]}}}"#,
        ),
        (
            AgentFile::OpenCode,
            r#"{"mcp": {"aof": {"type": "local", "command": ["aof", "mcp"], "enabled": false}}}"#,
        ),
        (
            AgentFile::Codex,
            "[mcp_servers.aof]\ncommand = 'aof'\nargs = ['mcp', '-C', '..'] # here\nenabled = false\n\n\
             [shell_environment_policy]\nset.AOF_AGENT = 'agent-2' # here\n",
        ),
        (AgentFile::ClaudeSettings, r#"{"env": {"AOF_AGENT": "agent-2"}}"#),
    ] {
        assert_eq!(merged(file, text), text);
    }
}

#[test]
fn open_code_keeps_the_place_of_its_servers() {
    let second = merged(
        AgentFile::OpenCode,
        "{\"mcp\": {\"servers\": {\"a\": {\"type\": \"local\", \"command\": [\"a\"]}}}}",
    );
    let value: Value = serde_json::from_str(&second).unwrap();
    let command = json!(["aof", "mcp", "--default-agent", "agent-1"]);
    assert_eq!(value["mcp"]["servers"]["aof"]["command"], command);
    let first = merged(
        AgentFile::OpenCode,
        "{\"mcp\": {\"servers\": {\"type\": \"local\", \"command\": [\"a\"]}}}",
    );
    assert_eq!(
        serde_json::from_str::<Value>(&first).unwrap()["mcp"]["aof"]["enabled"],
        json!(true)
    );
}

#[test]
fn toml_keeps_entries_of_others() {
    insta::assert_snapshot!(merged(AgentFile::Codex, "# mine\nmodel = 'x' # why\n\n[mcp_servers.git]\ncommand = \"uvx\"\n\n[profiles.a]\nb = 1\n"), @r#"
    # mine
    model = 'x' # why

    [mcp_servers.git]
    command = "uvx"

    [mcp_servers.aof]
    command = "aof"
    args = ["mcp", "--default-agent", "agent-1"]
    env_vars = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"]

    [profiles.a]
    b = 1

    [shell_environment_policy.set]
    AOF_AGENT = "agent-1"
    "#);
    insta::assert_snapshot!(merged(AgentFile::Codex, "[mcp_servers.aof]\ncommand = \"npx\" # old\nstartup_timeout_sec = 20\n"), @r#"
    [mcp_servers.aof]
    command = "aof" # old
    startup_timeout_sec = 20
    args = ["mcp", "--default-agent", "agent-1"]
    env_vars = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"]

    [shell_environment_policy.set]
    AOF_AGENT = "agent-1"
    "#);
    assert_eq!(
        merged(AgentFile::Codex, "model = 'x'\r\n"),
        "model = 'x'\r\n\r\n[mcp_servers.aof]\r\ncommand = \"aof\"\r\nargs = [\"mcp\", \"--default-agent\", \"agent-1\"]\r\n\
         env_vars = [\"AOF_AGENT\", \"AOF_TASK\", \"AOF_RUN\"]\r\n\r\n[shell_environment_policy.set]\r\nAOF_AGENT = \"agent-1\"\r\n"
    );
}

#[test]
fn an_unmergeable_file_is_refused_with_its_line() {
    insta::assert_snapshot!(refused(AgentFile::ClaudeCode, "{\n  \"a\": 1\n  \"b\": 2\n}"), @"2: line 2, column 9 is not JSON: Expected comma (fix it, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::ClaudeCode, "[]"), @"-: the file is not an object (make it one, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::ClaudeCode, "{\"mcpServers\": []}"), @"-: `mcpServers` is not an object (make it one, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::ClaudeCode, "{\"a\": 1, \"mcpServers\": {}, \"mcpServers\": {}}"), @"-: it cannot be changed safely (a key may be there twice: leave one of them)");
    insta::assert_snapshot!(refused(AgentFile::Codex, "a = 1\na = 2\n"), @"2: line 2, column 1 is not TOML: duplicate key (fix it, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::ClaudeSettings, "{\"env\": \"x\"}"), @"-: `env` is not an object (make it one, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::Codex, "shell_environment_policy = {set = 1}\n"), @"-: `shell_environment_policy.set` is not a table (make it one, then run this again)");
    insta::assert_snapshot!(refused(AgentFile::Codex, "mcp_servers = 1\n"), @"-: `mcp_servers` is not a table (make it one, then run this again)");
}

#[test]
fn a_removal_leaves_the_bytes_of_others() {
    let json = "{\n  // mine\n  \"mcpServers\": {\n    \"db\": {\"command\": \"db\"}\n  }, // why\n  \"a\": 1,\n}\n";
    let toml =
        "# mine\nmodel = 'x'\n\n[mcp_servers.db]\ncommand = 'db'\n\n[profiles.a]\nb = 1 # end\n";
    let markdown = "# House\n\nBe kind.\n";
    for file in AgentFile::ALL {
        let text = match file {
            AgentFile::Codex => toml.to_owned(),
            AgentFile::Instructions | AgentFile::ClaudeInstructions => markdown.to_owned(),
            AgentFile::OpenCode => json.replace("mcpServers", "mcp"),
            AgentFile::VsCode => json.replace("mcpServers", "servers"),
            _ => json.to_owned(),
        };
        let crlf = text.replace('\n', "\r\n");
        for text in [format!("\u{feff}{text}"), text, format!("\u{feff}{crlf}"), crlf] {
            let ours = merged(file, &text);
            assert_ne!(ours, text, "{file:?}");
            assert_eq!(file.without(&ours).as_deref(), Ok(text.as_str()), "{file:?}");
        }
        let new = file.merged(None, Some(&agent())).unwrap();
        assert_eq!(file.without(&new).as_deref(), Ok(""), "{file:?}");
    }
}

#[test]
fn hooks_are_beside_those_of_others_and_go_without_a_trace() {
    use super::claude_hooks::{has_hooks, with_hooks, without_hooks};
    let foreign = "{\n  // mine\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]\n  },\n  \"model\": \"x\"\n}\n";
    for text in ["", "{}\n", "{\n  \"model\": \"x\"\n}\n", foreign] {
        let ours = with_hooks(text).unwrap();
        assert!(has_hooks(&ours) && !has_hooks(text), "{ours}");
        assert_eq!(with_hooks(&ours).as_ref(), Ok(&ours), "a second time");
        let rest = without_hooks(&ours).unwrap();
        assert_eq!(json_value(&rest).unwrap_or(json!({})), json_value(text).unwrap_or(json!({})));
        assert_eq!(rest.contains("// mine"), text.contains("// mine"));
    }
    let value = json_value(&with_hooks(foreign).unwrap()).unwrap();
    assert_eq!(value["hooks"]["Stop"][0]["hooks"][0]["command"], "say done");
    for text in ["{\"hooks\": 1}", "{\"hooks\": {\"Stop\": {}}}", "[]", "{"] {
        assert!(with_hooks(text).is_err(), "{text}");
        assert_eq!(without_hooks(text).as_deref(), Ok(text));
    }
}
