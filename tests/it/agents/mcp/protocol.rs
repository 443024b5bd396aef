//! The protocol of `aof mcp`: what is said of the tools, what else a client can read, and what is no message.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{Era, McpClient};

#[test]
fn descriptions_of_tools_are_short_complete_and_stable() {
    let env = TestEnvironment::new();
    let mut old = McpClient::of(&env, "agent-7");
    let mut new = McpClient::start(&env, Era::New, &["--agent", "agent-7"]);
    let listed = old.ask("tools/list", json!({}))["tools"].clone();
    assert_eq!(listed, old.ask("tools/list", json!({}))["tools"]);
    assert_eq!(listed, new.ask("tools/list", json!({}))["tools"]);
    // No tokenizer makes more than a token of three bytes of English and JSON.
    assert!(listed.to_string().len() / 3 < 6000, "{} bytes", listed.to_string().len());
    let mut names = Vec::new();
    for tool in listed.as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{name}");
        assert!(
            tool["description"].as_str().unwrap().len() > 60 && tool["title"].is_string(),
            "{name}"
        );
        let hint = |key: &str| {
            tool["annotations"][key].as_bool().unwrap_or_else(|| panic!("{name} has no {key}"))
        };
        let marks = [
            ("r", "readOnlyHint"),
            ("d", "destructiveHint"),
            ("i", "idempotentHint"),
            ("o", "openWorldHint"),
        ];
        let marks: String =
            marks.iter().map(|(mark, key)| if hint(key) { mark } else { "-" }).collect();
        names.push(format!("{marks} {name}"));
    }
    assert_snapshot!(names.join("\n"), @"
    --i- aof_task_next
    r-i- aof_task_get
    r-i- aof_task_list
    ---- aof_task_complete
    --i- aof_task_renew
    --i- aof_task_release
    ---- aof_task_create
    ---- aof_task_comment
    r-i- aof_workflow_list
    ---- aof_workflow_start
    r-i- aof_status
    ");
    let description = &listed[3]["description"].as_str().unwrap();
    assert_snapshot!(description, @r#"
    Mark your current task as done at its gate. Call it once, when the work is finished or cannot go on; where the task goes then is not your concern.

    outcome:
    - "complete": your work is done and ready to go on
    - "needs_review": you reviewed it and found problems that somebody else has to fix; list them in blockers
    - "blocked": something outside stops you; name it in blockers
    - "skip", "failed", or a decision of this gate: only where `outcomes` of the brief names it
    summary: what you did, in one or two sentences. blockers: one entry for each thing, so concrete that somebody can act on it: "No error handling for expired tokens", not "needs work".

    Examples:
    {"outcome": "complete", "summary": "Added login with tokens; 14 tests, coverage 85%"}
    {"outcome": "needs_review", "summary": "Two things to fix", "blockers": ["No error handling for expired tokens", "Coverage is 65%, the target is 80%"], "rejectionNotes": "The rest is fine"}
    {"outcome": "blocked", "summary": "Cannot go on without the API description", "blockers": ["The platform team has not sent the API description"]}

    A refusal changes nothing and says how to put it right.
    "#);
    assert_snapshot!(old.hello["instructions"].as_str().unwrap(), @r#"
    This project hands out work as tasks. A task stands at one gate at a time; you do what the brief of that gate asks, and say how it went.
    1. aof_task_next gives you your task with its brief: what is expected, and which outcomes are possible.
    2. Do the work.
    3. aof_task_complete says the outcome, with a summary. Where the task goes then is not your concern.
    You are the same agent in all calls; no argument changes that.
    A refusal changes nothing. It says what is wrong, and `nextCall` is a call that works, with what is yours to fill in between < and >.
    Work that takes long is kept yours by aof_task_renew; what you cannot do is given back by aof_task_release.
    To have something done by a named process, as in "use the feature workflow to add X": aof_workflow_start.
    Never edit the engine's fields of files under tasks/ by hand (status, gate, gateHistory, routing): such a task waits for a person.
    "#);
    assert_eq!(old.hello["protocolVersion"], "2025-11-25");
    let versions = new.hello["supportedVersions"].as_array().unwrap();
    assert!(versions.contains(&json!("2025-11-25")) && versions.contains(&json!("2026-07-28")));
    // An era that nobody knows yet is answered with one that both know.
    let mut later = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]);
    let hello = json!({"protocolVersion": "2031-01-01", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    assert_eq!(later.ask("initialize", hello)["protocolVersion"], "2025-11-25");
}

#[test]
fn a_client_can_read_briefs_and_tasks_and_pick_a_prompt() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "With tokens."]);
    let mut worker = McpClient::of(&env, "agent-7");
    let uris = |client: &mut McpClient<'_>| {
        let listed = client.ask("resources/list", json!({}))["resources"].clone();
        listed
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["uri"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(uris(&mut worker), ["aof://brief"]);
    let answer = worker.answer("resources/read", json!({"uri": "aof://brief"}));
    assert_eq!(
        (&answer["error"]["code"], &answer["error"]["data"]["error"]),
        (&json!(-32002), &json!("no_current_task"))
    );
    worker.call("aof_task_next", json!({}));
    assert_eq!(uris(&mut worker), ["aof://brief", &format!("aof://task/{id}")]);
    let brief = worker.ask("resources/read", json!({"uri": "aof://brief"}));
    assert_snapshot!(env.plain(brief["contents"][0]["text"].as_str().unwrap()), @"
    # AOF-xxxxx: Add login

    Gate `implement`, ticket `AOF-xxxxx@0`.

    You do the work of this task.

    ## Expected

    - Do what the title and the body of the task ask for
    - Check your result yourself before you hand it on

    ## Outcomes

    - `complete`: Your work is finished and can go on to the next step.
    - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    ## Tips

    - Say in the summary what you did and how you checked it

    ## Task

    With tokens.

    ## Say how it went

    Call aof_task_complete with `task`: `AOF-xxxxx@0`, `outcome`: one of those above, and `summary`: what you did.
    ");
    let file = worker.ask("resources/read", json!({"uri": format!("aof://task/{id}")}));
    assert_eq!(file["contents"][0]["text"], env.task_text(&id));
    assert_eq!(
        worker.ask("resources/templates/list", json!({}))["resourceTemplates"][0]["uriTemplate"],
        "aof://task/{id}"
    );
    for uri in [
        "aof://task/AOF-zzzzz",
        "aof://task/../../etc/passwd",
        "aof://nothing",
        "file:///etc/passwd",
    ] {
        assert_eq!(
            worker.answer("resources/read", json!({"uri": uri}))["error"]["code"],
            -32002,
            "{uri}"
        );
    }
    let work = worker.ask("prompts/get", json!({"name": "work-next"}));
    assert!(work["messages"][0]["content"]["text"].as_str().unwrap().contains("With tokens."));
    worker.call("aof_task_complete", json!({"outcome": "complete", "summary": "Done"}));
    let mut reviewer = McpClient::start(&env, Era::New, &["--agent", "agent-3"]);
    let review =
        reviewer.ask("prompts/get", json!({"name": "review-task", "arguments": {"task": id}}));
    assert_snapshot!(env.plain(review["messages"][0]["content"]["text"].as_str().unwrap()), @"
    Review the work of this task as its brief asks. Look at what was really done, in the files, not only at what is said of it. Name each thing that must be fixed so that somebody else can fix it: where it is, what is wrong, what would be right.

    # AOF-xxxxx: Add login

    Gate `review`, ticket `AOF-xxxxx@1`.

    You review this task: it goes on only if you find it good.

    ## Expected

    - Compare the result with what the title and the body of the task ask for
    - Name every fault you find, each as a blocker of its own

    ## Outcomes

    - `complete`: You found it good; it goes on.
    - `needs_review`: It needs fixes. List each fault in blockers; it goes back to be worked on.
    - `blocked`: You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    ## Tips

    - Write blockers that somebody else can act upon: the thing, and what it should be
    - One blocker for each fault

    ## Task

    With tokens.

    ## Say how it went

    Call aof_task_complete with `task`: `AOF-xxxxx@1`, `outcome`: one of those above, and `summary`: what you did.
    ");
    for params in [json!({"name": "review-task"}), json!({"name": "nothing"})] {
        assert_eq!(reviewer.answer("prompts/get", params)["error"]["code"], -32602);
    }
    // In the new era what is not there is a wrong parameter.
    assert_eq!(
        reviewer.answer("resources/read", json!({"uri": "aof://nothing"}))["error"]["code"],
        -32602
    );
}

#[test]
fn an_invalid_message_is_answered_and_the_server_goes_on() {
    let env = TestEnvironment::new();
    let mut client = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]);
    let mut lines = Vec::new();
    // Before anything else was said, and after.
    for _ in 0..2 {
        for line in [
            "{not json",
            "[]",
            "{}",
            "\"text\"",
            "{\"jsonrpc\":\"2.0\",\"id\":7}",
            "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"nothing/known\"}",
            "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":[1]}",
            "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":{\"name\":\"aof_task_nxt\"}}",
        ] {
            client.send(line);
            lines.push(format!("{line}\n  {}", client.line()));
        }
        // These want no answer.
        for line in [
            "",
            "  ",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/unheard\"}",
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":5}",
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        ] {
            client.send(line);
        }
        if lines.len() == 8 {
            lines.push("-- initialize".to_owned());
            client.begin();
        }
    }
    assert_snapshot!(lines.join("\n"), @r#"
    {not json
      {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON: key must be a string (line 1, column 2)"}}
    []
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    {}
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    "text"
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    {"jsonrpc":"2.0","id":7}
      {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no JSON-RPC message: it has no `method` that is a text"}}
    {"jsonrpc":"2.0","id":8,"method":"nothing/known"}
      {"jsonrpc":"2.0","id":8,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities"}}
    {"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}
      {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"the parameters of `tools/call` are malformed: `params` is not an object"}}
    {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"aof_task_nxt"}}
      {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"request _meta is missing or has malformed required fields: io.modelcontextprotocol/protocolVersion, io.modelcontextprotocol/clientCapabilities"}}
    -- initialize
    {not json
      {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"this is not JSON: key must be a string (line 1, column 2)"}}
    []
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    {}
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    "text"
      {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message is a JSON-RPC object with `\"jsonrpc\": \"2.0\"`, one at a time"}}
    {"jsonrpc":"2.0","id":7}
      {"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"this is no JSON-RPC message: it has no `method` that is a text"}}
    {"jsonrpc":"2.0","id":8,"method":"nothing/known"}
      {"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"there is no method `nothing/known`"}}
    {"jsonrpc":"2.0","id":9,"method":"tools/call","params":[1]}
      {"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"the parameters of `tools/call` are malformed: `params` is not an object"}}
    {"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"aof_task_nxt"}}
      {"jsonrpc":"2.0","id":10,"error":{"code":-32602,"message":"there is no tool `aof_task_nxt`; did you mean `aof_task_next`?","data":{"tools":["aof_task_next","aof_task_get","aof_task_list","aof_task_complete","aof_task_renew","aof_task_release","aof_task_create","aof_task_comment","aof_workflow_list","aof_workflow_start","aof_status"]}}}
    "#);
    assert_eq!(client.ask("ping", json!({})), json!({}));
    assert_eq!(client.end().code, Some(0));

    let silent = McpClient::mute(&env, Era::Old, &["--agent", "agent-7"], &[]).end();
    assert_snapshot!(silent, @"exit 0");
    // All of a conversation may be there before the server reads a word of it, and its end as well.
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let words: String = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "aof_status", "arguments": {}}}),
    ]
    .iter()
    .map(|message| format!("{message}\n"))
    .collect();
    let output =
        env.aof_reading(&["mcp", "--agent", "agent-7"], words.trim_end().as_bytes()).success();
    assert_eq!(output.stdout.lines().count(), 2, "{output}");
    assert!(output.stdout.contains("\"branch\\\":\\\"main\\\""), "{output}");
}
