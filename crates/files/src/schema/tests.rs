use std::collections::BTreeSet;

use jsonschema::Validator;
use serde_json::json;

use super::*;
use crate::config::configuration::{Source, load};
use crate::yaml;
use crate::yaml::{Fault, ParseLimits};
use crate::{completion_file, task_file};
use aof_domain::*;

/// A signature by a key that belongs to no one.
const SIGNATURE: &str = concat!(
    "U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgOsbBNeU+7oEICz9ZuNKO3AFMv9kXcQA4UvdqWVRM4A4AAA",
    "ADYW9mAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQJmJVO2c1A7NTGt+m73OUkfmqQsj58Lb71Pi",
    "DpVMCK6aC7B0D39pBaJAD2xtQiWfqFjyDHgIjnzoSDepcDnp/QI=",
);

/// A public key.
const KEY: &str =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDrGwTXlPu6BCAs/WbjSjtwBTL/ZF3EAOFL3allUTOAO";

fn validator(schema: Schema) -> Validator {
    jsonschema::draft202012::new(&schema.document()).unwrap()
}

#[test]
fn texts_are_the_indented_documents() {
    for schema in Schema::ALL {
        assert_eq!(schema.text(), format!("{:#}", schema.document()), "{schema}");
    }
    let odd = r#" {"a\\": [ ], "b\"}": [1 , -25, true,{ } ], "c": "ä{\\" } "#;
    let value: Value = serde_json::from_str(odd).unwrap();
    assert_eq!(super::indented(odd), format!("{value:#}"));
}

fn value(text: &str) -> Value {
    yaml::parse(text, &ParseLimits::default()).unwrap().to_value()
}

#[track_caller]
fn assert_valid(schema: Schema, instance: &Value) {
    let faults: Vec<String> = validator(schema)
        .iter_errors(instance)
        .map(|e| format!("{}: {e}", e.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}\n{instance:#}");
}

/// Returns the fields that a decoder lists when it meets an unknown one.
fn decoder_fields(help: &str) -> BTreeSet<String> {
    let names = help.strip_prefix("its fields are ").unwrap_or_else(|| panic!("{help}"));
    let names: Vec<String> =
        names.split(", ").map(|name| name.trim_matches('`').to_owned()).collect();
    let set: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(set.len(), names.len(), "each is named once: {help}");
    set
}

fn schema_fields(schema: Schema, pointer: &str) -> BTreeSet<String> {
    let document = schema.document();
    let node = document.pointer(pointer).unwrap_or_else(|| panic!("{pointer}"));
    assert_eq!(node["additionalProperties"], false, "{pointer}");
    node["properties"].as_object().unwrap().keys().cloned().collect()
}

/// A word that no decoder knows, and that is not near to a known one.
const STRANGER: &str = "xxxxxxxxxxxxxxxx";

fn fields_in(file: &str, text: &str) -> BTreeSet<String> {
    let found =
        load(&[Source { name: file.to_owned(), bytes: text.as_bytes().to_vec() }]).unwrap_err();
    let one = found
        .iter()
        .find(|one| one.code == "unknown_field" && one.message.contains(STRANGER))
        .unwrap();
    decoder_fields(one.help.as_ref().unwrap())
}

#[test]
fn schemas_are_schemas_that_help() {
    fn described(value: &Value, path: &str) {
        for (name, property) in value["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}/{name}");
            assert!(
                property.get("description").is_some() || property.get("$ref").is_some(),
                "{path}"
            );
            described(property, &path);
        }
        for (name, definition) in value["$defs"].as_object().into_iter().flatten() {
            described(definition, &format!("{path}/{name}"));
        }
    }
    for schema in Schema::ALL {
        let document = schema.document();
        assert!(jsonschema::draft202012::meta::is_valid(&document), "{schema}");
        assert!(document["title"].is_string() && document["description"].is_string());
        described(&document, schema.as_str());
        validator(*schema);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table")]
fn configuration_schemas_have_the_fields_that_the_decoders_have() {
    let gate = |inside: &str| format!("workflow: {{gates: [{{id: a, role: r, {inside}}}]}}");
    let x = STRANGER;
    for (file, text, schema, pointer) in [
        ("project.yaml", format!("{x}: 1"), Schema::Project, ""),
        ("project.yaml", format!("project: {{{x}: 1}}"), Schema::Project, "/properties/project"),
        ("project.yaml", format!("tasks: {{{x}: 1}}"), Schema::Project, "/properties/tasks"),
        ("project.yaml", format!("watch: {{{x}: 1}}"), Schema::Project, "/properties/watch"),
        ("project.yaml", format!("git: {{{x}: 1}}"), Schema::Project, "/properties/git"),
        ("project.yaml", format!("workflow: {{{x}: 1}}"), Schema::Project, "/$defs/workflow"),
        ("workflows/a.yaml", format!("{x}: 1"), Schema::Workflow, "/$defs/workflow"),
        ("project.yaml", gate(&format!("{x}: 1")), Schema::Project, "/$defs/gate"),
        (
            "project.yaml",
            gate(&format!("brief: {{{x}: 1}}")),
            Schema::Project,
            "/$defs/gate/properties/brief",
        ),
        (
            "project.yaml",
            gate(&format!("brief: {{reentry: {{{x}: 1}}}}")),
            Schema::Project,
            "/$defs/gate/properties/brief/properties/reentry",
        ),
        (
            "project.yaml",
            gate(&format!("routes: {{x: {{to: a, {x}: 1}}}}")),
            Schema::Project,
            "/$defs/route/oneOf/1",
        ),
        (
            "project.yaml",
            gate(&format!("separateFrom: {{gates: [a], {x}: 1}}")),
            Schema::Project,
            "/$defs/gate/properties/separateFrom/oneOf/1",
        ),
        (
            "project.yaml",
            format!(
                "workflow: {{gates: [{{id: a, type: fork, branches: [{{id: b, role: r, {x}: 1}}]}}]}}"
            ),
            Schema::Project,
            "/$defs/branch",
        ),
        (
            "project.yaml",
            format!("workflow: {{context: {{{x}: 1}}}}"),
            Schema::Project,
            "/$defs/workflow/properties/context",
        ),
        (
            "project.yaml",
            gate(&format!("signal: {{tag: a, {x}: 1}}")),
            Schema::Project,
            "/$defs/gate/properties/signal/oneOf/1",
        ),
        ("project.yaml", gate(&format!("outputs: {{{x}: 1}}")), Schema::Project, "/$defs/shape"),
        (
            "project.yaml",
            gate(&format!(
                "outputs: {{{x}: 1, oneOf: [{{properties: {{$status: {{const: a}}}}}}]}}"
            )),
            Schema::Project,
            "/$defs/gate/properties/outputs/oneOf/1",
        ),
        (
            "project.yaml",
            format!("notify: [{{on: all, command: [a], {x}: 1}}]"),
            Schema::Project,
            "/$defs/subscription",
        ),
        (
            "org.yaml",
            format!("agents: {{a: {{notify: {{command: [a], {x}: 1}}}}}}"),
            Schema::Org,
            "/$defs/subscription",
        ),
        ("org.yaml", format!("{x}: 1"), Schema::Org, ""),
        ("org.yaml", format!("roles: {{a: {{{x}: 1}}}}"), Schema::Org, "/$defs/role"),
        ("org.yaml", format!("agents: {{a: {{{x}: 1}}}}"), Schema::Org, "/$defs/agent"),
        ("org.yaml", format!("agents: [{{id: a, {x}: 1}}]"), Schema::Org, "/$defs/listedAgent"),
        (
            "org.yaml",
            format!("agents: {{a: {{run: {{preset: claude, {x}: 1}}}}}}"),
            Schema::Org,
            "/$defs/launch",
        ),
        (
            "org.yaml",
            format!("agents: {{a: {{run: {{preset: claude, retry: {{{x}: 1}}}}}}}}"),
            Schema::Org,
            "/$defs/launch/properties/retry",
        ),
        (
            "project.yaml",
            gate(&format!("run: {{{x}: 1}}")),
            Schema::Project,
            "/$defs/gate/properties/run",
        ),
        ("project.yaml", format!("workflow: {{run: {{{x}: 1}}}}"), Schema::Project, "/$defs/run"),
        (
            "project.yaml",
            gate(&format!("run: {{retry: {{{x}: 1}}}}")),
            Schema::Project,
            "/$defs/run/properties/retry",
        ),
    ] {
        assert_eq!(fields_in(file, &text), schema_fields(schema, pointer), "{file} {pointer}");
    }
}

#[test]
fn the_words_of_the_schemas_are_those_of_the_model() {
    fn words<T: std::fmt::Display>(all: &[T]) -> Value {
        all.iter().map(|word| Value::String(word.to_string())).collect()
    }
    let at = |schema: Schema, pointer: &str| schema.document().pointer(pointer).cloned().unwrap();
    let gate = "/$defs/gate/properties";
    let workflow = "/$defs/workflow/properties";
    assert_eq!(at(Schema::Workflow, &format!("{gate}/type/enum")), words(GateType::ALL));
    assert_eq!(
        at(Schema::Workflow, &format!("{gate}/joinStrategy/enum")),
        words(JoinStrategy::ALL)
    );
    assert_eq!(at(Schema::Task, "/$defs/branch/properties/status/enum"), words(BranchStatus::ALL));
    assert_eq!(at(Schema::Task, "/$defs/visit/properties/verdict/enum"), words(Verdict::ALL));
    assert_eq!(at(Schema::Task, "/$defs/visit/properties/join/enum"), words(Join::ALL));
    assert_eq!(at(Schema::Workflow, "/$defs/route/oneOf/1/properties/as/enum"), words(EndsAs::ALL));
    assert_eq!(
        at(Schema::Workflow, &format!("{workflow}/rejectionStrategy/enum")),
        words(RejectionStrategy::ALL)
    );
    assert_eq!(
        at(Schema::Workflow, &format!("{gate}/onConditionError/enum")),
        words(OnConditionError::ALL)
    );
    assert_eq!(
        at(Schema::Project, "/properties/tasks/properties/layout/enum"),
        words(TaskLayout::ALL)
    );
    assert_eq!(at(Schema::Project, "/properties/handOut/enum"), words(HandOut::ALL));
    assert_eq!(at(Schema::Org, "/$defs/role/properties/handOut/enum"), words(HandOut::ALL));
    for schema in [Schema::Project, Schema::Org] {
        let events = "/$defs/subscription/properties/on/oneOf/1/items/enum";
        assert_eq!(at(schema, events), words(EventKind::ALL));
        let Value::Array(one) = at(schema, "/$defs/subscription/properties/on/oneOf/0/enum") else {
            panic!()
        };
        assert_eq!(Value::Array(one[1..].to_vec()), words(EventKind::ALL));
    }
    assert_eq!(at(Schema::Org, "/$defs/permission/enum"), words(Permission::ALL));
    assert_eq!(at(Schema::Org, "/$defs/launch/properties/preset/enum"), words(Preset::ALL));
    assert_eq!(at(Schema::Org, "/$defs/launch/properties/reads/enum"), words(Reads::ALL));
    assert_eq!(at(Schema::Task, "/properties/status/enum"), words(Status::ALL));
    let endings =
        [Ending::Cancelled, Ending::Timeout, Ending::Moved, Ending::Override, Ending::Reopened];
    let endings: Vec<Ending> =
        Outcome::BUILT_IN.iter().cloned().map(Ending::Completed).chain(endings).collect();
    assert_eq!(at(Schema::Task, "/$defs/visit/properties/outcome/examples"), words(&endings));
    let keys = |pointer: &str| -> Value {
        at(Schema::Workflow, pointer).as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(keys("/$defs/meanings/properties"), words(Outcome::BUILT_IN));
    assert_eq!(keys("/$defs/routes/properties"), words(&Outcome::BUILT_IN[..4]));
    assert_eq!(keys(&format!("{workflow}/outcomes/properties")), words(&Outcome::BUILT_IN[..4]));
}

/// Documents that decoder and schema must judge alike, each with the judgement.
#[test]
fn decoders_and_schemas_judge_alike() {
    let gate = |inside: &str| format!("workflow: {{gates: [{{id: a, role: r, {inside}}}]}}");
    let gates = "gates: [{id: a, role: r}]";
    let project = [
        (true, String::new()),
        (true, "{}".to_owned()),
        (true, format!("workflow: {{{gates}}}")),
        (true, format!("workflows: [{{name: default, {gates}}}]")),
        (true, format!("workflows: {{one: {{{gates}}}}}")),
        (true, gate("timeout: 1h30m, canReject: true, canSkip: false, metadata: {a: [1]}")),
        (true, gate("when: true")),
        (true, gate("routes: {Yes: $next, no: {to: a, prompt: Again, clear: b}}, maxRetries: 2, onExhausted: $fail")),
        (
            true,
            gate("onFailure: {to: $end, as: cancelled}, onExhausted: {escalateTo: lead}, separateFrom: {gates: [b]}"),
        ),
        (true, gate("detour: true, type: work, separateFrom: [b, c]")),
        (
            true,
            "workflow: {gates: [{id: a, type: condition, when: true, routes: {true: $next, false: $end}}]}".to_owned(),
        ),
        (true, format!("workflow: {{{gates}, version: 2, visibleTo: [a], timeout: 2h}}")),
        (true, gate("outputs: {properties: {a: {type: string, description: x}}, required: [a]}, files: [docs/**]")),
        (true, gate("outputs: {oneOf: [{properties: {$status: {const: a}, b: {}}, required: [$status]}]}")),
        (true, gate("signal: gate")),
        (true, gate("signal: {tag: gate, pass: complete, fail: stop, missing: blocked}")),
        (true, gate("signal: {expects: \"STATUS: done\"}")),
        (
            true,
            format!("workflow: {{{gates}, context: {{input: {{repo: null, n: 1}}, protected: [n], maxBytes: 10}}}}"),
        ),
        (true, "notify: {on: all, command: [a]}".to_owned()),
        (true, "notify: [{on: [gate_skip], webhook: \"http://a:1/b\", allowPrivate: true, secretEnv: A_1}]".to_owned()),
        (false, "notify: [{command: [a]}]".to_owned()),
        (false, "notify: [{on: everything, command: [a]}]".to_owned()),
        (false, "notify: [{on: [], command: [a]}]".to_owned()),
        (false, "notify: [{on: all, command: a}]".to_owned()),
        (false, "notify: [{on: all, command: []}]".to_owned()),
        (false, "notify: [{on: all}]".to_owned()),
        (false, "notify: [{on: all, command: [a], webhook: \"https://a.b/\"}]".to_owned()),
        (false, "notify: [{on: all, command: [a], allowPrivate: true}]".to_owned()),
        (false, "notify: [{on: all, webhook: ftp://a.b/}]".to_owned()),
        (false, "notify: [{on: all, webhook: \"https://a@b/\"}]".to_owned()),
        (false, "notify: [{on: all, webhook: \"https://a.b/\", secretEnv: a-b}]".to_owned()),
        (
            true,
            gate(
                "run: {timeout: 1h, idle: 5m, model: small, attempts: 3, exit: {complete: 0, needs_review: [1, 2], x: 75}}",
            ),
        ),
        (true, format!("workflow: {{{gates}, run: {{retry: {{delay: 1s, factor: 3, max: 1m}}}}}}")),
        (false, gate("run: {exit: {complete: 256}}")),
        (false, gate("run: {exit: {moved: 0}}")),
        (false, gate("run: {exit: [0]}")),
        (false, gate("run: {attempts: 0}")),
        (false, gate("run: {attempts: 21}")),
        (false, gate("run: {retry: {factor: 11}}")),
        (false, gate("run: {retry: 5s}")),
        (false, gate("run: {command: [a]}")),
        (false, format!("workflow: {{{gates}, run: {{exit: {{complete: 0}}}}}}")),
        (false, gate("outputs: {pattern: x}")),
        (false, gate("outputs: {properties: {a: {type: text}}}")),
        (false, gate("outputs: {oneOf: [{properties: {a: {}}}]}")),
        (false, gate("outputs: [a]")),
        (false, gate("signal: {tag: a, key: b}")),
        (false, gate("signal: {key: b, pass: complete}")),
        (false, gate("signal: promise")),
        (false, gate("signal: {status: false}")),
        (false, format!("workflow: {{{gates}, context: {{input: {{a.b: 1}}}}}}")),
        (false, format!("workflow: {{{gates}, context: {{maxBytes: 0}}}}")),
        (false, gate("routes: [a]")),
        (false, gate("routes: {failed: a}")),
        (false, gate("routes: {a b: c}")),
        (false, gate("routes: {moved: a}")),
        (false, gate("routes: {a: $nowhere}")),
        (false, gate("routes: {a: {prompt: x}}")),
        (false, gate("routes: {a: {to: $end, as: done}}")),
        (false, gate("maxRetries: -1")),
        (false, gate("onExhausted: {to: a, escalateTo: b}")),
        (false, gate("type: magic")),
        (false, gate("separateFrom: {by: agent}")),
        (false, "workflow: {gates: [{id: a, type: condition}]}".to_owned()),
        (false, "workflow: {gates: [{id: a, type: condition, when: true, role: r}]}".to_owned()),
        (true, gate("brief: {tips: one, expectations: [1, two], outcomes: {skip: never}, reentry: {role: you}}")),
        (true, "project: {name: 2024}".to_owned()),
        (true, format!("workflow: {{{gates}, outcomes: {{needs_review: hold, complete: advance}}}}")),
        (false, "[]".to_owned()),
        (false, "project: {idPrefix: aof}".to_owned()),
        (false, "workflows: []".to_owned()),
        (false, "workflows: {}".to_owned()),
        (false, format!("workflows: [{{{gates}}}]")),
        (false, format!("workflow: {{{gates}}}\nworkflows: {{b: {{{gates}}}}}")),
        (false, "workflow: {name: a}".to_owned()),
        (false, "workflow: {gates: []}".to_owned()),
        (false, "workflow: {gates: [{id: a}]}".to_owned()),
        (false, "workflow: {gates: [{id: a b, role: r}]}".to_owned()),
        (false, gate("timeout: 90")),
        (false, gate("timeout: 1:30")),
        (false, gate("timeout: 30m1h")),
        (false, gate("canReject: yes")),
        (false, gate("rejectTo: [a]")),
        (false, gate("onConditionError: fail")),
        (false, gate("when: [a]")),
        (false, gate("metadata: 1")),
        (true, gate("brief: {outcomes: {done: x}}")),
        (false, gate("brief: {outcomes: {do ne: x}}")),
        (false, format!("workflow: {{{gates}, outcomes: {{needs_review: advance}}}}")),
        (false, format!("workflow: {{{gates}, outcomes: {{blocked: advance}}}}")),
        (false, "tasks: {layout: deep}".to_owned()),
        (false, "watch: {commitEdits: 1}".to_owned()),
        (true, "git: {sync: true, remote: origin, branch: team/aof.tasks, every: 90s}".to_owned()),
        (false, "git: {sync: 1}".to_owned()),
        (false, "git: {remote: -f}".to_owned()),
        (false, "git: {remote: a/b}".to_owned()),
        (false, "git: {branch: -f}".to_owned()),
        (false, "git: {branch: a b}".to_owned()),
        (false, "git: {every: 5}".to_owned()),
    ];
    let org = [
        (true, String::new()),
        (true, "roles: {a: {agents: [x, human-y]}, b: {agents: z}, c: }".to_owned()),
        (true, "agents: {x: , y: {name: Y, email: y@z.example, may: [new]}}".to_owned()),
        (true, "agents: [{id: x, may: cancel}]".to_owned()),
        (true, format!("agents: {{x: {{signingKey: {KEY} ann@example.org}}}}")),
        (true, format!("agents: [{{id: x, signingKey: [{KEY}]}}]")),
        (false, "agents: {x: {signingKey: []}}".to_owned()),
        (false, "agents: {x: {signingKey: ssh-ed25519}}".to_owned()),
        (
            false,
            format!("agents: {{x: {{signingKey: {}}}}}", KEY.replace("ssh-ed25519", "ssh-dss")),
        ),
        (false, "agents: {x: {signingKey: {file: id.pub}}}".to_owned()),
        (
            true,
            "agents: {x: {run: {preset: claude, model: small, timeout: 1h, secrets: API_KEY}}}"
                .to_owned(),
        ),
        (
            true,
            "agents: {x: {run: {command: [a, 1], reads: json, env: {CI: 1}, secrets: [A, B]}}}"
                .to_owned(),
        ),
        (
            true,
            "agents: {x: {run: {preset: command, command: [a], attempts: 2, retry: {delay: 5s}}}}"
                .to_owned(),
        ),
        (false, "agents: {x: {run: {preset: command}}}".to_owned()),
        (false, "agents: {x: {run: {model: small}}}".to_owned()),
        (false, "agents: {x: {run: {preset: magic}}}".to_owned()),
        (false, "agents: {x: {run: claude}}".to_owned()),
        (false, "agents: {x: {run: {command: a}}}".to_owned()),
        (false, "agents: {x: {run: {command: []}}}".to_owned()),
        (false, "agents: {x: {run: {command: [a], env: {AOF_X: 1}}}}".to_owned()),
        (false, "agents: {x: {run: {command: [a], env: {a b: 1}}}}".to_owned()),
        (false, "agents: {x: {run: {command: [a], secrets: [sk-live]}}}".to_owned()),
        (false, "agents: {x: {run: {command: [a], attempts: 0}}}".to_owned()),
        (false, "agents: {x: {run: {command: [a], prompt: stdin}}}".to_owned()),
        (false, "roles: [a]".to_owned()),
        (false, "roles: {a: [x]}".to_owned()),
        (false, "roles: {a b: {}}".to_owned()),
        (false, "roles: {a: {agents: [x y]}}".to_owned()),
        (false, "roles: {a: {requireHuman: on}}".to_owned()),
        (false, "agents: {x: {email: no body}}".to_owned()),
        (false, "agents: {x: {may: [fly]}}".to_owned()),
        (false, "agents: [{name: x}]".to_owned()),
        (false, "agents: one".to_owned()),
    ];
    for (schema, file, cases) in
        [(Schema::Project, "project.yaml", &project[..]), (Schema::Org, "org.yaml", &org[..])]
    {
        let validator = validator(schema);
        for (good, text) in cases {
            let read = load(&[Source { name: file.to_owned(), bytes: text.as_bytes().to_vec() }]);
            assert_eq!(read.is_ok(), *good, "the decoder of {text}");
            assert_eq!(validator.is_valid(&value(text)), *good, "the schema of {text}");
        }
    }
}

fn full_visit(time: Timestamp) -> Visit {
    let map = || json!({"k": 1}).as_object().unwrap().clone();
    Visit {
        branch: Some("security".parse().unwrap()),
        verdict: Some(Verdict::Reject),
        join: Some(Join::Failed),
        unfinished: vec!["legal".parse().unwrap()],
        gate: "review".parse().unwrap(),
        item: Some(LoopItem { index: 0, of: 2 }),
        role: Some("reviewer".parse().unwrap()),
        agent: Some("agent-1".parse().unwrap()),
        entered: time,
        exited: time,
        overdue: Some(time),
        outcome: Ending::Completed(Outcome::NeedsReview),
        summary: "no".to_owned(),
        blockers: vec!["fix it".to_owned()],
        rejection_notes: Some("please".to_owned()),
        to: Some(Destination::Gate("work".parse().unwrap())),
        to_item: Some(LoopItem { index: 1, of: 2 }),
        round: Some(2),
        skipped: vec!["docs".parse().unwrap()],
        cleared: vec!["plan".parse().unwrap()],
        escalated_to: Some("lead".parse().unwrap()),
        retry: Some(1),
        outputs: map(),
        metadata: map(),
        children: [("AOF-abf".parse().unwrap(), Status::Complete)].into(),
        checks: CheckResults {
            tests: Some(TestCount { passed: 2, failed: 0, not_runnable: 1 }),
            checklist: Some(ChecklistCount { done: 3, open: 0 }),
        },
        work: Some(Box::new(WorkBranch {
            branch: "aof-work/AOF-abc".parse().unwrap(),
            base: "main".parse().unwrap(),
            head: "0123456789".repeat(4).parse().unwrap(),
        })),
        landed: Some(Box::new(Landing {
            onto: "main".parse().unwrap(),
            commit: "0123456789".repeat(4).parse().unwrap(),
            tree: "0123456789".repeat(4).parse().unwrap(),
            checks: vec![LandingCheck {
                argv: vec!["cargo".to_owned(), "test".to_owned()],
                exit: 0,
                digest: Digest::of(b"ok"),
            }],
        })),
        workflow: Some("cafe".to_owned()),
        completion: Some(Stamp { id: "c1".parse().unwrap(), sha256: Digest::of(b"x") }),
        signature: Some(SIGNATURE.parse().unwrap()),
    }
}

fn full_task() -> Task {
    let time: Timestamp = "2026-02-16T10:00:00Z".parse().unwrap();
    let map = || json!({"k": 1}).as_object().unwrap().clone();
    Task {
        id: "AOF-abc".parse().unwrap(),
        title: "Water the plants".to_owned(),
        description: Some("all of them".to_owned()),
        status: Status::Ready,
        created: time,
        created_by: Some("agent-1".parse().unwrap()),
        updated: time,
        routing: Routing {
            workflow: "default".parse().unwrap(),
            role: Some("worker".parse().unwrap()),
            agent: Some("agent-1".parse().unwrap()),
            claimed: Some(time),
            lost: Some("agent-2".parse().unwrap()),
        },
        gate: Some(OpenVisit {
            current: "work".parse().unwrap(),
            entered: time,
            visit: 0,
            item: Some(LoopItem { index: 1, of: 2 }),
            resumed: Some(time),
            answer: Some("use the blue one".to_owned()),
            overdue: Some(time),
            held: Some(time),
            escalated: Some("lead".parse().unwrap()),
            branches: vec![OpenBranch {
                id: "security".parse().unwrap(),
                role: "reviewer".parse().unwrap(),
                escalated: Some("lead".parse().unwrap()),
                agent: Some("agent-1".parse().unwrap()),
                claimed: Some(time),
                lost: Some("agent-2".parse().unwrap()),
                resumed: Some(time),
                answer: Some("use the blue one".to_owned()),
                overdue: Some(time),
                status: BranchStatus::Blocked,
                blockers: vec!["no water".into()],
            }],
        }),
        history: vec![full_visit(time)],
        review: Some(ReviewContext {
            from_gate: "review".parse().unwrap(),
            from_agent: Some("agent-1".parse().unwrap()),
            from_role: Some("reviewer".parse().unwrap()),
            timestamp: time,
            blockers: vec!["fix it".to_owned()],
            notes: Some("please".to_owned()),
        }),
        blockers: vec!["no water".into()],
        context: map(),
        workflow_hash: Some("cafe".to_owned()),
        plan: TaskPlan {
            priority: Some("high".to_owned()),
            due: Some("2026-12-01".parse().unwrap()),
            not_before: Some("2026-11-30".parse().unwrap()),
            milestone: Some("spring".to_owned()),
            assignee: vec!["human-ann".to_owned()],
            links: vec![Link { title: Some("Plan".to_owned()), url: "plan.md".to_owned() }],
        },
        tags: vec!["garden".to_owned()],
        metadata: map(),
        depends_on: vec!["AOF-abd".parse().unwrap()],
        parent: Some("AOF-abe".parse().unwrap()),
    }
}

#[test]
fn the_task_schema_has_the_fields_that_tasks_have() {
    let task = full_task();
    let bytes = task_file::create(&Task { history: Vec::new(), ..task.clone() }, "");
    let defaults =
        task_file::Defaults { workflow: "default".parse().unwrap(), created: task.created };
    let file = task_file::parse(bytes.as_bytes(), &task.id, &defaults).unwrap();
    let mut written = file.raw();
    let visit = crate::task_file::visits::visit_value(&task.history[0]);
    written.insert("gateHistory".to_owned(), json!([visit]));
    let written = Value::Object(written);
    assert_valid(Schema::Task, &written);
    let document = Schema::Task.document();
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let mut known = keys(&document["properties"]);
    for of_people in ["tests", "testsFile"] {
        assert!(known.remove(of_people));
    }
    assert_eq!(keys(&written), known);
    for nested in ["routing", "gate", "reviewContext"] {
        assert_eq!(
            keys(&written[nested]),
            keys(&document["properties"][nested]["properties"]),
            "{nested}"
        );
    }
    assert_eq!(
        keys(&written["gate"]["branches"][0]),
        keys(&document["$defs"]["branch"]["properties"])
    );
    let visit_schema = &document["$defs"]["visit"]["properties"];
    assert_eq!(keys(&visit), keys(visit_schema));
    assert_eq!(keys(&visit["completion"]), keys(&visit_schema["completion"]["properties"]));
    // The decoder knows all fields that the writer writes.
    let strange = format!(
        "---\ntitle: x\ngateHistory: [{{gate: a, role: r, entered: 2026-02-16, exited: 2026-02-16, outcome: skip, {STRANGER}: 1}}]\n---\n"
    );
    let faults: Vec<Fault> = task_file::parse(strange.as_bytes(), &task.id, &defaults).unwrap_err();
    let help = faults
        .iter()
        .find(|fault| fault.code == "unknown_field")
        .and_then(|fault| fault.help.as_deref());
    assert_eq!(decoder_fields(help.unwrap()), keys(visit_schema));
}

#[test]
fn tags_and_metadata_of_nothing_are_valid_for_both() {
    let text = "title: x\ntags:\nmetadata:\n";
    assert_valid(Schema::Task, &value(text));
    let defaults = task_file::Defaults {
        workflow: "default".parse().unwrap(),
        created: Timestamp::UNIX_EPOCH,
    };
    let file = task_file::parse(
        format!("---\n{text}---\n").as_bytes(),
        &"AOF-abc".parse().unwrap(),
        &defaults,
    )
    .unwrap();
    assert!(file.task.tags.is_empty() && file.task.metadata.is_empty());
}

#[test]
fn the_completion_schema_has_the_fields_that_completions_have() {
    let id = "given".parse().unwrap();
    let text = format!("task: AOF-abc@2\nagent: agent-1\n{STRANGER}: 1\n");
    let faults =
        completion_file::parse(text.as_bytes(), completion_file::Syntax::Yaml, &id).unwrap_err();
    assert_eq!(
        decoder_fields(faults[0].help.as_ref().unwrap()),
        schema_fields(Schema::Completion, "")
    );
    for (good, text) in [
        (
            true,
            "{task: AOF-abc@2, agent: agent-1, outcome: approved, summary: done, blockers: [a], rejectionNotes: b, outputs: {}, metadata: {a: 1}, id: a:b}",
        ),
        (true, "{task: AOF-abc, agent: human-ada, blockers: one}"),
        (false, "{task: AOF-abc}"),
        (false, "{agent: agent-1}"),
        (false, "{task: abc, agent: agent-1}"),
        (false, "{task: AOF-abc, agent: agent 1}"),
        (false, "{task: AOF-abc, agent: a, blockers: {a: b}}"),
        (false, "{task: AOF-abc, agent: a, outputs: [a]}"),
    ] {
        let read = completion_file::parse(text.as_bytes(), completion_file::Syntax::Yaml, &id);
        assert_eq!(read.is_ok(), good, "the decoder of {text}");
        assert_eq!(
            validator(Schema::Completion).is_valid(&value(text)),
            good,
            "the schema of {text}"
        );
    }
}

#[test]
fn a_refusal_has_a_code_and_a_sentence() {
    let refusal = json!({"error": "missing_blockers", "message": "say why", "requiredField": "blockers", "other": 1});
    assert_valid(Schema::Refusal, &refusal);
    assert!(
        !validator(Schema::Refusal).is_valid(&json!({"error": "Missing blockers", "message": ""}))
    );
    assert!(!validator(Schema::Refusal).is_valid(&json!({"message": ""})));
}

#[test]
fn the_schema_of_events_knows_each_kind_and_how_bad_it_is() {
    let document = Schema::Event.document();
    let variants = document["oneOf"].as_array().unwrap();
    let of = |pointer: &str| -> Vec<Option<&str>> {
        variants.iter().map(|variant| variant.pointer(pointer).and_then(Value::as_str)).collect()
    };
    let kinds: BTreeSet<Option<&str>> =
        EventKind::ALL.iter().map(|kind| Some(kind.as_str())).collect();
    let listed = of("/properties/event/const");
    assert_eq!(
        (listed.iter().copied().collect::<BTreeSet<_>>(), listed.len()),
        (kinds, EventKind::ALL.len())
    );
    for (kind, level) in listed.into_iter().zip(of("/properties/level/const")) {
        let known: EventKind = kind.unwrap().parse().unwrap();
        assert_eq!(level, Some(known.level().as_str()).filter(|level| *level != "info"), "{known}");
    }
}
