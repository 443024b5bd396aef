//! `aof init --agents`: coding agents are told of a project, and nobody's text is touched.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

const FILES: [&str; 9] = [
    "AGENTS.md",
    "CLAUDE.md",
    ".mcp.json",
    ".claude/settings.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    "opencode.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
];

fn committed(env: &TestEnvironment) -> Vec<String> {
    let names = env.git(&["show", "--format=", "--name-only", "HEAD"]);
    names.lines().map(str::to_owned).collect()
}

#[test]
fn a_new_project_has_them_in_a_commit_of_their_own() {
    let env = TestEnvironment::without_repository();
    let output =
        env.aof(&["init", "--agents", "--template", "sdlc", "--agent", "agent-dev-1"]).success();
    assert!(output.stdout.contains("began `project`"), "{output}");
    assert!(output.stdout.contains("connect coding agents as agent-dev-1, commit"), "{output}");
    let mut files = committed(&env);
    files.sort();
    let mut all = FILES.to_vec();
    all.sort_unstable();
    assert_eq!(files, all);
    assert_eq!(env.git(&["log", "--format=%s", "-1"]), "Tell coding agents how to work on tasks\n");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    // Every client has the agent.
    for file in &FILES[2..] {
        let text = env.read(file);
        assert!(text.contains("agent-dev-1") && !text.contains("agent-dev-2"), "{file}: {text}");
    }
    let server: Value = serde_json::from_str(&env.read(".mcp.json")).unwrap();
    assert_eq!(
        server["mcpServers"]["aof"],
        json!({"command": "aof", "args": ["mcp"], "env": {"AOF_AGENT": "${AOF_AGENT:-agent-dev-1}"}})
    );
    assert_eq!(env.read("CLAUDE.md"), "@AGENTS.md\n");
    // What the block tells them to do can be done.
    let block = env.read("AGENTS.md");
    for command in ["next", "brief", "complete", "release", "new", "org show", "why", "man"] {
        assert!(block.contains(&format!("`aof {command}")), "{command}");
        let mut words: Vec<&str> = command.split(' ').collect();
        words.push("--help");
        let _ = env.aof(&words).success();
    }
    let _ = env.aof(&["workflow", "validate"]).success();
}

#[test]
fn a_second_run_changes_nothing_and_commits_nothing() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.plain(&env.aof(&["init", "--agents", "--agent", "agent-7"]).success().stdout), @r#"
    connected coding agents as agent-7, commit COMMIT
      AGENTS.md, CLAUDE.md               all of them: how to work on tasks  (new)
      .mcp.json, .claude/settings.json   Claude Code  (new)
      .codex/config.toml                 Codex, once it trusts the project  (new)
      .gemini/settings.json              Gemini CLI  (new)
      opencode.json                      OpenCode  (new)
      .vscode/mcp.json                   VS Code  (new)
      .cursor/mcp.json                   Cursor  (new)
    next: start one here, and say "take the next task" (--hooks keeps Claude Code at it; more: aof init --help)
    "#);
    let head = env.head();
    assert_snapshot!(env.plain(&env.aof(&["init", "--agents"]).success().stdout), @"
    nothing to change: coding agents are connected as agent-7
      AGENTS.md, CLAUDE.md               all of them: how to work on tasks  (as it was)
      .mcp.json, .claude/settings.json   Claude Code  (as it was)
      .codex/config.toml                 Codex, once it trusts the project  (as it was)
      .gemini/settings.json              Gemini CLI  (as it was)
      opencode.json                      OpenCode  (as it was)
      .vscode/mcp.json                   VS Code  (as it was)
      .cursor/mcp.json                   Cursor  (as it was)
    ");
    assert_eq!(env.head(), head);
    // An older block is brought up to date, from a folder of the project as well.
    env.edit("AGENTS.md", "Find work", "Look for work");
    env.commit_all("an older block");
    std::fs::create_dir(env.path("src")).unwrap();
    let output = env.aof(&["-C", "src", "init", "--agents", "--json"]).success();
    let agents = &output.json()["agents"];
    assert_eq!(
        (&agents["written"], &agents["refused"]),
        (&json!(["AGENTS.md"]), &json!([])),
        "{output}"
    );
    assert_eq!(committed(&env), ["AGENTS.md"]);
    assert!(env.read("AGENTS.md").contains("Find work"));
}

#[test]
fn clients_act_as_the_agent_that_is_named() {
    let env = TestEnvironment::new();
    let refused = env.aof(&["init", "--agents"]).code(4);
    assert_snapshot!(refused.stderr, @"
    error: clients act as one agent, and org.yaml has several: agent-7 (backend), agent-8 (backend), agent-3 (architect)

    hint: run `aof init --agents --agent agent-7`, or name another of them
    ");
    let refused = env.aof(&["init", "--agents", "--agent", "human-ada", "--json"]).code(4);
    assert_eq!(refused.json()["error"], json!("unknown_agent"), "{refused}");
    assert!(!env.exists("AGENTS.md"));
    let head = env.head();
    let refused = env.aof(&["init", "new", "--template", "sdlc", "--agents", "--json"]).code(4);
    assert_eq!(refused.json()["error"], json!("several_agents"), "{refused}");
    assert!(!env.exists("new"), "nothing was begun");
    assert_eq!(env.head(), head);
    // Another one takes the place of the first in every file, and what others wrote there stays.
    let _ = env.aof(&["init", "--agents", "--agent", "agent-3"]).success();
    let mcp = env.read(".mcp.json").replace("\"args\"", "\"alwaysLoad\": true,\n      \"args\"");
    env.write(".mcp.json", &mcp);
    env.commit_all("load it always");
    let _ = env.aof(&["init", "--agents", "--agent", "agent-8"]).success();
    assert_eq!(committed(&env).len(), 7);
    assert_eq!(env.read(".mcp.json"), mcp.replace("agent-3", "agent-8"));
    for file in &FILES[2..] {
        let text = env.read(file);
        assert!(text.contains("agent-8") && !text.contains("agent-3"), "{file}: {text}");
    }
    let again = env.aof(&["init", "--agents"]).success().stdout;
    assert!(again.starts_with("nothing to change: coding agents are connected as agent-8\n"));
}

#[test]
fn a_person_at_a_terminal_chooses_the_agent() {
    let (first, second) = ("agent-dev-1", "agent-dev-2");
    for (typed, agent) in [("", first), ("9\n4", "agent-review-1"), (second, second)] {
        let env = TestEnvironment::without_repository();
        let mut seat = Seat::of(&env, &["init", "--template", "solve-issue", "--agents"]);
        seat.shows("1  agent-plan-1 (planner)");
        seat.shows("which one? [agent-dev-1]");
        seat.types(typed);
        let (status, screen) = seat.ends();
        assert!(status.success(), "{screen}");
        assert!(env.read(".claude/settings.json").contains(&format!("\"{agent}\"")), "{screen}");
    }
}

#[test]
fn text_of_others_stays_byte_for_byte() {
    let env = TestEnvironment::new();
    let house = "# House\r\n\r\nNo tabs.\t\r\n";
    env.write("AGENTS.md", house);
    env.write("CLAUDE.md", "See @AGENTS.md and be kind.");
    env.write(
        ".gemini/settings.json",
        "{\n\t// dark\n\t\"theme\": \"x\",\n\t\"mcpServers\": {\"git\": {\"command\": \"uvx\"}}\n}",
    );
    env.write(".codex/config.toml", "model = 'x' # ours\n");
    env.write(
        "opencode.jsonc",
        "{\"mcp\": {\"aof\": {\"type\": \"local\", \"command\": [\"aof\", \"mcp\"], \"enabled\": false}}}\n",
    );
    env.commit_all("what others wrote");
    let output = env.aof(&["init", "--agents", "--agent", "agent-7", "--json"]).success();
    assert_eq!(
        output.json()["agents"]["unchanged"],
        json!(["CLAUDE.md", "opencode.jsonc"]),
        "{output}"
    );
    let text = env.read("AGENTS.md");
    assert!(text.starts_with(house) && text.ends_with("<!-- AOF:END -->\r\n"), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_snapshot!(env.git(&["show", "--format=", "-U1", "HEAD", "--", ".gemini", ".codex"]), @r#"
    diff --git a/.codex/config.toml b/.codex/config.toml
    index 6acba12..9195f66 100644
    --- a/.codex/config.toml
    +++ b/.codex/config.toml
    @@ -1 +1,9 @@
     model = 'x' # ours
    +
    +[mcp_servers.aof]
    +command = "aof"
    +args = ["mcp", "--default-agent", "agent-7"]
    +env_vars = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"]
    +
    +[shell_environment_policy.set]
    +AOF_AGENT = "agent-7"
    diff --git a/.gemini/settings.json b/.gemini/settings.json
    index fe3a3a0..f63256d 100644
    --- a/.gemini/settings.json
    +++ b/.gemini/settings.json
    @@ -3,3 +3,12 @@
     	"theme": "x",
    -	"mcpServers": {"git": {"command": "uvx"}}
    +	"mcpServers": {
    +		"git": {"command": "uvx"},
    +		"aof": {
    +			"command": "aof",
    +			"args": ["mcp"],
    +			"env": {
    +				"AOF_AGENT": "${AOF_AGENT:-agent-7}"
    +			}
    +		}
    +	}
     }
    \ No newline at end of file
    "#);
    assert!(!env.exists("opencode.json"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn an_unmergeable_file_is_reported_and_the_others_are_written() {
    let env = TestEnvironment::new();
    env.write(".mcp.json", "{\"mcpServers\": {\n");
    env.write(
        "AGENTS.md",
        "# House\n<!-- AOF:BEGIN -->\nold\n<!-- AOF:BEGIN -->\n<!-- AOF:END -->\n",
    );
    env.write("opencode.json", b"{\"a\": \"\xff\"}");
    env.commit_all("broken files");
    let output = env.aof(&["init", "--agents", "--agent", "agent-7"]).code(6);
    assert_snapshot!(env.plain(&output.stderr), @r#"
    left alone: `AGENTS.md`: line 4 is a second marker of the block that begins on line 2
    hint: leave one block, from its `AOF:BEGIN` to its `AOF:END`, and remove the other marker lines
    left alone: `.mcp.json`: line 1, column 16 is not JSON: Unterminated object
    hint: fix it, then run this again
    or write it by hand into `.mcp.json`:
      {
        "mcpServers": {
          "aof": {
            "command": "aof",
            "args": [
              "mcp"
            ],
            "env": {
              "AOF_AGENT": "${AOF_AGENT:-agent-7}"
            }
          }
        }
      }
    left alone: `opencode.json` is not UTF-8
    hint: save it as UTF-8
    or write it by hand into `opencode.json`:
      {
        "$schema": "https://opencode.ai/config.json",
        "mcp": {
          "aof": {
            "type": "local",
            "command": ["aof", "mcp", "--default-agent", "agent-7"],
            "enabled": true
          }
        }
      }
    "#);
    assert_eq!(
        committed(&env),
        [
            ".claude/settings.json",
            ".codex/config.toml",
            ".cursor/mcp.json",
            ".gemini/settings.json",
            ".vscode/mcp.json",
            "CLAUDE.md"
        ]
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    // Nothing is left to be done but what a person has to do.
    let output = env.aof(&["init", "--agents", "--json"]).code(6).json();
    assert_eq!(output["agents"]["commit"], json!(null));
    assert_eq!(output["agents"]["refused"][1]["error"], json!("unmergeable_file"));
}

#[test]
fn uncommitted_files_are_left_alone() {
    let env = TestEnvironment::new();
    env.write(".gemini/settings.json", "{\"theme\": \"x\"}\n");
    env.write("CLAUDE.md", "# Claude\n");
    env.write("other.txt", "one\n");
    env.commit_all("files of a person");
    env.write("AGENTS.md", "# Not committed yet\n");
    env.write(".gemini/settings.json", "{\"theme\": \"y\"}\n");
    // Staged, and taken back in the worktree: git's index has a version that nobody sees.
    env.write("CLAUDE.md", "# Staged\n");
    env.write("other.txt", "two\n");
    env.git(&["add", "CLAUDE.md", "other.txt"]);
    env.write("CLAUDE.md", "# Claude\n");
    env.write(".gitignore", ".mcp.json\n");
    let before = env.git(&["diff", "--cached"]);
    let output = env.aof(&["init", "--agents", "--agent", "agent-7"]).code(5);
    assert_snapshot!(env.plain(&output.stderr), @r#"
    left alone: `AGENTS.md` is not committed
    hint: commit `AGENTS.md`, then run this again
    left alone: another version of `CLAUDE.md` is staged in git's index; commit it, or take it back with `git restore --staged CLAUDE.md`
    hint: the others are done; do that, then run this again
    left alone: git ignores `.mcp.json`, so it would not be shared
    hint: write it yourself, or take it out of .gitignore and run this again
    or write it by hand into `.mcp.json`:
      {
        "mcpServers": {
          "aof": {
            "command": "aof",
            "args": [
              "mcp"
            ],
            "env": {
              "AOF_AGENT": "${AOF_AGENT:-agent-7}"
            }
          }
        }
      }
    left alone: `.gemini/settings.json` has changes that are not committed
    hint: commit `.gemini/settings.json`, then run this again
    "#);
    assert_eq!(
        committed(&env),
        [
            ".claude/settings.json",
            ".codex/config.toml",
            ".cursor/mcp.json",
            ".vscode/mcp.json",
            "opencode.json"
        ]
    );
    assert_eq!(env.git(&["diff", "--cached"]), before);
    assert_eq!(
        env.git(&["status", "--porcelain"]),
        " M .gemini/settings.json\nMM CLAUDE.md\nM  other.txt\n?? .gitignore\n?? AGENTS.md\n"
    );
    assert_eq!(env.read("AGENTS.md"), "# Not committed yet\n");
}

#[test]
fn links_are_not_followed_and_one_to_the_instructions_is_enough() {
    let env = TestEnvironment::new();
    std::os::unix::fs::symlink("AGENTS.md", env.path("CLAUDE.md")).unwrap();
    std::os::unix::fs::symlink("elsewhere.json", env.path("opencode.json")).unwrap();
    env.write("elsewhere.json", "{}\n");
    env.write(".codex", "a file\n");
    std::fs::create_dir(env.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", env.path(".gemini")).unwrap();
    env.write("AGENTS.md", "# House\n");
    env.commit_all("links");
    let output = env.aof(&["init", "--agents", "--agent", "agent-7", "--json"]).code(6).json();
    assert_eq!(output["agents"]["unchanged"], json!(["CLAUDE.md"]), "{output}");
    let refused = output["agents"]["refused"].as_array().unwrap();
    let refused: Vec<&Value> = refused.iter().map(|file| &file["path"]).collect();
    assert_eq!(
        refused,
        [".codex/config.toml", ".gemini/settings.json", "opencode.json"],
        "{output}"
    );
    let written = json!([
        "AGENTS.md",
        ".mcp.json",
        ".claude/settings.json",
        ".vscode/mcp.json",
        ".cursor/mcp.json"
    ]);
    assert_eq!(output["agents"]["written"], written, "{output}");
    assert_eq!(env.files("elsewhere"), Vec::<String>::new());
    assert_eq!(env.read("elsewhere.json"), "{}\n");
}

#[test]
fn a_rehearsal_shows_each_line_and_writes_nothing() {
    let env = TestEnvironment::new();
    env.write("CLAUDE.md", "# Claude\n");
    env.write(".codex/config.toml", "model = 'x'\n\n[a]\nb = 1\n");
    env.write("AGENTS.md", "<!-- AOF:BEGIN -->\nold\n<!-- AOF:END -->\n");
    env.commit_all("files of a person");
    let head = env.head();
    assert_snapshot!(env.plain(&env.aof(&["init", "--agents", "--agent", "agent-7", "--dry-run"]).success().stdout), @r#"
    would connect coding agents as agent-7
      AGENTS.md, CLAUDE.md               all of them: how to work on tasks  (changed)
      .mcp.json, .claude/settings.json   Claude Code  (new)
      .codex/config.toml                 Codex, once it trusts the project  (changed)
      .gemini/settings.json              Gemini CLI  (new)
      opencode.json                      OpenCode  (new)
      .vscode/mcp.json                   VS Code  (new)
      .cursor/mcp.json                   Cursor  (new)

    AGENTS.md
    - <!-- AOF:BEGIN -->
    - old
    + <!-- AOF:BEGIN: kept by `aof init --agents`; write outside of this block -->
    + ## Tasks
    + 
    + Work in this project is handed out by `aof`: a task is a file in `tasks/`, which goes through gates, and git has its history.
    + 
    + - Where the MCP server `aof` is connected, use its tools, `aof_task_next`, `aof_task_complete` and the others: they know who you are.
    + - On the command line, say who you are with `AOF_AGENT` or `--agent ID`; `aof org show` lists the agents. Two sessions with one id are
    +   one agent and get the same task, so each session needs an id of its own.
    + - Find work: `aof next` claims your next task and prints its brief. `aof brief ID` prints it again.
    + - TICKET is what the brief calls the ticket, as in `AOF-abc@3`: it means this visit, so that nothing counts twice.
    + - Complete: `aof complete TICKET --outcome complete --summary "what you did"`.
    + - Reject what you review: `aof complete TICKET --outcome needs_review --summary "what you found" --blocker "what must change"`,
    +   a blocker for each point.
    + - Cannot go on: `aof complete TICKET --outcome blocked --summary "why" --blocker "what you need"`. Not yours: `aof release TICKET`.
    + - The brief says which outcomes a gate has. A refusal says what would be accepted: read it, then do that.
    + - Too much for one visit, or more work found: `aof new "what" --body "all that its worker must know"` makes a part of the task that you
    +   hold, if `org.yaml` gives you `may: [new]`; else say it in your summary. `--depends ID` orders parts. Then complete your own visit:
    +   a gate with `waitFor: children` lets the task on once its parts are done.
    + - Never write `status`, `gate`, `routing` or `gateHistory` of a task file by hand, and do not commit task files: `aof` does both.
    + - Why a task stands where it stands: `aof why ID`. More: `aof --help`, `aof COMMAND --help`, `aof man`.

    CLAUDE.md
    + 
    + @AGENTS.md

    .mcp.json
    + {
    +   "mcpServers": {
    +     "aof": {
    +       "command": "aof",
    +       "args": [
    +         "mcp"
    +       ],
    +       "env": {
    +         "AOF_AGENT": "${AOF_AGENT:-agent-7}"
    +       }
    +     }
    +   }
    + }

    .claude/settings.json
    + {
    +   "env": {
    +     "AOF_AGENT": "agent-7"
    +   }
    + }

    .codex/config.toml
    + 
    + [mcp_servers.aof]
    + command = "aof"
    + args = ["mcp", "--default-agent", "agent-7"]
    + env_vars = ["AOF_AGENT", "AOF_TASK", "AOF_RUN"]
    + 
    + [shell_environment_policy.set]
    + AOF_AGENT = "agent-7"

    .gemini/settings.json
    + {
    +   "mcpServers": {
    +     "aof": {
    +       "command": "aof",
    +       "args": [
    +         "mcp"
    +       ],
    +       "env": {
    +         "AOF_AGENT": "${AOF_AGENT:-agent-7}"
    +       }
    +     }
    +   }
    + }

    opencode.json
    + {
    +   "$schema": "https://opencode.ai/config.json",
    +   "mcp": {
    +     "aof": {
    +       "type": "local",
    +       "command": ["aof", "mcp", "--default-agent", "agent-7"],
    +       "enabled": true
    +     }
    +   }
    + }

    .vscode/mcp.json
    + {
    +   "servers": {
    +     "aof": {
    +       "type": "stdio",
    +       "command": "aof",
    +       "args": [
    +         "mcp",
    +         "--default-agent",
    +         "agent-7"
    +       ]
    +     }
    +   }
    + }

    .cursor/mcp.json
    + {
    +   "mcpServers": {
    +     "aof": {
    +       "type": "stdio",
    +       "command": "aof",
    +       "args": [
    +         "-C",
    +         "${workspaceFolder}",
    +         "mcp",
    +         "--default-agent",
    +         "agent-7"
    +       ]
    +     }
    +   }
    + }
    dry run: nothing was written
    "#);
    assert_eq!((env.head(), env.git(&["status", "--porcelain"])), (head, String::new()));
    let bare = TestEnvironment::without_repository();
    let output = bare.aof(&["init", "garden", "--agents", "--dry-run", "--json"]).success().json();
    assert_eq!(output["agents"]["written"], json!(FILES), "{output}");
    assert!(!bare.exists("garden"));
}

#[cfg(debug_assertions)]
#[test]
fn one_that_is_killed_anywhere_is_whole_or_nothing() {
    for point in aof::system::crash_points::POINTS {
        let env = TestEnvironment::new();
        let house = "# House\n";
        env.write("AGENTS.md", house);
        env.commit_all("files of a person");
        let mut command = env.aof_command(&["init", "--agents", "--agent", "agent-7"]);
        command.env("AOF_STOP_AT", point);
        let killed = env.run(command);
        let _ = env.new_task(&["The next command heals"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{point}: {killed}");
        let there = FILES.iter().filter(|file| env.exists(file)).count();
        let whole = env.read("AGENTS.md") != house;
        assert_eq!(there, if whole { FILES.len() } else { 1 }, "{point}: {killed}");
        let _ = env.aof(&["init", "--agents", "--agent", "agent-7"]).success();
        assert_eq!(
            env.git(&["log", "--format=%s", "--", ".mcp.json"]).lines().count(),
            1,
            "{point}"
        );
        env.git(&["fsck", "--strict"]);
        assert!(!env.is_in_the_middle(), "{point}");
    }
}

/// Whoever set the variable already keeps what it says.
#[test]
fn shells_of_clients_have_the_agents_name() {
    let env = TestEnvironment::new();
    let settings =
        "{\n  // ours\n  \"permissions\": {\"allow\": []},\n  \"env\": {\"CI\": \"1\"}\n}\n";
    env.write(".claude/settings.json", settings);
    env.write(".codex/config.toml", "[shell_environment_policy]\ninherit = \"core\" # few\n");
    env.commit_all("settings of others");
    let _ = env.aof(&["init", "--agents", "--agent", "agent-7"]).success();
    let ours = env.read(".claude/settings.json");
    assert!(
        ours.contains("// ours") && ours.contains("\"permissions\": {\"allow\": []}"),
        "{ours}"
    );
    assert!(
        ours.contains("\"CI\": \"1\"") && ours.contains("\"AOF_AGENT\": \"agent-7\""),
        "{ours}"
    );
    let codex = env.read(".codex/config.toml");
    assert!(codex.starts_with("[shell_environment_policy]\ninherit = \"core\" # few\n"), "{codex}");
    assert!(codex.contains("[shell_environment_policy.set]\nAOF_AGENT = \"agent-7\"\n"), "{codex}");
    env.edit(".claude/settings.json", "agent-7", "agent-8");
    env.edit(
        ".codex/config.toml",
        "set]\nAOF_AGENT = \"agent-7\"",
        "set]\nAOF_AGENT = \"agent-8\"",
    );
    env.commit_all("another agent");
    let head = env.head();
    let _ = env.aof(&["init", "--agents"]).success();
    assert_eq!(env.head(), head);
    let _ = env.aof(&["init", "--remove"]).success();
    let left = env.read(".claude/settings.json");
    assert!(left.contains("\"CI\": \"1\"") && !left.contains("AOF_AGENT"), "{left}");
    let codex = env.read(".codex/config.toml");
    assert_eq!(codex, "[shell_environment_policy]\ninherit = \"core\" # few\n");
}

#[test]
fn clients_get_no_agent_if_none_is_given() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: ok, role: boss}\n",
        "roles:\n  boss: {agents: [human-ada]}\n",
    );
    let output = env.aof(&["init", "--agents", "--json"]).success().json();
    assert!(!env.exists(".claude/settings.json"), "{output}");
    assert!(!env.read(".codex/config.toml").contains("shell_environment_policy"));
    let again = env.aof(&["init", "--agents", "--json"]).success().json();
    assert_eq!(again["agents"]["written"], json!([]), "{again}");
}

#[test]
fn init_removes_its_own_setup() {
    let env = TestEnvironment::without_repository();
    let _ = env.aof(&["init", "--agents"]).success();
    let rehearsed = env.aof(&["init", "--remove", "--dry-run"]).success();
    assert!(rehearsed.stdout.contains("would be removed: what `aof` wrote into AGENTS.md"));
    assert!(env.exists("AGENTS.md") && env.exists(".git/hooks/pre-commit"));
    let removed = env.aof(&["init", "--remove"]).success();
    for file in FILES.iter().chain(&[".gitattributes", ".git/hooks/pre-commit"]) {
        assert!(!env.exists(file), "{file}: {removed}");
    }
    assert!(!env.read(".git/config").contains("merge \"aof\""), "{removed}");
    assert!(env.exists("project.yaml") && env.exists("org.yaml"));
    let command = removed.stdout.split('`').find(|text| text.starts_with("git add")).unwrap();
    let mut shell = env.command("sh");
    shell.args(["-c", command]);
    let _ = env.run(shell).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let again = env.aof(&["init", "--remove"]).success();
    assert_eq!(again.stdout, "nothing to remove\n");
}

#[test]
fn text_of_others_stays_when_ours_is_removed() {
    let texts = [
        ("AGENTS.md", "# Rules\n\nBe kind.\n"),
        ("CLAUDE.md", "Think.\n"),
        (
            ".mcp.json",
            "{\n  // theirs\n  \"mcpServers\": {\n    \"db\": {\"command\": \"db\"}\n  }\n}\n",
        ),
        (".codex/config.toml", "model = \"o\" # theirs\n\n[mcp_servers.db]\ncommand = \"db\"\n"),
        (".claude/settings.json", "{\n  \"env\": {\n    \"CI\": \"1\" // theirs\n  }\n}\n"),
        (".gemini/settings.json", "{\n  \"theme\": \"dark\"\n}\n"),
        (".gitattributes", "*.png binary\n"),
    ];
    let env = TestEnvironment::without_rules();
    for (file, text) in texts {
        env.write(file, text);
    }
    env.commit_all("theirs");
    let _ = env.aof(&["init", "--agents"]).success();
    env.write(".git/hooks/pre-commit", "#!/bin/sh\nmake lint\naof merge-driver --check-staged\n");
    let removed = env.aof(&["init", "--remove"]).success();
    for (file, text) in texts.iter().filter(|(file, _)| !["CLAUDE.md", ".mcp.json"].contains(file))
    {
        assert_eq!(env.read(file), *text, "{file}: {removed}");
    }
    assert_eq!(env.read("CLAUDE.md"), "Think.\n\n@AGENTS.md\n", "AGENTS.md is still there");
    let servers = env.read(".mcp.json");
    assert!(servers.contains("// theirs") && servers.contains("\"db\""), "{servers}");
    assert!(!servers.contains("aof"), "{servers}");
    assert!(!env.exists("opencode.json"));
    assert!(removed.stdout.contains("pre-commit: it is not ours alone"), "{removed}");
}
