//! What is done with a task besides completing it: claimed, released, edited, unblocked, cancelled, reopened, moved.

use insta::assert_snapshot;

use crate::support::checker::{self, check};
use crate::support::environment::TestEnvironment;

/// The acts, each with what brings a task to where it makes sense.
const ACTS: &[(&str, &[&str], Before)] = &[
    ("claimed", &["next", "--agent", "agent-7"], Before::Nothing),
    ("released", &["release", "ID", "--agent", "agent-7"], Before::Claimed),
    ("edited", &["edit", "ID", "--title", "Add login and logout"], Before::Nothing),
    ("commented", &["comment", "ID", "-m", "Mind the tokens"], Before::Nothing),
    ("unblocked", &["unblock", "ID"], Before::Blocked),
    (
        "overridden",
        &["override", "ID", "--to", "review", "--reason", "It is urgent"],
        Before::Nothing,
    ),
    ("cancelled", &["cancel", "ID", "--reason", "Nobody wants it"], Before::Nothing),
    (
        "reopened",
        &["reopen", "ID", "--to", "implement", "--reason", "It is wanted again"],
        Before::Finished,
    ),
];

#[derive(Clone, Copy)]
enum Before {
    Nothing,
    Claimed,
    Blocked,
    Finished,
}

fn scene(before: Before) -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(&format!("tasks/{id}.tests.yaml"), "tests: []\n");
    env.commit_all("tests");
    match before {
        Before::Nothing => {}
        Before::Claimed => {
            let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
        }
        Before::Blocked => {
            let _ = env.say(&id, "agent-7", "blocked", &["--blocker", "No API spec"]).success();
        }
        Before::Finished => {
            let _ = env.complete(&id, "agent-7");
            let _ = env.complete(&id, "agent-3");
        }
    }
    (env, id)
}

fn arguments<'a>(args: &'a [&'a str], id: &'a str) -> Vec<&'a str> {
    let own = args.iter().map(|arg| if *arg == "ID" { id } else { arg });
    std::iter::once("task").chain(own).collect()
}

#[test]
fn each_act_is_one_commit_that_names_it() {
    let mut printed = String::new();
    for (name, args, before) in ACTS {
        let (env, id) = scene(*before);
        let output = env.aof(&arguments(args, &id)).success();
        check(&env);
        let commit = env.git_plain(&["log", "-1", "--format=%an: %s%n%(trailers:only)"]);
        printed.push_str(&format!("# {name}\n{}{}\n", output.stdout, commit.trim_end()));
    }
    assert_snapshot!(printed, @r#"
    # claimed
    AOF-xxxxx  Add login
      gate implement, ticket AOF-xxxxx@0

    You do the work of this task.

    Expected
      - Do what the title and the body of the task ask for
      - Check your result yourself before you hand it on

    Outcomes
      complete  Your work is finished and can go on to the next step.
      blocked   You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Say in the summary what you did and how you checked it

    Complete it
      aof complete AOF-xxxxx@0 --agent agent-7 --outcome complete --summary "..."
      aof complete AOF-xxxxx@0 --agent agent-7 --outcome blocked --summary "..." --blocker "..."
    agent-7: AOF-xxxxx: claimed by agent-7 at implement
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: claimed
    Aof-Agent: agent-7
    # released
    AOF-xxxxx: given back by agent-7
      now at implement, ready for agent-7 or agent-8
    agent-7: AOF-xxxxx: released at implement
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: released
    Aof-Agent: agent-7
    # edited
    AOF-xxxxx: edited
      now at implement, ready for agent-7 or agent-8
    Ada: AOF-xxxxx: edited
    Aof-Task: AOF-xxxxx
    Aof-Event: edited
    # commented
    AOF-xxxxx: commented
      now at implement, ready for agent-7 or agent-8
    Ada: AOF-xxxxx: comment
    Aof-Task: AOF-xxxxx
    Aof-Event: commented
    # unblocked
    AOF-xxxxx: unblocked
      now at implement, ready for agent-7 or agent-8
    Ada: AOF-xxxxx: unblocked at implement
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: unblocked
    # overridden
    AOF-xxxxx: implement → review (override)
      now at review, ready for agent-3
    Ada: AOF-xxxxx: implement -> review (override)
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: override
    # cancelled
    AOF-xxxxx: cancelled
      now cancelled; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    Ada: AOF-xxxxx: implement (cancelled)
    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: cancelled
    # reopened
    AOF-xxxxx: review → implement (reopened)
      now at implement, ready for agent-7 or agent-8
    Ada: AOF-xxxxx: review -> implement (reopened)
    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Outcome: reopened
    "#);
}

#[test]
fn a_rehearsal_of_an_act_leaves_no_trace() {
    for (name, args, before) in ACTS {
        let (env, id) = scene(*before);
        let everything = || (env.files("."), env.task_text(&id), env.head());
        let was = everything();
        let _ = env.aof(&[&arguments(args, &id)[..], &["--dry-run"]].concat()).success();
        assert_eq!(everything(), was, "{name}");
    }
}

#[test]
#[cfg(debug_assertions)]
fn an_act_that_is_killed_anywhere_is_done_once_or_not_at_all() {
    let mut findings = Vec::new();
    for (name, args, before) in ACTS {
        // `kills` passes all the points; what differs from act to act is what is found of it afterwards.
        for point in [
            "ops.prepared",
            "git.index-locked",
            "ops.file-written",
            "git.index-moved",
            "git.ref-moved",
        ] {
            let (env, id) = scene(*before);
            let commits =
                || env.git(&["rev-list", "--count", "HEAD"]).trim().parse::<usize>().unwrap();
            let was = (commits(), env.task_text(&id));
            let mut command = env.aof_command(&arguments(args, &id));
            command.env("AOF_STOP_AT", point);
            let killed = env.run(command);
            env.new_task(&["Tidy up"]);
            let grown = commits() - was.0 - 1;
            let mut faults = checker::faults(&env);
            if killed.code.is_some() {
                faults.push(format!("it was not killed: {killed}"));
            }
            if grown > 1 || (grown == 0) != (env.task_text(&id) == was.1) {
                faults.push(format!("{grown} commits:\n{}", env.task_text(&id)));
            }
            findings.extend(
                faults.into_iter().map(|fault| format!("{name}, killed at {point}: {fault}")),
            );
        }
    }
    assert!(findings.is_empty(), "{} faults:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn agents_that_take_a_task_at_once_get_different_ones() {
    let agents: Vec<String> = (0..6).map(|number| format!("agent-{number}")).collect();
    let org = format!(
        "roles:\n  backend: {{agents: [{}]}}\n  architect: {{agents: [agent-x]}}\n",
        agents.join(", ")
    );
    let env = TestEnvironment::with_rules(crate::support::environment::PROJECT, &org);
    for number in 0..4 {
        env.new_task(&[&format!("Task {number}")]);
    }
    let children: Vec<_> = agents
        .iter()
        .map(|agent| env.start(&["task", "next", "--agent", agent, "--wait", "60s"]))
        .collect();
    for child in children {
        let _ = env.finish("aof next", child);
    }
    check(&env);
    let texts: Vec<String> = env.files("tasks").iter().map(|path| env.read(path)).collect();
    for agent in &agents {
        let held =
            texts.iter().filter(|text| text.contains(&format!("  agent: {agent}\n"))).count();
        assert!(held <= 1, "{agent} holds {held}");
    }
    assert_eq!(texts.iter().filter(|text| text.contains("status: in_progress")).count(), 4);
}

#[test]
fn acts_of_agents_that_are_for_people_are_refused() {
    let (env, id) = scene(Before::Nothing);
    for act in ["cancel", "override"] {
        let to: &[&str] = if act == "override" { &["--to", "review"] } else { &[] };
        let args = [&["task", act, &id, "--reason", "x", "--agent", "agent-7"], to].concat();
        let output = env.aof(&args).code(4);
        assert!(output.stderr.contains("that is for people"), "{output}");
    }
    check(&env);
}

#[test]
fn a_loop_ends_when_a_person_says_so() {
    let (env, id) = scene(Before::Nothing);
    for _ in 0..6 {
        let _ = env.complete(&id, "agent-7");
        let _ = env
            .say(&id, "agent-3", "needs_review", &["--blocker", "`login.rs` still panics"])
            .success();
    }
    let _ = env.say(&id, "agent-7", "complete", &[]).code(4);
    let _ = env.aof(&["task", "unblock", &id]).code(4);
    let _ = env.aof(&["task", "unblock", &id, "--reason", "The blocker is clear now"]).success();
    let _ = env.complete(&id, "agent-7");
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "`login.rs` still panics"])
        .success();
    assert!(env.task_text(&id).contains("status: ready"));
    check(&env);
}

#[test]
fn the_commands_of_a_brief_run_as_they_stand() {
    let env = TestEnvironment::new();
    env.hand_made("AOF-abc", "Add login");
    let _ = env.complete("AOF-abc", "agent-7");
    let brief = env.aof(&["task", "next", "--agent", "agent-3"]).success().stdout;
    let commands: Vec<&str> =
        brief.lines().filter_map(|line| line.trim().strip_prefix("aof complete ")).collect();
    assert_eq!(commands.len(), 3, "{brief}");
    for command in commands {
        let mut shell = env.command("sh");
        shell.args(["-c", &format!("aof complete {command} --dry-run")]);
        let _ = env.run(shell).success();
    }
    check(&env);
}

#[test]
fn a_person_steps_into_an_agents_visit_and_gives_it_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let _ = env.aof(&["task", "hold", &id, "--reason", "I write the tokens myself"]).success();
    let refused = env.say(&id, "agent-7", "complete", &[]).code(4);
    assert!(refused.stderr.contains("I write the tokens myself"), "{refused}");
    env.edit(&env.task_path(&id), "title: Add login", "title: Add login with tokens");
    let back = "Tokens are in tokens.rs; go on with the form";
    let _ = env.aof(&["task", "unblock", &id, "--reason", back]).success();
    // The visit is the agent's, as before, and the agent is told.
    let next = env.aof(&["task", "next", "--agent", "agent-7"]).success().stdout;
    assert!(next.contains("@0") && next.contains(back), "{next}");
    let log = env.git(&["log", "--format=%an %s %b", "--reverse"]);
    let printed = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!((printed("I write the tokens myself"), printed(back)), (1, 1), "{log}");
    let _ = env.complete(&format!("{id}@0"), "agent-7");
    let _ = env.aof(&["verify"]).success();
    check(&env);
}
