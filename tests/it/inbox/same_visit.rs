//! Several files of one visit: whatever comes between, they never pass a second gate.

use std::fs::{self, File};
use std::io::Write;

use crate::support::checker::check;
use crate::support::environment::{PROJECT, TestEnvironment, eventually};
use crate::support::kill_scene::{BY_ITSELF, FORKED};
use crate::support::merge_scene::entries;
use crate::support::watcher::{Watcher, drop_file, log};

/// Agents of every role.
const ALL: &str = "\
roles:
  backend: {agents: [agent-7, agent-8, agent-9]}
  architect: {agents: [agent-7, agent-8, agent-9]}
  writer: {agents: [agent-5]}
";
const AGENTS: [&str; 3] = ["agent-7", "agent-8", "agent-9"];

fn text(task: &str, agent: &str) -> String {
    format!("task: {task}\nagent: {agent}\noutcome: complete\nsummary: Did it\n")
}

/// Drops a file of each agent.
fn dropped(env: &TestEnvironment, id: &str, agents: &[&str]) {
    for agent in agents {
        drop_file(env, &format!("{agent}.yaml"), text(id, agent));
    }
}

fn reason(env: &TestEnvironment, name: &str) -> serde_json::Value {
    serde_json::from_str(&env.read(&format!(".aof/refused/{name}.reason.json"))).unwrap()
}

/// One of them counted, and the others came too late, each told by whom.
fn counted_once(env: &TestEnvironment, id: &str, agents: &[&str]) {
    let counted = entries(env, id);
    let answer: Vec<&String> = counted.iter().filter(|entry| entry.contains(" agent-")).collect();
    assert_eq!(answer.len(), 1, "{counted:?}");
    let winner = agents.iter().find(|agent| answer[0].contains(**agent));
    for agent in agents.iter().filter(|agent| Some(*agent) != winner) {
        let reason = reason(env, &format!("{agent}.yaml"));
        assert_eq!(reason["error"], "visit_ended", "{reason}");
        if let Some(winner) = winner {
            assert_eq!(reason["winningAgent"], **winner, "{reason}");
        }
    }
    assert_eq!(env.files(".aof/inbox"), [""; 0]);
    check(env);
}

#[test]
fn of_two_or_three_files_that_lie_in_the_inbox_one_counts() {
    for agents in [&AGENTS[..2], &AGENTS] {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let id = env.new_task(&["Add login"]);
        dropped(&env, &id, agents);
        let _ = env.aof(&["watch", "--once"]).success();
        counted_once(&env, &id, agents);
    }
}

#[test]
fn the_watcher_does_the_same() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let id = env.new_task(&["Add login"]);
    dropped(&env, &id, &AGENTS);
    let watcher = Watcher::start(&env);
    eventually("all are treated", || env.files(".aof/refused").len() == 4);
    watcher.stop("-TERM");
    counted_once(&env, &id, &AGENTS);
}

#[test]
fn a_file_in_a_later_batch_means_the_visit_open_at_the_scan() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let ids: Vec<String> = (0..60).map(|number| format!("AOF-t{number:02}")).collect();
    for id in &ids {
        let _ = env.hand_made(id, "Add login");
    }
    let id = env.new_task(&["First"]);
    for (number, task) in ids.iter().enumerate() {
        drop_file(&env, &format!("b{number:02}.yaml"), text(task, "agent-7"));
    }
    drop_file(&env, "a.yaml", text(&id, "agent-7"));
    // The one is adopted only by its own first file.
    drop_file(&env, "y.yaml", text(&ids[0], "agent-8"));
    drop_file(&env, "z.yaml", text(&id, "agent-8"));
    let _ = env.aof(&["watch", "--once"]).success();
    for (task, late) in [(&ids[0], "y.yaml"), (&id, "z.yaml")] {
        assert_eq!(entries(&env, task), ["implement agent-7 complete"]);
        assert_eq!(reason(&env, late)["error"], "visit_ended");
    }
    check(&env);
}

#[test]
fn a_task_that_is_adopted_by_its_first_file_counts_once() {
    for project in [PROJECT, BY_ITSELF] {
        let env = TestEnvironment::with_rules(project, ALL);
        env.hand_made("AOF-abc", "Add login");
        dropped(&env, "AOF-abc", &AGENTS);
        let _ = env.aof(&["watch", "--once"]).success();
        counted_once(&env, "AOF-abc", &AGENTS);
    }
}

#[test]
fn branches_of_a_fork_each_count_once_and_the_gate_behind_it_is_not_passed() {
    let env = TestEnvironment::with_rules(FORKED, ALL);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    dropped(&env, &id, &["agent-5", "agent-7", "agent-8", "agent-9"]);
    let _ = env.aof(&["watch", "--once"]).success();
    let counted = entries(&env, &id);
    assert_eq!(counted.len(), 3, "{counted:?}");
    assert!(env.task_text(&id).contains("current: approve"), "{}", env.task_text(&id));
    assert_eq!(env.files(".aof/refused").len(), 4);
    check(&env);
}

#[test]
fn a_file_that_names_its_visit_or_gate_counts_behind_one_that_does_not() {
    for named in ["task: ID@1\n", "task: ID\ngate: review\n"] {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let id = env.new_task(&["Add login"]);
        dropped(&env, &id, &["agent-7"]);
        let named = named.replace("ID", &id);
        let answer = text(&id, "agent-8").replace(&format!("task: {id}\n"), &named);
        drop_file(&env, "b.yaml", answer);
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(entries(&env, &id).len(), 2, "{named}");
        check(&env);
    }
}

#[test]
fn one_agent_that_says_it_twice_passes_one_gate_and_names_the_gate_that_it_means() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    drop_file(&env, "again.yaml", text(&id, "agent-7"));
    drop_file(&env, "other.yaml", text(&id, "agent-8") + "gate: implement\n");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(entries(&env, &id).len(), 1);
    assert_eq!(reason(&env, "again.yaml")["error"], "repeated_completion");
    assert!(env.exists(".aof/refused/other.yaml"));
    check(&env);
}

/// Files in `.taken` as an older aof, or one that was killed, has left them.
#[test]
fn files_that_an_earlier_process_took_without_a_visit_count_once() {
    for adopted in [true, false] {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let id = if adopted {
            env.new_task(&["Add login"])
        } else {
            env.hand_made("AOF-abc", "Add login");
            "AOF-abc".to_owned()
        };
        dropped(&env, &id, &AGENTS);
        fs::create_dir_all(env.path(".aof/inbox/.taken")).unwrap();
        for (number, agent) in AGENTS.iter().enumerate() {
            let taken = format!(".aof/inbox/.taken/01KHJXB1QKQ4CFB6RK3QGZ0S0{number}-{agent}.yaml");
            fs::rename(env.path(&format!(".aof/inbox/{agent}.yaml")), env.path(&taken)).unwrap();
        }
        let _ = env.aof(&["watch", "--once"]).success();
        counted_once(&env, &id, &AGENTS);
    }
}

#[test]
#[cfg(debug_assertions)]
fn a_kill_before_or_after_a_file_is_taken_changes_nothing_of_it() {
    for point in ["inbox.found", "inbox.taken", "ops.committed", "inbox.judged"] {
        for turn in 1..=3 {
            let env = TestEnvironment::with_rules(PROJECT, ALL);
            let id = env.new_task(&["Add login"]);
            dropped(&env, &id, &AGENTS);
            let mut watch = env.aof_command(&["watch", "--once"]);
            watch.env("AOF_STOP_AT", format!("{point}:{turn}"));
            let killed = env.run(watch);
            let may_end = turn > 1 && matches!(point, "ops.committed" | "inbox.judged");
            assert!(killed.code.is_none() || may_end, "{point}:{turn}: {killed}");
            let _ = env.aof(&["watch", "--once"]).success();
            counted_once(&env, &id, &AGENTS);
        }
    }
}

/// As btrfs leaves it if the power is cut between the syncs of the two folders.
#[test]
#[cfg(debug_assertions)]
fn a_file_that_has_its_old_name_too_after_a_power_cut_counts_once_and_is_not_refused() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let id = env.new_task(&["Add login"]);
    dropped(&env, &id, &AGENTS[..1]);
    let mut watch = env.aof_command(&["watch", "--once"]);
    watch.env("AOF_STOP_AT", "inbox.taken");
    assert_eq!(env.run(watch).code, None);
    let taken = env.files(".aof/inbox/.taken");
    let old = env.path(".aof/inbox/agent-7.yaml");
    fs::hard_link(env.path(&taken[0]), &old).unwrap();
    dropped(&env, &id, &AGENTS[1..2]);
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(!env.exists(".aof/refused/agent-7.yaml"));
    counted_once(&env, &id, &AGENTS[..2]);
}

#[test]
#[cfg(debug_assertions)]
fn a_file_that_was_taken_before_a_kill_is_late_once_a_command_ended_its_visit() {
    for turn in 1..=2 {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let id = env.new_task(&["Add login"]);
        dropped(&env, &id, &AGENTS[..2]);
        let mut watch = env.aof_command(&["watch", "--once"]);
        watch.env("AOF_STOP_AT", format!("inbox.taken:{turn}"));
        assert_eq!(env.run(watch).code, None);
        let taken = env.files(".aof/inbox/.taken");
        assert_eq!(taken.len(), turn);
        assert!(taken.iter().all(|name| name.contains("-.0@@agent-")), "{taken:?}");
        let _ = env.complete(&id, "agent-9").success();
        let _ = env.aof(&["watch", "--once"]).success();
        // What was not taken yet is older than the step as well.
        assert_eq!(entries(&env, &id), ["implement agent-9 complete"]);
        assert_eq!(env.files(".aof/refused").len(), 4);
        check(&env);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_file_that_is_still_written_when_it_is_first_seen_means_the_visit_of_that_moment() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let id = env.new_task(&["Add login"]);
    let watcher = Watcher::start(&env);
    eventually("it watches", || log(&env).contains("watching"));
    let mut open = File::create(env.path(".aof/inbox/agent-8.yaml")).unwrap();
    open.write_all(text(&id, "agent-8").as_bytes()).unwrap();
    drop_file(&env, "agent-7.yaml", text(&id, "agent-7"));
    eventually("the other one counts", || env.task_text(&id).contains("current: review"));
    drop(open);
    eventually("it is late", || env.exists(".aof/refused/agent-8.yaml.reason.json"));
    watcher.stop("-TERM");
    counted_once(&env, &id, &AGENTS[..2]);
}

#[test]
fn files_that_wait_together_count_once() {
    let env = TestEnvironment::with_rules(PROJECT, ALL);
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "current: implement", "current: review");
    dropped(&env, &id, &AGENTS);
    let _ = env.aof(&["watch", "--once"]).code(1);
    env.git(&["restore", &path]);
    let _ = env.aof(&["watch", "--once"]).success();
    counted_once(&env, &id, &AGENTS);
}

/// The second and third file come while the watcher is about to move the branch for the first.
#[test]
#[cfg(debug_assertions)]
fn files_that_come_before_the_branch_moves_count_for_the_visit_that_ends_then() {
    for (point, handed_out) in [("git.reflog-written", false), ("git.index-moved", true)] {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let pipe = env.home().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let id = env.new_task(&["Add login"]);
        // Its file is in the same batch, and a move of its own may follow.
        let other = env.new_task(&["Other"]);
        let ids: Vec<String> = (0..12).map(|_| env.new_task(&["One of many"])).collect();
        for (number, task) in ids.iter().enumerate().filter(|_| handed_out) {
            drop_file(&env, &format!("b{number:02}.yaml"), text(task, "agent-7"));
        }
        drop_file(&env, "agent-7.yaml", text(&id, "agent-7"));
        let watcher =
            Watcher::start_with(&env, &[("AOF_WAIT_AT", &format!("{point}:{}", pipe.display()))]);
        eventually("it is about to move", || pipe.with_extension("reached").exists());
        drop_file(&env, "agent-8.yaml", text(&id, "agent-8"));
        drop_file(&env, "agent-9.yaml", text(&id, "agent-9"));
        drop_file(&env, "other.yaml", text(&other, "agent-9"));
        let _opened = File::options().read(true).write(true).open(&pipe).unwrap();
        eventually("all are treated", || {
            env.files(".aof/refused").len() == 4 && log(&env).contains(&other)
        });
        drop_file(&env, "next.yaml", text(&id, "agent-9"));
        eventually("what comes after is for the next", || log(&env).contains("review → done"));
        watcher.stop("-TERM");
        assert_eq!(entries(&env, &id), ["implement agent-7 complete", "review agent-9 complete"]);
        for late in ["agent-8.yaml", "agent-9.yaml"] {
            assert_eq!(reason(&env, late)["error"], "visit_ended");
        }
        check(&env);
    }
}

#[test]
fn a_file_counts_for_the_visit_before_or_after_a_command_also_within_one_second() {
    for packed in [false, true] {
        let env = TestEnvironment::with_rules(PROJECT, ALL);
        let id = env.new_task(&["Add login"]);
        dropped(&env, &id, &AGENTS[..1]);
        let _ = env.complete(&id, "agent-9").success();
        // A further move of the branch hides nothing.
        let other = env.new_task(&["Other"]);
        if packed {
            env.git(&["pack-refs", "--all"]);
        }
        drop_file(&env, "after.yaml", text(&other, "agent-8"));
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(entries(&env, &id), ["implement agent-9 complete"], "{packed}");
        assert_eq!(reason(&env, "agent-7.yaml")["error"], "visit_ended");
        let _ = env.complete(&other, "agent-9");
        dropped(&env, &id, &AGENTS[1..2]);
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(entries(&env, &id).len(), 2, "{packed}");
        check(&env);
    }
}
