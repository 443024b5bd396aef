//! The file of the event stream: nothing damages it for long, whoever follows, writes or is killed.

use serde_json::Value;

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::event_stream::{
    STREAM, lines, names, rebuilds_the_same, shown, similar, story, stream,
};

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
    // As long as before: what moves the last line from its place has the stream made again.
    let junk = [2, 4].map(|line: usize| "\0".repeat(damaged[line].len()));
    (damaged[2], damaged[4]) = (&junk[0], &junk[1]);
    std::fs::write(&path, format!("{}\n", damaged.join("\n"))).unwrap();
    let output = shown(&env, &[]);
    insta::assert_snapshot!(output.stderr, @"warning: lines 3, 5 of `.aof/events.jsonl` are no events, and skipped; `aof events rebuild` repairs it");
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
fn a_follower_sees_each_event_once_even_if_the_stream_is_rebuilt() {
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
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
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
    for (agent, name, count) in [("agent-7", "one", 1), ("agent-3", "two", 2)] {
        env.write(
            ".aof/dropping",
            format!("task: {id}\nagent: {agent}\noutcome: complete\nsummary: Done\n"),
        );
        std::fs::rename(env.path(".aof/dropping"), env.path(&format!(".aof/inbox/{name}.yaml")))
            .unwrap();
        // A file that comes before the branch moves counts for the gate that is left.
        eventually("it is committed", || env.log().matches("(complete)").count() == count);
    }
    eventually("the task is complete", || !env.exists(&format!("tasks/{id}.md")));
    assert!(!env.exists(STREAM), "it is still being made");
    // Whoever asks meanwhile is told that something is missing.
    let _other = Running::start(&env, &["watch"], "other");
    eventually("another watcher harms nobody", || said(&env, "other").contains("stands by"));
    let asked = shown(&env, &["--json", "--wait", "0s"]);
    assert!(asked.stderr.contains("lacks the newest events"), "{asked}");
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
        let output = shown(&env, &[]);
        assert!(output.stderr.contains("line 2 of"), "{}", output.stderr);
        assert_eq!(output.stdout.lines().count(), 1);
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
    use aof::system::crash_points::EVENT_POINTS;
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
fn simultaneous_writers_write_each_line_once() {
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
