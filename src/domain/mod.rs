//! The nouns: what a task, a visit, a gate, a completion is.
//!
//! No I/O, no clock, no serde of foreign shapes: `format` turns bytes into these values and back. Every value that can be
//! wrong is parsed once, at the edge, into a type that cannot be.

pub(crate) mod event;
pub(crate) mod issue;
pub(crate) mod project;
pub(crate) mod values;
pub(crate) mod workflow;

pub(crate) mod completion;
pub(crate) mod dependency;
pub(crate) mod id;
pub(crate) mod import_remark;
pub(crate) mod location;
pub(crate) mod org;
pub(crate) mod outcome;
pub(crate) mod ssh;
pub(crate) mod task;
pub(crate) mod visit;

pub use completion::{BODY_LIMIT, Completion, Digest, Stamp};
pub use dependency::{Loss, LostDependency};
pub use event::event::{
    Cause, ConditionTrouble, Event, EventKind, Level, Occurrence, Reader, Subject,
};
pub use event::event_id::EventId;
pub use event::subscription::{Channel, ChannelKey, On, Reach, Subscription, Webhook};
pub use id::{
    AgentId, BranchName, CompletionId, Decision, GateId, IdFault, IdPrefix, RemoteName, RoleId,
    TaskId, Ticket, WorkflowName,
};
pub use import_remark::{FieldFate, ImportRemark};
pub use location::Place;
pub use org::{Agent, HandOut, Org, Permission, Role};
pub use outcome::{Ending, Outcome, Status};
pub use project::project::{Layout, Project};
pub use project::sync_settings::Git;
pub use ssh::{PublicKey, Signature};
pub use task::{BranchStatus, OpenBranch, OpenVisit, Priority, ReviewContext, Routing, Task, Work};
pub use values::age::age;
pub use values::duration::{Period, PeriodFault};
pub use values::severity::Severity;
pub use values::suggestion::{listed, nearest};
pub use values::word_enum::Unknown;
pub use visit::{Destination, Join, Visit};
pub use workflow::brief::{Brief, BriefText};
pub use workflow::context::ContextRules;
pub use workflow::fork::{Branch, Fork, JoinStrategy, Station, Verdict};
pub use workflow::gate::{Duty, Gate, GateKind, GateType, Identity, OnConditionError};
pub use workflow::route::{EndsAs, Exhausted, Exits, Route, Target};
pub use workflow::run::{GateRun, Launch, Placeholder, Preset, Reads, RunBounds, RunLimits};
pub use workflow::shape::{Outputs, Shape};
pub use workflow::signal::Signal;
pub use workflow::workflow::{RejectionStrategy, Workflow};

/// A JSON object: metadata, outputs, context.
pub type Map = serde_json::Map<String, serde_json::Value>;

pub use jiff::Timestamp;

values::word_enum::serialize_as_text!(
    Destination,
    Ending,
    LostDependency,
    Outcome,
    PublicKey,
    Station,
    Target,
    Ticket,
    Period
);
