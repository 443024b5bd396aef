//! The process is killed at every point of a transition; the next command, whatever it is, heals.

use std::fs;

use aof::system::crash_points::POINTS;

use crate::support::checker;
use crate::support::environment::{PROJECT, TestEnvironment};
use crate::support::kill_scene::{ACTS, Act, BY_ITSELF, Findings, PEOPLE, Scene};

#[test]
fn a_completion_that_is_killed_anywhere_and_delivered_again_counts_once() {
    let mut findings = Findings::default();
    for act in ACTS {
        let ready = Scene::new(act);
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            findings.expect(&how, None, &scene.deliver(Some(point)));
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn the_next_command_heals_even_if_it_is_about_another_task() {
    let mut findings = Findings::default();
    for act in [
        Act::Plain,
        Act::Finishing,
        Act::FinishingAfterAnEdit,
        Act::AdoptionAtACondition,
        Act::FinishingByItself,
        Act::FinishingByItselfAfterAnEdit,
    ] {
        let ready = Scene::new(act);
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            findings.expect(&how, None, &scene.deliver(Some(point)));
            findings.expect(&how, Some(0), &scene.touch_other(None));
            let rests = match act {
                // Edits are committed with the next change, and hand-made files are taken up with it.
                Act::FinishingAfterAnEdit
                | Act::FinishingByItselfAfterAnEdit
                | Act::AdoptionAtACondition => false,
                _ => true,
            };
            if rests {
                findings.add(&how, checker::faults(&scene.env));
            }
            let name = format!("/{}.md", scene.id);
            if scene.env.files("tasks").iter().filter(|path| path.ends_with(&name)).count() != 1 {
                findings.add(&how, vec![format!("there is {:?}", scene.env.files("tasks"))]);
            }
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn healing_that_is_killed_is_healed() {
    let mut findings = Findings::default();
    // The second process heals before its own change, so it passes each point once or twice.
    for act in [Act::Plain, Act::FinishingAfterAnEdit] {
        let ready = Scene::new(act);
        for first in ["ops.file-written", "git.ref-moved"] {
            for second in POINTS {
                let how = format!("{act:?} killed at {first}, then at {second}");
                let scene = ready.copy();
                findings.expect(&how, None, &scene.deliver(Some(first)));
                findings.expect(&how, None, &scene.touch_other(Some(second)));
                findings.expect(&how, Some(0), &scene.touch_other(None));
                findings.expect(&how, Some(0), &scene.deliver(None));
                findings.add(&how, scene.faults());
            }
        }
    }
    findings.none();
}

#[test]
fn a_creation_that_is_killed_leaves_a_whole_task_or_none() {
    let mut findings = Findings::default();
    let ready = [PROJECT, BY_ITSELF].map(|rules| {
        let env = TestEnvironment::with_rules(rules, PEOPLE);
        env.write("staged.txt", "staged\n");
        env.git(&["add", "staged.txt"]);
        (rules, env)
    });
    for ((rules, ready), point) in
        ready.iter().flat_map(|ready| POINTS.iter().map(move |point| (ready, point)))
    {
        let how = format!("{point} under\n{rules}");
        let env = ready.copy();
        let mut command = env.aof_command(&["task", "new", "Add login"]);
        command.env("AOF_STOP_AT", point);
        findings.expect(&how, None, &env.run(command));
        env.new_task(&["Another task"]);
        findings.add(&how, checker::faults(&env));
        let tasks = env.files("tasks");
        if !(1..=2).contains(&tasks.len()) {
            findings.add(&how, vec![format!("there is {tasks:?}")]);
        }
        let status = env.git(&["status", "--porcelain"]);
        if status != "A  staged.txt\n" {
            findings.add(&how, vec![format!("the person's files are not as they were:\n{status}")]);
        }
        for path in tasks {
            let id = path.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
            findings.expect(&how, Some(0), &env.say(id, "agent-7", "complete", &[]));
        }
        findings.add(&how, checker::faults(&env));
    }
    findings.none();
}

#[test]
fn a_change_after_the_kill_is_not_overwritten() {
    let mut findings = Findings::default();
    let ready = Scene::new(Act::Plain);
    for point in POINTS {
        let scene = ready.copy();
        findings.expect(point, None, &scene.deliver(Some(point)));
        let path = scene.env.task_path(&scene.id);
        scene.env.edit(&path, "The body", "The better body");
        findings.expect(point, Some(0), &scene.deliver(None));
        findings.add(point, scene.faults());
        let text = scene.env.task_text(&scene.id);
        if !text.ends_with("The better body\n") {
            findings.add(point, vec![format!("the edit is lost:\n{text}")]);
        }
    }
    findings.none();
}

#[test]
fn an_edit_that_was_to_be_committed_first_stays_its_author_s() {
    let mut findings = Findings::default();
    for act in [Act::AfterAnEdit, Act::FinishingByItselfAfterAnEdit] {
        let ready = Scene::new(act);
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            findings.expect(&how, None, &scene.deliver(Some(point)));
            findings.expect(&how, Some(0), &scene.touch_other(None));
            findings.expect(&how, Some(0), &scene.deliver(None));
            let author = scene.env.git(&[
                "log",
                "--format=%an",
                "--no-renames",
                "--diff-filter=M",
                "-S",
                "The better body",
            ]);
            if author != "Ada\n" {
                findings.add(&how, vec![format!("the edit is by {author}{}", scene.env.log())]);
            }
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn recovery_does_not_need_collected_objects() {
    let mut findings = Findings::default();
    for act in [Act::Finishing, Act::FinishingByItself, Act::FinishingByItselfAfterAnEdit] {
        let ready = Scene::new(act);
        for point in [
            "ops.intent-written",
            "git.intent-recorded",
            "git.index-locked",
            "ops.file-written",
            "git.index-moved",
        ] {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            findings.expect(&how, None, &scene.deliver(Some(point)));
            scene.env.git(&["prune", "--expire=now"]);
            findings.expect(&how, Some(0), &scene.touch_other(None));
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn healing_that_meets_a_lock_of_somebody_s_ends_and_is_done_later() {
    let mut findings = Findings::default();
    for point in ["ops.file-written", "git.index-written"] {
        let scene = Scene::new(Act::Plain);
        findings.expect(point, None, &scene.deliver(Some(point)));
        let lock = scene.env.path(".git/index.lock");
        let theirs = scene.env.path(".git/theirs");
        // Whatever lock the kill left goes first; then somebody has it, and does not let go.
        fs::write(&theirs, "somebody's").unwrap();
        fs::rename(&theirs, &lock).unwrap();
        let mut command = scene.env.aof_command(&["task", "new", "Another task", "--wait", "0s"]);
        command.arg("--json");
        findings.expect(point, Some(7), &scene.env.run(command));
        fs::remove_file(&lock).unwrap();
        findings.expect(point, Some(0), &scene.touch_other(None));
        findings.expect(point, Some(0), &scene.deliver(None));
        findings.add(point, scene.faults());
    }
    findings.none();
}

/// Where the branch has moved, and the record of it is still there.
const LANDED: [&str; 3] = ["git.ref-moved", "ops.committed", "ops.settled"];

#[test]
fn a_step_on_one_branch_is_not_repeated_on_another() {
    let mut findings = Findings::default();
    for act in [Act::Plain, Act::AfterAnEdit, Act::Finishing] {
        let ready = Scene::new(act);
        for point in LANDED {
            for power in [true, false] {
                let how = format!("{act:?} killed at {point}, power lost: {power}");
                let scene = ready.copy();
                scene.env.git(&["branch", "feature"]);
                let cut = if power {
                    scene.deliver_until_power_is_cut(point)
                } else {
                    scene.deliver(Some(point))
                };
                findings.expect(&how, None, &cut);
                // What a move leaves at the old place would be in git's way.
                scene.env.git(&["switch", "-q", "-f", "feature"]);
                findings.expect(&how, Some(0), &scene.touch_other(None));
                let counted = scene.env.git(&[
                    "log",
                    "--all",
                    "--format=%s",
                    "--grep",
                    "^Aof-Completion: delivery-1$",
                ]);
                if counted.lines().count() != 1 {
                    findings.add(
                        &how,
                        vec![format!("the completion counts more than once:\n{counted}")],
                    );
                }
                findings.add(&how, checker::faults(&scene.env));
            }
        }
    }
    findings.none();
}

#[test]
fn a_reversal_after_a_kill_stays() {
    let mut findings = Findings::default();
    for point in LANDED {
        for staged in [true, false] {
            let how = format!("killed at {point}, staged: {staged}");
            let scene = Scene::new(Act::Plain);
            let path = scene.env.task_path(&scene.id);
            let before = scene.env.read(&path);
            findings.expect(&how, None, &scene.deliver(Some(point)));
            if staged {
                scene.env.git(&["checkout", "-q", "HEAD~1", "--", &path]);
            } else {
                scene.env.write(&path, &before);
            }
            let status = scene.env.git(&["status", "--porcelain"]);
            findings.expect(&how, Some(0), &scene.touch_other(None));
            if scene.env.git(&["status", "--porcelain"]) != status
                || scene.env.read(&path) != before
            {
                findings.add(
                    &how,
                    vec![format!(
                        "it was {status}and is {}",
                        scene.env.git(&["status", "--porcelain"])
                    )],
                );
            }
        }
    }
    findings.none();
}

#[test]
fn a_file_beside_a_task_that_is_written_to_after_the_kill_goes_with_it_all_the_same() {
    let mut findings = Findings::default();
    let ready = Scene::new(Act::Finishing);
    for point in POINTS {
        let scene = ready.copy();
        let beside = format!("tasks/{}.tests.yaml", scene.id);
        findings.expect(point, None, &scene.deliver(Some(point)));
        if !scene.env.exists(&beside) {
            continue;
        }
        let more = format!("{}more: []\n", scene.env.read(&beside));
        scene.env.write(&beside, &more);
        findings.expect(point, Some(0), &scene.touch_other(None));
        findings.expect(point, Some(0), &scene.deliver(None));
        let kept: Vec<String> = scene
            .env
            .files("tasks")
            .into_iter()
            .filter(|path| path.ends_with(".tests.yaml"))
            .collect();
        if !kept.iter().any(|path| scene.env.read(path) == more) {
            findings.add(point, vec![format!("what was written is lost: {kept:?}")]);
        }
        if LANDED.contains(point) {
            // It has gone with the task as it was; what stands here by now is somebody's new file.
            fs::remove_file(scene.env.path(&beside)).unwrap();
        }
        findings.add(point, checker::faults(&scene.env));
    }
    findings.none();
}

#[test]
fn a_claim_that_was_killed_stays_a_claim() {
    for (verb, word) in [("claim", "claimed"), ("assign", "assigned")] {
        for point in POINTS {
            let env = TestEnvironment::new();
            let id = env.new_task(&["Add login"]);
            let args = match verb {
                "claim" => vec!["task", "claim", &id, "--agent", "agent-7"],
                _ => vec!["task", "assign", &id, "agent-7"],
            };
            let mut command = env.aof_command(&args);
            command.env("AOF_STOP_AT", point);
            assert_eq!(env.run(command).code, None, "{point}");
            let _ = env.aof(&["task", "new", "Another"]).success();
            let text = env.task_text(&id);
            let events = env.git(&["log", "--format=%(trailers:key=Aof-Event,valueonly)"]);
            let has = events.lines().any(|line| line == word);
            assert_eq!(has, text.contains("agent: agent-7"), "{verb} at {point}: {events}");
            checker::check(&env);
        }
    }
}

/// A new project is there as a whole after a second try, with what connects agents.
#[test]
fn a_project_that_was_killed_when_it_began_is_begun_again() {
    for more in [&["--agents"][..], &["--observability"], &["--agents", "--observability"]] {
        for point in POINTS {
            for (turn, has_repository) in [(1, true), (1, false), (2, true)] {
                let env = TestEnvironment::without_repository();
                for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
                    env.git(&["config", "--global", key, value]);
                }
                if has_repository {
                    env.git(&["init", "--quiet", "--initial-branch=main"]);
                }
                let args = [&["init"], more].concat();
                let mut command = env.aof_command(&args);
                command.env("AOF_STOP_AT", format!("{point}:{turn}"));
                let killed = env.run(command);
                let how = format!("{more:?} at {point}:{turn}: {killed}");
                assert!(killed.code.is_none() || turn == 2, "{how}");
                let again = env.aof(&args).success();
                for file in ["project.yaml", "org.yaml"] {
                    assert!(env.exists(file), "{file}: {how}\n{again}");
                }
                assert_eq!(env.files("tasks").len(), 1, "{how}\n{again}");
                assert_eq!(env.exists("AGENTS.md"), more.contains(&"--agents"), "{how}");
                assert_eq!(
                    env.git(&["status", "--porcelain", "tasks", "project.yaml"]),
                    "",
                    "{how}"
                );
            }
        }
    }
}
