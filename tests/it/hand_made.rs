//! Task files that people make with an editor: what of them counts when they are taken up.

use crate::environment::TestEnvironment;

/// Every key that the engine keeps, as a copy of another task's file has it; and what nobody can take out but whoever wrote it.
const KEPT: [(&str, Option<&str>); 20] = [
    ("status: blocked", None),
    ("created: 2020-01-01T00:00:00Z", None),
    ("updated: 2020-01-01T00:00:00Z", None),
    ("workflowHash: sha256:0", None),
    ("gate:", None),
    ("gateHistory: []", None),
    ("reviewContext: {fromGate: gone, fromAgent: a, timestamp: 2020-01-01T00:00:00Z, blockers: [forged]}", None),
    ("reviewContext: {fromGate: review, timestamp: 2020-01-01T00:00:00Z} # why", None),
    ("blockers: []", None),
    ("blockers:", None),
    ("context: {}", None),
    ("context: {input: {ticket: 7}}", None),
    ("routing: {workflow: default, role: reviewer, claimed: 2020-01-01T00:00:00Z, lost: agent-7}", None),
    ("routing:\n  agent:\n  role: reviewer", None),
    ("blockers: [waiting for Bob]", Some("blockers")),
    ("blockers: waiting for Bob", Some("blockers")),
    ("context: {review: {approved: true}}", Some("context.review")),
    ("context:\n  input: {ticket: 7}\n  implement: {}", Some("context.implement")),
    ("routing: {agent: agent-7}", Some("routing.agent")),
    ("blockers: [x]\ncontext: {a: 1}\nrouting: {agent: zz}", Some("blockers, context.a, routing.agent")),
];

#[test]
fn what_the_engine_keeps_is_not_taken_from_a_hand_made_file() {
    let env = TestEnvironment::new();
    let mut refused = Vec::new();
    for (number, (kept, fields)) in KEPT.into_iter().enumerate() {
        let id = format!("AOF-hand{number}");
        env.write(&format!("tasks/{id}.md"), format!("---\ntitle: t\n{kept}\nmine: 1 # mine\n---\nAs it was.\n"));
        // Whether somebody has committed it does not matter.
        if number % 2 == 0 {
            env.commit_all(&id);
        }
        refused.extend(fields.map(|fields| (id, kept, fields)));
    }
    let told = env.aof(&["--json", "status"]).success().json();
    let frozen: Vec<_> =
        told["attention"].as_array().unwrap().iter().filter(|point| point["code"] == "task_frozen").collect();
    assert_eq!(frozen.len(), refused.len(), "{told}");
    let watched = env.aof(&["watch", "--once"]);
    for (number, (kept, fields)) in KEPT.into_iter().enumerate() {
        let text = env.read(&format!("tasks/AOF-hand{number}.md"));
        assert_eq!(text.contains("\ngate:\n  current: implement\n"), fields.is_none(), "{kept}: {text}\n{watched}");
        if fields.is_none() {
            assert!(text.contains("\nmine: 1 # mine\n") && text.ends_with("---\nAs it was.\n"), "{text}");
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
        let said = env.say(&id, "agent-7", "complete", &["--json"]).code(5).json();
        assert_eq!(
            (&said["error"], said["fields"].as_array().map(Vec::len)),
            (&"task_frozen".into(), Some(fields.split(", ").count()))
        );
        let message = said["message"].as_str().unwrap();
        for text in [message, why.stdout.as_str()] {
            assert!(text.contains(fields) && text.contains("take that out of the file"), "{kept}: {text}");
        }
        assert!(env.read(&file).contains(kept), "nobody has touched it");
        // As it says.
        let taken = if kept.contains("input") { "  implement: {}\n".to_owned() } else { format!("{kept}\n") };
        env.edit(&file, &taken, "");
        let _ = env.complete(&id, "agent-7");
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn what_is_to_be_taken_out_of_a_copy_is_named_in_whole() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--context", "ticket=7"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.say(&id, "agent-3", "needs_review", &["-b", "No tests"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let copy = env.task_text(&id).replace(&id, "AOF-copy").replace("Add login", "Add logout");
    env.write("tasks/AOF-copy.md", &copy);
    let refused = env.say("AOF-copy", "agent-7", "complete", &[]).code(5);
    for key in ["gate", "gateHistory", "status", "blockers", "reviewContext", "workflowHash", "routing", "context"] {
        assert!(refused.stderr.contains(&format!("`{key}`")), "{key}: {refused}");
    }
    // Whoever takes out the gates alone is told the rest.
    let key = |line: &str| line.split(':').next().map(str::to_owned).filter(|_| !line.starts_with([' ', '-']));
    let mut of = String::new();
    let kept = copy.lines().enumerate().filter(|(number, line)| {
        of = key(line).unwrap_or_else(|| of.clone());
        *number == 0 || line.starts_with("---") || !["gate", "gateHistory"].contains(&of.as_str())
    });
    let text: String = kept.map(|(_, line)| format!("{line}\n")).collect();
    env.write("tasks/AOF-copy.md", &text);
    let refused = env.say("AOF-copy", "agent-7", "complete", &[]).code(5);
    assert!(refused.stderr.contains("in what the engine keeps: routing.agent"), "{refused}\n{text}");
    env.edit("tasks/AOF-copy.md", "  agent: agent-7\n", "");
    let _ = env.complete("AOF-copy", "agent-7");
    let brief = env.aof(&["task", "show", "AOF-copy"]).success();
    assert!(!brief.stdout.contains("No tests"), "{brief}");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn until_it_is_taken_up_a_file_is_whoevers_edits_it() {
    let env = TestEnvironment::new();
    env.write("tasks/AOF-one.md", "---\ntitle: t\nrouting: {workflow: odd}\ncontext: {input: {a: 1}}\n---\n");
    env.write("tasks/AOF-two.md", "---\ntitle: t\nrouting: {workflow: odd, role: x}\n---\n");
    env.commit_all("as it was");
    env.edit("tasks/AOF-two.md", "odd, role: x", "default");
    env.commit_all("edited");
    env.edit("tasks/AOF-one.md", "odd", "default");
    env.edit("tasks/AOF-one.md", "a: 1", "a: 2");
    let _ = env.aof(&["migrate", "tasks", "--add-gates"]).success();
    assert!(env.read("tasks/AOF-one.md").contains("current: implement"));
    assert!(env.read("tasks/AOF-two.md").contains("current: implement"));
    assert_eq!(
        env.git(&["log", "--format=%s", "-2", "--", "tasks/AOF-one.md"]),
        "AOF-one: adopted at implement\nAOF-one: edited by hand\n"
    );
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn what_an_earlier_build_took_up_with_the_file_is_no_fault() {
    let env = TestEnvironment::new();
    let kept = ["routing: {agent: agent-7}", "context: {plan: {a: 1}}", "blockers: [waiting for Bob]"];
    let before = format!("---\ntitle: t\n{}\n---\n", kept.join("\n"));
    env.write("tasks/AOF-old.md", &before);
    env.write("tasks/AOF-new.md", "---\ntitle: t\n---\n");
    env.commit_all("as it was");
    let _ = env.aof(&["migrate", "tasks", "--add-gates"]).code(6);
    // What the engine made of the one, with what it would have left of the other.
    let adopted = env.read("tasks/AOF-new.md").replace("AOF-new", "AOF-old");
    let adopted = adopted.replace("  role: backend\n", "  role: backend\n  agent: agent-7\n");
    let adopted = adopted.replacen("---\n", &format!("---\n{}\n{}\n", kept[1], kept[2]), 1);
    let said = env.git(&["log", "-1", "--format=%B"]).replace("AOF-new", "AOF-old");
    let when = env.git(&["log", "-1", "--format=%aI"]);
    let commit = |text: &str, more: &[&str]| {
        env.write("tasks/AOF-old.md", text);
        env.git(&[&["commit", "-q", "-a", "--date", when.trim(), "-m", said.trim()], more].concat());
        env.aof(&["verify", "--json"])
    };
    let verified = commit(&adopted, &[]).success().json();
    assert_eq!(verified["findings"], serde_json::json!([]));
    for (from, to) in
        [("agent: agent-7", "agent: agent-8"), ("a: 1", "a: 2"), ("for Bob", "for Ann"), (kept[1], "x: y")]
    {
        let verified = commit(&adopted.replace(from, to), &["--amend"]).code(1).json();
        let rules: Vec<&str> =
            verified["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap()).collect();
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
fn told(env: &TestEnvironment) -> Vec<String> {
    let status = env.aof(&["--json", "status"]).success().json();
    let points = status["attention"].as_array().unwrap().iter();
    let codes = points.map(|point| point["code"].as_str().unwrap().to_owned());
    codes.filter(|code| ["not_adopted", "task_staged"].contains(&code.as_str())).collect()
}

#[test]
fn what_is_staged_as_it_stands_is_taken_up() {
    let env = TestEnvironment::new();
    for (id, door) in [
        ("AOF-one", &["watch", "--once"][..]),
        ("AOF-two", &["task", "complete", "AOF-two", "--agent", "agent-7", "-o", "complete", "-s", "Did it"]),
        ("AOF-three", &["task", "cancel", "AOF-three", "--reason", "Not needed"]),
    ] {
        let path = env.hand_made(id, "Add login");
        env.write("staged.txt", id);
        env.git(&["add", &path, "staged.txt"]);
        assert_eq!(told(&env), ["not_adopted"], "{id}");
        if door[0] == "task" {
            let _ = env.aof(&[door, &["--dry-run"]].concat()).success();
        }
        let _ = env.aof(door).success();
        assert_eq!(told(&env), [""; 0], "{id}");
        assert_eq!(env.git(&["status", "--porcelain"]), "A  staged.txt\n", "{id}");
        env.git(&["reset", "--quiet", "staged.txt"]);
    }
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn what_is_staged_otherwise_than_it_stands_waits_and_is_named() {
    let env = TestEnvironment::new();
    let path = env.hand_made("AOF-hand", "Add login");
    env.git(&["add", &path]);
    let staged = env.git(&["rev-parse", &format!(":{path}")]);
    env.edit(&path, "Add login", "Add logout");
    assert_eq!(told(&env), ["task_staged"]);
    let refused = env.say("AOF-hand", "agent-7", "complete", &["--json"]).code(5).json();
    assert_eq!(refused["error"], "staged_elsewise");
    assert_eq!(env.git(&["rev-parse", &format!(":{path}")]), staged);
    // As it says.
    env.git(&["add", &path]);
    assert_eq!(told(&env), ["not_adopted"]);
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
    let refused = env.aof(&["task", "cancel", &id, "--reason", "Not needed", "--json"]).code(5).json();
    assert_eq!(refused["error"], "staged_elsewise");
    env.git(&["add", &beside[0]]);
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not needed"]).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(env.files("tasks").len(), 3);
    let _ = env.aof(&["verify"]).success();
}
