//! An operation, its call and its result.

use super::arguments::{ArgumentFault, Arguments};
use super::fields::{Doors, InputField};
use crate::domain::{AgentId, Ticket};
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::complete::Signing;
use crate::tasks::plan::{Changed, DryRun};

/// An operation, as the doors offer it.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) name: &'static str,
    /// The command, where that has another name.
    pub(crate) command: &'static str,
    /// One line of help.
    pub(crate) help: &'static str,
    /// The label of its button.
    pub(crate) label: &'static str,
    /// The fields, besides the task.
    pub(crate) fields: &'static [InputField],
    /// The doors that offer it.
    pub(crate) doors: Doors,
    pub(crate) effect: Effect,
    /// True if an agent must be named; otherwise the person of git's configuration may act, too.
    pub(crate) needs_agent: bool,
    pub(crate) run: OperationRun,
}

/// The effect of an operation on the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Only reads.
    Reads,
    /// Changes something; a repetition changes nothing more.
    Settles,
    /// Changes something each time.
    Adds,
}

/// The function that carries an operation out, by what the operation is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum OperationRun {
    OnTask(OnTask),
    OnProject(fn(&Call<'_>) -> Result<Done, CallFault>),
}

pub(crate) type OnTask = fn(&Call<'_>, &Ticket) -> Result<Done, CallFault>;

/// A request, decoded by its door.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) workspace: &'c Workspace,
    pub(crate) in_force: &'c InForce,
    /// The agent who acts. `None` is the person of git's configuration.
    pub(crate) by: Option<&'c AgentId>,
    pub(crate) given: &'c Arguments,
    /// The means to sign a completion. Without them, one that needs a signature must have it.
    pub(crate) signing: Option<Signing<'c>>,
    pub(crate) dry_run: DryRun,
}

impl Call<'_> {
    /// Returns the agent who acts, where the operation needs one.
    pub(super) fn agent(&self) -> Result<&AgentId, ProjectError> {
        self.by.ok_or(ProjectError::NoAgent { email: None })
    }
}

/// The result of an operation.
pub(crate) struct Done {
    /// The result in words.
    pub(crate) sentence: String,
    /// The tasks that changed; none if the operation is about the project.
    pub(crate) changed: Vec<Changed>,
}

impl Done {
    pub(super) fn one(sentence: impl Into<String>, changed: Changed) -> Self {
        Self { sentence: sentence.into(), changed: vec![changed] }
    }

    /// Returns the one task that an operation on a task changed.
    pub(crate) fn task(self) -> Changed {
        self.changed.into_iter().next().expect("an operation on a task returns the task")
    }
}

/// The reason why a call was not carried out. Nothing was changed.
#[derive(Debug)]
pub(crate) enum CallFault {
    Argument(ArgumentFault),
    Refused(Box<ProjectError>),
}

impl From<ArgumentFault> for CallFault {
    fn from(fault: ArgumentFault) -> Self {
        Self::Argument(fault)
    }
}

impl<E: Into<ProjectError>> From<E> for CallFault {
    fn from(error: E) -> Self {
        Self::Refused(Box::new(error.into()))
    }
}

impl CallFault {
    /// Returns the fault as an error of the project, for doors whose arguments have no names.
    pub(crate) fn into_error(self) -> ProjectError {
        match self {
            Self::Refused(error) => *error,
            Self::Argument(ArgumentFault { code, problem, fix, .. }) => {
                ProjectError::Unfit { code, problem, fix: fix.into() }
            }
        }
    }
}

impl Operation {
    /// Returns the fields that a door offers.
    pub(crate) fn fields_at(
        &self,
        door: Doors,
    ) -> impl Iterator<Item = &'static InputField> + Clone {
        self.fields.iter().filter(move |field| field.doors.has(door))
    }

    pub(crate) fn is_on_task(&self) -> bool {
        matches!(self.run, OperationRun::OnTask(_))
    }

    /// Carries the operation out on the task, or on the project if that is what it is about.
    pub(crate) fn run(&self, call: &Call<'_>, ticket: Option<&Ticket>) -> Result<Done, CallFault> {
        match (self.run, ticket) {
            (OperationRun::OnProject(run), _) => run(call),
            (OperationRun::OnTask(run), Some(ticket)) => run(call, ticket),
            (OperationRun::OnTask(_), None) => {
                let problem = format!("`{}` needs a task", self.name);
                Err(ArgumentFault::new("missing_argument", "task", problem, "name one").into())
            }
        }
    }
}

impl Eq for Operation {}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}
