//! The rules, as pure functions: same input, same answer, on any machine, years later.
//!
//! `decide` is the only way to change a task: (rules, task, act, now) -> decision or refusal. Nothing here reads a file, a clock,
//! the environment or a random number, and nothing here knows YAML or git: `tasks` brings the input and carries out the answer.

pub(crate) mod brief;
pub(crate) mod events;
pub(crate) mod replay;
pub(crate) mod routing;
pub(crate) mod signing;
pub(crate) mod template;
pub(crate) mod transition;
pub(crate) mod validate;
pub(crate) mod workflow;

pub(crate) mod act;
pub(crate) mod assignment;
pub mod condition;
pub(crate) mod merge;
pub mod outputs;
pub(crate) mod refusal;
pub(crate) mod verdict;

#[cfg(test)]
mod tests;

pub use act::{Act, Actor, Decision, LOOP_LIMIT, Warning, WorkflowStep};
pub use assignment::{AgentLoads, LastAssignment, UnclaimedWork, dispatch};
pub use events::{Notice, audience, events};
pub use refusal::{Flaw, NAMESPACE, Refusal, RefusalKind, ToSign};
pub use replay::{
    Breach, Proof, ReplayedAct, StateChange, explain, prove, rehashed, same_engine_fields,
};
pub use routing::fork::{branch_of, preview_branch};
pub use routing::reviews::{
    explained, is_circle, is_nobody, lost_dependencies, open_points, unanswered,
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
pub use transition::rule_changes::{Waits, circle_of, circles, owed};
pub use transition::visit::{check_ticket, is_permitted};
pub use validate::checker::Finding;
pub use validate::staffing::unstaffed;
pub use workflow::difference::{Difference, DifferenceKind, RuleSubject, differences};
pub use workflow::graph::{Edge, EdgeKind, edges, first};
pub use workflow::read_keys::ReadKeys;
pub use workflow::rules::Rules;
