//! How the process does, as a person sees it: counted from what real commands did, never from what anybody says.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::environment::{Output, TestEnvironment};

const PROJECT: &str = "\
project: {name: garden}
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, role: architect, canReject: true}
    - {id: legal, role: lawyer, when: \"tags.includes('law')\"}
";

const ORG: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  lawyer: {agents: [human-ada]}
";

fn sent_back(env: &TestEnvironment, id: &str) {
    let _ = env.say(id, "agent-3", "needs_review", &["--blocker", "One case is missing"]).success();
}

/// Ten days: a task that went through at once, one that was sent back over and over, one that waited.
fn story() -> (TestEnvironment, [String; 3]) {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let [quick, looping, waiting] =
        [&["--tag", "api"][..], &["--tag", "api", "--tag", "docs"], &[]]
            .map(|tags| env.new_task(&[&["Add login"], tags].concat()));
    env.pass_minutes(30);
    let _ = env.complete(&quick, "agent-7");
    env.pass_minutes(10);
    let _ = env.complete(&quick, "agent-3");
    for _ in 0..4 {
        env.pass_minutes(120);
        let _ = env.complete(&looping, "agent-8");
        env.pass_minutes(20);
        sent_back(&env, &looping);
    }
    env.pass_minutes(10 * 24 * 60);
    let _ = env.complete(&waiting, "agent-7");
    (env, [quick, looping, waiting])
}

fn narrow(env: &TestEnvironment, args: &[&str]) -> Output {
    let mut command = env.aof_command(args);
    command.env("COLUMNS", "80");
    env.run(command)
}

fn value(env: &TestEnvironment, args: &[&str]) -> Value {
    env.aof(&[&["stats", "--json"], args].concat()).success().json()
}

#[test]
fn one_screen_answers_questions_about_a_process() {
    let (env, _) = story();
    let output = narrow(&env, &["stats"]).success();
    assert!(output.stdout.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert!(output.stdout.lines().count() <= 24, "{output}");
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    garden, 2026-02-16 to 2026-02-26: 2 active, 3 created, 1 completed
    Throughput  0.7 tasks completed a week
    Lead time   from created to completed: 50% within 40m, 85% 40m, 95% 40m
    First pass  100% of the completed tasks were never sent back
    Rejections  80% of verdicts
    Loops       2.3 passes a task; 1 task over 3: AOF-xxxxx (5)
    Bottleneck  implement: 100% of all time, 85% of visits within 2d 16h
    Idle        legal (passed over 1 time): no task was there

    GATE       P50     P85     P95  TIME                REJECTED  NOW  OLDEST
    implement   2h  2d 16h  7d 20h  100%  ████████████         -    1     10d
    review     20m     20m     20m    0%  ▏                  80%    1      1s
    legal        -       -       -    0%  idle                 -    0       -

    AGENT    VISITS    P50     P85     P95   PACE                SENT BACK  REJECTS
    agent-3       5    20m     20m     20m   1.0x  ▎                    0%      80%
    agent-8       4     2h  2h 22m  2h 34m   1.0x  ▎                  100%       0%
    agent-7       2  5d 5h  8d 20h  9d 21h  62.6x  ████████████         0%       0%
    ");
}

#[test]
fn a_table_of_each_kind() {
    let (env, _) = story();
    assert_snapshot!(narrow(&env, &["stats", "--by", "gate"]), @"
    exit 0
    --- stdout
    GATE       VISITS  P50     P85     P95  TIME  REJECTED  FIRST PASS  SKIPPED  NOW
    implement       6   2h  2d 16h  7d 20h  100%         -           -        0    1
    review          5  20m     20m     20m    0%       80%         50%        0    1
    legal           0    -       -       -    0%         -           -        1    0
    ");
    assert_snapshot!(narrow(&env, &["stats", "--by", "agent"]), @"
    exit 0
    --- stdout
    AGENT    VISITS    P50     P85     P95   PACE                SENT BACK  REJECTS
    agent-3       5    20m     20m     20m   1.0x  ▎                    0%      80%
    agent-8       4     2h  2h 22m  2h 34m   1.0x  ▎                  100%       0%
    agent-7       2  5d 5h  8d 20h  9d 21h  62.6x  ████████████         0%       0%
    ");
    assert_snapshot!(narrow(&env, &["stats", "--by", "tag"]), @"
    exit 0
    --- stdout
    TAG       TASKS  COMPLETED  LEAD P50  P85  P95  PASSES  OVER 3  REJECTED
    api           2          1       40m  40m  40m     3.0       1       80%
    (no tag)      1          0         -    -    -     1.0       0         -
    docs          1          0         -    -    -     5.0       1      100%
    ");
    assert_snapshot!(narrow(&env, &["stats", "--by", "week"]), @"
    exit 0
    --- stdout
    FROM        TO          CREATED  COMPLETED  LEAD P50  P85  REJECTED
    2026-02-16  2026-02-19        3          1       40m  40m       80%
    2026-02-19  2026-02-26        0          0         -    -         -
    ");
}

#[test]
fn programs_get_all_of_it() {
    let (env, _) = story();
    let stats = value(&env, &[]);
    assert_eq!(
        stats["tasks"],
        json!({
            "all": 3, "active": 2, "created": 3, "completed": 1, "failed": 0, "cancelled": 0,
        })
    );
    assert_eq!(stats["rejections"]["count"], 4);
    assert_eq!(stats["firstPass"], json!({"count": 1, "of": 1, "rate": 1.0}));
    assert_eq!(stats["passes"]["worst"], json!([{"task": "AOF-xxxxx", "passes": 5}]));
    assert_eq!(stats["idle"], json!([{"workflow": "default", "gate": "legal"}]));
    assert_eq!(stats["bottleneck"], json!({"workflow": "default", "gate": "implement"}));
    let gates: Vec<&str> = stats["gates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gate| gate["gate"].as_str().unwrap())
        .collect();
    assert_eq!(gates, ["implement", "review", "legal"]);
    let agents = stats["agents"].as_array().unwrap();
    let back = |name: &str| {
        agents.iter().find(|agent| agent["agent"] == name).unwrap()["sentBack"].clone()
    };
    assert_eq!(back("agent-8"), json!({"count": 4, "of": 4, "rate": 1.0}));
    assert_eq!(back("agent-7"), json!({"count": 0, "of": 2, "rate": 0.0}));
}

#[test]
fn tasks_that_ended_before_are_left_out() {
    let (env, _) = story();
    let stats = value(&env, &["--since", "2d"]);
    assert_eq!(stats["visits"], 1);
    assert_eq!((&stats["tasks"]["completed"], &stats["rejections"]["of"]), (&json!(0), &json!(0)));
    assert_eq!(value(&env, &["--since", "2026-02-16"])["visits"], stats_visits(&env));
    assert_eq!(value(&env, &["--since", "2030-01-01"])["visits"], 0);
    assert_snapshot!(env.aof(&["stats", "--since", "soon"]).code(2).stderr, @"
    error: invalid value 'soon' for '--since <TIME>': `soon` is not a length of time; write a number and a unit of `s`, `m`, `h` or `d`, as in `45m`, `2h` or `1h30m`, or a day or time, as in `2026-11-01` or `2026-11-01T09:00:00Z`

    For more information, try '--help'.
    ");
}

fn stats_visits(env: &TestEnvironment) -> Value {
    value(env, &[])["visits"].clone()
}

#[test]
fn only_the_workflow_that_is_asked_for() {
    let env = TestEnvironment::with_rules(
        "workflows:\n  - name: fast\n    gates: [{id: do, role: r}]\n  - name: slow\n    gates: [{id: think, role: r}]\n\
         defaultWorkflow: fast\n",
        "roles: {r: {agents: [x]}}\n",
    );
    let one = env.new_task(&["One", "--workflow", "fast"]);
    let _ = env.new_task(&["Two", "--workflow", "slow"]);
    let _ = env.complete(&one, "x");
    assert_eq!(value(&env, &[])["tasks"]["all"], 2);
    let fast = value(&env, &["--workflow", "fast"]);
    assert_eq!((&fast["tasks"]["all"], &fast["gates"][0]["gate"]), (&json!(1), &json!("do")));
    assert_eq!(fast["gates"].as_array().unwrap().len(), 1);
    assert!(
        env.aof(&["stats"]).success().stdout.contains("WORKFLOW"),
        "two gates of one name could be meant"
    );
    assert_snapshot!(env.aof(&["stats", "--workflow", "fist"]), @"
    exit 3
    --- stderr
    error: there is no workflow `fist`

    hint: did you mean `fast`?
    ");
}

#[test]
fn an_empty_count_is_reported() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    assert_snapshot!(env.aof(&["stats"]), @r#"
    exit 0
    --- stdout
    there are no tasks yet: create one with `aof new "..."`
    "#);
    assert_eq!(value(&env, &[])["leadTime"], Value::Null);
    let _ = env.new_task(&["Add login"]);
    assert_snapshot!(env.aof(&["stats"]), @"
    exit 0
    --- stdout
    garden, 2026-02-16 to 2026-02-16: 1 active, 1 created, 0 completed
    no visit of a gate has ended in this time, so there is little to count

    GATE       P50  P85  P95  TIME                REJECTED  NOW  OLDEST
    implement    -    -    -  100%  ████████████         -    1      1s
    review       -    -    -    0%  idle                 -    0       -
    legal        -    -    -    0%  idle                 -    0       -
    ");
    for by in ["agent", "tag"] {
        let answer = env.aof(&["stats", "--by", by]).success();
        assert!(answer.stdout.starts_with("no visit of a gate has ended"), "{answer}");
    }
}

#[test]
fn uncounted_tasks_are_named_and_errors_reported() {
    let (env, [quick, ..]) = story();
    env.write("tasks/AOF-bad.md", "---\ntitle: [\n---\n");
    env.edit(&env.task_path(&quick), "exited: 2026-02-16T10:30", "exited: 2026-02-16T09:30");
    env.write("project.yaml", PROJECT.replace("id: review", "id: approve"));
    env.commit_all("another name for the gate, and a clock that was wrong");
    let output = narrow(&env, &["stats"]).code(6);
    assert_snapshot!(output.stderr, @"
    warning: visits that ended before they began, by the clocks of two machines, count as 0s: see `aof history` of `AOF-xxxxx`
    error: `tasks/AOF-bad.md:2:8` cannot be read as a task: not valid YAML: unclosed bracket '['
    `-v` shows all of them, with details
    ");
    assert!(output.stdout.contains("review (gone)"), "{output}");
    let stats = env.aof(&["stats", "--json"]).code(6).json();
    assert_eq!(stats["skewed"], json!(["AOF-xxxxx"]));
    assert_eq!(stats["unreadable"][0]["path"], "tasks/AOF-bad.md");
    let gone =
        stats["gates"].as_array().unwrap().iter().find(|gate| gate["gate"] == "review").unwrap();
    assert_eq!((&gone["inForce"], &gone["rejections"]["count"]), (&json!(false), &json!(4)));
}

#[test]
fn passes_are_a_metric_of_tasks_that_are_complete() {
    let (env, [_, looping, _]) = story();
    let metrics = || env.aof(&["metrics"]).success().stdout;
    let bucket = |le: &str| {
        format!("aof_task_passes_bucket{{project=\"garden\",workflow=\"default\",le=\"{le}\"}}")
    };
    let text = metrics();
    assert!(text.contains(&format!("{} 1\n", bucket("1.0"))), "the others go on: {text}");
    let _ = env.complete(&looping, "agent-8");
    let _ = env.complete(&looping, "agent-3");
    let text = metrics();
    assert!(text.contains(&format!("{} 1\n", bucket("3.0"))), "{text}");
    assert!(text.contains(&format!("{} 2\n", bucket("5.0"))), "{text}");
}

#[test]
fn deliveries_are_counted_at_the_gates_that_are_marked() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: build, role: backend}\n    - {id: ship, role: backend, delivery: true}\n    - {id: watch, role: architect, canReject: true}\n",
        "roles:\n  backend: {agents: [agent-7, agent-8]}\n  architect: {agents: [agent-3]}\n",
    );
    let [good, bad] = [env.new_task(&["Good"]), env.new_task(&["Bad"])];
    let ship = |id: &str| {
        let _ = env.complete(id, "agent-7").success();
        env.pass_minutes(60);
        let _ = env.complete(id, "agent-8").success();
    };
    ship(&good);
    let _ = env.complete(&good, "agent-3").success();
    ship(&bad);
    env.pass_minutes(10);
    let _ = env
        .say(&bad, "agent-3", "needs_review", &["--blocker", "It does not start in production"])
        .success();
    env.pass_minutes(30);
    ship(&bad);
    env.pass_minutes(14 * 24 * 60);
    let counted = value(&env, &[])["deliveries"].clone();
    assert_eq!(counted["count"], 3);
    assert_eq!(counted["failures"], json!({"count": 1, "of": 3, "rate": 0.3333}));
    assert_eq!(counted["timeToRestore"]["p50"], 90 * 60 + 2, "{counted}");
    assert_eq!(counted["leadTime"]["count"], 2);
    let screen = narrow(&env, &["stats"]).success().stdout;
    let line = screen.lines().find(|line| line.starts_with("Delivery")).unwrap();
    assert_snapshot!(line, @"Delivery    3, 1.5 a week, 50% within 1h 30m; 1 of them failed, 50% fixed in 1h 30m");
    // Without a marked gate there is nothing to count.
    assert_eq!(value(&story().0, &[])["deliveries"], json!(null));
}
