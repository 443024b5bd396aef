//! A gate: one stage of a workflow, its duty, the routes out of it, and its branches if it is a fork.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::words::words;
use crate::{ForEach, GateId, GateRun, IdFault, Map, Outcome, Outputs, Period, RoleId, distinct};

/// One stage (spec 1, 1.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    pub id: GateId,
    pub description: Option<String>,
    /// The condition under which the gate applies, a JavaScript expression; absent means always. A condition gate decides by it.
    pub when: Option<String>,
    /// The consequence of a condition that fails to evaluate.
    pub on_condition_error: OnConditionError,
    /// True if the gate is off the line: entered only by a route, and left to the gate that the task came from.
    pub detour: bool,
    /// The tasks that must have ended before a task passes the gate.
    pub wait_for: Option<WaitFor>,
    /// The checks that must hold before a task passes the gate.
    pub check: Vec<GateCheck>,
    /// True if a task that passes the gate counts as delivered in statistics.
    pub delivery: bool,
    /// The ways out of the gate.
    pub exits: Exits,
    /// A person's own facts about the gate.
    pub metadata: Map,
    pub kind: GateKind,
}

/// The kind of a gate: the way it decides.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateKind {
    /// An agent works.
    Work(Box<Duty>),
    /// No one works: `when` chooses between the decisions `true` and `false`.
    Condition,
    /// Several agents work, each at a branch; their outcomes join to one `complete` or `needs_review`.
    Fork(Fork),
}

/// The duty of the agent at a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Duty {
    pub role: RoleId,
    /// True if the agent may send a task back.
    pub can_reject: bool,
    /// True if the agent may skip the gate.
    pub can_skip: bool,
    /// True if only people may complete the gate.
    pub require_human: bool,
    /// The time limit of a visit.
    pub timeout: Option<Period>,
    /// The role that takes over a visit that takes longer.
    pub escalate_to: Option<RoleId>,
    /// The time that a claim lasts without renewal.
    pub lease: Option<Period>,
    /// The list of which each visit has one item.
    pub for_each: Option<ForEach>,
    /// Gates whose workers may not work here for the same task.
    pub separate_from: Vec<GateId>,
    /// The attribute by which workers count as the same.
    pub separate_by: Identity,
    pub outputs: Outputs,
    /// The text mark that gives the verdict when a completion names no outcome.
    pub signal: Option<Signal>,
    /// The files that the work may touch, as patterns of paths; shown to the agent.
    pub files: Vec<String>,
    /// The brief for agents; absent parts are generated.
    pub brief: Brief,
    /// The limits of its agents' runs, and the meaning of their exit statuses.
    pub run: GateRun,
}

impl Duty {
    /// Returns the plain duty of a role.
    pub fn new(role: RoleId) -> Self {
        Self {
            role,
            can_reject: false,
            can_skip: false,
            require_human: false,
            timeout: None,
            escalate_to: None,
            lease: None,
            for_each: None,
            separate_from: Vec::new(),
            separate_by: Identity::Agent,
            outputs: Outputs::Open,
            signal: None,
            files: Vec::new(),
            brief: Brief::default(),
            run: GateRun::default(),
        }
    }
}

impl GateKind {
    pub fn gate_type(&self) -> GateType {
        match self {
            Self::Work(_) => GateType::Work,
            Self::Condition => GateType::Condition,
            Self::Fork(_) => GateType::Fork,
        }
    }
}

impl Gate {
    /// Returns the duty of the agent that works here; `None` if no one does.
    pub fn duty(&self) -> Option<&Duty> {
        match &self.kind {
            GateKind::Work(duty) => Some(duty),
            GateKind::Condition | GateKind::Fork(_) => None,
        }
    }

    /// Returns the list that the gate goes through.
    pub fn for_each(&self) -> Option<&ForEach> {
        self.duty()?.for_each.as_ref()
    }

    /// Returns the fork; `None` if the gate is not one.
    pub fn fork(&self) -> Option<&Fork> {
        match &self.kind {
            GateKind::Fork(fork) => Some(fork),
            GateKind::Work(_) | GateKind::Condition => None,
        }
    }

    /// Returns every outcome that a completion may ever have here; `failed` and `skip` only if the gate allows them.
    pub fn possible(&self) -> Vec<Outcome> {
        let Some(duty) = self.duty() else { return Vec::new() };
        let mut outcomes: Vec<Outcome> = self.exits.decisions().cloned().collect();
        if outcomes.is_empty() {
            outcomes.push(Outcome::Complete);
        }
        if self.can_reject() {
            outcomes.push(Outcome::NeedsReview);
        }
        outcomes.push(Outcome::Blocked);
        if duty.can_skip {
            outcomes.push(Outcome::Skip);
        }
        if self.exits.on_failure.is_some() {
            outcomes.push(Outcome::Failed);
        }
        outcomes
    }

    /// Returns the role whose work it is.
    pub fn role(&self) -> Option<&RoleId> {
        self.duty().map(|duty| &duty.role)
    }

    /// Returns the roles whose work it is: the gate's, or its branches'.
    pub fn roles(&self) -> Vec<&RoleId> {
        let branches = self.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let of_branches = branches.iter().map(|branch| &branch.duty().role);
        distinct(self.role().into_iter().chain(of_branches)).collect()
    }

    /// Returns whether the gate may send a task back by `needs_review`: it says so, has a route for it, or is a fork with such a
    /// branch.
    pub fn can_reject(&self) -> bool {
        match &self.kind {
            GateKind::Work(duty) => {
                duty.can_reject || self.exits.route(&Outcome::NeedsReview).is_some()
            }
            GateKind::Condition => false,
            GateKind::Fork(fork) => fork.branches.iter().any(Branch::rejects),
        }
    }
}

words!(
    /// The kind of a gate, in the words of files.
    GateType, "a type of gate", {
        /// An agent works.
        Work = "work",
        /// `when` decides.
        Condition = "condition",
        /// Several agents work, each at a branch.
        Fork = "fork",
    }
);

words!(
    /// A check before a task passes a gate.
    GateCheck, "a check", {
        /// The acceptance tests of the task pass.
        Tests = "tests",
        /// Each box of the task's text is ticked.
        Checklist = "checklist",
    }
);

words!(
    /// Tasks that must have ended before a task passes a gate.
    WaitFor, "what a gate may wait for", {
        /// The tasks whose `parent` is the task.
        Children = "children",
    }
);

words!(
    /// The attribute by which workers count as the same.
    Identity, "a way to tell workers apart", {
        /// The same agent id.
        Agent = "agent",
        /// The same `metadata.session` of the completions.
        Session = "session",
    }
);

words!(
    /// The consequence of a condition that fails to evaluate (spec 1, 9.8).
    OnConditionError, "an answer to a failing condition", {
        /// The gate is skipped.
        Skip = "skip",
        /// The gate is entered: nothing slips past it.
        Enter = "enter",
    }
);

/// The branches of a fork, and the rule that joins them.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The branches, in the order in which they are written.
    pub branches: Vec<Branch>,
    /// The number of branches that must pass.
    #[serde(rename = "joinStrategy")]
    pub join: JoinStrategy,
}

/// One branch of a fork: a gate at which an agent works, without a destination of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Branch(Gate);

words!(
    /// The effect of an outcome at a branch on its fork.
    Verdict, "a verdict", {
        /// The branch passes the task.
        Pass = "pass",
        /// The branch wants something fixed.
        Reject = "reject",
        /// The branch cannot go on, and waits.
        Hold = "hold",
        /// The branch does not apply.
        Skip = "skip",
    }
);

words!(
    /// The number of branches of a fork that must pass.
    JoinStrategy, "a join strategy", {
        /// Each of them.
        All = "all",
        /// One of them.
        Any = "any",
        /// More than half of them.
        Majority = "majority",
    }
);

impl Branch {
    /// Returns the gate as a branch; `None` if no one works at it, or if it is a detour.
    pub fn new(gate: Gate) -> Option<Self> {
        (matches!(gate.kind, GateKind::Work(_)) && !gate.detour).then_some(Self(gate))
    }

    /// Returns the branch's name.
    pub fn id(&self) -> &GateId {
        &self.0.id
    }

    /// Returns the branch as a gate: `complete` goes on, and its routes are verdicts.
    pub fn gate(&self) -> &Gate {
        &self.0
    }

    /// Returns the duty of the agent at the branch.
    pub fn duty(&self) -> &Duty {
        self.0.duty().expect("a branch is made of a gate at which somebody works")
    }

    /// Returns the effect of an outcome at the branch on the fork.
    pub fn verdict(&self, outcome: &Outcome) -> Verdict {
        match (self.0.exits.route(outcome).map(|route| &route.to), outcome) {
            (Some(Target::Next), _) | (None, Outcome::Complete) => Verdict::Pass,
            (None, Outcome::Skip) => Verdict::Skip,
            // A decision or a failure has no meaning without a route, so it has the effect of `blocked`.
            (Some(Target::Hold), _)
            | (None, Outcome::Blocked | Outcome::Failed | Outcome::Decision(_)) => Verdict::Hold,
            (Some(_), _) | (None, Outcome::NeedsReview) => Verdict::Reject,
        }
    }

    /// Returns whether an outcome that is possible at the branch is a rejection.
    pub fn rejects(&self) -> bool {
        let says_so = self.0.can_reject() && self.verdict(&Outcome::NeedsReview) == Verdict::Reject;
        says_so
            || self.0.exits.written().any(|(outcome, _)| self.verdict(outcome) == Verdict::Reject)
    }
}

impl Fork {
    /// Returns the branch of that name and its place in the list.
    pub fn branch(&self, id: &GateId) -> Option<(usize, &Branch)> {
        self.branches.iter().enumerate().find(|(_, branch)| branch.id() == id)
    }
}

/// A gate, or one branch of it: `review`, `review/security`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Station {
    pub gate: GateId,
    pub branch: Option<GateId>,
}

impl FromStr for Station {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        Ok(match text.split_once('/') {
            Some((gate, branch)) => Self { gate: gate.parse()?, branch: Some(branch.parse()?) },
            None => Self { gate: text.parse()?, branch: None },
        })
    }
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.branch {
            Some(branch) => f.pad(&format!("{}/{branch}", self.gate)),
            None => f.pad(self.gate.as_str()),
        }
    }
}

impl From<&GateId> for Station {
    fn from(gate: &GateId) -> Self {
        Self { gate: gate.clone(), branch: None }
    }
}

/// The brief for agents at a gate, and the brief for a task that comes back to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Brief {
    #[serde(flatten)]
    pub entry: BriefText,
    /// The brief after a rejection; absent parts are generated, not taken from `entry`.
    pub reentry: BriefText,
}

/// The parts of a brief; absent parts are generated.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct BriefText {
    /// The agent's role here, in plain words.
    pub role: Option<String>,
    pub expectations: Option<Vec<String>>,
    /// The meaning of each outcome here.
    pub outcomes: Vec<(Outcome, String)>,
    pub tips: Option<Vec<String>>,
    pub instructions: Option<String>,
}

/// The mark of the verdict, and the meaning of a missing mark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub mark: Mark,
    /// The outcome if the verdict is missing or cannot be read; absent means a rejection.
    pub missing: Option<Outcome>,
    /// Words of a text that stand for outcomes of other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(String, Outcome)>,
}

impl Signal {
    /// Returns the name of the outcome that the word stands for.
    pub fn outcome_named<'a>(&'a self, word: &'a str) -> &'a str {
        let named = self.words.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        named.map_or(word, |(_, outcome)| outcome.as_str())
    }
}

/// A mark in a text. The last one in a text counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Mark {
    /// `<tag>PASS</tag>`, `<tag>FAIL</tag>`, or `<tag>OUTCOME</tag>`.
    Tag {
        tag: String,
        /// The outcome for `PASS`; absent means the gate's decision of that name, otherwise `complete`.
        pass: Option<Outcome>,
        /// The outcome for `FAIL`; absent means the gate's decision of that name, otherwise `needs_review`.
        fail: Option<Outcome>,
    },
    /// `KEY: OUTCOME` on a line.
    Key(String),
    /// An exact line, which is in the text or not.
    Expects(String),
    /// `$status` in the frontmatter of the text.
    Status,
}

/// Names that a tag cannot have: their content is quoted, or is a promise that every agent makes.
pub const NO_TAGS: &[&str] = &["promise", "code", "pre", "blockquote"];

/// The ways out of a gate. An outcome without a route follows its defaults.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exits {
    /// By outcome, in the order in which they are written.
    pub routes: Vec<(Outcome, Route)>,
    /// The route of a failed agent; absent means that `failed` is not an outcome here.
    pub on_failure: Option<Route>,
    /// The gate that a rejection returns to, if the strategy is `named`.
    pub reject_to: Option<GateId>,
    /// The number of times that routes from here may send a task back to one gate. Absent means three if the gate has its own
    /// routes, otherwise only the loop guard.
    pub max_retries: Option<u32>,
    /// The consequence for a task that would be sent back once more.
    pub on_exhausted: Exhausted,
}

/// The destination of an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    pub to: Target,
    /// The opening of the next gate's brief; a template.
    pub prompt: Option<String>,
    /// Gates whose outputs this route removes from the context.
    pub clear: Vec<GateId>,
}

/// The end of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A gate.
    Gate(GateId),
    /// The next gate of the list that applies, or the end.
    Next,
    /// The first gate that applies.
    Origin,
    /// The gate of the line that was visited last.
    Previous,
    /// The same gate; the task is blocked there.
    Hold,
    /// The end: the task is complete.
    End,
    /// The end: the task is cancelled.
    Cancelled,
    /// The end: the task has failed.
    Fail,
}

words!(
    /// The state of a task that a route ends.
    EndsAs, "an end", {
        /// It reached its goal.
        Complete = "complete",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
);

/// The consequence for a task that was sent back too often.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Exhausted {
    /// It goes to its target, and waits there for a person.
    #[default]
    Block,
    /// It goes to its target, and that visit belongs to the role.
    Escalate(RoleId),
    /// It goes to this target instead.
    Route(Target),
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::Escalate(role) => write!(f, "escalate to {role}"),
            Self::Route(target) => write!(f, "{target}"),
        }
    }
}

impl Exits {
    /// The number of times that a gate with its own routes may send back if it sets no limit.
    pub(crate) const DEFAULT_RETRIES: u32 = 3;

    /// Returns the route of the outcome, if one is written.
    pub fn route(&self, outcome: &Outcome) -> Option<&Route> {
        match outcome {
            Outcome::Failed => self.on_failure.as_ref(),
            _ => self
                .routes
                .iter()
                .find(|(of, _)| of.is_meant_by(outcome.as_str()))
                .map(|(_, route)| route),
        }
    }

    /// Returns the decisions of the gate, in their order.
    pub fn decisions(&self) -> impl Iterator<Item = &Outcome> {
        self.routes
            .iter()
            .map(|(outcome, _)| outcome)
            .filter(|outcome| matches!(outcome, Outcome::Decision(_)))
    }

    /// Returns whether the gate decides: it has an outcome of its own, and `complete` then means nothing.
    pub fn decides(&self) -> bool {
        self.decisions().next().is_some()
    }

    /// Returns the number of times that routes from here may send a task back to one gate; `None` means that only the loop guard
    /// counts.
    pub fn retries(&self) -> Option<u32> {
        let has_routes = !self.routes.is_empty() || self.on_failure.is_some();
        self.max_retries.or(has_routes.then_some(Self::DEFAULT_RETRIES))
    }

    /// Returns every written route, with the outcome that takes it.
    pub fn written(&self) -> impl Iterator<Item = (&Outcome, &Route)> {
        let failure = self.on_failure.as_ref().map(|route| (&Outcome::Failed, route));
        self.routes.iter().map(|(outcome, route)| (outcome, route)).chain(failure)
    }
}

impl Route {
    /// Returns a route that only leads to the target.
    pub fn to(to: Target) -> Self {
        Self { to, prompt: None, clear: Vec::new() }
    }
}

impl FromStr for Target {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        Ok(match text {
            "$next" => Self::Next,
            "$origin" => Self::Origin,
            "$previous" => Self::Previous,
            "$hold" => Self::Hold,
            "$end" => Self::End,
            "$fail" => Self::Fail,
            _ if text.starts_with('$') => {
                return Err(IdFault {
                    kind: "a target",
                    text: text.to_owned(),
                    rule: "name a gate, or one of `$next`, `$origin`, `$previous`, `$hold`, `$end`, `$fail`",
                });
            }
            _ => Self::Gate(text.parse()?),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gate(gate) => gate.as_str(),
            Self::Next => "$next",
            Self::Origin => "$origin",
            Self::Previous => "$previous",
            Self::Hold => "$hold",
            Self::End => "$end",
            Self::Cancelled => "$end as cancelled",
            Self::Fail => "$fail",
        })
    }
}
