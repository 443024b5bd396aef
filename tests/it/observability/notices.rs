//! Who is told of what: real programs, real servers, real crashes.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::watcher::drop_file;

/// Returns the usual project with this `notify`, committed, and the outbox begun.
fn project_with(notify: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let rules = format!("{}{notify}", crate::support::environment::PROJECT);
    env.write("project.yaml", rules);
    env.commit_all("notify");
    begin(&env);
    env
}

/// From here on everything is told.
fn begin(env: &TestEnvironment) {
    let _ = env.aof(&["notices", "--deliver"]).success();
}

/// A program that adds each message to a file.
fn into(file: &str) -> String {
    format!("command: [sh, -c, \"cat >> {file}\"]")
}

fn messages(env: &TestEnvironment, file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(env.path(file)).unwrap_or_default();
    // A line that crosses a page is written in two steps: the last one may still be growing.
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn message_lines(env: &TestEnvironment, file: &str) -> Vec<String> {
    let word = |message: &Value, key: &str| message[key].as_str().unwrap_or_default().to_owned();
    messages(env, file)
        .iter()
        .map(|message| {
            let to: Vec<&str> =
                message["to"].as_array().unwrap().iter().map(|to| to.as_str().unwrap()).collect();
            format!(
                "{} [{}] {}",
                word(message, "event"),
                to.join(" "),
                env.plain(&word(message, "text"))
            )
        })
        .collect()
}

#[test]
fn events_within_a_second_keep_their_order() {
    let env = project_with(&format!("notify: [{{on: all, {}}}]\n", into("told")));
    let id = env.new_task(&["Add login"]);
    for words in [
        &["task", "next", "--agent", "agent-7"][..],
        &["task", "release", &id, "--agent", "agent-7"],
        &["task", "hold", &id, "--reason", "Wait"],
        &["task", "unblock", &id],
        &["task", "cancel", &id, "--reason", "No"],
    ] {
        let mut command = env.aof_command(words);
        command.env("AOF_NOW", "2026-02-16T12:00:00Z");
        let _ = env.run(command).success();
    }
    let _ = env.aof(&["notices", "--deliver"]).success();
    let events: Vec<String> = messages(&env, "told")
        .iter()
        .map(|message| message["event"].as_str().unwrap().to_owned())
        .collect();
    let order = ["task_created", "task_claimed", "task_released", "task_held", "task_unblocked"];
    assert_eq!(events[..order.len()], order, "{events:?}");
    assert_eq!(events.last().map(String::as_str), Some("task_cancelled"));
}

#[test]
fn everything_is_reported_in_order() {
    let env = project_with(&format!("notify: [{{on: all, {}}}]\n", into("told")));
    let id = env.new_task(&["Add \u{1b}[31mlogin\nnow"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let _ = env.complete(&id, "agent-7");
    let blocker = ["--blocker", "No test for\nan empty name\u{7}"];
    let _ = env.say(&id, "agent-3", "needs_review", &blocker).success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Look at\nthe log"]).success();
    let _ = env.complete(&id, "agent-8");
    let _ = env.complete(&id, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    insta::assert_snapshot!(message_lines(&env, "told").join("\n"), @r#"
    task_created [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") is at gate 'implement', its first.
    task_claimed [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") was taken by agent 'agent-7' at gate 'implement'.
    gate_transition [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") went from gate 'implement' to gate 'review' (done) by agent 'agent-7': Did it
    gate_transition [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") went from gate 'review' to gate 'implement' (sent back) by agent 'agent-3': Did it
    gate_rejection [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") was sent back from gate 'review' to gate 'implement' by agent 'agent-3': No test for an empty name\u{7}
    task_commented [] Somebody wrote of task AOF-xxxxx ("Add \u{1b}[31mlogin now"): Look at the log
    gate_transition [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") went from gate 'implement' to gate 'review' (done) by agent 'agent-8': Did it
    gate_transition [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") ended at gate 'review' (done) by agent 'agent-3': Did it
    task_complete [] Task AOF-xxxxx ("Add \u{1b}[31mlogin now") is complete.
    "#);
    let all = messages(&env, "told");
    let ids: std::collections::BTreeSet<&str> =
        all.iter().map(|message| message["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), all.len(), "each has an id of its own");
    let rejected = all.iter().find(|message| message["event"] == "gate_rejection").unwrap();
    let shown = serde_json::to_string_pretty(rejected).unwrap();
    insta::assert_snapshot!(env.plain(&shown).replace(rejected["id"].as_str().unwrap(), "ID"), @r#"
    {
      "id": "ID",
      "timestamp": "2026-02-16T10:00:10Z",
      "event": "gate_rejection",
      "taskId": "AOF-xxxxx",
      "workflow": "default",
      "gate": "review",
      "targetGate": "implement",
      "agent": "agent-3",
      "blockers": [
        "No test for\nan empty name\u0007"
      ],
      "duration": 1,
      "worker": "agent-7",
      "to": [],
      "title": "Add \u001b[31mlogin\nnow",
      "text": "Task AOF-xxxxx (\"Add \\u{1b}[31mlogin now\") was sent back from gate 'review' to gate 'implement' by agent 'agent-3': No test for an empty name\\u{7}"
    }
    "#);
    let list = env.aof(&["notices"]).success();
    assert_eq!(list.stdout, "nothing waits to be delivered\n");
}

#[test]
fn agents_roles_and_the_owner_get_notices_that_concern_them() {
    let env = TestEnvironment::with_rules(
        "\
project: {owner: human-ada}
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: measure, role: backend, when: metadata.deep.thing}
    - {id: review, role: architect, canReject: true}
    - {id: audit, role: security, canReject: true}
",
        &format!(
            "\
roles:
  backend: {{agents: [agent-7]}}
  architect: {{agents: [agent-3], notify: {{{}}}}}
  security: {{agents: []}}
agents:
  agent-7: {{notify: {{{}}}}}
  agent-3: {{notify: {{on: [gate_transition], {}}}}}
  human-ada: {{notify: [{{{}}}]}}
",
            into("role"),
            into("agent-7"),
            into("agent-3"),
            into("owner")
        ),
    );
    begin(&env);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env
        .say(
            &id,
            "agent-3",
            "needs_review",
            &["--blocker", "The test does not cover an empty name"],
        )
        .success();
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    let all: BTreeMap<&str, Vec<String>> = ["agent-3", "agent-7", "owner", "role"]
        .map(|file| (file, message_lines(&env, file)))
        .into();
    insta::assert_debug_snapshot!(all, @r#"
    {
        "agent-3": [
            "gate_transition [agent-3] Task AOF-xxxxx (\"Add login\") has come to gate 'review' and waits for you; from gate 'implement' by agent 'agent-7': Did it",
            "gate_transition [agent-3] Task AOF-xxxxx (\"Add login\") has come to gate 'review' and waits for you; from gate 'implement' by agent 'agent-7': Did it",
        ],
        "agent-7": [
            "gate_rejection [agent-7] Task AOF-xxxxx (\"Add login\") was sent back from gate 'review' to gate 'implement' by agent 'agent-3': The test does not cover an empty name",
        ],
        "owner": [
            "gate_condition_error [human-ada] The condition of gate 'measure' failed for task AOF-xxxxx (\"Add login\"): Cannot read property 'thing' of undefined in `metadata.deep.thing`. It counts as false: the gate is passed over.",
            "gate_condition_error [human-ada] The condition of gate 'measure' failed for task AOF-xxxxx (\"Add login\"): Cannot read property 'thing' of undefined in `metadata.deep.thing`. It counts as false: the gate is passed over.",
            "gate_blocked_no_agents [human-ada] Task AOF-xxxxx (\"Add login\") is blocked: nobody is in role 'security', which gate 'audit' needs.\nThe project's owner has to put an agent into that role in org.yaml.",
        ],
        "role": [
            "gate_transition [architect] Task AOF-xxxxx (\"Add login\") has come to gate 'review' and waits for you; from gate 'implement' by agent 'agent-7': Did it",
            "gate_transition [architect] Task AOF-xxxxx (\"Add login\") has come to gate 'review' and waits for you; from gate 'implement' by agent 'agent-7': Did it",
        ],
    }
    "#);
}

#[test]
fn a_crash_at_any_point_delivers_all_and_under_the_same_ids() {
    for point in aof::system::crash_points::OUTBOX_POINTS {
        let env = project_with(&format!("notify: [{{on: all, {}}}]\n", into("told")));
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
        let mut command = env.aof_command(&["notices", "--deliver"]);
        command.env("AOF_STOP_AT", point);
        assert_eq!(env.run(command).code, None, "{point}");
        let _ = env.aof(&["notices", "--deliver"]).success();
        let mut ids: Vec<String> = messages(&env, "told")
            .iter()
            .map(|message| message["id"].as_str().unwrap().to_owned())
            .collect();
        let all = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 2, "{point}: {ids:?}");
        assert_eq!(all, if *point == "outbox.delivered" { 3 } else { 2 }, "{point}");
        assert_eq!(
            env.files(".aof/outbox").iter().filter(|path| path.contains(".json")).count(),
            0
        );
    }
}

#[test]
fn a_dead_receiver_delays_no_other_and_loses_nothing() {
    let env = project_with(&format!(
        "notify:\n  - {{on: [gate_transition], command: [/no/such/program]}}\n  - {{on: [gate_transition], {}}}\n",
        into("told")
    ));
    for _ in 0..3 {
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7");
    }
    let output = env.aof(&["notices", "--deliver"]).code(1);
    assert_eq!(messages(&env, "told").len(), 3);
    insta::assert_snapshot!(output, @"
    exit 1
    --- stdout
    delivered 3
    AOF-xxxxx gate_transition to `/no/such/program`: waits until Feb 16, 10:00
      tried once: `/no/such/program` cannot be started: No such file or directory (os error 2)
    AOF-xxxxx gate_transition to `/no/such/program`: waits until Feb 16, 10:00
      not tried: `/no/such/program` cannot be started: No such file or directory (os error 2)
    AOF-xxxxx gate_transition to `/no/such/program`: waits until Feb 16, 10:00
      not tried: `/no/such/program` cannot be started: No such file or directory (os error 2)
    ");
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("3 notices could not be delivered yet"), "{status}");
    let list = env.aof(&["notices", "--json"]).success().json();
    assert_eq!(list["notices"].as_array().unwrap().len(), 3);
    assert_eq!(list["notices"][0]["state"], "waiting");
    // Nobody wants them any more.
    env.write(
        "project.yaml",
        format!(
            "{}notify: [{{on: all, {}}}]\n",
            crate::support::environment::PROJECT,
            into("told")
        ),
    );
    env.commit_all("another receiver");
    let _ = env.aof(&["notices", "--deliver"]).success();
    let _ = env.aof(&["notices", "--deliver"]).success();
    let last = message_lines(&env, "told").pop().unwrap();
    assert_eq!(
        last,
        "notices_dropped [] 3 messages to `/no/such/program` were given up: no rules in force have this channel any more"
    );
    let _ = env.aof(&["notices", "--forget"]).success();
    assert!(!env.aof(&["status"]).success().stdout.contains("given up"));
}

#[test]
fn a_program_that_refuses_one_message_gets_the_others() {
    let script = "read -r line; case $line in *AOF-bad*) echo \"I do not like it\" >&2; exit 3;; *) echo \"$line\" >> told;; esac";
    let env =
        project_with(&format!("notify: [{{on: [task_adopted], command: [sh, -c, '{script}']}}]\n"));
    for id in ["AOF-bad", "AOF-good"] {
        env.hand_made(id, "By hand");
        let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
        let _ = env.complete(id, "agent-7");
    }
    let output = env.aof(&["notices", "--deliver"]).code(1);
    assert!(output.stdout.contains("`sh` ended with exit status 3: I do not like it"), "{output}");
    assert_eq!(messages(&env, "told").len(), 1);
}

#[test]
fn a_rebase_reports_nothing_twice_and_a_new_branch_begins_at_its_head() {
    let env = project_with(&format!("notify: [{{on: [gate_transition], {}}}]\n", into("told")));
    env.write("README.md", "one\n");
    env.write(".gitignore", "told\n.aof\n");
    env.commit_all("base");
    env.git(&["branch", "side"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 1);
    env.git(&["switch", "--quiet", "side"]);
    env.write("README.md", "two\n");
    env.commit_all("side");
    let _ = env.aof(&["notices", "--deliver"]).success();
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["rebase", "--quiet", "side"]);
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 1, "the same transition on another base");
    let _ = env.complete(&id, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 2);
}

#[test]
fn overdue_agents_and_invalid_rules_are_reported() {
    let env = project_with(&format!(
        "notify: [{{on: [gate_conflict, workflow_config_invalid], {}}}]\n",
        into("told")
    ));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let late = format!("task: {id}@0\nagent: agent-8\noutcome: complete\nsummary: Me too\n");
    drop_file(&env, "late.yaml", late);
    let _ = env.aof_command(&["watch", "--once"]).env_remove("AOF_NOW").output().unwrap();
    eventually("the file is refused", || env.exists(".aof/refused/late.yaml"));
    let project = env.read("project.yaml");
    env.write("project.yaml", project.replace("canReject: true", "canReject: maybe"));
    env.commit_all("worse rules");
    let _ = env.aof(&["notices", "--deliver"]).success();
    insta::assert_snapshot!(message_lines(&env, "told").join("\n"), @"
    gate_conflict [] Two completions came for task AOF-xxxxx at gate 'implement': agent 'agent-7' was first, and that of agent 'agent-8' does not count.
    workflow_config_invalid [] The rules of commit COMMIT are invalid, so earlier ones stay in force: project.yaml:7:18: `canReject` is `true` or `false`, and this is a string (1 in all). See `aof workflow validate`.
    ");
}

#[test]
fn notices_that_cannot_be_written_keep_no_file_in_the_inbox() {
    let env = project_with(&format!("notify: [{{on: [gate_conflict], {}}}]\n", into("told")));
    let (first, second) = (env.new_task(&["One"]), env.new_task(&["Two"]));
    let _ = env.complete(&first, "agent-7");
    std::fs::remove_dir_all(env.path(".aof/outbox")).unwrap();
    env.write(".aof/outbox", "in the way");
    drop_file(
        &env,
        "1.yaml",
        format!("task: {first}@0\nagent: agent-8\noutcome: complete\nsummary: Me too\n"),
    );
    drop_file(
        &env,
        "2.yaml",
        format!("task: {second}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    let output = env.aof_command(&["watch", "--once"]).env_remove("AOF_NOW").output().unwrap();
    assert!(env.exists(".aof/refused/1.yaml"), "{output:?}");
    assert!(env.task_text(&second).contains("current: review"), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("a notice could not be delivered"),
        "{output:?}"
    );
}

#[test]
fn an_old_untried_notice_is_tried_once_and_given_up_when_it_fails() {
    let env = project_with("notify: [{on: [gate_transition], command: [sh, receiver]}]\n");
    let kill_before_delivery = || {
        let mut command = env.aof_command(&["notices", "--deliver"]);
        command.env("AOF_STOP_AT", "outbox.written");
        assert_eq!(env.run(command).code, None);
    };
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    kill_before_delivery();
    env.write("receiver", "cat >> told\n");
    env.pass_minutes(9 * 24 * 60);
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 1);
    std::fs::remove_file(env.path("receiver")).unwrap();
    let _ = env.complete(&id, "agent-3");
    kill_before_delivery();
    env.pass_minutes(9 * 24 * 60);
    let output = env.aof(&["notices", "--deliver"]).code(1);
    assert!(
        output.stdout.contains("tried once: it was not taken within 7 days; the last time: "),
        "{output}"
    );
}

#[test]
fn a_kill_after_a_message_was_given_up_leaves_that_to_be_reported() {
    let env = project_with("notify: [{on: [gate_transition], command: [/no/such/program]}]\n");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.aof(&["notices", "--deliver"]).code(1);
    let rules = format!(
        "{}notify: [{{on: [notices_dropped], {}}}]\n",
        crate::support::environment::PROJECT,
        into("told")
    );
    env.write("project.yaml", rules);
    env.commit_all("another receiver");
    let mut command = env.aof_command(&["notices", "--deliver"]);
    command.env("AOF_STOP_AT", aof::system::crash_points::GIVEN_UP_POINTS[0]);
    assert_eq!(env.run(command).code, None);
    for _ in 0..2 {
        let _ = env.aof(&["notices", "--deliver"]).success();
    }
    assert_eq!(
        message_lines(&env, "told"),
        [
            "notices_dropped [] 1 message to `/no/such/program` was given up: no rules in force have this channel any more"
        ]
    );
}

#[test]
fn many_commits_are_reported_once_each() {
    let env = project_with(&format!("notify: [{{on: [task_edited], {}}}]\n", into("told")));
    let id = env.new_task(&["Add login"]);
    let path = format!("tasks/{id}.md");
    for number in 0..230 {
        let text = env.read(&path);
        env.write(&path, format!("{text}{number}\n"));
        env.git(&["commit", "--quiet", "--all", "--message", "more"]);
    }
    let _ = env.aof(&["notices", "--deliver"]).success();
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 230);
}

#[test]
fn steps_on_a_new_branch_are_reported() {
    let env = project_with(&format!("notify: [{{on: [gate_transition], {}}}]\n", into("told")));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.aof(&["notices", "--deliver"]).success();
    env.git(&["switch", "--quiet", "--create", "x"]);
    let _ = env.complete(&id, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 2);
}

#[test]
fn notices_begin_again_at_a_shallow_boundary() {
    let env = project_with(&format!("notify: [{{on: [gate_transition], {}}}]\n", into("told")));
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.aof(&["notices", "--deliver"]).success();
    env.write("README.md", "one\n");
    env.commit_all("one");
    env.write("README.md", "two\n");
    env.commit_all("two");
    // As `git fetch --depth 1` leaves it.
    let head = env.git(&["rev-parse", "HEAD"]);
    env.write(".git/shallow", format!("{}\n", head.trim()));
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 1);
    let _ = env.complete(&id, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 2);
}

/// A watcher that is ended when the test is.
struct Watcher(std::process::Child);

impl Watcher {
    fn start(env: &TestEnvironment) -> Self {
        let log = std::fs::File::options()
            .create(true)
            .append(true)
            .open(env.home().join("watch.log"))
            .unwrap();
        let mut command = env.aof_command(&["watch"]);
        command.env_remove("AOF_NOW").stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().unwrap())
    }

    fn log(env: &TestEnvironment) -> String {
        std::fs::read_to_string(env.home().join("watch.log")).unwrap_or_default()
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn drop_completion(env: &TestEnvironment, id: &str) {
    let content = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
    env.write(".aof/dropping", content);
    std::fs::create_dir_all(env.path(".aof/inbox")).unwrap();
    std::fs::rename(env.path(".aof/dropping"), env.path(&format!(".aof/inbox/{id}.yaml"))).unwrap();
}

fn many(env: &TestEnvironment, count: usize) -> Vec<String> {
    let list = format!("[{}]", vec![r#"{"title": "Task"}"#; count].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    let files = env.files("tasks");
    files
        .iter()
        .map(|path| path.trim_start_matches("tasks/").trim_end_matches(".md").to_owned())
        .collect()
}

fn reported_tasks(
    env: &TestEnvironment,
    file: &str,
) -> BTreeMap<String, std::collections::BTreeSet<String>> {
    let mut output: BTreeMap<String, std::collections::BTreeSet<String>> = BTreeMap::new();
    for message in messages(env, file) {
        let word = |key: &str| message[key].as_str().unwrap().to_owned();
        output.entry(word("taskId")).or_default().insert(word("id"));
    }
    output
}

#[test]
fn a_watcher_tells_of_everything_beside_its_work_and_past_a_program_that_hangs() {
    let hang = "command: [sh, -c, \"echo $$ > hanging; exec sleep 600\"]";
    let env = project_with(&format!(
        "notify:\n  - {{on: all, {hang}}}\n  - {{on: all, command: [/no/such/program]}}\n  - {{on: [gate_transition], {}}}\n",
        into("told")
    ));
    let ids = many(&env, 20);
    let mut watcher = Watcher::start(&env);
    eventually("it begins", || Watcher::log(&env).contains("watching"));
    for id in &ids {
        drop_completion(&env, id);
    }
    eventually("all are told of", || reported_tasks(&env, "told").len() == ids.len());
    eventually("the inbox is empty", || env.files(".aof/inbox").is_empty());
    eventually("the other hangs", || env.exists("hanging") && !env.read("hanging").is_empty());
    eventually("trouble is told", || {
        Watcher::log(&env).contains("`/no/such/program` cannot be started")
    });
    assert_eq!(messages(&env, "told").len(), ids.len(), "each is told of once");
    let hanging = env.read("hanging").trim().to_owned();
    let ended = std::process::Command::new("kill")
        .args(["-TERM", &watcher.0.id().to_string()])
        .status()
        .unwrap();
    assert!(ended.success() && watcher.0.wait().unwrap().success(), "{}", Watcher::log(&env));
    let gone = || {
        !std::process::Command::new("kill")
            .args(["-0", &hanging])
            .output()
            .unwrap()
            .status
            .success()
    };
    eventually("what it had started is ended", gone);
    let waiting = env.aof(&["notices", "--json"]).success().json();
    assert_eq!(
        waiting["notices"].as_array().unwrap().len(),
        2 * 2 * ids.len(),
        "for two receivers, two events each"
    );
    crate::support::checker::check(&env);
}

#[test]
fn a_receiver_that_leaves_the_rules_gets_no_further_message() {
    let wait = "command: [sh, -c, \"cat >> told; until [ -e go ]; do sleep 0.01; done\"]";
    let env = project_with(&format!("notify: [{{on: [gate_transition], {wait}}}]\n"));
    for id in many(&env, 3) {
        let _ = env.complete(&id, "agent-7");
    }
    let _watcher = Watcher::start(&env);
    eventually("the first is under way", || messages(&env, "told").len() == 1);
    let rules = format!(
        "{}notify: [{{on: [task_created], {}}}]\n",
        crate::support::environment::PROJECT,
        into("other")
    );
    env.write("project.yaml", rules);
    env.commit_all("another receiver");
    let _ = env.new_task(&["Add logout"]);
    eventually("the watcher has seen these rules", || !messages(&env, "other").is_empty());
    env.write("go", "");
    let dropped = || {
        env.aof(&["notices", "--json"]).success().json()["notices"].as_array().unwrap().len() == 2
    };
    eventually("the others are given up", dropped);
    assert_eq!(messages(&env, "told").len(), 1);
}

#[test]
fn watchers_that_are_killed_deliver_all_and_the_same() {
    let env = project_with(&format!("notify: [{{on: [gate_transition], {}}}]\n", into("told")));
    let ids = many(&env, 40);
    for id in &ids {
        drop_completion(&env, id);
    }
    for round in 1..4 {
        let _watcher = Watcher::start(&env);
        eventually("some are told of", || reported_tasks(&env, "told").len() >= round * 5);
    }
    let _watcher = Watcher::start(&env);
    eventually("all are told of", || reported_tasks(&env, "told").len() == ids.len());
    for (task, ids) in reported_tasks(&env, "told") {
        assert_eq!(ids.len(), 1, "{task} is told of under one id");
    }
}

#[test]
fn steps_of_a_merge_are_reported_once_from_either_side() {
    let env = project_with(&format!(
        "notify: [{{on: [gate_transition, task_complete], {}}}]\n",
        into("told")
    ));
    env.write(".gitignore", "told\n.aof\n");
    env.commit_all("base");
    let (ours, theirs) = (env.new_task(&["Ours"]), env.new_task(&["Theirs"]));
    let _ = env.aof(&["notices", "--deliver"]).success();
    env.git(&["switch", "--quiet", "--create", "theirs"]);
    let _ = env.complete(&theirs, "agent-7");
    let _ = env.complete(&theirs, "agent-3");
    env.git(&["switch", "--quiet", "main"]);
    let _ = env.complete(&ours, "agent-7");
    let _ = env.aof(&["notices", "--deliver"]).success();
    let events = |env: &TestEnvironment, task: &str| -> Vec<String> {
        let own = messages(env, "told").into_iter().filter(|message| message["taskId"] == task);
        own.map(|message| message["event"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((events(&env, &ours).len(), events(&env, &theirs).len()), (1, 0));
    // As a pull does it, and as whoever merges us in does.
    env.git(&["merge", "--quiet", "--no-edit", "theirs"]);
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(events(&env, &ours), ["gate_transition"]);
    assert_eq!(events(&env, &theirs), ["gate_transition", "gate_transition", "task_complete"]);
    env.git(&["switch", "--quiet", "theirs"]);
    env.write("other.txt", "theirs\n");
    env.commit_all("theirs");
    env.git(&["merge", "--quiet", "--no-edit", "main"]);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--ff-only", "theirs"]);
    let _ = env.complete(&ours, "agent-3");
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(events(&env, &theirs).len(), 3);
    assert_eq!(events(&env, &ours), ["gate_transition", "gate_transition", "task_complete"]);
}

#[test]
fn two_merges_of_ours_by_others_tell_us_nothing_new() {
    let env = project_with(&format!("notify: [{{on: [gate_transition], {}}}]\n", into("told")));
    env.write(".gitignore", "told\n.aof\n");
    env.commit_all("base");
    let id = env.new_task(&["Ours"]);
    let _ = env.aof(&["notices", "--deliver"]).success();
    env.git(&["branch", "theirs"]);
    for agent in ["agent-7", "agent-3"] {
        let _ = env.complete(&id, agent);
        env.git(&["switch", "--quiet", "theirs"]);
        env.write(&format!("{agent}.txt"), "theirs\n");
        env.commit_all("theirs");
        env.git(&["merge", "--quiet", "--no-edit", "main"]);
        env.git(&["switch", "--quiet", "main"]);
    }
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 2);
    env.git(&["merge", "--quiet", "--ff-only", "theirs"]);
    let _ = env.aof(&["notices", "--deliver"]).success();
    assert_eq!(messages(&env, "told").len(), 2);
}
