//! Everything that can be wrong with a project around its tasks: looked for, told with why it matters and what to do, and done where
//! that is certain. Each check is a file of its own; what `aof status` tells of the same is told in its words.

mod caches;
mod checkouts;
mod copies;
mod drifted;
mod folders;
mod known;
mod leftovers;
mod line_ends;
mod locks;
mod merging;
mod misplaced;
mod refused;
mod remote;
mod schemas;
mod settings;
mod signing;
mod staged;
mod stayed;
mod storage;
mod stream;
mod surroundings;
mod taken_back;

use serde_json::{Value, json};

use super::error::OpsError;
use super::in_force::InForce;
use super::status::{Overview, overview};
use super::transaction::DryRun;
use super::workspace::Workspace;
use crate::model::words::words;

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
pub(super) type Cure = Box<dyn Fn(&mut Workspace) -> Result<(), OpsError>>;

/// Something that is not as it should be.
pub struct Complaint {
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
    cure: Option<Cure>,
}

impl Complaint {
    fn wrong(code: &'static str, problem: String, why: &str, fix: String) -> Self {
        Self { code, weight: Weight::Wrong, problem, why: why.to_owned(), fix, cure: None }
    }

    fn advice(code: &'static str, problem: String, why: &str, fix: String) -> Self {
        Self { weight: Weight::Advice, ..Self::wrong(code, problem, why, fix) }
    }

    fn cured_by(self, cure: impl Fn(&mut Workspace) -> Result<(), OpsError> + 'static) -> Self {
        Self { cure: Some(Box::new(cure)), ..self }
    }

    /// Returns whether it can be done away with from here.
    pub fn is_curable(&self) -> bool {
        self.cure.is_some()
    }
}

/// What became of a complaint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
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
pub struct Treated {
    /// What is the matter.
    pub complaint: Complaint,
    /// What became of it.
    pub outcome: Outcome,
}

impl Treated {
    /// Returns whether something is wrong still.
    pub fn is_wrong(&self) -> bool {
        self.complaint.weight == Weight::Wrong && self.outcome != Outcome::Cured
    }
}

/// What the checks look at.
struct Patient<'w> {
    workspace: &'w Workspace,
    /// What `aof status` says.
    overview: Overview,
    /// The rules in force, if there are any.
    in_force: Option<InForce>,
}

/// Looks at one subject.
type Check = fn(&Patient<'_>) -> Vec<Complaint>;

/// All of them, in the order in which people are told: what stops everything comes first.
const CHECKS: [Check; 21] = [
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
    checkouts::look,
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
pub fn examine(workspace: &Workspace, watcher: bool) -> Result<Vec<Complaint>, OpsError> {
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
pub fn treat(
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
pub fn leave(complaints: Vec<Complaint>) -> Vec<Treated> {
    complaints.into_iter().map(|complaint| Treated { complaint, outcome: Outcome::Told }).collect()
}

/// Returns what was found, and done, as `--json` shows it.
pub fn doctor_value(treated: &[Treated]) -> Value {
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
fn count(number: usize, one: &str, many: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {many}") }
}
