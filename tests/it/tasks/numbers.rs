//! Numbers that people and programs write: a number is a number through every door, a text is what is written, and no byte of either
//! changes that nobody changed.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::checker::{check, check_history};
use crate::support::clones::Clones;
use crate::support::environment::{ORG, TestEnvironment};
use crate::support::mcp_client::{Era, McpClient};
use crate::support::merge_scene::{aside, scene, verified};

/// Unquoted in YAML each of these is a number, and most do not come back from it.
const WRITTEN: [(&str, f64); 11] = [
    ("1.10", 1.1),
    ("1e3", 1000.0),
    ("+5", 5.0),
    (".5", 0.5),
    ("5.", 5.0),
    ("-0", 0.0),
    ("2.50", 2.5),
    ("1.0000", 1.0),
    ("0.00001", 0.00001),
    ("2.0", 2.0),
    ("43", 43.0),
];

/// Returns a project whose first gate is `implement`; `rest` says more of that, and what gates follow.
fn with_gates(rest: &str) -> TestEnvironment {
    let project = format!(
        "workflow:\n  name: default\n  gates:\n    - id: implement\n      role: backend{rest}"
    );
    TestEnvironment::with_rules(&project, ORG)
}

fn drop_file(env: &TestEnvironment, name: &str, content: &str) {
    let path = format!(".aof/inbox/{name}");
    env.write(&path, content);
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24 * 365 * 50);
    File::options().write(true).open(env.path(&path)).unwrap().set_modified(long_ago).unwrap();
}

fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["task", "show", id, "--json"]).success().json()
}

/// Returns the entry of a task's history that comes first.
fn first_entry(env: &TestEnvironment, id: &str) -> Value {
    env.aof(&["task", "history", id, "--json"]).success().json()["history"][0].clone()
}

/// Has `agent-7` complete a task by a tool call, whose arguments are written as they are said: digit by digit.
fn complete_by_mcp(env: &TestEnvironment, text: &str) {
    let mut client = McpClient::start(env, Era::Old, &["--agent", "agent-7"]);
    let text = text.replace("\"agent\": \"agent-7\", ", "");
    client.send(&format!(
        "{{\"jsonrpc\": \"2.0\", \"id\": 99, \"method\": \"tools/call\", \"params\": \
         {{\"name\": \"aof_task_complete\", \"arguments\": {{{text}}}}}}}"
    ));
    let answer = client.line();
    assert!(answer["id"] == 99 && answer["result"]["isError"] != true, "{answer}");
}

#[test]
fn a_hand_made_file_keeps_its_numbers_through_adoption_transition_and_edit() {
    let env = TestEnvironment::new();
    let ids: Vec<String> = (0..WRITTEN.len()).map(|index| format!("AOF-n{index:02}")).collect();
    let lines = |text: &str| {
        format!(
            "title: {text}\ndescription: {text}\ntags: [{text}, x, 2024, true]\nmetadata: {{v: {text}, w: [{text}]}}\nown: {text}\n"
        )
    };
    for (id, (text, _)) in ids.iter().zip(WRITTEN) {
        env.write(&format!("tasks/{id}.md"), format!("---\n{}---\n", lines(text)));
    }
    let _ = env.aof(&["watch", "--once"]).success();
    for (id, (text, number)) in ids.iter().zip(WRITTEN) {
        assert!(env.task_text(id).contains(&lines(text)), "{text}\n{}", env.task_text(id));
        let task = shown(&env, id);
        assert_eq!((&task["title"], &task["description"]), (&json!(text), &json!(text)));
        assert_eq!(task["tags"], json!([text, "x", "2024", "true"]));
        for value in [&task["metadata"]["v"], &task["metadata"]["w"][0], &task["own"]] {
            assert_eq!(value.as_f64(), Some(number), "{text}");
        }
        let _ = env.complete(id, "agent-7");
        assert!(env.task_text(id).contains(&lines(text)), "{text}\n{}", env.task_text(id));
        let _ = env.aof(&["task", "edit", id, "--tag", "new", "--meta", "z=1"]).success();
        assert_eq!(shown(&env, id)["tags"], json!([text, "x", "2024", "true", "new"]));
        let file = env.task_text(id);
        let edited = lines(text).replace(", true]", ", true, new]").replace("}\n", ", z: 1}\n");
        assert!(file.contains(&edited), "{text}\n{file}");
        let _ = env.aof(&["task", "edit", id, "--untag", "x"]).success();
        assert_eq!(shown(&env, id)["tags"], json!([text, "2024", "true", "new"]));
        assert!(
            env.task_text(id).contains(&format!("tags: [{text}, 2024, true, new]\n")),
            "{}",
            env.task_text(id)
        );
    }
    check(&env);
}

/// One thing is written otherwise: a text has changed, a number has not.
#[test]
fn an_edit_names_its_changes() {
    let env = TestEnvironment::new();
    env.write(
        "tasks/AOF-aaa.md",
        "---\ntitle: 1.10\nmetadata: {v: 1.10, w: 1e3, l: [1.10, 2]}\n---\n",
    );
    let _ = env.aof(&["watch", "--once"]).success();
    for same in ["v=1.1", "w=1000.0", "l=[1.1, 2]"] {
        let output = env.aof(&["task", "edit", "AOF-aaa", "--meta", same]).success();
        assert!(output.to_string().contains("nothing to change"), "{same}\n{output}");
    }
    assert!(
        env.task_text("AOF-aaa")
            .contains("title: 1.10\nmetadata: {v: 1.10, w: 1e3, l: [1.10, 2]}\n")
    );
    let _ = env.aof(&["task", "edit", "AOF-aaa", "--title", "1.1", "--meta", "v=1.10"]).success();
    let task = shown(&env, "AOF-aaa");
    assert_eq!((&task["title"], &task["metadata"]["v"]), (&json!("1.1"), &json!("1.10")));
    assert!(
        env.task_text("AOF-aaa")
            .contains("title: \"1.1\"\nmetadata: {v: \"1.10\", w: 1e3, l: [1.10, 2]}\n"),
        "{}",
        env.task_text("AOF-aaa")
    );
    check(&env);
}

#[test]
fn a_completion_keeps_its_texts_and_counts_with_its_numbers_in_each_of_its_syntaxes() {
    let env = TestEnvironment::new();
    let mut cases = Vec::new();
    for (text, number) in WRITTEN {
        let fields = format!(
            "summary: {text}\nblockers: [{text}]\nrejectionNotes: {text}\noutputs: {{v: {text}}}\nmetadata: {{v: [{text}]}}\n"
        );
        cases.push(("yaml", text, number, fields.clone()));
        cases.push(("md", text, number, fields));
        if serde_json::from_str::<Value>(text).is_ok() {
            cases.push(("json", text, number, in_json(text)));
        }
    }
    for (index, (syntax, _, _, fields)) in cases.iter().enumerate() {
        let id = format!("AOF-c{index:02}");
        env.hand_made(&id, "Add login");
        let content = match *syntax {
            "json" => format!(
                "{{\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"blocked\", {fields}}}"
            ),
            "md" => format!("---\ntask: {id}\nagent: agent-7\noutcome: blocked\n{fields}---\n"),
            _ => format!("task: {id}\nagent: agent-7\noutcome: blocked\n{fields}"),
        };
        drop_file(&env, &format!("{index:02}.{syntax}"), &content);
    }
    let _ = env.aof(&["watch", "--once"]).success();
    for (index, (syntax, text, number, _)) in cases.iter().enumerate() {
        let entry = first_entry(&env, &format!("AOF-c{index:02}"));
        let output = format!("{syntax} {text}: {entry:#}");
        assert_eq!(entry["summary"], *text, "{output}");
        assert_eq!(entry["blockers"], json!([text]), "{output}");
        assert_eq!(entry["rejectionNotes"], *text, "{output}");
        for value in [&entry["outputs"]["v"], &entry["metadata"]["v"][0]] {
            assert_eq!(value.as_f64(), Some(*number), "{output}");
        }
    }
    check(&env);
}

/// An order or an account has more digits than a number: none is lost, whatever door it comes through.
#[test]
fn a_value_with_many_digits_keeps_them_through_every_door() {
    let gates = "
    - {id: same, role: backend, when: \"metadata.order === '123456789012345678901'\"}
    - {id: dear, role: backend, when: metadata.order > 5}
    - {id: review, role: architect}
";
    let env = with_gates(gates);
    let values = [
        ("123456789012345678901", "same"),
        ("-123456789012345678901", "review"),
        ("1e400", "dear"),
    ];
    for (index, (text, next)) in values.into_iter().enumerate() {
        let fields = format!(
            "\"outputs\": {{\"v\": {text}, \"l\": [{text}]}}, \"metadata\": {{\"v\": {text}}}"
        );
        let wanted = json!({"v": text, "l": [text]});
        for door in ["json", "yaml", "md", "mcp", "cli"] {
            let id = env.new_task(&["Pay"]);
            let answer = format!(
                "\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"complete\", \"summary\": \"x\", {fields}"
            );
            match door {
                "mcp" => {
                    complete_by_mcp(&env, &answer);
                }
                "cli" => {
                    let list = format!("l=[{text}]");
                    let value = format!("v={text}");
                    let given = ["--output", &value, "--output", &list, "--meta", &value];
                    let _ = env.say(&id, "agent-7", "complete", &given).success();
                }
                "md" => drop_file(&env, "1.md", &format!("---\n{{{answer}}}\n---\n")),
                syntax => drop_file(&env, &format!("1.{syntax}"), &format!("{{{answer}}}")),
            }
            let _ = env.aof(&["watch", "--once"]).success();
            let entry = first_entry(&env, &id);
            assert_eq!(
                (&entry["outputs"], &entry["metadata"]["v"]),
                (&wanted, &json!(text)),
                "{door} {text}"
            );
            assert_eq!(shown(&env, &id)["context"]["implement"], wanted, "{door} {text}");
        }
        // What a task starts with, and what conditions make of it.
        let order = format!("{{\"order\": {text}}}");
        let list = format!("[{{\"title\": \"Pay\", \"context\": {order}, \"metadata\": {order}}}]");
        env.write("list.json", list);
        let from = env.new_task(&["--from", "list.json"]);
        let given = env.new_task(&["Pay", "--context", &order, "--meta", &format!("order={text}")]);
        let by_hand = format!("AOF-hand{index}");
        // The checker's reader refuses what it takes for no number.
        let order = if text == "1e400" { order.replace(text, "\"1e400\"") } else { order };
        env.write(
            &format!("tasks/{by_hand}.md"),
            format!("---\ntitle: Pay\nmetadata: {order}\n---\n"),
        );
        let _ = env.aof(&["watch", "--once"]).success();
        for id in [&from, &given, &by_hand] {
            let task = shown(&env, id);
            assert_eq!(task["metadata"]["order"], text, "{id}");
            assert!(*id == by_hand || task["context"]["input"]["order"] == text, "{task}");
            let _ = env.complete(id, "agent-7");
            assert_eq!(shown(&env, id)["gate"]["current"], next, "{id} {text}");
        }
    }
    check(&env);
    let _ = env.aof(&["verify"]).success();
}

fn in_json(text: &str) -> String {
    format!(
        "\"summary\": {text}, \"blockers\": [{text}], \"rejectionNotes\": {text}, \"outputs\": {{\"v\": {text}}}, \
         \"metadata\": {{\"v\": [{text}]}}"
    )
}

#[test]
fn a_typed_value_is_a_number_only_if_it_prints_the_same() {
    let env = TestEnvironment::new();
    let long = "12345678901234567890123";
    let values = [
        ("1.10", json!("1.10")),
        ("1e3", json!("1e3")),
        (long, json!(long)),
        ("0.00001", json!(0.00001)),
        ("-0", json!("-0")),
        ("010", json!("010")),
        ("43", json!(43)),
        ("1.5", json!(1.5)),
        ("2.0", json!(2.0)),
        ("[1.10, 2]", json!(["1.10", 2])),
        ("{\"a\": 1e3}", json!({"a": "1e3"})),
        ("\"43\"", json!("43")),
        ("true", json!(true)),
    ];
    for (text, wanted) in values {
        let given = format!("v={text}");
        let id = env.new_task(&["Add login", "--meta", &given, "--context", &given]);
        let task = shown(&env, &id);
        assert_eq!(task["metadata"]["v"], wanted, "{text}");
        assert_eq!(task["context"]["input"]["v"], wanted, "{text}");
        let _ = env.aof(&["task", "edit", &id, "--meta", &given.replace('v', "w")]).success();
        assert_eq!(shown(&env, &id)["metadata"]["w"], wanted, "{text}");
        let _ =
            env.say(&id, "agent-7", "complete", &["--output", &given, "--meta", &given]).success();
        let entry = first_entry(&env, &id);
        assert_eq!((&entry["outputs"]["v"], &entry["metadata"]["v"]), (&wanted, &wanted), "{text}");
    }
    // All at once, one after the other, with the same rule.
    let context =
        ["--context", r#" {"v": 1.10, "deep": {"n": [1.5, 1e3]}, "w": 1}"#, "--context", "w=2"];
    let id = env.new_task(&[&["Add login"][..], &context].concat());
    assert_eq!(
        shown(&env, &id)["context"]["input"],
        json!({"v": "1.10", "deep": {"n": [1.5, "1e3"]}, "w": 2})
    );
    for text in ["{\"v\": ", "[1]", "v"] {
        let refused = env.aof(&["task", "new", "Add login", "--context", text]).code(2);
        assert!(refused.stderr.contains("--context <KEY=VALUE|JSON>"), "{refused}");
    }
    // A file says numbers.
    let list = r#"[{"title": "Add login", "metadata": {"v": 1.10}, "context": {"v": [2.50, 3]}}]"#;
    env.write("list.json", list);
    let id = env.new_task(&["--from", "list.json"]);
    let task = shown(&env, &id);
    assert_eq!(
        (&task["metadata"]["v"], &task["context"]["input"]["v"]),
        (&json!(1.1), &json!([2.5, 3]))
    );
    check(&env);
}

#[test]
fn a_gate_that_asks_for_a_number_gets_one() {
    let gates = "
      outputs: {properties: {coverage: {type: number, maximum: 100}, version: {type: string}, size: {type: number}}}
    - id: review
      role: architect
      canReject: true
";
    let env = with_gates(gates);
    let id = env.new_task(&["Add login"]);
    let refused = env.say(&id, "agent-7", "complete", &["--output", "coverage=185.50"]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("at most 100"),
        "{}",
        refused.stderr
    );
    let _ = env
        .say(
            &id,
            "agent-7",
            "complete",
            &["--output", "coverage=85.50", "--output", "version=1.10"],
        )
        .success();
    assert_eq!(first_entry(&env, &id)["outputs"], json!({"coverage": 85.5, "version": "1.10"}));
    let id = env.new_task(&["Add logout"]);
    let outputs = "outputs: {coverage: 85.50, version: \"1.10\"}";
    drop_file(
        &env,
        "1.yaml",
        &format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n{outputs}\n"),
    );
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(first_entry(&env, &id)["outputs"], json!({"coverage": 85.5, "version": "1.10"}));
    // More digits than a number has.
    for (long, number) in [
        ("33.333333333333333333", 33.333_333_333_333_336),
        ("12345678901234567890.5", 1.234_567_890_123_456_8e19),
    ] {
        let id = env.new_task(&["Add logout"]);
        let _ =
            env.say(&id, "agent-7", "complete", &["--output", &format!("size={long}")]).success();
        assert_eq!(first_entry(&env, &id)["outputs"]["size"].as_f64(), Some(number));
        for (syntax, outputs) in
            [("json", format!("{{\"size\": {long}}}")), ("yaml", format!("{{size: {long}}}"))]
        {
            let id = env.new_task(&["Add logout"]);
            let content = match syntax {
                "json" => format!(
                    "{{\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"complete\", \"summary\": \"x\", \"outputs\": {outputs}}}"
                ),
                _ => format!(
                    "task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\noutputs: {outputs}\n"
                ),
            };
            drop_file(&env, &format!("{id}.{syntax}"), &content);
            let _ = env.aof(&["watch", "--once"]).success();
            assert_eq!(
                first_entry(&env, &id)["outputs"]["size"].as_f64(),
                Some(number),
                "{syntax}"
            );
        }
    }
    check(&env);
}

/// The same words as a file of each syntax and as a call go the same way.
#[test]
fn conditions_see_numbers_through_every_door() {
    let gates = "
    - {id: paid, role: backend, when: metadata.cost}
    - {id: half, role: backend, when: \"metadata.share + 1 > 10\"}
    - {id: dear, role: backend, when: \"metadata.cost > metadata.limit || metadata.low > metadata.high\"}
    - {id: exact, role: backend, when: \"metadata.share === 0.5\"}
    - id: is-over
      type: condition
      when: context.implement.cost > context.implement.limit
      routes: {\"true\": {to: over}, \"false\": {to: review}}
    - {id: review, role: architect, routes: {complete: {to: $end}}}
    - {id: over, role: architect}
";
    let env = with_gates(gates);
    let outputs = "{\"cost\": 9.50, \"limit\": 10.00}";
    for door in ["json", "yaml", "md", "mcp"] {
        let id = format!("AOF-1{door}");
        let facts = "metadata: {cost: 0.00, share: 0.50, limit: 10.00, low: 9.50, high: 10.00}";
        env.write(&format!("tasks/{id}.md"), format!("---\ntitle: Pay\n{facts}\n---\n"));
        let _ = env.aof(&["watch", "--once"]).success();
        assert!(env.task_text(&id).contains(facts), "{}", env.task_text(&id));
        let answer = format!(
            "\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"complete\", \"summary\": \"x\", \"outputs\": {outputs}"
        );
        match door {
            "mcp" => {
                complete_by_mcp(&env, &answer);
            }
            "md" => drop_file(&env, "1.md", &format!("---\n{{{answer}}}\n---\n")),
            syntax => drop_file(&env, &format!("1.{syntax}"), &format!("{{{answer}}}")),
        }
        let _ = env.aof(&["watch", "--once"]).success();
        let entry = first_entry(&env, &id);
        assert_eq!(entry["outputs"], json!({"cost": 9.5, "limit": 10.0}), "{door}");
        assert_eq!(
            (&entry["to"], &entry["skipped"]),
            (&json!("exact"), &json!(["paid", "half", "dear"])),
            "{door}"
        );
        let _ = env.complete(&id, "agent-8");
        assert_eq!(shown(&env, &id)["gate"]["current"], "review", "{door}");
    }
    check(&env);
}

/// Lines that people wrote, and the same ones a release later.
const BEFORE: &str = "title: 1.10\ndescription: 1e3\ntags: [2.50, x, 1.10]\nmetadata:\n  v: 1.10\n  w: 1e3\nown: 7.50\n";
const AFTER: &str = "title: 1.1\ndescription: 1000.0\ntags: [2.5, x, 1.10]\nmetadata:\n  v: 1.1\n  w: 1000.0\nown: 7.5\n";

fn with_numbers(env: &TestEnvironment, id: &str, lines: &str) {
    env.write(&format!("tasks/{id}.md"), format!("---\n{lines}---\n"));
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(env.task_text(id).contains(lines), "{}", env.task_text(id));
}

fn edited(env: &TestEnvironment, id: &str, from: &str, to: &str) {
    env.edit(&format!("tasks/{id}.md"), from, to);
    env.commit_all("edited");
}

#[test]
fn a_merge_takes_no_edit_of_a_number_back() {
    for (from, to) in [(BEFORE, AFTER), (AFTER, BEFORE)] {
        for edits_aside in [true, false] {
            let (env, _) = scene();
            with_numbers(&env, "AOF-aaa", from);
            let acts = |edits: bool| {
                if edits {
                    edited(&env, "AOF-aaa", from, to);
                } else {
                    let _ = env.complete("AOF-aaa", "agent-7");
                }
            };
            aside(&env, "side", || acts(edits_aside));
            acts(!edits_aside);
            env.git(&["merge", "-q", "--no-edit", "side"]);
            let text = env.task_text("AOF-aaa");
            assert!(text.contains(to) && text.contains("current: review"), "{text}");
            let _ = verified(&env).success();
        }
    }
}

#[test]
fn a_sync_takes_no_edit_of_a_number_back() {
    let clones = Clones::new(crate::support::environment::PROJECT, &["b"]);
    with_numbers(&clones.env, "AOF-aaa", BEFORE);
    let _ = clones.sync(".").success();
    let _ = clones.sync("b").success();
    clones.completes("b", "AOF-aaa", "agent-7");
    edited(&clones.env, "AOF-aaa", BEFORE, AFTER);
    let _ = clones.sync(".").success();
    let _ = clones.sync("b").success();
    let _ = clones.sync(".").success();
    for folder in ["", "../b/"] {
        let text = clones.env.read(&format!("{folder}tasks/AOF-aaa.md"));
        assert!(text.contains(AFTER) && text.contains("current: review"), "{text}");
    }
    let _ = clones.env.aof(&["verify"]).success();
}

#[test]
fn two_texts_that_look_like_one_number_are_a_conflict_with_its_markers() {
    let (env, _) = scene();
    with_numbers(&env, "AOF-aaa", "title: 1.10\ntags: [1.10]\nmetadata: {v: 1.10}\n");
    aside(&env, "side", || {
        edited(&env, "AOF-aaa", "title: 1.10\ntags: [1.10]\n", "title: 1.1\ntags: [1.10, y]\n");
        edited(&env, "AOF-aaa", "{v: 1.10}", "{v: 1.10, w: 8.50}");
    });
    edited(&env, "AOF-aaa", "title: 1.10\ntags: [1.10]\n", "title: 1.100\ntags: [x, 1.10]\n");
    edited(&env, "AOF-aaa", "{v: 1.10}", "{v: 1.10, u: 7.50}");
    let merge = env.try_git(&["merge", "--no-edit", "side"]);
    let text = env.read("tasks/AOF-aaa.md").replace('"', "");
    assert_eq!(merge.code, Some(1), "{merge}\n{text}");
    assert!(
        text.contains(
            "<<<<<<< HEAD\ntitle: 1.100\n=======\ntitle: 1.1\n>>>>>>> side\ntags: [x, 1.10, y]\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("metadata: {v: 1.10, w: 8.50, u: 7.5}\n"),
        "what nobody changed is as it was: {text}"
    );
}

/// What versions wrote that knew nothing of how numbers are written is judged as it was.
#[test]
fn an_old_history_stays_as_it_was() {
    let env = TestEnvironment::without_rules();
    let export = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/history/numbers.export");
    let mut import = env.command("git");
    import.args(["fast-import", "--quiet"]).stdin(File::open(export).unwrap());
    let _ = env.run(import).success();
    env.git(&["reset", "--quiet", "--hard"]);
    let _ = env.aof(&["verify"]).success();
    check_history(&env);
}

#[test]
fn a_clock_at_the_end_of_time_stops_no_command() {
    let rules = "\
workflow:
  timeout: 5d
  gates:
    - {id: work, role: backend, timeout: 3d, lease: 1h}
    - {id: review, role: architect, canReject: true, timeout: 1d, escalateTo: backend}
";
    // The last second that a time may have.
    let end = jiff::Timestamp::MAX.to_string();
    let env = TestEnvironment::with_rules(rules, ORG);
    let at_the_end = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.env("AOF_NOW", &end);
        let output = env.run(command);
        assert!(!output.stderr.contains("panicked"), "{args:?}: {output}");
        output
    };
    let made = at_the_end(&["task", "new", "Add login", "--json"]).success().json();
    let id = made["id"].as_str().unwrap().to_owned();
    for args in [
        &["task", "claim", &id, "--agent", "agent-7"][..],
        &["task", "renew", &id, "--agent", "agent-7"],
        &["task", "renew", &id, "--agent", "agent-7"],
        &["task", "show", &id],
        &["task", "brief", &id],
        &["task", "list", "--overdue"],
        &["task", "next", "--agent", "agent-8"],
        &["task", "edit", &id, "--due", "9999-12-30"],
        &["status"],
        &["doctor"],
        &["gate", "status"],
        &["stats", "--since", "7d"],
        &["events", "--since", "1h"],
        &["metrics"],
        &["why", &id],
        &["task", "block", &id, "-m", "The API has no spec yet", "--agent", "agent-7"],
        &["task", "hold", &id, "--reason", "Wait"],
        &["task", "unblock", &id],
        &["sweep"],
    ] {
        let _ = at_the_end(args);
    }
    let long_ago = "2020-01-01T00:00:00Z".parse::<jiff::Timestamp>().unwrap();
    for agent in ["agent-7", "agent-8"] {
        let path = format!(".aof/inbox/{agent}.yaml");
        env.write(&path, format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: x\n"));
        let file = std::fs::File::options().write(true).open(env.path(&path)).unwrap();
        file.set_modified(long_ago.into()).unwrap();
    }
    let _ = at_the_end(&["watch", "--once"]);
    let _ = at_the_end(&["sweep"]);
    let _ = at_the_end(&["task", "cancel", &id, "--reason", "Enough"]);
    let _ = at_the_end(&["task", "reopen", &id, "--to", "work", "--reason", "Not yet"]);
    let _ = at_the_end(&["verify"]).success();
}
