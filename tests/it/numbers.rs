//! Numbers that people write where a text is wanted, and where they mean a version: they stay what is written, through every door.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::checker::check;
use crate::environment::TestEnvironment;

/// Unquoted in YAML each of these is a number, and only the last three come back from it.
const WRITTEN: [&str; 11] = ["1.10", "1e3", "+5", ".5", "5.", "-0", "2.50", "1.0000", "0.00001", "2.0", "43"];

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

#[test]
fn a_hand_made_file_keeps_its_numbers_through_adoption_transition_and_edit() {
    let env = TestEnvironment::new();
    let ids: Vec<String> = (0..WRITTEN.len()).map(|index| format!("AOF-n{index:02}")).collect();
    let by_hand = |text: &str, number: &str| {
        format!("title: {text}\ndescription: {text}\ntags: [{text}, x]\nmetadata: {{v: {number}}}\n")
    };
    // What is a number through and through gets quotes when it is taken up.
    let lines = |text: &str| match text {
        "0.00001" | "2.0" | "43" => by_hand(&format!("\"{text}\""), text),
        text => by_hand(text, text),
    };
    for (id, text) in ids.iter().zip(WRITTEN) {
        env.write(&format!("tasks/{id}.md"), format!("---\n{}---\n", by_hand(text, text)));
    }
    let _ = env.aof(&["watch", "--once"]).success();
    for (id, text) in ids.iter().zip(WRITTEN) {
        assert!(env.task_text(id).contains(&lines(text)), "{text}\n{}", env.task_text(id));
        let task = shown(&env, id);
        assert_eq!(task["title"], text);
        assert_eq!(task["description"], text);
        assert_eq!(task["tags"], json!([text, "x"]));
        let _ = env.complete(id, "agent-7");
        assert!(env.task_text(id).contains(&lines(text)), "{text}\n{}", env.task_text(id));
        let _ = env.aof(&["task", "edit", id, "--tag", "new", "--meta", "w=1"]).success();
        assert_eq!(shown(&env, id)["tags"], json!([text, "x", "new"]));
        let file = env.task_text(id);
        let edited = lines(text).replace(", x]", ", x, new]").replace("}\n", ", w: 1}\n");
        assert!(file.contains(&edited), "{text}\n{file}");
        let _ = env.aof(&["task", "edit", id, "--untag", "x"]).success();
        assert_eq!(shown(&env, id)["tags"], json!([text, "new"]));
    }
    check(&env);
}

#[test]
fn a_completion_keeps_its_numbers_in_each_of_its_syntaxes() {
    let env = TestEnvironment::new();
    let mut cases = Vec::new();
    for text in WRITTEN {
        let fields = format!("summary: {text}\nblockers: [{text}]\nrejectionNotes: {text}\noutputs: {{v: {text}}}\n");
        cases.push(("yaml", text, fields.clone()));
        cases.push(("md", text, fields));
        if serde_json::from_str::<Value>(text).is_ok() {
            let fields = format!(
                "\"summary\": {text}, \"blockers\": [{text}], \"rejectionNotes\": {text}, \"outputs\": {{\"v\": {text}}}"
            );
            cases.push(("json", text, fields));
        }
    }
    let long = "12345678901234567890123";
    cases.push((
        "json",
        long,
        format!(
            "\"summary\": {long}, \"blockers\": [{long}], \"rejectionNotes\": {long}, \"outputs\": {{\"v\": {long}}}"
        ),
    ));
    for (index, (syntax, _, fields)) in cases.iter().enumerate() {
        let id = format!("AOF-c{index:02}");
        env.hand_made(&id, "Add login");
        let content = match *syntax {
            "json" => format!("{{\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"blocked\", {fields}}}"),
            "md" => format!("---\ntask: {id}\nagent: agent-7\noutcome: blocked\n{fields}---\n"),
            _ => format!("task: {id}\nagent: agent-7\noutcome: blocked\n{fields}"),
        };
        drop_file(&env, &format!("{index:02}.{syntax}"), &content);
    }
    let _ = env.aof(&["watch", "--once"]).success();
    for (index, (syntax, text, _)) in cases.iter().enumerate() {
        let entry = first_entry(&env, &format!("AOF-c{index:02}"));
        let told = format!("{syntax} {text}: {entry:#}");
        assert_eq!(entry["summary"], *text, "{told}");
        assert_eq!(entry["blockers"], json!([text]), "{told}");
        assert_eq!(entry["rejectionNotes"], *text, "{told}");
        let wanted = match *text {
            "0.00001" => json!(0.00001),
            "2.0" => json!(2.0),
            "43" => json!(43),
            text => json!(text),
        };
        assert_eq!(entry["outputs"]["v"], wanted, "{told}");
    }
    check(&env);
}

#[test]
fn what_is_typed_as_a_value_is_a_number_only_where_it_comes_back() {
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
        let _ = env.say(&id, "agent-7", "complete", &["--output", &given, "--meta", &given]).success();
        let entry = first_entry(&env, &id);
        assert_eq!((&entry["outputs"]["v"], &entry["metadata"]["v"]), (&wanted, &wanted), "{text}");
    }
    let list = r#"[{"title": "Add login", "metadata": {"v": 1.10}, "context": {"v": [2.50, 3]}}]"#;
    env.write("list.json", list);
    let id = env.new_task(&["--from", "list.json"]);
    let task = shown(&env, &id);
    assert_eq!((&task["metadata"]["v"], &task["context"]["input"]["v"]), (&json!("1.10"), &json!(["2.50", 3])));
    check(&env);
}

#[test]
fn a_gate_that_asks_for_a_number_gets_one() {
    let project = "
workflow:
  name: default
  gates:
    - id: implement
      role: backend
      outputs: {properties: {coverage: {type: number, maximum: 100}, version: {type: string}}}
    - id: review
      role: architect
      canReject: true
";
    let env = TestEnvironment::with_rules(project, crate::environment::ORG);
    let id = env.new_task(&["Add login"]);
    let refused = env.say(&id, "agent-7", "complete", &["--output", "coverage=185.50"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("at most 100"), "{}", refused.stderr);
    let _ = env.say(&id, "agent-7", "complete", &["--output", "coverage=85.50", "--output", "version=1.10"]).success();
    assert_eq!(first_entry(&env, &id)["outputs"], json!({"coverage": 85.5, "version": "1.10"}));
    let id = env.new_task(&["Add logout"]);
    let outputs = "outputs: {coverage: 85.50, version: 1.10}";
    drop_file(&env, "1.yaml", &format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n{outputs}\n"));
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(first_entry(&env, &id)["outputs"], json!({"coverage": 85.5, "version": "1.10"}));
    check(&env);
}
