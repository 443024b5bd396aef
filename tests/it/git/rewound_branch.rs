//! A git that was overtaken, and took steps off the branch that a command had acknowledged.

use crate::support::environment::{TestEnvironment, eventually};
use crate::support::merge_scene::{entries, verified};
use crate::support::watcher::{Watcher, log};

/// A project where nothing is left to do.
fn scene() -> (TestEnvironment, String) {
    let (env, id) = crate::support::merge_scene::scene();
    let _ = env.aof(&["org", "reload"]).success();
    (env, id)
}

/// What git writes down when it was overtaken.
const RESET: &str = "reset: moving to HEAD";
const ABORTED: &str = "rebase (abort): returning to refs/heads/main";

/// Has git go back to where it had begun, as one that waited for the index's lock meanwhile; the files stay as they are.
fn overtaken(env: &TestEnvironment, how: &str, begun: &str) {
    env.git(&["read-tree", begun]);
    env.git(&["update-ref", "-m", how, "refs/heads/main", begun]);
}

/// The same, with the files.
fn taken_back(env: &TestEnvironment, how: &str, act: impl FnOnce()) {
    let begun = env.head();
    act();
    overtaken(env, how, &begun);
    env.git(&["reset", "--quiet", "--hard"]);
}

fn issues(env: &TestEnvironment) -> Vec<(String, String)> {
    let status = env.aof_aside(&["status", "--json"]).success().json();
    let points = status["attention"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|point| point["code"] == "taken_back");
    points
        .map(|point| {
            [&point["problem"], &point["fix"]].map(|text| text.as_str().unwrap().to_owned()).into()
        })
        .collect()
}

/// Does what is advised.
fn follow(env: &TestEnvironment, fix: &str) {
    let command = fix.split('`').nth(1).expect("a command");
    env.git(&command.split(' ').skip(1).collect::<Vec<_>>());
}

#[test]
fn steps_lost_to_a_reset_are_reported_and_return_by_the_named_command() {
    for how in [RESET, ABORTED] {
        let (env, id) = scene();
        assert_eq!(issues(&env), []);
        taken_back(&env, how, || {
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
        });
        assert!(!env.task_text(&id).contains("agent-7"));
        let points = issues(&env);
        assert_eq!(points.len(), 1);
        let (problem, fix) = &points[0];
        assert_eq!(problem, "git was overtaken and moved the branch back over 2 steps: AOF-xxxxx");
        assert!(fix.starts_with("`git merge --ff-only "), "{fix}");
        let doctor = env.aof_aside(&["doctor"]).stdout;
        assert!(doctor.contains("[taken_back]"), "{doctor}");
        follow(&env, fix);
        assert_eq!(issues(&env), []);
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        let _ = verified(&env).success();
    }
}

#[test]
fn lost_steps_are_merged_into_a_branch_that_has_gone_on() {
    for (same, by_doctor) in [(false, false), (false, true), (true, false), (true, true)] {
        let (env, id) = scene();
        let other = env.new_task(&["Write docs"]);
        taken_back(&env, RESET, || {
            let _ = env.complete(&id, "agent-7").success();
        });
        let noted = if same { &id } else { &other };
        env.write(&env.task_path(noted), env.task_text(noted) + "\nLook.\n");
        env.commit_all("a note");
        let points = issues(&env);
        assert!(points.len() == 1 && points[0].1.starts_with("`git merge "), "{points:?}");
        if by_doctor {
            assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[taken_back]"));
        } else {
            follow(&env, &points[0].1);
        }
        assert_eq!(issues(&env), []);
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        assert!(env.task_text(noted).contains("Look"));
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(&env).success();
    }
}

#[test]
fn the_next_command_puts_it_back_first_so_that_no_visit_is_ended_twice() {
    for how in [RESET, ABORTED, "merge side: updating HEAD"] {
        let (env, id) = scene();
        taken_back(&env, how, || drop(env.complete(&id, "agent-7").success()));
        let refused = env.say(&id, "agent-8", "complete", &[]).code(5);
        assert!(refused.stderr.contains("`agent-7` ended it"), "{refused}");
        assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(&env).success();
    }
}

#[test]
fn a_finished_task_that_git_left_in_the_archive_is_not_in_its_own_way() {
    let (env, id) = scene();
    let begun = env.head();
    let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
    overtaken(&env, "merge side: updating HEAD", &begun);
    env.git(&["checkout", "--", "tasks"]);
    assert!(env.git(&["status", "--porcelain"]).starts_with("?? tasks/archive/"));
    let _ = env.new_task(&["Write docs"]);
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = verified(&env).success();
}

/// Has a person's commit make the branch go on.
fn go_on(env: &TestEnvironment) {
    env.write("code.txt", "mine\n");
    env.commit_all("mine");
}

#[test]
fn a_visit_that_was_done_again_supersedes_the_one_that_was_dropped() {
    let (env, id) = scene();
    taken_back(&env, ABORTED, || {
        let _ = env.complete(&id, "agent-7").success();
    });
    go_on(&env);
    let _ = env.complete(&id, "agent-8").success();
    let answer = env.aof(&["watch", "--once"]).success().stdout;
    assert!(answer.contains("1 step is on the branch again"), "{answer}");
    assert_eq!(issues(&env), []);
    let message = env.git(&["log", "-1", "--format=%B"]);
    assert!(message.starts_with("sync: merge steps that git dropped from main\n"), "{message}");
    assert!(message.contains("Aof-Superseded: ") && message.contains(" by agent-7 (complete)"));
    assert_eq!(entries(&env, &id).len(), 1);
    let _ = verified(&env).success();
}

/// Commands that commit all the time do not outrun the merge.
#[test]
fn no_command_commits_while_dropped_steps_are_merged() {
    let (env, id) = scene();
    let other = env.new_task(&["Write docs"]);
    taken_back(&env, RESET, || {
        let _ = env.complete(&id, "agent-7").success();
    });
    go_on(&env);
    let pipe = env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = env.aof_command(&["watch", "--once"]);
    command.env("AOF_WAIT_AT", format!("git.joined:{}", pipe.display()));
    let piped = std::process::Stdio::piped;
    let child = command.stdout(piped()).stderr(piped()).spawn().unwrap();
    eventually("it has merged", || pipe.with_extension("reached").exists());
    let head = env.head();
    let _ = env.aof_aside(&["task", "comment", &other, "-m", "Look", "--wait", "0s"]).code(7);
    assert_eq!(env.head(), head);
    let opened = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let output = env.finish("watch", child).success().stdout;
    drop(opened);
    assert!(output.contains("1 step is on the branch again"), "{output}");
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
}

#[test]
fn steps_that_are_back_already_are_not_counted() {
    let (env, id) = scene();
    let mut picked = String::new();
    taken_back(&env, RESET, || {
        let _ = env.complete(&id, "agent-7").success();
        picked = env.head();
        for word in ["one", "two", "three"] {
            let _ = env.aof(&["task", "comment", &id, "-m", word]).success();
        }
    });
    go_on(&env);
    env.git(&["cherry-pick", &picked]);
    let points = issues(&env);
    assert!(points[0].0.contains("over 3 steps"), "{points:?}");
    follow(&env, &points[0].1);
    assert_eq!(issues(&env), []);
    assert!(["one", "two", "three"].iter().all(|word| env.task_text(&id).contains(word)));
    let _ = verified(&env).success();
}

#[test]
fn a_branch_that_a_person_moved_elsewhere_gets_nothing_back() {
    let (env, id) = scene();
    let begun = env.head();
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
    taken_back(&env, RESET, || {
        let _ = env.complete(&id, "agent-7").success();
    });
    env.git(&["reset", "--quiet", "--hard", &begun]);
    assert_eq!(issues(&env), []);
}

#[test]
fn steps_still_in_the_files_are_committed_again_in_silence() {
    let (env, id) = scene();
    let begun = env.head();
    let _ = env.complete(&id, "agent-7").success();
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
    overtaken(&env, RESET, &begun);
    assert_eq!(issues(&env), []);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(issues(&env), []);
    assert!(env.task_text(&id).contains("Look"));
}

#[test]
fn a_person_may_take_back_a_step() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-7").success();
    env.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    assert_eq!(issues(&env), []);
    // A commit of one's own: who moved the branch over it was no command of aof's that overtook git.
    taken_back(&env, RESET, || {
        env.write("code.txt", "mine\n");
        env.commit_all("mine");
    });
    env.git(&["reset", "--quiet"]);
    assert_eq!(issues(&env), []);
}

#[test]
fn a_linked_worktree_has_the_same_reflog() {
    let (env, id) = scene();
    taken_back(&env, RESET, || drop(env.complete(&id, "agent-7").success()));
    env.git(&["switch", "--quiet", "--detach"]);
    let beside = env.path("../beside").display().to_string();
    env.git(&["worktree", "add", "--quiet", &beside, "main"]);
    let status = env.aof_aside(&["-C", &beside, "status", "--json"]).success();
    assert!(status.stdout.contains("\"taken_back\""), "{status}");
}

/// Git as it is when it was overtaken, with what somebody has staged.
fn taken_back_whole(env: &TestEnvironment, act: impl FnOnce()) {
    let begun = env.head();
    act();
    env.git(&["read-tree", "-m", "-u", "HEAD", &begun]);
    env.git(&["update-ref", "-m", RESET, "refs/heads/main", &begun]);
}

#[test]
fn the_watcher_restores_the_branch_and_keeps_staged_changes() {
    let (env, id) = scene();
    let _watcher = Watcher::start(&env);
    eventually("it begins", || log(&env).contains("watching"));
    env.write("code.txt", "staged\n");
    env.git(&["add", "code.txt"]);
    taken_back_whole(&env, || drop(env.complete(&id, "agent-7").success()));
    eventually("it is put back", || log(&env).contains("1 step is on the branch again"));
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    eventually("no record is left", || !env.is_in_the_middle());
    assert_eq!(env.git(&["status", "--porcelain"]), "A  code.txt\n");
    assert_eq!(issues(&env), []);
    let _ = verified(&env).success();
}

#[test]
fn a_sweep_and_the_doctor_put_it_back_too() {
    for doctor in [false, true] {
        let (env, id) = scene();
        // A finished task is at another place.
        taken_back_whole(&env, || {
            let _ = env.complete(&id, "agent-7").success();
            let _ = env.aof(&["task", "cancel", &id, "--reason", "Not now"]).success();
        });
        if doctor {
            assert!(issues(&env)[0].1.ends_with("; `aof doctor --fix` does it"));
            assert!(env.aof(&["doctor", "--fix"]).stdout.contains("[taken_back]"));
        } else {
            let answer = env.aof(&["watch", "--once", "--json"]).success().stdout;
            assert!(
                answer.contains("\"event\":\"put_back\",\"tasks\":[\"AOF-xxxxx\"],\"steps\":2"),
                "{answer}"
            );
        }
        assert_eq!(issues(&env), []);
        assert_eq!(entries(&env, &id).len(), 2);
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = verified(&env).success();
    }
}

#[test]
fn an_obstacle_stays_and_is_reported_once() {
    let (env, id) = scene();
    env.write(
        "project.yaml",
        format!("{}watch: {{commitEdits: false}}\n", env.read("project.yaml")),
    );
    env.commit_all("own");
    let path = env.task_path(&id);
    taken_back_whole(&env, || drop(env.complete(&id, "agent-7").success()));
    env.edit(&path, "Add login", "Add a login");
    let (head, text) = (env.head(), env.read(&path));
    let answer = env.aof(&["watch", "--once"]);
    let what = "git was overtaken and moved the branch back over 1 step: AOF-xxxxx";
    assert_eq!(format!("{}{}", answer.stdout, answer.stderr).matches(what).count(), 1, "{answer}");
    assert_eq!((env.head(), env.read(&path)), (head, text));
    assert!(!env.is_in_the_middle());
    let fixed = env.aof(&["doctor", "--fix"]);
    assert!(fixed.stdout.contains("[taken_back]"), "{fixed}");
    let points = issues(&env);
    let (aside, rest) = points[0].1.split_once("; then ").expect("two things to do");
    assert_eq!(aside, "put aside what you changed in tasks/AOF-xxxxx.md (`git stash`)");
    env.git(&["stash", "--quiet"]);
    follow(&env, rest);
    assert_eq!(issues(&env), []);
    assert_eq!(entries(&env, &id), ["implement agent-7 complete"]);
    let _ = verified(&env).success();
}
