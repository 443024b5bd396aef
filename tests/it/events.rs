//! The event stream: what is in it, that it is the same however it came about, and that nothing damages it for long.

use serde_json::Value;

use crate::environment::{Output, TestEnvironment, eventually};

const STREAM: &str = ".aof/events.jsonl";

/// Brings the stream up to date and returns it.
fn stream(env: &TestEnvironment) -> String {
    let _ = env.aof(&["events"]).success();
    env.read(STREAM)
}

/// Makes the stream again, and expects that it is the same.
#[track_caller]
fn rebuilds_the_same(env: &TestEnvironment) {
    let before = stream(env);
    let _ = env.aof(&["events", "rebuild"]).success();
    similar(&before, &env.read(STREAM));
}

#[track_caller]
fn similar(one: &str, other: &str) {
    for (one, other) in one.lines().zip(other.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(one.len(), other.len(), "{one}\n---\n{other}");
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

fn names(text: &str) -> Vec<String> {
    lines(text).iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
}

/// Work that is rejected once, with a completion that comes too late.
fn story(env: &TestEnvironment) -> String {
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    let _ = env.complete(&id, "agent-7");
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "No test for\nan empty name"])
        .success();
    let _ = env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
    let _ = env.aof(&["task", "comment", &id, "Look at\nthe log"]).success();
    let _ = env.complete(&id, "agent-8");
    let _ = env.complete(&id, "agent-3");
    id
}

fn shown(env: &TestEnvironment, args: &[&str]) -> Output {
    env.aof(&[&["events"], args].concat()).success()
}

#[test]
fn a_story_reads_from_its_beginning_to_its_end() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    insta::assert_snapshot!(shown(&env, &[]).stdout, @"
    2026-02-16 10:00:04  AOF-xxxxx  created, at implement
    2026-02-16 10:00:05  AOF-xxxxx  taken by agent-7 at implement
    2026-02-16 10:00:06  AOF-xxxxx  implement -> review (complete) by agent-7: Did it
    2026-02-16 10:00:07  AOF-xxxxx  review -> implement (needs_review) by agent-3: Did it
    2026-02-16 10:00:07  AOF-xxxxx  sent back from review to implement by agent-3: No test for an empty name
    2026-02-16 10:00:08  AOF-xxxxx  warning: agent-8 was too late at implement: agent-7 was first
    2026-02-16 10:00:09  AOF-xxxxx  a comment: Look at the log
    2026-02-16 10:00:10  AOF-xxxxx  implement -> review (complete) by agent-8: Did it
    2026-02-16 10:00:11  AOF-xxxxx  review -> $end (complete) by agent-3: Did it
    2026-02-16 10:00:11  AOF-xxxxx  complete
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
fn what_is_wanted_is_shown() {
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
fn what_others_wrote_forges_no_line_and_moves_no_cursor() {
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
fn a_torn_end_heals_and_damage_is_named_until_it_is_mended() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let whole = stream(&env);
    let path = env.path(STREAM);
    // As a power cut leaves it, and as somebody's hand does.
    for torn in [
        &whole[..whole.len() - 7],
        &whole[..whole.len() / 2],
        &format!("{whole}{{\"timestamp\":\"20"),
        "",
    ] {
        std::fs::write(&path, torn).unwrap();
        assert_eq!(shown(&env, &[]).stderr, "");
        let healed: Vec<Value> = lines(&env.read(STREAM))
            .into_iter()
            .filter(|line| line.get("commit").is_some())
            .collect();
        let committed: Vec<Value> =
            lines(&whole).into_iter().filter(|line| line.get("commit").is_some()).collect();
        assert_eq!(healed, committed, "{torn}");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &whole).unwrap();
    rebuilds_the_same(&env);
    let mut damaged: Vec<&str> = whole.lines().collect();
    damaged.insert(2, "{\"timestamp\": ");
    damaged[5] = "\u{fffd}\0";
    std::fs::write(&path, format!("{}\n", damaged.join("\n"))).unwrap();
    let output = shown(&env, &[]);
    insta::assert_snapshot!(output.stderr, @"warning: lines 3, 6 of `.aof/events.jsonl` are no events, and passed over; `aof events rebuild` makes it whole again");
    assert_eq!(output.stdout.lines().count(), damaged.len() - 2);
    let other = env.new_task(&["Another"]);
    assert_eq!(
        shown(&env, &["--task", &other]).stdout.lines().count(),
        1,
        "it goes on behind the damage"
    );
    insta::assert_snapshot!(shown(&env, &["rebuild"]), @"
    exit 0
    --- stdout
    11 events of 9 commits, 1 of them in no commit; 2 damaged lines are gone
    ");
    assert_eq!(shown(&env, &[]).stderr, "");
    assert!(env.read(STREAM).starts_with(&whole), "{}", env.read(STREAM));
}

#[test]
fn a_new_beginning_of_history_is_told_once() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.write("README.md", "one\n");
    env.commit_all("base");
    env.git(&["branch", "side"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let before = names(&stream(&env));
    assert_eq!(before, ["task_created", "gate_transition"]);
    env.git(&["switch", "--quiet", "side"]);
    env.write("README.md", "two\n");
    env.commit_all("side");
    assert_eq!(names(&stream(&env)), before);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["rebase", "--quiet", "side"]);
    assert_eq!(names(&stream(&env)), before, "the same changes on another base");
    env.git(&["reset", "--quiet", "--soft", "side"]);
    env.git(&["commit", "--quiet", "--message", "all in one"]);
    assert_eq!(names(&stream(&env)), before, "the same changes in one commit");
    let _ = env.complete(&id, "agent-3");
    let after = names(&stream(&env));
    assert_eq!(after[before.len()..], ["gate_transition", "task_complete"]);
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!(names(&env.read(STREAM)), after, "and so is history as it is now");
}

#[test]
fn commits_that_are_made_again_on_an_edit_of_the_same_task_are_told_once() {
    let sorted = |text: &str| {
        let mut names = names(text);
        names.sort();
        names
    };
    for onto in ["main", "side"] {
        let (env, id) = crate::merging::scene();
        stream(&env);
        crate::merging::aside(&env, "side", || {
            let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test"]).success();
            let _ = env.aof(&["task", "comment", &id, "Mind the tokens"]).success();
            stream(&env);
        });
        let path = env.task_path(&id);
        env.edit(&path, "Add login", "Log in");
        env.edit(&path, "done, part 9.", "done, and well, part 9.");
        env.commit_all("a better title");
        let before = sorted(&stream(&env));
        let expected = [
            "gate_rejection",
            "gate_transition",
            "gate_transition",
            "task_claimed",
            "task_commented",
        ];
        assert_eq!(
            before,
            [&expected[..], &["task_created", "task_created", "task_edited", "task_rerouted"]]
                .concat()
        );
        if onto == "main" {
            env.git(&["checkout", "-q", "side"]);
        }
        env.git(&["rebase", "--quiet", onto]);
        assert!(
            env.task_text(&id).contains("title: Log in") && env.task_text(&id).contains("and well")
        );
        assert_eq!(sorted(&stream(&env)), before, "onto {onto}");
        let _ = env.aof(&["events", "rebuild"]).success();
        assert_eq!(sorted(&env.read(STREAM)), before, "onto {onto}");
    }
}

#[test]
fn commits_that_were_gone_and_come_back_are_told_once() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.commit_all("base");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    let told = stream(&env);
    assert_eq!(
        names(&told),
        ["task_created", "gate_transition", "gate_transition", "task_complete"]
    );
    let tip = env.head();
    // Back to it at once, in two steps, and by a merge behind other work.
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    similar(&told, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &tip]);
    similar(&told, &stream(&env));
    rebuilds_the_same(&env);
    env.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    similar(&told, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &format!("{tip}~1")]);
    similar(&told, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", &tip]);
    similar(&told, &stream(&env));
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    similar(&told, &stream(&env));
    let _ = env.new_task(&["Another"]);
    let more = stream(&env);
    assert_eq!(names(&more)[4..], ["task_created"]);
    env.git(&["merge", "--quiet", "--no-edit", &tip]);
    similar(&more, &stream(&env));
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!(env.read(STREAM).lines().count(), more.lines().count());
}

#[test]
fn rules_that_were_told_already_hold_for_what_comes_behind_them() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".aof\n");
    env.commit_all("base");
    env.git(&["branch", "side"]);
    env.write(
        "project.yaml",
        format!("project: {{name: garden}}\n{}", crate::environment::PROJECT),
    );
    env.commit_all("a name");
    stream(&env);
    let _ = env.new_task(&["Add login"]);
    env.git(&["switch", "--quiet", "side"]);
    let _ = env.new_task(&["Another"]);
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["rebase", "--quiet", "side"]);
    let text = stream(&env);
    let projects: Vec<Value> =
        lines(&text).into_iter().map(|line| line["project"].clone()).collect();
    assert_eq!(projects, ["project", "garden"], "{text}");
    rebuilds_the_same(&env);
}

#[test]
fn what_was_done_on_another_branch_is_told_once() {
    for merge in [
        &["merge", "--quiet", "--ff-only", "side"][..],
        &["merge", "--quiet", "--no-ff", "--no-edit", "side"],
    ] {
        let env = TestEnvironment::new();
        let id = env.new_task(&["Add login"]);
        stream(&env);
        env.git(&["switch", "--quiet", "--create", "side"]);
        let _ = env.complete(&id, "agent-7");
        let _ = env.complete(&id, "agent-3");
        let told = names(&stream(&env));
        assert_eq!(told, ["task_created", "gate_transition", "gate_transition", "task_complete"]);
        env.git(&["switch", "--quiet", "main"]);
        assert_eq!(names(&stream(&env)), told);
        env.git(merge);
        assert_eq!(names(&stream(&env)), told, "{merge:?}");
        let _ = env.aof(&["events", "rebuild"]).success();
        assert_eq!(names(&env.read(STREAM)), told, "{merge:?}");
    }
}

#[test]
fn what_was_told_on_a_branch_is_not_told_again_when_other_changes_come_with_it() {
    let rejections = |env: &TestEnvironment| {
        let all = shown(env, &["--type", "gate_rejection", "--json"]).stdout;
        lines(&all).len()
    };
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.say(&id, "agent-3", "needs_review", &["--blocker", "No test"]).success();
    assert_eq!(rejections(&env), 1);
    env.git(&["checkout", "-q", "-"]);
    env.git(&["merge", "-q", "--squash", "side"]);
    env.git(&["commit", "-q", "-m", "squashed"]);
    assert_eq!(rejections(&env), 1, "it was squashed");
    env.git(&["reset", "-q", "--hard", "HEAD~1"]);
    env.edit(&env.task_path(&id), "Add login", "Add a login");
    env.commit_all("a better title");
    assert_eq!(rejections(&env), 1);
    env.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(rejections(&env), 1, "it was merged with another change of its file");
    let edits = || shown(&env, &["--type", "task_edited"]).stdout.lines().count();
    assert_eq!(edits(), 1, "and so is the other change, which was told where it was made");
    let _ = env.aof(&["events", "rebuild"]).success();
    assert_eq!((rejections(&env), edits()), (1, 1));
}

#[test]
fn a_merge_tells_what_happened_and_when() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    stream(&env);
    env.git(&["switch", "--quiet", "--create", "side"]);
    let _ = env.complete(&id, "agent-7");
    let _ = env.complete(&id, "agent-3");
    env.git(&["switch", "--quiet", "main"]);
    env.git(&["merge", "--quiet", "--no-ff", "--no-edit", "side"]);
    let text = stream(&env);
    assert_eq!(
        names(&text),
        ["task_created", "gate_transition", "gate_transition", "task_complete"]
    );
    let told = lines(&text);
    assert!(told[1]["timestamp"].as_str() < told[2]["timestamp"].as_str(), "{text}");
    assert_eq!(told[1]["commit"], env.head());
    rebuilds_the_same(&env);
}

#[test]
fn a_file_that_nobody_can_read_is_told_of_when_it_can_be_read_again() {
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
    env.write("project.yaml", crate::environment::PROJECT);
    let output = shown(&env, &[]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("", ""));
    insta::assert_snapshot!(shown(&env, &["rebuild"]), @"
    exit 0
    --- stdout
    0 events of 0 commits
    ");
    env.write("org.yaml", crate::environment::ORG);
    env.commit_all("rules");
    let _ = env.new_task(&["Add login"]);
    assert_eq!(names(&stream(&env)), ["task_created"]);
}

#[test]
fn without_a_branch_what_is_known_is_shown_and_a_clone_of_one_commit_is_told_of() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let told = stream(&env);
    env.git(&["switch", "--quiet", "--detach", "HEAD~1"]);
    assert_eq!(stream(&env), told);
    env.git(&["switch", "--quiet", "main"]);
    assert_eq!(stream(&env), told);
    // As CI has it.
    env.git(&["switch", "--quiet", "--detach", "HEAD"]);
    std::fs::remove_dir_all(env.path(".aof")).unwrap();
    assert_eq!(stream(&env), told);
    env.git(&["switch", "--quiet", "main"]);
    let _ = env.complete(&id, "agent-3");
    assert_eq!(names(&stream(&env)).len(), 4);
    rebuilds_the_same(&env);
}

/// A process that is ended when the test is.
struct Running(std::process::Child);

impl Running {
    /// Starts `aof`, which writes what it says into a file of the home.
    fn start(env: &TestEnvironment, args: &[&str], log: &str) -> Self {
        let log =
            std::fs::File::options().create(true).append(true).open(env.home().join(log)).unwrap();
        Self::spawn_into(env.aof_command(args), log)
    }

    #[cfg(debug_assertions)]
    fn spawn(env: &TestEnvironment, command: std::process::Command, log: &str) -> Self {
        let log =
            std::fs::File::options().create(true).append(true).open(env.home().join(log)).unwrap();
        Self::spawn_into(command, log)
    }

    fn spawn_into(mut command: std::process::Command, log: std::fs::File) -> Self {
        command.env_remove("AOF_NOW").stdout(log.try_clone().unwrap()).stderr(log);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn said(env: &TestEnvironment, log: &str) -> String {
    std::fs::read_to_string(env.home().join(log)).unwrap_or_default()
}

#[test]
fn whoever_follows_sees_each_event_once_also_when_the_stream_is_made_again() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _follower = Running::start(&env, &["events", "--follow", "--json"], "followed");
    eventually("what was is shown", || names(&said(&env, "followed")) == ["task_created"]);
    let _ = env.complete(&id, "agent-7");
    eventually("it comes", || said(&env, "followed").lines().count() == 2);
    let _ = env.aof(&["events", "rebuild"]).success();
    let _ = env.complete(&id, "agent-3");
    eventually("the rest comes", || said(&env, "followed").lines().count() == 4);
    std::fs::remove_file(env.path(STREAM)).unwrap();
    let other = env.new_task(&["Another"]);
    eventually("it goes on", || said(&env, "followed").contains(&other));
    let order =
        ["task_created", "gate_transition", "gate_transition", "task_complete", "task_created"];
    assert_eq!(names(&said(&env, "followed")), order);
}

#[test]
fn a_watcher_and_a_sweep_keep_the_stream() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.aof(&["sweep"]).success();
    assert_eq!(names(&env.read(STREAM)), ["task_created"]);
    let _watcher = Running::start(&env, &["watch"], "watched");
    eventually("it begins", || said(&env, "watched").contains("watching"));
    env.write(
        ".aof/dropping",
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    std::fs::rename(env.path(".aof/dropping"), env.path(".aof/inbox/one.yaml")).unwrap();
    eventually("it is told", || names(&env.read(STREAM)).len() == 2);
    env.write(
        ".aof/dropping",
        format!("task: {id}@0\nagent: agent-8\noutcome: complete\nsummary: Me too\n"),
    );
    std::fs::rename(env.path(".aof/dropping"), env.path(".aof/inbox/two.yaml")).unwrap();
    eventually("so is whoever was late", || names(&env.read(STREAM)).len() == 3);
    assert_eq!(names(&env.read(STREAM)), ["task_created", "gate_transition", "gate_conflict"]);
    // Somebody deletes what can be made again.
    std::fs::remove_file(env.path(STREAM)).unwrap();
    let _ = env.aof(&["task", "comment", &id, "Look"]).success();
    let again = || {
        std::fs::read_to_string(env.path(STREAM)).is_ok_and(|text| text.contains("task_commented"))
    };
    eventually("it is there again", again);
}

/// Has a process wait where it begins to make a new stream. Dropped, it goes on.
#[cfg(debug_assertions)]
struct Held(std::path::PathBuf);

#[cfg(debug_assertions)]
impl Held {
    fn at_a_new_stream(env: &TestEnvironment, args: &[&str], log: &str) -> (Self, Running) {
        let pipe = env.home().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let mut command = env.aof_command(args);
        command.env("AOF_WAIT_AT", format!("events.making:{}", pipe.display()));
        (Self(pipe), Running::spawn(env, command, log))
    }

    /// Lets it go on, as soon as it has come there.
    fn release(&self) {
        drop(std::fs::File::options().write(true).open(&self.0).unwrap());
        // Whoever comes there later does not wait.
        std::fs::remove_file(&self.0).unwrap();
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_watcher_goes_on_while_the_first_stream_is_made() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let (held, _watcher) = Held::at_a_new_stream(&env, &["watch"], "watched");
    eventually("it begins", || said(&env, "watched").contains("watching"));
    for (agent, name) in [("agent-7", "one"), ("agent-3", "two")] {
        env.write(
            ".aof/dropping",
            format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: Done\n"),
        );
        std::fs::rename(env.path(".aof/dropping"), env.path(&format!(".aof/inbox/{name}.yaml")))
            .unwrap();
        eventually("it is committed", || !env.exists(&format!(".aof/inbox/{name}.yaml")));
    }
    eventually("the task is complete", || {
        env.log().contains("(complete)") && !env.exists(&format!("tasks/{id}.md"))
    });
    assert!(!env.exists(STREAM), "it is still being made");
    // Whoever asks meanwhile is told all.
    let _other = Running::start(&env, &["watch"], "other");
    eventually("another watcher harms nobody", || said(&env, "other").contains("watching"));
    let asked = shown(&env, &["--json", "--wait", "0s"]);
    assert_eq!(
        names(&asked.stdout),
        ["task_created", "gate_transition", "gate_transition", "task_complete"]
    );
    assert!(!env.exists(STREAM));
    held.release();
    eventually("all of it is told", || env.exists(STREAM) && names(&env.read(STREAM)).len() == 4);
    rebuilds_the_same(&env);
}

#[cfg(debug_assertions)]
#[test]
fn a_watcher_that_is_to_end_leaves_the_stream_to_the_next_one() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    let (held, mut watcher) = Held::at_a_new_stream(&env, &["watch"], "watched");
    eventually("it makes the stream", || {
        env.files(".aof/events").contains(&".aof/events/lock".to_owned())
    });
    let pid = watcher.0.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    held.release();
    assert!(watcher.0.wait().unwrap().success());
    assert!(said(&env, "watched").contains("stopped"), "{}", said(&env, "watched"));
    let left =
        env.files(".aof").into_iter().filter(|name| name.contains(".aof-tmp-")).collect::<Vec<_>>();
    assert_eq!(left, [""; 0]);
    assert_eq!(names(&stream(&env)), ["task_created"]);
}

#[test]
fn an_event_without_its_task_or_its_origin_is_damage() {
    let env = TestEnvironment::new();
    let _ = env.new_task(&["Add login"]);
    let whole = stream(&env);
    let (_, task) = whole.split_once("\"taskId\":").unwrap();
    let (task, _) = task.split_once(',').unwrap();
    let (_, commit) = whole.split_once(",\"commit\":").unwrap();
    for part in [
        format!("\"taskId\":{task},"),
        format!(",\"commit\":{}", commit.trim_end().trim_end_matches('}')),
    ] {
        assert!(whole.contains(&part), "{part}");
        env.write(STREAM, format!("{whole}{}", whole.replace(&part, "")));
        let told = shown(&env, &[]);
        assert!(told.stderr.contains("line 2 of"), "{}", told.stderr);
        assert_eq!(told.stdout.lines().count(), 1);
        let _ = env.aof(&["events", "rebuild"]).success();
        similar(&whole, &env.read(STREAM));
    }
}

#[test]
fn a_stream_without_its_beginning_is_made_again() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let whole = stream(&env);
    let rest = |from: usize| whole.split_inclusive('\n').skip(from).collect::<String>();
    for from in [1, 3] {
        env.write(STREAM, rest(from));
        similar(&whole, &stream(&env));
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_kill_at_any_point_neither_loses_nor_doubles_a_line() {
    use aof::stop::EVENT_POINTS;
    let expected = [
        "task_created",
        "gate_transition",
        "gate_conflict",
        "gate_transition",
        "task_complete",
        "task_created",
    ];
    for point in EVENT_POINTS {
        for command in [&["events"][..], &["events", "rebuild"], &["watch", "--once"]] {
            let killed = |env: &TestEnvironment| {
                let mut run = env.aof_command(command);
                run.env("AOF_STOP_AT", point);
                let _ = env.run(run);
            };
            let env = TestEnvironment::new();
            let id = env.new_task(&["Add login"]);
            killed(&env);
            let _ = env.complete(&id, "agent-7");
            let _ = env.say(&format!("{id}@0"), "agent-8", "complete", &[]).code(5);
            killed(&env);
            killed(&env);
            let _ = env.complete(&id, "agent-3");
            let _ = env.new_task(&["Another"]);
            killed(&env);
            let how = format!("{command:?} killed at {point}");
            assert_eq!(names(&stream(&env)), expected, "{how}");
            assert_eq!(
                env.files(".aof/events"),
                [".aof/events/lock", ".aof/events/record"],
                "{how}"
            );
            rebuilds_the_same(&env);
        }
    }
}

#[cfg(debug_assertions)]
#[test]
fn a_new_stream_has_no_record_of_the_old_one() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let before = stream(&env);
    let mut run = env.aof_command(&["events", "rebuild"]);
    run.env("AOF_STOP_AT", "events.replaced");
    let _ = env.run(run);
    assert_eq!(env.files(".aof/events"), [".aof/events/lock"]);
    similar(&before, &stream(&env));
}

#[test]
fn what_is_no_id_names_no_file_and_what_is_no_event_waits_for_nothing() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let before = stream(&env);
    let forged =
        "{\"timestamp\":\"2026-02-16T10:00:08Z\",\"event\":\"gate_conflict\",\"id\":\"../../x\"}\n";
    env.write(STREAM, format!("{before}{forged}"));
    std::fs::remove_file(env.path(".aof/events/record")).unwrap();
    // Whoever must not take long begins the stream anew.
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
fn what_is_in_no_commit_and_is_left_again_is_told_once() {
    let env = TestEnvironment::new();
    let _ = story(&env);
    let text = stream(&env);
    let conflict = text.lines().find(|line| line.contains("gate_conflict")).unwrap();
    let id = lines(conflict)[0]["id"].as_str().unwrap().to_owned();
    for again in [&["events"][..], &["events", "rebuild"]] {
        let _ = env.new_task(&["Another"]);
        let _ = env.aof(again).success();
        let _ = env.new_task(&["One more"]);
        let before = stream(&env);
        env.write(&format!(".aof/events/{id}.json"), format!("{conflict}\n"));
        similar(&before, &stream(&env));
        assert_eq!(env.files(".aof/events"), [".aof/events/lock", ".aof/events/record"]);
    }
}

#[test]
fn many_who_write_at_once_write_each_line_once() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    for number in 0..60 {
        let text = env.read(&path);
        env.write(&path, format!("{text}{number}\n"));
        env.git(&["commit", "--quiet", "--all", "--message", "more"]);
        if number % 20 == 10 {
            let writers: Vec<_> = (0..4).map(|_| env.start(&["events"])).collect();
            for writer in writers {
                let _ = env.finish("aof events", writer).success();
            }
        }
    }
    let text = stream(&env);
    assert_eq!(text.lines().count(), 61);
    rebuilds_the_same(&env);
}

#[test]
fn a_project_that_cannot_be_written_to_is_told_of_all_the_same() {
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
        assert_eq!(shown(&env, &[]).stdout.lines().count(), 2);
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
        words.iter().for_each(|words| drop(env.aof(&[&["task"], *words].concat()).success()))
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
        &["assign", &id, "agent-8"],
        &["release", &id, "--agent", "agent-8"],
        &["hold", &id, "--reason", "Wait"],
        &["unblock", &id],
        &["comment", &id, "Look at\nthe log"],
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
    let _ = env.aof(&["task", "comment", &behind, "Is it there?"]);
    let doomed = env.new_task(&["Polish", "--workflow", "doomed"]);
    let _ = env.complete(&doomed, "agent-7");
    let disputed = env.new_task(&["Disputed"]);
    env.git(&["checkout", "-q", "-b", "side"]);
    let _ = env.complete(&disputed, "agent-8");
    env.git(&["checkout", "-q", "main"]);
    let _ = env.complete(&disputed, "agent-7");
    env.git(&["merge", "-q", "--no-edit", "--strategy", "ours", "side"]);
    let taken = env.new_task(&["Taken"]);
    all(&[&["assign", &taken, "agent-7"]]);
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
    let missing: Vec<&str> = aof::model::EventKind::ALL
        .iter()
        .map(|kind| kind.as_str())
        .filter(|kind| !kinds.contains(*kind))
        .collect();
    assert_eq!(missing, [""; 0], "{}", shown(&env, &[]).stdout);
    rebuilds_the_same(&env);
    insta::assert_snapshot!(shown(&env, &["--level", "warn"]).stdout, @"
    2026-02-16 10:40:07  AOF-xxxxx  warning: the claim of agent-7 ran out at implement
    2026-02-16 10:40:10  AOF-xxxxx  warning: held at implement: Wait
    2026-02-16 10:40:13  AOF-xxxxx  warning: blocked at implement by agent-7: No access
    2026-02-16 10:40:15  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 10:40:16  AOF-xxxxx  warning: agent-8 was too late at implement: agent-7 was first
    2026-02-16 11:41:17  AOF-xxxxx  warning: not done at review within 1h
    2026-02-16 11:41:17  AOF-xxxxx  warning: role lead steps in at review: timeout
    2026-02-16 11:41:23  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:25  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:27  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:29  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:31  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:33  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:34  AOF-xxxxx  error: goes in circles: sent back 6 times to implement
    2026-02-16 11:41:34  AOF-xxxxx  warning: blocked at implement by agent-3: Circular rejection loop: sent back to gate 'implement' 6 times, last by 'review'
    2026-02-16 11:41:39  AOF-xxxxx  warning: failed
    2026-02-16 11:41:44  AOF-xxxxx  error: sent back 2 times to implement, more than allowed
    2026-02-16 11:41:44  AOF-xxxxx  warning: blocked at implement by agent-3: Circular rejection loop: sent back to gate 'implement' 2 times, last by 'review'
    2026-02-16 11:41:46  AOF-xxxxx  error: nobody is in role nobody at audit
    2026-02-16 11:41:46  AOF-xxxxx  warning: blocked at audit by agent-7: No agents available for role: nobody
    2026-02-16 11:41:47  AOF-abc  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:41:52  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:42:03  AOF-xxxxx  warning: the condition failed at measure: Cannot read property 'thing' of undefined in `metadata.deep.thing`
    2026-02-16 11:42:04  AOF-xxxxx  warning: a merge superseded `complete` by agent-8 at implement: agent-7 was first
    2026-02-16 11:42:09  AOF-xxxxx  error: taken from agent-7 at implement, which needs role qa
    2026-02-16 11:42:15  error: 1 message was given up, to /no/such/program: no rules in force have this channel any more
    2026-02-16 11:42:17  error: the rules of commit COMMIT are invalid: project.yaml:1:19: `gates` is a list of gates, and this is a number
    ");
}
