//! The nouns: a task, a visit, a gate, a completion.
//!
//! No I/O, no clock, no serde of foreign shapes: `files` turns bytes into these values and back. Every value that can be
//! wrong is parsed once, at the edge, into a type that cannot be.

pub mod acceptance;
mod advice;
mod blocker;
mod completion;
mod due;
pub(crate) mod event;
pub mod histogram;
pub(crate) mod id;
pub(crate) mod outcome;
pub(crate) mod period;
mod plan;
pub mod project;
pub mod ssh;
pub(crate) mod task;
pub mod words;
pub mod workflow;

pub use advice::{Advice, AdvicePart, Fix, FixArgument, Remedy};
pub use blocker::{Blocker, Loss, LostDependency};
pub use completion::SUSPEND;
pub use completion::{
    BODY_LIMIT, CheckResults, ChecklistCount, Completion, CompletionContent, Facts, ReplyFields,
    Stamp, TestCount,
};
pub use due::{Due, DueFault, TypedDue, TypedDueFault, weekday};
pub use event::ChangeEvents;
pub use event::{
    Cause, ConditionTrouble, Event, EventKind, EventTask, Level, NoticeReader, Occurrence,
    TroubleAction,
};
pub use id::{
    AgentId, BranchName, ChannelKey, CommitName, CompletionId, Decision, Digest, EventId, GateId,
    IdFault, IdPrefix, RemoteName, RoleId, TaskId, Ticket, TypedTask, WorkflowName,
};
pub use outcome::{Ending, Outcome, Status, approving, rejecting};
pub use period::{Period, PeriodFault, RetryDelay, length};
pub use plan::{Link, PlanChange, PlanKey, PlanRemoval, Priority, TaskPlan, Urgency};
pub use project::recurring::{Every, Recurrence, Recurring};
pub use project::{
    Agent, Channel, ConfigPlace, Git, HandOut, NetworkReach, On, Org, Permission, Project, Promise,
    Role, SquashPolicy, Subscription, TaskLayout, Webhook,
};
pub use ssh::{PublicKey, SshSignature};
pub use task::{
    BranchStatus, Destination, Join, OpenBranch, OpenVisit, ReviewContext, Routing, Task, Visit,
    Work,
};
pub use words::{Severity, Unknown, did_you_mean, listed, nearest};
pub use words::{composed, counted, distinct, is_combining_mark, mentioned, without_accents};
pub use workflow::budget::{AmountFault, Money, RunBudget, RunBudgets, Spending, TokenAmount};
pub use workflow::definition::{
    ContextRules, FieldFate, ImportRemark, RejectionStrategy, Repeat, Workflow,
};
pub use workflow::for_each::{ForEach, LoopItem};
pub use workflow::gate::{
    Branch, Brief, BriefText, Duty, EndsAs, Exhausted, Exits, Fork, Gate, GateCheck, GateKind,
    GateType, Identity, JoinStrategy, OnConditionError, Route, Signal, Station, Target, Verdict,
    WaitFor,
};
pub use workflow::run::{GateRun, Launch, Placeholder, Preset, Reads, RunBounds, RunLimits};
pub use workflow::shape::{Outputs, Shape};
pub use workflow::workspaces::{
    Landing, LandingCheck, UncommittedPolicy, WorkBranch, WorkFolder, WorkspaceSettings,
};

/// A JSON object: metadata, outputs, context.
pub type Map = serde_json::Map<String, serde_json::Value>;

pub use jiff::Timestamp;

words::serialize_as_text!(
    Advice,
    Blocker,
    Destination,
    Due,
    Ending,
    Exhausted,
    LostDependency,
    Outcome,
    Period,
    PublicKey,
    RetryDelay,
    Station,
    Target,
    Ticket
);
