//! The fixes of refusals.

use super::{Refusal, about_children, meant_outcome, of_signature};
use aof_domain::{
    Advice, GateId, Identity, Outcome, Remedy, RoleId, Ticket, advice, listed, nearest,
};

/// The number of problems of one completion that are written out; programs get all of them.
const PROBLEM_LIMIT: usize = 20;

impl Refusal {
    /// Returns the fix: an act that would be accepted instead.
    #[expect(clippy::too_many_lines, reason = "one arm a refusal; each is a sentence")]
    pub fn fix(&self) -> Advice {
        match self {
            Self::MissingOutcome { valid, .. } => format!("give one of {}:\n{}", listed(valid), meanings(valid)).into(),
            Self::InvalidOutcome { given, valid, .. } => {
                let question = question(meant_outcome(given, valid).map(Outcome::as_str));
                format!("{question}valid here: {}\n{}", listed(valid), meanings(valid)).into()
            }
            Self::MissingSummary { .. } => "say in one or two sentences what was done".into(),
            Self::MissingBlockers { outcome } | Self::EmptyBlockers { outcome } => match outcome {
                Outcome::Blocked => "name what you wait for, and from whom, one blocker for each",
                _ => "name what must be fixed so that somebody else can do it, one blocker for each thing",
            }
            .into(),
            Self::TooLong { field: "body", .. } => {
                "put the text into a file of the repository and name the file in the summary".into()
            }
            Self::TooLong { .. } => "keep it short, and hand the rest on as a file".into(),
            Self::ContradictoryStatus { .. } => "say it once: give the outcome, or `$status`".into(),
            Self::ContradictoryVerdict { .. } => {
                "make up your mind: fix the text, or give no outcome and let the text speak".into()
            }
            Self::InvalidOutputs { problems, .. } => {
                let shown = problems.iter().take(PROBLEM_LIMIT).map(|problem| format!("- {}", problem.message()));
                let mut lines = vec!["fix this, all at once:".to_owned()];
                lines.extend(shown);
                if problems.len() > PROBLEM_LIMIT {
                    lines.push(format!("- and {} more", problems.len() - PROBLEM_LIMIT));
                }
                lines.join("\n").into()
            }
            Self::MissingInput { missing, .. } => {
                let options: Vec<String> = missing.iter().map(|name| format!("--context {name}=VALUE")).collect();
                format!("give `{}`", options.join(" ")).into()
            }
            Self::UnknownInput { given, known, .. } => {
                let meant = given.iter().find_map(|name| nearest(name, known.iter().map(String::as_str)));
                let question = question(meant);
                format!("{question}it begins with {}", listed(known)).into()
            }
            Self::WrongTask { assigned, attempted, role: Some(_) } => advice![
                format!("complete `{assigned}`; `{attempted}` is for others: see it with "),
                Remedy::Show.on(attempted),
            ],
            Self::WrongTask { assigned, attempted, role: None } => advice![
                format!("complete `{assigned}`, or give it back first: "),
                Remedy::Release.on(assigned),
                format!("; see `{attempted}` with "),
                Remedy::Show.on(attempted),
            ],
            Self::AssignedToAnother { ticket, holder, .. } => advice![
                format!("leave it to `{holder}`, take another with "),
                Remedy::Next,
                format!(", or have `{holder}` give it back: "),
                Remedy::Release.on(ticket).given("agent", holder),
            ],
            Self::ClaimLost { ticket, holder, .. } => advice![
                format!("nothing was changed; hand what you have over to `{holder}`, as in "),
                Remedy::Comment.on(&ticket.task),
                ", and take another with ",
                Remedy::Next,
                "; work that takes longer than a claim lasts is kept by ",
                Remedy::Renew,
            ],
            Self::Held { task, .. } => advice![
                "wait until a person sets it going again, as with ",
                Remedy::Unblock.on(task),
            ],
            Self::ChildrenOpen { task, children, .. } => about_children(task, children),
            Self::ChecksDue { .. } => advice![
                Remedy::Complete,
                " and ",
                Remedy::Watch,
                " run the checks first",
            ],
            Self::ChecksFailed { task, results, .. } => match results.tests {
                Some(_) => advice![
                    "correct what failed, see ",
                    Remedy::Test.on(task).flag("committed"),
                    ", then say it again",
                ],
                None => "do what is open, tick its box in the task's text, then say it again".into(),
            },
            Self::NotDue { .. } => "nothing is to be done".into(),
            Self::WrongRole { members, role, .. } if members.is_empty() => {
                format!("nobody can complete it yet: add an agent to role `{role}` in org.yaml").into()
            }
            Self::WrongRole { members, .. } => advice![
                format!("it can be completed by {}; take a task of your own with ", listed(members)),
                Remedy::Next,
                ", or have org.yaml changed",
            ],
            Self::RejectNotAllowed { valid, .. } => format!(
                "valid here: {}\n{}\nIf the work has faults, fix them, or complete it and let the next review see them",
                listed(valid),
                meanings(valid)
            ).into(),
            Self::SkipNotAllowed { human: true, .. } => {
                "a person completes it; the gate's `when` says which tasks need no approval".into()
            }
            Self::SkipNotAllowed { valid, .. } => format!("valid here: {}\n{}", listed(valid), meanings(valid)).into(),
            Self::HumanRequired { people, role, .. } if people.is_empty() => {
                format!(
                    "nobody can complete it yet: add an agent whose id begins with `human-` to role `{role}` in org.yaml"
                ).into()
            }
            Self::HumanRequired { people, .. } => format!("leave it to {}", listed(people)).into(),
            Self::CircularLoop { task, .. } => advice![
                "read ",
                Remedy::History.on(task),
                "; then set it going with ",
                Remedy::Unblock.on(task).asked("reason"),
                ", move it with ",
                Remedy::Override,
                ", or call it off",
            ],
            Self::VisitEnded { ticket, .. } => advice![
                "nothing was changed and nothing is to be done; see where it stands now with ",
                Remedy::Show.on(&ticket.task),
            ],
            Self::Repeated { ticket, open, .. } => format!(
                "nothing was changed, and nothing is to be done; if gate `{open}` is meant as well, name its visit: `{ticket}` in place of `{}`",
                ticket.task
            ).into(),
            Self::OtherGate { ticket, current, .. } => advice![
                format!("if gate `{current}` is meant, name its visit: `{ticket}`; see where it stands with "),
                Remedy::Show.on(&ticket.task),
            ],
            Self::VisitAhead { task, .. } => {
                advice!["use the ticket that ", Remedy::Show.on(task), " prints"]
            }
            Self::Finished { task, .. } => {
                advice!["to work on it again: ", Remedy::Reopen.on(task).asked("to").asked("reason")]
            }
            Self::CompletionReused { .. } => "give each completion an id of its own, or none".into(),
            Self::NotAdopted { .. } => advice![
                "it is a hand-made file; the first command that changes it, or ",
                Remedy::Watch,
                ", puts it at its first gate",
            ],
            Self::UnknownWorkflow { known, workflow, .. } => {
                let meant = nearest(workflow, known.iter().map(String::as_str));
                let question = question(meant);
                format!(
                    "{question}the rules in force have {}; commit a workflow of that name, or, as long as the task stands at no gate, \
                     name another in `routing.workflow`",
                    listed(known)
                ).into()
            }
            Self::GateGone { task, known, .. } => advice![
                format!("move it to one of {} with ", listed(known)),
                Remedy::Override.on(task).asked("to").asked("reason"),
            ],
            Self::UnknownGate { given, known } => match nearest(given.as_str(), known.iter().map(GateId::as_str)) {
                Some(name) => format!("did you mean `{name}`? its gates are {}", listed(known)).into(),
                None => format!("its gates are {}", listed(known)).into(),
            },
            Self::NotVisible { viewers, .. } => advice![
                format!("it is started by {}; see what you may start with ", listed(viewers)),
                Remedy::WorkflowList,
            ],
            Self::NoGateApplies { workflow } => advice![
                "see the conditions with ",
                Remedy::WorkflowShow.on(workflow),
                ", or choose another with `--workflow`",
            ],
            Self::NotClaimed { .. } => advice![
                "there is nothing to give back or to renew; ",
                Remedy::Next,
                " claims one",
            ],
            Self::NobodyWorksHere { task, gate } => advice![
                "the rules changed while it stood there; let it decide with ",
                Remedy::Override.on(task).given("to", gate).asked("reason"),
            ],
            Self::NotAutomatic { task, .. } => advice!["see who can with ", Remedy::Why.on(task)],
            Self::NotSeparate { task, by: Identity::Agent, .. } => advice![
                "leave it to another agent of the role; see who can complete it with ",
                Remedy::Why.on(task),
            ],
            Self::NotSeparate { by: Identity::Session, .. } => advice![
                "leave it to another agent of the role, or work in another session: ",
                Remedy::Run,
                ", ",
                Remedy::Mcp,
                ", or `AOF_SESSION=NAME`",
            ],
            Self::NotBlocked { task, .. } => {
                advice!["see what it waits for with ", Remedy::Why.on(task)]
            }
            Self::NotFinished { task, .. } => advice![
                "to move it against the workflow: ",
                Remedy::Override.on(task).asked("to").asked("reason"),
            ],
            Self::MissingReason { .. } => "add `--reason \"...\"`".into(),
            Self::NotPermitted { act, agent } => {
                format!("ask a person, or allow it in org.yaml: `agents: {{{agent}: {{may: [{act}]}}}}`").into()
            }
            Self::NotYourBranch { open, .. } => advice![
                "leave it to an agent of the role, or take another with ",
                Remedy::Next,
                branches(open),
            ],
            Self::NoSuchBranch { open, ticket, .. } if open.is_empty() => {
                advice!["see where it stands with ", Remedy::Why.on(&ticket.task)]
            }
            Self::BranchNeeded { open, .. } | Self::NoSuchBranch { open, .. } => {
                advice!["use the ticket of a branch that is open", branches(open)]
            }
            Self::NotOfABranch { ticket, act } => {
                advice!["if that is what you want: ", act.on(&ticket.task)]
            }
            Self::Signature(wanted) => of_signature(wanted),
            Self::BranchesNotOpen { task, gate } => advice![
                "open them with ",
                Remedy::Override.on(task).given("to", gate).asked("reason"),
            ],
            Self::Blocked { ticket, blockers }
                if blockers.iter().any(|blocker| blocker.lost().is_some()) =>
            {
                advice![
                    "take up what is lost again (",
                    Remedy::Reopen,
                    "), or leave it out: ",
                    Remedy::Edit.on(&ticket.task).asked("undepends"),
                ]
            }
            Self::Blocked { ticket, .. } => advice![
                "once that is settled, ",
                Remedy::Unblock.on(ticket),
                "; or complete it with the outcome it has now",
            ],
        }
    }
}

fn question(meant: Option<&str>) -> String {
    meant.map(|word| format!("did you mean `{word}`? ")).unwrap_or_default()
}

/// Lists the open branches below advice, each with its ticket.
fn branches(open: &[(Ticket, RoleId)]) -> String {
    let lines: Vec<String> =
        open.iter().map(|(ticket, role)| format!("  `{ticket}`  role {role}")).collect();
    format!(":\n{}", lines.join("\n"))
}

/// Returns one line for each outcome, with its use.
fn meanings(outcomes: &[Outcome]) -> String {
    let lines: Vec<String> =
        outcomes.iter().map(|outcome| format!("  `{outcome}`  {}", meaning(outcome))).collect();
    lines.join("\n")
}

/// Returns the use of an outcome, in general.
const fn meaning(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Complete => "your work here is finished",
        Outcome::NeedsReview => {
            "you found something that somebody else must fix (list it in `blockers`)"
        }
        Outcome::Blocked => "something outside stops you (name it in `blockers`)",
        Outcome::Skip => "this gate does not apply to the task",
        Outcome::Failed => "you tried, and could not do it",
        Outcome::Decision(_) => "a decision of this gate; the brief says what it means",
    }
}
