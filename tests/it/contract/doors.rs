//! Every operation through every door: the command line, a tool, the HTTP interface and a web form make the same commits.

use serde_json::{Map, Value, json};

use crate::cli::web::Board;
use crate::support::environment::{PROJECT, TestEnvironment};
use crate::support::mcp_client::McpClient;

const ORG: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
agents:
  agent-3: {}
  agent-7: {may: [new, edit, cancel, unblock, reopen, override, hold, assign]}
  agent-8: {}
";

/// An operation, and its request at each door. `None` is a door that does not offer it.
struct Row {
    operation: &'static str,
    /// Commands that bring the task into the state for it; `ID` is the task.
    before: &'static [&'static [&'static str]],
    command: &'static [&'static str],
    /// The tool and its arguments.
    tool: Option<(&'static str, &'static str)>,
    /// The body, which is also the fields of the form, besides the ticket.
    api: Option<&'static str>,
    form: Option<&'static [(&'static str, &'static str)]>,
}

const CLAIMED: &[&[&str]] = &[&["claim", "ID", "--agent", "agent-7"]];
const CANCELLED: &[&[&str]] = &[&["cancel", "ID", "-m", "No", "--agent", "agent-7"]];
const HELD: &[&[&str]] = &[&["hold", "ID", "-m", "Wait", "--agent", "agent-7"]];
const COMPLETED: &[&[&str]] =
    &[&["complete", "ID", "--agent", "agent-7", "-o", "complete", "-s", "Did it", "--id", "first"]];

const ROWS: &[Row] = &[
    Row {
        operation: "create",
        before: CLAIMED,
        command: &[
            "new",
            "Two",
            "--description",
            "In short",
            "--body",
            "At length",
            "--tag",
            "a",
            "--tag",
            "b",
            "--priority",
            "medium",
            "--milestone",
            "one",
            "--assignee",
            "agent-8",
            "--due",
            "2027-01-02",
        ],
        tool: Some((
            "aof_task_create",
            r#"{"title": "Two", "description": "In short", "body": "At length", "tags": ["a", "b"], "priority": "medium", "milestone": "one", "assignee": ["agent-8"], "due": "2027-01-02"}"#,
        )),
        api: Some(
            r#"{"title": "Two", "description": "In short", "body": "At length", "tags": ["a", "b"], "priority": "medium", "milestone": "one", "assignee": ["agent-8"], "due": "2027-01-02"}"#,
        ),
        form: Some(&[
            ("title", "Two"),
            ("description", "In short"),
            ("body", "At length"),
            ("tags", "a, b"),
            ("priority", "medium"),
            ("milestone", "one"),
            ("assignee", "agent-8"),
            ("due", "2027-01-02"),
        ]),
    },
    Row {
        operation: "edit",
        before: &[],
        command: &["edit", "ID", "--title", "Other", "--body", "New text"],
        tool: None,
        api: None,
        form: Some(&[("title", "Other"), ("title-was", "One"), ("body", "New text"), ("was", "")]),
    },
    Row {
        operation: "complete",
        before: &[],
        command: &["complete", "ID@0", "-o", "complete", "-s", "Did it", "--id", "door"],
        tool: Some((
            "aof_task_complete",
            r#"{"task": "ID@0", "outcome": "complete", "summary": "Did it", "id": "door"}"#,
        )),
        api: Some(r#"{"outcome": "complete", "summary": "Did it", "id": "door"}"#),
        form: Some(&[("outcome", "complete"), ("summary", "Did it"), ("id", "door")]),
    },
    Row {
        operation: "claim",
        before: &[],
        command: &["claim", "ID"],
        tool: None,
        api: Some("{}"),
        form: Some(&[]),
    },
    Row {
        operation: "release",
        before: CLAIMED,
        command: &["release", "ID"],
        tool: Some(("aof_task_release", r#"{"task": "ID"}"#)),
        api: Some("{}"),
        form: Some(&[]),
    },
    Row {
        operation: "renew",
        before: CLAIMED,
        command: &["renew", "ID", "--note", "Half"],
        tool: Some(("aof_task_renew", r#"{"task": "ID", "note": "Half"}"#)),
        api: None,
        form: None,
    },
    Row {
        operation: "assign",
        before: &[],
        command: &["assign", "--claim", "ID", "agent-8"],
        tool: None,
        api: Some(r#"{"agent": "agent-8"}"#),
        form: Some(&[("agent", "agent-8")]),
    },
    Row {
        operation: "hold",
        before: &[],
        command: &["hold", "ID", "-m", "Wait\nfor it"],
        tool: None,
        api: Some(r#"{"reason": "Wait\nfor it"}"#),
        form: Some(&[("reason", "Wait\r\nfor it")]),
    },
    Row {
        operation: "unblock",
        before: HELD,
        command: &["unblock", "ID", "-m", "It came"],
        tool: None,
        api: Some(r#"{"reason": "It came"}"#),
        form: Some(&[("reason", "It came")]),
    },
    Row {
        operation: "comment",
        before: &[],
        command: &["comment", "ID", "-m", "A word"],
        tool: Some(("aof_task_comment", r#"{"task": "ID", "text": "A word"}"#)),
        api: Some(r#"{"reason": "A word"}"#),
        form: Some(&[("reason", "A word")]),
    },
    Row {
        operation: "cancel",
        before: &[],
        command: &["cancel", "ID", "-m", "No"],
        tool: None,
        api: Some(r#"{"reason": "No"}"#),
        form: Some(&[("reason", "No")]),
    },
    Row {
        operation: "reopen",
        before: CANCELLED,
        command: &["reopen", "ID", "--to", "implement", "-m", "Yes"],
        tool: None,
        api: Some(r#"{"to": "implement", "reason": "Yes"}"#),
        form: Some(&[("to", "implement"), ("reason", "Yes")]),
    },
    Row {
        operation: "override",
        before: &[],
        command: &["override", "ID", "--to", "review", "-m", "Now"],
        tool: None,
        api: Some(r#"{"to": "review", "reason": "Now"}"#),
        form: Some(&[("to", "review"), ("reason", "Now")]),
    },
    Row {
        operation: "undo",
        before: COMPLETED,
        command: &["undo", "ID", "-m", "Wrong"],
        tool: None,
        api: None,
        form: None,
    },
];

/// Returns a project with one task in the state for the operation, and the id of the task.
fn prepared(row: &Row) -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = env.new_task(&["One"]);
    for words in row.before {
        let _ = env.aof(&words_for(words, &id)).success();
    }
    (env, id)
}

fn words_for<'w>(words: &[&'w str], id: &'w str) -> Vec<&'w str> {
    words.iter().map(|word| if *word == "ID" { id } else { word }).collect()
}

/// Returns what the last commit says and changes, without times and ids.
pub(crate) fn made(env: &TestEnvironment) -> String {
    let shown = env.git(&["show", "--format=%an <%ae>%n%B", "--patch", "--unified=0", "HEAD"]);
    let shown = env.plain(&shown);
    // A server has the real clock; a tool notes its session, in the metadata of the entry.
    let of_door = ["duration: ", "session: ", "    metadata:"];
    let is_kept = |line: &&str| {
        !["index ", "@@"].iter().any(|start| line.starts_with(start))
            && !of_door.iter().any(|own| line.contains(own))
    };
    let lines = shown.lines().filter(is_kept);
    lines.map(without_times).collect::<Vec<_>>().join("\n")
}

/// Replaces times such as `2026-02-16T12:00:00Z`, and takes the folders of days out of the archive's paths.
fn without_times(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let is_time = word.len() >= 20 && word.get(10..11) == Some("T") && word.contains('Z');
        match word.split_once("/archive/").and_then(|(start, rest)| Some((start, rest.get(11..)?)))
        {
            Some((start, name)) => format!("{start}/archive/{name}"),
            None if is_time => "TIME".to_owned(),
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn by_command(row: &Row) -> String {
    let (env, id) = prepared(row);
    let visit = format!("{id}@0");
    let words = row.command.iter().map(|word| match *word {
        "ID" => id.as_str(),
        "ID@0" => visit.as_str(),
        word => word,
    });
    let words: Vec<&str> = words.chain(["--agent", "agent-7"]).collect();
    let _ = env.aof(&words).success();
    made(&env)
}

fn by_tool(row: &Row, tool: &str, arguments: &str) -> String {
    let (env, id) = prepared(row);
    let arguments: Value = serde_json::from_str(&arguments.replace("ID", &id)).unwrap();
    let _ = McpClient::of(&env, "agent-7").call(tool, arguments);
    made(&env)
}

/// Returns the ticket that a board shows for the task: without a visit if it is finished.
fn ticket(row: &Row, id: &str) -> String {
    if row.operation == "reopen" { id.to_owned() } else { format!("{id}@0") }
}

fn by_api(row: &Row, body: &str) -> String {
    let (env, id) = prepared(row);
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let mut body: Map<String, Value> = serde_json::from_str(body).unwrap();
    let path = if row.operation == "create" {
        "/api/v1/project/tasks".to_owned()
    } else {
        body.insert("ticket".to_owned(), json!(ticket(row, &id)));
        format!("/api/v1/project/tasks/{id}/{}", row.operation)
    };
    let headers = format!("Origin: http://localhost:{}\r\n", board.port);
    let answer = board.request("POST", &path, &headers, &json!(body).to_string());
    assert!([200, 201].contains(&answer.status), "{}: {}", row.operation, answer.body);
    made(&env)
}

fn by_form(row: &Row, fields: &[(&str, &str)]) -> String {
    let (env, id) = prepared(row);
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let (token, ticket) = (board.token(), ticket(row, &id));
    let hidden = [("form", token.as_str()), ("act", row.operation), ("ticket", ticket.as_str())];
    let path = match row.operation {
        "create" => "/project/new".to_owned(),
        "edit" => format!("/project/tasks/{id}/edit"),
        _ => format!("/project/tasks/{id}"),
    };
    let answer = board.post(&path, &[&hidden[..], fields].concat());
    assert_eq!(answer.status, 303, "{}: {}", row.operation, answer.body);
    made(&env)
}

#[test]
fn every_door_makes_the_same_commits() {
    let mut differences = Vec::new();
    for row in ROWS {
        let wanted = by_command(row);
        assert!(wanted.contains("Aof-Task"), "{}: {wanted}", row.operation);
        let tool = row.tool.map(|(tool, arguments)| by_tool(row, tool, arguments));
        let api = row.api.map(|body| by_api(row, body));
        let form = row.form.map(|fields| by_form(row, fields));
        for (door, found) in [("tool", tool), ("API", api), ("form", form)] {
            if let Some(found) = found.filter(|found| *found != wanted) {
                let what = format!("`{}` by the {door}", row.operation);
                differences.push(format!("{what}:\n{found}\n--- by the command:\n{wanted}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
}

#[test]
fn every_operation_of_the_http_interface_has_a_row() {
    let env = TestEnvironment::new();
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let document: Value =
        serde_json::from_str(&board.get("/api/v1/openapi.json").body).expect("it is JSON");
    let paths = document["paths"].as_object().expect("it has paths");
    let changing = paths.iter().filter(|(_, methods)| methods.get("post").is_some());
    let mut names: Vec<&str> = changing.filter_map(|(path, _)| path.rsplit('/').next()).collect();
    let mut rows: Vec<&str> =
        ROWS.iter().filter(|row| row.api.is_some()).map(|row| row.operation).collect();
    // A new task is posted to the list of tasks.
    rows.iter_mut().filter(|name| **name == "create").for_each(|name| *name = "tasks");
    names.sort_unstable();
    rows.sort_unstable();
    assert_eq!(names, rows);
}

#[test]
fn the_reference_lists_the_fields_of_each_operation() {
    let env = TestEnvironment::new();
    let board = Board::start(&env, &["--agent", "agent-7"]);
    let document: Value =
        serde_json::from_str(&board.get("/api/v1/openapi.json").body).expect("it is JSON");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/api.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `/tasks")).collect();
    let mut missing = Vec::new();
    for (path, methods) in document["paths"].as_object().expect("it has paths") {
        let Some(post) = methods.get("post") else { continue };
        let name = path.rsplit('/').next().unwrap();
        let body = &post["requestBody"]["content"]["application/json"]["schema"];
        let fields = body["properties"].as_object().expect("its fields");
        assert!(!fields.is_empty(), "{path}");
        let is_about = |row: &&&str| match name {
            "tasks" => row.starts_with("| `/tasks` | `title`"),
            name => {
                let (paths, _) = row[2..].split_once(" | ").unwrap();
                paths.contains(&format!("/{name}`")) || paths.contains(&format!("`{name}`"))
            }
        };
        let row = rows.iter().find(is_about);
        for field in fields
            .keys()
            .filter(|field| !row.is_some_and(|row| row.contains(&format!("`{field}`"))))
        {
            missing.push(format!("{name}: {field}"));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}
