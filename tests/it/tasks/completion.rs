//! `aof complete`: what it does and what it says.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;

/// A task of a fixed id, at its first gate.
pub(crate) fn task(env: &TestEnvironment, id: &str) {
    env.hand_made(id, "Add login");
    let _ = env
        .say(id, "agent-7", "blocked", &["--blocker", "Waiting for the platform team's API spec"])
        .success();
}

/// A task of a fixed id that waits for its review.
pub(crate) fn at_review(env: &TestEnvironment, id: &str) {
    env.hand_made(id, "Add login");
    let _ = env.complete(id, "agent-7");
}

/// Expects that nothing has happened since.
#[track_caller]
pub(crate) fn unchanged(env: &TestEnvironment, head: &str) {
    assert_eq!(env.head(), head, "a commit was made");
    check(env);
}

#[test]
fn a_task_goes_all_the_way() {
    let env = TestEnvironment::new();
    let id = env.new_task(&[
        "Add login",
        "--tag",
        "auth",
        "--meta",
        "priority=high",
        "--body",
        "Users want in.",
    ]);
    assert_snapshot!(env.complete(&id, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review
      now at review, ready for agent-3
    ");
    assert_snapshot!(env.say(&id, "agent-3", "needs_review", &[
        "--blocker", "No error handling for expired tokens", "--blocker", "Coverage is 65%, the target is 80%", "--notes", "Nearly there",
    ]), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to implement
      now at implement, ready for agent-7 or agent-8
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:06Z
    routing:
      workflow: default
      role: backend
    gate:
      current: implement
      entered: 2026-02-16T10:00:06Z
      visit: 2
    workflowHash: HASH
    tags:
      - auth
    metadata:
      priority: high
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
        exited: 2026-02-16T10:00:06Z
        duration: 1
        outcome: needs_review
        summary: Did it
        blockers:
          - No error handling for expired tokens
          - Coverage is 65%, the target is 80%
        rejectionNotes: Nearly there
        to: implement
        retry: 1
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
    reviewContext:
      fromGate: review
      fromAgent: agent-3
      fromRole: architect
      timestamp: 2026-02-16T10:00:06Z
      blockers:
        - No error handling for expired tokens
        - Coverage is 65%, the target is 80%
      notes: Nearly there
    ---

    Users want in.
    ");
    let _ = env.complete(&id, "agent-8");
    assert!(
        env.task_text(&id).contains("reviewContext:"),
        "a rejection is answered by its gate alone"
    );
    assert_snapshot!(env.complete(&id, "agent-3"), @"
    exit 0
    --- stdout
    AOF-xxxxx: review → done
      now complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: complete
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:08Z
    routing:
      workflow: default
    workflowHash: HASH
    tags:
      - auth
    metadata:
      priority: high
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
        exited: 2026-02-16T10:00:06Z
        duration: 1
        outcome: needs_review
        summary: Did it
        blockers:
          - No error handling for expired tokens
          - Coverage is 65%, the target is 80%
        rejectionNotes: Nearly there
        to: implement
        retry: 1
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: implement
        role: backend
        agent: agent-8
        entered: 2026-02-16T10:00:06Z
        exited: 2026-02-16T10:00:07Z
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
        entered: 2026-02-16T10:00:07Z
        exited: 2026-02-16T10:00:08Z
        duration: 1
        outcome: complete
        summary: Did it
        to: $end
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
    ---

    Users want in.
    ");
    assert_snapshot!(env.git_plain(&["log", "--format=%an <%ae> %ad, %cn%n%B", "--date=iso-strict"]), @"
    agent-3 <agent-3@aof.invalid> 2026-02-16T10:00:08Z, Ada
    AOF-xxxxx: review -> end (complete)

    Did it

    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Outcome: complete
    Aof-Agent: agent-3
    Aof-Completion: ULID

    agent-8 <agent-8@aof.invalid> 2026-02-16T10:00:07Z, Ada
    AOF-xxxxx: implement -> review (complete)

    Did it

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: complete
    Aof-Agent: agent-8
    Aof-Completion: ULID

    agent-3 <agent-3@aof.invalid> 2026-02-16T10:00:06Z, Ada
    AOF-xxxxx: review -> implement (needs_review)

    Did it
    - No error handling for expired tokens
    - Coverage is 65%, the target is 80%

    Nearly there

    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Outcome: needs_review
    Aof-Agent: agent-3
    Aof-Completion: ULID

    agent-7 <agent-7@aof.invalid> 2026-02-16T10:00:05Z, Ada
    AOF-xxxxx: implement -> review (complete)

    Did it

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Outcome: complete
    Aof-Agent: agent-7
    Aof-Completion: ULID

    Ada <ada@example.org> 2026-02-16T10:00:04Z, Ada
    AOF-xxxxx: created at implement

    Add login

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: created

    Ada <ada@example.org> 2026-02-16T10:00:03Z, Ada
    rules
    ");
    check(&env);
}

#[test]
fn a_blocked_task_waits_at_its_gate() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    assert_snapshot!(env.say(&id, "agent-7", "blocked", &["--blocker", "Waiting for the API spec of the platform team"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: blocked at implement
      now at implement, blocked: Waiting for the API spec of the platform team
    ");
    let _ = env.complete(&id, "agent-7");
    assert_snapshot!(env.git_plain(&["log", "--format=%s"]), @"
    AOF-xxxxx: implement -> review (complete)
    AOF-xxxxx: implement (blocked)
    AOF-xxxxx: created at implement
    rules
    ");
    check(&env);
}

#[test]
fn a_completion_delivered_again_is_settled() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.say(&id, "agent-7", "complete", &["--id", "c-1"]).success();
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--id", "c-1"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review (nothing changed)
      now at review, ready for agent-3
    ");
    assert!(
        env.say(&id, "agent-7", "complete", &["--id", "c-1", "--json"]).success().json()["settled"]
            == Value::Bool(true)
    );
    assert_snapshot!(env.say(&id, "agent-7", "blocked", &["--id", "c-1", "--blocker", "The disk is full"]), @"
    exit 4
    --- stderr
    error: completion id `c-1` stands in the history of `AOF-xxxxx` (visit 0) with another content

    hint: give each completion an id of its own, or none
    ");
    unchanged(&env, &head);
    let _ = env.complete(&id, "agent-3");
    let head = env.head();
    let _ = env.say(&id, "agent-7", "complete", &["--id", "c-1"]).success();
    unchanged(&env, &head);
}

#[test]
fn a_ticket_names_one_visit() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let ticket = format!("{id}@0");
    assert_snapshot!(env.say(&format!("{id}@3"), "agent-7", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx` has no visit 3 yet: the open one is `AOF-xxxxx@0`

    hint: use the ticket that `aof show AOF-xxxxx` prints
    ");
    let _ = env.complete(&ticket, "agent-7");
    let head = env.head();
    assert_snapshot!(env.say(&ticket, "agent-8", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@0` at gate `implement` has ended: `agent-7` ended it with `complete` on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    assert_snapshot!(env.say(&ticket, "agent-8", "complete", &["--json"]), @r#"
    exit 5
    --- stdout
    {
      "error": "visit_ended",
      "message": "`AOF-xxxxx@0` at gate `implement` has ended: `agent-7` ended it with `complete` at 2026-02-16T10:00:06Z\n\nnothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`",
      "task": "AOF-xxxxx",
      "visit": 0,
      "gate": "implement",
      "winningAgent": "agent-7",
      "losingAgent": "agent-8",
      "outcome": "complete",
      "exited": "2026-02-16T10:00:06Z",
      "jsonVersion": 1
    }
    --- stderr
    `AOF-xxxxx@0` at gate `implement` has ended: `agent-7` ended it with `complete` at 2026-02-16T10:00:06Z
    "#);
    unchanged(&env, &head);
    let _ = env.complete(&id, "agent-3");
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @r#"
    exit 5
    --- stderr
    error: task `AOF-xxxxx` has ended: it is `complete` since Feb 16, 10:00

    hint: to work on it again: `aof reopen AOF-xxxxx --to GATE --reason "..."`
    "#);
    assert_snapshot!(env.say(&ticket, "agent-8", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@0` at gate `implement` has ended: `agent-7` ended it with `complete` on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    check(&env);
}

#[test]
fn a_rehearsal_leaves_no_trace() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let everything = || (env.files("."), env.task_text(&id), env.git(&["for-each-ref"]));
    let before = everything();
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--dry-run"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review (dry run: nothing was written)
      it would be at review, ready for agent-3
    ");
    assert_eq!(
        env.say(&id, "agent-7", "complete", &["--dry-run", "--json"]).success().json()["dryRun"],
        true
    );
    assert_snapshot!(env.say(&id, "agent-3", "complete", &["--dry-run"]), @"
    exit 4
    --- stderr
    error: gate `implement` is the work of role `backend`, and `agent-3` is in `architect`

    hint: it can be completed by `agent-7`, `agent-8`; take a task of your own with `aof next --agent agent-3`, or have org.yaml changed
    ");
    assert_eq!(everything(), before);

    env.hand_made("AOF-abc", "Add logout");
    let before = everything();
    assert_snapshot!(env.say("AOF-abc", "agent-7", "complete", &["--dry-run"]), @"
    exit 0
    --- stdout
    AOF-abc: implement → review (dry run: nothing was written)
      it would be at review, ready for agent-3
    ");
    assert_eq!(everything(), before);
}

#[test]
fn a_text_goes_into_the_body() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "Users want in."]);
    env.write("plan.md", "1. Do it\n---\n2. Test it\n");
    let _ = env.say(&id, "agent-7", "complete", &["--file", "plan.md"]).success();
    let review = [
        "task", "complete", &id, "--agent", "agent-3", "-o", "complete", "-s", "Good", "--file",
        "-",
    ];
    let _ = env.aof_reading(&review, b"Fine by me").success();
    let text = env.task_text(&id);
    assert_snapshot!(env.plain(text.split("\n---\n").skip(1).collect::<Vec<_>>().join("\n---\n").as_str()), @"

    Users want in.

    <!-- aof:work AOF-xxxxx@0 -->
    ## implement by agent-7

    1. Do it
    ---
    2. Test it

    <!-- aof:work AOF-xxxxx@1 -->
    ## review by agent-3

    Fine by me
    ");
    check(&env);

    let id = env.new_task(&["Add logout"]);
    let head = env.head();
    env.write("plan.md", "x".repeat(64 * 1024 + 1));
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--file", "plan.md"]), @"
    exit 4
    --- stderr
    error: `body` has 65537 bytes, and the limit is 65536

    hint: put the text into a file of the repository and name the file in the summary
    ");
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--file", "none.md"]), @"
    exit 1
    --- stderr
    error: cannot read `none.md`: No such file or directory (os error 2)
    ");
    unchanged(&env, &head);
}

#[test]
fn values_are_handed_on() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--context", "repo=web"]);
    let _ = env
        .say(
            &id,
            "agent-7",
            "complete",
            &[
                "--output",
                "branch=login",
                "--output",
                "files=[\"a\", \"b\"]",
                "--meta",
                "coverage=0.8",
            ],
        )
        .success();
    let front = crate::support::checker::parse(env.task_text(&id).as_bytes()).unwrap();
    assert_snapshot!(front["context"], @r#"{"input":{"repo":"web"},"implement":{"branch":"login","files":["a","b"]}}"#);
    assert_snapshot!(front["gateHistory"][0]["metadata"], @r#"{"coverage":0.8}"#);
    check(&env);
}

#[test]
fn companions_go_to_the_archive_with_their_task() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(&format!("tasks/{id}.tests.yaml"), "tests: []\n");
    env.write("tasks/AOF-abcd.tests.yaml", "tests: []\n");
    env.commit_all("tests");
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    check(&env);
    assert_snapshot!(env.plain(&env.files("tasks").join("\n")), @"
    tasks/AOF-abcd.tests.yaml
    tasks/archive/2026/02/16/AOF-xxxxx.md
    tasks/archive/2026/02/16/AOF-xxxxx.tests.yaml
    ");
    assert_snapshot!(env.git_plain(&["show", "--format=%s", "--name-status", "--no-renames"]), @"
    AOF-xxxxx: review -> end (complete)

    D	tasks/AOF-xxxxx.md
    D	tasks/AOF-xxxxx.tests.yaml
    A	tasks/archive/2026/02/16/AOF-xxxxx.md
    A	tasks/archive/2026/02/16/AOF-xxxxx.tests.yaml
    ");
}

#[test]
fn tasks_may_be_spread_over_folders() {
    let env = TestEnvironment::with_rules(
        &format!("tasks: {{layout: sharded}}\n{}", crate::support::environment::PROJECT),
        crate::support::environment::ORG,
    );
    let id = env.new_task(&["Add login"]);
    let shard = &id["AOF-".len()..][..2];
    assert_eq!(env.task_path(&id), format!("tasks/{shard}/{id}.md"));
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    check(&env);
    assert_eq!(env.task_path(&id), format!("tasks/archive/2026/02/16/{id}.md"));
}

#[test]
fn conditions_choose_the_way() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: backend}\n    - {id: security, role: architect, when: \"tags.includes('auth')\", canReject: true}\n    - {id: broken, role: architect, when: \"metadata.foo.bar.baz\"}\n    - {id: deploy, role: backend}\n",
        crate::support::environment::ORG,
    );
    let plain = env.new_task(&["Fix a typo"]);
    assert_snapshot!(env.complete(&plain, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → deploy
      now at deploy, ready for agent-7 or agent-8 (passed over: security, broken)
    --- stderr
    warning: the condition of gate `broken` failed: Cannot read property 'bar' of undefined in `metadata.foo.bar.baz`; the gate is passed over
    ");
    let auth = env.new_task(&["Add login", "--tag", "auth"]);
    assert_snapshot!(env.complete(&auth, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → security
      now at security, ready for agent-3
    ");
    let front = crate::support::checker::parse(env.task_text(&plain).as_bytes()).unwrap();
    assert_snapshot!(front["gateHistory"][0]["skipped"], @r#"["security","broken"]"#);
    check(&env);
}

#[test]
fn a_gate_that_nobody_staffs_blocks_and_says_so() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: backend}\n    - {id: security, role: security}\n",
        "roles:\n  backend: {agents: [agent-7]}\n  security: {agents: []}\n",
    );
    let id = env.new_task(&["Add login"]);
    assert_snapshot!(env.complete(&id, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → security
      now at security, blocked: No agents available for role: security
    ");
    assert_snapshot!(env.plain(&env.say(&format!("{id}@1"), "agent-7", "complete", &["--json"]).to_string()), @r#"
    exit 4
    --- stdout
    {
      "error": "wrong_role",
      "message": "gate `security` is the work of role `security`, and `agent-7` is in `backend`\n\nnobody can complete it yet: add an agent to role `security` in org.yaml",
      "task": "AOF-xxxxx",
      "gate": "security",
      "expectedRole": "security",
      "actualRole": "backend",
      "actualRoles": [
        "backend"
      ],
      "yourAgentId": "agent-7",
      "validAgents": [],
      "jsonVersion": 1
    }
    --- stderr
    gate `security` is the work of role `security`, and `agent-7` is in `backend`
    "#);
    check(&env);
}

#[test]
fn a_task_sent_back_repeatedly_is_stopped() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for _ in 0..5 {
        let _ = env.complete(&id, "agent-7");
        let _ = env
            .say(&id, "agent-3", "needs_review", &["--blocker", "`login.rs` still panics"])
            .success();
    }
    let _ = env.complete(&id, "agent-7");
    assert_snapshot!(env.say(&id, "agent-3", "needs_review", &["--blocker", "`login.rs` still panics"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: sent back to implement
      now at implement, blocked: Circular rejection loop: sent back to gate 'implement' 6 times, last by 'review'
    ");
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-7", "complete", &[]), @r#"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` was sent back to gate `implement` 6 times and waits for a person to look at it

    hint: read `aof history AOF-xxxxx`; then set it going with `aof unblock AOF-xxxxx --reason "..."`, move it with `aof override`, or call it off
    "#);
    assert_snapshot!(env.say(&id, "agent-7", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "circular_loop",
      "message": "task `AOF-xxxxx` was sent back to gate `implement` 6 times and waits for a person to look at it\n\nread `aof history AOF-xxxxx`; then set it going with `aof unblock AOF-xxxxx --reason \"...\"`, move it with `aof override`, or call it off",
      "task": "AOF-xxxxx",
      "gate": "implement",
      "loopCount": 6,
      "jsonVersion": 1
    }
    --- stderr
    task `AOF-xxxxx` was sent back to gate `implement` 6 times and waits for a person to look at it
    "#);
    unchanged(&env, &head);
}

#[test]
fn a_gate_without_reviews_takes_the_default_outcome() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let output =
        env.aof(&["task", "complete", &id, "--agent", "agent-7", "-s", "Did it"]).success();
    assert!(output.stdout.contains("implement → review"), "{output}");
    check(&env);
}

/// Three gates of one role: whoever says the same words three times must not walk through all of them.
const ONE_ROLE: &str = "\
workflow:
  gates:
    - {id: work, role: dev}
    - {id: review, role: dev, canReject: true}
    - {id: qa, role: dev}
";
const DEVELOPERS: &str = "roles:\n  dev: {agents: [agent-7, agent-8]}\n";

fn at_one_role() -> (TestEnvironment, &'static str) {
    let env = TestEnvironment::with_rules(ONE_ROLE, DEVELOPERS);
    env.hand_made("AOF-abc", "Add login");
    (env, "AOF-abc")
}

#[test]
fn a_completion_said_twice_counts_once_and_the_command_that_says_it_on_purpose_runs() {
    let (env, id) = at_one_role();
    let _ = env.complete(id, "agent-7");
    let head = env.head();
    let again = env.say(id, "agent-7", "complete", &[]).code(5);
    assert_snapshot!(again, @"
    exit 5
    --- stderr
    error: `agent-7` ended gate `work` with `complete` on Feb 16, 10:00; said once more without a ticket, that would end gate `review` as well

    hint: nothing was changed, and nothing is to be done; if gate `review` is meant as well, name its visit: `AOF-abc@1` in place of `AOF-abc`

    example:
      aof task complete AOF-abc@1 --agent agent-7 --outcome complete --summary 'Did it'
    ");
    let json = env.say(id, "agent-7", "complete", &["--json"]).code(5).json();
    assert_eq!(
        (&json["error"], &json["ticket"]),
        (&"repeated_completion".into(), &"AOF-abc@1".into())
    );
    unchanged(&env, &head);
    let command = again.stderr.lines().find(|line| line.trim().starts_with("aof ")).unwrap();
    let mut shell = env.command("sh");
    shell.args(["-c", command]);
    let _ = env.run(shell).success();
    assert!(env.task_text(id).contains("current: qa"), "{}", env.task_text(id));
    // Somebody else's words repeat nothing.
    let _ = env.complete(id, "agent-8");
    check(&env);
}

#[test]
fn honest_words_without_a_ticket_go_on_working() {
    let (env, id) = at_one_role();
    // Blocked, unblocked, complete.
    let _ = env.say(id, "agent-7", "blocked", &["--blocker", "No access to staging"]).success();
    let _ = env.aof(&["task", "unblock", id, "--agent", "human-ada"]).success();
    let _ = env.complete(id, "agent-7");
    // Rejected by oneself, fixed, complete.
    let _ = env.say(id, "agent-7", "needs_review", &["--blocker", "No test"]).success();
    let _ = env.complete(id, "agent-7");
    let _ = env.say(id, "agent-7", "complete", &[]).code(5);
    // Claimed since.
    let _ = env.aof(&["task", "assign", "--claim", id, "agent-7"]).success();
    let _ = env.complete(id, "agent-7");
    // The gate's name counts as a ticket where that gate is open.
    let named = |gate: &str| env.say(id, "agent-7", "complete", &["--gate", gate]);
    assert_snapshot!(named("work").code(5), @"
    exit 5
    --- stderr
    error: task `AOF-abc` is at gate `qa`, not at `work`

    hint: if gate `qa` is meant, name its visit: `AOF-abc@5`; see where it stands with `aof show AOF-abc`
    ");
    let _ = named("nowhere").code(4);
    let _ = named("qa").success();
    assert!(env.task_path(id).starts_with("tasks/archive/"), "{}", env.task_text(id));
    check(&env);
}

#[test]
fn naming_a_gate_that_another_agent_ended_names_the_winner() {
    let (env, id) = at_one_role();
    let named = |agent: &str, gate: &str| {
        let output = env.say(id, agent, "complete", &["--gate", gate, "--json"]).code(5).json();
        ["error", "winningAgent", "losingAgent", "visit"].map(|key| output[key].to_string())
    };
    let quoted = |text: &str| format!("\"{text}\"");
    let lost = |visit: u32| {
        [quoted("visit_ended"), quoted("agent-7"), quoted("agent-8"), visit.to_string()]
    };
    let conflicts =
        || env.aof(&["events", "--type", "gate_conflict"]).success().stdout.lines().count();
    // Nobody was ever there.
    assert_eq!(named("agent-8", "review")[0], quoted("other_gate"));
    let _ = env.complete(id, "agent-7");
    assert_eq!(named("agent-8", "work"), lost(0));
    assert_eq!(conflicts(), 1);
    // The winner has lost to nobody.
    assert_eq!(named("agent-7", "work")[0], quoted("other_gate"));
    // Sent back, the gate is open again, and its last visit counts.
    let back = ["--gate", "review", "--blocker", "No test for login"];
    let _ = env.say(id, "agent-8", "needs_review", &back).success();
    let _ = env.say(id, "agent-8", "complete", &["--gate", "work"]).success();
    assert_eq!(named("agent-8", "work")[0], quoted("other_gate"));
    assert_eq!(named("agent-7", "work")[1], quoted("agent-8"));
    // So it is once the task has ended.
    let _ = env.say(id, "agent-8", "complete", &["--gate", "review"]).success();
    let _ = env.say(id, "agent-7", "complete", &["--gate", "qa"]).success();
    assert_eq!(named("agent-8", "qa"), lost(4));
    assert_eq!(conflicts(), 3);
    check(&env);
}
