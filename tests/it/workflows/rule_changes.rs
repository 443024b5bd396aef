//! The rules change while tasks are under way: every move is recorded, committed, and made once.

use insta::assert_snapshot;

use crate::support::checker::{check, check_after_kills};
use crate::support::environment::{ORG, PROJECT, TestEnvironment, eventually};

const FOUR: &str = "\
workflow:
  gates:
    - {id: plan, role: backend}
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true}
    - {id: test, role: qa}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  qa: {agents: [agent-5]}
";

fn environment() -> TestEnvironment {
    TestEnvironment::with_rules(FOUR, PEOPLE)
}

/// Commits other rules.
fn change(env: &TestEnvironment, name: &str, from: &str, to: &str) {
    env.edit(name, from, to);
    env.git(&["commit", "--quiet", "--all", "--message", "other rules"]);
}

/// Returns a task that has passed so many gates.
fn task_past(env: &TestEnvironment, gates: usize) -> String {
    let id = env.new_task(&["Add login"]);
    for (visit, agent) in ["agent-7", "agent-7", "agent-3"][..gates].iter().enumerate() {
        let _ = env.complete(&format!("{id}@{visit}"), agent);
    }
    id
}

/// Returns the subject of the last commit, without the task's id.
fn last(env: &TestEnvironment) -> String {
    env.git_plain(&["log", "-1", "--format=%s"]).trim().trim_start_matches("AOF-xxxxx: ").to_owned()
}

const REVIEW: &str = "    - {id: review, role: architect, canReject: true}\n";

#[test]
fn a_gate_that_is_gone_moves_its_tasks_to_the_nearest_one_before_it() {
    let env = environment();
    let id = task_past(&env, 2);
    change(&env, "project.yaml", REVIEW, "");
    assert_snapshot!(env.aof(&["org", "reload"]), @"
    exit 0
    --- stdout
    in force: the rules of commit COMMIT, Feb 16, 10:00 by Ada (other rules)
    AOF-xxxxx: review → implement (moved)
    1 task follows them now
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: review -> implement (moved)

    Gate `review` is not in workflow `default` any more

    Aof-Task: AOF-xxxxx
    Aof-Gate: review
    Aof-Outcome: moved
    ");
    assert_snapshot!(env.plain(&env.task_text(&id)), @"
    ---
    id: AOF-xxxxx
    title: Add login
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:08Z
    routing:
      workflow: default
      role: backend
    gate:
      current: implement
      entered: 2026-02-16T10:00:08Z
      visit: 3
    workflowHash: HASH
    gateHistory:
      - gate: plan
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:04Z
        exited: 2026-02-16T10:00:05Z
        duration: 1
        outcome: complete
        summary: Did it
        to: implement
        workflow: HASH
        completion:
          id: ULID
          sha256: SHA256
      - gate: implement
        role: backend
        agent: agent-7
        entered: 2026-02-16T10:00:05Z
        exited: 2026-02-16T10:00:06Z
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
        entered: 2026-02-16T10:00:06Z
        exited: 2026-02-16T10:00:08Z
        duration: 2
        outcome: moved
        summary: Gate `review` is not in workflow `default` any more
        to: implement
        workflow: HASH
    ---
    ");
    assert_snapshot!(env.aof(&["task", "history", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login

    Today
      10:00           created
      10:00  agent-7  plan → implement            Did it                                           1 s
      10:00  agent-7  implement → review          Did it                                           1 s
      10:00           review → implement (moved)  Gate `review` is not in workflow `default`       2 s
                                                  any more
      now             at implement, second time                                                    2 s

    By gate: plan 1 s, implement 3 s, review 2 s.
    ");
    assert_snapshot!(env.aof(&["why", &id]), @"
    exit 0
    --- stdout
    AOF-xxxxx  Add login
      status  ready
      gate    implement for 3s (visit 3)

    Because
      - the rules changed, and it was moved from `review` to `implement` on Feb 16, 10:00: Gate `review` is not in workflow `default` any more
      - nobody has claimed it

    Who can move it
      - agent-7 or agent-8 (role backend)

    What each act would do
      done     leads to test (role qa)
      blocked  holds it here until a person unblocks it
    ");
    let head = env.head();
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(env.head(), head, "nothing is left to do");
    check(&env);
}

#[test]
fn every_way_to_touch_a_task_has_it_follow_the_rules_first() {
    let ways: [&[&str]; 5] = [
        &["watch", "--once"],
        &["task", "comment", "ID", "-m", "On it"],
        &["task", "next", "--agent", "agent-7"],
        &["task", "cancel", "ID", "--reason", "not wanted"],
        &["org", "reload"],
    ];
    for way in ways {
        let env = environment();
        let id = task_past(&env, 2);
        change(&env, "project.yaml", REVIEW, "");
        let way: Vec<&str> =
            way.iter().map(|word| if *word == "ID" { id.as_str() } else { word }).collect();
        let _ = env.aof(&way);
        let log = env.log();
        assert_eq!(
            log.matches("Ada: AOF-xxxxx: review -> implement (moved)").count(),
            1,
            "{way:?}: {log}"
        );
        check(&env);
    }
    // What is only shown shows what would be done, and does nothing.
    let env = environment();
    let _ = task_past(&env, 2);
    change(&env, "project.yaml", REVIEW, "");
    let head = env.head();
    let shown = env.aof(&["org", "reload", "--dry-run"]).success();
    assert!(shown.stdout.contains("AOF-xxxxx: review → implement (moved)"), "{shown}");
    assert_eq!(env.head(), head);
}

#[test]
fn a_completion_at_a_removed_gate_is_a_conflict() {
    let env = environment();
    let id = task_past(&env, 2);
    change(&env, "project.yaml", REVIEW, "");
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@2` at gate `review` has ended: the rules changed, and the task was moved on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    assert_snapshot!(env.say(&format!("{id}@2"), "agent-3", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@2` at gate `review` has ended: the rules changed, and the task was moved on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    check(&env);
}

#[test]
fn a_rejection_outlives_the_gate_that_was_to_mend_it() {
    let env = environment();
    let id = task_past(&env, 2);
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "The session never expires"])
        .success();
    change(&env, "project.yaml", "    - {id: plan, role: backend}\n", "");
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(last(&env), "plan -> implement (moved)");
    let brief = env.aof(&["task", "brief", &id]).success();
    assert!(brief.stdout.contains("The session never expires"), "{brief}");
    check(&env);
}

#[test]
fn another_role_gets_the_work() {
    let env = environment();
    let id = task_past(&env, 1);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    change(&env, "project.yaml", "id: implement, role: backend", "id: implement, role: qa");
    assert_snapshot!(env.aof(&["org", "reload"]), @"
    exit 0
    --- stdout
    in force: the rules of commit COMMIT, Feb 16, 10:00 by Ada (other rules)
    AOF-xxxxx: rerouted from backend to qa at implement: agent-7 may not complete it, and does not have it any more
    1 task follows them now
    ");
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an%n%B"]), @"
    Ada
    AOF-xxxxx: rerouted from backend to qa at implement

    agent-7 may not complete it, and does not have it any more

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: rerouted
    ");
    let task = env.task_text(&id);
    assert!(task.contains("role: qa") && !task.contains("agent: agent-7\n  claimed"), "{task}");
    let ticket = format!("{id}@1");
    let refused = env.say(&ticket, "agent-7", "complete", &["--json"]).code(4).json();
    assert_eq!(refused["error"], "wrong_role");
    let _ = env.complete(&id, "agent-5");
    check(&env);
}

#[test]
fn a_removed_agent_finishes_its_tasks_and_gets_no_new_ones() {
    let env = environment();
    let (one, two) = (env.new_task(&["Add login"]), env.new_task(&["Add logout"]));
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    change(&env, "org.yaml", "[agent-7, agent-8]", "[agent-8]");
    let head = env.head();
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(env.head(), head, "it goes on");
    let _ = env.say(&two, "agent-7", "complete", &[]).code(4);
    let _ = env.complete(&one, "agent-7");
    let _ = env.say(&format!("{one}@1"), "agent-7", "complete", &[]).code(4);
    let _ = env.complete(&one, "agent-8");
    check(&env);
}

#[test]
fn tasks_block_if_their_people_leave_and_go_on_if_others_come() {
    let env = environment();
    let id = task_past(&env, 2);
    change(&env, "org.yaml", "architect: {agents: [agent-3]}", "architect: {agents: []}");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(last(&env), "blocked at review");
    let task = env.task_text(&id);
    assert!(
        task.contains("status: blocked")
            && task.contains("No agents available for role: architect"),
        "{task}"
    );
    change(&env, "org.yaml", "architect: {agents: []}", "architect: {agents: [agent-4]}");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(last(&env), "unblocked at review");
    let _ = env.complete(&id, "agent-4");

    // Whoever unblocks it finds that done, and is not refused for it.
    let id = task_past(&env, 1);
    change(&env, "org.yaml", "[agent-7, agent-8]", "[]");
    let _ = env.aof(&["org", "reload"]).success();
    change(&env, "org.yaml", "backend: {agents: []}", "backend: {agents: [agent-9]}");
    let _ = env.aof(&["task", "unblock", &id]).success();
    assert_eq!(last(&env), "unblocked at implement");
    let _ = env.aof(&["task", "unblock", &id]).code(4);
    check(&env);
}

#[test]
fn a_new_gate_counts_for_tasks_before_it() {
    let env = environment();
    let (before, after) = (task_past(&env, 1), task_past(&env, 3));
    let security = format!("    - {{id: security, role: architect}}\n{REVIEW}");
    change(&env, "project.yaml", REVIEW, &security);
    let head = env.head();
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(env.head(), head);
    let shown = env.aof(&["task", "show", &before, "--json"]).success().json();
    assert_eq!(shown["drifted"], true);
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("2 came to a gate under earlier rules"), "{status}");
    assert_eq!(env.aof(&["status", "--json"]).success().json()["drifted"], 2);
    let shown = env.aof(&["task", "show", &before]).success();
    assert!(shown.stdout.contains("the task came here under earlier rules"), "{shown}");
    let _ = env.complete(&format!("{before}@1"), "agent-7");
    assert!(
        env.aof(&["task", "show", &before, "--json"]).success().json().get("drifted").is_none()
    );
    assert_eq!(last(&env), "implement -> security (complete)");
    let _ = env.complete(&after, "agent-5");
    assert_eq!(last(&env), "test -> end (complete)");
    check(&env);
}

#[test]
fn invalid_rules_that_are_committed_move_nothing_and_are_loud() {
    let env = environment();
    let id = task_past(&env, 2);
    change(&env, "project.yaml", REVIEW, "    - {id: audit, role: nobody}\n");
    let head = env.head();
    let reload = env.aof(&["org", "reload"]).code(6);
    assert_snapshot!(reload, @"
    exit 6
    --- stdout
    error: the committed rules are invalid, and not in force
    still in force: the rules of commit COMMIT, Feb 16, 10:00 by Ada (rules)
    every task already follows them
    --- stderr
    error[unknown_role]: there is no role `nobody` in org.yaml
     --> project.yaml:5:25
      |
    5 |     - {id: audit, role: nobody}
      |                         ^^^^^^
      |
      = help: add it to `roles` in org.yaml, or name one of `backend`, `architect`, `qa`
    ");
    let json = env.aof(&["org", "reload", "--json"]).code(6).json();
    assert_eq!(
        (&json["valid"], &json["diagnostics"][0]["code"]),
        (&false.into(), &"unknown_role".into())
    );
    assert_eq!(env.head(), head);
    let _ = env.complete(&id, "agent-3");
    assert_eq!(last(&env), "review -> test (complete)");
    check(&env);
}

#[test]
fn a_workflow_that_is_gone_is_reported_until_it_is_back() {
    let env = TestEnvironment::with_rules("defaultWorkflow: a\n", ORG);
    env.write("workflows/a.yaml", "gates:\n  - {id: do, role: backend}\n");
    env.write("workflows/b.yaml", "gates:\n  - {id: mend, role: backend}\n");
    env.commit_all("two");
    let id = env.new_task(&["Add login", "--workflow", "b"]);
    std::fs::remove_file(env.path("workflows/b.yaml")).unwrap();
    env.commit_all("b is gone");
    let head = env.head();
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(env.head(), head);
    let status = env.aof(&["status", "--json"]).success().json();
    assert_eq!(status["attention"][0]["code"], "task_stranded", "{status}");
    let why = env.aof(&["why", &id]).success();
    assert!(why.stdout.contains("workflow `b` is no longer in the rules"), "{why}");
    let _ = env.say(&id, "agent-7", "complete", &[]).code(4);
    env.write("workflows/b.yaml", "gates:\n  - {id: patch, role: backend}\n");
    env.commit_all("b is back");
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(last(&env), "mend -> patch (moved)");
    check(&env);
}

#[test]
fn many_tasks_move_at_once_each_in_its_own_commit_and_only_once() {
    let env = TestEnvironment::new();
    let list = format!("[{}]", vec![r#"{"title": "Task"}"#; 120].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    env.write("project.yaml", PROJECT.replace("id: implement", "id: build"));
    env.commit_all("build");
    let _ = env.aof(&["workflow", "validate"]).success();
    let children: Vec<_> =
        (0..3).map(|_| env.start(&["org", "reload", "--wait", "60s", "--json"])).collect();
    let outputs: Vec<_> =
        children.into_iter().map(|child| env.finish("aof org reload", child).success()).collect();
    let moved: usize =
        outputs.iter().map(|output| output.json()["changed"].as_array().unwrap().len()).sum();
    assert_eq!(moved, 120, "each was moved by one of them");
    assert_eq!(env.log().matches("implement -> build (moved)").count(), 120);
    for path in env.files("tasks") {
        assert_eq!(env.read(&path).matches("outcome: moved").count(), 1, "{path}");
    }
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn a_move_that_is_killed_anywhere_is_finished_or_made_anew() {
    for (from, to) in [(REVIEW, ""), ("id: review, role: architect", "id: review, role: qa")] {
        let ready = environment();
        let (one, _) = (task_past(&ready, 2), task_past(&ready, 2));
        change(&ready, "project.yaml", from, to);
        for point in aof::system::crash_points::POINTS {
            let env = ready.copy();
            let mut command = env.aof_command(&["org", "reload"]);
            command.env("AOF_STOP_AT", point);
            let killed = env.run(command);
            assert_eq!(killed.code, None, "{point}: {killed}");
            let _ = env.aof(&["org", "reload"]).success();
            let log = env.log();
            let what = if to.is_empty() {
                "review -> implement (moved)"
            } else {
                "rerouted from architect to qa at review"
            };
            assert_eq!(log.matches(what).count(), 2, "{point}: {log}");
            let _ = env.complete(&one, if to.is_empty() { "agent-7" } else { "agent-5" });
            check(&env);
        }
    }
}

#[test]
fn a_watcher_that_runs_moves_tasks_when_new_rules_are_committed() {
    let env = environment();
    let id = task_past(&env, 2);
    let mut command = env.aof_command(&["watch"]);
    let log = env.home().join("watch.log");
    command.env_remove("AOF_NOW").stdout(std::fs::File::create(&log).unwrap());
    let mut watcher = command.spawn().unwrap();
    let printed = || std::fs::read_to_string(&log).unwrap();
    eventually("it runs", || printed().contains("watching"));
    change(&env, "project.yaml", REVIEW, "");
    eventually("the task is moved", || env.task_text(&id).contains("current: implement"));
    eventually("it tells of it", || printed().contains("review → implement (moved)"));
    watcher.kill().unwrap();
    watcher.wait().unwrap();
    check_after_kills(&env);
}

#[test]
fn work_is_shown_by_role_and_by_agent() {
    let env = environment();
    let _ = (task_past(&env, 2), task_past(&env, 0));
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    assert_snapshot!(env.aof(&["org", "show"]), @"
    exit 0
    --- stdout
    ROLE       AGENTS            GATES            READY  IN PROGRESS
    backend    agent-7, agent-8  implement, plan                   1
    architect  agent-3           review               1
    qa         agent-5           test

    at work
      agent-7: AOF-xxxxx

    you are no agent: org.yaml has none with the email ada@example.org
    ");
    assert_snapshot!(env.aof(&["org", "show", "architect"]), @"
    exit 0
    --- stdout
    role architect
      agents       agent-3
      gates        review
      ready        AOF-xxxxx
    ");
    assert_snapshot!(env.aof(&["org", "show", "agent-7"]), @"
    exit 0
    --- stdout
    agent agent-7
      roles        backend
      has          AOF-xxxxx
    ");
    let role = env.aof(&["org", "show", "backend", "--json"]).success().json();
    assert_eq!(role["role"]["work"]["inProgress"].as_array().unwrap().len(), 1, "{role}");
    let agent = env.aof(&["org", "show", "agent-7", "--json"]).success().json();
    assert_eq!(agent["agent"]["has"], role["role"]["work"]["inProgress"]);
    assert_snapshot!(env.aof(&["org", "show", "architekt"]), @"
    exit 3
    --- stderr
    error: there is no role `architekt`

    hint: did you mean `architect`?
    ");
}

#[test]
fn effects_of_new_rules_are_shown_before_their_commit() {
    let env = environment();
    let _ = [0, 1, 2, 3].map(|gates| task_past(&env, gates));
    let _ = env.aof(&["task", "next", "--agent", "agent-7", "--role", "backend"]).success();
    assert_snapshot!(env.aof(&["workflow", "diff"]), @"
    exit 0
    --- stdout
    from the rules of commit COMMIT to those of the worktree
    the rules are equivalent

    all 4 tasks under way stay as they are
    ");
    env.edit(
        "project.yaml",
        REVIEW,
        "    - {id: audit, role: qa, when: \"tags.includes('big')\"}\n",
    );
    env.edit("project.yaml", "id: plan, role: backend", "id: plan, role: qa, timeout: 2h");
    env.edit(
        "org.yaml",
        "qa: {agents: [agent-5]}",
        "qa: {agents: [agent-9]}\n  writer: {agents: [agent-1]}",
    );
    let mut lines: Vec<String> = env
        .plain(&env.aof(&["workflow", "diff"]).success().stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_snapshot!(lines.join("\n"), @"

        complete leads to test, no longer to review
      + gate audit: after implement, role qa
      - gate review
      1 other stays as it is
      AOF-xxxxx  implement  stays
      AOF-xxxxx  plan  rerouted from backend to qa at plan: agent-7 may not complete it, and does not have it any more
      AOF-xxxxx  review  goes to implement: Gate `review` is not in workflow `default` any more
      ~ gate plan: role backend -> qa, timeout none -> 2h
    + role writer: agent-1
    Tasks
    from the rules of commit COMMIT to those of the worktree
    workflow default
    ~ role qa: with agent-9, without agent-5
    ");
    let json = env.aof(&["workflow", "diff", "--json"]).success().json();
    let output = json["tasks"].as_array().unwrap();
    let of = |gate: &str| {
        output
            .iter()
            .find(|task| task["gate"] == gate)
            .unwrap_or_else(|| panic!("{gate}: {json:#}"))
    };
    assert_eq!((&of("plan")["fate"], &of("plan")["to"]), (&"follows".into(), &"plan".into()));
    assert_eq!(
        (&of("implement")["fate"], &of("implement")["outcomes"][0]["after"]),
        (&"stays".into(), &"test".into())
    );
    assert_eq!(
        (&of("review")["fate"], &of("review")["to"]),
        (&"moves".into(), &"implement".into())
    );
    assert_eq!(
        (output.len(), &json["untouched"], &json["to"]),
        (3, &1.into(), &serde_json::Value::Null)
    );

    // What was foretold is what happens.
    env.commit_all("other rules");
    let done = env.aof(&["org", "reload", "--json"]).success().json();
    assert_eq!(done["changed"].as_array().unwrap().len(), 2, "{done:#}");
    let nothing = env.aof(&["workflow", "diff"]).success();
    assert!(nothing.stdout.contains("the rules are equivalent"), "{nothing}");
    let since = env.aof(&["workflow", "diff", "HEAD~3", "--json"]).success().json();
    assert_eq!(since["differences"].as_array().unwrap().len(), 5, "{since:#}");
    let _ = env.aof(&["workflow", "diff", "nonsense"]).code(3);
    env.write("project.yaml", "workflow: [\n");
    assert_eq!(
        env.aof(&["workflow", "diff", "--json"]).code(6).json()["error"],
        "workflow_config_invalid"
    );
}

#[test]
fn a_change_of_every_kind_is_named() {
    let env = TestEnvironment::with_rules(
        "workflows:\n  one:\n    gates:\n      - {id: a, role: backend}\n      - {id: b, role: architect, canReject: true, \
         maxRetries: 2}\n      - {id: c, type: fork, branches: [{id: x, role: backend}, {id: y, role: backend}]}\n  \
         two:\n    gates:\n      - {id: a, role: backend}\ndefaultWorkflow: one\n",
        ORG,
    );
    env.write(
        "project.yaml",
        "workflows:\n  one:\n    rejectionStrategy: previous\n    gates:\n      - {id: b, role: backend}\n      - id: a\n        \
         role: backend\n        requireHuman: false\n        routes: {needs_review: b, complete: c}\n      - id: c\n        type: fork\n        \
         joinStrategy: any\n        branches: [{id: x, role: architect}, {id: z, role: backend}]\n  \
         three:\n    gates:\n      - {id: a, role: backend}\ndefaultWorkflow: one\n",
    );
    assert_snapshot!(env.aof(&["workflow", "diff"]), @"
    exit 0
    --- stdout
    from the rules of commit COMMIT to those of the worktree
    ~ workflow one: rejectionStrategy origin -> previous, the order is b -> a -> c
      ~ gate b: role architect -> backend, canReject true -> false, maxRetries 2 -> none
      ~ gate a: new route needs_review: b, new route complete: c
      ~ gate c: joinStrategy all -> any, branch y is gone, branch x: role backend -> architect, new branch z (role backend)
    - workflow two
    + workflow three: a

    no task is under way
    ");
}

#[test]
fn a_task_that_the_rules_left_behind_is_reported_and_can_be_set_going() {
    let work = "- {id: check, role: writer}";
    let fork =
        "- {id: check, type: fork, branches: [{id: a, role: writer}, {id: b, role: writer}]}";
    let other =
        "- {id: check, type: fork, branches: [{id: c, role: writer}, {id: d, role: writer}]}";
    let condition =
        "- {id: check, type: condition, when: 'true', routes: {true: $next, false: $fail}}";
    let rules = |gate: &str| {
        format!(
            "workflow:\n  gates:\n    - {{id: write, role: writer}}\n    {gate}\n    - {{id: send, role: writer}}\n"
        )
    };
    for (before, after) in [(work, condition), (work, fork), (fork, other), (fork, condition)] {
        let env = TestEnvironment::with_rules(
            &rules(before),
            "roles:\n  writer: {agents: [agent-7, agent-8]}\n",
        );
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7").success();
        env.write("project.yaml", rules(after));
        env.commit_all("other rules");

        let status = env.aof(&["status", "--json"]).success().json();
        assert_eq!(status["attention"][0]["code"], "rules_not_followed", "{after}: {status}");
        let why = env.aof(&["why", &id]).success();
        // What is said is meant for the visit that it was said in, not for the one that the task goes on to.
        let _ = env.say(&id, "agent-8", "complete", &[]).code(5);
        if after == condition {
            assert!(why.stdout.contains("gate `check` decides by itself"), "{why}");
            assert!(env.aof(&["why", &id]).success().stdout.contains("gate    send"), "{after}");
            continue;
        }
        assert!(why.stdout.contains("has it begin there again"), "{why}");
        assert!(!why.stdout.contains("no agent that may"), "{why}");
        let status = env.aof(&["status", "--json"]).success().json();
        assert!(!status.to_string().contains("rules_not_followed"), "{after}: {status}");
        assert!(
            env.aof(&["why", &id]).success().stdout.contains("it began again at `check`"),
            "{after}"
        );
        check(&env);
    }
}
