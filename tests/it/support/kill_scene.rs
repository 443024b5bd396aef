//! A project in which a completion is about to be interrupted, by a kill or by a power cut, and what must hold of it afterwards.

use std::process::Command;

use crate::support::checker;
use crate::support::environment::{Output, TestEnvironment};

/// What is interrupted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
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

pub(crate) const ACTS: [Act; 10] = [
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

/// What a start of the machine is called that is over.
pub(crate) const BOOT_BEFORE: &str = "the one before";

/// Gates that decide by themselves before the work and after it.
pub(crate) const BY_ITSELF: &str = "\
workflow:
  gates:
    - {id: urgent, type: condition, when: \"tags.includes('urgent')\", routes: {'true': {to: implement}, 'false': {to: $next}}}
    - {id: sized, type: fork, branches: [{id: code, role: architect, when: \"tags.includes('big')\"}, {id: docs, role: writer, when: \"tags.includes('big')\"}]}
    - {id: implement, role: backend}
    - {id: small, type: condition, when: \"!tags.includes('big')\", routes: {'true': {to: $end}, 'false': {to: $next}}}
    - {id: approve, role: architect}
";

/// The work, and two reviews of it at the same time.
pub(crate) const FORKED: &str = "\
workflow:
  gates:
    - {id: implement, role: backend}
    - {id: review, type: fork, branches: [{id: code, role: architect}, {id: docs, role: writer}]}
    - {id: approve, role: backend}
";

pub(crate) const PEOPLE: &str = "\
roles:
  backend: {agents: [agent-7, agent-8]}
  architect: {agents: [agent-3]}
  writer: {agents: [agent-5]}
";

pub(crate) struct Scene {
    pub(crate) env: TestEnvironment,
    pub(crate) id: String,
    agent: &'static str,
    other: String,
}

impl Scene {
    pub(crate) fn new(act: Act) -> Self {
        let env = match act {
            Act::Branch | Act::Join => TestEnvironment::with_rules(FORKED, PEOPLE),
            Act::AdoptionAtACondition
            | Act::FinishingByItself
            | Act::FinishingByItselfAfterAnEdit => TestEnvironment::with_rules(BY_ITSELF, PEOPLE),
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
        if matches!(
            act,
            Act::AfterAnEdit | Act::FinishingAfterAnEdit | Act::FinishingByItselfAfterAnEdit
        ) {
            let path = scene.env.task_path(&scene.id);
            scene.env.edit(&path, "The body", "The better body");
        }
        scene.env.write("staged.txt", "staged\n");
        scene.env.git(&["add", "staged.txt"]);
        scene.env.write("untracked.txt", "untracked\n");
        scene
    }

    /// Returns another scene in which all is as it is here.
    pub(crate) fn copy(&self) -> Self {
        Self {
            env: self.env.copy(),
            id: self.id.clone(),
            agent: self.agent,
            other: self.other.clone(),
        }
    }

    /// Delivers the completion, killed at that point unless it never comes by.
    pub(crate) fn deliver(&self, stop: Option<&str>) -> Output {
        self.env.run(self.delivery(stop))
    }

    /// Delivers the completion, cut off at that point together with the machine.
    pub(crate) fn deliver_until_power_is_cut(&self, stop: &str) -> Output {
        let mut command = self.delivery(Some(stop));
        command.env("AOF_BOOT", BOOT_BEFORE);
        self.env.run(command)
    }

    fn delivery(&self, stop: Option<&str>) -> Command {
        let mut command =
            self.env.aof_command(&["task", "complete", &self.id, "--agent", self.agent]);
        command.args(["--outcome", "complete", "--summary", "Did it", "--id", "delivery-1"]);
        if let Some(stop) = stop {
            command.env("AOF_STOP_AT", stop);
        }
        command
    }

    /// Runs a command about another task, which heals on its way.
    pub(crate) fn touch_other(&self, stop: Option<&str>) -> Output {
        let mut command =
            self.env.aof_command(&["task", "complete", &self.other, "--agent", "agent-8"]);
        command.args(["--outcome", "complete", "--summary", "Did the other", "--id", "delivery-2"]);
        if let Some(stop) = stop {
            command.env("AOF_STOP_AT", stop);
        }
        self.env.run(command)
    }

    /// Returns what is wrong once everything has been delivered.
    pub(crate) fn faults(&self) -> Vec<String> {
        let env = &self.env;
        let mut faults = checker::faults(env);
        let in_history = env
            .files("tasks")
            .into_iter()
            .map(|path| env.read(&path).matches("id: delivery-1").count());
        let in_log = env
            .git(&["log", "--format=%H", "--grep", "^Aof-Completion: delivery-1$"])
            .lines()
            .count();
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
pub(crate) struct Findings(Vec<String>);

impl Findings {
    pub(crate) fn add(&mut self, how: &str, faults: Vec<String>) {
        self.0.extend(faults.into_iter().map(|fault| format!("{how}: {fault}")));
    }

    pub(crate) fn expect(&mut self, how: &str, code: Option<i32>, output: &Output) {
        if output.code != code {
            self.0.push(format!("{how}: {output}"));
        }
    }

    #[track_caller]
    pub(crate) fn none(self) {
        assert!(self.0.is_empty(), "{} faults:\n{}", self.0.len(), self.0.join("\n"));
    }
}
