//! Work that is handed out, and tasks that depend on others.

use std::process::Child;

use serde_json::Value;

use crate::support::checker::check;
use crate::support::environment::{ORG, PROJECT, TestEnvironment};

/// Returns the tasks with where they stand and whose they are, the oldest first.
fn tasks(env: &TestEnvironment, more: &[&str]) -> Vec<String> {
    let output =
        env.aof(&[&["task", "list", "--json", "--sort", "created"], more].concat()).success();
    let value: Value = serde_json::from_str(&output.stdout).unwrap();
    let word = |task: &Value, key: &str| task[key].as_str().unwrap_or_default().to_owned();
    let shown = |task: &Value| {
        let branches = task["branches"].as_array().unwrap();
        let whose =
            branches.iter().map(|own| format!("{}={}", word(own, "id"), word(own, "agent")));
        let whose = if branches.is_empty() {
            word(task, "agent")
        } else {
            whose.collect::<Vec<_>>().join(",")
        };
        format!("{} {} {} {whose}", word(task, "title"), word(task, "gate"), word(task, "status"))
            .trim_end()
            .to_owned()
    };
    value["tasks"].as_array().unwrap().iter().map(shown).collect()
}

fn hand_out(env: &TestEnvironment) {
    let _ = env.aof(&["watch", "--once"]).success();
}

fn with_hand_out(way: &str, org: &str) -> TestEnvironment {
    TestEnvironment::with_rules(&format!("handOut: {way}\n{PROJECT}"), org)
}

#[test]
fn urgent_work_goes_first_to_the_least_loaded_and_returns_to_its_author() {
    let env = with_hand_out(
        "least-loaded",
        &format!("{ORG}agents: {{agent-7: {{maxTasks: 2}}, agent-8: , agent-3: }}\n"),
    );
    let [low, usual, high, _] =
        [("Low", "low"), ("Usual", "medium"), ("High", "high"), ("Low too", "low")].map(
            |(title, priority)| env.new_task(&[title, "--meta", &format!("priority={priority}")]),
        );
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        [
            "Low implement in_progress agent-7",
            "Usual implement in_progress agent-8",
            "High implement in_progress agent-7",
            "Low too implement ready"
        ],
        "there is no room for more"
    );
    // What a review sends back returns to its author, though somebody else has less.
    let _ = env.complete(&high, "agent-7");
    let _ = env.complete(&usual, "agent-8");
    let _ = env
        .say(&high, "agent-3", "needs_review", &["--blocker", "the parser has no tests"])
        .success();
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        [
            "Low implement in_progress agent-7",
            "Usual review in_progress agent-3",
            "High implement in_progress agent-7",
            "Low too implement in_progress agent-8"
        ]
    );
    let _ = env.complete(&low, "agent-7");
    let before = env.head();
    hand_out(&env);
    assert_eq!(env.head(), before, "the reviewer has one, and the others nothing to do");
    assert!(
        env.log().contains("agent-8: AOF-xxxxx: handed to agent-8 at implement"),
        "{}",
        env.log()
    );
    check(&env);
}

#[test]
fn a_sweep_hands_out_once_and_a_dry_run_shows_it() {
    let env = with_hand_out("least-loaded", ORG);
    let base = env.new_task(&["Base"]);
    let _ = env.new_task(&["Other"]);
    let _ = env.new_task(&["Third"]);
    let _ = env.new_task(&["Top", "--depends", &base]);
    let before = env.head();
    let shown = env.aof(&["sweep", "--dry-run"]).success();
    assert!(
        shown.stdout.contains(
            "AOF-xxxxx: given to agent-7 (dry run: nothing was written)\n\
             AOF-xxxxx: given to agent-8 (dry run: nothing was written)\n"
        ),
        "{shown}"
    );
    assert_eq!(env.head(), before);
    let _ = env.aof(&["task", "cancel", &base, "--reason", "No money"]).success();
    let swept: Value =
        serde_json::from_str(&env.aof(&["sweep", "--json"]).success().stdout).unwrap();
    let (given, dependent) = (&swept["given"], &swept["dependents"][0]);
    assert_eq!(
        (&given[0]["agent"], &given[1]["agent"]),
        (&"agent-7".into(), &"agent-8".into()),
        "{swept}"
    );
    assert_eq!(
        dependent["blockers"][0], "Depends on AOF-xxxxx, which was cancelled: No money",
        "{swept}"
    );
    assert_eq!((&swept["handsOut"], &swept["left"]), (&true.into(), &0.into()), "{swept}");
    assert_eq!(tasks(&env, &[])[2], "Top implement blocked");
    let again: Value =
        serde_json::from_str(&env.aof(&["sweep", "--json"]).success().stdout).unwrap();
    assert_eq!(
        (&again["given"], &again["dependents"]),
        (&serde_json::json!([]), &serde_json::json!([])),
        "{again}"
    );
    check(&env);
}

#[test]
fn agents_take_turns_even_if_one_has_finished_meanwhile() {
    let env = TestEnvironment::with_rules(
        "handOut: round-robin\nworkflow:\n  gates:\n    - {id: work, role: crew}\n",
        "roles:\n  crew: {agents: [a-1, a-2, human-ada, a-3]}\n",
    );
    let mut turns = Vec::new();
    for number in 0..4 {
        let id = env.new_task(&[&format!("Task {number}")]);
        hand_out(&env);
        let task = tasks(&env, &[]).pop().unwrap();
        let agent = task.rsplit(' ').next().unwrap().to_owned();
        let _ = env.complete(&id, &agent);
        turns.push(agent);
    }
    assert_eq!(turns, ["a-1", "a-2", "a-3", "a-1"], "people choose for themselves");
    check(&env);
}

#[test]
fn rules_bind_every_hand_out() {
    let project = "\
workflow:
  gates:
    - {id: work, role: crew}
    - {id: check, role: checkers, separateFrom: [work]}
    - {id: approve, role: crew, requireHuman: true}
";
    let org = "\
roles:
  crew: {agents: [a-1, human-ada]}
  checkers: {agents: [a-1, a-2], handOut: least-loaded}
agents:
  a-1: {maxTasks: 5}
  a-2:
  human-ada: {maxTasks: 1}
";
    let env = TestEnvironment::with_rules(project, org);
    let id = env.new_task(&["Build"]);
    hand_out(&env);
    assert_eq!(tasks(&env, &[]), ["Build work ready"], "this role's agents ask");
    let _ = env.complete(&id, "a-1");
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        ["Build check in_progress a-2"],
        "whoever built it does not check it"
    );
    env.write("project.yaml", format!("handOut: least-loaded\n{project}"));
    env.commit_all("hand out");
    let _ = env.complete(&id, "a-2");
    hand_out(&env);
    assert_eq!(tasks(&env, &[]), ["Build approve in_progress human-ada"]);
    check(&env);
}

#[test]
fn branches_of_a_fork_are_handed_out_one_by_one() {
    let env = TestEnvironment::with_rules(
        "\
handOut: least-loaded
workflow:
  gates:
    - {id: work, role: crew}
    - id: reviews
      type: fork
      branches:
        - {id: code, role: crew, canReject: true}
        - {id: docs, role: crew, canReject: true}
",
        "roles:\n  crew: {agents: [a-1, a-2, a-3]}\n",
    );
    let lost = env.new_task(&["Lost"]);
    let id = env.new_task(&["Build", "--depends", &lost]);
    let _ = env.complete(&id, "a-1");
    let _ = env.complete(&lost, "a-3");
    let _ = env.aof(&["task", "cancel", &lost, "--reason", "Not wanted"]).success();
    hand_out(&env);
    assert_eq!(tasks(&env, &[]), ["Build reviews blocked code=,docs="]);
    let refused = env.aof(&["task", "unblock", &id, "--reason", "Go on"]).code(4);
    assert!(
        refused
            .stderr
            .contains("is blocked: Depends on AOF-xxxxx, which was cancelled: Not wanted"),
        "{refused}"
    );
    let _ = env.aof(&["task", "edit", &id, "--undepends", &lost]).success();
    hand_out(&env);
    assert_eq!(tasks(&env, &[]), ["Build reviews in_progress code=a-1,docs=a-2"]);
    check(&env);
}

fn start(env: &TestEnvironment, count: usize, args: &[&str]) -> Vec<Child> {
    (0..count).map(|_| env.start(args)).collect()
}

#[test]
fn simultaneous_hand_outs_give_each_task_once() {
    let agents: Vec<String> = (0..10).map(|number| format!("a-{number}")).collect();
    let register: String =
        agents.iter().map(|agent| format!("  {agent}: {{maxTasks: 3}}\n")).collect();
    let env = TestEnvironment::with_rules(
        "handOut: least-loaded\nworkflow:\n  gates:\n    - {id: work, role: crew}\n",
        &format!("roles:\n  crew: {{agents: [{}]}}\nagents:\n{register}", agents.join(", ")),
    );
    let list: Vec<String> = (0..40).map(|number| format!("{{\"title\": \"T{number}\"}}")).collect();
    let _ = env
        .aof_reading(&["task", "new", "--from", "-"], format!("[{}]", list.join(",")).as_bytes())
        .success();
    let mut children = start(&env, 3, &["watch", "--once"]);
    children.extend(start(&env, 2, &["task", "next", "--agent", "a-3", "--wait", "60s"]));
    for child in children {
        let _ = env.finish("aof", child).success();
    }
    hand_out(&env);
    check(&env);
    let given = tasks(&env, &["--status", "in_progress"]);
    assert_eq!(given.len(), 30, "{given:#?}");
    for agent in &agents {
        assert_eq!(
            given.iter().filter(|task| task.ends_with(agent)).count(),
            3,
            "{agent}: {given:#?}"
        );
    }
    let log = env.log();
    assert_eq!(log.matches("claimed by").count() + log.matches("handed to").count(), 30);
}

#[test]
fn next_gives_returned_work_first_and_more_only_with_room() {
    let env = TestEnvironment::with_rules(
        PROJECT,
        &format!("{ORG}agents: {{agent-7: {{maxTasks: 2}}, agent-8: , agent-3: }}\n"),
    );
    let older = env.new_task(&["Older"]);
    let own = env.new_task(&["Own"]);
    let _ = env.complete(&own, "agent-7");
    let _ = env
        .say(&own, "agent-3", "needs_review", &["--blocker", "the parser has no tests"])
        .success();
    let next = |more: &[&str]| env.aof(&[&["task", "next", "--agent", "agent-7"], more].concat());
    let first = |output: &str| output.lines().next().unwrap_or_default().to_owned();
    assert_eq!(first(&next(&[]).success().stdout), "AOF-xxxxx  Own");
    assert_eq!(first(&next(&[]).success().stdout), "AOF-xxxxx  Own", "it has it");
    assert_eq!(first(&next(&["--another"]).success().stdout), "AOF-xxxxx  Older");
    let urgent = env.new_task(&["Urgent", "--meta", "priority=critical"]);
    let refused = next(&["--another"]).code(4);
    assert_eq!(
        refused.stderr,
        "error: `agent-7` may have 2 tasks at once, and it has `AOF-xxxxx`, `AOF-xxxxx`\n\nhint: complete one of them, or give it back \
         with `aof release AOF-xxxxx --agent agent-7`; `maxTasks` in org.yaml is the limit\n"
    );
    let _ = env.complete(&older, "agent-7");
    assert_eq!(first(&next(&["--another"]).success().stdout), "AOF-xxxxx  Urgent");
    let _ = env.complete(&urgent, "agent-7");
    check(&env);
}

#[test]
fn a_task_waits_with_the_reason_while_a_dependency_is_lost() {
    let env = with_hand_out("least-loaded", ORG);
    let base = env.new_task(&["Base"]);
    let top = env.new_task(&["Top", "--depends", &base]);
    let _ = env.new_task(&["Summit", "--depends", &top]);
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        ["Base implement in_progress agent-7", "Top implement ready", "Summit implement ready"]
    );
    assert_eq!(tasks(&env, &["--ready"]), [""; 0]);
    let _ = env.aof(&["task", "cancel", &base, "--reason", "No money: none at all"]).success();
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        ["Top implement blocked", "Summit implement ready"],
        "what waits for it goes on waiting"
    );
    let text = env.task_text(&top);
    assert!(
        text.contains(&format!("Depends on {base}, which was cancelled: No money: none at all")),
        "{text}"
    );
    insta::assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an: %B"]), @"
    Ada: AOF-xxxxx: blocked at implement

    Depends on AOF-xxxxx, which was cancelled: No money: none at all

    Aof-Task: AOF-xxxxx
    Aof-Gate: implement
    Aof-Event: blocked
    ");
    let why = env.aof(&["why", &top]).success();
    assert!(why.stdout.contains("a person, who reopens AOF-xxxxx"), "{why}");
    let status = env.aof(&["status"]).success();
    assert!(
        status.stdout.contains("or go on without it: `aof edit AOF-xxxxx --undepends AOF-xxxxx`"),
        "{status}"
    );
    let refused = env.aof(&["task", "unblock", &top]).code(4);
    assert!(refused.stderr.contains("hint: take up what is lost again"), "{refused}");
    // It goes on by itself.
    let _ = env.aof(&["task", "reopen", &base, "--to", "review", "--reason", "There is"]).success();
    hand_out(&env);
    assert_eq!(
        tasks(&env, &[]),
        ["Base review in_progress agent-3", "Top implement ready", "Summit implement ready"]
    );
    let _ = env.complete(&base, "agent-3");
    hand_out(&env);
    assert_eq!(tasks(&env, &[]), ["Top implement in_progress agent-7", "Summit implement ready"]);
    check(&env);
}

#[test]
fn an_agent_s_note_on_a_dependency_changes_nothing() {
    let env = with_hand_out("ask", ORG);
    let base = env.new_task(&["Base"]);
    let top = env.new_task(&["Top", "--depends", &base]);
    let words = format!("Depends on {base}, which has failed: so it seems");
    let _ = env.say(&top, "agent-7", "blocked", &["--blocker", &words]).success();
    let before = env.head();
    hand_out(&env);
    assert_eq!(env.head(), before);
    assert_eq!(tasks(&env, &[]), ["Base implement ready", "Top implement blocked"]);
    let _ = env.aof(&["task", "unblock", &top]).success();
    check(&env);
}

#[test]
fn circles_are_refused_and_reported() {
    let env = with_hand_out("least-loaded", ORG);
    let one = env.new_task(&["One"]);
    let two = env.new_task(&["Two", "--depends", &one]);
    let three = env.new_task(&["Three", "--depends", &two]);
    let refused = env.aof(&["task", "edit", &one, "--depends", &three]).code(4);
    assert_eq!(
        refused.stderr,
        "error: these would wait for each other, and none would ever be handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx\n\n\
         hint: leave one of these out: a task waits for what it depends on, and for its children\n"
    );
    env.edit(&env.task_path(&one), "routing:", &format!("dependsOn: [{three}]\nrouting:"));
    let printed = "these wait for each other, so none of them is handed out: AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx -> AOF-xxxxx";
    let list = env.aof(&["task", "list", "--ready"]).success();
    assert!(list.stderr.contains(printed) && list.stdout.is_empty(), "{list}");
    for args in [&["status"][..], &["why", one.as_str()]] {
        let output = env.aof(args).success();
        assert!(output.stdout.contains(printed), "{output}");
    }
    hand_out(&env);
    assert_eq!(tasks(&env, &["--status", "in_progress"]), [""; 0]);
    let _ = env.aof(&["task", "edit", &one, "--undepends", &three]).success();
    hand_out(&env);
    assert_eq!(tasks(&env, &["--status", "in_progress"]), ["One implement in_progress agent-7"]);
    check(&env);
}

#[test]
fn a_priority_that_is_none_is_refused() {
    let env = TestEnvironment::new();
    let output = "error: `urgent` is no priority and counts as `medium`\n\nhint: did you mean `critical`? It is one of `critical`, `high`, `medium`, `low`\n";
    let made = env.aof(&["task", "new", "Now", "--meta", "priority=urgent"]).code(4);
    assert_eq!(made.stderr, output);
    let id = env.new_task(&["Now", "--meta", "priority=high"]);
    let edited = env.aof(&["task", "edit", &id, "--meta", "priority=P1"]).code(4);
    assert!(edited.stderr.contains(": `P1` is no priority"), "{edited}");
    check(&env);
}

#[test]
fn settings_of_handing_out_are_checked() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    env.write("project.yaml", format!("handOut: fairly\n{PROJECT}"));
    env.write("org.yaml", "roles:\n  backend: {agents: [human-ada], handOut: round-robin}\n  architect: {agents: [agent-3]}\nagents:\n  human-ada:\n  agent-3: {maxTasks: many}\n");
    insta::assert_snapshot!(env.aof(&["workflow", "validate"]).code(6).stdout, @"
    error[invalid_value]: `fairly` is not a way to hand out
     --> project.yaml:1:10
      |
    1 | handOut: fairly
      |          ^^^^^^
      |
      = help: it is one of `ask`, `least-loaded`, `round-robin`

    error[invalid_value]: `maxTasks` is a whole number from 0 on, and this is `many`
     --> org.yaml:6:23
      |
    6 |   agent-3: {maxTasks: many}
      |                       ^^^^
      |
      = help: write it as in `maxTasks: 2`

    invalid: 2 errors
    ");
    env.write("project.yaml", PROJECT);
    env.edit("org.yaml", "many", "2");
    insta::assert_snapshot!(env.aof(&["workflow", "validate"]).success().stdout, @"
    warning[hands_out_to_nobody]: `handOut: round-robin` hands nothing out: nobody in role `backend` takes tasks that way
     --> org.yaml:2:43
      |
    2 |   backend: {agents: [human-ada], handOut: round-robin}
      |                                           ^^^^^^^^^^^
      |
      = help: people are handed tasks if they have `maxTasks` under `agents`, as in `maxTasks: 3`

    valid: 1 workflow, 2 gates, 2 roles (1 warning)
    ");
}

#[test]
fn an_assignment_meanwhile_lets_no_repeated_completion_count() {
    let env = TestEnvironment::with_rules(
        "handOut: round-robin\nworkflow:\n  gates: [{id: work, role: crew}, {id: review, role: crew}]\n",
        "roles:\n  crew: {agents: [a-1]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["sweep"]).success();
    let _ = env.say(&id, "a-1", "complete", &[]).success();
    let given = env.aof(&["sweep"]).success();
    assert!(given.stdout.contains("given to a-1"), "{given}");
    let refused = env.say(&id, "a-1", "complete", &[]).code(5);
    assert!(refused.stderr.contains("said once more without a ticket"), "{refused}");
    let _ = env.say(&format!("{id}@1"), "a-1", "complete", &[]).success();
}
