//! What `aof status` tells people first: what waits for them, what is late, and what was escalated.

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;

const PROJECT: &str = "\
workflow:
  gates:
    - {id: work, role: dev, timeout: 2h, escalateTo: lead}
    - {id: review, role: lead, canReject: true, requireHuman: true}
";

/// Returns a project whose git user is an agent of org.yaml.
fn environment() -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    let email = env.git(&["config", "user.email"]);
    env.write("project.yaml", PROJECT);
    env.write(
        "org.yaml",
        format!(
            "roles:\n  dev: {{agents: [agent-7, human-ada]}}\n  lead: {{agents: [human-ada]}}\nagents:\n  agent-7: {{}}\n  human-ada: {{email: {}}}\n",
            email.trim()
        ),
    );
    env.commit_all("rules");
    env
}

fn titles(list: &Value) -> Vec<String> {
    let entries = list.as_array().unwrap().iter();
    entries.map(|entry| entry["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn status_begins_with_tasks_that_wait_for_its_user() {
    let env = environment();
    let judged = env.new_task(&["Judge me"]);
    let held = env.new_task(&["Held by me"]);
    let late = env.new_task(&["Late", "--due", "2026-02-15"]);
    let _ = env.complete(&judged, "agent-7").success();
    let _ = env.aof(&["assign", "--claim", &held, "human-ada"]).success();
    env.pass_minutes(10);
    let status = env.aof_aside(&["status", "--json"]).success().json();
    assert_eq!(status["you"], "human-ada");
    let waiting = &status["waitingForYou"];
    let mut found = titles(waiting);
    found.sort();
    assert_eq!(found, ["Held by me", "Judge me"], "{status}");
    for entry in waiting.as_array().unwrap() {
        let verb = if entry["title"] == "Judge me" { "approve" } else { "complete" };
        assert_eq!(entry["command"], json!(format!("aof {verb} AOF-xxxxx")));
    }
    assert_eq!(titles(&status["overdue"]), ["Late"]);
    assert_eq!(status["overdue"][0]["reason"], "due 2026-02-15");
    let page = env.aof_aside(&["status"]).success().stdout;
    let places = [
        "Waiting for you: ",
        "Judge me",
        "review  10m",
        "You have: 1",
        "Held by me",
        "Late: 1",
        "1d late",
    ];
    let places = places.map(|text| page.find(text));
    assert!(places.iter().all(Option::is_some), "{page}");
    assert!(page.find("Waiting for you: ") < page.find("Late: "), "{page}");
    // What was done waits no longer.
    let _ = env.say(&judged, "human-ada", "complete", &[]).success();
    let _ = env.aof(&["cancel", &late, "--reason", "too late"]).success();
    let status = env.aof_aside(&["status", "--json"]).success().json();
    assert_eq!(titles(&status["waitingForYou"]), ["Held by me"]);
    assert_eq!(titles(&status["overdue"]), Vec::<String>::new());
}

#[test]
fn an_escalation_names_its_recipient() {
    let env = environment();
    let _ = env.new_task(&["Slow"]);
    env.pass_minutes(150);
    let _ = env.aof(&["sweep"]).success();
    let status = env.aof_aside(&["status", "--json"]).success().json();
    assert_eq!(titles(&status["escalated"]), ["Slow"], "{status}");
    assert_eq!(status["escalated"][0]["reason"], "escalated to lead");
}

#[test]
fn an_unknown_person_is_named_so_and_long_sections_are_cut() {
    let env = TestEnvironment::new();
    let tasks: Vec<Value> =
        (0..13).map(|n| json!({"title": format!("Task {n}"), "due": "2026-02-01"})).collect();
    env.write("list.json", json!(tasks).to_string());
    let _ = env.aof(&["new", "--from", "list.json"]).success();
    let page = env.aof_aside(&["status"]).success().stdout;
    assert!(page.contains("what waits for you is unknown"), "{page}");
    assert_eq!(page.matches("2w late").count(), 10, "{page}");
    assert!(page.contains("... and 3 more"), "{page}");
    let status = env.aof_aside(&["status", "--json"]).success().json();
    assert_eq!((&status["you"], status["overdue"].as_array().unwrap().len()), (&Value::Null, 13));
}
