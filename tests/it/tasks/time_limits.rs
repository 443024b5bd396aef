//! Time limits and claims that end: nothing here sleeps, the clock is moved.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

const RULES: &str = "\
workflow:
  timeout: 3h
  gates:
    - {id: implement, role: backend, lease: 30m}
    - {id: review, role: architect, canReject: true, timeout: 1h, escalateTo: lead}
    - {id: approve, role: lead}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  lead: {agents: [agent-9, human-ada]}
";

fn environment() -> TestEnvironment {
    TestEnvironment::with_rules(RULES, PEOPLE)
}

#[test]
fn an_overdue_visit_escalates_and_can_be_completed_there() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
    env.pass_minutes(59);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    the next time limit ends in 58s, on Feb 16, 11:00
    ");
    env.pass_minutes(1);
    assert_snapshot!(env.aof(&["sweep", "--dry-run"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: timed out at review, which agent-3 had; it is lead's now (dry run: nothing was written)
    ");
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: timed out at review, which agent-3 had; it is lead's now
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T11:00:09Z
    routing:
      workflow: default
      role: lead
    gate:
      current: review
      entered: 2026-02-16T11:00:09Z
      visit: 2
      escalated: lead
    workflowHash: HASH
    gateHistory:
      - gate: implement
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:04Z
        exited: 2026-02-16T10:00:05Z
        duration: 1
        outcome: complete
        summary: Did it
        to: review
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: review
        role: architect
        agent: agent-3
        entered: 2026-02-16T10:00:05Z
        exited: 2026-02-16T11:00:09Z
        duration: 3604
        outcome: timeout
        summary: Timed out after 1h
        to: review
        escalatedTo: lead
        workflow: HASH
    ---
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: review (timeout)

    Timed out after 1h

    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Outcome: timeout
    Aof-Agent: agent-3
    ");
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    review for 3s (visit 2)

    Because
      - its visit of gate `review`, which `agent-3` had, took too long on Feb 16, 11:00; role `lead` stepped in
      - nobody has claimed it

    Who can move it
      - agent-9 or human-ada (role lead)

    What each act would do
      approve    leads to approve (role lead)
      send back  sends it back to implement (role backend), the 1st time of 5
      blocked    holds it here until a person unblocks it
    ");
    let late = env.say(&id, "agent-3", "complete", &[]).code(5);
    assert_snapshot!(late, @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@1` at gate `review` has ended: it took too long, and another role stepped in on Feb 16, 11:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    let _ = env.say(&id, "agent-9", "complete", &[]).success();
    assert!(env.task_text(&id).contains("current: approve"));
    check(&env);
}

#[test]
fn an_overdue_visit_without_a_stand_in_is_marked_once_and_goes_on() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    env.pass_minutes(180);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: is overdue at implement, and goes on: the gate has no `escalateTo`
    ");
    let log = env.log();
    assert_snapshot!(log, @"
    Ada: AOF-xxxxx: overdue at implement
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    env.pass_minutes(600);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    ");
    assert_eq!(env.log(), log, "it is told once");
    assert_snapshot!(env.aof(&["status"]), @"
    exit 0
    --- stdout
    on main
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Late: 1                                             aof list --late
      AOF-xxxxx    Add login  implement  10h late

    Problems: 1
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    assert!(env.task_text(&id).contains("overdue: 2026-02-16T13:00:0"), "{}", env.task_text(&id));
    let _ = env.say(&id, "agent-8", "complete", &[]).success();
    // The entry keeps that it took too long; the next visit begins without.
    assert_eq!(env.task_text(&id).matches("overdue:").count(), 1);
    let gate = &env.aof(&["task", "show", &id, "--json"]).success().json()["gate"];
    assert!(gate["overdue"].is_null(), "{gate}");
    check(&env);
}

#[test]
fn a_claim_without_renewal_ends_and_its_agent_learns_the_new_holder() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    assert_snapshot!(env.aof(&["task", "next", "--agent", "agent-7"]), @r#"
    exit 0
    --- stdout
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
      aof renew AOF-xxxxx@0 --agent agent-7   keeps it yours beyond 2026-02-16T10:30:05Z
    "#);
    let task = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(
        task["deadlines"][0],
        serde_json::json!({"at": "2026-02-16T10:30:05Z", "limit": "lease", "branch": null})
    );
    env.pass_minutes(20);
    assert_snapshot!(env.aof(&["task", "renew", &id, "--agent", "agent-7", "--note", "Half of it works"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: renewed by agent-7
      now at implement, in progress with agent-7
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    agent-7
    AOF-xxxxx: renewed by agent-7 at implement

    Half of it works

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: renewed
    Aof-Agent: agent-7
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  in_progress
      gate    implement for 20m (visit 0)

    Because
      - it was created on Feb 16, 10:00 and began at gate `implement`
      - `agent-7` has claimed it
      - the claim of `agent-7` ends on Feb 16, 10:50 unless it is renewed: `aof renew AOF-xxxxx`
      - it has time until Feb 16, 13:00; then it is marked overdue

    Who can move it
      - agent-7, who has claimed it (role backend)

    What each act would do
      done     leads to review (role architect)
      blocked  holds it here until a person unblocks it
    ");
    env.pass_minutes(29);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    the next time limit ends in 57s, on Feb 16, 10:50
    ");
    env.pass_minutes(1);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: the claim of agent-7 ran out at implement; it is free again
    the next time limit ends in 2h 9m, on Feb 16, 13:00
    ");
    assert_snapshot!(env.aof(&["task", "renew", &id, "--agent", "agent-7"]), @"
    exit 4
    --- stderr
    error: nobody has claimed task `AOF-xxxxx`

    hint: there is nothing to give back or to renew; `aof next --agent agent-7` claims one
    ");
    let _ = env.aof(&["task", "next", "--agent", "agent-8"]).success();
    assert_snapshot!(env.say(&id, "agent-7", "complete", &[]), @"
    exit 5
    --- stderr
    error: your claim of task `AOF-xxxxx` ended because nobody renewed it, and `agent-8` has it now

    hint: nothing was changed; hand what you have over to `agent-8`, as in `aof comment AOF-xxxxx`, and take another with `aof next --agent agent-7`; work that takes longer than a claim lasts is kept by `aof renew`
    ");
    assert_snapshot!(env.aof(&["task", "renew", &id, "--agent", "agent-7", "--json"]), @r#"
    exit 5
    --- stdout
    {
      "error": "claim_lost",
      "message": "your claim of task `AOF-xxxxx` ended because nobody renewed it, and `agent-8` has it now\n\nnothing was changed; hand what you have over to `agent-8`, as in `aof comment AOF-xxxxx`, and take another with `aof next --agent agent-7`; work that takes longer than a claim lasts is kept by `aof renew`",
      "task": "AOF-xxxxx",
      "assignedAgent": "agent-8",
      "yourAgentId": "agent-7",
      "jsonVersion": 1
    }
    --- stderr
    your claim of task `AOF-xxxxx` ended because nobody renewed it, and `agent-8` has it now
    "#);
    let _ = env.say(&id, "agent-8", "complete", &[]).success();
    assert!(!env.task_text(&id).contains("lost"), "the next visit knows nothing of it");
    let history = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(
        history["gateHistory"].as_array().unwrap().len(),
        1,
        "a claim that ends is no failure"
    );
    check(&env);
}

#[test]
fn an_agent_that_lost_a_claim_may_still_complete_an_unclaimed_task() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    env.pass_minutes(40);
    let _ = env.aof(&["sweep"]).success();
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    check(&env);
}

#[test]
fn the_claims_of_people_do_not_end() {
    let env = TestEnvironment::with_rules(&RULES.replace("timeout: 3h", "lease: 1m"), PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    let _ = env.aof(&["task", "next", "--agent", "human-ada"]).success();
    env.pass_minutes(2000);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    ");
}

#[test]
fn a_held_task_waits_and_its_clock_stands_still() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
    env.pass_minutes(50);
    assert_snapshot!(env.aof(&["task", "hold", &id, "--reason", "The customer wants to talk first"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: held
      now at review, blocked: The customer wants to talk first
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: held at review

    The customer wants to talk first

    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Event: held
    ");
    env.pass_minutes(600);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  blocked
      gate    review for 10h 50m (visit 1)

    Because
      - `agent-7` ended gate `implement` with `complete` on Feb 16, 10:00, which led to `review`
      - it is blocked: The customer wants to talk first
      - a person holds it since Feb 16, 10:50: nothing is completed until it is set going again

    Who can move it
      - agent-3, who has claimed it (role architect)
      - a person, who lets it go on with `aof unblock AOF-xxxxx`

    What each act would do
      approve    leads to approve (role lead)
      send back  sends it back to implement (role backend), the 1st time of 5
      blocked    holds it here until a person unblocks it
    ");
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is held: The customer wants to talk first

    hint: wait until a person sets it going again, as with `aof unblock AOF-xxxxx`
    ");
    let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(
        shown["available"],
        serde_json::json!({"outcomes": [], "role": "architect", "agents": []})
    );
    let next = env.aof(&["task", "next", "--agent", "agent-3"]).success();
    assert!(next.stderr.contains("nothing to do"), "{next}");
    assert_snapshot!(env.aof(&["task", "hold", &id, "--reason", "Again"]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is held: The customer wants to talk first

    hint: wait until a person sets it going again, as with `aof unblock AOF-xxxxx`
    ");
    assert_snapshot!(env.aof(&["task", "hold", &id]), @r#"
    exit 4
    --- stderr
    error: `hold` wants a reason: whoever works at the task reads it

    hint: add `--reason "..."`
    "#);
    assert_snapshot!(env.aof(&["task", "resume", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx: unblocked
      now at review, in progress with agent-3
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: in_progress
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T20:50:16Z
    routing:
      workflow: default
      role: architect
      agent: agent-3
      claimed: 2026-02-16T20:50:16Z
    gate:
      current: review
      entered: 2026-02-16T10:00:05Z
      visit: 1
      resumed: 2026-02-16T20:50:16Z
    workflowHash: HASH
    gateHistory:
      - gate: implement
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:04Z
        exited: 2026-02-16T10:00:05Z
        duration: 1
        outcome: complete
        summary: Did it
        to: review
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
    ---
    ");
    env.pass_minutes(58);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    nothing is due
    the next time limit ends in 1m, on Feb 16, 21:50
    ");
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    check(&env);
}

#[test]
fn a_person_hands_a_task_over() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    assert_snapshot!(env.aof(&["task", "assign", "--claim", &id, "agent-8"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: assigned to agent-8
      now at implement, in progress with agent-8
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: assigned to agent-8 at implement

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: assigned
    ");
    assert_snapshot!(env.aof(&["task", "assign", "--claim", &id, "agent-8"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: assigned to agent-8 (nothing changed)
      now at implement, in progress with agent-8
    ");
    assert_snapshot!(env.aof(&["task", "assign", "--claim", &id, "agent-3"]), @"
    exit 4
    --- stderr
    error: gate `implement` is the work of role `backend`, and `agent-3` is in `architect`

    hint: it can be completed by `agent-7`, `agent-8`; take a task of your own with `aof next`, or have org.yaml changed
    ");
    assert_snapshot!(env.aof(&["task", "assign", "--claim", &id, "agent-7", "--agent", "agent-7"]), @"
    exit 4
    --- stderr
    error: `agent-7` may not assign this task: that is for people

    hint: ask a person, or allow it in org.yaml: `agents: {agent-7: {may: [assign]}}`
    ");
    let _ = env.aof(&["task", "assign", "--claim", &id, "agent-7", "--agent", "agent-8"]).success();
    let _ = env.say(&id, "agent-8", "complete", &[]).code(4);
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    check(&env);
}

#[test]
fn a_branch_that_takes_too_long_escalates_alone() {
    let rules = "workflow: {gates: [{id: check, type: fork, branches: [\
        {id: law, role: backend, timeout: 1h, escalateTo: lead}, {id: lint, role: architect, timeout: 2h}]}]}\n";
    let env = TestEnvironment::with_rules(rules, PEOPLE);
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    env.pass_minutes(60);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: timed out at check/law, which agent-7 had; it is lead's now
    the next time limit ends in 59m, on Feb 16, 12:00
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T11:00:06Z
    routing:
      workflow: default
    gate:
      current: check
      entered: 2026-02-16T10:00:04Z
      visit: 0
      branches:
        - id: law
          role: lead
          status: ready
          escalated: lead
        - id: lint
          role: architect
          status: ready
    workflowHash: HASH
    gateHistory:
      - gate: check/law
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:04Z
        exited: 2026-02-16T11:00:06Z
        duration: 3602
        outcome: timeout
        summary: Timed out after 1h
        escalatedTo: lead
        workflow: HASH
    ---
    ");
    let late = env.say(&format!("{id}@0/law"), "agent-7", "complete", &[]);
    assert_snapshot!(late, @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@0/law` at gate `check/law` has ended: it took too long, and another role stepped in on Feb 16, 11:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    env.pass_minutes(60);
    assert_snapshot!(env.aof(&["sweep"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: is overdue at check/lint, and goes on: the gate has no `escalateTo`
    ");
    assert_snapshot!(env.aof(&["status"]), @"
    exit 0
    --- stdout
    on main
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Late: 1                                             aof list --late
      AOF-xxxxx    Add login  check  now late

    Escalated: 1                                        aof list is:escalated
      AOF-xxxxx    Add login  check to lead  2h

    Problems: 1
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    let _ = env.say(&format!("{id}@0/law"), "agent-9", "complete", &[]).success();
    let _ = env.say(&format!("{id}@0/lint"), "agent-3", "complete", &[]).success();
    assert!(env.task_path(&id).contains("archive"));
    check(&env);
}

#[test]
fn completions_within_a_second_are_not_lost() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let mut next = env.aof_command(&["task", "next", "--agent", "agent-7"]);
    let now = "2026-02-16T11:00:00Z";
    next.env("AOF_NOW", now);
    let _ = env.run(next).success();
    for note in ["One", "Two"] {
        let mut renew =
            env.aof_command(&["task", "renew", &id, "--agent", "agent-7", "--note", note]);
        renew.env("AOF_NOW", now);
        let _ = env.run(renew).success();
    }
    let log = env.git(&["log", "--format=%b"]);
    assert!(log.contains("One\n") && log.contains("Two\n"), "{log}");
}

#[test]
fn an_agent_without_a_role_written_by_hand_has_nothing() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.edit(&path, "  role: backend\n", "  role: backend\n  agent: mallory\n");
    env.edit(&path, "status: ready", "status: in_progress");
    env.commit_all("by hand");
    assert_snapshot!(env.say(&id, "mallory", "complete", &[]), @"
    exit 4
    --- stderr
    error: gate `implement` is the work of role `backend`, and `mallory` is in no role

    hint: it can be completed by `agent-7`, `agent-8`; take a task of your own with `aof next --agent mallory`, or have org.yaml changed
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: rerouted at implement

    mallory may not complete it, and does not have it any more

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: rerouted
    ");
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
}

#[test]
fn reasons_that_nobody_could_read_are_refused() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let long = "x".repeat(16 * 1024 + 1);
    for act in [
        &["hold", "--reason"][..],
        &["cancel", "--reason"],
        &["override", "--to", "review", "--reason"],
    ] {
        let mut words = vec!["task", act[0], &id];
        words.extend(&act[1..]);
        words.push(&long);
        let refused = env.aof(&words).code(4);
        assert!(refused.stderr.contains("and the limit is 16384"), "{refused}");
    }
    let comment = "x".repeat(64 * 1024 + 1);
    let _ = env.aof(&["task", "comment", &id, "-m", &comment]).code(4);
}

#[test]
fn many_sweepers_move_a_task_once() {
    let env = environment();
    let ids: Vec<String> = (0..12).map(|_| env.new_task(&["Add login"])).collect();
    for id in &ids {
        let _ = env.say(id, "agent-7", "complete", &[]).success();
    }
    env.pass_minutes(61);
    let children: Vec<_> = (0..6).map(|_| env.start(&["sweep", "--wait", "60s"])).collect();
    for child in children {
        let _ = env.finish("aof sweep", child).success();
    }
    let log = env.git(&["log", "--format=%s"]);
    assert_eq!(log.matches("(timeout)").count(), ids.len(), "{log}");
    check(&env);
}

/// What leads to the act, in minutes and commands; `ID` stands for the task. The last command is the act.
#[cfg(debug_assertions)]
const ACTS: &[(&str, &str, u32, &[&[&str]])] = &[
    ("assigned", "Aof-Event: assigned", 0, &[&["task", "assign", "--claim", "ID", "agent-8"]]),
    (
        "handed over",
        "Aof-Event: assigned",
        0,
        &[&["task", "next", "--agent", "agent-7"], &["task", "assign", "--claim", "ID", "agent-8"]],
    ),
    ("held", "Aof-Event: held", 0, &[&["task", "hold", "ID", "--reason", "Wait"]]),
    (
        "resumed",
        "Aof-Event: unblocked",
        0,
        &[&["task", "hold", "ID", "--reason", "Wait"], &["task", "unblock", "ID"]],
    ),
    (
        "resumed in the second of an override",
        "Aof-Event: unblocked",
        0,
        &[
            &["task", "override", "ID", "--to", "review", "--reason", "Look now"],
            &["task", "hold", "ID", "--reason", "Wait"],
            &["task", "unblock", "ID", "--reason", "Go on"],
        ],
    ),
    (
        "renewed",
        "Aof-Event: renewed",
        0,
        &[&["task", "next", "--agent", "agent-7"], &["task", "renew", "ID", "--agent", "agent-7"]],
    ),
    ("lapsed", "Aof-Event: lapsed", 31, &[&["task", "next", "--agent", "agent-7"], &["sweep"]]),
    ("overdue", "Aof-Event: timeout", 181, &[&["sweep"]]),
    (
        "escalated",
        "Aof-Outcome: timeout",
        61,
        &[
            &[
                "task",
                "complete",
                "ID",
                "--agent",
                "agent-7",
                "--outcome",
                "complete",
                "--summary",
                "Done",
            ],
            &["task", "next", "--agent", "agent-3"],
            &["sweep"],
        ],
    ),
];

#[test]
#[cfg(debug_assertions)]
fn a_killed_step_is_finished_in_its_own_words_or_not_begun() {
    let mut findings = Vec::new();
    for (name, trailer, minutes, commands) in ACTS {
        let ready = environment();
        let id = ready.new_task(&["Add login"]);
        let (act, before) = commands.split_last().unwrap();
        let words = |command: &[&str]| -> Vec<String> {
            command.iter().map(|word| word.replace("ID", &id)).collect()
        };
        for command in before {
            let words = words(command);
            let _ = ready.aof(&words.iter().map(String::as_str).collect::<Vec<_>>()).success();
        }
        ready.pass_minutes(*minutes);
        let was = ready.git(&["log", "--format=%B"]).matches(trailer).count();
        let act = words(act);
        // `kills` passes all the points; what differs from act to act is what is found of it afterwards.
        for point in ["ops.prepared", "ops.file-written", "git.index-moved", "git.ref-moved"] {
            let env = ready.copy();
            let mut command = env.aof_command(&act.iter().map(String::as_str).collect::<Vec<_>>());
            command.env("AOF_STOP_AT", point);
            let killed = env.run(command);
            assert_eq!(killed.code, None, "{name} at {point}: {killed}");
            let _ = env.aof(&["task", "comment", &id, "-m", "Go on"]).success();
            let done = env.git(&["log", "--format=%B"]).matches(trailer).count() - was;
            if done != usize::from(point != "ops.prepared") {
                findings.push(format!(
                    "{name}, killed at {point}: {done} times\n{}",
                    env.git(&["log", "--format=%B"])
                ));
            }
            check(&env);
        }
    }
    assert!(findings.is_empty(), "{} faults:\n{}", findings.len(), findings.join("\n"));
}
