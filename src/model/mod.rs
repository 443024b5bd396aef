//! The nouns: what a task, a visit, a gate, a completion is.
//!
//! No I/O, no clock, no serde of foreign shapes: `format` turns bytes into these values and back. Every value that can be
//! wrong is parsed once, at the edge, into a type that cannot be.

mod age;
mod completion;
mod dependency;
mod duration;
mod event;
mod event_id;
mod git;
mod id;
mod nearest;
mod org;
mod outcome;
mod place;
mod project;
mod run;
mod severity;
pub mod shape;
pub mod signal;
pub mod ssh;
mod subscription;
mod task;
pub mod trusted_keys;
mod visit;
pub(crate) mod words;
mod workflow;

pub use age::age;
pub use completion::{BODY_LIMIT, Completion, Digest, Stamp};
pub use dependency::{Loss, LostDependency};
pub use duration::{Period, PeriodFault};
pub use event::{Cause, ConditionTrouble, Event, EventKind, Level, Occurrence, Reader, Subject};
pub use event_id::EventId;
pub use git::Git;
pub use id::{
    AgentId, BranchName, CompletionId, Decision, GateId, IdFault, IdPrefix, RemoteName, RoleId,
    TaskId, Ticket, WorkflowName,
};
pub use nearest::{listed, nearest};
pub use org::{Agent, HandOut, Org, Permission, Role};
pub use outcome::{Ending, Outcome, Status};
pub use place::Place;
pub use project::{Layout, Project};
pub use run::{GateRun, Launch, Placeholder, Preset, Reads, RunBounds, RunLimits};
pub use severity::Severity;
pub use shape::{Outputs, Shape};
pub use signal::Signal;
pub use ssh::{PublicKey, Signature};
pub use subscription::{Channel, ChannelKey, On, Reach, Subscription, Webhook};
pub use task::{BranchStatus, OpenBranch, OpenVisit, Priority, ReviewContext, Routing, Task, Work};
pub use visit::{Destination, Join, Visit};
pub use words::Unknown;
pub use workflow::{
    Branch, Brief, BriefText, ContextRules, Duty, EndsAs, Exhausted, Exits, Fork, Gate, GateKind,
    GateType, Identity, JoinStrategy, OnConditionError, RejectionStrategy, Route, Station, Target,
    Verdict, Workflow,
};

/// A JSON object: metadata, outputs, context.
pub type Map = serde_json::Map<String, serde_json::Value>;

pub use jiff::Timestamp;
