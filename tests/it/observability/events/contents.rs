//! What is in the event stream, and that it is the same however it came about.

use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::event_stream::{
    STREAM, lines, names, rebuilds_the_same, shown, similar, story, stream,
};

#[test]
fn a_story_reads_from_its_beginning_to_its_end() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    insta::assert_snapshot!(shown(&env, &[]).stdout, @"
    Feb 16, 10:00  AOF-xxxxx  created, at implement
    Feb 16, 10:00  AOF-xxxxx  taken by agent-7 at implement
    Feb 16, 10:00  AOF-xxxxx  implement → review by agent-7: Did it
    Feb 16, 10:00  AOF-xxxxx  sent back to implement by agent-3: Did it
    Feb 16, 10:00  AOF-xxxxx  sent back from review to implement by agent-3: No test for an empty name
    Feb 16, 10:00  AOF-xxxxx  warning: agent-8 was too late at implement: agent-7 was first
    Feb 16, 10:00  AOF-xxxxx  a comment: Look at the log
    Feb 16, 10:00  AOF-xxxxx  implement → review by agent-8: Did it
    Feb 16, 10:00  AOF-xxxxx  review → done by agent-3: Did it
    Feb 16, 10:00  AOF-xxxxx  complete
    ");
    let text = env.plain(&env.read(STREAM));
    let (before, after) = text.split_once("\"id\":\"aof_").unwrap();
    insta::assert_snapshot!(format!("{before}\"id\":\"aof_ID{}", &after[32..]), @r#"
    {"timestamp":"2026-02-16T10:00:04Z","event":"task_created","taskId":"AOF-xxxxx","project":"project","workflow":"default","toGate":"implement","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:05Z","event":"task_claimed","taskId":"AOF-xxxxx","project":"project","workflow":"default","gate":"implement","agent":"agent-7","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:06Z","event":"gate_transition","taskId":"AOF-xxxxx","project":"project","workflow":"default","fromGate":"implement","toGate":"review","outcome":"complete","role":"backend","agent":"agent-7","duration":2,"summary":"Did it","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:07Z","event":"gate_transition","taskId":"AOF-xxxxx","project":"project","workflow":"default","fromGate":"review","toGate":"implement","outcome":"needs_review","role":"architect","agent":"agent-3","duration":1,"summary":"Did it","blockers":["No test for\nan empty name"],"retry":1,"commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:07Z","event":"gate_rejection","taskId":"AOF-xxxxx","project":"project","workflow":"default","gate":"review","targetGate":"implement","agent":"agent-3","blockers":["No test for\nan empty name"],"duration":1,"worker":"agent-7","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:08Z","event":"gate_conflict","level":"warn","taskId":"AOF-xxxxx","project":"project","workflow":"default","gate":"implement","winningAgent":"agent-7","losingAgent":"agent-8","message":"Two completions came for task AOF-xxxxx at gate 'implement': agent 'agent-7' was first, and that of agent 'agent-8' does not count.","id":"aof_ID"}
    {"timestamp":"2026-02-16T10:00:09Z","event":"task_commented","taskId":"AOF-xxxxx","project":"project","workflow":"default","comment":"Look at\nthe log","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:10Z","event":"gate_transition","taskId":"AOF-xxxxx","project":"project","workflow":"default","fromGate":"implement","toGate":"review","outcome":"complete","role":"backend","agent":"agent-8","duration":3,"summary":"Did it","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:11Z","event":"gate_transition","taskId":"AOF-xxxxx","project":"project","workflow":"default","fromGate":"review","toGate":"$end","outcome":"complete","role":"architect","agent":"agent-3","duration":1,"summary":"Did it","commit":"COMMIT"}
    {"timestamp":"2026-02-16T10:00:11Z","event":"task_complete","taskId":"AOF-xxxxx","project":"project","workflow":"default","commit":"COMMIT"}
    "#);
    assert_eq!(shown(&env, &["--json"]).stdout, env.plain(&env.read(STREAM)));
}

#[test]
fn filters_of_events_show_matching_events() {
    let env = TestEnvironment::new();
    let id = story(&env);
    let other = env.new_task(&["Another"]);
    let count = |args: &[&str]| shown(&env, args).stdout.lines().count();
    assert_eq!(count(&["--task", &other]), 1);
    assert_eq!(count(&["--task", &id, "--type", "gate_rejection", "--type", "gate_conflict"]), 2);
    assert_eq!(
        count(&["--agent", "agent-8"]),
        2,
        "one transition, and the completion that came too late"
    );
    assert_eq!(count(&["--level", "warn"]), 1);
    assert_eq!(count(&["-n", "3"]), 3);
    assert_eq!(count(&["--since", "2026-02-17"]), 0);
    assert_eq!(count(&["--since", "2h", "-n", "100"]), count(&[]));
    env.pass_minutes(60 * 24);
    let _ = env.complete(&other, "agent-7");
    assert_eq!(count(&["--since", "2h"]), 1);
    insta::assert_snapshot!(env.aof(&["events", "--since", "yesterday"]).code(2), @"
    exit 2
    --- stderr
    error: invalid value 'yesterday' for '--since <WHEN>': `yesterday` is not a length of time; write a number and a unit of `s`, `m`, `h` or `d`, as in `45m`, `2h` or `1h30m`, or a day or time, as in `2026-11-01` or `2026-11-01T09:00:00Z`

    For more information, try '--help'.
    ");
}

#[test]
fn however_the_stream_came_about_it_is_the_same() {
    let env = TestEnvironment::new();
    let early = TestEnvironment::new();
    // Written after each command, and all at once.
    for (step, env) in [(true, &env), (false, &early)] {
        let look = || if step { stream(env) } else { String::new() };
        let id = env.new_task(&["Add login"]);
        look();
        let _ = env.complete(&id, "agent-7");
        look();
        let _ = env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
        look();
        let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test"]).success();
        look();
        env.edit(&env.task_path(&id), "Add login", "Add a login");
        env.commit_all("better title");
        env.write("project.yaml", "workflow: {gates: 3}\n");
        env.commit_all("worse rules");
        look();
        let _ = env.aof(&["task", "hold", &id, "--reason", "Wait"]).success();
        let _ = env.aof(&["task", "cancel", &id, "--reason", "No"]).success();
        look();
        rebuilds_the_same(env);
    }
    assert_eq!(names(&env.read(STREAM)), names(&early.read(STREAM)));
    assert_eq!(
        names(&env.read(STREAM)),
        [
            "task_created",
            "gate_transition",
            "gate_conflict",
            "gate_transition",
            "gate_rejection",
            "task_edited",
            "workflow_config_invalid",
            "task_held",
            "gate_transition",
            "task_cancelled"
        ]
    );
}

#[test]
fn foreign_text_forges_no_line_and_moves_no_cursor() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add \u{1b}[31mlogin\n{\"event\":\"task_failed\"}"]);
    let forged = "Did it\n{\"timestamp\":\"2026-02-16T10:00:00Z\",\"event\":\"task_complete\"}\r\u{9b}2J\u{202e}\u{2028}\u{7f}";
    let _ = env
        .aof(&[
            "task",
            "complete",
            &id,
            "--agent",
            "agent-7",
            "--outcome",
            "complete",
            "--summary",
            forged,
        ])
        .success();
    let text = stream(&env);
    assert_eq!(names(&text), ["task_created", "gate_transition"]);
    assert_eq!(lines(&text)[1]["summary"], forged);
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    let shown = shown(&env, &[]).stdout;
    assert_eq!(shown.lines().count(), 2, "{shown}");
    assert!(shown.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'), "{shown:?}");
}

#[test]
fn a_file_that_nobody_can_read_is_reported_when_it_can_be_read_again() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let whole = env.task_text(&id);
    let path = env.task_path(&id);
    env.write(&path, whole.replace("status:", "status: ["));
    env.commit_all("broken");
    let before = names(&stream(&env));
    env.write(&path, &whole);
    env.commit_all("mended");
    let _ = env.complete(&id, "agent-3");
    let after = names(&stream(&env));
    assert_eq!(after[before.len()..], ["task_edited", "gate_transition", "task_complete"]);
    rebuilds_the_same(&env);
}

#[test]
fn before_the_first_commit_nothing_has_happened() {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", crate::support::environment::PROJECT);
    let output = shown(&env, &[]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    insta::assert_snapshot!(shown(&env, &["rebuild"]), @"
    exit 0
    --- stdout
    0 events of 0 commits
    ");
    env.write("org.yaml", crate::support::environment::ORG);
    env.commit_all("rules");
    let _ = env.new_task(&["Add login"]);
    assert_eq!(names(&stream(&env)), ["task_created"]);
}

#[test]
fn without_a_branch_known_events_are_shown_and_a_shallow_clone_is_reported() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let output = stream(&env);
    env.git(&["switch", "--quiet", "--detach", "HEAD~1"]);
    assert_eq!(stream(&env), output);
    env.git(&["switch", "--quiet", "main"]);
    assert_eq!(stream(&env), output);
    // As CI has it.
    env.git(&["switch", "--quiet", "--detach", "HEAD"]);
    std::fs::remove_dir_all(env.path(".aof")).unwrap();
    assert_eq!(stream(&env), output);
    env.git(&["switch", "--quiet", "main"]);
    let _ = env.complete(&id, "agent-3");
    assert_eq!(names(&stream(&env)).len(), 4);
    rebuilds_the_same(&env);
}

#[test]
fn an_invalid_id_names_no_file_and_an_invalid_event_waits_for_nothing() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let before = stream(&env);
    let forged =
        "{\"timestamp\":\"2026-02-16T10:00:08Z\",\"event\":\"gate_conflict\",\"id\":\"../../x\"}\n";
    env.write(STREAM, format!("{before}{forged}"));
    std::fs::remove_file(env.path(".aof/events/record")).unwrap();
    // Whoever must not take long begins the stream again.
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(!env.path("x.json").exists());
    assert_eq!(stream(&env).lines().count(), before.lines().count());
    let before = env.read(STREAM);
    let left = ".aof/events/aof_0123456789abcdef0123456789abcdef.json";
    for damaged in ["{\"timestamp\":", forged] {
        env.write(left, damaged);
        let output = shown(&env, &["-v"]);
        assert!(output.stderr.contains("is no event of that id"), "{}", output.stderr);
        assert_eq!(
            env.files(".aof/events"),
            [".aof/events/lock", ".aof/events/record"],
            "{damaged}"
        );
        similar(&before, &env.read(STREAM));
    }
}

#[test]
fn a_project_that_cannot_be_written_to_is_reported_as_far_as_it_was_written() {
    use std::os::unix::fs::PermissionsExt;
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    stream(&env);
    let _ = env.complete(&id, "agent-7");
    let rights = |mode| {
        for folder in [".aof/events", ".aof"] {
            std::fs::set_permissions(env.path(folder), std::fs::Permissions::from_mode(mode))
                .unwrap();
        }
    };
    rights(0o555);
    // The superuser may write anywhere.
    let is_free = std::fs::write(env.path(".aof/probe"), "").is_ok();
    if !is_free {
        let output = shown(&env, &[]);
        assert_eq!(output.stdout.lines().count(), 1, "{output}");
        assert!(output.stderr.contains("lacks the newest events"), "{output}");
        assert_eq!(lines(&env.read(STREAM)).len(), 1);
    }
    rights(0o755);
}

/// Rules under which much can happen.
const MUCH: &str = "\
project: {name: garden, owner: human-ada}
workflows:
  default:
    gates:
      - {id: implement, role: backend, lease: 30m}
      - {id: measure, role: backend, when: metadata.deep.thing}
      - {id: review, role: architect, canReject: true, timeout: 1h, escalateTo: lead}
  strict:
    gates:
      - {id: implement, role: backend}
      - {id: review, role: architect, canReject: true, maxRetries: 1, onExhausted: {to: $fail}, routes: {wrong: {to: implement}, right: {to: $end}}}
  stuck:
    gates:
      - {id: implement, role: backend}
      - {id: review, role: architect, canReject: true, maxRetries: 1, routes: {wrong: {to: implement}, right: {to: $end}}}
  empty:
    gates:
      - {id: implement, role: backend}
      - {id: audit, role: nobody}
  doomed:
    gates:
      - {id: implement, role: backend}
      - {id: polish, role: backend}
defaultWorkflow: default
";

const CROWD: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  lead: {agents: [human-ada]}
  qa: {agents: [agent-5]}
  nobody: {agents: []}
";

/// Lets all happen that can happen.
fn everything(env: &TestEnvironment) {
    let all = |words: &[&[&str]]| {
        for words in words {
            let _ = env.aof(&[&["task"], *words].concat()).success();
        }
    };
    let reject = |id: &str, outcome: &str| {
        let _ = env.complete(id, "agent-7");
        let _ = env
            .say(id, "agent-3", outcome, &["--blocker", "No test", "--notes", "See the log"])
            .success();
    };
    let id = env.new_task(&["Add login"]);
    all(&[
        &["next", "--agent", "agent-7"],
        &["renew", &id, "--agent", "agent-7", "--note", "Half of it"],
    ]);
    env.pass_minutes(40);
    let _ = env.aof(&["sweep"]).success();
    all(&[
        &["assign", "--claim", &id, "agent-8"],
        &["release", &id, "--agent", "agent-8"],
        &["hold", &id, "--reason", "Wait"],
        &["unblock", &id],
        &["comment", &id, "-m", "Look at\nthe log"],
    ]);
    let _ = env.say(&id, "agent-7", "blocked", &["--blocker", "No access"]).success();
    all(&[&["unblock", &id]]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
    env.pass_minutes(61);
    let _ = env.aof(&["sweep"]).success();
    let _ = env.complete(&id, "human-ada");
    all(&[
        &["reopen", &id, "--to", "implement", "--reason", "More"],
        &["override", &id, "--to", "review", "--reason", "So"],
    ]);
    all(&[&["cancel", &id, "--reason", "No"]]);
    for (workflow, outcome, times) in
        [("default", "needs_review", 6), ("strict", "wrong", 2), ("stuck", "wrong", 2)]
    {
        let id = env.new_task(&["Go round", "--workflow", workflow]);
        (0..times).for_each(|_| reject(&id, outcome));
    }
    let _ = env.complete(&env.new_task(&["Ask nobody", "--workflow", "empty"]), "agent-7");
    env.hand_made("AOF-abc", "By hand");
    let _ = env.complete("AOF-abc", "agent-7");
    // Somebody commits with an index that was left behind.
    let behind = env.new_task(&["Left behind"]);
    env.edit(&env.task_path(&behind), "Left behind", "Far behind");
    env.commit_all("a better title");
    let stale = env.git(&["rev-parse", &format!("HEAD:tasks/{behind}.md")]);
    let _ = env.complete(&behind, "agent-7");
    let _ = env.complete(&behind, "agent-3");
    let path = env.task_path(&behind);
    env.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{},{path}", stale.trim())]);
    env.git(&["commit", "--quiet", "--message", "an index that was left behind"]);
    let _ = env.aof(&["task", "comment", &behind, "-m", "Is it there?"]);
    let doomed = env.new_task(&["Polish", "--workflow", "doomed"]);
    let _ = env.complete(&doomed, "agent-7");
    let disputed = env.new_task(&["Disputed"]);
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.complete(&disputed, "agent-8");
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&disputed, "agent-7");
    env.git(&["merge", "-q", "--no-edit", "--strategy", "ours", "side"]);
    let taken = env.new_task(&["Taken"]);
    all(&[&["assign", "--claim", &taken, "agent-7"]]);
    env.edit("project.yaml", "      - {id: polish, role: backend}\n", "");
    env.edit(
        "project.yaml",
        "{id: implement, role: backend, lease: 30m}",
        "{id: implement, role: qa}",
    );
    env.write(
        "project.yaml",
        format!("{}notify: [{{on: all, command: [/no/such/program]}}]\n", env.read("project.yaml")),
    );
    env.commit_all("other rules");
    let _ = env.aof(&["org", "reload"]).success();
    let _ = env.aof(&["notices", "--deliver"]);
    let _ = env.new_task(&["Told to nobody"]);
    let _ = env.aof(&["notices", "--deliver"]);
    let rules = env.read("project.yaml");
    env.write("project.yaml", rules.replace("[/no/such/program]", "['true']"));
    env.commit_all("another receiver");
    let _ = env.aof(&["notices", "--deliver"]);
    env.write("project.yaml", "workflow: {gates: 3}\n");
    env.commit_all("worse rules");
}

#[test]
fn every_kind_of_event_is_as_its_schema_says() {
    let env = TestEnvironment::with_rules(MUCH, CROWD);
    everything(&env);
    let text = stream(&env);
    let schema = env.aof(&["schema", "event"]).success().json();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let variants = schema["oneOf"].as_array().unwrap();
    let mut kinds = std::collections::BTreeSet::new();
    for line in lines(&text) {
        let faults: Vec<String> =
            validator.iter_errors(&line).map(|fault| fault.to_string()).collect();
        assert!(faults.is_empty(), "{faults:#?}\n{line:#}");
        let name = line["event"].as_str().unwrap().to_owned();
        let variant = variants
            .iter()
            .find(|own| own["properties"]["event"]["const"] == name.as_str())
            .unwrap();
        for field in line.as_object().unwrap().keys() {
            let is_known = |of: &Value| of["properties"].get(field).is_some();
            assert!(
                is_known(&schema) || is_known(variant),
                "`{field}` of {name} is not in the schema"
            );
        }
        kinds.insert(name);
    }
    let missing: Vec<&str> = aof::domain::EventKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .filter(|kind| !kinds.contains(*kind))
        .collect();
    assert_eq!(missing, [""; 0], "{}", shown(&env, &[]).stdout);
    rebuilds_the_same(&env);
    insta::assert_snapshot!(shown(&env, &["--level", "warn"]).stdout, @"
    Feb 16, 10:40  AOF-xxxxx  warning: the claim of agent-7 ran out at implement
    Feb 16, 10:40  AOF-xxxxx  warning: held at implement: Wait
    Feb 16, 10:40  AOF-xxxxx  warning: blocked at implement by agent-7: No access
    Feb 16, 10:40  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 10:40  AOF-xxxxx  warning: agent-8 was too late at implement: agent-7 was first
    Feb 16, 11:41  AOF-xxxxx  warning: not done at review within 1h
    Feb 16, 11:41  AOF-xxxxx  warning: role lead steps in at review: timeout
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  error: goes in circles: sent back 6 times to implement
    Feb 16, 11:41  AOF-xxxxx  warning: blocked at implement by agent-3: Circular rejection loop: sent back to gate 'implement' 6 times, last by 'review'
    Feb 16, 11:41  AOF-xxxxx  warning: failed
    Feb 16, 11:41  AOF-xxxxx  error: sent back 2 times to implement, more than allowed
    Feb 16, 11:41  AOF-xxxxx  warning: blocked at implement by agent-3: Circular rejection loop: sent back to gate 'implement' 2 times, last by 'review'
    Feb 16, 11:41  AOF-xxxxx  error: nobody is in role nobody at audit
    Feb 16, 11:41  AOF-xxxxx  warning: blocked at audit by agent-7: No agents available for role: nobody
    Feb 16, 11:41  AOF-abc  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:41  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:42  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    Feb 16, 11:42  AOF-xxxxx  warning: a merge superseded `done` by agent-8 at implement: agent-7 was first
    Feb 16, 11:42  AOF-xxxxx  error: taken from agent-7 at implement, which needs role qa
    Feb 16, 11:42  error: 1 message was given up, to /no/such/program: no rules in force have this channel any more
    Feb 16, 11:42  error: the rules of commit COMMIT are invalid: project.yaml:1:19: `gates` is a list of gates, and this is a number
    ");
}

#[test]
fn an_edit_names_the_author_of_its_command_or_that_it_was_by_hand() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "edit", &id, "--title", "Add a login"]).success();
    env.edit(&env.task_path(&id), "Add a login", "Add the login");
    let _ = env.aof(&["watch", "--once"]).success();
    insta::assert_snapshot!(shown(&env, &["--type", "task_edited"]).stdout, @"
    Feb 16, 10:00  AOF-xxxxx  edited by Ada
    Feb 16, 10:00  AOF-xxxxx  edited by hand
    ");
    let json = shown(&env, &["--type", "task_edited", "--json"]).stdout;
    assert_eq!(json.matches("\"by\":\"Ada\"").count(), 1, "{json}");
}
