//! Workflows with routes of their own, as people and agents meet them.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{ORG, TestEnvironment};

const LOOP: &str = "\
workflow:
  visibleTo: [planner, worker, reviewer]
  gates:
    - {id: plan, role: planner}
    - {id: work, role: worker}
    - {id: mend, role: worker, detour: true}
    - id: review
      role: reviewer
      separateFrom: [work]
      maxRetries: 1
      onExhausted: {escalateTo: planner}
      routes:
        approved: $next
        needs_review: mend
        rejected: {to: plan, clear: [work]}
        withdrawn: {to: $end, as: cancelled}
    - id: size
      type: condition
      when: context.plan.days > 5
      routes: {true: document, false: $end}
    - {id: document, role: worker}
";

const PEOPLE: &str = "\
roles:
  planner: {agents: [agent-p]}
  worker: {agents: [agent-w, agent-v]}
  reviewer: {agents: [agent-r, agent-w]}
  other: {agents: [agent-o]}
";

fn environment() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.write("project.yaml", LOOP);
    env.write("org.yaml", PEOPLE);
    env.commit_all("routes");
    env
}

#[test]
fn a_task_goes_round_and_a_gate_that_decides_by_itself_commits_its_own_entry() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-p", "complete", &["--output", "days=3"]).success();
    let _ = env.complete(&id, "agent-w").success();
    assert_snapshot!(env.say(&id, "agent-w", "approved", &[]), @"
    exit 4
    --- stderr
    error: `agent-w` worked on task `AOF-xxxxx` at gate `work`, and gate `review` is for somebody else

    hint: leave it to another agent of the role; see who can complete it with `aof why AOF-xxxxx`
    ");
    assert_snapshot!(env.say(&id, "agent-r", "complete", &[]), @r#"
    exit 4
    --- stderr
    error: `complete` is not an outcome of gate `review`

    hint: valid here: `approved`, `rejected`, `withdrawn`, `needs_review`, `blocked`
      `approved`  a decision of this gate; the brief says what it means
      `rejected`  a decision of this gate; the brief says what it means
      `withdrawn`  a decision of this gate; the brief says what it means
      `needs_review`  you found something that somebody else must fix (list it in `blockers`)
      `blocked`  something outside stops you (name it in `blockers`)

    example:
      aof complete AOF-xxxxx@2 --agent agent-r --outcome approved \
        --summary "Looked at everything that the brief names"
    "#);
    assert_snapshot!(env.say(&id, "agent-r", "aproved", &[]), @r#"
    exit 4
    --- stderr
    error: `aproved` is not an outcome of gate `review`

    hint: did you mean `approved`? valid here: `approved`, `rejected`, `withdrawn`, `needs_review`, `blocked`
      `approved`  a decision of this gate; the brief says what it means
      `rejected`  a decision of this gate; the brief says what it means
      `withdrawn`  a decision of this gate; the brief says what it means
      `needs_review`  you found something that somebody else must fix (list it in `blockers`)
      `blocked`  something outside stops you (name it in `blockers`)

    example:
      aof complete AOF-xxxxx@2 --agent agent-r --outcome approved \
        --summary "Looked at everything that the brief names"
    "#);
    assert_snapshot!(env.say(&id, "agent-r", "needs_review", &["--blocker", "The session never expires"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to mend
      now at mend, ready for agent-w or agent-v
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    mend for 1s (visit 3)

    Because
      - `agent-r` sent it back from gate `review` to `mend` on Feb 16, 10:00
      - nobody has claimed it
      - `agent-r` at gate `review` wants this settled: The session never expires

    Who can move it
      - agent-w or agent-v (role worker)

    What each act would do
      done     leads to review (role reviewer), which waits for an answer
      blocked  holds it here until a person unblocks it
    ");
    let _ = env.complete(&id, "agent-v").success();
    assert_snapshot!(env.say(&id, "agent-r", "Approved", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: review: approved → done
      now complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    assert_snapshot!(env.aof(&["task", "history", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login

    Today
      10:00           created
      10:00  agent-p  plan → work              Did it                                              1 s
      10:00  agent-w  work → review            Did it                                              1 s
      10:00  agent-r  sent back to mend        Did it                                              4 s
                                               - The session never expires
      10:00  agent-v  mend → review            Did it                                              2 s
      10:00  agent-r  review: approved → size  Did it                                              1 s
      10:00           size: false → done       The condition is false: context.plan.days > 5       0 s

    By gate: plan 1 s, work 1 s, review 5 s, mend 2 s, size 0 s. Sent back once.
    ");
    assert_snapshot!(env.plain(&env.git(&["log", "--format=%s%n%an %(trailers:key=Aof-Outcome,separator=%x2C)", "-3"])), @"
    AOF-xxxxx: size -> end (false)
    agent-r Aof-Outcome: false
    AOF-xxxxx: review -> size (approved)
    agent-r Aof-Outcome: approved
    AOF-xxxxx: mend -> review (complete)
    agent-v Aof-Outcome: complete
    ");
    check(&env);
}

#[test]
fn a_task_sent_back_too_often_is_the_roles_that_it_escalates_to() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-p").success();
    let _ = env.complete(&id, "agent-v").success();
    let reject =
        || env.say(&id, "agent-r", "needs_review", &["--blocker", "The session never expires"]);
    let _ = reject().success();
    let _ = env.complete(&id, "agent-v").success();
    assert_snapshot!(reject(), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to mend
      now at mend, ready for agent-p
    ");
    assert_snapshot!(env.aof(&["task", "list"]), @"
    exit 0
    --- stdout
    ID         TITLE      GATE  STATUS  WHO      AGE
    AOF-xxxxx  Add login  mend  ready   planner  now
    ");
    assert_snapshot!(env.aof(&["task", "next", "--agent", "agent-v"]), @"
    exit 0
    --- stderr
    nothing to do for `agent-v` in role `worker`
    ");
    assert_snapshot!(env.aof(&["task", "next", "--agent", "agent-p"]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate mend, ticket AOF-xxxxx@5
      escalated to role `planner` at 2026-02-16T10:00:11Z from `agent-r` (role reviewer): sent back 2 times, too often

    You fix what a review of this task found.

    Expected
      - Settle each thing that was sent back
      - Break nothing else while you do

    Outcomes
      complete  Everything listed is settled; it goes back to be reviewed.
      blocked   You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Say in the summary what you did and how you checked it

    Sent back by agent-r, 3s ago
      - The session never expires

    Said
      - sent back by agent-r, 3s ago: Did it

    Complete it
      aof complete AOF-xxxxx@5 --agent agent-p --outcome complete --summary "..."
      aof complete AOF-xxxxx@5 --agent agent-p --outcome blocked --summary "..." --blocker "..."
    "#);
    assert_snapshot!(env.complete(&id, "agent-p"), @"
    exit 0
    --- stdout
    AOF-xxxxx: mend → review
      now at review, ready for agent-r or agent-w
    ");
    check(&env);
}

#[test]
fn a_workflow_is_visible_to_its_roles_only() {
    let env = environment();
    assert_snapshot!(env.aof(&["workflow", "list", "--agent", "agent-w"]), @"
    exit 0
    --- stdout
    NAME     GATES
    default  plan -> work -> mend -> review -> size -> document
    ");
    assert_snapshot!(env.aof(&["workflow", "list", "--agent", "agent-o"]), @"
    exit 0
    --- stderr
    no workflow is for `agent-o` to start
    ");
    env.write(
        "org.yaml",
        format!("{PEOPLE}agents:\n  agent-o: {{may: [new]}}\n  agent-p:\n  agent-w:\n  agent-v:\n  agent-r:\n"),
    );
    env.commit_all("may");
    assert_snapshot!(env.aof(&["task", "new", "Mine", "--agent", "agent-o"]), @"
    exit 4
    --- stderr
    error: workflow `default` is not for `agent-o`

    hint: it is started by `planner`, `worker`, `reviewer`; see what you may start with `aof workflow list`
    ");
    assert_snapshot!(env.aof(&["workflow", "show"]), @"
    exit 0
    --- stdout
    default

    ╭─▸○  plan      planner (agent-p)
    │  │
    │  ○  work      worker (agent-w, agent-v)
    │  │
    │╭▸○  mend      worker (agent-w, agent-v)
    ││ │            entered only by a route, and left to where the task came from
    ││ │
    ╰┴─○  review    reviewer (agent-r, agent-w)
       │            approved -> $next
       │            needs_review -> mend
       │            rejected -> plan
       │            withdrawn -> $end as cancelled
       │            sends back once at most, then the work is planner's
       │            not for the agent that worked at work
       │
       ○  size      decides by itself
       │            when context.plan.days > 5
       │            true -> document
       │            false -> $end
       │
       ○  document  worker (agent-w, agent-v)
       │
       ●  end
    ");
}

#[test]
fn mistakes_in_routes_are_reported_with_their_place() {
    let env = environment();
    let wrong = LOOP
        .replace(
            "needs_review: mend",
            "needs_review: document\n        Approved: work\n        again: review",
        )
        .replace("rejected: {to: plan, clear: [work]}", "rejected: {to: plna, as: cancelled}");
    env.write("project.yaml", wrong);
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[unreachable_gate]: no task ever comes to gate `mend`
     --> project.yaml:6:12
      |
    6 |     - {id: mend, role: worker, detour: true}
      |            ^^^^
      |
      = help: name it as the target of a route, or remove it

    error[reject_forward]: `needs_review` would lead on to `document`: work that failed a review would pass it
      --> project.yaml:14:9
       |
    14 |         needs_review: document
       |         ^^^^^^^^^^^^
       |
       = help: name an earlier gate, a gate with `detour: true`, `$origin`, `$previous`, `$hold` or `$fail`

    error[ambiguous_decision]: `Approved` and `approved` differ in case alone: they are one decision
      --> project.yaml:15:9
       |
    15 |         Approved: work
       |         ^^^^^^^^
       |
       = help: rename one of the two

    error[unknown_gate]: there is no gate `plna` in workflow `default`
      --> project.yaml:17:24
       |
    17 |         rejected: {to: plna, as: cancelled}
       |                        ^^^^
       |
       = help: did you mean `plan`? its gates are `plan`, `work`, `mend`, `review`, `size`, `document`

    error[dead_field]: `as` would be ignored: `plna` ends nothing
      --> project.yaml:17:30
       |
    17 |         rejected: {to: plna, as: cancelled}
       |                              ^^
       |
       = help: it says what a task is after `to: $end`

    invalid: 5 errors
    ");
    env.write(
        "project.yaml",
        LOOP.replace("needs_review: mend", "again: review")
            .replace("maxRetries: 1", "brief: {outcomes: {okay: yes}}"),
    );
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[self_loop]: `again` leads gate `review` to itself
      --> project.yaml:14:9
       |
    14 |         again: review
       |         ^^^^^
       |
       = help: say how often with `maxRetries`, use `$hold` to wait for a person, or `onFailure` to try again

    error[dead_field]: gate `review` has no outcome `okay`: nobody would read what it means
      --> project.yaml:10:25
       |
    10 |       brief: {outcomes: {okay: yes}}
       |                         ^^^^^^^^^^^
       |
       = help: its decisions are `approved`, `again`, `rejected`, `withdrawn`

    error[unreachable_gate]: no task ever comes to gate `mend`
     --> project.yaml:6:12
      |
    6 |     - {id: mend, role: worker, detour: true}
      |            ^^^^
      |
      = help: name it as the target of a route, or remove it

    note[shared_agent]: `agent-w` is in 2 roles: `worker`, `reviewer`
     --> org.yaml:4:32
      |
    4 |   reviewer: {agents: [agent-r, agent-w]}
      |                                ^^^^^^^
      |
      = help: fine for a small team; note that it may review its own work where `worker` hands on to `reviewer`

    invalid: 3 errors, 1 note
    ");
}

#[test]
fn why_shows_the_effect_of_each_outcome() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-p").success();
    let _ = env.complete(&id, "agent-v").success();
    let consequences = || {
        env.aof(&["why", &id]).success().stdout.split("What each act").nth(1).unwrap().to_owned()
    };
    assert_snapshot!(consequences(), @"
    would do
     approve    leads to size, which decides by itself
     rejected   sends it back to plan (role planner), the 1st time of 1, and forgets what `work` handed on
     withdrawn  cancels the task
     send back  sends it to mend (role worker), the 1st time of 1; from there it comes back here
     blocked    holds it here until a person unblocks it
    ");
    let _ = env
        .say(&id, "agent-r", "needs_review", &["--blocker", "The session never expires"])
        .success();
    assert_snapshot!(consequences(), @"
    would do
     done     leads to review (role reviewer), which waits for an answer
     blocked  holds it here until a person unblocks it
    ");
    let _ = env.complete(&id, "agent-v").success();
    assert_snapshot!(consequences(), @"
    would do
     approve    leads to size, which decides by itself
     rejected   sends it back to plan (role planner), the 1st time of 1, and forgets what `work` handed on
     withdrawn  cancels the task
     send back  would be the 2nd way back to mend; one is allowed: it goes there, and is for planner
     blocked    holds it here until a person unblocks it
    ");
    let why = env.aof(&["why", &id, "--json"]).success().json();
    assert_eq!(why["outcomes"][1]["outcome"], "rejected");
    assert_eq!(
        (&why["outcomes"][1]["retry"], &why["outcomes"][1]["cleared"][0]),
        (&1.into(), &"work".into())
    );
    assert_eq!(why["outcomes"][3]["exhausted"], serde_json::json!({"to": "mend", "retry": 2}));
    assert_eq!(
        (&why["outcomes"][3]["escalatedTo"], &why["outcomes"][3]["maxRetries"]),
        (&"planner".into(), &1.into())
    );
}

#[test]
fn why_shows_the_effect_of_an_exhausted_route_back() {
    for (exhausted, output) in [
        (
            "$hold",
            "would be the 3rd way back to work; 2 are allowed: it goes there and waits for a person",
        ),
        ("$fail", "would be the 3rd way back to work; 2 are allowed: the task fails"),
        (
            "{to: $end, as: cancelled}",
            "would be the 3rd way back to work; 2 are allowed: the task is cancelled",
        ),
        (
            "plan",
            "would be the 3rd way back to work; 2 are allowed: it goes to plan (role planner) instead",
        ),
        (
            "{escalateTo: reviewer}",
            "would be the 3rd way back to work; 2 are allowed: it goes there, and is for reviewer",
        ),
    ] {
        let project = format!(
            "workflow:\n  gates:\n    - {{id: plan, role: planner}}\n    - {{id: work, role: worker}}\n    - \
             {{id: test, role: reviewer, routes: {{good: $next, bad: work}}, maxRetries: 2, onExhausted: {exhausted}}}\n"
        );
        let env = TestEnvironment::with_rules(&project, PEOPLE);
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-p").success();
        for _ in 0..2 {
            let _ = env.complete(&id, "agent-v").success();
            let _ = env.say(&id, "agent-r", "bad", &[]).success();
        }
        let _ = env.complete(&id, "agent-v").success();
        let why = env.aof(&["why", &id]).success();
        assert!(why.stdout.contains(output), "{exhausted}: {why}");
        let _ = env.say(&id, "agent-r", "bad", &[]).success();
        check(&env);
    }
}

/// Returns the subjects of the last commits, newest first, without the task's id.
fn last_subjects(env: &TestEnvironment, count: &str, id: &str) -> String {
    env.git(&["log", "--format=%s", "-n", count]).replace(&format!("{id}: "), "")
}

#[test]
fn a_task_at_a_gate_that_became_automatic_goes_on_with_the_next_act() {
    let rules = "workflow:\n  gates:\n    - {id: implement, role: backend}\n    - {id: review, role: architect}\n";
    let env = TestEnvironment::with_rules(rules, ORG);
    let (one, two) = (env.new_task(&["Add login", "--tag", "big"]), env.new_task(&["Add logout"]));
    let by_itself = "type: condition, when: \"tags.includes('big')\", routes: {'true': {to: review}, 'false': {to: $end}}";
    env.edit("project.yaml", "role: backend", by_itself);
    env.commit_all("rules");
    let _ = env.aof(&["workflow", "validate"]).success();
    assert_snapshot!(env.aof(&["why", &one]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    implement for 5s (visit 0)

    Because
      - it was created on Feb 16, 10:00 and began at gate `implement`
      - gate `implement` decides by itself: `aof watch`, `aof org reload`, or the next command that changes the task, moves it on
      - it came there under earlier rules (HASH); it goes on under those in force (HASH)

    Who can move it
      - nobody: the rules have changed since it came there
    ");
    let say = [
        "task",
        "complete",
        &one,
        "--agent",
        "agent-3",
        "--outcome",
        "complete",
        "--summary",
        "Fine",
        "--dry-run",
    ];
    // What is said is meant for the gate that it was said at, and that has decided by then.
    let _ = env.aof(&say).code(5);
    assert_eq!(last_subjects(&env, "1", &one), "rules\n");
    let _ = env.say(&one, "agent-3", "complete", &[]).code(5);
    assert_eq!(last_subjects(&env, "1", &one), "implement -> review (true)\n");
    let _ = env.say(&one, "agent-3", "complete", &[]).success();
    assert_eq!(
        last_subjects(&env, "2", &one),
        "review -> end (complete)\nimplement -> review (true)\n"
    );
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(last_subjects(&env, "1", &two), "implement -> end (false)\n");
    check(&env);
}

#[test]
fn an_automatic_decision_that_git_took_back_is_made_again() {
    let env = environment();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-p", "complete", &["--output", "days=9"]).success();
    let _ = env.complete(&id, "agent-w").success();
    let _ = env.say(&id, "agent-r", "approved", &[]).success();
    assert_eq!(last_subjects(&env, "1", &id), "size -> document (true)\n");
    for way in [&["watch", "--once"][..], &["task", "comment", &id, "-m", "On it"]] {
        env.git(&["reset", "--quiet", "--hard", ":/review -> size"]);
        assert_eq!(last_subjects(&env, "1", &id), "review -> size (approved)\n");
        let _ = env.aof(way).success();
        assert!(last_subjects(&env, "2", &id).contains("size -> document (true)\n"), "{way:?}");
        check(&env);
    }
}

#[test]
fn why_names_no_agent_for_a_task_that_the_loop_guard_holds() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: developer}\n    - {id: review, role: reviewer, canReject: true, \
         routes: {needs_review: implement}, maxRetries: 0}\n",
        "roles:\n  developer: {agents: [agent-7]}\n  reviewer: {agents: [agent-3]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "The session never expires"])
        .success();
    let refused = env.say(&id, "agent-7", "complete", &["--json"]).code(4);
    assert_eq!(refused.json()["error"], "circular_loop");

    let why = env.aof(&["why", &id]).success();
    let output = why.stdout.split("Who can move it").nth(1).unwrap();
    assert!(output.contains("nobody in role developer before a person has looked at it"), "{why}");
    assert!(output.contains("`aof unblock AOF-xxxxx --reason"), "{why}");
    assert_eq!(env.aof(&["why", &id, "--json"]).success().json()["who"], serde_json::json!([]));
    let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(shown["available"]["agents"], serde_json::json!([]));
}

#[test]
fn why_shows_no_escape_codes_and_no_agent_for_an_automatic_decision() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: size, type: condition, when: 'true', routes: {true: $next, false: $fail}}\n    \
         - id: checks\n      type: fork\n      branches:\n        - {id: docs, role: writer}\n        \
         - {id: ghost, role: nobody}\n",
        "roles:\n  writer: {agents: [agent-7]}\n  nobody: {agents: []}\n",
    );
    let id = env.new_task(&["Add login"]);
    let why = env.aof(&["why", &id, "--color", "always"]).success();
    assert!(!why.stdout.contains("u{1b}"), "{why}");
    assert!(why.stdout.contains("ghost: blocked: No agents available for role: nobody"), "{why}");
    assert!(why.stdout.contains("gate `size` came to `true` by itself"), "{why}");
}

#[test]
fn a_detour_for_exhausted_rejections_leads_back_to_the_rejecting_gate() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    - {id: rescue, role: worker, detour: true}\n    \
         - {id: review, role: worker, canReject: true, maxRetries: 0, onExhausted: {to: rescue}}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let rejected = env
        .say(&id, "agent-7", "needs_review", &["--blocker", "The session never expires"])
        .success();
    assert!(rejected.stdout.contains("sent back to rescue"), "{rejected}");
    let rescued = env.complete(&id, "agent-7");
    assert!(rescued.stdout.contains("rescue → review"), "{rescued}");
}

#[test]
fn numbers_that_are_none_are_reported_in_plain_words() {
    let env = TestEnvironment::new();
    for (field, value) in [
        ("maxRetries", "-1"),
        ("maxRetries", "many"),
        ("maxRetries", "99999999999"),
        ("maxRetries", "''"),
        ("maxItems", "-2"),
    ] {
        env.write("project.yaml", format!("workflow:\n  gates:\n    - {{id: a, role: backend}}\n    - {{id: b, role: backend, forEach: a.list, {field}: {value}, routes: {{x: a, y: $next}}}}\n"));
        let output = env.aof(&["workflow", "validate"]).code(6).to_string();
        assert!(output.contains("this is a whole number from 0 on, not"), "{output}");
        assert!(!output.contains("invalid digit") && !output.contains("target type"), "{output}");
    }
}
