//! The engine: decides where a task goes. It is pure: the same input gives the same answer on any machine, years later.
//!
//! Nothing here reads a file, a clock, the environment or a random number, and nothing here knows YAML or git. The caller brings a
//! task, an act and the time, and stores the answer.
//!
//! # Map
//! | decides | in |
//! |---|---|
//! | whether a project's rules make sense | [`Rules::new`]: [`Finding`]s, the errors of which it returns as `Err` |
//! | one act on one task | [`decide`]: a [`Decision`], or a [`Refusal`] |
//! | which act led from one state of a task to another | [`explain`]; [`prove`] judges it for an audit |
//! | how two histories of a task become one | [`replay::merge`] |
//! | who gets the next task | [`dispatch`] |
//! | which people must hear of an event | [`audience`] |
//! | the instructions for an agent at a gate | [`brief`] |
//! | whether a condition holds | [`condition::Condition`] |
//!
//! # Invariants
//! - A step appends at most one entry to the history, and changes no entry that is there.
//! - A completion that ended a visit before is [`Decision::Settled`]: applying it twice changes nothing.
//! - Replay holds: `explain(rules, Some(before), after)` finds an act that [`decide`] turns into the same `after`.
//! - A refusal changes nothing. [`Refusal::code`] is stable; the message names the task, the reason and the fix.
//!
//! # Example
//! A task opens at its first gate, is completed there, and replay finds the completion again.
//! ```
//! use aof_domain::{Completion, CompletionContent, Timestamp};
//! use aof_files::config::configuration::{Source, load};
//! use aof_files::task_file::{self, Defaults};
//! use aof_rules::{Act, Decision, Rules, StateChange, decide, explain};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let file = |name: &str, text: &str| Source { name: name.to_owned(), bytes: text.into() };
//! let project = "workflow: {gates: [{id: implement, role: dev}, {id: review, role: lead, canReject: true}]}";
//! let org = "roles: {dev: {agents: [agent-1]}, lead: {agents: [agent-2]}}";
//! let read = load(&[file("project.yaml", project), file("org.yaml", org)]).expect("both are sound");
//! let (rules, _warnings) = Rules::new(read.project, read.org).expect("the gates have people");
//!
//! let now: Timestamp = "2026-02-16T15:00:00Z".parse()?;
//! let id = "AOF-7qk".parse()?;
//! let defaults = Defaults { workflow: "default".parse()?, created: now };
//! let new = task_file::parse(b"---\ntitle: Add login\n---\n", &id, &defaults).expect("it is a task").task;
//!
//! let Ok(Decision::Step(opened)) = decide(&rules, &new, &Act::Open, now) else { panic!("it opens") };
//! let done = Act::Complete(Completion {
//!     ticket: opened.task.ticket(),
//!     gate: None,
//!     agent: "agent-1".parse()?,
//!     content: CompletionContent {
//!         outcome: Some("complete".to_owned()),
//!         summary: Some("Login form added".to_owned()),
//!         ..CompletionContent::default()
//!     },
//!     id: "c-1".parse()?,
//!     signature: None,
//!     facts: Box::default(),
//! });
//! let Ok(Decision::Step(step)) = decide(&rules, &opened.task, &done, now) else { panic!("it moves") };
//! assert_eq!(step.task.gate.as_ref().expect("it is open").current.as_str(), "review");
//! let StateChange::Act(found) = explain(&rules, Some(&opened.task), &step.task) else { panic!("an act") };
//! assert_eq!(found.states.last(), Some(&step.task));
//!
//! let stranger = Act::Claim { agent: "agent-1".parse()?, branch: None };
//! let refusal = decide(&rules, &step.task, &stranger, now).expect_err("only leads review");
//! assert_eq!(refusal.code(), "wrong_role");
//! # Ok(())
//! # }
//! ```

pub mod brief;
pub mod events;
pub mod prover;
pub mod replay;
pub mod routing;
pub mod signing;
pub mod template;
pub mod transition;
pub mod validate;
pub mod workflow;

pub mod act;
pub mod assignment;
pub mod condition;
pub mod outputs;
pub mod refusal;
pub mod verdict;

#[cfg(test)]
mod tests;

pub use act::{Act, Actor, Decision, LOOP_LIMIT, Warning, WorkflowStep};
pub use assignment::{AgentLoads, LastAssignment, UnclaimedWork, dispatch};
pub use events::{Notice, audience, events};
pub use refusal::{Flaw, NAMESPACE, Refusal, RefusalKind, ToSign};
pub use replay::squash::{SquashProof, prove_squash};
pub use replay::{
    Breach, Proof, ReplayedAct, StateChange, explain, prove, rehashed, same_engine_fields,
};
pub use routing::fork::{branch_of, preview_branch};
pub use routing::reviews::{
    explained, lost_dependencies, open_points, standing_reviews, unanswered,
};
pub use routing::route::{Passage, TooOften, preview};
pub use routing::workplace::{Workplace, may_complete};
pub use signing::{entry_ticket, flaw, to_sign};
pub use template::{asked_for, reads};
pub use transition::claims::{
    Deadline, Escalation, Limit, Stay, TimeLimits, deadlines, escalation, stay,
};
pub use transition::completion::passes_by_itself;
pub use transition::decide::{begin, decide, rehearse};
pub use transition::fold::is_looping;
pub use transition::guards::{is_over, passes_children, waits_for_children};
pub use transition::repeated::{refuse_other_gate, refuse_repeated};
pub use transition::rule_changes::{Waits, circle_of, circles, due_act};
pub use transition::visit::{check_ticket, is_permitted};
pub use validate::checker::Finding;
pub use validate::staffing::unstaffed;
pub use workflow::difference::{Difference, DifferenceKind, RuleSubject, differences};
pub use workflow::graph::{Edge, EdgeKind, edges, first};
pub use workflow::read_keys::ReadKeys;
pub use workflow::rules::Rules;
