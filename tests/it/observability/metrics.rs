//! The project in numbers, as Prometheus reads them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::{TestEnvironment, eventually};

const RULES: &str = "\
project: {name: shop}
workflow:
  gates:
    - {id: plan, role: architect}
    - {id: design, role: architect, when: \"tags.includes('big')\"}
    - {id: implement, role: backend}
    - id: checks
      type: fork
      branches:
        - {id: security, role: expert, canReject: true}
        - {id: style, role: architect, canReject: true}
    - {id: release, role: nobody}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7]}
  architect: {agents: [agent-3]}
  expert: {agents: [agent-4]}
  nobody: {agents: []}
";

/// Returns what is not 0, classes of sizes left out.
fn nonzero_lines(text: &str) -> String {
    let wanted =
        |line: &&str| !line.starts_with('#') && !line.ends_with(" 0") && !line.contains("_bucket{");
    text.lines().filter(wanted).map(|line| format!("{line}\n")).collect()
}

/// Returns the names of all families.
fn names(text: &str) -> BTreeSet<String> {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
}

fn value(text: &str, series: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{text}")).parse().unwrap()
}

#[test]
fn events_are_counted_and_restarts_change_nothing() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.new_task(&["Waits"]);
    let _ = env.complete(&id, "agent-3");
    env.pass_minutes(30);
    let _ = env.complete(&id, "agent-7");
    let branch = |name: &str, visit: usize| format!("{id}@{visit}/{name}");
    let _ = env.say(&branch("security", 2), "agent-4", "complete", &[]).success();
    let _ = env
        .say(
            &branch("style", 2),
            "agent-3",
            "needs_review",
            &["--blocker", "No tests of the limits"],
        )
        .success();
    env.pass_minutes(5);
    let _ = env.complete(&id, "agent-3");
    let _ = env.complete(&id, "agent-7");
    let _ = env.say(&branch("security", 6), "agent-4", "complete", &[]).success();
    let _ = env.say(&branch("style", 6), "agent-3", "complete", &[]).success();
    let called_off = env.new_task(&["Called off"]);
    let _ = env.aof(&["task", "cancel", &called_off, "--reason", "Not needed"]).success();
    env.pass_minutes(60);
    let output = env.aof(&["metrics"]).success();
    assert_snapshot!(nonzero_lines(&output.stdout), @r#"
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="checks",outcome="complete"} 2
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="checks",outcome="complete"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="checks",outcome="needs_review"} 2
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="checks",outcome="needs_review"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="checks/security",outcome="complete"} 2
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="checks/security",outcome="complete"} 2
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="checks/style",outcome="complete"} 2
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="checks/style",outcome="complete"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="checks/style",outcome="needs_review"} 2
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="checks/style",outcome="needs_review"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="implement",outcome="complete"} 1802
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="implement",outcome="complete"} 2
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="plan",outcome="cancelled"} 1
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="plan",outcome="cancelled"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="plan",outcome="complete"} 303
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="plan",outcome="complete"} 2
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="checks",to_gate="plan",outcome="needs_review"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="checks",to_gate="release",outcome="complete"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="checks/security",to_gate="checks",outcome="complete"} 2
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="checks/style",to_gate="checks",outcome="complete"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="checks/style",to_gate="checks",outcome="needs_review"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="implement",to_gate="checks",outcome="complete"} 2
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="plan",to_gate="$cancelled",outcome="cancelled"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="plan",to_gate="implement",outcome="complete"} 2
    aof_gate_rejections_total{project="shop",workflow="default",gate="checks"} 1
    aof_gate_rejections_total{project="shop",workflow="default",gate="checks/style"} 1
    aof_gate_skips_total{project="shop",workflow="default",gate="design",reason="condition_false"} 2
    aof_gate_active_tasks{project="shop",workflow="default",gate="plan"} 1
    aof_gate_active_tasks{project="shop",workflow="default",gate="release"} 1
    aof_gate_blocked_no_agents{project="shop",workflow="default",gate="release",role="nobody"} 1
    aof_blocked_tasks{project="shop",workflow="default",reason="no_agents"} 1
    aof_build_info{version="0.1.0"} 1
    aof_gate_oldest_task_age_seconds{project="shop",workflow="default",gate="plan"} 5711
    aof_gate_oldest_task_age_seconds{project="shop",workflow="default",gate="release"} 3603
    "#);
    assert_eq!(output.stderr, "");
    fs::remove_dir_all(env.path(".aof")).unwrap();
    let again = nonzero_lines(&env.aof(&["metrics"]).success().stdout);
    let counts = |text: &str| {
        text.lines().filter(|line| !line.contains("_age_")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(counts(&again), counts(&nonzero_lines(&output.stdout)));
}

#[test]
fn blocked_tasks_are_counted_by_reason() {
    let rules = "\
project: {name: shop}
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true}
    - {id: release, role: nobody}
";
    let env = TestEnvironment::with_rules(rules, PEOPLE);
    let held = env.new_task(&["Held"]);
    let _ = env.aof(&["task", "hold", &held, "--reason", "Not before the fair"]).success();
    let reported = env.new_task(&["Reported"]);
    let _ = env
        .say(&reported, "agent-7", "blocked", &["--blocker", "The licence key is missing"])
        .success();
    let first = env.new_task(&["First"]);
    let _ = env.new_task(&["Second", "--depends", &first]);
    let _ = env.aof(&["task", "cancel", &first, "--reason", "Not needed"]).success();
    let _ = env.aof(&["sweep"]).success();
    let circle = env.new_task(&["Circle"]);
    for _ in 0..6 {
        let _ = env.complete(&circle, "agent-7");
        let _ = env
            .say(&circle, "agent-3", "needs_review", &["--blocker", "No tests of the limits"])
            .success();
    }
    let unstaffed = env.new_task(&["Unstaffed"]);
    let _ = env.complete(&unstaffed, "agent-7");
    let _ = env.complete(&unstaffed, "agent-3");
    let text = env.aof(&["metrics"]).success().stdout;
    for reason in ["held", "loop", "dependency", "no_agents", "reported"] {
        let series = format!(
            "aof_blocked_tasks{{project=\"shop\",workflow=\"default\",reason=\"{reason}\"}}"
        );
        assert!(
            (value(&text, &series) - 1.0).abs() < f64::EPSILON,
            "{reason} in {}",
            nonzero_lines(&text)
        );
    }
    let circles =
        "aof_gate_circular_loops_total{project=\"shop\",workflow=\"default\",gate=\"implement\"}";
    assert!((value(&text, circles) - 1.0).abs() < f64::EPSILON, "{}", nonzero_lines(&text));
}

#[test]
fn counters_without_a_file_come_from_the_stream_of_events() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-3");
    let _ = env.complete(&id, "agent-7");
    let _ = env.say(&format!("{id}@1"), "agent-8", "complete", &[]).code(5);
    env.write("project.yaml", "workflow: {gates: []}\n");
    env.commit_all("no gates");
    let counters = |env: &TestEnvironment| -> Vec<String> {
        let text = env.aof(&["metrics"]).success().stdout;
        let own = |line: &&str| ["conflicts", "invalid"].iter().any(|word| line.contains(word));
        nonzero_lines(&text).lines().filter(own).map(str::to_owned).collect()
    };
    assert_snapshot!(counters(&env).join("\n"), @r#"
    aof_gate_conflicts_total{project="shop",workflow="default",gate="implement"} 1
    aof_workflow_config_invalid_total{project="shop"} 1
    "#);
    // Of this clone alone are conflicts; all else is in the commits.
    fs::remove_dir_all(env.path(".aof")).unwrap();
    let before = counters(&env);
    assert_eq!(before.len(), 1, "{before:?}");
    assert!(!before.iter().any(|line| line.contains("conflicts")), "{before:?}");
}

#[test]
fn skips_and_timeouts_come_from_histories_not_from_commits_or_rules() {
    let rules = "\
project: {name: shop}
workflow:
  gates:
    - {id: plan, role: architect, timeout: 1h, escalateTo: expert}
    - {id: design, role: architect, when: \"tags.includes('big')\"}
    - {id: implement, role: backend, routes: {trivial: release, all: $next}}
    - {id: review, role: architect}
    - {id: release, role: backend}
";
    let env = TestEnvironment::with_rules(rules, PEOPLE);
    let id = env.new_task(&["Takes too long, and passes two gates over"]);
    env.pass_minutes(61);
    let _ = env.aof(&["sweep"]).success();
    let _ = env.complete(&id, "agent-4");
    let _ = env.say(&id, "agent-7", "trivial", &[]).success();
    let own = || -> String {
        let text = nonzero_lines(&env.aof(&["metrics"]).success().stdout);
        text.lines()
            .filter(|line| line.contains("_skips_") || line.contains("_timeouts_"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let counted = own();
    assert_snapshot!(counted, @r#"
    aof_gate_skips_total{project="shop",workflow="default",gate="design",reason="condition_false"} 1
    aof_gate_skips_total{project="shop",workflow="default",gate="review",reason="route"} 1
    aof_gate_timeouts_total{project="shop",workflow="default",gate="plan"} 1
    "#);
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!(own(), counted);
    // Somebody who has the files, and not the commits that made them.
    env.write("project.yaml", rules.replace(", when: \"tags.includes('big')\"", ""));
    env.git(&["checkout", "--quiet", "--orphan", "squashed"]);
    env.commit_all("all at once");
    fs::remove_dir_all(env.path(".aof")).unwrap();
    assert_eq!(own(), counted);
}

#[test]
fn a_task_that_is_taken_up_again_takes_nothing_away() {
    let rules = "\
project: {name: shop}
workflow: {gates: [{id: work, role: backend}, {id: review, role: architect, canReject: true}]}
";
    let env = TestEnvironment::with_rules(rules, PEOPLE);
    let id = env.new_task(&["Add login"]);
    env.pass_minutes(10);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    let ends = || -> String {
        let text = nonzero_lines(&env.aof(&["metrics"]).success().stdout);
        text.lines().filter(|line| line.contains("aof_task_")).collect::<Vec<_>>().join("\n")
    };
    let complete = ends();
    assert_snapshot!(complete, @r#"
    aof_task_lead_time_seconds_sum{project="shop",workflow="default"} 602
    aof_task_lead_time_seconds_count{project="shop",workflow="default"} 1
    aof_task_passes_sum{project="shop",workflow="default"} 1
    aof_task_passes_count{project="shop",workflow="default"} 1
    "#);
    let _ =
        env.aof(&["task", "reopen", &id, "--to", "work", "--reason", "There is more"]).success();
    assert_eq!(ends(), complete);
    env.pass_minutes(20);
    let _ = env.complete(&id, "agent-7");
    assert_eq!(ends(), complete);
    let _ = env.complete(&id, "agent-3");
    assert_snapshot!(ends(), @r#"
    aof_task_lead_time_seconds_sum{project="shop",workflow="default"} 2410
    aof_task_lead_time_seconds_count{project="shop",workflow="default"} 2
    aof_task_passes_sum{project="shop",workflow="default"} 3
    aof_task_passes_count{project="shop",workflow="default"} 2
    "#);
}

#[test]
fn rejections_are_the_same_in_every_count() {
    let rules = "\
project: {name: shop}
workflow:
  gates:
    - {id: work, role: backend}
    - {id: review, role: architect, canReject: true, onFailure: {to: work}}
    - {id: triage, role: expert, routes: {good: $next, bad: work}}
    - {id: release, role: backend}
";
    let env = TestEnvironment::with_rules(rules, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let back = |outcome: &str, more: &[&str]| {
        let _ = env.complete(&id, "agent-7");
        let _ = env.say(&id, "agent-3", outcome, more).success();
    };
    back("failed", &[]);
    back("needs_review", &["--blocker", "No tests of the limits"]);
    back("complete", &[]);
    let _ = env.say(&id, "agent-4", "bad", &[]).success();
    let text = env.aof(&["metrics"]).success().stdout;
    let status = env.aof(&["gate", "status", "--json"]).success().json();
    let stats = env.aof(&["stats", "--json"]).success().json();
    let of = |gates: &Value, gate: &str| -> Value {
        gates["gates"].as_array().unwrap().iter().find(|own| own["gate"] == gate).unwrap().clone()
    };
    // Who failed has not judged the work, though the task goes back.
    for (gate, share) in [("review", 0.5), ("triage", 1.0)] {
        let series = format!(
            "aof_gate_rejections_total{{project=\"shop\",workflow=\"default\",gate=\"{gate}\"}}"
        );
        assert!(
            (value(&text, &series) - 1.0).abs() < f64::EPSILON,
            "{gate} in {}",
            nonzero_lines(&text)
        );
        assert_eq!(of(&status, gate)["rejectionRate"], share, "{gate}");
        assert_eq!(of(&stats, gate)["rejections"]["count"], 1, "{gate}");
    }
}

#[test]
fn a_project_without_a_name_is_called_as_its_folder_everywhere() {
    let env = TestEnvironment::with_rules(&RULES.replace("project: {name: shop}\n", ""), PEOPLE);
    let _ = env.new_task(&["Add login"]);
    let stats = env.aof(&["stats", "--json"]).success().json();
    let name = stats["project"].as_str().unwrap();
    assert_eq!(env.path("").file_name().unwrap().to_str(), Some(name));
    let text = env.aof(&["metrics"]).success().stdout;
    assert!(value(&text, &format!("aof_inbox_pending{{project=\"{name}\"}}")).abs() < f64::EPSILON);
    let events = env.aof(&["events", "--json"]).success().stdout;
    let event: Value = serde_json::from_str(events.lines().next().unwrap()).unwrap();
    assert_eq!(event["project"], name);
}

#[test]
fn series_of_the_rules_exist_before_the_first_event() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let text = env.aof(&["metrics"]).success().stdout;
    for series in [
        "aof_gate_transitions_total{project=\"shop\",workflow=\"default\",from_gate=\"plan\",to_gate=\"design\",outcome=\"complete\"}",
        "aof_gate_transitions_total{project=\"shop\",workflow=\"default\",from_gate=\"checks\",to_gate=\"plan\",outcome=\"needs_review\"}",
        "aof_gate_rejections_total{project=\"shop\",workflow=\"default\",gate=\"checks/style\"}",
        "aof_gate_skips_total{project=\"shop\",workflow=\"default\",gate=\"design\",reason=\"condition_false\"}",
        "aof_gate_active_tasks{project=\"shop\",workflow=\"default\",gate=\"implement\"}",
        "aof_gate_blocked_no_agents{project=\"shop\",workflow=\"default\",gate=\"checks/security\",role=\"expert\"}",
        "aof_gate_oldest_task_age_seconds{project=\"shop\",workflow=\"default\",gate=\"plan\"}",
        "aof_gate_duration_seconds_bucket{project=\"shop\",workflow=\"default\",gate=\"plan\",outcome=\"complete\",le=\"+Inf\"}",
        "aof_gate_duration_seconds_bucket{project=\"shop\",workflow=\"default\",gate=\"plan\",outcome=\"complete\",le=\"2592000.0\"}",
        "aof_task_lead_time_seconds_count{project=\"shop\",workflow=\"default\"}",
        "aof_blocked_tasks{project=\"shop\",workflow=\"default\",reason=\"loop\"}",
        "aof_gate_conflicts_total{project=\"shop\",workflow=\"default\",gate=\"checks/style\"}",
        "aof_gate_timeouts_total{project=\"shop\",workflow=\"default\",gate=\"plan\"}",
        "aof_workflow_config_invalid_total{project=\"shop\"}",
        "aof_clock_skew_total{project=\"shop\"}",
        "aof_inbox_pending{project=\"shop\"}",
        "aof_unreadable_task_files{project=\"shop\"}",
    ] {
        assert!(value(&text, series).abs() < f64::EPSILON, "{series} is not 0");
    }
}

#[test]
fn no_label_names_a_task_and_none_can_break_its_line() {
    let rules = RULES.replace("name: shop", "name: \"a \\\"shop\\\"\\nof C:\\\\ \\u2028\"");
    let env = TestEnvironment::with_rules(&rules, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-3");
    let mut command = env.aof_command(&["metrics"]);
    let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let own = "aof_inbox_pending{project=\"a \\\"shop\\\"\\nof C:\\\\ \u{2028}\"}";
    assert!(value(&text, own).abs() < f64::EPSILON);
    assert!(!text.contains(&id), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, value) = line.rsplit_once(' ').unwrap();
        assert!(series.starts_with("aof_") && value.parse::<f64>().is_ok(), "{line}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_counted_and_named_and_hides_none_of_the_others() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let _ = env.new_task(&["Add login"]);
    env.write("tasks/AOF-bad.md", "---\ntitle: [\n---\n");
    let output = env.aof(&["metrics"]).code(6);
    let active = "aof_gate_active_tasks{project=\"shop\",workflow=\"default\",gate=\"plan\"}";
    assert!((value(&output.stdout, active) - 1.0).abs() < f64::EPSILON);
    let unreadable = "aof_unreadable_task_files{project=\"shop\"}";
    assert!((value(&output.stdout, unreadable) - 1.0).abs() < f64::EPSILON);
    assert!(output.stderr.contains("`tasks/AOF-bad.md:"), "{output}");
}

#[test]
fn a_task_with_a_broken_file_counts_as_last_committed() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-3");
    let counters = |text: &str| -> Vec<String> {
        let is_counter = |line: &&str| line.contains("_total{") || line.contains("_count{");
        text.lines().filter(is_counter).map(str::to_owned).collect()
    };
    let before = counters(&env.aof(&["metrics"]).success().stdout);
    env.write(&env.task_path(&id), env.task_text(&id).replace("status:", "status: ["));
    assert_eq!(counters(&env.aof(&["metrics"]).code(6).stdout), before);
}

#[test]
fn a_renamed_gate_keeps_its_counts_but_gets_no_more() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-3");
    env.write(
        "project.yaml",
        RULES.replace("id: plan", "id: outline").replace("id: implement", "id: build"),
    );
    env.commit_all("other names");
    let _ = env.aof(&["org", "reload"]).success();
    let text = env.aof(&["metrics"]).success().stdout;
    assert_snapshot!(nonzero_lines(&text), @r#"
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="implement",outcome="moved"} 3
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="implement",outcome="moved"} 1
    aof_gate_duration_seconds_sum{project="shop",workflow="default",gate="plan",outcome="complete"} 1
    aof_gate_duration_seconds_count{project="shop",workflow="default",gate="plan",outcome="complete"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="implement",to_gate="outline",outcome="moved"} 1
    aof_gate_transitions_total{project="shop",workflow="default",from_gate="plan",to_gate="implement",outcome="complete"} 1
    aof_gate_skips_total{project="shop",workflow="default",gate="design",reason="condition_false"} 1
    aof_gate_active_tasks{project="shop",workflow="default",gate="outline"} 1
    aof_build_info{version="0.1.0"} 1
    aof_gate_oldest_task_age_seconds{project="shop",workflow="default",gate="outline"} 1
    "#);
    for gone in ["plan", "implement"] {
        assert!(!text.contains(&format!(
            "aof_gate_active_tasks{{project=\"shop\",workflow=\"default\",gate=\"{gone}\"}}"
        )));
    }
}

#[test]
fn a_clock_that_ran_backwards_counts_as_no_time_and_is_reported() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    env.pass_minutes(10);
    let _ = env.complete(&id, "agent-3");
    let path = env.task_path(&id);
    let text = env.read(&path);
    let exited = text.lines().find(|line| line.contains("exited:")).unwrap();
    env.write(&path, text.replacen(exited, "    exited: 2026-02-16T09:00:00Z", 1));
    env.commit_all("from a machine whose clock was wrong");
    let text = env.aof(&["metrics"]).success().stdout;
    assert!((value(&text, "aof_clock_skew_total{project=\"shop\"}") - 1.0).abs() < f64::EPSILON);
    let labels = "{project=\"shop\",workflow=\"default\",gate=\"plan\",outcome=\"complete\"}";
    assert!(
        (value(&text, &format!("aof_gate_duration_seconds_count{labels}")) - 1.0).abs()
            < f64::EPSILON
    );
    assert!(value(&text, &format!("aof_gate_duration_seconds_sum{labels}")).abs() < f64::EPSILON);
}

#[test]
fn a_file_is_replaced_at_once_and_keeps_its_readers() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let mode = |name: &str| fs::metadata(env.path(name)).unwrap().permissions().mode() & 0o777;
    let _ = env.aof(&["metrics", "--output", "aof.prom"]).success();
    assert_eq!(mode("aof.prom") & 0o600, 0o600);
    assert!(env.read("aof.prom").contains("aof_build_info{version="));
    let printed = env.aof(&["metrics", "--output", "-"]).success().stdout;
    assert!(printed.contains("aof_build_info{version=") && !env.exists("-"), "{printed}");
    fs::set_permissions(env.path("aof.prom"), fs::Permissions::from_mode(0o640)).unwrap();
    env.write("aof.prom", "old");
    std::os::unix::fs::symlink("aof.prom", env.path("link.prom")).unwrap();
    assert_snapshot!(env.aof(&["metrics", "--output", "link.prom"]), @"exit 0");
    assert!(env.read("aof.prom").starts_with("# HELP") && env.path("link.prom").is_symlink());
    assert_eq!(mode("aof.prom"), 0o640);
    assert_snapshot!(env.aof(&["metrics", "--output", "tasks/none/aof.prom"]), @"
    exit 1
    --- stderr
    error: cannot write into `./tasks/none/aof.prom`: there is no such folder
    ");
    fs::create_dir(env.path("folder")).unwrap();
    assert_snapshot!(env.aof(&["metrics", "--output", "folder"]), @"
    exit 1
    --- stderr
    error: cannot write into `./folder`: it is no file
    ");
    assert_eq!(env.files("").iter().filter(|name| name.contains(".aof-metrics-")).count(), 0);
}

#[test]
fn counters_never_go_back_while_tasks_are_written_and_archived() {
    let env =
        TestEnvironment::with_rules("workflow: {gates: [{id: work, role: backend}]}\n", PEOPLE);
    let list = format!("[{}]", vec![r#"{"title": "Task"}"#; 150].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    for file in env.files("tasks") {
        let id = file.trim_start_matches("tasks/").trim_end_matches(".md");
        let content = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
        env.write(&format!(".aof/inbox/{id}.yaml"), content);
    }
    let mut watcher = env.start(&["watch"]);
    let ended = |text: &str, metric: &str| -> f64 {
        let own = text.lines().filter(|line| line.starts_with(metric));
        own.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    };
    let mut last = 0.0;
    eventually("all are complete", || {
        let output = env.aof(&["metrics"]).success();
        assert_eq!(output.stderr, "");
        let (done, active) = (
            ended(&output.stdout, "aof_gate_transitions_total"),
            ended(&output.stdout, "aof_gate_active_"),
        );
        assert!(done >= last, "from {last} to {done}");
        assert!((done + active - 150.0).abs() < f64::EPSILON, "{done} and {active}");
        last = done;
        done > 149.0
    });
    watcher.kill().unwrap();
    watcher.wait().unwrap();
}

#[test]
fn open_metrics_and_json_say_the_same() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-3");
    let text = env.aof(&["metrics"]).success().stdout;
    let open = env.aof(&["metrics", "--format", "openmetrics"]).success().stdout;
    let samples = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| !line.starts_with('#') && !line.contains("_age_"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(samples(&text), samples(&open));
    assert!(open.ends_with("\n# EOF\n"));
    assert!(
        open.contains("# TYPE aof_gate_transitions counter\n")
            && open.contains("# UNIT aof_gate_duration_seconds seconds\n")
    );
    let json = env.aof(&["metrics", "--json"]).success().json();
    let known: BTreeSet<String> = json["metrics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|family| family["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(known, names(&text));
}

#[test]
fn every_metric_is_in_the_manual_and_the_other_way_round() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let text = Served::start(&env).scrape();
    let manual = include_str!("../../../docs/reference/metrics.md");
    let documented: BTreeSet<String> = manual
        .lines()
        .filter_map(|line| line.strip_prefix("| `aof_"))
        .map(|line| format!("aof_{}", line.split(['`', '{']).next().unwrap()))
        .collect();
    assert_eq!(documented, names(&text));
}

/// A watcher that serves its metrics, and is ended when the test is.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(env: &TestEnvironment) -> Self {
        let mut command = env.aof_command(&["--json", "watch", "--metrics", "127.0.0.1:0"]);
        // Files have the times of the real clock, so the watcher has it too.
        command.env_remove("AOF_NOW").stdout(Stdio::piped()).stdin(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let serving: Value = lines
            .by_ref()
            .map(|line| serde_json::from_str(&line).unwrap())
            .find(|line: &Value| line["event"] == "serving")
            .unwrap();
        std::thread::spawn(move || lines.for_each(drop));
        assert_eq!(serving["exposed"], false);
        let url = serving["url"].as_str().unwrap();
        let address =
            url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap().to_owned();
        Self { child, address }
    }

    fn scrape(&self) -> String {
        let (head, text) = self.ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains(&format!("content-length: {}\r\n", text.len())), "{head}");
        text
    }

    /// Asks, and returns head and text of the answer.
    fn ask(&self, request: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // A server that refuses may answer before it has read everything.
        let _ = stream.write_all(format!("{request}Connection: close\r\n\r\n").as_bytes());
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let answer = String::from_utf8(bytes).unwrap();
        let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        (head.to_owned(), text.to_owned())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn drop_completion(env: &TestEnvironment, id: &str, agent: &str) {
    env.write(
        ".aof/dropping",
        format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: Done\n"),
    );
    fs::create_dir_all(env.path(".aof/inbox")).unwrap();
    fs::rename(env.path(".aof/dropping"), env.path(&format!(".aof/inbox/{id}-{agent}.yaml")))
        .unwrap();
}

const DONE: &str = "aof_gate_transitions_total{project=\"shop\",workflow=\"default\",from_gate=\"plan\",to_gate=\"implement\",outcome=\"complete\"}";

#[test]
fn a_watcher_serves_counts_and_the_next_one_continues_them() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let (one, two) = (env.new_task(&["One"]), env.new_task(&["Two"]));
    let served = Served::start(&env);
    assert!(value(&served.scrape(), DONE).abs() < f64::EPSILON);
    drop_completion(&env, &one, "agent-3");
    eventually("the completion is counted", || value(&served.scrape(), DONE) > 0.5);
    let text = served.scrape();
    assert!(value(&text, "aof_commit_duration_seconds_count{project=\"shop\"}") > 0.5);
    assert!(value(&text, "aof_watcher_last_scan_timestamp_seconds{project=\"shop\"}") > 1.7e9);
    // The other families are those of `aof metrics`, and what a command does without the watcher counts alike.
    let printed = names(&env.aof(&["metrics"]).success().stdout);
    let own = ["aof_commit_duration_seconds", "aof_watcher_last_scan_timestamp_seconds"]
        .map(str::to_owned);
    assert_eq!(names(&text), printed.into_iter().chain(own).collect());
    let _ = env.complete(&two, "agent-3");
    eventually("so is the command", || value(&served.scrape(), DONE) > 1.5);
    drop(served);
    let again = Served::start(&env);
    assert!((value(&again.scrape(), DONE) - 2.0).abs() < f64::EPSILON);
}

#[test]
fn one_page_is_served_in_the_format_that_is_wanted_and_under_names_of_this_machine() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let served = Served::start(&env);
    let text = served.ask("GET /metrics HTTP/1.1\r\nHost: localhost:9464\r\n").0;
    assert!(text.contains("content-type: text/plain; version=0.0.4; charset=utf-8"), "{text}");
    let open = "Accept: application/openmetrics-text\r\n";
    let (head, text) = served.ask(&format!("GET /metrics?a HTTP/1.1\r\nHost: localhost\r\n{open}"));
    assert!(head.contains("content-type: application/openmetrics-text; version=1.0.0"), "{head}");
    assert!(text.ends_with("# EOF\n"), "{text}");
    let head = served.ask("HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n");
    assert!(head.0.starts_with("HTTP/1.1 200 OK") && head.1.is_empty(), "{head:?}");
    let long = format!("GET /metrics HTTP/1.1\r\nX: {}\r\n", "x".repeat(1_000_000));
    for (request, status) in [
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n", "200"),
        ("GET / HTTP/1.1\r\nHost: localhost\r\n", "404"),
        ("GET /metrics/ HTTP/1.1\r\nHost: localhost\r\n", "404"),
        ("POST /metrics HTTP/1.1\r\nHost: localhost\r\n", "405"),
        ("hello\r\n", "400"),
        (&long, "431"),
    ] {
        let (head, _) = served.ask(request);
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {head}");
    }
    let asked = |host: &str| served.ask(&format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n")).0;
    for host in ["localhost", "LOCALHOST:9464", "127.0.0.1:9464", "[::1]:9464", "10.0.0.7"] {
        assert!(asked(host).starts_with("HTTP/1.1 200 "), "{host}");
    }
    for host in ["rebound.example", "rebound.example:9464", "localhost.evil.example", ""] {
        assert!(asked(host).starts_with("HTTP/1.1 421 "), "{host}");
    }
}

#[test]
fn clients_that_never_ask_hold_up_neither_completions_nor_the_others() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let id = env.new_task(&["One"]);
    let served = Served::start(&env);
    let silent: Vec<TcpStream> =
        (0..12).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    (&silent[0]).write_all(b"GET /metrics HTTP/1.1\r\nX: ").unwrap();
    drop_completion(&env, &id, "agent-3");
    eventually("the completion counts and is counted", || value(&served.scrape(), DONE) > 0.5);
    drop(silent);
}

#[test]
fn an_invalid_address_is_refused_before_the_watch_begins() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = env.aof(&["watch", "--metrics", &address]).code(1);
    assert_snapshot!(output.stderr.replace(&address, "ADDRESS"), @"
    error: cannot listen at `ADDRESS`: address in use

    hint: another program listens there: choose another port, or stop that one; `aof serve --link` prints a link to a server that runs
    ");
    assert_snapshot!(env.aof(&["watch", "--metrics", "9464"]), @"
    exit 2
    --- stderr
    error: invalid value '9464' for '--metrics <ADDRESS>': write it as `HOST:PORT`: `127.0.0.1:9464`, `[::1]:9464`

    For more information, try '--help'.
    ");
    assert_snapshot!(env.aof(&["watch", "--once", "--metrics", "127.0.0.1:9464"]), @"
    exit 2
    --- stderr
    error: the argument '--once' cannot be used with '--metrics <ADDRESS>'

    Usage: aof watch --once

    For more information, try '--help'.
    ");
}

#[test]
fn an_address_that_others_reach_is_warned_of() {
    let env = TestEnvironment::with_rules(RULES, PEOPLE);
    let mut command = env.aof_command(&["watch", "--metrics", "0.0.0.0:0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let warning = lines.find(|line| line.contains("warning:")).unwrap();
    assert!(
        warning.contains(
            "everybody who reaches this machine can read them; with `--metrics 127.0.0.1:"
        ),
        "{warning}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
}
