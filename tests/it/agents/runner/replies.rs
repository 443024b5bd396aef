//! Replies of agents as they write them: frontmatter, lines with keys, and what they say when they cannot go on.

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::scripted_agents::{DONE, endings, history, project_of, prompt, shown, stand};
use crate::support::watcher::drop_file;

const ONE_EXIT: &str = "\
workflow:
  gates:
    - id: work
      role: worker
      signal: {status: true, missing: blocked}
      outputs:
        properties: {branch: {type: string}, files: {type: array, items: {type: string}}}
        required: [branch]
    - {id: review, role: reviewer}
";

const REPLY: &str =
    "---\nbranch: fix/login\nfiles: [a.md, b.md]\n---\n\nLogin works.\nIt has tests.\n";

fn project(rules: &str, reply: &str) -> TestEnvironment {
    let env = project_of(
        rules,
        &[
            ("coder", "worker", "attempts: 1", "cat >/dev/null; cat \"$HOME/reply\"\n"),
            ("critic", "reviewer", "", DONE),
        ],
    );
    std::fs::write(env.home().join("reply"), reply).unwrap();
    env
}

/// Runs one visit of a new task with that reply; returns the task's id.
fn replied(env: &TestEnvironment, reply: &str) -> String {
    std::fs::write(env.home().join("reply"), reply).unwrap();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id, "--once"]);
    id
}

/// Returns outcome, summary and outputs of the first visit.
fn said(env: &TestEnvironment, id: &str) -> Value {
    let visit = &shown(env, id)["gateHistory"][0];
    json!([visit["outcome"], visit["summary"], visit["outputs"]])
}

#[test]
fn one_exit_needs_no_status_at_any_door() {
    let env = project(ONE_EXIT, REPLY);
    let outputs = json!({"branch": "fix/login", "files": ["a.md", "b.md"]});
    let wanted = json!(["complete", "Login works.", outputs]);
    let body = |id: &str| {
        let text = env.task_text(id);
        assert!(text.contains("\nLogin works.\nIt has tests.\n"), "{text}");
        assert_eq!(text.matches("\n---\n").count(), 1, "{text}");
    };

    let id = replied(&env, REPLY);
    assert_eq!(said(&env, &id), wanted, "{}", endings(&env, &format!("{id}@0")));
    body(&id);
    let output = prompt(&env, &format!("{id}@0"), 1);
    assert!(
        output.contains("begin your last message with frontmatter at the beginning")
            && !output.contains("$status"),
        "{output}"
    );

    let id = env.new_task(&["Add login"]);
    env.write("reply.md", REPLY);
    let _ = env.aof(&["task", "complete", &id, "--agent", "coder", "--file", "reply.md"]).success();
    assert_eq!(said(&env, &id), wanted);
    body(&id);

    let id = env.new_task(&["Add login"]);
    let file = REPLY.replacen("---\n", &format!("---\ntask: {id}\nagent: coder\n"), 1);
    drop_file(&env, "reply.md", file);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(said(&env, &id), wanted, "{:?}", env.files(".aof/refused"));
    body(&id);

    let id = env.new_task(&["Add login"]);
    let mut client = McpClient::of(&env, "coder");
    client.call("aof_task_complete", json!({"task": id, "text": REPLY, "summary": "Login works."}));
    assert_eq!(said(&env, &id), wanted);
    body(&id);

    // The file for the answer, and one object, are replies too.
    for reply in [
        format!("---\noutcome: complete\n{}", &REPLY[4..]),
        "{\"branch\": \"fix/login\", \"files\": [\"a.md\", \"b.md\"]}".to_owned(),
    ] {
        let id = replied(&env, &reply);
        assert_eq!(said(&env, &id)[2], outputs, "{}", endings(&env, &format!("{id}@0")));
        assert_ne!(said(&env, &id)[1], "---");
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_reply_without_its_outputs_does_not_pass() {
    let env = project(ONE_EXIT, REPLY);
    for (reply, why) in [
        ("---\nfiles: [a.md]\n---\nDone.\n", "`branch` is missing"),
        ("---\nbranch: fix: login\n---\nDone.\n", "has frontmatter that is no YAML: line 2: "),
        ("---\nbranch: x\nfile: y\n---\nDone.\n", "`file` is not declared; did you mean `files`?"),
    ] {
        let id = replied(&env, reply);
        let ended = endings(&env, &format!("{id}@0"));
        assert!(ended.starts_with("bad_verdict") && ended.contains(why), "{reply}: {ended}");
        env.write("reply.md", reply);
        let id = env.new_task(&["Add login"]);
        let refused =
            env.aof(&["task", "complete", &id, "--agent", "coder", "--file", "reply.md"]).code(4);
        assert!(refused.stderr.contains(why), "{reply}: {}", refused.stderr);
    }
    let id = replied(&env, "I could not do it.\n");
    assert_eq!(stand(&env, &id), "blocked work -");
    // A field that nobody asks for is a mistake of whoever wrote the file.
    let id = env.new_task(&["Add login"]);
    let _ = env
        .aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "coder",
            "--file",
            "reply.md",
            "--outcome",
            "blocked",
            "--summary",
            "No",
            "--blocker",
            "No access",
            "--output",
            "branch=x",
        ])
        .code(4);
    env.edit("project.yaml", "      signal: {status: true, missing: blocked}\n", "");
    env.edit("project.yaml", "required: [branch]", "additionalProperties: true");
    env.commit_all("open");
    drop_file(
        &env,
        "typo.md",
        format!("---\ntask: {id}\nagent: coder\noutcome: complete\nsumary: Did it\n---\nText.\n"),
    );
    let _ = env.aof(&["watch", "--once"]);
    let reason = env.files(".aof/refused").into_iter().find(|name| name.ends_with(".reason.json"));
    let reason = env.read(&reason.unwrap());
    assert!(reason.contains("did you mean `summary`?"), "{reason}");
    assert_eq!(stand(&env, &id), "ready work -");
    // Frontmatter of a text that nobody asked for is text.
    env.write("page.md", "---\nlayout: page\n---\nHello.\n");
    let _ = env
        .aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "coder",
            "--summary",
            "Page",
            "--file",
            "page.md",
        ])
        .success();
    assert!(env.task_text(&id).contains("---\nlayout: page\n---\nHello.\n"));
}

#[test]
fn an_agent_that_suspends_is_blocked_with_its_reason() {
    let rules = "\
workflow:
  gates:
    - id: work
      role: worker
      signal: {status: true, missing: blocked}
      routes: {ready: $next, redo: $hold}
      outputs:
        oneOf:
          - properties: {$status: {const: ready}, plan: {type: string}}
          - properties: {$status: {const: redo}}
    - {id: review, role: reviewer}
";
    let env = project(rules, "");
    let blockers = |id: &str| shown(&env, id)["blockers"].clone();
    for (reply, wanted) in [
        (
            "---\n$status: $SUSPEND\nreason: No access to staging\n---\nI tried.\n",
            "No access to staging",
        ),
        ("---\n$status: \"$SUSPEND\"\nquestion: Which branch?\n---\n", "question: Which branch?"),
        ("---\n$status: $SUSPEND\n---\nThe server is down.\nSorry.\n", "The server is down."),
        ("---\n$status: $SUSPEND\n---\n", "Suspended without a reason"),
    ] {
        let id = replied(&env, reply);
        assert_eq!(stand(&env, &id), "blocked work -", "{}", endings(&env, &format!("{id}@0")));
        assert_eq!(blockers(&id), json!([wanted]));
        assert!(!said(&env, &id)[1].as_str().unwrap().contains("could be read"));
        let id = env.new_task(&["Add login"]);
        env.write("reply.md", reply);
        let _ =
            env.aof(&["task", "complete", &id, "--agent", "coder", "--file", "reply.md"]).success();
        assert_eq!(blockers(&id), json!([wanted]));
    }
    let id = replied(&env, "---\n$status: Ready\nplan: 'a: b'\n---\nThe plan.\n");
    assert_eq!(said(&env, &id), json!(["ready", "The plan.", {"plan": "a: b"}]));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn lines_with_keys_become_outputs() {
    let rules = "\
workflow:
  gates:
    - id: work
      role: worker
      signal: {expects: 'TIER:', missing: failed}
      onFailure: $hold
      outputs:
        properties: {tier: {type: string}, files: {type: array, items: {type: string}}, stories: {type: array}}
        required: [tier]
    - {id: review, role: worker, signal: {key: DECISION, missing: failed}, routes: {approved: $end}, onFailure: $fail}
";
    let env = project(rules, "");
    let outputs = |reply: &str| {
        let id = replied(&env, reply);
        said(&env, &id)[2].clone()
    };
    let stories = "STORIES:\n```json\n[{\"id\": 1},\n {\"id\": 2}]\n```\n";
    assert_eq!(
        outputs(&format!("STATUS: done\nTIER: 2 - small\nFILES: [a.md, \"b.md\"]\n{stories}")),
        json!({"tier": "2 - small", "files": ["a.md", "b.md"], "stories": [{"id": 1}, {"id": 2}]})
    );
    assert_eq!(
        outputs("TIER: 1\nFILES: [\"a, b.md\"]\n"),
        json!({"tier": "1", "files": ["a, b.md"]})
    );
    let id = replied(&env, "STATUS: failed\nTIER: 2\n");
    assert_eq!(said(&env, &id)[0], "failed", "{}", history(&env, &id));
    for (reply, wanted) in [
        ("STATUS: failed\nDECISION: approved\n", "failed - -"),
        ("STATUS: done\nDECISION: approved\n", "complete - -"),
    ] {
        let id = replied(&env, "TIER: 2\n");
        std::fs::write(env.home().join("reply"), reply).unwrap();
        let _ = env.aof(&["run", "--task", &id, "--once"]);
        assert_eq!(stand(&env, &id), wanted, "{}", history(&env, &id));
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_reported_failure_is_believed() {
    const TAG: &str = "{tag: gate, fail: failed, missing: blocked}";
    const STATUS: &str = "{status: true, missing: blocked}";
    let rules = |signal: &str| {
        format!(
            "workflow: {{gates: [{{id: work, role: worker, signal: {signal}, onFailure: $fail, outputs: {{properties: {{n: {{type: integer}}}}}}}}]}}\n"
        )
    };
    for (signal, reply) in [
        (TAG, "STATUS: failed\n<gate>PASS</gate>\n"),
        (STATUS, "---\n$status: complete\n---\nSTATUS: failed\n"),
        ("{expects: 'DONE: yes', missing: blocked}", "STATUS: failed\nN: abc\n"),
        (TAG, "STATUS: failed\nN: abc\n"),
    ] {
        let env = project(&rules(signal), "");
        let id = replied(&env, reply);
        assert_eq!(said(&env, &id)[0], "failed", "{signal}: {}", history(&env, &id));
        assert_eq!(stand(&env, &id), "failed - -", "{signal}");
        let _ = env.aof(&["verify"]).success();
    }
    // A key of the frontmatter is an output.
    let rules = rules(STATUS).replace("n: {type: integer}", "status: {type: string}");
    let env = project(&rules, "");
    let id = replied(&env, "---\n$status: complete\nstatus: failed\n---\nThe build is red.\n");
    assert_eq!(said(&env, &id)[0], "complete", "{}", history(&env, &id));
}

#[test]
fn a_schema_is_checked_or_refused() {
    let role = |keyword: &str| {
        format!(
            "name: demo\nroles:\n  coder:\n    description: Works\n    procedure: Do it.\n    frontmatter:\n      type: object\n      properties:\n        branch: {{type: string, {keyword}}}\ngraph:\n  $START: {{_: {{role: coder, prompt: Go}}}}\n  coder: {{_: {{role: $END, prompt: Done}}}}\n"
        )
    };
    let env = project(ONE_EXIT, REPLY);
    env.write("demo.yaml", role("pattern: '^fix/'"));
    let refused = env.aof(&["workflow", "import", "demo.yaml", "--json"]);
    assert!(
        refused.to_string().contains("roles.coder.frontmatter.properties.branch.pattern"),
        "{refused}"
    );
    assert!(!env.exists("workflows/demo.yaml"));
    env.write("demo.yaml", role("maxLength: 3, $comment: short"));
    let _ = env.aof(&["workflow", "import", "demo.yaml"]).success();
    // The same in a workflow of one's own.
    for keyword in
        ["pattern: '^fix/'", "uniqueItems: true", "not: {const: x}", "exclusiveMinimum: 3"]
    {
        env.write(
            "project.yaml",
            ONE_EXIT
                .replace("branch: {type: string}", &format!("branch: {{type: string, {keyword}}}")),
        );
        let output = env.aof(&["workflow", "validate"]).code(6);
        let word = keyword.split(':').next().unwrap();
        assert!(
            output.to_string().contains(&format!("a schema has no field `{word}`")),
            "{output}"
        );
    }
}
