//! Completion files: what is dropped is either in a history, or refused with a reason, or still there; never lost, never twice.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use crate::support::checker::{self, check};
#[cfg(debug_assertions)]
use crate::support::environment::eventually;
use crate::support::environment::{ORG, Output, PROJECT, TestEnvironment};
use crate::support::watcher::drop_file;

fn watch_once(env: &TestEnvironment) -> Output {
    env.aof(&["watch", "--once"])
}

#[test]
fn a_completion_may_be_written_in_three_ways() {
    let env = TestEnvironment::new();
    let tasks = ["AOF-aaa", "AOF-bbb", "AOF-ccc"];
    for id in tasks {
        env.hand_made(id, "Add login");
    }
    drop_file(
        &env,
        "1.yaml",
        "task: AOF-aaa\nagent: agent-7\noutcome: complete\nsummary: In YAML\noutputs: {branch: login}\n",
    );
    drop_file(
        &env,
        "2.json",
        r#"{"task": "AOF-bbb@0", "agent": "agent-7", "outcome": "blocked", "summary": "In JSON", "blockers": ["No API spec"]}"#,
    );
    drop_file(
        &env,
        "3.md",
        "---\ntask: AOF-ccc\nagent: agent-8\noutcome: complete\nsummary: In Markdown\n---\nThe *plan*.\n",
    );
    assert_snapshot!(watch_once(&env), @"
    exit 0
    --- stdout
    10:00:04  AOF-aaa  implement → review by agent-7
    10:00:04  AOF-bbb  blocked at implement by agent-7
    10:00:04  AOF-ccc  implement → review by agent-8
    ");
    assert_snapshot!(env.log(), @"
    agent-8: AOF-ccc: implement -> review (complete)
    Ada: AOF-ccc: adopted at implement
    agent-7: AOF-bbb: implement (blocked)
    Ada: AOF-bbb: adopted at implement
    agent-7: AOF-aaa: implement -> review (complete)
    Ada: AOF-aaa: adopted at implement
    Ada: rules
    ");
    assert!(env.task_text("AOF-ccc").ends_with("## implement by agent-8\n\nThe *plan*.\n"));
    check(&env);
}

#[test]
fn good_ones_go_through_behind_bad_ones_and_bad_ones_are_explained() {
    let env = TestEnvironment::new();
    env.hand_made("AOF-abc", "Add login");
    let _ = env.complete("AOF-abc", "agent-7");
    for (name, content) in [
        ("1-syntax.yaml", "task: [AOF-abc\n"),
        ("2-role.yaml", "task: AOF-abc\nagent: agent-8\noutcome: complete\nsummary: Mine\n"),
        (
            "3-nobody.json",
            r#"{"task": "AOF-nobody", "agent": "agent-3", "outcome": "complete", "summary": "x"}"#,
        ),
        (
            "4-fields.json",
            r#"{"task": "AOF-abc", "agent": "agent-3", "outcome": "complete", "sumary": "x"}"#,
        ),
        ("5-late.yaml", "task: AOF-abc@0\nagent: agent-7\noutcome: complete\nsummary: Late\n"),
        ("6-empty.yaml", ""),
        ("7-word.txt", "done"),
        ("8-path.yaml", "task: ../../etc/passwd\nagent: agent-3\noutcome: complete\nsummary: x\n"),
        ("9-good.yaml", "task: AOF-abc\nagent: agent-3\noutcome: complete\nsummary: Good\n"),
        (".10.yaml.swp", "an editor's"),
        ("11.yaml~", "an editor's"),
    ] {
        drop_file(&env, name, content);
    }
    assert_snapshot!(watch_once(&env), @"
    exit 0
    --- stdout
    10:00:05  refused `7-word.txt`: its name must end in `.yaml`, `.yml`, `.json` or `.md`, which says how to read it
              it is now `.aof/refused/7-word.txt`, with the whole reason in `.aof/refused/7-word.txt.reason.json`
    10:00:05  refused `1-syntax.yaml`: not valid YAML: unclosed bracket '['
              hint: close it with `]`
              it is now `.aof/refused/1-syntax.yaml`, with the whole reason in `.aof/refused/1-syntax.yaml.reason.json`
    10:00:05  refused `4-fields.json`: a completion has no field `sumary`
              hint: did you mean `summary`?
              it is now `.aof/refused/4-fields.json`, with the whole reason in `.aof/refused/4-fields.json.reason.json`
    10:00:05  refused `6-empty.yaml`: a completion is a mapping of fields, and this is nothing
              hint: Mend the file and drop it into `.aof/inbox` again.
              it is now `.aof/refused/6-empty.yaml`, with the whole reason in `.aof/refused/6-empty.yaml.reason.json`
    10:00:05  refused `8-path.yaml`: `../../etc/passwd` is not a task or a ticket
              hint: it is a prefix, `-`, and 3 to 32 of `a-z0-9`, as in `AOF-7qk`; or such an id and the number of a visit, as in `AOF-7qk@3`, and of a branch, as in `AOF-7qk@3/security`
              it is now `.aof/refused/8-path.yaml`, with the whole reason in `.aof/refused/8-path.yaml.reason.json`
    10:00:05  refused `3-nobody.json`: there is no task `AOF-nobody`
              hint: `aof list --all` lists them all
              it is now `.aof/refused/3-nobody.json`, with the whole reason in `.aof/refused/3-nobody.json.reason.json`
    10:00:05  refused `2-role.yaml`: gate `review` is the work of role `architect`, and `agent-8` is in `backend`
              hint: it can be completed by `agent-3`; take a task of your own with `aof next`, or have org.yaml changed
              it is now `.aof/refused/2-role.yaml`, with the whole reason in `.aof/refused/2-role.yaml.reason.json`
    10:00:05  refused `5-late.yaml`: `AOF-abc@0` at gate `implement` has ended: `agent-7` ended it with `complete` on Feb 16, 10:00
              hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-abc`
              it is now `.aof/refused/5-late.yaml`, with the whole reason in `.aof/refused/5-late.yaml.reason.json`
    10:00:05  AOF-abc  review → done by agent-3
    ");
    assert!(env.task_path("AOF-abc").starts_with("tasks/archive/"));
    let refused = env.files(".aof/refused");
    let reasons = refused.iter().filter(|name| name.ends_with(".reason.json"));
    let output: Vec<String> = reasons
        .map(|name| {
            let reason: serde_json::Value = serde_json::from_str(&env.read(name)).unwrap();
            format!(
                "{}: {}",
                reason["file"].as_str().unwrap_or("-"),
                reason["error"].as_str().unwrap()
            )
        })
        .collect();
    assert_snapshot!(output.join("\n"), @"
    1-syntax.yaml: unreadable_completion
    2-role.yaml: wrong_role
    3-nobody.json: task_not_found
    4-fields.json: unreadable_completion
    5-late.yaml: visit_ended
    6-empty.yaml: unreadable_completion
    7-word.txt: not_a_completion_file
    8-path.yaml: unreadable_completion
    ");
    assert_eq!(env.files(".aof/inbox"), [".aof/inbox/.10.yaml.swp", ".aof/inbox/11.yaml~"]);
    for name in env.files(".aof/inbox") {
        fs::remove_file(env.path(&name)).unwrap();
    }
    check(&env);
}

#[test]
fn a_name_may_say_in_capitals_how_to_read_it() {
    let env = TestEnvironment::new();
    let yaml = |id: &str| format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n");
    for name in ["B.YAML", "b.Yml", "c.JSON", "d.MD", "e.markdown"] {
        let id = env.new_task(&["Add login"]);
        let answer = match name {
            "c.JSON" => {
                format!(
                    "{{\"task\": \"{id}\", \"agent\": \"agent-7\", \"outcome\": \"complete\", \"summary\": \"x\"}}"
                )
            }
            "d.MD" | "e.markdown" => format!("---\n{}---\n", yaml(&id)),
            _ => yaml(&id),
        };
        drop_file(&env, name, answer);
        let _ = watch_once(&env).success();
        assert!(env.task_text(&id).contains("current: review"), "{name}");
    }
    check(&env);
}

#[test]
fn a_text_that_a_comment_would_cut_is_refused() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let head = env.head();
    let begin = format!("task: {id}\nagent: agent-7\noutcome: complete\n");
    drop_file(&env, "a.yaml", format!("{begin}summary: Fixed #12 and #13\n"));
    drop_file(&env, "b.md", format!("---\n{begin}summary: ok\nblockers:\n  - see #7\n---\nx\n"));
    let output = watch_once(&env).stdout;
    for part in ["`#12 and #13` is a comment", "`#7` is a comment", "put the text in quotes"] {
        assert!(output.contains(part), "{output}");
    }
    assert_eq!(env.head(), head);
    drop_file(&env, "c.yaml", format!("{begin}summary: Fixed \"#12\" # at last\n"));
    let _ = watch_once(&env).success();
    assert!(env.task_text(&id).contains("summary: Fixed \"#12\"\n"), "{}", env.task_text(&id));
}

#[test]
fn a_delivery_that_is_not_a_file_is_put_aside() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let secret = env.home().join("secret.yaml");
    let completion = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n");
    fs::write(&secret, &completion).unwrap();
    fs::create_dir_all(env.path(".aof/inbox/folder.yaml")).unwrap();
    std::os::unix::fs::symlink(&secret, env.path(".aof/inbox/link.yaml")).unwrap();
    fs::hard_link(&secret, env.path(".aof/inbox/hard.yaml")).unwrap();
    drop_file(&env, "large.yaml", "x".repeat(2 << 20));
    let output = watch_once(&env);
    assert_eq!(fs::read_to_string(&secret).unwrap(), completion, "{output}");
    assert_eq!(env.log(), "Ada: AOF-xxxxx: created at implement\nAda: rules\n", "{output}");
}

#[test]
fn the_same_file_twice_counts_once() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let completion =
        format!("id: c-1\ntask: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
    for name in ["a.yaml", "b.yaml"] {
        drop_file(&env, name, &completion);
    }
    let _ = watch_once(&env).success();
    drop_file(&env, "c.yaml", &completion);
    let _ = watch_once(&env).success();
    check(&env);
    assert_eq!(env.files(".aof/refused"), [""; 0]);
    assert_eq!(env.task_text(&id).matches("id: c-1").count(), 1);
}

#[test]
fn many_files_later_the_same_visit_is_said_again() {
    let env = TestEnvironment::with_rules(PROJECT, &ORG.replace("agent-3", "agent-7"));
    let ids = dropped(&env, 60);
    let first = ids.iter().min().unwrap();
    drop_file(
        &env,
        "z.yaml",
        format!("task: {first}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    let output = watch_once(&env);
    assert!(
        env.exists(".aof/refused/z.yaml") && env.task_text(first).contains("current: review"),
        "{output}"
    );
    check(&env);
}

#[test]
fn a_file_waits_while_nothing_can_be_committed() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.git(&["checkout", "--quiet", "--detach"]);
    drop_file(
        &env,
        "1.yaml",
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    let output = env.aof(&["watch", "--once", "--wait", "0"]);
    assert_ne!(output.code, Some(0), "{output}");
    assert_eq!(env.files(".aof/inbox").len(), 1, "{output}");
    assert_eq!(env.files(".aof/refused"), [""; 0]);
    env.git(&["checkout", "--quiet", "main"]);
    let _ = watch_once(&env).success();
    check(&env);
    assert!(env.task_text(&id).contains("current: review"));
}

#[test]
fn a_task_that_is_frozen_keeps_its_files_waiting_and_stops_no_other() {
    let env = TestEnvironment::new();
    let (frozen, other) = (env.new_task(&["Add login"]), env.new_task(&["Tidy up"]));
    let path = env.task_path(&frozen);
    env.edit(&path, "current: implement", "current: review");
    for id in [&frozen, &other] {
        drop_file(
            &env,
            &format!("{id}.yaml"),
            format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
        );
    }
    let output = watch_once(&env);
    assert!(env.task_text(&other).contains("current: review"), "{output}");
    assert_eq!(env.files(".aof/inbox").len(), 1, "{output}");
    env.git(&["restore", &path]);
    let _ = watch_once(&env).success();
    check(&env);
    assert!(env.task_text(&frozen).contains("gateHistory"));
}

#[test]
fn a_task_with_a_broken_file_keeps_its_completions_waiting() {
    let env = TestEnvironment::new();
    let ids: Vec<String> =
        (0..4).map(|number| env.new_task(&[&format!("Task {number}")])).collect();
    let [doubled, linked, piped, large] = ids.as_slice() else { panic!() };
    let texts = ids.iter().map(|id| env.task_text(id)).collect::<Vec<_>>();
    for id in &ids {
        fs::remove_file(env.path(&format!("tasks/{id}.md"))).unwrap();
        let completion = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
        drop_file(&env, &format!("{id}.yaml"), completion);
    }
    for folder in ["one", "two"] {
        env.write(&format!("tasks/{folder}/{doubled}.md"), &texts[0]);
    }
    std::os::unix::fs::symlink("nowhere", env.path(&format!("tasks/{linked}.md"))).unwrap();
    let pipe = env.path(&format!("tasks/{piped}.md"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    env.write(&format!("tasks/{large}.md"), format!("{}{}", texts[3], "x".repeat(17 << 20)));
    let output = watch_once(&env);
    assert_eq!(env.files(".aof/inbox").len(), 4, "{output}");
    assert_eq!(env.files(".aof/refused"), [""; 0], "{output}");
    fs::remove_dir_all(env.path("tasks/one")).unwrap();
    fs::remove_dir_all(env.path("tasks/two")).unwrap();
    for (id, text) in ids.iter().zip(&texts) {
        let _ = fs::remove_file(env.path(&format!("tasks/{id}.md")));
        env.write(&format!("tasks/{id}.md"), text);
    }
    let _ = watch_once(&env).success();
    check(&env);
    for id in &ids {
        assert!(env.task_text(id).contains("current: review"), "{id}");
    }
}

#[test]
fn a_task_with_a_missing_file_keeps_its_completions_waiting_until_head_lacks_it() {
    let env = TestEnvironment::new();
    let ids = [env.new_task(&["Saved by renaming"]), env.new_task(&["Deleted"])];
    for id in &ids {
        fs::rename(env.path(&env.task_path(id)), env.path(&format!("{id}.bak"))).unwrap();
        let completion = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
        drop_file(&env, &format!("{id}.yaml"), completion);
    }
    let output = watch_once(&env).code(1);
    assert!(
        output.stdout.contains(&format!("the file of task `{}` is gone", "AOF-xxxxx")),
        "{output}"
    );
    assert_eq!(
        (env.files(".aof/inbox").len(), env.files(".aof/refused").len()),
        (2, 0),
        "{output}"
    );
    let [saved, deleted] = &ids;
    fs::rename(env.path(&format!("{saved}.bak")), env.path(&format!("tasks/{saved}.md"))).unwrap();
    env.git(&[
        "commit",
        "--quiet",
        "--message",
        "not needed",
        "--",
        &format!("tasks/{deleted}.md"),
    ]);
    let output = watch_once(&env).success();
    assert!(env.task_text(saved).contains("current: review"), "{output}");
    assert_eq!(env.files(".aof/inbox"), [""; 0], "{output}");
    let reason = env.read(&format!(".aof/refused/{deleted}.yaml.reason.json"));
    assert!(reason.contains("task_not_found"), "{reason}");
}

/// Makes tasks and drops a completion for each.
fn dropped(env: &TestEnvironment, count: usize) -> Vec<String> {
    let list = format!("[{}]", vec![r#"{"title": "Task"}"#; count].join(","));
    let output = env.aof_reading(&["task", "new", "--from", "-"], list.as_bytes()).success();
    assert_eq!(output.stdout.lines().filter(|line| line.starts_with("AOF-")).count(), count);
    let files = env.files("tasks");
    let ids: Vec<String> = files
        .iter()
        .map(|path| path.trim_start_matches("tasks/").trim_end_matches(".md").to_owned())
        .collect();
    for id in &ids {
        drop_file(
            env,
            &format!("{id}.yaml"),
            format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
        );
    }
    ids
}

fn faults_of_delivery(env: &TestEnvironment, ids: &[String]) -> Vec<String> {
    let mut faults = checker::faults(env);
    for id in ids {
        let counted = env.task_text(id).matches("- gate: implement").count();
        if counted != 1 {
            faults.push(format!("the completion of {id} counts {counted} times"));
        }
    }
    faults.extend(env.files(".aof/refused").into_iter().map(|name| format!("{name} was refused")));
    faults
}

#[test]
fn several_deliveries_at_once_are_harmless() {
    let env = TestEnvironment::new();
    let ids = dropped(&env, 40);
    let children: Vec<_> =
        (0..4).map(|_| env.start(&["watch", "--once", "--wait", "60s"])).collect();
    for child in children {
        let _ = env.finish("aof watch --once", child).success();
    }
    let _ = watch_once(&env).success();
    let faults = faults_of_delivery(&env, &ids);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Starts `aof watch --once`, to wait where it passes that point.
#[cfg(debug_assertions)]
fn watch_until(env: &TestEnvironment, point: &str, pipe: &std::path::Path) -> std::process::Child {
    assert!(std::process::Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let mut command = env.aof_command(&["watch", "--once"]);
    command.env("AOF_WAIT_AT", format!("{point}:{}", pipe.display()));
    command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns whether somebody came to the point that has this pipe.
#[cfg(debug_assertions)]
fn is_reached(pipe: &std::path::Path) -> bool {
    pipe.with_extension("reached").exists()
}

/// Has `aof watch --once` killed there, while the only file is in the inbox.
#[cfg(debug_assertions)]
fn kill_at(env: &TestEnvironment, point: &str) {
    let mut command = env.aof_command(&["watch", "--once"]);
    command.env("AOF_STOP_AT", point);
    let output = env.run(command);
    assert_eq!((output.code, env.files(".aof/inbox").len()), (None, 1), "{output}");
}

/// Drops the word of an architect, who comes too early: at the first gate it is refused, and at the second it counts.
#[cfg(debug_assertions)]
fn drop_early(env: &TestEnvironment, id: &str) {
    drop_file(
        env,
        "early.yaml",
        format!("id: c-1\ntask: {id}\nagent: agent-3\noutcome: complete\nsummary: Good\n"),
    );
}

#[test]
#[cfg(debug_assertions)]
fn a_file_that_one_watcher_refuses_counts_in_no_other() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    drop_early(&env, &id);
    let pipes = ["first", "second"].map(|name| env.home().join(name));
    let first = watch_until(&env, "inbox.judged", &pipes[0]);
    eventually("the first one judged it", || is_reached(&pipes[0]));
    let _ = env.complete(&id, "agent-7").success();
    let mut second = watch_until(&env, "ops.prepared", &pipes[1]);
    eventually("the second one commits it, or leaves it", || {
        is_reached(&pipes[1]) || second.try_wait().unwrap().is_some()
    });
    fs::write(&pipes[0], "").unwrap();
    let first = env.finish("the first watcher", first);
    if is_reached(&pipes[1]) {
        fs::write(&pipes[1], "").unwrap();
    }
    let second = env.finish("the second watcher", second);
    let _ = watch_once(&env);
    let refused = env.exists(".aof/refused/early.yaml");
    let counted = !env.git(&["log", "--format=%H", "--grep=Aof-Completion: c-1"]).is_empty();
    assert!(refused && !counted, "refused: {refused}, counted: {counted}\n{first}\n{second}");
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn a_file_from_before_a_kill_and_a_later_one_name_one_visit() {
    let both = ORG.replace("agent-3", "agent-7");
    let env = TestEnvironment::with_rules(PROJECT, &both);
    let id = env.new_task(&["Add login"]);
    let completion = format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n");
    drop_file(&env, "x.yaml", &completion);
    kill_at(&env, "ops.prepared");
    drop_file(&env, "y.yaml", &completion);
    let output = watch_once(&env);
    assert!(env.task_text(&id).contains("current: review"), "{output}");
    assert!(env.exists(".aof/refused/y.yaml"), "{output}");
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn a_killed_command_holds_no_completion_file() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    drop_early(&env, &id);
    kill_at(&env, "inbox.judged");
    let _ = env.complete(&id, "agent-7").success();
    let output = watch_once(&env).success();
    // It was bound to the first visit when it was taken.
    assert!(!env.task_text(&id).contains("id: c-1"), "{output}");
    assert_eq!(env.files(".aof/inbox"), [""; 0]);
    assert!(env.read(".aof/refused/early.yaml.reason.json").contains("\"visit_ended\""));
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn a_refusal_that_is_killed_leaves_no_reason_without_its_file() {
    const PAIR: [&str; 2] = [".aof/refused/early.yaml", ".aof/refused/early.yaml.reason.json"];
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for twice in [false, true] {
        drop_early(&env, &id);
        kill_at(&env, "inbox.reason-written");
        if twice {
            kill_at(&env, "inbox.reason-written");
        }
        let output = watch_once(&env);
        assert_eq!(env.files(".aof/refused"), PAIR, "{output}");
        for file in PAIR {
            fs::remove_file(env.path(file)).unwrap();
        }
    }
    drop_file(&env, "word.txt", "done");
    kill_at(&env, "inbox.reason-written");
    let output = watch_once(&env);
    let names = [".aof/refused/word.txt", ".aof/refused/word.txt.reason.json"];
    assert_eq!(env.files(".aof/refused"), names, "{output}");
    for file in names {
        fs::remove_file(env.path(file)).unwrap();
    }
    check(&env);
}

#[test]
#[cfg(debug_assertions)]
fn a_delivery_that_is_killed_anywhere_is_finished_by_the_next() {
    let mut findings = Vec::new();
    for point in aof::system::crash_points::POINTS {
        let env = TestEnvironment::new();
        let ids = dropped(&env, 3);
        let mut command = env.aof_command(&["watch", "--once"]);
        command.env("AOF_STOP_AT", point);
        let output = env.run(command);
        let _ = watch_once(&env).success();
        let faults = faults_of_delivery(&env, &ids);
        findings.extend(
            faults.into_iter().map(|fault| format!("{point} ({:?}): {fault}", output.code)),
        );
    }
    assert!(findings.is_empty(), "{}", findings.join("\n"));
}

#[test]
fn other_users_cannot_drop_a_completion_with_any_umask() {
    let env = TestEnvironment::new();
    let mut shell = env.command("sh");
    shell.args(["-c", "umask 0 && aof new More"]);
    let _ = env.run(shell).success();
    for folder in [".aof/inbox", ".aof/inbox/.taken", ".aof/refused"] {
        let mode = fs::metadata(env.path(folder)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder}");
    }
}
