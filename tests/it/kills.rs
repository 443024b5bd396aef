//! The process is killed at every point of a transition; the next command, whatever it is, heals.

use aof::stop::POINTS;

use crate::checker;
use crate::environment::{Output, PROJECT, TestEnvironment};

/// What is interrupted.
#[derive(Debug, Clone, Copy)]
enum Act {
    /// One file changes.
    Plain,
    /// The task moves to the archive, with a companion.
    Finishing,
    /// A person's edit is committed first, so that there are two commits.
    AfterAnEdit,
    /// Both: what is moved is what the person wrote.
    FinishingAfterAnEdit,
    /// A hand-made file is taken up.
    Adoption,
    /// A branch of a fork speaks while another is open.
    Branch,
    /// The last branch of a fork speaks.
    Join,
    /// A hand-made file is taken up at a gate that decides by itself.
    AdoptionAtACondition,
    /// A gate that decides by itself ends the task, which moves to the archive.
    FinishingByItself,
    /// The same with a person's edit.
    FinishingByItselfAfterAnEdit,
}

const ACTS: [Act; 10] = [
    Act::Plain,
    Act::Finishing,
    Act::AfterAnEdit,
    Act::FinishingAfterAnEdit,
    Act::Adoption,
    Act::Branch,
    Act::Join,
    Act::AdoptionAtACondition,
    Act::FinishingByItself,
    Act::FinishingByItselfAfterAnEdit,
];

/// Gates that decide by themselves before the work and after it.
const BY_ITSELF: &str = "\
workflow:
  gates:
    - {id: urgent, type: condition, when: \"tags.includes('urgent')\", routes: {'true': {to: implement}, 'false': {to: $next}}}
    - {id: sized, type: fork, branches: [{id: code, role: architect, when: \"tags.includes('big')\"}, {id: docs, role: writer, when: \"tags.includes('big')\"}]}
    - {id: implement, role: backend}
    - {id: small, type: condition, when: \"!tags.includes('big')\", routes: {'true': {to: $end}, 'false': {to: $next}}}
    - {id: approve, role: architect}
";

/// The work, and two reviews of it at the same time.
const FORKED: &str = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, type: fork, branches: [{id: code, role: architect}, {id: docs, role: writer}]}
    - {id: approve, role: backend}
";

const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  writer: {agents: [agent-5]}
";

struct Scene {
    env: TestEnvironment,
    id: String,
    agent: &'static str,
    other: String,
}

impl Scene {
    fn new(act: Act) -> Self {
        let env = match act {
            Act::Branch | Act::Join => TestEnvironment::with_rules(FORKED, PEOPLE),
            Act::AdoptionAtACondition | Act::FinishingByItself | Act::FinishingByItselfAfterAnEdit => {
                TestEnvironment::with_rules(BY_ITSELF, PEOPLE)
            }
            _ => TestEnvironment::new(),
        };
        let other = env.new_task(&["Another task"]);
        let (id, agent) = match act {
            Act::Adoption | Act::AdoptionAtACondition => {
                env.hand_made("AOF-abc", "Add login");
                ("AOF-abc".to_owned(), "agent-7")
            }
            _ => (env.new_task(&["Add login", "--body", "The body"]), "agent-7"),
        };
        let mut scene = Self { env, id, agent, other };
        if matches!(act, Act::Finishing | Act::FinishingAfterAnEdit) {
            let _ = scene.env.complete(&scene.id, "agent-7");
            scene.env.write(&format!("tasks/{}.tests.yaml", scene.id), "tests: []\n");
            scene.env.commit_all("tests");
            scene.agent = "agent-3";
        }
        if matches!(act, Act::Branch | Act::Join) {
            let _ = scene.env.complete(&scene.id, "agent-7");
            scene.agent = "agent-3";
        }
        if matches!(act, Act::Join) {
            let _ = scene.env.complete(&scene.id, "agent-5");
        }
        if matches!(act, Act::AfterAnEdit | Act::FinishingAfterAnEdit | Act::FinishingByItselfAfterAnEdit) {
            let path = scene.env.task_path(&scene.id);
            scene.env.edit(&path, "The body", "The better body");
        }
        scene.env.write("staged.txt", "staged\n");
        scene.env.git(&["add", "staged.txt"]);
        scene.env.write("untracked.txt", "untracked\n");
        scene
    }

    /// Delivers the completion, killed at that point unless it never comes by.
    fn deliver(&self, stop: Option<&str>) -> Output {
        let mut command = self.env.aof_command(&["task", "complete", &self.id, "--agent", self.agent]);
        command.args(["--outcome", "complete", "--summary", "Did it", "--id", "delivery-1"]);
        if let Some(stop) = stop {
            command.env("AOF_STOP_AT", stop);
        }
        self.env.run(command)
    }

    /// Runs a command about another task, which heals on its way.
    fn touch_other(&self, stop: Option<&str>) -> Output {
        let mut command = self.env.aof_command(&["task", "complete", &self.other, "--agent", "agent-8"]);
        command.args(["--outcome", "complete", "--summary", "Did the other", "--id", "delivery-2"]);
        if let Some(stop) = stop {
            command.env("AOF_STOP_AT", stop);
        }
        self.env.run(command)
    }

    /// Returns what is wrong once everything has been delivered.
    fn faults(&self) -> Vec<String> {
        let env = &self.env;
        let mut faults = checker::faults(env);
        let in_history = env.files("tasks").into_iter().map(|path| env.read(&path).matches("id: delivery-1").count());
        let in_log = env.git(&["log", "--format=%H", "--grep", "^Aof-Completion: delivery-1$"]).lines().count();
        let counts = (in_history.sum::<usize>(), in_log);
        if counts != (1, 1) {
            faults.push(format!("the completion counts {counts:?} times"));
        }
        let status = env.git(&["status", "--porcelain"]);
        if status != "A  staged.txt\n?? untracked.txt\n" {
            faults.push(format!("the person's files are not as they were:\n{status}"));
        }
        faults
    }
}

/// All that went wrong in many ways to be killed, told at the end.
#[derive(Default)]
struct Findings(Vec<String>);

impl Findings {
    fn add(&mut self, how: &str, faults: Vec<String>) {
        self.0.extend(faults.into_iter().map(|fault| format!("{how}: {fault}")));
    }

    fn expect(&mut self, how: &str, code: Option<i32>, output: &Output) {
        if output.code != code {
            self.0.push(format!("{how}: {output}"));
        }
    }

    #[track_caller]
    fn none(self) {
        assert!(self.0.is_empty(), "{} faults:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn a_completion_that_is_killed_anywhere_and_delivered_again_counts_once() {
    let mut findings = Findings::default();
    for act in ACTS {
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = Scene::new(act);
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
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = Scene::new(act);
            findings.expect(&how, None, &scene.deliver(Some(point)));
            findings.expect(&how, Some(0), &scene.touch_other(None));
            let rests = match act {
                // Edits are committed with the next change, and hand-made files are taken up with it.
                Act::FinishingAfterAnEdit | Act::FinishingByItselfAfterAnEdit | Act::AdoptionAtACondition => false,
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
        for first in ["ops.file-written", "audit.ref-moved"] {
            for second in POINTS {
                let how = format!("{act:?} killed at {first}, then at {second}");
                let scene = Scene::new(act);
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
    for (rules, point) in
        [PROJECT, BY_ITSELF].into_iter().flat_map(|rules| POINTS.iter().map(move |point| (rules, point)))
    {
        let how = format!("{point} under\n{rules}");
        let env = TestEnvironment::with_rules(rules, PEOPLE);
        env.write("staged.txt", "staged\n");
        env.git(&["add", "staged.txt"]);
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
fn what_a_person_did_after_the_kill_is_not_overwritten() {
    let mut findings = Findings::default();
    for point in POINTS {
        let scene = Scene::new(Act::Plain);
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
        for point in POINTS {
            let how = format!("{act:?} killed at {point}");
            let scene = Scene::new(act);
            findings.expect(&how, None, &scene.deliver(Some(point)));
            findings.expect(&how, Some(0), &scene.touch_other(None));
            findings.expect(&how, Some(0), &scene.deliver(None));
            let author =
                scene.env.git(&["log", "--format=%an", "--no-renames", "--diff-filter=M", "-S", "The better body"]);
            if author != "Ada\n" {
                findings.add(&how, vec![format!("the edit is by {author}{}", scene.env.log())]);
            }
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}

#[test]
fn what_git_collected_in_the_meantime_is_not_needed() {
    let mut findings = Findings::default();
    for point in
        ["ops.intent-written", "audit.intent-told", "audit.index-locked", "ops.file-written", "audit.index-moved"]
    {
        for act in [Act::Finishing, Act::FinishingByItself, Act::FinishingByItselfAfterAnEdit] {
            let how = format!("{act:?} killed at {point}");
            let scene = Scene::new(act);
            findings.expect(&how, None, &scene.deliver(Some(point)));
            scene.env.git(&["prune", "--expire=now"]);
            findings.expect(&how, Some(0), &scene.touch_other(None));
            findings.expect(&how, Some(0), &scene.deliver(None));
            findings.add(&how, scene.faults());
        }
    }
    findings.none();
}
