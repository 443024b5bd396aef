//! Forks, as people and agents meet them.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

pub(crate) const FORKED: &str = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - id: parallel-review
      type: fork
      joinStrategy: all
      branches:
        - {id: security, role: security, canReject: true}
        - id: docs
          role: writer
          canReject: true
          when: \"!tags.includes('no-docs')\"
        - {id: style, role: backend, routes: {fine: $next, ugly: $previous}}
    - {id: approve, role: lead}
";

pub(crate) const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  security: {agents: [agent-s]}
  writer: {agents: [agent-w]}
  lead: {agents: [agent-l]}
";

pub(crate) fn environment() -> TestEnvironment {
    TestEnvironment::with_rules(FORKED, PEOPLE)
}

pub(crate) fn at_fork(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    id
}

#[test]
fn branches_are_taken_briefed_completed_and_recorded_each_on_its_own() {
    let env = environment();
    let id = at_fork(&env);
    assert_snapshot!(env.plain(&env.aof(&["task", "show", &id]).to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
    parallel-review  security, writer, backend just now

    Branches
      security  agent-s (role security)
      docs      agent-w (role writer)
      style     agent-7 or agent-8 (role backend)

    File  tasks/AOF-xxxxx.md

    implement ✓ 1 s  > parallel-review
    ");
    assert_snapshot!(env.aof(&["task", "list"]), @"
    exit 0
    --- stdout
    ID         TITLE      GATE             STATUS  WHO                        AGE
    AOF-xxxxx  Add login  parallel-review  ready   security, writer, backend  now
    ");
    assert_snapshot!(env.aof(&["task", "list", "--role", "writer", "--ready"]), @"
    exit 0
    --- stdout
    ID         TITLE      GATE             STATUS  WHO                        AGE
    AOF-xxxxx  Add login  parallel-review  ready   security, writer, backend  now
    ");
    assert_snapshot!(env.aof(&["task", "next", "--agent", "agent-s"]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate parallel-review/security, ticket AOF-xxxxx@1/security

    You review this task: it goes on only if you find it good.

    Expected
      - Compare the result with what the title and the body of the task ask for
      - Name every fault you find, each as a blocker of its own

    Outcomes
      complete      You found it good; it goes on.
      needs_review  It needs fixes. List each fault in blockers; it goes back to be worked on.
      blocked       You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Write blockers that somebody else can act upon: the thing, and what it should be
      - One blocker for each fault

    Complete it
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome complete --summary "..."
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome needs_review --summary "..." --blocker "..."
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome blocked --summary "..." --blocker "..."
    "#);
    assert_snapshot!(env.aof(&["task", "brief", &format!("{id}@1/style")]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate parallel-review/style, ticket AOF-xxxxx@1/style

    You work on this task, and decide how it goes on.

    Expected
      - Do what the title and the body of the task ask for
      - Decide by what you found, not by what is wished for

    Outcomes
      fine     You decide: fine.
      ugly     You decide: ugly.
      blocked  You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Say in the summary what you did and how you checked it

    Complete it
      aof complete AOF-xxxxx@1/style --agent agent-7 --outcome fine --summary "..."
      aof complete AOF-xxxxx@1/style --agent agent-7 --outcome ugly --summary "..."
      aof complete AOF-xxxxx@1/style --agent agent-7 --outcome blocked --summary "..." --blocker "..."
    "#);
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    parallel-review for 6s (visit 1)

    Because
      - `agent-7` ended gate `implement` with `complete` on Feb 16, 10:00, which led to `parallel-review`
      - `agent-s` has claimed branch `security`
      - branch `docs` waits for role writer
      - branch `style` waits for role backend

    Who can move it
      - security: agent-s, who has claimed it (role security)
      - docs: agent-w (role writer)
      - style: agent-7 or agent-8 (role backend)

    What each act would do
      security: approve    passes it for this branch; others are open
      security: send back  counts when the other branches have decided
      security: blocked    holds this branch until a person unblocks it
      docs: approve        passes it for this branch; others are open
      docs: send back      counts when the other branches have decided
      docs: blocked        holds this branch until a person unblocks it
      style: fine          passes it for this branch; others are open
      style: ugly          counts when the other branches have decided
      style: blocked       holds this branch until a person unblocks it
    ");
    assert_snapshot!(env.say(&id, "agent-s", "complete", &["--output", "risk=low"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: parallel-review/security done
      now at parallel-review, ready for docs (writer), style (backend)
    ");
    assert_snapshot!(env.say(&format!("{id}@1/docs"), "agent-w", "complete", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: parallel-review/docs done
      now at parallel-review, ready for style (backend)
    ");
    assert_snapshot!(env.say(&format!("{id}@1/style"), "agent-8", "fine", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: parallel-review/style: fine → approve
      now at approve, ready for agent-l
    ");
    check(&env);
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:14Z
    routing:
      workflow: default
      role: lead
    gate:
      current: approve
      entered: 2026-02-16T10:00:14Z
      visit: 4
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
        to: parallel-review
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: parallel-review/security
        role: security
        agent: agent-s
        entered: 2026-02-16T10:00:05Z
        exited: 2026-02-16T10:00:12Z
        duration: 7
        outcome: complete
        verdict: pass
        summary: Did it
        outputs:
          risk: low
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: parallel-review/docs
        role: writer
        agent: agent-w
        entered: 2026-02-16T10:00:05Z
        exited: 2026-02-16T10:00:13Z
        duration: 8
        outcome: complete
        verdict: pass
        summary: Did it
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: parallel-review/style
        role: backend
        agent: agent-8
        entered: 2026-02-16T10:00:05Z
        exited: 2026-02-16T10:00:14Z
        duration: 9
        outcome: fine
        verdict: pass
        summary: Did it
        join: passed
        to: approve
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
    context:
      parallel-review:
        security:
          risk: low
    ---
    ");
    assert_snapshot!(env.log(), @"
    agent-8: AOF-xxxxx: parallel-review/style -> approve (fine)
    agent-w: AOF-xxxxx: parallel-review/docs (complete)
    agent-s: AOF-xxxxx: parallel-review/security (complete)
    agent-s: AOF-xxxxx: claimed by agent-s at parallel-review/security
    agent-7: AOF-xxxxx: implement -> parallel-review (complete)
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%(trailers)", "--skip=1"]), @"
    Aof-Task: AOF-xxxxx
    Aof-Gate: parallel-review/docs
    Aof-Outcome: complete
    Aof-Agent: agent-w
    Aof-Completion: ULID
    ");
    assert_snapshot!(env.aof(&["task", "history", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login

    Today
      10:00           created
      10:00  agent-7  implement → parallel-review            Did it                                1 s
      10:00  agent-s  parallel-review/security done          Did it                                7 s
      10:00  agent-w  parallel-review/docs done              Did it                                8 s
      10:00  agent-8  parallel-review/style: fine → approve  Did it                                9 s
                                                             passed
      now             at approve                                                                   7 s

    By gate: implement 1 s, parallel-review 9 s, approve 7 s.
    ");
    assert_snapshot!(env.aof(&["gate", "status"]), @"
    exit 0
    --- stdout
    GATE                      ROLE      READY  WAITING  IN PROGRESS  BLOCKED  OLDEST  MEDIAN  REJECTED
    implement                 backend       0        0            0        0       -      1s         -
    parallel-review                         0        0            0        0       -      9s        0%
    parallel-review/security  security      0        0            0        0       -      7s        0%
    parallel-review/docs      writer        0        0            0        0       -      8s        0%
    parallel-review/style     backend       0        0            0        0       -      9s         -
    approve                   lead          1        0            0        0      8s       -         -
    ");
}

#[test]
fn a_demand_of_all_comes_back_once() {
    let env = environment();
    let id = at_fork(&env);
    let _ = env
        .say(&id, "agent-s", "needs_review", &["--blocker", "The session never expires"])
        .success();
    let _ = env.say(&id, "agent-8", "ugly", &[]).success();
    assert!(env.aof(&["task", "show", &id, "--json"]).json()["reviewContext"].is_null());
    let notes = ["--blocker", "The guide does not mention it", "--notes", "see docs/guide.md"];
    assert_snapshot!(env.say(&id, "agent-w", "needs_review", &notes), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to implement
      now at implement, ready for agent-7 or agent-8
    ");
    check(&env);
    assert_snapshot!(env.aof(&["task", "brief", &id]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate implement, ticket AOF-xxxxx@4

    You fix what a review of this task found.

    Expected
      - Settle each thing that was sent back
      - Break nothing else while you do

    Outcomes
      complete  Everything listed is settled; it goes back to be reviewed.
      blocked   You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Say in the summary what you did and how you checked it

    Sent back, 5s ago
      - security: The session never expires
      - style: Did it
      - docs: The guide does not mention it

    docs: see docs/guide.md

    Said
      - sent back by agent-s, 8s ago: Did it
      - sent back by agent-w, 5s ago: Did it

    Complete it
      aof complete AOF-xxxxx@4 --agent agent-7 --outcome complete --summary "..."
      aof complete AOF-xxxxx@4 --agent agent-7 --outcome blocked --summary "..." --blocker "..."
    "#);
    let _ = env.complete(&id, "agent-7").success();
    assert_snapshot!(env.aof(&["task", "brief", &format!("{id}@5/docs")]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate parallel-review/docs, ticket AOF-xxxxx@5/docs

    You review this task again: it was sent back from here, and somebody has worked on it since.

    Expected
      - Check that each thing you sent back is settled
      - Look for faults that the changes brought

    Outcomes
      complete      Everything you asked for is settled; it goes on.
      needs_review  It needs fixes. List each fault in blockers; it goes back to be worked on.
      blocked       You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Write blockers that somebody else can act upon: the thing, and what it should be
      - One blocker for each fault

    Sent back, 7s ago
      - The guide does not mention it

    docs: see docs/guide.md

    Said
      - sent back by agent-s, 10s ago: Did it
        - The session never expires
      - sent back by agent-8, 9s ago: Did it
      - sent back by agent-w, 7s ago: Did it
      - came back by agent-7, 1s ago: Did it

    Complete it
      aof complete AOF-xxxxx@5/docs --agent agent-w --outcome complete --summary "..."
      aof complete AOF-xxxxx@5/docs --agent agent-w --outcome needs_review --summary "..." --blocker "..."
      aof complete AOF-xxxxx@5/docs --agent agent-w --outcome blocked --summary "..." --blocker "..."
    "#);
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    parallel-review for 2s (visit 5)

    Because
      - `agent-7` ended gate `implement` with `complete` on Feb 16, 10:00, which led to `parallel-review`
      - branch `security` waits for role security
      - branch `docs` waits for role writer
      - branch `style` waits for role backend
      - a reviewer at gate `parallel-review` wants this settled: security: The session never expires; style: Did it; docs: The guide does not mention it; docs: see docs/guide.md

    Who can move it
      - security: agent-s (role security)
      - docs: agent-w (role writer)
      - style: agent-7 or agent-8 (role backend)

    What each act would do
      security: approve    passes it for this branch; others are open
      security: send back  counts when the other branches have decided
      security: blocked    holds this branch until a person unblocks it
      docs: approve        passes it for this branch; others are open
      docs: send back      counts when the other branches have decided
      docs: blocked        holds this branch until a person unblocks it
      style: fine          passes it for this branch; others are open
      style: ugly          counts when the other branches have decided
      style: blocked       holds this branch until a person unblocks it
    ");
    for (agent, outcome) in [("agent-s", "complete"), ("agent-w", "complete"), ("agent-7", "fine")]
    {
        let _ = env.say(&id, agent, outcome, &[]).success();
    }
    let _ = env.complete(&id, "agent-l").success();
    check(&env);
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
}

#[test]
fn a_blocked_branch_and_one_without_agents_hold_only_themselves() {
    let env = TestEnvironment::with_rules(FORKED, &PEOPLE.replace("[agent-w]", "[]"));
    let id = at_fork(&env);
    assert_snapshot!(env.aof(&["task", "show", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
    parallel-review  security, backend just now

    Branches
      security  agent-s (role security)
      docs      blocked: No agents available for role: writer (role writer)
      style     agent-7 or agent-8 (role backend)

    File  tasks/AOF-xxxxx.md

    implement ✓ 1 s  > parallel-review
    ");
    let _ = env.say(&id, "agent-s", "blocked", &["--blocker", "No access to staging"]).success();
    let _ = env.say(&id, "agent-7", "fine", &[]).success();
    assert_snapshot!(env.aof(&["status"]), @r#"
    exit 0
    --- stdout
    on main
    1 open: 1 blocked

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 2
      ! AOF-xxxxx is blocked: security: No access to staging; docs: No agents available for role: writer
        see `aof why AOF-xxxxx`; then `aof unblock AOF-xxxxx --reason "..."`
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    "#);
    let _ = env
        .aof(&["task", "unblock", &format!("{id}@1/security"), "--reason", "Access is there"])
        .success();
    assert_snapshot!(env.aof(&["task", "next", "--agent", "agent-s", "--dry-run"]), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate parallel-review/security, ticket AOF-xxxxx@1/security

    You review this task: it goes on only if you find it good.

    Expected
      - Compare the result with what the title and the body of the task ask for
      - Name every fault you find, each as a blocker of its own

    Outcomes
      complete      You found it good; it goes on.
      needs_review  It needs fixes. List each fault in blockers; it goes back to be worked on.
      blocked       You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Write blockers that somebody else can act upon: the thing, and what it should be
      - One blocker for each fault

    Said
      - blocked by agent-s, 4s ago: Did it
        - No access to staging
      - unblocked by Ada, 1s ago: Access is there

    Complete it
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome complete --summary "..."
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome needs_review --summary "..." --blocker "..."
      aof complete AOF-xxxxx@1/security --agent agent-s --outcome blocked --summary "..." --blocker "..."
    --- stderr
    AOF-xxxxx@1/security would be claimed (dry run: nothing was written)
    "#);
    let _ = env.aof(&["task", "next", "--agent", "agent-s"]).success();
    let _ = env.aof(&["task", "release", &id, "--agent", "agent-s"]).success();
    let _ = env.say(&id, "agent-s", "complete", &[]).success();
    check(&env);
    env.write("org.yaml", PEOPLE);
    env.commit_all("a writer");
    let _ = env.aof(&["task", "unblock", &id, "--reason", "there is a writer"]).success();
    let _ = env.complete(&id, "agent-w").success();
    assert!(env.task_text(&id).contains("current: approve"));
    check(&env);
}

#[test]
fn a_person_may_leave_a_fork() {
    let env = environment();
    let id = at_fork(&env);
    let _ = env.say(&id, "agent-s", "complete", &[]).success();
    let branch = format!("{id}@1/docs");
    assert_snapshot!(env.aof(&["task", "cancel", &branch, "--reason", "No"]), @"
    exit 4
    --- stderr
    error: `cancel` is about the whole task, and `AOF-xxxxx@1/docs` names a branch of it

    hint: if that is what you want: `aof cancel AOF-xxxxx`
    ");
    let _ =
        env.aof(&["task", "release", &format!("{id}@1/nonsense"), "--agent", "agent-s"]).code(4);
    assert_snapshot!(env.aof(&["task", "override", &id, "--to", "approve", "--reason", "It is urgent"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: parallel-review → approve (override)
      now at approve, ready for agent-l
    ");
    let _ = env.say(&format!("{id}@1/docs"), "agent-w", "complete", &[]).code(5);
    let _ = env
        .aof(&["task", "override", &id, "--to", "parallel-review", "--reason", "Not so fast"])
        .success();
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Nobody wants it"]).success();
    let _ = env
        .aof(&["task", "reopen", &id, "--to", "parallel-review", "--reason", "Somebody does"])
        .success();
    assert!(env.task_text(&id).contains("visit: 6"), "{}", env.task_text(&id));
    check(&env);
}

#[test]
fn a_fork_without_an_applicable_branch_is_passed_in_its_own_commit() {
    let rules = FORKED
        .replace(
            "role: security, canReject",
            "role: security, when: tags.includes('risky'), canReject",
        )
        .replace("role: backend, routes", "role: backend, when: 'false', routes");
    let env = TestEnvironment::with_rules(&rules, PEOPLE);
    let id = env.new_task(&["Add login", "--tag", "no-docs"]);
    assert_snapshot!(env.complete(&id, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → approve
      now at approve, ready for agent-l (passed over: security, docs, style)
    ");
    assert_snapshot!(env.log(), @"
    agent-7: AOF-xxxxx: parallel-review -> approve (complete)
    agent-7: AOF-xxxxx: implement -> parallel-review (complete)
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    check(&env);
}

#[test]
fn a_fork_is_judged_again_when_a_branch_is_taken_out_of_the_rules() {
    let env = environment();
    let id = at_fork(&env);
    let _ = env
        .say(&id, "agent-s", "needs_review", &["--blocker", "The session never expires"])
        .success();
    let _ = env.complete(&id, "agent-w");
    let style = "        - {id: style, role: backend, routes: {fine: $next, ugly: $previous}}\n";
    env.write("project.yaml", FORKED.replace(style, ""));
    let _ = env.git(&["commit", "-qam", "fewer branches"]);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_snapshot!(env.plain(&env.aof(&["task", "brief", &id]).to_string()), @r#"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      gate implement, ticket AOF-xxxxx@4

    You fix what a review of this task found.

    Expected
      - Settle each thing that was sent back
      - Break nothing else while you do

    Outcomes
      complete  Everything listed is settled; it goes back to be reviewed.
      blocked   You cannot go on: something outside is missing. Name it in blockers; the task waits here.

    Tips
      - Say in the summary what you did and how you checked it

    Sent back by agent-s, 1s ago
      - security: The session never expires

    Said
      - sent back by agent-s, 4s ago: Did it
      - handed on by agent-w, 3s ago: Did it

    Complete it
      aof complete AOF-xxxxx@4 --agent agent-7 --outcome complete --summary "..."
      aof complete AOF-xxxxx@4 --agent agent-7 --outcome blocked --summary "..." --blocker "..."
    "#);
    assert_snapshot!(env.plain(&env.log()), @"
    Ada: AOF-xxxxx: parallel-review -> implement (needs_review)
    Ada: fewer branches
    agent-w: AOF-xxxxx: parallel-review/docs (complete)
    agent-s: AOF-xxxxx: parallel-review/security (needs_review)
    agent-7: AOF-xxxxx: implement -> parallel-review (complete)
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    check(&env);
}

#[test]
fn everything_wrong_with_a_fork_is_reported_at_once() {
    let env = TestEnvironment::without_rules();
    env.write("org.yaml", PEOPLE);
    env.write(
        "project.yaml",
        "\
workflow:
  gates:
    - {id: implement, role: backend}
    - id: review
      type: fork
      branches:
        - {id: docs, role: writr, canReject: true}
        - {id: docs, role: writer, routes: {good: approve, bad: $previous}}
        - {id: implement, role: backend}
    - {id: lone, type: fork, branches: [{id: one, role: lead}]}
    - {id: approve, role: lead}
",
    );
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[unknown_role]: there is no role `writr` in org.yaml
     --> project.yaml:7:28
      |
    7 |         - {id: docs, role: writr, canReject: true}
      |                            ^^^^^
      |
      = help: did you mean `writer`? the roles of org.yaml are `backend`, `security`, `writer`, `lead`

    error[duplicate_branch]: branch `docs` is defined twice
     --> project.yaml:8:16
      |
    8 |         - {id: docs, role: writer, routes: {good: approve, bad: $previous}}
      |                ^^^^
      |
      = help: give each branch of a fork a name of its own

    error[branch_leads_away]: `approve` cannot be where `good` leads at a branch: the fork says where the task goes
     --> project.yaml:8:45
      |
    8 |         - {id: docs, role: writer, routes: {good: approve, bad: $previous}}
      |                                             ^^^^
      |
      = help: name one of `$next`, `$previous`, `$hold`: `$next` passes the task, `$previous` rejects it, `$hold` waits

    error[branch_named_like_gate]: branch `implement` is named like a gate of the workflow: nobody could tell which is meant
     --> project.yaml:9:16
      |
    9 |         - {id: implement, role: backend}
      |                ^^^^^^^^^
      |
      = help: give it a name of its own

    error[fork_without_branches]: fork `lone` has fewer than two branches
      --> project.yaml:10:40
       |
    10 |     - {id: lone, type: fork, branches: [{id: one, role: lead}]}
       |                                        ^^^^^^^^^^^^^^^^^^^^^^^
       |
       = help: add branches, or make it a gate with a `role`

    invalid: 5 errors
    ");
    env.write(
        "project.yaml",
        "\
workflow:
  gates:
    - {id: implement, role: backend, branches: []}
    - id: review
      type: fork
      canReject: true
      branches:
        - {id: a, role: writer, type: fork, branches: []}
        - {id: b, role: writer, maxRetries: 2}
",
    );
    assert_snapshot!(env.aof(&["workflow", "validate"]), @"
    exit 6
    --- stdout
    error[dead_field]: `branches` is for gates of `type: fork`
     --> project.yaml:3:38
      |
    3 |     - {id: implement, role: backend, branches: []}
      |                                      ^^^^^^^^
      |
      = help: add `type: fork`, or remove it

    error[unknown_field]: a gate has no field `canReject`
     --> project.yaml:6:7
      |
    6 |       canReject: true
      |       ^^^^^^^^^
      |
      = help: a fork is its branches' work: say it at each branch; the fork itself has `when`, `branches`, `joinStrategy`, `routes`, `rejectTo`, `maxRetries`, `onExhausted` and `detour`

    error[unknown_field]: a branch has no field `type`
     --> project.yaml:8:33
      |
    8 |         - {id: a, role: writer, type: fork, branches: []}
      |                                 ^^^^
      |
      = help: a branch is always somebody's work: a fork has no forks and no conditions inside

    error[unknown_field]: a branch has no field `branches`
     --> project.yaml:8:45
      |
    8 |         - {id: a, role: writer, type: fork, branches: []}
      |                                             ^^^^^^^^
      |
      = help: a fork has no forks inside: name all branches side by side

    error[unknown_field]: a branch has no field `maxRetries`
     --> project.yaml:9:33
      |
    9 |         - {id: b, role: writer, maxRetries: 2}
      |                                 ^^^^^^^^^^
      |
      = help: the fork says how often it sends back

    invalid: 5 errors
    ");
}

#[test]
fn a_fork_is_shown_with_its_branches() {
    let env = environment();
    assert_snapshot!(env.aof(&["workflow", "show"]), @"
    exit 0
    --- stdout
    default

    ╭▸○  implement        backend (agent-7, agent-8)
    │ │
    ╰─○  parallel-review  3 branches at once, until all of them pass
      │                   needs_review -> implement
      ├                   security  security (agent-s)
      │                     needs_review rejects
      ├                   docs  writer (agent-w)
      │                     when !tags.includes('no-docs')
      │                     needs_review rejects
      ├                   style  backend (agent-7, agent-8)
      │                     fine passes
      │                     ugly rejects
      │
      ○  approve          lead (agent-l)
      │
      ●  end
    ");
    let value = env.aof(&["workflow", "show", "--json"]).json();
    assert_eq!(value["gates"][1]["joinStrategy"], "all");
    assert_eq!(value["gates"][1]["branches"][2]["outcomes"]["ugly"], "reject");
}

#[test]
fn a_fork_that_became_work_shows_no_branches() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: check, type: fork, branches: [{id: a, role: writer}, {id: b, role: writer}]}\n",
        "roles:\n  writer: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    env.write("project.yaml", "workflow:\n  gates:\n    - {id: check, role: writer}\n");
    env.commit_all("other rules");
    let why = env.aof(&["why", &id]).success();
    assert!(
        why.stdout.contains("agent-7 (role writer)") && !why.stdout.contains("  - a: "),
        "{why}"
    );
}
