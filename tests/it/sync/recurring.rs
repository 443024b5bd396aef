//! Tasks that come again and again: once a period, in one clone and in several.

use proptest::prelude::Rng;
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::support::clones::{Clones, place, synced_project};
use crate::support::environment::{PROJECT, TestEnvironment};

const DAY: u32 = 24 * 60;

/// A week begins on Monday at nine; the tests begin on Monday, 2026-02-16, at ten.
fn weekly(more: &str) -> String {
    format!(
        "recurring:\n  - {{name: cert, every: week, on: monday, at: \"09:00\", title: Renew it, tags: [ops]{more}}}\n"
    )
}

fn made(env: &TestEnvironment) -> Vec<String> {
    env.files("tasks")
}

fn sweep(env: &TestEnvironment) -> String {
    env.aof(&["sweep"]).success().stdout
}

#[test]
fn a_task_is_made_once_a_period_and_missed_periods_are_not_made_up_for() {
    let env = TestEnvironment::new();
    env.write("project.yaml", format!("{PROJECT}{}", weekly("")));
    env.commit_all("recurring");
    assert_eq!(sweep(&env), "nothing is due\n", "the present period began before the rule");
    env.pass_minutes(7 * DAY);
    assert!(sweep(&env).contains(": created"));
    let files = made(&env);
    assert_eq!(files.len(), 1);
    let text = env.read(&files[0]);
    for line in [
        "title: Renew it\n",
        "created: 2026-02-23T09:00:00Z\n",
        "entered: 2026-02-23T09:00:00Z\n",
        "tags:\n  - ops\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert_eq!(env.git(&["log", "-1", "--format=%an %at"]), "aof 1771837200\n");
    let _ = env.aof(&["verify"]).success();
    assert_eq!(sweep(&env), "nothing is due\n");
    // One that was cancelled, or that a person removed, counts as made.
    let id = files[0].trim_start_matches("tasks/").trim_end_matches(".md").to_owned();
    let _ = env.aof(&["cancel", &id, "-m", "No"]).success();
    assert_eq!(sweep(&env), "nothing is due\n");
    env.pass_minutes(21 * DAY);
    assert!(sweep(&env).contains(": created"));
    assert_eq!(made(&env).iter().filter(|file| !file.contains("archive")).count(), 1);
    let open = made(&env).into_iter().find(|file| !file.contains("archive")).unwrap();
    env.git(&["rm", "--quiet", &open]);
    env.git(&["commit", "--quiet", "--no-verify", "--message", "not wanted"]);
    assert_eq!(sweep(&env), "nothing is due\n");
    assert!(
        env.aof(&["sweep", "--dry-run", "--json"]).success().json()["recurred"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_clock_that_jumps_makes_no_second_task_of_a_period() {
    let env = TestEnvironment::new();
    env.write("project.yaml", format!("{PROJECT}{}", weekly("")));
    env.commit_all("recurring");
    env.pass_minutes(7 * DAY);
    assert!(sweep(&env).contains(": created"));
    let at = |now: &str| {
        let mut command = env.aof_command(&["sweep"]);
        command.env("AOF_NOW", now);
        env.run(command).success().stdout
    };
    for back in ["2026-02-23T08:00:00Z", "2026-02-17T08:00:00Z", "2020-01-01T00:00:00Z"] {
        assert_eq!(at(back), "nothing is due\n", "{back}");
    }
    assert_eq!(sweep(&env), "nothing is due\n");
    assert!(at("2027-02-23T10:00:00Z").contains(": created"));
    assert_eq!(sweep(&env), "nothing is due\n");
    env.pass_minutes(7 * DAY);
    assert!(sweep(&env).contains(": created"), "the week that the clock had jumped over");
    assert_eq!(made(&env).len(), 3);
}

#[test]
fn a_rule_with_other_times_begins_with_its_next_period_and_one_may_wait_for_an_open_task() {
    let env = TestEnvironment::new();
    env.write("project.yaml", format!("{PROJECT}{}", weekly(", skipIfOpen: true")));
    env.commit_all("recurring");
    env.pass_minutes(7 * DAY);
    assert!(sweep(&env).contains(": created"));
    env.pass_minutes(7 * DAY);
    assert_eq!(sweep(&env), "nothing is due\n", "the earlier one is open");
    let id = made(&env)[0].trim_start_matches("tasks/").trim_end_matches(".md").to_owned();
    let _ = env.aof(&["cancel", &id, "-m", "No"]).success();
    assert!(sweep(&env).contains(": created"));
    env.edit("project.yaml", "on: monday, at: \"09:00\"", "on: sunday, at: \"08:00\"");
    env.commit_all("on Sundays");
    assert_eq!(sweep(&env), "nothing is due\n", "this Sunday was before the rule");
    for (from, to, problem) in [
        ("on: sunday", "on: someday", "`someday` is no day of the week"),
        ("every: week, on: someday", "every: year", "`year`"),
        ("every: year, at: \"08:00\"", "every: day, at: 25", "`at` is a time of the day"),
        ("at: 25", "workflow: billing", "there is no workflow `billing`"),
        ("title: Renew it", "titel: Renew it", "titel"),
    ] {
        env.edit("project.yaml", from, to);
        let refused = env.aof(&["workflow", "validate"]).code(6);
        assert!(refused.to_string().contains(problem), "{to}: {refused}");
    }
}

#[test]
fn a_rule_that_cannot_be_followed_stops_no_other_work() {
    let env = TestEnvironment::new();
    let more = "  - {name: later, every: day, at: \"08:00\", title: Another}\n";
    let rules = format!("{PROJECT}{}{more}", weekly(", assignee: [nobody-there]"));
    env.write("project.yaml", rules);
    env.commit_all("recurring");
    env.pass_minutes(7 * DAY);
    let swept = env.aof(&["sweep"]).success();
    assert!(swept.stderr.contains("the recurring task `cert` cannot be made"), "{swept}");
    assert!(swept.stdout.contains(": created"), "{swept}");
    assert_eq!(made(&env).len(), 1);
}

/// Returns a task that the agent has in that clone.
fn held(clones: &Clones, clone: &str, agent: &str) -> Option<String> {
    let folder = clones.env.path(&place(clone)).join("tasks");
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| {
        let text =
            if path.is_file() { std::fs::read_to_string(path).unwrap() } else { String::new() };
        text.contains(&format!("\n  agent: {agent}\n"))
    });
    Some(file?.file_stem()?.to_str()?.to_owned())
}

/// Each clone is offline on random days, and goes on with what it has. A period has one task in the end, and no sync stops.
#[test]
fn clones_that_are_offline_make_one_task_a_period() {
    for seed in 1..=4 {
        let mut chance = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        let daily =
            "recurring:\n  - {name: round, every: day, at: \"09:00\", title: Make the round}\n";
        let clones = Clones::new(&format!("{}{daily}", synced_project()), &["b"]);
        let mut periods = 0;
        for _ in 0..10 {
            clones.env.pass_minutes(DAY);
            periods += 1;
            for clone in [".", "b"] {
                clones.does(clone, &["sweep"]);
                let agent = if clone == "." { "agent-1" } else { "agent-2" };
                if chance.next_u32().is_multiple_of(2) {
                    let _ = clones.aof(clone, &["next", "--agent", agent, "--offline"]).success();
                    if let Some(id) = held(&clones, clone, agent) {
                        clones.completes(clone, &id, agent);
                    }
                }
            }
            for clone in [".", "b"] {
                if chance.next_u32().is_multiple_of(3) {
                    let _ = clones.sync(clone).success();
                }
            }
        }
        for clone in [".", "b", "."] {
            let _ = clones.sync(clone).success();
        }
        assert_eq!(clones.head("."), clones.head("b"), "seed {seed}");
        let titles = clones.env.git(&["ls-tree", "-r", "--name-only", "HEAD", "tasks"]);
        assert_eq!(titles.lines().count(), periods, "seed {seed}: {titles}");
        let _ = clones.aof(".", &["verify"]).success();
        let _ = clones.aof("b", &["verify"]).success();
    }
}
