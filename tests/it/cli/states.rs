//! One word for where a task stands, and what is open about it, in all views.

use serde_json::{Value, json};

use super::web::Board;
use crate::support::environment::{ORG, PROJECT, TestEnvironment};
use crate::support::mcp_client::McpClient;

fn json_of(env: &TestEnvironment, args: &[&str]) -> Value {
    env.aof_aside(&[&["--json"], args].concat()).success().json()
}

/// Looks at the task in every view; each has the word and, where it lists them, the tasks that it waits for.
fn look(env: &TestEnvironment, id: &str, word: &str, waits: bool) {
    let text = |args: &[&str]| env.aof_aside(args).success().stdout;
    let line = |args: &[&str]| {
        let all = text(args);
        let own = all.lines().find(|line| line.contains("The later one"));
        own.unwrap_or_else(|| panic!("{args:?}: {all}")).to_owned()
    };
    assert!(line(&["list"]).contains(word), "{}", line(&["list"]));
    assert!(line(&["search", "later"]).contains(word), "{}", line(&["search", "later"]));
    let status = |page: String| {
        let own = page.lines().find(|line| line.trim_start().starts_with("status"));
        own.unwrap().to_owned()
    };
    let own = status(text(&["why", id]));
    assert!(own.contains(word), "{own}");
    let noted = text(&["comment", id, "-m", "Mind the word"]);
    assert!(noted.lines().last().unwrap().contains(&format!(", {word} for ")), "{noted}");
    let drawn = text(&["workflow", "graph"]);
    assert!(drawn.contains(&format!("1 {word}")), "{drawn}");
    let counts = text(&["status"]);
    let counts = counts.lines().find(|line| line.contains(" open: ")).unwrap().to_owned();
    assert!(counts.contains(&format!("1 {word}")), "{counts}");
    // The same for programs, by all doors. The file's own status stays.
    let of_list = |value: Value| {
        let tasks = value["tasks"].as_array().unwrap().clone();
        tasks.into_iter().find(|task| task["title"] == "The later one").unwrap()
    };
    let mut client = McpClient::of(env, "agent-7");
    let board = Board::start(env, &["--agent", "agent-7"]);
    let by_http = |path: &str| {
        let answer = board.get(&format!("/api/v1/project/{path}"));
        serde_json::from_str::<Value>(&answer.body).unwrap()
    };
    for (view, value) in [
        ("list", of_list(json_of(env, &["list"]))),
        ("search", of_list(json_of(env, &["search", "later"]))),
        ("show", json_of(env, &["show", id])),
        ("MCP's list", of_list(client.call("aof_task_list", json!({})))),
        ("MCP's task", client.call("aof_task_get", json!({"task": id}))),
        ("HTTP's list", of_list(by_http("tasks"))),
        ("HTTP's task", by_http(&format!("tasks/{id}"))),
        ("why", json_of(env, &["why", id])),
    ] {
        assert_eq!(value["state"], word, "{view}: {value:#}");
        let named = value["waitingFor"].as_array().is_some_and(|ids| !ids.is_empty());
        assert_eq!(named, waits, "{view}");
        assert_eq!(value["status"], "ready", "{view}");
    }
    for (view, value) in [
        ("status", json_of(env, &["status"])),
        ("MCP's status", client.call("aof_status", json!({}))),
        ("HTTP's status", by_http("status")),
    ] {
        assert_eq!(value["counts"][word], 1, "{view}: {value:#}");
    }
    let _ = client.end().success();
    // At gates and roles, the tasks that agents may take are counted apart from those that wait.
    let (gates, org) = (json_of(env, &["gate", "status"]), json_of(env, &["org", "show"]));
    let graph = json_of(env, &["workflow", "graph"]);
    for gates in [&gates["gates"], &graph["gates"]] {
        let count = |word: &str| -> u64 {
            gates.as_array().unwrap().iter().filter_map(|gate| gate[word].as_u64()).sum()
        };
        assert_eq!(count(word), 1, "{gates:#}");
        assert_eq!(count("waiting"), u64::from(waits), "{gates:#}");
    }
    let roles = org["roles"].as_array().unwrap().iter();
    let work = roles.flat_map(|role| role["work"][word].as_array().unwrap());
    assert_eq!(work.count(), 1, "{org:#}");
}

#[test]
fn a_task_that_waits_for_another_is_waiting_in_all_views() {
    let env = TestEnvironment::new();
    let first = env.new_task(&["The first one"]);
    let later = env.new_task(&["The later one", "--depends", &first]);
    look(&env, &later, "waiting", true);
    let _ = env.complete(&first, "agent-7");
    let _ = env.complete(&first, "agent-3");
    look(&env, &later, "ready", false);
}

#[test]
fn a_task_of_an_agent_behind_another_task_waits_too() {
    let org = format!("{ORG}agents: {{agent-7: {{may: [new]}}}}\n");
    let env = TestEnvironment::with_rules(PROJECT, &org);
    let _ = env.new_task(&["The whole"]);
    let mut client = McpClient::of(&env, "agent-7");
    client.call("aof_task_next", json!({}));
    let first = env.new_task(&["The first one"]);
    let later = json!({"title": "The later one", "dependsOn": [first]});
    let said = client.call("aof_task_create", later);
    let message = said["message"].as_str().unwrap_or_default();
    assert!(message.ends_with(&format!(", waiting for {first}")), "{said:#}");
    let _ = client.end().success();
}

#[test]
fn a_task_that_waits_for_its_children_is_waiting_in_all_views() {
    let rules = "workflow: {gates: [{id: gather, role: backend, waitFor: children}]}\n";
    let env = TestEnvironment::with_rules(rules, ORG);
    let later = env.new_task(&["The later one"]);
    let child = env.new_task(&["A part", "--parent", &later]);
    look(&env, &later, "waiting", true);
    let _ = env.complete(&child, "agent-7");
    look(&env, &later, "ready", false);
}

const DECIDED: &str = "\
workflow:
  gates:
    - {id: work, role: backend}
    - {id: review, role: architect, canReject: true}
    - {id: judge, role: lead, canReject: true, maxRetries: 1, onExhausted: {escalateTo: boss}}
";

const DECIDING: &str = "\
roles:
  backend: {agents: [agent-7]}
  architect: {agents: [agent-3]}
  lead: {agents: [agent-9]}
  boss: {agents: [human-ann]}
agents:
  agent-7: {}
  agent-3: {}
  agent-9: {}
  human-ann: {notify: {command: [sh, -c, \"cat >> told\"]}}
";

#[test]
fn open_points_are_listed_at_decisions() {
    let env = TestEnvironment::with_rules(DECIDED, DECIDING);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let rejection = ["--blocker", "It leaks", "--blocker", "No test", "--notes", "See the log"];
    let _ = env.say(&id, "agent-3", "needs_review", &rejection).success();
    let _ = env.complete(&id, "agent-7");
    let decide = env.aof(&["decide", "--agent", "agent-3"]).success().stdout;
    for point in ["- It leaks", "- No test", "- See the log"] {
        assert!(decide.contains(point), "{decide}");
    }
    let waiting = json_of(&env, &["decide", "--agent", "agent-3"]);
    assert_eq!(waiting["waiting"][0]["points"], json!(["It leaks", "No test", "See the log"]));
    let open = "`agent-3` at gate `review` wants this settled: It leaks; No test; See the log";
    let why = env.aof(&["why", &id]).success().stdout;
    assert!(why.contains(open), "{why}");
    let board = Board::start(&env, &["--agent", "agent-3"]);
    let page = board.get(&format!("/project/tasks/{id}")).body;
    assert!(page.contains("wants this settled: It leaks; No test; See the log"), "{page}");
    // Once it is answered, nothing is open.
    let _ = env.complete(&id, "agent-3");
    assert_eq!(json_of(&env, &["decide", "--agent", "agent-9"])["waiting"][0]["points"], json!([]));
}

#[test]
fn the_notice_of_an_escalation_has_the_reason_and_the_last_review() {
    let env = TestEnvironment::with_rules(DECIDED, DECIDING);
    let _ = env.aof(&["notices", "--deliver"]).success();
    let id = env.new_task(&["Add login"]);
    for blocker in ["It leaks", "It leaks elsewhere"] {
        let _ = env.complete(&id, "agent-7");
        let _ = env.complete(&id, "agent-3");
        let _ = env.say(&id, "agent-9", "needs_review", &["--blocker", blocker]).success();
    }
    let _ = env.aof(&["notices", "--deliver"]).success();
    let told = env.read("told");
    let message = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|message| message["event"] == "gate_escalation");
    let message = message.unwrap_or_else(|| panic!("{told}"));
    let text = message["text"].as_str().unwrap();
    assert!(text.contains("it was sent back too often"), "{text}");
    assert!(text.contains("The last review, by agent 'agent-9': It leaks elsewhere"), "{text}");
    assert_eq!(message["reviewContext"]["blockers"], json!(["It leaks elsewhere"]));
}

#[test]
fn unregistered_agents_are_named_if_a_role_has_no_agent() {
    let org = "roles: {backend: {agents: [agent-7, agent-8]}}\nagents: {agent-1: {}}\n";
    let rules = "workflow: {gates: [{id: work, role: backend}]}\n";
    let env = TestEnvironment::with_rules(rules, org);
    let id = env.new_task(&["Add login"]);
    let named = "(`agent-7`, `agent-8` are in it, but not in `agents` of org.yaml)";
    for command in ["show", "why"] {
        let text = env.aof(&[command, &id]).success().stdout;
        assert!(text.contains(named), "{command}: {text}");
    }
    let status = env.aof(&["status"]).success().stdout;
    assert!(status.contains("agent-7") && status.contains("`agents`"), "{status}");
    // What the file has is what it was.
    assert!(env.task_text(&id).contains("No agents available for role: backend"));
    assert!(!env.task_text(&id).contains("agent-7"));
}

#[test]
fn the_version_of_a_workflow_is_shown() {
    let rules = "workflow: {version: \"2.1\", gates: [{id: work, role: backend}]}\n";
    let env = TestEnvironment::with_rules(rules, ORG);
    for args in [&["workflow", "show"][..], &["workflow", "graph"], &["workflow", "list"]] {
        let text = env.aof(args).success().stdout;
        assert!(text.contains("2.1"), "{args:?}: {text}");
    }
    assert_eq!(json_of(&env, &["workflow", "show"])["version"], "2.1");
    assert_eq!(json_of(&env, &["workflow", "graph"])["version"], "2.1");
    assert_eq!(json_of(&env, &["workflow", "list"])["workflows"][0]["version"], "2.1");
}

#[test]
fn people_are_shown_the_rules_of_the_worktree() {
    let env = TestEnvironment::new();
    let gates = |value: &Value| {
        let all = value["gates"].as_array().unwrap().iter();
        all.map(|gate| gate["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    env.edit(
        "project.yaml",
        "    - id: review",
        "    - {id: polish, role: backend}\n    - id: review",
    );
    for command in ["show", "graph"] {
        let shown = env.aof(&["workflow", command]).success();
        assert!(shown.stdout.contains("polish"), "{shown}");
        assert_eq!(shown.stderr.lines().count(), 1, "{shown}");
        assert!(shown.stderr.contains("project.yaml as in the worktree"), "{shown}");
        assert_eq!(gates(&json_of(&env, &["workflow", command])), ["implement", "review"]);
        let ours = json_of(&env, &["workflow", command, "--worktree"]);
        assert_eq!(gates(&ours), ["implement", "polish", "review"]);
    }
    // What is invalid is not shown, and said to count for nothing.
    env.write("project.yaml", "workflow: [\n");
    let shown = env.aof(&["workflow", "graph"]).success();
    assert!(shown.stdout.contains("implement") && !shown.stdout.contains("polish"), "{shown}");
    assert!(shown.stderr.contains("the committed rules count"), "{shown}");
    let _ = env.aof(&["workflow", "graph", "--worktree"]).code(6);
    env.git(&["checkout", "-q", "project.yaml"]);
    let shown = env.aof(&["workflow", "graph"]).success();
    assert_eq!(shown.stderr, "", "{shown}");
}

#[test]
fn a_diff_tells_of_fields_that_decide_nothing_and_of_agents() {
    let org = "roles: {dev: {agents: [agent-1]}}\nagents: {agent-1: {}}\n";
    let env = TestEnvironment::with_rules("workflow: {gates: [{id: work, role: dev}]}\n", org);
    let gate = "{id: work, role: dev, delivery: true, lease: 2h, metadata: {team: blue}, run: {timeout: 9m, exit: {blocked: 3}}}";
    let wide = "version: '2', description: New, lease: 1h, run: {model: small}, visibleTo: [dev]";
    env.write("project.yaml", format!("workflow: {{{wide}, gates: [{gate}]}}\n"));
    env.edit("org.yaml", "agent-1: {}", "agent-1: {email: a@b.example, maxTasks: 2}");
    let told = env.aof(&["workflow", "diff"]).success().stdout;
    for words in [
        "version none -> 2",
        "description none -> New",
        "lease none -> 1h",
        "run.model none -> small",
        "visibleTo differs",
        "delivery false -> true",
        "lease none -> 2h",
        "metadata.team none -> blue",
        "run.timeout none -> 9m",
        "run.exit differs",
        "agent agent-1: email none -> a@b.example, maxTasks none -> 2",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
}
