//! A command is killed, and before the next one a person does something that its step does not go with any more.

use std::fs;

use aof::system::crash_points::POINTS;

use crate::support::checker;
use crate::support::environment::TestEnvironment;
use crate::support::kill_scene::{Act, Findings, Scene};

/// Where the branch has moved: it counts.
const LANDED: [&str; 3] = ["git.ref-moved", "ops.committed", "ops.settled"];

/// Removes the locks that a kill left, as git advises.
fn unlock(env: &TestEnvironment) {
    for lock in [".git/index.lock", ".git/refs/heads/main.lock"] {
        let _ = fs::remove_file(env.path(lock));
    }
}

/// Has a person put a gate behind each of the others, and commit that.
fn commit_other_rules(env: &TestEnvironment) {
    unlock(env);
    let gates = "  gates:\n    - {id: implement, role: backend}\n    - {id: check, role: backend}\n    - {id: review, role: architect, canReject: true}\n    - {id: approve, role: architect}\n";
    env.write("project.yaml", format!("workflow:\n{gates}"));
    env.git(&["commit", "--quiet", "--message", "other rules", "project.yaml"]);
}

/// Returns the files of a task and what they say.
fn standing(env: &TestEnvironment) -> Vec<(String, String)> {
    env.files("tasks").into_iter().map(|path| (path.clone(), env.read(&path))).collect()
}

/// Returns what is wrong unless the files of that task are these.
fn unless_as(scene: &Scene, before: &[(String, String)]) -> Vec<String> {
    let is_own = |(path, _): &&(String, String)| path.contains(&scene.id);
    let now = standing(&scene.env);
    let (now, before): (Vec<_>, Vec<_>) =
        (now.iter().filter(is_own).collect(), before.iter().filter(is_own).collect());
    if now == before { Vec::new() } else { vec![format!("there was {before:#?}\nand is {now:#?}")] }
}

#[test]
fn a_step_for_replaced_rules_is_taken_back_and_counts_again() {
    let mut findings = Findings::default();
    for act in [Act::Plain, Act::AfterAnEdit, Act::Finishing, Act::FinishingAfterAnEdit] {
        let ready = Scene::new(act);
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            let before = standing(&scene.env);
            findings.expect(&how, None, &scene.deliver(Some(point)));
            commit_other_rules(&scene.env);
            let next = scene.touch_other(None);
            findings.expect(&how, Some(0), &next);
            if !LANDED.contains(point) {
                findings.add(&how, unless_as(&scene, &before));
            }
            let is_to_be_told = matches!(act, Act::Plain) && *point == "git.index-written";
            if is_to_be_told && !next.stderr.contains("AOF-xxxxx is as it was before") {
                findings.add(&how, vec![format!("nobody says so: {next}")]);
            }
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn an_interrupted_recovery_is_taken_back_too() {
    let mut findings = Findings::default();
    let seconds =
        ["ops.intent-written", "git.objects-named", "git.index-written", "git.index-moved"];
    for act in [Act::Plain, Act::AfterAnEdit, Act::Finishing] {
        let ready = Scene::new(act);
        for first in ["ops.file-written", "git.index-moved"] {
            // Before the objects have their names, no commit has what a person had edited: that stays, frozen.
            for second in seconds.into_iter().skip(usize::from(matches!(act, Act::AfterAnEdit))) {
                let how = format!("{act:?} killed at {first}, then at {second}");
                let scene = ready.copy();
                let before = standing(&scene.env);
                findings.expect(&how, None, &scene.deliver(Some(first)));
                findings.expect(&how, None, &scene.touch_other(Some(second)));
                commit_other_rules(&scene.env);
                findings.expect(&how, Some(0), &scene.touch_other(None));
                findings.add(&how, unless_as(&scene, &before));
                findings.expect(&how, Some(0), &scene.deliver(None));
                findings.add(&how, scene.faults());
            }
        }
    }
    findings.none();
}

#[test]
fn a_file_that_was_dropped_counts_anew_under_the_new_rules() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(
        ".aof/inbox/one.yaml",
        format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: Done\n"),
    );
    let mut watch = env.aof_command(&["watch", "--once"]);
    watch.env("AOF_STOP_AT", "git.index-written");
    assert_eq!(env.run(watch).code, None);
    commit_other_rules(&env);
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(crate::support::merge_scene::entries(&env, &id), ["implement agent-7 complete"]);
    assert!(env.task_text(&id).contains("current: check"), "{}", env.task_text(&id));
    assert_eq!(checker::faults(&env), Vec::<String>::new());
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_new_task_that_was_never_there_for_anybody_is_gone() {
    let env = TestEnvironment::new();
    let mut command = env.aof_command(&["task", "new", "Add login"]);
    command.env("AOF_STOP_AT", "ops.file-written");
    assert_eq!(env.run(command).code, None);
    assert_eq!(env.files("tasks").len(), 1);
    unlock(&env);
    let rules = "workflow:\n  gates:\n    - {id: plan, role: architect}\n    - {id: build, role: backend}\n";
    env.write("project.yaml", rules);
    env.git(&["commit", "--quiet", "--message", "other rules", "project.yaml"]);
    let _ = env.aof(&["org", "reload"]).success();
    assert_eq!(env.files("tasks"), Vec::<String>::new());
    assert_eq!(checker::faults(&env), Vec::<String>::new());
}

#[test]
fn a_task_that_a_person_changed_since_is_frozen_and_shown() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login", "--body", "The body"]);
    let mut command =
        env.aof_command(&["task", "complete", &id, "--agent", "agent-7", "--summary", "Done"]);
    command.env("AOF_STOP_AT", "git.index-written");
    assert_eq!(env.run(command).code, None);
    let path = env.task_path(&id);
    env.edit(&path, "The body", "The better body");
    let mine = env.read(&path);
    commit_other_rules(&env);
    let _ = env.aof(&["task", "new", "Another task"]).success();
    assert_eq!(env.read(&path), mine);
    let frozen = env.say(&id, "agent-7", "complete", &[]).code(5);
    assert!(frozen.stderr.contains("was changed by hand"), "{frozen}");
}

#[test]
fn a_step_for_one_branch_is_not_committed_on_another() {
    let mut findings = Findings::default();
    for act in [Act::Plain, Act::AfterAnEdit, Act::Finishing, Act::FinishingAfterAnEdit] {
        let ready = Scene::new(act);
        for point in POINTS.iter().filter(|point| !LANDED.contains(point)) {
            let how = format!("{act:?} killed at {point}");
            let scene = ready.copy();
            let env = &scene.env;
            env.git(&["branch", "feature"]);
            let (before, status) = (standing(env), env.git(&["status", "--porcelain"]));
            findings.expect(&how, None, &scene.deliver(Some(point)));
            unlock(env);
            // It takes the files along that differ from what both branches have.
            env.git(&["switch", "--quiet", "feature"]);
            let next = scene.touch_other(None);
            findings.expect(&how, Some(0), &next);
            findings.add(&how, unless_as(&scene, &before));
            if *point == "git.index-written"
                && !next.stderr.contains("was for `main`: AOF-xxxxx is as it was before")
            {
                findings.add(&how, vec![format!("nobody says so: {next}")]);
            }
            let counted =
                env.git(&["log", "--all", "--format=%s", "--grep", "^Aof-Completion: delivery-1$"]);
            let now = env.git(&["status", "--porcelain"]);
            if !counted.is_empty() || now != status {
                findings
                    .add(&how, vec![format!("counted: {counted}\nit was\n{status}and is\n{now}")]);
            }
            env.git(&["switch", "--quiet", "main"]);
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn a_return_to_the_branch_finds_the_step_finished() {
    let mut findings = Findings::default();
    for point in ["ops.file-written", "git.index-moved"] {
        let scene = Scene::new(Act::Plain);
        scene.env.git(&["branch", "feature"]);
        findings.expect(point, None, &scene.deliver(Some(point)));
        unlock(&scene.env);
        for branch in ["feature", "main"] {
            scene.env.git(&["switch", "--quiet", branch]);
        }
        findings.expect(point, Some(0), &scene.touch_other(None));
        findings.add(point, scene.faults());
    }
    findings.none();
}

#[test]
fn a_change_on_the_other_branch_stays_and_is_reported() {
    let scene = Scene::new(Act::Plain);
    let env = &scene.env;
    env.git(&["branch", "feature"]);
    assert_eq!(scene.deliver(Some("ops.file-written")).code, None);
    unlock(env);
    env.git(&["switch", "--quiet", "feature"]);
    let path = env.task_path(&scene.id);
    env.edit(&path, "The body", "The better body");
    let mine = env.read(&path);
    let output = scene.touch_other(None).success();
    assert!(
        output.stderr.contains(
            "was for `main`, and the file of AOF-xxxxx has been changed since, so it stays"
        ),
        "{output}"
    );
    assert!(
        output
            .stderr
            .contains("`git restore --source=HEAD --staged --worktree tasks/AOF-xxxxx.md`"),
        "{output}"
    );
    assert_eq!(env.read(&path), mine);
    assert_eq!(
        env.git(&["log", "--all", "--format=%s", "--grep", "^Aof-Completion: delivery-1$"]),
        ""
    );
}
