//! What a power cut leaves where names are not on the disk yet: any of the branch, the index and the files may be the old one while
//! the others are new. The next command, whatever it is, brings them together.

use std::collections::BTreeMap;
use std::fs;

use crate::support::checker;
use crate::support::environment::TestEnvironment;
use crate::support::kill_scene::{ACTS, Act, BOOT_BEFORE, Findings, Scene};

/// Where the branch has moved, and nothing was confirmed by the disk.
const MOVED: &str = "git.ref-moved";

/// What stands below `tasks/`, and git's index.
struct Before {
    files: BTreeMap<String, String>,
    index: Vec<u8>,
}

impl Before {
    fn of(env: &TestEnvironment) -> Self {
        let files =
            env.files("tasks").into_iter().map(|path| (path.clone(), env.read(&path))).collect();
        Self { files, index: fs::read(env.path(".git/index")).unwrap() }
    }

    /// Gives the files the names that they had.
    fn files_again(&self, env: &TestEnvironment) {
        for path in env.files("tasks") {
            if !self.files.contains_key(&path) {
                fs::remove_file(env.path(&path)).unwrap();
            }
        }
        for (path, text) in &self.files {
            env.write(path, text);
        }
    }

    fn index_again(&self, env: &TestEnvironment) {
        fs::write(env.path(".git/index"), &self.index).unwrap();
    }
}

#[test]
fn files_and_an_index_that_are_behind_the_branch_are_brought_forward() {
    let mut findings = Findings::default();
    for act in ACTS {
        let ready = Scene::new(act);
        for (files, index) in [(true, false), (false, true), (true, true)] {
            let how = format!("{act:?}, files lost: {files}, index lost: {index}");
            let scene = ready.copy();
            let before = Before::of(&scene.env);
            findings.expect(&how, None, &scene.deliver_until_power_is_cut(MOVED));
            let landed = scene.env.head();
            if files {
                before.files_again(&scene.env);
            }
            if index {
                before.index_again(&scene.env);
            }
            findings.expect(&how, Some(0), &scene.touch_other(None));
            if scene.env.git(&["log", "--format=%s", &format!("{landed}..")]).contains(&scene.id) {
                findings.add(
                    &how,
                    vec![format!("healing made commits of its own:\n{}", scene.env.log())],
                );
            }
            // Where the file was taken up first, that is what was cut off, and the completion is still to come.
            findings.add(&how, checker::faults(&scene.env));
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn a_new_task_is_restored_after_its_name_was_lost() {
    let env = TestEnvironment::new();
    let mut command = env.aof_command(&["task", "new", "Add login"]);
    command.env("AOF_STOP_AT", MOVED).env("AOF_BOOT", BOOT_BEFORE);
    assert_eq!(env.run(command).code, None);
    let tasks = env.files("tasks");
    let [task] = &tasks[..] else { panic!("there is {tasks:?}") };
    let text = env.read(task);
    fs::remove_file(env.path(task)).unwrap();
    env.new_task(&["Another task"]);
    assert_eq!(env.read(task), text);
    assert_eq!(checker::faults(&env), Vec::<String>::new());
}

#[test]
fn an_unfinished_file_is_removed_after_its_record_was_lost() {
    let env = TestEnvironment::new();
    let mut command = env.aof_command(&["task", "new", "Add login"]);
    command.env("AOF_STOP_AT", "git.intent-recorded").env("AOF_BOOT", BOOT_BEFORE);
    assert_eq!(env.run(command).code, None);
    assert!(env.git(&["status", "--porcelain"]).contains("?? tasks/"));
    // The disk had not been asked for the record, and somebody else's sync took the file's name along.
    fs::write(env.path(".aof/intent"), "").unwrap();
    env.new_task(&["Another task"]);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn rules_are_restored_after_their_name_was_lost() {
    let env = TestEnvironment::without_repository();
    let mut command = env.aof_command(&["init"]);
    command.env("AOF_STOP_AT", MOVED).env("AOF_BOOT", BOOT_BEFORE);
    assert_eq!(env.run(command).code, None);
    let rules = env.read("project.yaml");
    for name in ["project.yaml", "org.yaml"] {
        fs::remove_file(env.path(name)).unwrap();
    }
    // No command finds a project without its rules; whoever begins it again is told that it is there.
    let again = env.aof(&["init"]).code(1);
    assert!(again.stderr.contains("there is a project here already"), "{again}");
    assert_eq!(env.read("project.yaml"), rules);
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_file_that_a_person_wrote_since_is_not_brought_forward() {
    let mut findings = Findings::default();
    for act in [Act::Plain, Act::AfterAnEdit] {
        let how = format!("{act:?}");
        let scene = Scene::new(act);
        let before = Before::of(&scene.env);
        findings.expect(&how, None, &scene.deliver_until_power_is_cut(MOVED));
        before.files_again(&scene.env);
        let path = scene.env.task_path(&scene.id);
        scene.env.edit(&path, "body", "body, as I have it,");
        let mine = scene.env.read(&path);
        let _ = scene.touch_other(None);
        if scene.env.read(&path) != mine {
            findings.add(&how, vec![format!("the edit is lost:\n{}", scene.env.read(&path))]);
        }
    }
    findings.none();
}

#[test]
fn an_outdated_file_is_brought_forward_after_a_later_commit() {
    let mut findings = Findings::default();
    for act in [Act::Plain, Act::Finishing, Act::AfterAnEdit] {
        let how = format!("{act:?}");
        let scene = Scene::new(act);
        let before = Before::of(&scene.env);
        findings.expect(&how, None, &scene.deliver_until_power_is_cut(MOVED));
        before.files_again(&scene.env);
        before.index_again(&scene.env);
        // By a program that asks no hook, and changes nothing else.
        let commit = scene.env.git(&["commit-tree", "-p", "HEAD", "-m", "mine", "HEAD^{tree}"]);
        scene.env.git(&["update-ref", "refs/heads/main", commit.trim()]);
        findings.expect(&how, Some(0), &scene.touch_other(None));
        findings.expect(&how, Some(0), &scene.deliver(None));
        findings.add(&how, scene.faults());
    }
    findings.none();
}
