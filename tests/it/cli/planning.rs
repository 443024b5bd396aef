//! What people plan: priorities, due dates, milestones, assignees, links, checklists; and which tasks wait for others.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::merge_scene::{aside, scene, verified};

/// Returns the titles that a command lists.
fn listed(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let args = [&["list", "--json"], args].concat();
    let tasks = env.aof_aside(&args).success().json()["tasks"].clone();
    tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["title"].as_str().unwrap().to_owned())
        .collect()
}

fn shown(env: &TestEnvironment, id: &str) -> Value {
    env.aof_aside(&["show", id, "--json"]).success().json()
}

#[test]
fn a_plan_is_written_changed_and_taken_away() {
    let env = TestEnvironment::new();
    let id = env.new_task(&[
        "Add login",
        "--priority",
        "high",
        "--due",
        "2026-12-01",
        "--milestone",
        "1.10",
        "--link",
        "docs/login.md",
    ]);
    let text = env.task_text(&id);
    for line in [
        "priority: high\n",
        "due: 2026-12-01\n",
        "milestone: \"1.10\"\n",
        "links:\n  - docs/login.md\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let page = env.aof_aside(&["show", &id]).success().stdout;
    let brief = env.aof_aside(&["brief", &id, "--format", "markdown"]).success().stdout;
    for (shown, line) in [
        ("! high", "high"),
        ("due Dec 1", "2026-12-01"),
        ("1.10", "1.10"),
        ("docs/login.md", "docs/login.md"),
    ] {
        assert!(page.contains(shown) && brief.contains(line), "{line}\n{page}\n{brief}");
    }
    let brief = env.aof_aside(&["brief", &id, "--json"]).success().json();
    let plan = ["priority", "due", "milestone", "links"].map(|key| brief[key].clone());
    assert_eq!(json!(plan), json!(["high", "2026-12-01", "1.10", ["docs/login.md"]]));
    let edits = [
        "--due",
        "2026-12-02T09:00:00+01:00",
        "--link",
        "https://x.example/1",
        "--unlink",
        "docs/login.md",
        "--unset",
        "priority",
        "--unset",
        "milestone",
    ];
    let _ = env.aof(&[&["edit", &id[..]], &edits[..]].concat()).success();
    let text = env.task_text(&id);
    assert!(
        text.contains("due: 2026-12-02T08:00:00Z\n")
            && text.contains("links:\n  - https://x.example/1\n"),
        "{text}"
    );
    assert!(!text.contains("priority") && !text.contains("milestone"), "{text}");
    let _ = env.aof(&["edit", &id, "--unset", "due", "--unlink", "https://x.example/1"]).success();
    assert!(!env.task_text(&id).contains("due:") && !env.task_text(&id).contains("links"));
    check(&env);
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_plan_that_makes_no_sense_is_refused_at_every_door() {
    let env = TestEnvironment::new();
    for words in [
        ["--due", "soon"],
        ["--due", "2026-02-30"],
        ["--due", "2026-12-01T10:00"],
        ["--priority", "urgentest"],
        ["--milestone", ""],
        ["--link", " "],
    ] {
        let refused = env.aof(&[&["new", "x"], &words[..]].concat()).code(2);
        assert!(
            refused.stderr.contains("invalid value") || refused.stderr.contains("value"),
            "{refused}"
        );
    }
    let _ = env.aof(&["list", "--due-before", "soon"]).code(2);
    env.write("list.json", r#"[{"title": "a", "due": "soon"}, {"title": "b", "links": [5]}, {"title": "c", "priority": "urgentest"}]"#);
    assert_snapshot!(env.aof(&["new", "--from", "list.json"]).code(4).stderr, @r#"
    error: `list.json` cannot be taken: task 1: `soon` is not a date; write a day, as in `2026-12-01`, `tomorrow`, `fri`, `next week`, `eow`, `eom` or `+3d`, or a time with its zone, as in `2026-12-01T10:00:00Z`; task 2: `links` of `new` is to be a list of URLs, or of objects with `title` and `url`, not other items; task 3: `priority` of `new` is to be one of `critical`, `high`, `medium`, `low`, not the text `urgentest`

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    assert!(env.files("tasks").is_empty());
    let path = env.hand_made("AOF-abc", "By hand");
    for line in ["due: tomorrow", "due: 2026-02-30", "due: 2026-12-01T10:00", "links: 5"] {
        env.write(&path, format!("---\ntitle: By hand\n{line} # when\n---\n"));
        let refused = env.aof(&["show", "AOF-abc"]).code(6);
        assert!(refused.stderr.contains("AOF-abc.md:3:"), "{refused}");
    }
    assert_snapshot!(env.aof(&["show", "AOF-abc"]).code(6).stderr, @"
    error: `tasks/AOF-abc.md` cannot be read as a task

    error[wrong_kind]: a link is a URL, a path, or a mapping of `title` and `url`, and this is a number
     --> tasks/AOF-abc.md:3:8
      |
    3 | links: 5 # when
      |        ^

    hint: fix it there; HEAD does not have it, so if it is no task, `rm tasks/AOF-abc.md` removes it
    ");
    // The words of a person's file are kept, and count as the usual priority.
    env.write(&path, "---\ntitle: By hand\npriority: urgentest\nmetadata: {priority: high}\n---\n");
    let _ = env.aof(&["list"]).success();
    let task = &env.aof(&["list", "--json"]).success().json()["tasks"][0];
    assert_eq!(task["priority"], "medium");
    env.write(&path, "---\ntitle: By hand\nmetadata: {priority: high}\n---\n");
    assert_eq!(env.aof(&["list", "--json"]).success().json()["tasks"][0]["priority"], "high");
    env.write("project.yaml", "project: {timezone: Mars/Olympus}\n");
    let refused = env.aof(&["workflow", "validate"]).code(6);
    assert!(refused.stdout.contains("`Mars/Olympus` is not a time zone"), "{refused}");
}

#[test]
fn agents_plan_tasks_and_are_told_of_plans() {
    let env = TestEnvironment::with_rules(
        "workflow: {gates: [{id: work, role: dev}]}\n",
        "roles: {dev: {agents: [agent-7]}}\nagents: {agent-7: {may: [new]}}\n",
    );
    let _ = env.new_task(&["Mine", "--due", "2026-03-01", "--link", "plan.md"]);
    let mut client = McpClient::of(&env, "agent-7");
    let taken = client.call("aof_task_next", json!({}));
    let plan = ["due", "links"].map(|key| taken["task"][key].clone());
    assert_eq!(json!(plan), json!(["2026-03-01", ["plan.md"]]));
    let made = client.call(
        "aof_task_create",
        json!({"title": "Part", "priority": "low", "due": "2026-02-20", "milestone": "v1", "links": ["x.md"]}),
    );
    let task = shown(&env, made["task"].as_str().unwrap());
    let plan = ["priority", "due", "milestone", "links"].map(|key| task[key].clone());
    assert_eq!(json!(plan), json!(["low", "2026-02-20", "v1", ["x.md"]]));
    for wrong in [json!({"due": "soon"}), json!({"priority": "urgentest"})] {
        let mut arguments = json!({"title": "x"});
        arguments.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        let refused = client.refused("aof_task_create", arguments);
        assert_eq!(refused["error"], "invalid_argument", "{refused}");
    }
}

#[test]
fn lists_are_sorted_and_filtered_by_the_plan() {
    let env = TestEnvironment::new();
    let late =
        env.new_task(&["Late", "--due", "2026-02-15", "--milestone", "v1", "--priority", "low"]);
    let _ = env.new_task(&["Soon", "--due", "2026-02-16", "--milestone", "v2"]);
    let _ = env.new_task(&[
        "Never",
        "--priority",
        "critical",
        "--body",
        "- [x] a\n* [ ] b\n1. [ ] c\n\n```\n- [ ] code\n```\n",
    ]);
    let _ = env.new_task(&["Next", "--due", "2026-02-17T12:00:00Z", "--milestone", "v1"]);
    assert_eq!(listed(&env, &["--sort", "due"]), ["Late", "Soon", "Next", "Never"]);
    assert_eq!(listed(&env, &[]), ["Late", "Never", "Soon", "Next"]);
    assert_eq!(listed(&env, &["--milestone", "v1"]), ["Late", "Next"]);
    assert_eq!(listed(&env, &["--milestone", "v1", "--milestone", "v2"]).len(), 3);
    assert_eq!(listed(&env, &["--overdue"]), ["Late"]);
    for (words, found) in [
        (&["is:overdue"][..], &["Late"][..]),
        (&["milestone:v1", "MILESTONE:V2", "next"], &["Next"]),
        (&["status:ready", "priority:critical"], &["Never"]),
        (&["is:ready", "never"], &["Never"]),
        (&["milestone:v1", "a:b"], &[]),
    ] {
        assert_eq!(listed(&env, words), found, "{words:?}");
    }
    assert_snapshot!(env.aof_aside(&["list", "is:overdu"]).code(4).stderr, @"
    error: `overdu` filters nothing; did you mean `overdue`? Known: mine, overdue, ready, blocked, waiting, escalated, held

    hint: as in `aof list login role:backend is:overdue`
    ");
    assert_eq!(listed(&env, &["--due-before", "2026-02-16"]), ["Late"]);
    assert_eq!(listed(&env, &["--due-before", "2026-02-17"]), ["Late", "Soon"]);
    assert_eq!(listed(&env, &["--due-before", "2026-02-17T12:00:01Z"]).len(), 3);
    let tasks =
        env.aof_aside(&["list", "--json", "--sort", "due"]).success().json()["tasks"].clone();
    let facts =
        |task: &Value| ["due", "overdue", "milestone", "checklist"].map(|key| task[key].clone());
    assert_eq!(json!(facts(&tasks[0])), json!(["2026-02-15", true, "v1", null]));
    assert_eq!(json!(facts(&tasks[3])), json!([null, false, null, {"done": 1, "total": 3}]));
    // The day ends with midnight in the project's time zone, which comes earlier further east.
    env.pass_minutes(60 * 6);
    assert_eq!(listed(&env, &["--overdue"]), ["Late"]);
    env.write(
        "project.yaml",
        format!("project: {{timezone: Pacific/Kiritimati}}\n{}", env.read("project.yaml")),
    );
    env.commit_all("we moved");
    assert_eq!(listed(&env, &["--overdue"]), ["Soon", "Late"]);
    // What has ended is not late.
    let _ = env.aof(&["cancel", &late, "--reason", "too late"]).success();
    assert_eq!(listed(&env, &["--overdue", "--all"]), ["Soon"]);
}

#[test]
fn work_is_handed_out_by_priority_then_by_due_date_then_by_age() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Old"]);
    let _ = env.new_task(&["Later", "--due", "2026-05-02"]);
    let _ = env.new_task(&["Sooner", "--due", "2026-05-01"]);
    let _ = env.new_task(&["Urgent", "--meta", "priority=high"]);
    for expected in ["Urgent", "Sooner", "Later", "Old"] {
        let next = env.aof(&["next", "--another", "--agent", "agent-7", "--json"]).success().json();
        assert_eq!(next["title"], expected, "{next}");
    }
}

#[test]
fn conditions_see_the_plan() {
    let project = "\
workflow:
  gates:
    - {id: work, role: dev}
    - {id: rush, role: dev, when: \"priority === 'high' && due < '2027'\"}
    - {id: notes, role: dev, when: \"milestone?.startsWith('v')\"}
    - {id: end, role: dev}
";
    let env = TestEnvironment::with_rules(project, "roles: {dev: {agents: [agent-1, agent-2]}}\n");
    let plain = env.new_task(&["Plain"]);
    let planned = env.new_task(&[
        "Planned",
        "--due",
        "2026-12-01",
        "--milestone",
        "v1",
        "--meta",
        "priority=high",
    ]);
    let gate_after = |id: &str| {
        let _ = env.complete(id, "agent-1").success();
        shown(&env, id)["gate"]["current"].clone()
    };
    assert_eq!(gate_after(&plain), "end");
    assert_eq!(gate_after(&planned), "rush");
    // An edit counts from the next step on, and the history stays proven.
    let _ = env.aof(&["edit", &planned, "--unset", "milestone"]).success();
    let _ = env.say(&planned, "agent-2", "complete", &[]).success();
    assert_eq!(shown(&env, &planned)["gate"]["current"], "end");
    let _ = env.aof(&["verify"]).success();
    check(&env);
}

#[test]
fn a_ready_task_that_waits_for_others_is_shown_as_waiting() {
    let project = "\
workflow:
  gates:
    - {id: plan, role: dev}
    - {id: integrate, role: dev, waitFor: children}
";
    let env = TestEnvironment::with_rules(project, "roles: {dev: {agents: [agent-1, agent-2]}}\n");
    let parent = env.new_task(&["Parent"]);
    let _ = env.complete(&parent, "agent-1").success();
    let child = env.new_task(&["Child", "--parent", &parent]);
    let _ = env.new_task(&["After", "--depends", &child]);
    let mut waiting = listed(&env, &["--status", "waiting"]);
    waiting.sort();
    assert_eq!(waiting, ["After", "Parent"]);
    assert_eq!(listed(&env, &["--status", "ready"]), ["Child"]);
    assert_eq!(listed(&env, &["--ready"]), ["Child"]);
    let table = env.aof_aside(&["list"]).success().stdout;
    assert_eq!(table.matches("waiting").count(), 2, "{table}");
    for task in env.aof_aside(&["list", "--json"]).success().json()["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "ready");
        let waits_for = if task["title"] == "Child" { json!([]) } else { json!(["AOF-xxxxx"]) };
        assert_eq!(task["waitingFor"], waits_for, "{task}");
    }
    // The archive is asked for what is not active.
    let _ = env.aof(&["cancel", &child, "--reason", "not needed"]).success();
    assert_eq!(listed(&env, &["--status", "ready"]), ["Parent"]);
}

#[test]
fn mine_separates_held_tasks_from_free_ones() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Held"]);
    let _ = env.new_task(&["Free"]);
    let _ = env.aof(&["next", "--agent", "agent-7"]).success();
    let tasks =
        env.aof_aside(&["list", "--mine", "--me", "agent-7", "--json"]).success().json()["tasks"]
            .clone();
    let table = env.aof_aside(&["list", "--mine", "--me", "agent-7"]).success().stdout;
    let places =
        ["yours (1 task)", "Held", "you can take (1 task)", "Free"].map(|text| table.find(text));
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{table}");
    let mine: Vec<Value> =
        tasks.as_array().unwrap().iter().map(|task| json!([task["title"], task["mine"]])).collect();
    assert_eq!(json!(mine), json!([["Held", true], ["Free", false]]));
    assert_eq!(
        env.aof_aside(&["list", "--json"]).success().json()["tasks"][0]["mine"],
        Value::Null
    );
}

#[test]
fn plans_that_two_branches_changed_are_merged_by_key() {
    let (env, id) = scene();
    let _ = env.aof(&["edit", &id, "--link", "a.md", "--due", "2026-12-01"]).success();
    aside(&env, "side", || {
        let _ = env.aof(&["edit", &id, "--link", "b.md", "--milestone", "v1"]).success();
    });
    let _ = env.aof(&["edit", &id, "--link", "c.md", "--priority", "high"]).success();
    env.git(&["merge", "-q", "--no-edit", "side"]);
    let task = shown(&env, &id);
    assert_eq!(task["links"], json!(["a.md", "c.md", "b.md"]));
    assert_eq!((&task["milestone"], &task["priority"]), (&json!("v1"), &json!("high")));
    aside(&env, "other", || {
        let _ = env.aof(&["edit", &id, "--due", "2026-12-24"]).success();
    });
    let _ = env.aof(&["edit", &id, "--due", "2026-12-31"]).success();
    let merge = env.try_git(&["merge", "-q", "--no-edit", "other"]);
    assert_eq!(merge.code, Some(1), "{merge}");
    let text = env.task_text(&id);
    let conflict = &text[text.find("<<<<<<<").unwrap()..text.find(">>>>>>>").unwrap()];
    assert!(conflict.contains("due: 2026-12-31") && conflict.contains("due: 2026-12-24"), "{text}");
    assert!(!conflict.contains("milestone") && !conflict.contains("links"), "{conflict}");
    env.git(&["merge", "--abort"]);
    let _ = verified(&env).success();
}

#[test]
fn accents_are_one_however_they_are_written() {
    let env = TestEnvironment::new();
    let (one, two) = ("caf\u{e9} \u{304c}", "cafe\u{301} \u{304b}\u{3099}");
    let first = env.new_task(&[one, "--tag", one, "--milestone", one]);
    let second = env.new_task(&[two, "--tag", two, "--milestone", two]);
    let _ = env.new_task(&["cafe \u{304b}", "--tag", "cafe", "--milestone", "cafe"]);
    for text in [one, two] {
        for words in [
            ["list", "--tag", text],
            ["list", "--milestone", text],
            ["list", "--search", text],
            ["search", text, "--all"],
        ] {
            let listed = env.aof(&[&words[..], &["--json"]].concat()).success();
            let count = listed.stdout.matches("\"id\"").count();
            assert_eq!(count, 2, "{words:?}: {listed}");
        }
    }
    let _ = env.aof(&["edit", &first, "--untag", two]).success();
    let _ = env.aof(&["edit", &second, "--untag", one]).success();
    assert_eq!(env.aof(&["list", "--tag", one, "--json"]).success().json()["tasks"], json!([]));
}

#[test]
fn due_dates_may_be_words_and_are_echoed_as_days() {
    // It is a Monday, 2026-02-16.
    let env = TestEnvironment::new();
    env.write("list.json", r#"[{"title": "Listed", "due": "eow"}]"#);
    assert_snapshot!(env.aof(&["add", "Typed", "--due", "fri", "-p", "high", "-t", "ui"]).code(0).stdout, @"
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at implement, ready for agent-7 or agent-8
      due Fri, 2026-02-20
    ");
    let _ = env.aof(&["new", "--from", "list.json"]).code(0);
    let rows = |more: &[&str]| {
        env.aof(&[&["list", "--columns", "title,due"], more].concat()).code(0).stdout
    };
    assert_snapshot!(rows(&[]), @"
    TITLE   DUE
    Typed   Fri
    Listed  Sun
    ");
    assert_snapshot!(rows(&["--due-before", "sat"]), @"
    TITLE  DUE
    Typed  Fri
    ");
}

const CREW_PROJECT: &str =
    "project: {name: Crew}\nworkflow:\n  name: default\n  gates:\n    - {id: work, role: crew}\n";
const CREW: &str = "\
roles:
  crew: {agents: [agent-7, agent-8, human-ann, human-ben]}
  lead: {agents: [human-ben]}
";

#[test]
fn a_plan_for_somebody_is_no_claim() {
    let env = TestEnvironment::with_rules(CREW_PROJECT, CREW);
    let id = env.new_task(&["Add login"]);
    let planned = env.aof(&["assign", &id, "ann"]).success().stdout.replace(&id, "ID");
    assert_snapshot!(planned, @"
    AOF-xxxxx: edited
      now at work, ready for agent-7 or agent-8 or human-ann or human-ben
      planned for ann; no one has it yet
    ");
    assert!(env.task_text(&id).contains("assignee:\n  - human-ann\n"), "{}", env.task_text(&id));
    let listed = env.aof(&["list", "--json"]).success().json();
    assert_eq!(listed["tasks"][0]["assignee"], json!(["human-ann"]));
    assert_eq!(listed["tasks"][0]["agent"], json!(null), "nobody has it");
    let list = env.aof(&["list"]).success().stdout;
    assert!(list.contains("for ann"), "{list}");

    // It bars nobody.
    let _ = env.aof(&["claim", &id, "--agent", "agent-8"]).success();
    let claimed = env.aof(&["assign", &id, "ben", "--claim"]).success().stdout.replace(&id, "ID");
    assert_snapshot!(claimed, @"
    AOF-xxxxx: assigned to human-ben
      now at work, in progress with human-ben
    ");
    let gone = env.aof(&["edit", &id, "--unset", "assignee"]).success();
    assert!(!env.task_text(&id).contains("assignee"), "{gone}");
    check(&env);
}

#[test]
fn a_name_that_the_org_lacks_is_shown_and_refused_at_the_doors() {
    let env = TestEnvironment::with_rules(CREW_PROJECT, CREW);
    let id = env.new_task(&["Add login"]);
    for args in [
        &["assign", &id, "carl"][..],
        &["edit", &id, "--assignee", "carl"],
        &["new", "More", "--assignee", "carl"],
        &["list", "--assignee", "carl"],
    ] {
        let refused = env.aof(args).code(3);
        assert!(refused.stderr.contains("`carl`"), "{refused}");
    }
    let path = format!("tasks/{id}.md");
    let text = env.read(&path).replace("id:", "assignee: carl\nid:");
    env.write(&path, &text);
    env.commit_all("plan");
    let list = env.aof(&["list"]).success().stdout;
    assert!(list.contains("for carl"), "{list}");
    let found = env.aof(&["list", "--assignee", "carl", "--json"]).success().json();
    assert_eq!(found["tasks"][0]["assignee"], json!(["carl"]));
    check(&env);
}

#[test]
fn filters_find_a_person_with_and_without_the_prefix() {
    let env = TestEnvironment::with_rules(CREW_PROJECT, CREW);
    let _ = env.new_task(&["Planned", "--assignee", "ann", "--assignee", "agent-7"]);
    let held = env.new_task(&["Held"]);
    let _ = env.aof(&["claim", &held, "--agent", "human-ann"]).success();
    let titles = |args: &[&str]| {
        let found = env.aof(&[&["list", "--json"], args].concat()).success().json();
        let titles = found["tasks"].as_array().unwrap().iter().map(|task| task["title"].clone());
        titles.collect::<Vec<_>>()
    };
    for name in ["ann", "human-ann"] {
        assert_eq!(titles(&["--assignee", name]), ["Planned"]);
        assert_eq!(titles(&["--agent", name]), ["Held"]);
        assert_eq!(titles(&[&format!("assignee:{name}")]), ["Planned"]);
    }
    assert_eq!(titles(&["--assignee", "agent-7"]), ["Planned"]);
    let mine = env.aof(&["list", "--mine", "--me", "human-ann"]).success().stdout;
    let (yours, for_you) = (mine.find("yours").unwrap(), mine.find("planned for you").unwrap());
    assert!(yours < for_you && !mine.contains("you can take"), "{mine}");
}

#[test]
fn next_and_handing_out_prefer_what_is_planned_for_an_agent() {
    let project = format!("handOut: round-robin\n{CREW_PROJECT}");
    for (project, hands_out) in [(CREW_PROJECT, false), (&project, true)] {
        let env = TestEnvironment::with_rules(project, CREW);
        let urgent = env.new_task(&["Urgent", "--priority", "critical"]);
        let planned = env.new_task(&["Planned", "--assignee", "agent-8"]);
        if hands_out {
            let _ = env.aof(&["watch", "--once"]).success();
            assert!(
                env.task_text(&planned).contains("agent: agent-8"),
                "{}",
                env.task_text(&planned)
            );
            assert!(
                env.task_text(&urgent).contains("agent: agent-7"),
                "{}",
                env.task_text(&urgent)
            );
        } else {
            let next = |agent| env.aof(&["next", "--agent", agent, "--json"]).success().stdout;
            assert!(next("agent-8").contains("Planned"), "what is planned for it is first");
            assert!(next("agent-7").contains("Urgent"));
        }
        check(&env);
    }
}

#[test]
fn what_is_planned_for_another_is_still_handed_out() {
    let env = TestEnvironment::with_rules(CREW_PROJECT, CREW);
    let _ = env.new_task(&["Planned", "--assignee", "human-ben"]);
    let next = env.aof(&["next", "--agent", "agent-7", "--json"]).success().stdout;
    assert!(next.contains("Planned"), "a plan bars nobody: {next}");
}

/// The tests begin on Monday, 2026-02-16.
#[test]
fn a_task_is_not_handed_out_before_its_day() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Renew the certificate", "--not-before", "fri"]);
    let text = env.task_text(&id);
    assert!(text.contains("\nnotBefore: 2026-02-20\n"), "{text}");
    let shown = shown(&env, &id);
    assert_eq!((&shown["state"], &shown["status"]), (&json!("waiting"), &json!("ready")));
    assert_eq!(shown["waitingFor"], json!([]));
    let page = env.aof_aside(&["list"]).success().stdout;
    assert!(page.contains("waiting") && page.contains("from Fri"), "{page}");
    let why = env.aof_aside(&["why", &id]).success().stdout;
    assert!(why.contains("it is not handed out before Fri, 2026-02-20"), "{why}");
    assert!(why.contains("waiting, until Fri, 2026-02-20"), "{why}");
    let next = env.aof(&["next", "--agent", "agent-7", "--json"]).success().json();
    assert_eq!(next["task"], Value::Null);

    // By hand, anybody may begin earlier.
    let _ = env.aof(&["claim", &id, "--agent", "agent-7"]).success();
    let _ = env.aof(&["release", &id, "--agent", "agent-7"]).success();
    let answer = env.aof(&["edit", &id, "--not-before", "today"]).success().stdout;
    assert!(answer.contains("now at implement, ready"), "{answer}");
    let next = env.aof(&["next", "--agent", "agent-7", "--json"]).success().json();
    assert_eq!(next["task"]["id"], "AOF-xxxxx");
    let _ = env.aof(&["edit", &id, "--unset", "notBefore"]).success();
    assert!(!env.task_text(&id).contains("notBefore"));
    let refused = env.aof(&["edit", &id, "--not-before", "soon"]).code(2);
    assert!(refused.stderr.contains("`soon` is not a date"), "{refused}");
    let _ = verified(&env).success();
}

#[test]
fn a_not_before_that_is_no_time_counts_as_absent_and_is_reported() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for value in ["someday", "[2026-12-01]", "20261201"] {
        let path = env.task_path(&id);
        let text = env.read(&path);
        let text = text.lines().filter(|line| !line.starts_with("notBefore"));
        let text: Vec<&str> = text.collect();
        let text =
            text.join("\n").replacen("\nstatus:", &format!("\nnotBefore: {value}\nstatus:"), 1);
        env.write(&path, text + "\n");
        env.commit_all("by hand");
        assert_eq!(shown(&env, &id)["state"], "ready", "{value}");
        let checked = env.aof_aside(&["doctor"]);
        assert!(checked.stdout.contains("`notBefore` counts as absent"), "{value}: {checked}");
    }
}
