//! Task files that people make with an editor: what of them counts when they are taken up.

use crate::support::checker::check;
use crate::support::environment::{ORG, TestEnvironment};

/// Every key that the engine keeps, as a copy of another task's file has it; and what nobody can take out but whoever wrote it.
const KEPT: [(&str, Option<&str>); 19] = [
    ("status: blocked", None),
    ("created: 2020-01-01T00:00:00Z", None),
    ("updated: 2020-01-01T00:00:00Z", None),
    ("workflowHash: sha256:0", None),
    ("gate:", None),
    ("gateHistory: []", None),
    (
        "reviewContext: {fromGate: gone, fromAgent: a, timestamp: 2020-01-01T00:00:00Z, blockers: [forged]}",
        None,
    ),
    ("reviewContext: {fromGate: review, timestamp: 2020-01-01T00:00:00Z} # why", None),
    ("blockers: []", None),
    ("blockers:", None),
    ("context: {}", None),
    ("context: {input: {ticket: 7}}", None),
    (
        "routing: {workflow: default, role: reviewer, claimed: 2020-01-01T00:00:00Z, lost: agent-7}",
        None,
    ),
    ("routing:\n  agent:\n  role: reviewer", None),
    ("blockers: [waiting for Bob]", Some("blockers")),
    ("blockers: waiting for Bob", Some("blockers")),
    ("context: {review: {approved: true}}", Some("context.review")),
    ("context:\n  input: {ticket: 7}\n  implement: {}", Some("context.implement")),
    ("blockers: [x]\ncontext: {a: 1}\nrouting: {agent: zz}", Some("blockers, context.a")),
];

#[test]
fn engine_fields_of_a_hand_made_file_are_not_adopted() {
    let env = TestEnvironment::new();
    let mut refused = Vec::new();
    for (number, (kept, fields)) in KEPT.into_iter().enumerate() {
        let id = format!("AOF-hand{number}");
        env.write(
            &format!("tasks/{id}.md"),
            format!("---\ntitle: t\n{kept}\nmine: 1 # mine\n---\nAs it was.\n"),
        );
        // Whether somebody has committed it does not matter.
        if number % 2 == 0 {
            env.commit_all(&id);
        }
        refused.extend(fields.map(|fields| (id, kept, fields)));
    }
    let output = env.aof(&["--json", "status"]).success().json();
    let frozen: Vec<_> = output["attention"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| point["code"] == "task_frozen")
        .collect();
    assert_eq!(frozen.len(), refused.len(), "{output}");
    let watched = env.aof(&["watch", "--once"]);
    for (number, (kept, fields)) in KEPT.into_iter().enumerate() {
        let text = env.read(&format!("tasks/AOF-hand{number}.md"));
        assert_eq!(
            text.contains("\ngate:\n  current: implement\n"),
            fields.is_none(),
            "{kept}: {text}\n{watched}"
        );
        if fields.is_none() {
            assert!(
                text.contains("\nmine: 1 # mine\n") && text.ends_with("---\nAs it was.\n"),
                "{text}"
            );
            assert!(text.contains("status: ready\n") && text.contains("role: backend"), "{text}");
            for word in ["agent", "claimed", "lost", "reviewContext", "blockers"] {
                assert!(!text.contains(word), "{kept}: {text}");
            }
            assert_eq!(text.contains("context"), kept.contains("input"), "{kept}: {text}");
        }
    }
    let _ = env.aof(&["verify"]).success();

    for (id, kept, fields) in refused {
        let file = format!("tasks/{id}.md");
        let why = env.aof(&["why", &id]).success();
        let answer = env.say(&id, "agent-7", "complete", &["--json"]).code(5).json();
        assert_eq!(
            (&answer["error"], answer["fields"].as_array().map(Vec::len)),
            (&"task_frozen".into(), Some(fields.split(", ").count()))
        );
        let message = answer["message"].as_str().unwrap();
        for text in [message, why.stdout.as_str()] {
            let problem = format!("says what only the engine says: {fields}");
            assert!(
                text.contains(&problem) && text.contains("take it out of the file"),
                "{kept}: {text}"
            );
            assert!(!text.contains("by hand in"), "the engine has never kept it: {text}");
        }
        assert!(env.read(&file).contains(kept), "nobody has touched it");
        // As it says.
        let taken = if kept.contains("input") {
            "  implement: {}\n".to_owned()
        } else {
            format!("{kept}\n")
        };
        env.edit(&file, &taken, "");
        let _ = env.complete(&id, "agent-7");
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn all_fields_to_remove_from_a_copy_are_named() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--context", "ticket=7"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.say(&id, "agent-3", "needs_review", &["-b", "No tests"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let copy = env.task_text(&id).replace(&id, "AOF-copy").replace("Add login", "Add logout");
    env.write("tasks/AOF-copy.md", &copy);
    let refused = env.say("AOF-copy", "agent-7", "complete", &[]).code(5);
    for key in [
        "gate",
        "gateHistory",
        "status",
        "blockers",
        "reviewContext",
        "workflowHash",
        "routing",
        "context",
    ] {
        assert!(refused.stderr.contains(&format!("`{key}`")), "{key}: {refused}");
    }
    // Whoever takes out the gates alone leaves it to the same agent, and nothing else.
    let key = |line: &str| {
        line.split(':').next().map(str::to_owned).filter(|_| !line.starts_with([' ', '-']))
    };
    let mut of = String::new();
    let kept = copy.lines().enumerate().filter(|(number, line)| {
        of = key(line).unwrap_or_else(|| of.clone());
        *number == 0 || line.starts_with("---") || !["gate", "gateHistory"].contains(&of.as_str())
    });
    let text: String = kept.map(|(_, line)| format!("{line}\n")).collect();
    env.write("tasks/AOF-copy.md", &text);
    let _ = env.say("AOF-copy", "agent-8", "complete", &[]).code(4);
    assert!(env.read("tasks/AOF-copy.md").contains("  agent: agent-7\n"), "{text}");
    let _ = env.complete("AOF-copy", "agent-7");
    let brief = env.aof(&["task", "show", "AOF-copy"]).success();
    assert!(!brief.stdout.contains("No tests"), "{brief}");
    let _ = env.aof(&["verify"]).success();
}

/// Writes a task file as it was before there were gates.
fn legacy(env: &TestEnvironment, id: &str, agent: &str) {
    let text = format!(
        "---\nid: {id}\ntitle: t\nstatus: in_progress\nrouting:\n  role: dev\n  agent: {agent} # its own\n---\n"
    );
    env.write(&format!("tasks/{id}.md"), text);
}

#[test]
fn a_hand_made_file_assigns_its_task_if_the_rules_allow_it() {
    let env = TestEnvironment::new();
    // Whether somebody has committed it does not matter.
    for id in ["AOF-one", "AOF-two"] {
        legacy(&env, id, "agent-7");
    }
    legacy(&env, "AOF-nope", "agent-3");
    env.commit_all("as it was");
    for (id, agent) in [("AOF-six", "agent-8"), ("AOF-four", "agent-8"), ("AOF-gone", "bob")] {
        legacy(&env, id, agent);
    }
    let why = env.aof(&["why", "AOF-four"]).success();
    assert!(why.stdout.contains("at gate `implement`, and gives it to `agent-8`"), "{why}");
    let output = env.aof(&["--json", "status"]).success().stdout;
    assert!(!output.contains("task_frozen"), "{output}");

    // By whatever is done with it first.
    let refused = env.say("AOF-one", "agent-8", "complete", &["--json"]).code(4).json();
    assert_eq!(
        (&refused["error"], &refused["assignedAgent"]),
        (&"assigned_to_another".into(), &"agent-7".into())
    );
    let head = env.head();
    let rehearsed = env.aof(&["migrate", "tasks", "--add-gates", "--dry-run"]).success();
    assert!(
        rehearsed.stderr.contains("`AOF-nope` begins without `agent-3`, whom its file names"),
        "{rehearsed}"
    );
    assert_eq!(env.head(), head);
    std::fs::rename(env.path("tasks/AOF-six.md"), env.path("six")).unwrap();
    let migrated = env.aof(&["migrate", "tasks", "--add-gates", "--json"]).success().json();
    for adopted in migrated["adopted"].as_array().unwrap() {
        let (id, warned) =
            (adopted["task"].as_str().unwrap(), adopted["warnings"].as_array().unwrap());
        let without = ["AOF-nope", "AOF-gone"].contains(&id);
        assert_eq!(adopted["status"], if without { "ready" } else { "in_progress" }, "{adopted}");
        assert_eq!(warned.len(), usize::from(without), "{adopted}");
        assert!(
            warned.iter().all(|warned| warned["warning"] == "not_given" && warned["task"] == id),
            "{adopted}"
        );
    }
    assert_eq!(migrated["adopted"].as_array().unwrap().len(), 4);
    std::fs::rename(env.path("six"), env.path("tasks/AOF-six.md")).unwrap();
    let _ = env.aof(&["watch", "--once"]).success();
    for (id, agent) in
        [("one", "agent-7"), ("two", "agent-7"), ("six", "agent-8"), ("four", "agent-8")]
    {
        let text = env.read(&format!("tasks/AOF-{id}.md"));
        assert!(
            text.contains("status: in_progress\n")
                && text.contains(&format!("  agent: {agent} # its own\n")),
            "{text}"
        );
        assert!(text.contains("  role: backend\n") && text.contains("  claimed: "), "{text}");
    }
    for id in ["nope", "gone"] {
        let text = env.read(&format!("tasks/AOF-{id}.md"));
        assert!(text.contains("status: ready\n") && !text.contains("agent"), "{text}");
    }
    assert!(
        env.log().contains("AOF-two: adopted at implement, given to agent-7\n"),
        "{}",
        env.log()
    );
    let events = env.aof(&["events", "--task", "AOF-two"]).success();
    assert!(events.stdout.contains("agent-7"), "{events}");
    check(&env);

    // A kill between the file and its commit.
    legacy(&env, "AOF-five", "agent-7");
    let _ = env.aof(&["watch", "--once"]).success();
    env.git(&["reset", "--quiet", "HEAD^"]);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = env.complete("AOF-five", "agent-7");
    check(&env);
}

#[test]
fn the_first_claim_reports_an_assignee_that_was_ignored() {
    let env = TestEnvironment::new();
    legacy(&env, "AOF-one", "agent-3");
    legacy(&env, "AOF-two", "agent-3");
    let rehearsed = env.say("AOF-one", "agent-7", "complete", &["--dry-run"]).success();
    let answer = env.say("AOF-one", "agent-7", "complete", &[]).success();
    let watched = env.aof(&["watch", "--once"]).success();
    for (output, id) in [(&rehearsed, "AOF-one"), (&answer, "AOF-one"), (&watched, "AOF-two")] {
        let text = format!("{}{}", output.stdout, output.stderr);
        assert_eq!(
            text.matches(&format!("warning: `{id}` begins without `agent-3`")).count(),
            1,
            "{output}"
        );
        assert!(text.contains(&format!("`aof assign {id} AGENT --claim`")), "{output}");
    }
    check(&env);
}

#[test]
fn the_first_gate_may_be_a_fork() {
    let project = "project: {name: Fork}\nworkflow:\n  name: default\n  gates:\n    - id: both\n      type: fork\n      branches:\n        \
                   - {id: code, role: backend}\n        - {id: draw, role: architect}\n";
    let env = TestEnvironment::with_rules(project, ORG);
    legacy(&env, "AOF-one", "agent-3");
    let watched = env.aof(&["watch", "--once"]).success();
    let text = env.read("tasks/AOF-one.md");
    assert!(
        text.contains("agent: agent-3") && !watched.stdout.contains("warning"),
        "{watched}{text}"
    );
    assert!(!text.contains("# its own"), "it is the branch's: {text}");
    let _ = env.complete("AOF-one", "agent-3");
    check(&env);
}

#[test]
fn until_it_is_taken_up_a_file_is_whoevers_edits_it() {
    let env = TestEnvironment::new();
    env.write(
        "tasks/AOF-one.md",
        "---\ntitle: t\nrouting: {workflow: odd}\ncontext: {input: {a: 1}}\n---\n",
    );
    env.write(
        "tasks/AOF-two.md",
        "---\ntitle: t\nrouting: {workflow: odd, role: x, agent: agent-3}\n---\n",
    );
    env.commit_all("as it was");
    env.edit("tasks/AOF-two.md", "odd, role: x, agent: agent-3", "default, agent: agent-7");
    env.commit_all("edited");
    env.edit("tasks/AOF-one.md", "odd", "default");
    env.edit("tasks/AOF-one.md", "a: 1", "a: 2");
    let _ = env.aof(&["migrate", "tasks", "--add-gates"]).success();
    assert!(env.read("tasks/AOF-one.md").contains("current: implement"));
    assert!(env.read("tasks/AOF-two.md").contains("agent: agent-7"));
    assert_eq!(
        env.git(&["log", "--format=%s", "-2", "--", "tasks/AOF-one.md"]),
        "AOF-one: adopted at implement\nAOF-one: edited by hand\n"
    );
    check(&env);
}

#[test]
fn fields_adopted_by_an_earlier_build_are_not_a_fault() {
    let env = TestEnvironment::new();
    let kept =
        ["routing: {agent: agent-7}", "context: {plan: {a: 1}}", "blockers: [waiting for Bob]"];
    let before = format!("---\ntitle: t\n{}\n---\n", kept.join("\n"));
    env.write("tasks/AOF-old.md", &before);
    env.write("tasks/AOF-new.md", "---\ntitle: t\n---\n");
    env.commit_all("as it was");
    let _ = env.aof(&["migrate", "tasks", "--add-gates"]).code(6);
    // What the engine made of the one, with what it would have left of the other.
    let adopted = env.read("tasks/AOF-new.md").replace("AOF-new", "AOF-old");
    let adopted = adopted.replace("  role: backend\n", "  role: backend\n  agent: agent-7\n");
    let adopted = adopted.replacen("---\n", &format!("---\n{}\n{}\n", kept[1], kept[2]), 1);
    let answer = env.git(&["log", "-1", "--format=%B"]).replace("AOF-new", "AOF-old");
    let when = env.git(&["log", "-1", "--format=%aI"]);
    let commit = |text: &str, more: &[&str]| {
        env.write("tasks/AOF-old.md", text);
        env.git(
            &[&["commit", "-q", "-a", "--date", when.trim(), "-m", answer.trim()], more].concat(),
        );
        env.aof(&["verify", "--json"])
    };
    let verified = commit(&adopted, &[]).success().json();
    assert_eq!(verified["findings"], serde_json::json!([]));
    for (from, to) in [
        ("agent: agent-7", "agent: agent-8"),
        ("a: 1", "a: 2"),
        ("for Bob", "for Ann"),
        (kept[1], "x: y"),
    ] {
        let verified = commit(&adopted.replace(from, to), &["--amend"]).code(1).json();
        let rules: Vec<&str> = verified["findings"]
            .as_array()
            .unwrap()
            .iter()
            .map(|f| f["rule"].as_str().unwrap())
            .collect();
        assert_eq!(rules, ["moved_by_hand"], "{to}: {verified}");
    }
    // It was read in one second, and begun in the next.
    let created = adopted.lines().find_map(|line| line.strip_prefix("created: ")).unwrap();
    let _ = commit(&adopted.replacen(created, "2026-02-16T10:00:00Z", 1), &["--amend"]).success();
    let _ = commit(&adopted.replacen(created, "2026-02-17T10:00:00Z", 1), &["--amend"]).code(1);
    let _ = commit(&adopted, &["--amend"]).success();
    let _ = env.aof(&["task", "unblock", "AOF-old"]);
    let _ = env.complete("AOF-old", "agent-7");
    let _ = env.aof(&["verify"]).success();
}

/// Returns the points of `aof status` about files that were made by hand.
fn issue_codes(env: &TestEnvironment) -> Vec<String> {
    let status = env.aof(&["--json", "status"]).success().json();
    let points = status["attention"].as_array().unwrap().iter();
    let codes = points.map(|point| point["code"].as_str().unwrap().to_owned());
    codes.filter(|code| ["not_adopted", "task_staged"].contains(&code.as_str())).collect()
}

#[test]
fn a_staged_file_without_further_edits_is_adopted() {
    let env = TestEnvironment::new();
    for (id, door) in [
        ("AOF-one", &["watch", "--once"][..]),
        (
            "AOF-two",
            &[
                "task", "complete", "AOF-two", "--agent", "agent-7", "-o", "complete", "-s",
                "Did it",
            ],
        ),
        ("AOF-six", &["task", "cancel", "AOF-six", "--reason", "Not needed"]),
    ] {
        let path = env.hand_made(id, "Add login");
        env.write("staged.txt", id);
        env.git(&["add", &path, "staged.txt"]);
        assert_eq!(issue_codes(&env), ["not_adopted"], "{id}");
        if door[0] == "task" {
            let _ = env.aof(&[door, &["--dry-run"]].concat()).success();
        }
        let _ = env.aof(door).success();
        assert_eq!(issue_codes(&env), [""; 0], "{id}");
        assert_eq!(env.git(&["status", "--porcelain"]), "A  staged.txt\n", "{id}");
        env.git(&["reset", "--quiet", "staged.txt"]);
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_staged_file_with_further_edits_waits_and_is_named() {
    let env = TestEnvironment::new();
    let path = env.hand_made("AOF-hand", "Add login");
    env.git(&["add", &path]);
    let staged = env.git(&["rev-parse", &format!(":{path}")]);
    env.edit(&path, "Add login", "Add logout");
    assert_eq!(issue_codes(&env), ["task_staged"]);
    let refused = env.say("AOF-hand", "agent-7", "complete", &["--json"]).code(5).json();
    assert_eq!(refused["error"], "staged_elsewise");
    assert_eq!(env.git(&["rev-parse", &format!(":{path}")]), staged);
    // As it says.
    env.git(&["add", &path]);
    assert_eq!(issue_codes(&env), ["not_adopted"]);
    let _ = env.complete("AOF-hand", "agent-7");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_companion_that_is_staged_as_it_stands_goes_with_its_task() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let beside = ["log", "plan.md"].map(|name| format!("tasks/{id}.{name}"));
    for path in &beside {
        env.write(path, "beside\n");
        env.git(&["add", path]);
    }
    env.write(&beside[0], "beside, and more\n");
    let refused =
        env.aof(&["task", "cancel", &id, "--reason", "Not needed", "--json"]).code(5).json();
    assert_eq!(refused["error"], "staged_elsewise");
    env.git(&["add", &beside[0]]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not needed"]).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.files("tasks").len(), 3);
    let _ = env.aof(&["verify"]).success();
}
