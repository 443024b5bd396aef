//! A change fails, and what it had written cannot be put back either: whoever was told that it failed does not find it done.

#![cfg(all(debug_assertions, target_os = "linux"))]

use std::fs;
use std::process::{Command, Stdio};

use aof::system::crash_points::POINTS;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::support::checker;
use crate::support::environment::{Output, PROGRAM, TestEnvironment, eventually};
use crate::support::kill_scene::{Act, Findings, Scene};
use crate::support::merge_scene::entries;

const ORG: &str = "\
roles:
  backend: {agents: [agent-7]}
  architect: {agents: [agent-7]}
";

/// Where the lock of the branch lies.
const LOCK: &str = ".git/refs/heads/main.lock";

/// A project in which one agent is in both roles, with a task whose file is too large to be written again on a disk that is almost full.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(crate::support::environment::PROJECT, ORG);
    let id = env.new_task(&["Add login", "--body", &"word ".repeat(12_000)]);
    (env, id)
}

/// Returns a command on a disk that has hardly any room. A limit of file sizes is as good as that.
fn on_a_full_disk(env: &TestEnvironment, args: &[&str]) -> Command {
    let mut command = env.command("sh");
    command.args(["-c", "ulimit -f 32; trap '' XFSZ; exec \"$0\" \"$@\"", &PROGRAM]).args(args);
    command
}

/// Has a completion fail behind its files, since somebody has the branch, on a disk that is full by then; something else may happen first.
fn stuck(env: &TestEnvironment, id: &str, meanwhile: impl FnOnce()) -> Output {
    fs::write(env.path(LOCK), "").unwrap();
    let pipe = env.home().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = env.command("sh");
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", &PROGRAM, "task", "complete", id]);
    command.args([
        "--agent",
        "agent-7",
        "--outcome",
        "complete",
        "--summary",
        "Did it",
        "--wait",
        "0s",
    ]);
    command.env("AOF_WAIT_AT", format!("git.index-written:{}", pipe.display()));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    eventually("it comes there", || pipe.with_extension("reached").exists());
    let limit = Rlimit { current: Some(16 * 1024), maximum: Some(16 * 1024) };
    prlimit(Pid::from_raw(child.id().try_into().unwrap()), Resource::Fsize, limit).unwrap();
    meanwhile();
    drop(fs::File::options().write(true).open(&pipe).unwrap());
    env.finish("task complete", child)
}

/// Says it again, without an id, once all is well.
fn again(env: &TestEnvironment, id: &str) -> Output {
    env.say(id, "agent-7", "complete", &[])
}

#[test]
fn a_failed_step_is_taken_back_and_counts_once_when_repeated() {
    for about_another in [true, false] {
        let (env, id) = scene();
        let other = env.new_task(&["Another task"]);
        let (before, head) = (env.task_text(&id), env.head());
        let failed = stuck(&env, &id, || ()).code(1);
        assert!(failed.stderr.contains("main.lock"), "{failed}");
        assert!(
            failed.stderr.contains("what it had written could not be reverted: cannot write"),
            "{failed}"
        );
        assert!(
            failed.stderr.contains(
                "the change does not count: the next command first reverts what was written"
            ),
            "{failed}"
        );
        assert_ne!(env.task_text(&id), before, "it stands there still");
        assert!(env.is_in_the_middle());

        // As long as it cannot be done, nothing else is.
        fs::remove_file(env.path(LOCK)).unwrap();
        let waiting = env
            .run(on_a_full_disk(&env, &["--json", "task", "comment", &other, "-m", "Look"]))
            .code(1);
        assert_eq!(waiting.json()["error"], "not_put_back", "{waiting}");
        assert!(
            waiting
                .stderr
                .contains("the failed change of another command could not be reverted yet"),
            "{waiting}"
        );
        assert_eq!(env.head(), head);

        if about_another {
            let _ = env.aof(&["task", "comment", &other, "-m", "Look"]).success();
            assert_eq!(env.task_text(&id), before);
        }
        let _ = again(&env, &id).success();
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        assert_eq!(checker::faults(&env), Vec::<String>::new());
        let _ = env.aof(&["verify"]).success();
    }
}

#[test]
fn without_a_note_the_next_command_carries_the_step_out_and_the_error_says_so() {
    let (env, id) = scene();
    let failed = stuck(&env, &id, || {
        fs::rename(env.path(".aof/intent"), env.path(".aof/aside")).unwrap();
        fs::create_dir(env.path(".aof/intent")).unwrap();
    });
    let failed = failed.code(1);
    assert!(
        failed.stderr.contains("the next command finishes the change: check with `aof show`"),
        "{failed}"
    );
    fs::remove_dir(env.path(".aof/intent")).unwrap();
    fs::rename(env.path(".aof/aside"), env.path(".aof/intent")).unwrap();
    fs::remove_file(env.path(LOCK)).unwrap();
    env.new_task(&["Another task"]);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    assert_eq!(checker::faults(&env), Vec::<String>::new());
}

#[test]
fn an_undo_succeeds_from_every_point() {
    let mut findings = Findings::default();
    for act in [
        Act::Plain,
        Act::AfterAnEdit,
        Act::Finishing,
        Act::FinishingAfterAnEdit,
        Act::Branch,
        Act::Join,
    ] {
        let ready = Scene::new(act);
        let landed = ["git.ref-moved", "ops.committed", "ops.settled"];
        for point in POINTS.iter().filter(|point| !landed.contains(point)) {
            let how = format!("{act:?} failed at {point}");
            let scene = ready.copy();
            let env = &scene.env;
            let look = || -> Vec<_> {
                let own = env.files("tasks").into_iter().filter(|path| path.contains(&scene.id));
                own.map(|path| (env.read(&path), path)).collect()
            };
            let (before, status) = (look(), env.git(&["status", "--porcelain"]));
            findings.expect(&how, None, &scene.deliver(Some(point)));
            if env.is_in_the_middle() {
                let record = env.read(".aof/intent");
                let noted = record
                    .split_once('\n')
                    .unwrap()
                    .1
                    .trim_end()
                    .replace("{\"aim\":\"redo\",", "{\"aim\":\"undo\",");
                assert_ne!(noted, record);
                let digest = aof::domain::Digest::of(noted.as_bytes());
                env.write(".aof/intent", format!("{}\n{noted}", digest.as_str()));
            }
            findings.expect(&how, Some(0), &scene.touch_other(None));
            let now = env.git(&["status", "--porcelain"]);
            if look() != before || now != status {
                findings.add(
                    &how,
                    vec![format!("there was {status}{before:#?}\nand is {now}{:#?}", look())],
                );
            }
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn a_later_change_stays_and_is_reported() {
    let (env, id) = scene();
    let _ = stuck(&env, &id, || ()).code(1);
    fs::remove_file(env.path(LOCK)).unwrap();
    let path = env.task_path(&id);
    env.edit(&path, "Add login", "Add the login");
    let mine = env.read(&path);
    let output = env.aof(&["task", "new", "Another task"]).success();
    assert!(
        output.stderr
            .contains("what a command failed in was to be taken back, and the file of AOF-xxxxx has been changed"),
        "{output}"
    );
    assert_eq!(env.read(&path), mine);
}
