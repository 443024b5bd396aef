//! A visit that returns to its agent continues the agent's session, if the program can.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{at_home, endings, prompt, records, said_at_home, shown};

const RULES: &str = "\
workflow:
  gates:
    - {id: work, role: worker}
    - {id: review, role: reviewer, canReject: true}
";

/// Stands in for both programs: keeps the prompts of a session in `~/sessions/ID`, and knows no others. `~/says` has what is said next.
const PROGRAM: &str = r#"
echo "$AOF_TASK $*" >> "$HOME/calls"
id=$(echo "$*" | sed -n 's/.*resume \([^ ]*\).*/\1/p')
if [ -n "$id" ] && [ ! -e "$HOME/sessions/$id" ]; then
    echo "No conversation found with session ID: $id" >&2
    exit 1
fi
mkdir -p "$HOME/sessions"
id=${id:-s-$(ls "$HOME/sessions" | wc -l)}
cat >> "$HOME/sessions/$id"
if [ -e "$HOME/own" ]; then
    aof complete "$AOF_TASK" --agent "$AOF_AGENT" --summary "Did it" > /dev/null
elif [ "$AOF_GATE" = review ] && [ "$(grep -c ' review ' "$HOME/gates")" -lt "$(cat "$HOME/rejections")" ]; then
    echo '{"outcome": "needs_review", "summary": "No", "blockers": ["No test"]}' > "$AOF_OUTPUT"
else
    echo '{"outcome": "complete", "summary": "Did it"}' > "$AOF_OUTPUT"
fi
echo "$AOF_TASK $AOF_GATE " >> "$HOME/gates"
"#;

/// Claude Code counts the cost of the whole session.
const CLAUDE: &str = r#"turns=$(grep -c '^# AOF-' "$HOME/sessions/$id")
echo "{\"type\": \"result\", \"subtype\": \"success\", \"is_error\": false, \"result\": \"done\", \"session_id\": \"$id\", \"total_cost_usd\": $((turns / 2)).$((turns % 2 * 5)), \"usage\": {\"input_tokens\": 1000, \"output_tokens\": 50}}"
"#;

/// Codex counts the tokens of the whole session.
const CODEX: &str = r#"turns=$(grep -c '^# AOF-' "$HOME/sessions/$id")
echo "{\"type\": \"thread.started\", \"thread_id\": \"$id\"}"
echo "{\"type\": \"turn.completed\", \"usage\": {\"input_tokens\": $((1000 * turns)), \"output_tokens\": $((50 * turns))}}"
"#;

/// Returns a project whose agents have this `run`; the reviewer rejects so many times.
fn project(run: &str, rejections: usize) -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", RULES);
    env.write(
        "org.yaml",
        format!(
            "roles: {{worker: {{agents: [coder]}}, reviewer: {{agents: [critic]}}}}\nagents:\n  coder: {{run: {{{run}}}}}\n  critic: {{run: {{{run}}}}}\n"
        ),
    );
    env.commit_all("rules");
    fs::create_dir_all(at_home(&env, "bin")).unwrap();
    for (name, printed) in [("claude", CLAUDE), ("codex", CODEX)] {
        let path = at_home(&env, &format!("bin/{name}"));
        fs::write(&path, format!("#!/bin/sh{PROGRAM}{printed}")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    fs::write(at_home(&env, "rejections"), format!("{rejections}\n")).unwrap();
    fs::write(at_home(&env, "gates"), "").unwrap();
    env
}

/// Returns what the entry of a visit says of its session.
fn session(env: &TestEnvironment, id: &str, visit: usize) -> Value {
    shown(env, id)["gateHistory"][visit]["metadata"]["run"]["session"].clone()
}

fn reported(env: &TestEnvironment, visit: &str) -> Value {
    let all = records(env, visit);
    all.last().unwrap()["end"]["told"].clone()
}

#[test]
fn a_returning_visit_continues_the_session_with_the_news() {
    for (preset, words) in [("claude", "--resume "), ("codex", " resume ")] {
        let env = project(&format!("preset: {preset}"), 2);
        let id = env.new_task(&["Add login", "--body", "With a form."]);
        let _ = env.aof(&["run", "--task", &id]).success();
        let coder = reported(&env, &format!("{id}@0"))["session"].as_str().unwrap().to_owned();
        let critic = reported(&env, &format!("{id}@1"))["session"].as_str().unwrap().to_owned();
        assert_ne!(coder, critic, "{preset}");
        let sessions: Vec<Value> = (0..6).map(|visit| session(&env, &id, visit)).collect();
        let (new, of) = (json!({"how": "new"}), |id: &str| json!({"how": "resumed", "id": id}));
        let wanted = [new.clone(), new, of(&coder), of(&critic), of(&coder), of(&critic)];
        assert_eq!(sessions, wanted, "{preset}");
        let calls = said_at_home(&env, "calls");
        assert_eq!(calls.matches(words).count(), 4, "{preset}: {calls}");

        // The session has the first prompt, and the next one holds what happened since.
        let kept = said_at_home(&env, &format!("sessions/{coder}"));
        assert_eq!(kept.matches("# AOF-").count(), 3, "{preset}: {kept}");
        assert_eq!(kept.matches("With a form.").count(), 1, "{preset}: {kept}");
        let second = prompt(&env, &format!("{id}@2"), 1);
        for told in ["ticket `AOF-xxxxx@2`", "## Sent back by critic", "- No test", "@2/1/output`"]
        {
            assert!(second.contains(told), "{preset}, {told}: {second}");
        }
        for known in ["With a form.", "## Tips", "## Another attempt"] {
            assert!(!second.contains(known), "{preset}, {known}: {second}");
        }
        for visit in 0..6 {
            let told = reported(&env, &format!("{id}@{visit}"));
            let cost = if preset == "claude" { json!(0.5) } else { Value::Null };
            let tokens = json!({"input": 1000, "output": 50});
            assert_eq!((&told["costUsd"], &told["tokens"]), (&cost, &tokens), "{preset} {visit}");
        }
        check(&env);
    }
}

#[test]
fn a_session_that_is_gone_is_no_failed_attempt() {
    let env = project("preset: claude, attempts: 1", 2);
    let id = env.new_task(&["Add login", "--body", "With a form."]);
    let once = || env.aof(&["run", "--task", &id, "--once"]).success();
    let _ = (once(), once());
    fs::remove_dir_all(at_home(&env, "sessions")).unwrap();
    let output = once();
    assert!(
        output.stderr.contains("its earlier session is gone, and a new one begins"),
        "{output}"
    );
    let ends = endings(&env, &format!("{id}@2"));
    assert!(
        ends.starts_with("no_session: `claude` reports an error: No conversation found"),
        "{ends}"
    );
    assert!(ends.ends_with("verdict complete by file\n"), "{ends}");
    let said = session(&env, &id, 2);
    assert_eq!(said["how"], "lost");
    assert!(said["why"].as_str().unwrap().contains("No conversation found"), "{said}");
    let whole = prompt(&env, &format!("{id}@2"), 2);
    assert!(whole.contains("With a form.") && whole.contains("- No test"), "{whole}");
    assert!(!whole.contains("## Another attempt"), "{whole}");

    // Another clone has no runs of the visit.
    fs::remove_dir_all(env.path(".aof/runs")).unwrap();
    let _ = once();
    let why = "no run of AOF-xxxxx@1 is kept in this clone";
    assert_eq!(session(&env, &id, 3), json!({"how": "lost", "why": why}));
    check(&env);
}

#[test]
fn a_session_begins_anew_where_people_say_so_and_for_other_agents() {
    let env = project("preset: claude, resume: false", 1);
    let id = env.new_task(&["Add login", "--body", "With a form."]);
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(session(&env, &id, 2), Value::Null);
    assert!(!said_at_home(&env, "calls").contains("--resume"));
    assert!(prompt(&env, &format!("{id}@2"), 1).contains("With a form."));

    let env = project("preset: claude", 1);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["complete", &id, "--agent", "coder", "--summary", "By hand"]).success();
    env.edit("org.yaml", "worker: {agents: [coder]}", "worker: {agents: [critic]}");
    env.commit_all("roles");
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(session(&env, &id, 2), json!({"how": "new"}));
}

#[test]
fn an_agent_that_completes_itself_is_said_to_have_continued() {
    let env = project("preset: claude", 1);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    let coder = reported(&env, &format!("{id}@0"))["session"].clone();
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    fs::write(at_home(&env, "own"), "").unwrap();
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    let run = shown(&env, &id)["gateHistory"][2]["metadata"]["run"].clone();
    assert_eq!(
        (&run["verdict"], &run["session"]),
        (&json!("own"), &json!({"how": "resumed", "id": coder}))
    );
    check(&env);
}

#[test]
fn a_name_that_would_be_an_option_is_no_session() {
    let env = project("preset: claude", 1);
    let path = at_home(&env, "bin/claude");
    let script = fs::read_to_string(&path).unwrap();
    let hostile = script
        .replace("\\\"session_id\\\": \\\"$id\\\"", "\\\"session_id\\\": \\\"--dangerous\\\"");
    assert_ne!(script, hostile);
    fs::write(&path, hostile).unwrap();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id]).success();
    assert_eq!(session(&env, &id, 2)["how"], "lost");
    assert!(!said_at_home(&env, "calls").contains("dangerous"));
}

#[test]
fn a_task_that_returns_goes_to_the_agent_that_had_it() {
    let env = project("preset: claude", 1);
    env.edit("org.yaml", "worker: {agents: [coder]}", "worker: {agents: [other, coder]}");
    env.edit("org.yaml", "agents:\n", "agents:\n  other: {run: {preset: claude}}\n");
    env.commit_all("another");
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--agent", "coder"]).success();
    let _ = env.aof(&["run", "--task", &id]).success();
    let visits = shown(&env, &id)["gateHistory"].clone();
    assert_eq!((&visits[0]["agent"], &visits[2]["agent"]), (&json!("coder"), &json!("coder")));
    assert_eq!(session(&env, &id, 2)["how"], "resumed");
}
