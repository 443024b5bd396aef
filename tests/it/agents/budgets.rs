//! Budgets: a task stops at the end of its own, and a runner pauses at the end of the day's.

use std::fs;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{
    DONE, at_home, endings, history, project_of, said_at_home, shown, stand,
};

/// Reports a cost and tokens as Claude Code does, and says what `~/says` has, or that all went well.
fn priced(cost: &str) -> String {
    format!(
        "cat > /dev/null\necho x >> \"$HOME/starts\"\n\
         if [ -e \"$HOME/says\" ]; then cat \"$HOME/says\" > \"$AOF_OUTPUT\"; else\n{DONE}fi\n\
         echo '{{\"type\": \"result\", \"subtype\": \"success\", \"is_error\": false, \"result\": \"done\", \"total_cost_usd\": {cost}, \"usage\": {{\"input_tokens\": 900, \"output_tokens\": 100}}}}'\n"
    )
}

const REJECTS: &str = "cat > /dev/null\necho '{\"outcome\": \"needs_review\", \"summary\": \"No\", \"blockers\": [\"No test\"]}' > \"$AOF_OUTPUT\"\n";

/// Returns a project with this budget, whose reviewer, a plain program, always rejects.
fn project(budget: &str, cost: &str) -> TestEnvironment {
    let rules = format!(
        "{budget}workflow:\n  gates:\n    - {{id: work, role: worker}}\n    - {{id: review, role: reviewer, canReject: true, run: {{exit: {{complete: 0}}}}}}\n"
    );
    project_of(
        &rules,
        &[("coder", "worker", "reads: claude", &priced(cost)), ("critic", "reviewer", "", REJECTS)],
    )
}

fn starts(env: &TestEnvironment) -> usize {
    said_at_home(env, "starts").lines().count()
}

#[test]
fn a_task_stops_at_the_end_of_its_budget_and_goes_on_once_a_person_lets_it() {
    let env = project("budget: {task: {cost: 1, time: 4h}}\n", "0.40");
    let id = env.new_task(&["Add login"]);
    let output = env.aof(&["run", "--task", &id]).code(7);
    assert!(
        output
            .stderr
            .contains("is blocked: the task's budget is used up: spent $1.20 of $1 ($0 left), "),
        "{output}"
    );
    assert_eq!((starts(&env), stand(&env, &id).as_str()), (3, "blocked review -"));
    let visits = history(&env, &id);
    assert!(
        visits.ends_with("left)\n")
            && visits.contains("review critic blocked [budget] the task's budget"),
        "{visits}"
    );
    let why = env.aof(&["why", &id]).success().stdout;
    assert!(why.contains("of its budget are spent $1.20 of $1 ($0 left), "), "{why}");
    let why = env.aof(&["why", &id, "--json"]).success().json();
    assert_eq!(
        (&why["budget"]["spent"]["costUsd"], &why["budget"]["limit"]["seconds"]),
        (&json!(1.2), &json!(14_400))
    );
    let status = env.aof(&["status"]).success().stdout;
    assert!(status.contains("the task's budget is used up"), "{status}");
    // Nobody starts anything before a person lets it go on; then the budget counts anew.
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(starts(&env), 3);
    let _ = env.aof(&["unblock", &id, "--reason", "Worth it"]).success();
    let why = env.aof(&["why", &id]).success().stdout;
    assert!(why.contains("are spent $0 of $1 ($1 left), "), "{why}");
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    assert_eq!(starts(&env), 4);
    check(&env);
}

#[test]
fn entries_of_other_clones_count_and_nothing_counts_twice() {
    let env = project("budget: {task: {cost: 1}}\n", "0.40");
    let id = env.new_task(&["Add login"]);
    for _ in 0..3 {
        let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    }
    let spent = || {
        let why = env.aof(&["why", &id, "--json"]).success().json();
        why["budget"]["spent"]["costUsd"].clone()
    };
    assert_eq!(spent(), json!(0.8));
    fs::remove_dir_all(env.path(".aof/runs")).unwrap();
    assert_eq!(spent(), json!(0.8));
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    assert_eq!(spent(), json!(1.2));
    let _ = env.aof(&["run", "--task", &id]).code(7);
    assert_eq!(starts(&env), 3);
}

#[test]
fn what_an_agent_that_completes_itself_spent_counts_where_it_ran_and_so_do_failures() {
    let own = "cat > /dev/null\necho x >> \"$HOME/starts\"\n\
        [ -e \"$HOME/fails\" ] || \"$1\" complete \"$AOF_TASK\" --agent coder --summary \"Did it\" > /dev/null\n\
        echo '{\"type\": \"result\", \"subtype\": \"success\", \"is_error\": false, \"result\": \"done\", \"total_cost_usd\": 0.6, \"usage\": {\"input_tokens\": 900, \"output_tokens\": 100}}'\n";
    let rules = "budget: {task: {tokens: 2k}}\nworkflow: {gates: [{id: plan, role: worker}, {id: work, role: worker}, {id: publish, role: worker}]}\n";
    let env = project_of(rules, &[("coder", "worker", "reads: claude, attempts: 3", own)]);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    fs::write(at_home(&env, "fails"), "").unwrap();
    let output = env.aof(&["run", "--task", &id]).code(7);
    assert!(output.stderr.contains("spent 2k of 2k tokens (0 left)"), "{output}");
    assert_eq!((starts(&env), stand(&env, &id).as_str()), (2, "blocked work -"));
    assert_eq!(shown(&env, &id)["gateHistory"][0]["metadata"]["run"]["verdict"], "own");
}

#[test]
fn a_workflow_has_a_budget_of_its_own() {
    let env = project("budget: {task: {cost: 100, tokens: 2k}}\n", "0.40");
    env.edit("project.yaml", "workflow:\n", "workflow:\n  budget: {cost: 0.30}\n");
    env.commit_all("budget");
    let id = env.new_task(&["Add login"]);
    let output = env.aof(&["run", "--task", &id]).code(7);
    assert!(
        output.stderr.contains("spent $0.40 of $0.30 ($0 left), 1k of 2k tokens (1k left)"),
        "{output}"
    );
    assert_eq!(starts(&env), 1);
    // A higher one in force lets it go on, too.
    env.edit("project.yaml", "cost: 0.30", "cost: 30");
    env.commit_all("more");
    let _ = env.aof(&["unblock", &id, "--reason", "There is more"]).success();
    let _ = env.aof(&["run", "--task", &id, "--once"]).success();
    check(&env);
}

#[test]
fn the_budget_of_a_day_pauses_all_programs_until_midnight_of_the_project() {
    let env = project("project: {timezone: Europe/Berlin}\nbudget: {day: {cost: 1}}\n", "0.60");
    let ids = [env.new_task(&["One"]), env.new_task(&["Two"]), env.new_task(&["Three"])];
    let agents = ["run", "--agent", "coder", "--agent", "critic", "--once"];
    let _ = (env.aof(&agents).success(), env.aof(&agents).success());
    assert_snapshot!(env.aof(&agents).code(7).to_string(), @"
    exit 7
    --- stdout
    the budget of the day is used up, paused until 23:00 UTC, 0 visits so far
    --- stderr
    note: the budget of the day is used up, paused until 23:00 UTC: spent $1.20 of $1 ($0 left); a higher `budget.day` in project.yaml ends that
    ");
    let last = env.aof(&[&agents[..], &["--json", "--now"]].concat()).code(7).stdout;
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(last["paused"], json!([{"program": null, "until": "2026-02-16T23:00:00Z"}]));
    let one = env.aof(&["run", "--task", &ids[2], "--once"]).code(7);
    assert!(one.stdout.contains("the budget of the day is used up"), "{one}");
    assert_eq!(starts(&env), 2);
    let status = env.aof(&["status"]).success().stdout;
    assert!(
        status.contains(
            "today's budget: spent $1.20 of $1 ($0 left); `aof run` waits until midnight"
        ),
        "{status}"
    );
    let status = env.aof(&["status", "--json"]).success().json();
    assert_eq!(status["budget"]["until"], "2026-02-16T23:00:00Z");
    let stats = env.aof(&["stats"]).success().stdout;
    assert!(
        stats.contains("Spent       $1.20, 2k tokens, ") && stats.contains("spent $1.20 of $1"),
        "{stats}"
    );
    let value = env.aof(&["stats", "--json"]).success().json();
    assert_eq!(
        (&value["spent"]["tokens"], &value["budget"]["limit"]["costUsd"]),
        (&json!(2000), &json!(1.0))
    );
    // At 23:59 in Berlin it is still the same day.
    env.pass_minutes(12 * 60 + 58);
    let _ = env.aof(&agents).code(7);
    env.pass_minutes(2);
    let _ = env.aof(&agents).success();
    assert_eq!(starts(&env), 3);
    let status = env.aof(&["status"]).success().stdout;
    assert!(status.contains("today's budget: spent $0.60 of $1 ($0.40 left)\n"), "{status}");
    check(&env);
}

#[test]
fn a_task_that_was_finished_today_counts_for_the_day() {
    let rules = "budget: {day: {cost: 1}}\nworkflow: {gates: [{id: work, role: worker}]}\n";
    let env = project_of(rules, &[("coder", "worker", "reads: claude", &priced("0.60"))]);
    for title in ["One", "Two", "Three"] {
        let _ = env.new_task(&[title]);
    }
    let once = || env.aof(&["run", "--agent", "coder", "--once"]);
    let _ = (once().success(), once().success());
    fs::remove_dir_all(env.path(".aof/runs")).unwrap();
    let _ = once().code(7);
    assert_eq!(starts(&env), 2);
}

#[test]
fn a_report_without_sense_spends_nothing_or_all() {
    for (cost, stops) in [("-5", false), ("\"many\"", false), ("1e300", true), ("0.0000001", false)]
    {
        let env = project("budget: {task: {cost: 1}}\n", cost);
        let id = env.new_task(&["Add login"]);
        let _ = env.aof(&["run", "--task", &id, "--once"]).success();
        let _ = env.aof(&["run", "--task", &id, "--once"]).code(if stops { 7 } else { 0 });
        let _ = env.aof(&["run", "--task", &id, "--once"]);
        assert_eq!(
            starts(&env),
            if stops { 1 } else { 2 },
            "{cost}: {}",
            endings(&env, &format!("{id}@2"))
        );
        let _ = env.aof(&["stats"]).success();
    }
}

#[test]
fn budgets_are_checked_when_they_are_read() {
    let env = project("budget: {task: {cost: 20}}\n", "0.40");
    let validate = |code| env.plain(&env.aof(&["workflow", "validate"]).code(code).to_string());
    assert!(!validate(0).contains("unreported"), "a plain program costs nothing");
    env.edit("org.yaml", "reads: claude", "reads: codex");
    assert!(
        validate(0).contains("`coder` reports no cost, so a budget does not limit it there"),
        "{}",
        validate(0)
    );
    for (budget, fault) in [
        ("{task: {cost: -1}}", "`-1` is not an amount of money"),
        ("{task: {cost: .nan}}", "`.nan` is not an amount of money"),
        ("{task: {cost: 0}}", "`0` is zero"),
        ("{day: {tokens: 5 millions}}", "`5 millions` is not a number of tokens"),
        ("{day: {time: 4}}", "`4` is not a length of time"),
        ("{day: {}}", "this budget limits nothing"),
        ("{cost: 20}", "say of what"),
        ("{week: {cost: 20}}", "has no field `week`"),
    ] {
        env.write(
            "project.yaml",
            format!("budget: {budget}\nworkflow: {{gates: [{{id: work, role: worker}}]}}\n"),
        );
        assert!(validate(6).contains(fault), "{budget}: {}", validate(6));
    }
}
