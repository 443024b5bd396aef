//! Real processes against each other: nobody is refused for being busy, nothing is lost, nothing counts twice.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::checker::check;
use crate::support::environment::{Output, TestEnvironment, eventually};

fn start(env: &TestEnvironment, id: &str, agent: &str, more: &[&str]) -> Child {
    let mut args = vec![
        "task",
        "complete",
        id,
        "--agent",
        agent,
        "--outcome",
        "complete",
        "--summary",
        "Did it",
    ];
    args.extend(["--wait", "60s"]);
    args.extend(more);
    env.start(&args)
}

fn finish(env: &TestEnvironment, children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| env.finish("aof complete", child)).collect()
}

#[test]
fn eight_tasks_at_once_all_go_through() {
    let env = TestEnvironment::new();
    let tasks: Vec<String> =
        (0..8).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    for agent in ["agent-7", "agent-3"] {
        let children = tasks.iter().map(|id| start(&env, id, agent, &[])).collect();
        for output in finish(&env, children) {
            let _ = output.success();
        }
    }
    check(&env);
    assert_eq!(env.files("tasks/archive").len(), 8);
    assert_eq!(env.git(&["rev-list", "--count", "HEAD"]).trim(), (1 + 8 * 3).to_string());
}

#[test]
fn one_of_many_completions_wins_and_the_others_learn_the_winner() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for (visit, agents) in [(0, ["agent-7", "agent-8"]), (1, ["agent-3", "agent-3"])] {
        let ticket = format!("{id}@{visit}");
        let children = (0..8).map(|number| start(&env, &ticket, agents[number % 2], &[])).collect();
        let (won, lost): (Vec<Output>, Vec<Output>) =
            finish(&env, children).into_iter().partition(|output| output.code == Some(0));
        assert_eq!(won.len(), 1, "visit {visit}");
        let history = env.task_text(&id);
        let winner = agents
            .iter()
            .find(|agent| history.matches(&format!("agent: {agent}")).count() > 0)
            .unwrap();
        for output in lost {
            let output = output.code(5);
            let printed =
                output.stderr.contains(&format!("has ended: `{winner}` ended it with `complete`"));
            assert!(printed, "{output}");
        }
    }
    check(&env);
    assert_eq!(env.git(&["rev-list", "--count", "HEAD"]).trim(), "4");
}

#[test]
fn one_of_two_completions_of_a_hand_made_task_wins_and_the_other_learns_it() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add logout"]);
    env.hand_made("AOF-abc", "Add login");
    // Both read the task, and then wait for the lock.
    let lock = File::options().create(true).append(true).open(env.path(".aof/lock")).unwrap();
    lock.lock().unwrap();
    let children: Vec<Child> =
        ["agent-7", "agent-8"].map(|agent| start(&env, "AOF-abc", agent, &[])).into();
    let children = children.into_iter().map(|mut child| {
        let mut output = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("waiting:"), "{line}");
        (child, output)
    });
    let children: Vec<_> = children.collect();
    drop(lock);
    let mut ends: Vec<(Option<i32>, String)> = children
        .into_iter()
        .map(|(mut child, mut output)| {
            let mut rest = String::new();
            output.read_to_string(&mut rest).unwrap();
            (child.wait().unwrap().code(), rest)
        })
        .collect();
    ends.sort();
    assert_eq!(ends[0].0, Some(0), "{ends:?}");
    assert_eq!(ends[1].0, Some(5), "{ends:?}");
    assert!(ends[1].1.contains("ended it with `complete`"), "{ends:?}");
    assert_eq!(env.aof(&["events", "--type", "gate_conflict"]).success().stdout.lines().count(), 1);
    check(&env);
}

#[test]
fn of_many_completions_without_a_ticket_each_visit_counts_one() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: one, role: backend}\n    - {id: two, role: backend}\n    - {id: three, role: backend}\n",
        "roles:\n  backend: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let children = (0..8).map(|_| start(&env, &id, "agent-7", &[])).collect();
    let outputs = finish(&env, children);
    let won = outputs.iter().filter(|output| output.code == Some(0)).count();
    assert!((1..=3).contains(&won), "{won} won");
    for output in outputs {
        assert!(matches!(output.code, Some(0 | 5)), "{output}");
    }
    check(&env);
    assert_eq!(env.task_text(&id).matches("outcome: complete").count(), won);
}

#[test]
fn one_completion_delivered_eight_times_at_once_counts_once_and_is_acknowledged_each_time() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let children = (0..8).map(|_| start(&env, &id, "agent-7", &["--id", "delivery-1"])).collect();
    for output in finish(&env, children) {
        let _ = output.success();
    }
    check(&env);
    assert_eq!(env.task_text(&id).matches("id: delivery-1").count(), 1);
}

#[test]
fn tasks_made_at_once_are_all_made() {
    let env = TestEnvironment::new();
    let children: Vec<Child> = (0..8)
        .map(|number| env.start(&["task", "new", &format!("Task {number}"), "--wait", "60s"]))
        .collect();
    for child in children {
        let _ = env.finish("aof new", child).success();
    }
    check(&env);
    assert_eq!(env.files("tasks").len(), 8);
}

#[test]
fn a_person_that_commits_meanwhile_loses_nothing_and_commits_only_their_changes() {
    let env = TestEnvironment::new();
    env.write("src/x.txt", "0\n");
    env.commit_all("work 0");
    let tasks: Vec<String> =
        (0..6).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    let done = AtomicBool::new(false);
    let mut commits = 0;
    std::thread::scope(|scope| {
        let agents: Vec<_> = tasks.iter().map(|id| (start(&env, id, "agent-7", &[]), id)).collect();
        let (env, done) = (&env, &done);
        let (printed, finished) = std::sync::mpsc::channel();
        scope.spawn(move || {
            let outputs: Vec<_> =
                agents.into_iter().map(|(child, _)| child.wait_with_output().unwrap()).collect();
            done.store(true, Ordering::SeqCst);
            printed.send(outputs).unwrap();
        });
        // Without a pause for longer, they would keep the agents from committing: docs/limits.md says so.
        while commits < 3 || commits < 40 && !done.load(Ordering::SeqCst) {
            commits += 1;
            env.write("src/x.txt", format!("{commits}\n"));
            // Git gives up at once when another has its lock; a person tries again.
            eventually("the person's commit", || {
                env.try_git(&[
                    "commit",
                    "--quiet",
                    "--all",
                    "--message",
                    &format!("work {commits}"),
                ])
                .code
                    == Some(0)
            });
        }
        for output in finished.recv().unwrap() {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
    });
    check(&env);
    for number in 1..=commits {
        let changed =
            env.git(&["log", "--format=", "--name-only", "--grep", &format!("^work {number}$")]);
        assert_eq!(changed.trim(), "src/x.txt");
    }
    for id in tasks {
        assert!(env.task_text(&id).contains("current: review"));
    }
}

#[test]
fn two_branches_completed_at_the_same_time_both_count() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: work, role: backend}\n    - id: review\n      type: fork\n      branches:\n        - {id: a, role: one}\n        - {id: b, role: two}\n        - {id: c, role: one}\n        - {id: d, role: two}\n    - {id: done, role: backend}\n",
        "roles:\n  backend: {agents: [agent-7]}\n  one: {agents: [agent-1]}\n  two: {agents: [agent-2]}\n",
    );
    let tasks: Vec<String> =
        (0..4).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    for id in &tasks {
        let _ = env.complete(id, "agent-7");
    }
    let children = tasks.iter().flat_map(|id| {
        let branches = [("a", "agent-1"), ("b", "agent-2"), ("c", "agent-1"), ("d", "agent-2")];
        branches.map(|(branch, agent)| start(&env, &format!("{id}@1/{branch}"), agent, &[]))
    });
    for output in finish(&env, children.collect()) {
        let _ = output.success();
    }
    check(&env);
    for id in &tasks {
        let text = env.task_text(id);
        assert!(text.contains("current: done"), "{text}");
        assert_eq!(text.matches("join: passed").count(), 1);
    }
}

#[test]
fn of_many_completions_of_one_branch_one_wins_and_the_other_branch_is_untouched() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: work, role: backend}\n    - id: review\n      type: fork\n      branches:\n        - {id: a, role: one}\n        - {id: b, role: two}\n",
        "roles:\n  backend: {agents: [agent-7]}\n  one: {agents: [agent-1, agent-3]}\n  two: {agents: [agent-2]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    // Without a ticket the branch is the agent's only one.
    let children =
        (0..6).map(|number| start(&env, &id, ["agent-1", "agent-3"][number % 2], &[])).collect();
    let outputs = finish(&env, children);
    assert_eq!(outputs.iter().filter(|output| output.code == Some(0)).count(), 1);
    for output in outputs {
        assert!(output.code == Some(0) || output.stderr.contains("ended it"), "{output}");
    }
    check(&env);
    let task = env.aof(&["task", "show", &id, "--json"]).json();
    assert_eq!(task["gate"]["branches"][0]["status"], "complete");
    assert_eq!(task["gate"]["branches"][1]["status"], "ready");
}
