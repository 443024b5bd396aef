//! Everything that can be wrong with a project around its tasks: looked for, told with why it matters and what to do, and done where
//! that is certain. Each check is a file of its own; what `aof status` tells of the same is told in its words.

use super::checks::caches;
use super::checks::copies;
use super::checks::drifted;
use super::checks::folders;
use super::checks::known;
use super::checks::leftovers;
use super::checks::line_ends;
use super::checks::locks;
use super::checks::merging;
use super::checks::misplaced;
use super::checks::refused;
use super::checks::remote;
use super::checks::schemas;
use super::checks::settings;
use super::checks::signing;
use super::checks::staged;
use super::checks::stayed;
use super::checks::storage;
use super::checks::stream;
use super::checks::surroundings;
use super::checks::taken_back;
use serde_json::{Value, json};

use super::status::overview::{Overview, overview};
use crate::domain::values::word_enum::words;
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::apply::change::DryRun;

words!(
    /// How much something matters.
    Weight, "a weight", {
        /// Something does not work, or will not.
        Wrong = "wrong",
        /// Everything works, and could be better.
        Advice = "advice",
    }
);

/// What is done about something, where it is certain what that is.
pub(crate) type Cure = Box<dyn Fn(&mut Workspace) -> Result<(), OpsError>>;

/// Something that is not as it should be.
pub(crate) struct Complaint {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    /// How much it matters.
    pub weight: Weight,
    /// What is the matter.
    pub problem: String,
    /// Why that matters.
    pub why: String,
    /// What to do.
    pub fix: String,
    pub(crate) cure: Option<Cure>,
}

impl Complaint {
    pub(crate) fn wrong(code: &'static str, problem: String, why: &str, fix: String) -> Self {
        Self { code, weight: Weight::Wrong, problem, why: why.to_owned(), fix, cure: None }
    }

    pub(crate) fn advice(code: &'static str, problem: String, why: &str, fix: String) -> Self {
        Self { weight: Weight::Advice, ..Self::wrong(code, problem, why, fix) }
    }

    pub(crate) fn cured_by(
        self,
        cure: impl Fn(&mut Workspace) -> Result<(), OpsError> + 'static,
    ) -> Self {
        Self { cure: Some(Box::new(cure)), ..self }
    }

    /// Returns whether it can be done away with from here.
    pub(crate) fn is_curable(&self) -> bool {
        self.cure.is_some()
    }
}

/// What became of a complaint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was told.
    Told,
    /// It would be done away with.
    Curable,
    /// It was done away with.
    Cured,
    /// It could not be: why.
    Uncured(String),
}

/// A complaint, and what became of it.
pub(crate) struct Treated {
    /// What is the matter.
    pub complaint: Complaint,
    /// What became of it.
    pub outcome: Outcome,
}

impl Treated {
    /// Returns whether something is wrong still.
    pub(crate) fn is_wrong(&self) -> bool {
        self.complaint.weight == Weight::Wrong && self.outcome != Outcome::Cured
    }
}

/// What the checks look at.
pub(crate) struct Patient<'w> {
    pub(crate) workspace: &'w Workspace,
    /// What `aof status` says.
    pub(crate) overview: Overview,
    /// The rules in force, if there are any.
    pub(crate) in_force: Option<InForce>,
}

/// Looks at one subject.
type Check = fn(&Patient<'_>) -> Vec<Complaint>;

/// All of them, in the order in which people are told: what stops everything comes first.
const CHECKS: [Check; 20] = [
    |patient| told(surroundings::look(patient)),
    |patient| told(settings::look(patient)),
    |patient| told(line_ends::look(patient)),
    |patient| told(signing::look(patient)),
    |patient| told(locks::look(patient)),
    known::look,
    |patient| told(copies::look(patient)),
    misplaced::look,
    |patient| told(stayed::look(patient)),
    |patient| told(staged::look(patient)),
    |patient| told(taken_back::look(patient)),
    |patient| told(leftovers::look(patient)),
    |patient| told(refused::look(patient)),
    |patient| told(merging::look(patient)),
    remote::look,
    |patient| told(stream::look(patient)),
    folders::look,
    |patient| told(storage::look(patient)),
    drifted::look,
    schemas::look,
];

/// What cannot be looked at stops nothing else.
fn told(found: Result<Vec<Complaint>, OpsError>) -> Vec<Complaint> {
    found.unwrap_or_else(|error| vec![unchecked(&error)])
}

/// Looks at everything. `watcher` says whether a watcher runs, as the door that starts it knows.
pub(crate) fn examine(workspace: &Workspace, watcher: bool) -> Result<Vec<Complaint>, OpsError> {
    // Whoever looks at the tasks writes the cache anew.
    let mut complaints = caches::look(workspace);
    let overview = overview(workspace, watcher)?;
    let in_force = workspace.rules().ok();
    let patient = Patient { workspace, overview, in_force };
    complaints.extend(CHECKS.iter().flat_map(|check| check(&patient)));
    complaints = without_echoes(complaints);
    for complaint in &mut complaints {
        for text in [&mut complaint.problem, &mut complaint.fix] {
            *text = workspace.git_words.said(std::mem::take(text));
        }
    }
    Ok(complaints)
}

/// Does what is certain, one thing after the other.
pub(crate) fn treat(
    workspace: &mut Workspace,
    complaints: Vec<Complaint>,
    dry_run: DryRun,
) -> Vec<Treated> {
    let treated = complaints.into_iter().map(|complaint| {
        let outcome = match (&complaint.cure, dry_run) {
            (None, _) => Outcome::Told,
            (Some(_), DryRun::Yes) => Outcome::Curable,
            (Some(cure), DryRun::No) => match cure(workspace) {
                Ok(()) => Outcome::Cured,
                Err(error) => Outcome::Uncured(workspace.git_words.said(error.problem())),
            },
        };
        Treated { complaint, outcome }
    });
    treated.collect()
}

/// Leaves everything as it is.
pub(crate) fn leave(complaints: Vec<Complaint>) -> Vec<Treated> {
    complaints.into_iter().map(|complaint| Treated { complaint, outcome: Outcome::Told }).collect()
}

/// Returns what was found, and done, as `--json` shows it.
pub(crate) fn doctor_value(treated: &[Treated]) -> Value {
    let complaints = treated.iter().map(|Treated { complaint, outcome }| {
        let (word, error) = match outcome {
            Outcome::Told => ("told", None),
            Outcome::Curable => ("curable", None),
            Outcome::Cured => ("fixed", None),
            Outcome::Uncured(error) => ("failed", Some(error)),
        };
        json!({
            "code": complaint.code,
            "weight": complaint.weight.as_str(),
            "problem": complaint.problem,
            "why": complaint.why,
            "fix": complaint.fix,
            "fixable": complaint.is_curable(),
            "outcome": word,
            "error": error,
        })
    });
    json!({"ok": !treated.iter().any(Treated::is_wrong), "complaints": complaints.collect::<Vec<_>>()})
}

/// Leaves out what several checks met and one has told already.
fn without_echoes(mut complaints: Vec<Complaint>) -> Vec<Complaint> {
    let mut told: Vec<String> =
        complaints.iter().map(|complaint| complaint.problem.clone()).collect();
    told.retain(|problem| !problem.starts_with(UNSEEN));
    complaints.retain(|complaint| {
        let Some(own) = complaint.problem.strip_prefix(UNSEEN) else { return true };
        let is_echo = told.iter().any(|problem| problem.contains(own));
        told.push(own.to_owned());
        !is_echo
    });
    complaints
}

/// What begins the words of a check that could not be made.
const UNSEEN: &str = "it could not be looked at: ";

fn unchecked(error: &OpsError) -> Complaint {
    Complaint::wrong(
        error.code(),
        format!("{UNSEEN}{}", error.problem()),
        "something may be wrong that nobody sees",
        error.fix().unwrap_or_else(|| "mend that, then run `aof doctor` again".to_owned()),
    )
}

/// Returns a number with its noun.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
