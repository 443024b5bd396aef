//! Squashes: several entries of a task in one commit. Each is judged by the rules before; a forged one is a finding.

use std::fs;

use serde_json::Value;

use super::signatures::{approve, project, stand_in, to_sign};
use crate::support::clones::Clones;
use crate::support::environment::{ORG, Output, PROJECT, TestEnvironment};
use crate::support::merge_scene;
use crate::support::signer::Signer;

/// A fork, its branches, and a loop.
const WAYS: &str = "\
workflow:
  gates:
    - {id: plan, role: backend, outputs: {type: object, properties: {parts: {type: array}}}}
    - {id: build, role: backend, forEach: plan.parts}
    - {id: legal, role: architect, when: tags.includes('law')}
    - id: reviews
      type: fork
      branches:
        - {id: code, role: architect, canReject: true}
        - {id: docs, role: backend, canReject: true}
    - {id: ship, role: architect}
";

fn verify(env: &TestEnvironment, more: &[&str]) -> Output {
    env.aof(&[&["verify", "--json"], more].concat())
}

/// Returns the broken rules, in order.
fn rules_of(value: &Value) -> Vec<&str> {
    let findings = value["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["rule"].as_str().unwrap()).collect()
}

/// Expects that verify passes with these notes.
fn passes(env: &TestEnvironment, notes: &[&str]) -> Value {
    let output = verify(env, &[]).success();
    let value = output.json();
    let mut found = rules_of(&value);
    found.retain(|rule| *rule != "named_unseen");
    assert_eq!(found, notes, "{output}");
    value
}

/// Squashes the branch `work` onto `main`, as git does, with what `change` does before the commit.
fn squash(env: &TestEnvironment, change: impl FnOnce(&TestEnvironment)) {
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--squash", "work"]);
    change(env);
    env.commit_all("Add login (#7)");
}

/// A task on `main`, and three steps of it on the branch `work`.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["checkout", "-q", "-b", "work"]);
    works(&env, &id);
    (env, id)
}

fn works(env: &TestEnvironment, id: &str) {
    let _ = env.complete(id, "agent-7").success();
    let _ = env.say(id, "agent-3", "needs_review", &["--blocker", "No test covers it"]).success();
    let _ = env.complete(id, "agent-8").success();
}

/// Rewrites the task's history: `change` gets its entries.
fn forge(env: &TestEnvironment, id: &str, change: impl FnOnce(&mut Vec<String>)) {
    let (path, text) = (env.task_path(id), env.task_text(id));
    let (head, rest) = text.split_once("  - gate: ").unwrap();
    let (rest, tail) = match rest.find("\nreviewContext").or_else(|| rest.find("\n---")) {
        Some(end) => rest.split_at(end + 1),
        None => (rest, ""),
    };
    let mut entries: Vec<String> = rest.split("  - gate: ").map(str::to_owned).collect();
    let before = entries.len();
    change(&mut entries);
    let visit = |count: usize| format!("  visit: {count}");
    let head = head.replace(&visit(before), &visit(entries.len()));
    let entries: String = entries.iter().map(|entry| format!("  - gate: {entry}")).collect();
    env.write(&path, format!("{head}{entries}{tail}"));
}

/// Changes one word of the second entry.
fn replaced(env: &TestEnvironment, id: &str, from: &str, to: &str) {
    forge(env, id, |entries| {
        assert!(entries[1].contains(from), "{entries:?}");
        entries[1] = entries[1].replacen(from, to, 1);
    });
}

type Forgery = fn(&TestEnvironment, &str);

#[test]
fn a_forged_entry_in_a_squash_is_a_finding() {
    let forgeries: [(&str, Forgery); 6] = [
        ("left out", |env, id| forge(env, id, |all| drop(all.remove(1)))),
        ("doubled", |env, id| forge(env, id, |all| all.insert(1, all[0].clone()))),
        ("reordered", |env, id| forge(env, id, |all| all.swap(0, 1))),
        ("other agent", |env, id| replaced(env, id, "agent-3", "agent-7")),
        ("other outcome", |env, id| {
            replaced(env, id, "outcome: needs_review", "outcome: complete");
        }),
        ("other rules hash", |env, id| {
            let text = env.task_text(id);
            let hash = text.split("workflow: ").nth(2).unwrap().lines().next().unwrap();
            let hash = hash.to_owned();
            replaced(env, id, &hash, "0123456789abcdef");
        }),
    ];
    for (name, forgery) in forgeries {
        for is_new in [false, true] {
            let (env, id) = if is_new {
                let env = TestEnvironment::new();
                env.git(&["checkout", "-q", "-b", "work"]);
                let id = env.new_task(&["Add login"]);
                works(&env, &id);
                (env, id)
            } else {
                scene()
            };
            squash(&env, |env| forgery(env, &id));
            let output = verify(&env, &[]).code(1);
            let value = output.json();
            let broken = rules_of(&value);
            let [rule] = broken[..] else { panic!("{name}, new: {is_new}: {output}") };
            assert!(matches!(rule, "not_allowed" | "wrong_result"), "{name}: {output}");
        }
    }
}

#[test]
fn rules_that_a_squash_brings_do_not_judge_it() {
    for is_new in [false, true] {
        let env = TestEnvironment::new();
        let mut id = if is_new { String::new() } else { env.new_task(&["Add login"]) };
        env.git(&["checkout", "-q", "-b", "work"]);
        env.write("org.yaml", ORG.replace("[agent-3]", "[agent-3, agent-7]"));
        env.commit_all("everybody reviews");
        if is_new {
            id = env.new_task(&["Add login"]);
        }
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.complete(&format!("{id}@1"), "agent-7").success();
        squash(&env, |_| {});
        let output = verify(&env, &[]).code(1);
        assert_eq!(rules_of(&output.json()), ["rules_in_squash"], "{output}");
    }
}

#[test]
fn tests_that_come_with_the_entry_that_met_them_do_not_prove_it() {
    let env = TestEnvironment::with_rules(
        &PROJECT.replace("role: architect\n", "role: architect\n      check: tests\n"),
        ORG,
    );
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "\n---\n", "\ntests: [{when: {run: [\"true\"]}, then: {exit: 0}}]\n---\n");
    env.commit_all("tests");
    env.git(&["checkout", "-q", "-b", "work"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    squash(&env, |_| {});
    passes(&env, &["squashed"]);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    squash(&env, |env| env.edit(&env.task_path(&id), "{run: [\"true\"]}", "{run: [\"echo\"]}"));
    let output = verify(&env, &[]).code(1);
    assert!(rules_of(&output.json()).contains(&"not_allowed"), "{output}");
}

#[test]
fn a_file_of_tests_that_comes_with_the_entry_that_met_them_does_not_prove_it() {
    let env = TestEnvironment::with_rules(
        &PROJECT.replace("role: architect\n", "role: architect\n      check: tests\n"),
        ORG,
    );
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "\n---\n", &format!("\ntestsFile: {id}.tests.yaml\n---\n"));
    let tests = format!("tasks/{id}.tests.yaml");
    env.write(&tests, "- {when: {run: [\"true\"]}, then: {exit: 0}}\n");
    env.commit_all("tests");
    env.git(&["checkout", "-q", "-b", "work"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    squash(&env, |_| {});
    let value = passes(&env, &["squashed"]);
    let counts = serde_json::json!({"entries": 2, "olderRules": 0, "unknownWays": 0});
    assert_eq!(value["findings"][0]["squash"], counts);
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let moved = |env: &TestEnvironment| env.task_path(&id).replace(".md", ".tests.yaml");
    squash(&env, |env| env.edit(&moved(env), "true", "echo"));
    let output = verify(&env, &[]).code(1);
    assert!(rules_of(&output.json()).contains(&"not_allowed"), "{output}");
}

#[test]
fn an_entry_of_a_person_needs_its_own_proof_in_a_squash() {
    let org = format!(
        "roles:\n  backend: {{agents: [agent-7, agent-8]}}\n  architect: {{agents: [human-ada]}}\nagents:\n  agent-7:\n  \
         agent-8:\n  human-ada: {{email: ada@example.org, signingKey: {}}}\n",
        Signer::new(1).public()
    );
    let env = TestEnvironment::with_rules(&project(), &org);
    let (id, other) = (env.new_task(&["Add login"]), env.new_task(&["Add logout"]));
    env.git(&["checkout", "-q", "-b", "work"]);
    stand_in(&env);
    for (task, name) in [(&id, "c1"), (&other, "c2")] {
        let _ = env.complete(task, "agent-7").success();
        fs::write(env.home().join("answer"), Signer::new(1).sign(&to_sign(&env, task, name)))
            .unwrap();
        let _ = env.aof(&approve(task, &["--id", name])).success();
    }
    squash(&env, |_| {});
    passes(&env, &["squashed", "squashed"]);
    let signature = |text: &str| {
        let at = text.find("signature:").unwrap();
        let end = text[at..].find("END SSH SIGNATURE-----").unwrap() + at;
        text[at..end].to_owned()
    };
    let forgeries: [(Forgery, &str); 2] = [
        (
            |env, id| {
                let text = env.task_text(id);
                let at = text.find("    signature:").unwrap();
                let rest = &text[at + 1..];
                let end = rest.find("END SSH SIGNATURE-----").unwrap();
                let line = rest[end..].find('\n').unwrap() + end;
                env.write(&env.task_path(id), format!("{}{}", &text[..at], &rest[line + 1..]));
            },
            "unsigned",
        ),
        (|_, _| {}, "bad_signature"),
    ];
    for (forgery, rule) in forgeries {
        env.git(&["reset", "-q", "--hard", "HEAD~1"]);
        squash(&env, |env| {
            forgery(env, &id);
            if rule == "bad_signature" {
                let text = env.task_text(&id);
                let others = signature(&env.task_text(&other));
                env.write(&env.task_path(&id), text.replace(&signature(&text), &others));
            }
        });
        let output = verify(&env, &[]).code(1);
        assert!(rules_of(&output.json()).contains(&rule), "{output}");
    }
}

#[test]
fn honest_squashes_are_notes_and_a_merge_is_none() {
    let (env, id) = scene();
    env.git(&["checkout", "-q", "main"]);
    env.write("code", "moved");
    env.commit_all("main moved");
    env.git(&["branch", "moved"]);
    env.git(&["merge", "-q", "--no-ff", "-m", "merge", "work"]);
    passes(&env, &[]);
    // Beside a moved `main`.
    env.git(&["reset", "-q", "--hard", "moved"]);
    squash(&env, |_| {});
    let value = passes(&env, &["squashed"]);
    assert!(value["findings"][0]["found"].as_str().unwrap().starts_with("3 entries"), "{value}");
    let output = verify(&env, &["--strict"]).code(1);
    assert_eq!(output.json()["ok"], false);
    // A branch that `main` was merged into, which archives the task, with another one that is new.
    env.git(&["reset", "-q", "--hard", "moved"]);
    env.git(&["checkout", "-q", "work"]);
    env.git(&["merge", "-q", "--no-ff", "-m", "main", "main"]);
    let _ = env.complete(&id, "agent-3").success();
    let new = env.new_task(&["Add logout"]);
    works(&env, &new);
    squash(&env, |_| {});
    assert!(env.task_path(&id).contains("archive"));
    passes(&env, &["squashed", "squashed"]);
}

#[test]
fn a_message_with_trailers_of_several_steps_is_not_compared() {
    let (env, _) = scene();
    env.git(&["checkout", "-q", "main"]);
    env.git(&["merge", "-q", "--squash", "work"]);
    let message = env.git(&["log", "--reverse", "--format=%B", "main..work"]);
    env.git(&["commit", "-q", "-m", &message]);
    passes(&env, &["squashed"]);
}

#[test]
fn claims_and_unblocks_between_the_entries_are_known() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["checkout", "-q", "-b", "work"]);
    let _ = env.aof(&["claim", &id, "--agent", "agent-7"]).success();
    let _ = env.say(&id, "agent-7", "blocked", &["--blocker", "No staging server"]).success();
    let _ = env.aof(&["unblock", &id, "-m", "It is there"]).success();
    let _ = env.aof(&["claim", &id, "--agent", "agent-8"]).success();
    let _ = env.complete(&id, "agent-8").success();
    let _ = env.say(&id, "agent-3", "blocked", &["--blocker", "No reviewer here"]).success();
    let _ = env.aof(&["unblock", &id, "-m", "There is one"]).success();
    let _ = env.aof(&["claim", &id, "--agent", "agent-3"]).success();
    squash(&env, |_| {});
    passes(&env, &["squashed"]);
}

#[test]
fn forks_loops_and_conditions_are_replayed() {
    for tagged_late in [false, true] {
        let env = TestEnvironment::with_rules(WAYS, ORG);
        env.git(&["checkout", "-q", "-b", "work"]);
        let id = env.new_task(&["Build it"]);
        let parts = ["--output", "parts=[\"one\", \"two\"]"];
        let _ = env.say(&id, "agent-7", "complete", &parts).success();
        let _ = env.complete(&format!("{id}@1"), "agent-7").success();
        let _ = env.complete(&format!("{id}@2"), "agent-8").success();
        let _ = env.say(&id, "agent-3", "complete", &[]).success();
        if tagged_late {
            let _ = env.aof(&["edit", &id, "--tag", "law"]).success();
        }
        squash(&env, |_| {});
        let value = passes(&env, &["squashed"]);
        let found = value["findings"][0]["found"].as_str().unwrap();
        assert_eq!(found.contains("1 way not known"), tagged_late, "{found}");
    }
}

#[test]
fn branches_that_a_changed_condition_opened_are_counted_as_not_known() {
    let rules = "\
workflow:
  gates:
    - {id: build, role: backend}
    - id: reviews
      type: fork
      branches:
        - {id: code, role: architect}
        - {id: docs, role: backend}
        - {id: law, role: architect, when: tags.includes('law')}
    - {id: ship, role: architect}
";
    for (tag, later) in [("law", "--untag"), ("soon", "--tag")] {
        let env = TestEnvironment::with_rules(rules, ORG);
        env.git(&["checkout", "-q", "-b", "work"]);
        let id = env.new_task(&["Build it", "--tag", tag]);
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.complete(&format!("{id}@1/docs"), "agent-8").success();
        if tag == "law" {
            let _ = env.complete(&format!("{id}@1/law"), "agent-3").success();
        }
        let _ = env.complete(&format!("{id}@1/code"), "agent-3").success();
        let _ = env.aof(&["edit", &id, later, "law"]).success();
        squash(&env, |_| {});
        let value = passes(&env, &["squashed"]);
        assert_eq!(value["findings"][0]["squash"]["unknownWays"], 1, "{value}");
    }
}

#[test]
fn children_of_the_same_squash_count_by_their_states_there() {
    let rules = "workflow: {gates: [{id: plan, role: dev}, {id: integrate, role: dev, waitFor: children}, {id: ship, role: dev}]}\n";
    let env = TestEnvironment::with_rules(rules, "roles: {dev: {agents: [agent-p]}}\n");
    let parent = env.new_task(&["Feature"]);
    env.git(&["checkout", "-q", "-b", "work"]);
    let _ = env.complete(&parent, "agent-p").success();
    let child = env.new_task(&["Part", "--parent", &parent]);
    for visit in 0..3 {
        let _ = env.complete(&format!("{child}@{visit}"), "agent-p").success();
    }
    let _ = env.complete(&format!("{parent}@1"), "agent-p").success();
    squash(&env, |_| {});
    passes(&env, &["squashed", "squashed"]);
}

#[test]
fn entries_under_older_rules_are_reported() {
    let (env, _) = scene();
    env.git(&["checkout", "-q", "main"]);
    env.write("project.yaml", PROJECT.replace("canReject: true", "canReject: false"));
    env.commit_all("no rejections any longer");
    squash(&env, |_| {});
    let value = passes(&env, &["squashed"]);
    let found = value["findings"][0]["found"].as_str().unwrap();
    assert!(found.contains("under older rules"), "{found}");
}

#[test]
fn a_project_may_refuse_squashes() {
    let env = TestEnvironment::with_rules(&format!("verify: {{squash: refuse}}\n{PROJECT}"), ORG);
    let id = env.new_task(&["Add login"]);
    env.git(&["checkout", "-q", "-b", "work"]);
    works(&env, &id);
    squash(&env, |_| {});
    let output = verify(&env, &[]).code(1);
    assert_eq!(rules_of(&output.json()), ["squashed"], "{output}");
}

#[test]
fn clones_converge_after_a_squash() {
    let clones = Clones::new(PROJECT, &["b"]);
    let id = clones.env.new_task(&["Add login"]);
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    clones.git("b", &["checkout", "-q", "-b", "work"]);
    clones.completes("b", &id, "agent-2");
    clones.says("b", &id, "agent-9", "needs_review");
    clones.git("b", &["checkout", "-q", "main"]);
    clones.git("b", &["merge", "-q", "--squash", "work"]);
    clones.git("b", &["commit", "-q", "-m", "Add login (#7)"]);
    let _ = clones.env.new_task(&["Another"]);
    for clone in ["b", ".", "b"] {
        clones.does(clone, &["sync"]);
    }
    assert_eq!(clones.head("b"), clones.head("."));
    for clone in [".", "b"] {
        clones.does(clone, &["verify"]);
    }
}

#[test]
fn the_hook_lets_a_squash_through_and_status_says_beforehand_what_it_keeps() {
    let (env, id) = merge_scene::scene();
    env.git(&["init", "--quiet", "--bare", "--initial-branch=main", "../hub.git"]);
    env.git(&["remote", "add", "origin", "../hub.git"]);
    env.git(&["push", "-q", "-u", "origin", "main"]);
    env.git(&["remote", "set-head", "origin", "main"]);
    let line = "a squash of `work` keeps the entries of 1 task, and loses their commits and claims";
    merge_scene::aside(&env, "work", || {
        assert!(!env.aof(&["status"]).success().stdout.contains("a squash of"));
        works(&env, &id);
        let status = env.aof(&["status"]).success();
        assert!(status.stdout.contains(line), "{status}");
    });
    let _ = env.new_task(&["On the default branch"]);
    assert!(!env.aof(&["status"]).success().stdout.contains("a squash of"));
    env.git(&["merge", "-q", "--squash", "work"]);
    env.git(&["commit", "-q", "-m", "Add login (#7)"]);
    passes(&env, &["squashed"]);
}
