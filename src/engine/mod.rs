//! The rules of the game, as functions: same input, same answer, on any machine, years later.
//!
//! `decide` is the one way a task changes: (rules, task, act, now) -> decision or refusal. Nothing here reads a file, a clock,
//! the environment or a random number, and nothing here knows YAML or git: `ops` brings the input and carries out the answer.

mod audience;
mod begin;
mod branch;
pub mod brief;
mod canonical;
mod check;
mod claims;
mod complete;
pub mod condition;
mod deadline;
mod decide;
mod dependencies;
mod difference;
mod dispatch;
mod drift;
mod events;
mod fold;
mod fork;
mod graph;
mod guard;
mod hash;
mod keys;
pub mod merge;
pub mod outputs;
mod people;
mod post;
mod proof;
mod refusal;
mod replay;
mod route;
mod rules;
mod said;
mod scope;
pub mod signal;
mod signed;
mod ssh;
pub mod template;
mod vague;
mod warning;
mod wish;

#[cfg(test)]
mod tests;

pub use audience::{Notice, audience};
pub use begin::begin;
pub use branch::branch_of;
pub use check::Finding;
pub use complete::{is_looping, may_mean, passes_by_itself};
pub use deadline::{Deadline, Limit, Limits, Stay, Timer, deadlines, stay};
pub use decide::{Act, Actor, Decision, Step, decide};
pub use dependencies::{Waits, circle_of, circles, lost_dependencies};
pub use difference::{Difference, Kind as DifferenceKind, Subject, differences};
pub use dispatch::{Gift, Hands, Waiting, dispatch};
pub use drift::owed;
pub use events::events;
pub use fold::{is_circle, is_nobody, unanswered};
pub use fork::would_say;
pub use graph::{Edge, Way, edges, first};
pub use guard::{LOOP_LIMIT, may_complete};
pub use keys::{asked_for, reads};
pub use post::Post;
pub use proof::{Breach, Proof, prove, rehashed};
pub use refusal::{Refusal, RefusalKind, ToSign};
pub use replay::{Change, Found, explain, same as stands_alike};
pub use route::{Passage, TooOften, preview};
pub use rules::Rules;
pub use signed::{Flaw, NAMESPACE, entry_ticket, flaw, rehearse, to_sign};
pub use warning::Warning;
