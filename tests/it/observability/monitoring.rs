//! Alerts, dashboard and runbook: they fit each other and what is told, and come into projects without touching what is there. Whether
//! Prometheus takes them is asked of Prometheus itself, by `.ci/monitoring`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;

fn shipped(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

fn dashboard() -> Value {
    serde_json::from_str(&shipped("monitoring/aof-dashboard.json")).unwrap()
}

fn panels() -> Vec<Value> {
    dashboard()["panels"].as_array().unwrap().clone()
}

fn alerts() -> Vec<Value> {
    let rules: Value = serde_saphyr::from_str(&shipped("monitoring/aof.rules.yml")).unwrap();
    let groups = rules["groups"].as_array().unwrap();
    groups.iter().flat_map(|group| group["rules"].as_array().unwrap().clone()).collect()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_else(|| panic!("{pointer} is missing in {value:#}"))
}

#[test]
fn each_panel_has_its_own_place_and_a_description() {
    let panels = panels();
    let ids: BTreeSet<u64> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len());
    let mut taken = BTreeSet::new();
    for panel in &panels {
        let title = text(panel, "/title");
        assert!(
            !title.is_empty()
                && !text(panel, "/description").is_empty()
                && !text(panel, "/type").is_empty()
        );
        assert!(!text(panel, "/fieldConfig/defaults/unit").is_empty());
        let side = |name: &str| panel["gridPos"][name].as_u64().unwrap();
        assert!(side("w") > 0 && side("h") > 0 && side("x") + side("w") <= 24, "{title}");
        for x in side("x")..side("x") + side("w") {
            for y in side("y")..side("y") + side("h") {
                assert!(taken.insert((x, y)), "{title} lies over another panel");
            }
        }
        let targets = panel["targets"].as_array().unwrap();
        let names: BTreeSet<&str> = targets.iter().map(|target| text(target, "/refId")).collect();
        assert!(!targets.is_empty() && names.len() == targets.len(), "{title}");
        for asked in targets.iter().chain([panel]) {
            assert_eq!(
                asked["datasource"],
                json!({"type": "prometheus", "uid": "${datasource}"}),
                "{title}"
            );
        }
        for query in targets.iter().map(|target| text(target, "/expr")) {
            assert!(
                !query.contains("rate(") || query.contains("[$__rate_interval]"),
                "{title}: {query}"
            );
            let of_project =
                query.contains("project=~\"$project\"") || query.contains("aof_build_info");
            assert!(of_project, "{title} shows projects that nobody chose: {query}");
        }
    }
    let dashboard = dashboard();
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<&str> = variables.iter().map(|variable| text(variable, "/name")).collect();
    assert_eq!(names, ["datasource", "project", "workflow", "window"]);
}

#[test]
fn the_panels_that_were_asked_for_have_the_thresholds_that_were_asked_for() {
    let panels = panels();
    let panel = |title: &str| {
        panels.iter().find(|panel| panel["title"] == title).unwrap_or_else(|| panic!("{title}"))
    };
    let steps = |title: &str| -> Vec<(String, Option<f64>)> {
        let steps =
            panel(title)["fieldConfig"]["defaults"]["thresholds"]["steps"].as_array().unwrap();
        steps.iter().map(|step| (text(step, "/color").to_owned(), step["value"].as_f64())).collect()
    };
    let colours = |yellow: f64, red: f64| {
        vec![
            ("green".to_owned(), None),
            ("yellow".to_owned(), Some(yellow)),
            ("red".to_owned(), Some(red)),
        ]
    };
    assert_eq!(panel("Gate throughput")["type"], "timeseries");
    assert_eq!(panel("Active tasks by gate")["type"], "gauge");
    assert_eq!(steps("Gate duration (heatmap)"), colours(3_600.0, 4.0 * 3_600.0));
    assert_eq!(steps("Rejection rate"), colours(0.3, 0.5));
    let legends: Vec<&str> = panel("Loop-back frequency")["targets"]
        .as_array()
        .unwrap()
        .iter()
        .map(|target| text(target, "/legendFormat"))
        .collect();
    assert_eq!(legends, ["1 pass", "2 passes", "3 passes", "4 or 5 passes", "over 5 passes"]);
    let quantiles = panel("Gate duration (heatmap)")["targets"].as_array().unwrap();
    for (target, quantile) in quantiles.iter().zip(["(0.5,", "(0.95,", "(0.99,"]) {
        assert!(text(target, "/expr").contains(quantile));
    }
    for more in ["Lead time", "Agents: nobody in the role", "Agents and rules: what goes wrong"] {
        let _ = panel(more);
    }
}

#[test]
fn each_alert_is_explained_and_was_seen_to_come_and_not_to_come() {
    let (runbook, manual) =
        (shipped("docs/guides/runbook.md"), shipped("docs/guides/monitoring.md"));
    let tests: Value = serde_saphyr::from_str(&shipped("monitoring/aof.rules.test.yml")).unwrap();
    let cases: Vec<&Value> = tests["tests"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|test| test["alert_rule_test"].as_array().unwrap())
        .collect();
    let alerts = alerts();
    for alert in &alerts {
        let name = text(alert, "/alert");
        assert!(
            !text(alert, "/annotations/summary").is_empty()
                && !text(alert, "/annotations/description").is_empty()
        );
        assert_eq!(
            text(alert, "/annotations/runbook_url"),
            format!("docs/guides/runbook.md#{}", name.to_lowercase())
        );
        assert!(
            ["info", "warning", "critical"].contains(&text(alert, "/labels/severity")),
            "{name}"
        );
        assert!(runbook.contains(&format!("\n## {name}\n")), "the runbook says nothing of {name}");
        assert!(
            manual.contains(&format!("[{name}](runbook.md#{})", name.to_lowercase())),
            "{name}"
        );
        let of = |fires: bool| {
            let own = cases.iter().filter(|case| case["alertname"] == name);
            own.filter(|case| case["exp_alerts"].as_array().unwrap().is_empty() != fires).count()
        };
        assert!(of(true) > 0 && of(false) > 0, "{name} is to be tested firing and not firing");
    }
    let headings = runbook.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(headings, alerts.len(), "the runbook explains what nobody is alerted to");
}

/// Returns the metrics that an expression asks for, by the names that the manual has.
fn metrics_of(expression: &str) -> BTreeSet<String> {
    let words = expression.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let names = words.filter(|word| word.starts_with("aof_"));
    names.map(|name| name.strip_suffix("_bucket").unwrap_or(name).to_owned()).collect()
}

#[test]
fn every_metric_that_is_asked_for_is_reported_and_every_one_that_is_reported_is_shown() {
    let manual = shipped("docs/reference/metrics.md");
    let row = |line: &str| Some(line.strip_prefix("| `aof_")?.split(['{', '`']).next()?.to_owned());
    let output: BTreeSet<String> =
        manual.lines().filter_map(row).map(|name| format!("aof_{name}")).collect();
    let panels = panels();
    let queries = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let shown: BTreeSet<String> =
        queries.flat_map(|target| metrics_of(text(target, "/expr"))).collect();
    assert_eq!(shown, output, "the dashboard and docs/reference/metrics.md");
    for alert in alerts() {
        let asked = metrics_of(text(&alert, "/expr"));
        assert!(!asked.is_empty() && asked.is_subset(&output), "{alert:#}");
    }
}

fn committed(env: &TestEnvironment) -> String {
    env.git(&["show", "--format=%s", "--name-only", "HEAD"])
}

#[test]
fn a_project_gets_them_in_a_commit_of_their_own_and_once() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.plain(&env.aof(&["init", "--observability", "--dry-run"]).success().stdout), @"
    would add alerts, a dashboard and a runbook
      monitoring/prometheus.yml      what Prometheus scrapes, to begin with  (new)
      monitoring/aof.rules.yml       the alerts  (new)
      monitoring/aof-dashboard.json  the dashboard, for Grafana  (new)
      monitoring/runbook.md          what each alert means, and what to do  (new)
    dry run: nothing was written
    ");
    assert!(!env.exists("monitoring"));
    assert_snapshot!(env.plain(&env.aof(&["init", "--observability"]).success().stdout), @"
    added alerts, a dashboard and a runbook, commit COMMIT
      monitoring/prometheus.yml      what Prometheus scrapes, to begin with  (new)
      monitoring/aof.rules.yml       the alerts  (new)
      monitoring/aof-dashboard.json  the dashboard, for Grafana  (new)
      monitoring/runbook.md          what each alert means, and what to do  (new)

    try next:
      aof watch --metrics 127.0.0.1:9464                  serve the metrics
      prometheus --config.file monitoring/prometheus.yml  scrape them, and evaluate the alerts
    ");
    assert_snapshot!(committed(&env), @"
    Add alerts, a dashboard and a runbook

    monitoring/aof-dashboard.json
    monitoring/aof.rules.yml
    monitoring/prometheus.yml
    monitoring/runbook.md
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let rules = env.read("monitoring/aof.rules.yml");
    assert!(
        rules.contains("runbook_url: monitoring/runbook.md#gatestalled")
            && !rules.contains("docs/runbook")
    );
    assert_eq!(env.read("monitoring/aof-dashboard.json"), shipped("monitoring/aof-dashboard.json"));
    let head = env.head();
    assert_snapshot!(env.plain(&env.aof(&["init", "--observability"]).success().stdout), @"
    alerts, dashboard and runbook: nothing to add
      monitoring/prometheus.yml      what Prometheus scrapes, to begin with  (as it was)
      monitoring/aof.rules.yml       the alerts  (as it was)
      monitoring/aof-dashboard.json  the dashboard, for Grafana  (as it was)
      monitoring/runbook.md          what each alert means, and what to do  (as it was)
    ");
    assert_eq!(env.head(), head);
}

#[test]
fn a_person_s_changes_to_monitoring_files_stay() {
    let env = TestEnvironment::new();
    env.write("monitoring/aof.rules.yml", "groups: []\n");
    env.write("monitoring/runbook.md", "Call Ada.\n");
    env.commit_all("our own alerts");
    fs::remove_file(env.path("monitoring/runbook.md")).unwrap();
    env.write("notes.txt", "not yours\n");
    env.git(&["add", "notes.txt"]);
    env.write(".gitignore", "*.json\n");
    let output = env.aof(&["init", "--observability", "--json"]).success().json();
    assert_eq!(output["observability"]["written"], json!(["monitoring/prometheus.yml"]));
    assert_eq!(output["observability"]["kept"], json!(["monitoring/aof.rules.yml"]));
    assert_eq!(output["observability"]["takenAway"], json!(["monitoring/runbook.md"]));
    assert_eq!(output["observability"]["ignored"], json!(["monitoring/aof-dashboard.json"]));
    assert_eq!(
        committed(&env),
        "Add alerts, a dashboard and a runbook\n\nmonitoring/prometheus.yml\n"
    );
    assert_eq!(env.read("monitoring/aof.rules.yml"), "groups: []\n");
    assert!(!env.exists("monitoring/runbook.md"), "who took it away did so on purpose");
    assert_eq!(
        env.git(&["status", "--porcelain"]),
        " D monitoring/runbook.md\nA  notes.txt\n?? .gitignore\n"
    );
}

#[test]
fn a_new_project_may_have_them_from_the_start() {
    let env = TestEnvironment::without_repository();
    let output = env.aof(&["init", "--observability", "--agents"]).success();
    assert!(output.stdout.contains("began `project`"), "{output}");
    assert!(output.stdout.contains("alerts, a dashboard and a runbook, commit"), "{output}");
    assert_eq!(env.git(&["log", "--format=%s", "-2"]).lines().count(), 2);
    assert_eq!(env.files("monitoring").len(), 4);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}
