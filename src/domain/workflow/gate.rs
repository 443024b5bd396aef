//! A gate: one stage of a workflow, its duty, the routes out of it, and its branches if it is a fork.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::domain::words::words;
use crate::domain::{
    ForEach, GateId, GateRun, IdFault, Map, Outcome, Outputs, Period, RoleId, distinct,
};

/// One stage (spec 1, 1.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gate {
    pub id: GateId,
    pub description: Option<String>,
    /// When it applies: a JavaScript expression; absent means always. What a condition gate decides by.
    pub when: Option<String>,
    /// What a condition that fails to evaluate means.
    pub on_condition_error: OnConditionError,
    /// Whether it lies off the line: entered only by a route, and left to where the task came from.
    pub detour: bool,
    /// What must have ended before a task passes it.
    pub wait_for: Option<WaitFor>,
    /// What is checked before a task passes it.
    pub check: Vec<GateCheck>,
    /// Whether a task that passes it is delivered, for statistics.
    pub delivery: bool,
    /// The ways out of it.
    pub exits: Exits,
    /// A person's own facts about the gate.
    pub metadata: Map,
    pub kind: GateKind,
}

/// What happens at a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum GateKind {
    /// Somebody works.
    Work(Box<Duty>),
    /// Nobody does: `when` chooses between the decisions `true` and `false`.
    Condition,
    /// Several do, each at a branch; what they say joins to one `complete` or `needs_review`.
    Fork(Fork),
}

/// What is asked of whoever works at a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Duty {
    pub role: RoleId,
    /// Whether it may send a task back.
    pub can_reject: bool,
    /// Whether its agent may say that it does not apply.
    pub can_skip: bool,
    /// Whether only people may complete it.
    pub require_human: bool,
    /// How long a visit may take.
    pub timeout: Option<Period>,
    /// The role that a visit goes to when it takes longer.
    pub escalate_to: Option<RoleId>,
    /// How long a claim lasts when it is not renewed.
    pub lease: Option<Period>,
    /// The list of which each visit has one item.
    pub for_each: Option<ForEach>,
    /// Gates whose workers may not work here for the same task.
    pub separate_from: Vec<GateId>,
    /// What counts as the same worker.
    pub separate_by: Identity,
    pub outputs: Outputs,
    /// Where the verdict is read from when a completion names no outcome.
    pub signal: Option<Signal>,
    /// What the work may touch, as patterns of paths; told to the agent.
    pub files: Vec<String>,
    /// What agents are told; what is absent is generated.
    pub brief: Brief,
    /// What is said of the runs of its agents.
    pub run: GateRun,
}

impl Duty {
    /// Returns the plain duty of a role.
    pub fn of(role: RoleId) -> Self {
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
    /// Returns what is asked of whoever works here; nothing where nobody does.
    pub fn duty(&self) -> Option<&Duty> {
        match &self.kind {
            GateKind::Work(duty) => Some(duty),
            GateKind::Condition | GateKind::Fork(_) => None,
        }
    }

    /// Returns the list that it goes through.
    pub fn for_each(&self) -> Option<&ForEach> {
        self.duty()?.for_each.as_ref()
    }

    /// Returns the branches; nothing where it is no fork.
    pub fn fork(&self) -> Option<&Fork> {
        match &self.kind {
            GateKind::Fork(fork) => Some(fork),
            GateKind::Work(_) | GateKind::Condition => None,
        }
    }

    /// Returns every outcome that a completion may ever have here, `failed` and `skip` only where the gate says so.
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

    /// Returns whose work it is.
    pub fn role(&self) -> Option<&RoleId> {
        self.duty().map(|duty| &duty.role)
    }

    /// Returns whose work there is: the gate's, or its branches'.
    pub fn roles(&self) -> Vec<&RoleId> {
        let branches = self.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        let of_branches = branches.iter().map(|branch| &branch.duty().role);
        distinct(self.role().into_iter().chain(of_branches)).collect()
    }

    /// Returns whether it may send a task back by `needs_review`: it says so, has a route for it, or is a fork whose branches
    /// may.
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
    /// What happens at a gate, as files say it.
    GateType, "a type of gate", {
        /// Somebody works.
        Work = "work",
        /// `when` decides.
        Condition = "condition",
        /// Several work, each at a branch.
        Fork = "fork",
    }
);

words!(
    /// What may be checked before a task passes a gate.
    GateCheck, "a check", {
        /// The acceptance tests of the task pass.
        Tests = "tests",
        /// Each box of the task's text is ticked.
        Checklist = "checklist",
    }
);

words!(
    /// What must have ended before a task passes a gate.
    WaitFor, "what a gate may wait for", {
        /// The tasks whose `parent` is the task.
        Children = "children",
    }
);

words!(
    /// What counts as the same worker.
    Identity, "a way to tell workers apart", {
        /// The same agent id.
        Agent = "agent",
        /// The same `metadata.session` of the completions.
        Session = "session",
    }
);

words!(
    /// What a condition that fails to evaluate means (spec 1, 9.8).
    OnConditionError, "an answer to a failing condition", {
        /// The gate is passed over.
        Skip = "skip",
        /// The gate is entered: nothing slips past it.
        Enter = "enter",
    }
);

/// Branches and how they join.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fork {
    /// The branches, in the order in which they are written.
    pub branches: Vec<Branch>,
    /// How many of them must pass.
    #[serde(rename = "joinStrategy")]
    pub join: JoinStrategy,
}

/// One branch of a fork: a gate at which somebody works, which leads nowhere by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Branch(Gate);

words!(
    /// What an outcome at a branch means for its fork.
    Verdict, "a verdict", {
        /// The branch passes the task.
        Pass = "pass",
        /// The branch wants something mended.
        Reject = "reject",
        /// The branch cannot go on, and waits.
        Hold = "hold",
        /// The branch does not apply.
        Skip = "skip",
    }
);

words!(
    /// How many branches of a fork must pass.
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
    /// Returns the gate as a branch; nothing if nobody works at it, or if it is a detour.
    pub fn new(gate: Gate) -> Option<Self> {
        (matches!(gate.kind, GateKind::Work(_)) && !gate.detour).then_some(Self(gate))
    }

    /// Returns its name.
    pub fn id(&self) -> &GateId {
        &self.0.id
    }

    /// Returns what it would be as a gate: `complete` goes on, and its routes are verdicts.
    pub fn gate(&self) -> &Gate {
        &self.0
    }

    /// Returns what is asked of whoever works there.
    pub fn duty(&self) -> &Duty {
        self.0.duty().expect("a branch is made of a gate at which somebody works")
    }

    /// Returns what an outcome there means for the fork.
    pub fn verdict(&self, outcome: &Outcome) -> Verdict {
        match (self.0.exits.route(outcome).map(|route| &route.to), outcome) {
            (Some(Target::Next), _) | (None, Outcome::Complete) => Verdict::Pass,
            (None, Outcome::Skip) => Verdict::Skip,
            // A decision and a failure have no meaning without a route, so nothing but `blocked` is meant.
            (Some(Target::Hold), _)
            | (None, Outcome::Blocked | Outcome::Failed | Outcome::Decision(_)) => Verdict::Hold,
            (Some(_), _) | (None, Outcome::NeedsReview) => Verdict::Reject,
        }
    }

    /// Returns whether something that can be said there is a rejection.
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

/// What agents are told at a gate, and what they are told when the task comes back to it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Brief {
    #[serde(flatten)]
    pub entry: BriefText,
    /// After a rejection; absent parts are generated, not taken from `entry`.
    pub reentry: BriefText,
}

/// The parts of a brief; what is absent is generated.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct BriefText {
    /// Who the agent is here, in plain words.
    pub role: Option<String>,
    pub expectations: Option<Vec<String>>,
    /// What each outcome means here.
    pub outcomes: Vec<(Outcome, String)>,
    pub tips: Option<Vec<String>>,
    pub instructions: Option<String>,
}

/// What marks the verdict, and what the absence of a mark means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Signal {
    pub mark: Mark,
    /// The outcome that no verdict, or one that nobody can read, stands for; absent means a rejection.
    pub missing: Option<Outcome>,
    /// Words of a text that stand for outcomes of other names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(String, Outcome)>,
}

impl Signal {
    /// Returns the outcome's name that a word of a text stands for.
    pub fn meant<'a>(&'a self, word: &'a str) -> &'a str {
        let own = self.words.iter().find(|(own, _)| own.eq_ignore_ascii_case(word));
        own.map_or(word, |(_, outcome)| outcome.as_str())
    }
}

/// A mark in a text. The last one in a text counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Mark {
    /// `<tag>PASS</tag>`, `<tag>FAIL</tag>`, or `<tag>OUTCOME</tag>`.
    Tag {
        tag: String,
        /// What `PASS` stands for; absent means the gate's decision of that name, else `complete`.
        pass: Option<Outcome>,
        /// What `FAIL` stands for; absent means the gate's decision of that name, else `needs_review`.
        fail: Option<Outcome>,
    },
    /// `KEY: OUTCOME` on a line.
    Key(String),
    /// A line as it stands: it is there or it is not.
    Expects(String),
    /// `$status` in the frontmatter of the text.
    Status,
}

/// Names that no tag can have: what stands in such a tag is quoted, or a promise that everybody makes.
pub(crate) const NO_TAGS: &[&str] = &["promise", "code", "pre", "blockquote"];

/// The ways out of a gate. What no route says follows the defaults of its outcome.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exits {
    /// By outcome, in the order in which they are written.
    pub routes: Vec<(Outcome, Route)>,
    /// Where it leads when the agent fails; absent means that `failed` is no outcome here.
    pub on_failure: Option<Route>,
    /// Where it sends a task back to, where the strategy is `named`.
    pub reject_to: Option<GateId>,
    /// How often routes from here may send a task back to one gate; absent means three where the gate has routes of its own,
    /// else the loop guard alone.
    pub max_retries: Option<u32>,
    /// What happens to a task that would be sent back once more.
    pub on_exhausted: Exhausted,
}

/// Where an outcome leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    pub to: Target,
    /// What opens the next gate's brief; a template.
    pub prompt: Option<String>,
    /// Gates whose outputs the context forgets on this way.
    pub clear: Vec<GateId>,
}

/// The end of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// That gate.
    Gate(GateId),
    /// The next gate of the list that applies, or the end.
    Next,
    /// The first gate that applies.
    Origin,
    /// The gate of the line that was visited last.
    Previous,
    /// Where it stands, blocked.
    Hold,
    /// The end: the task is complete.
    End,
    /// The end: the task is called off.
    Cancelled,
    /// The end: the task has failed.
    Fail,
}

words!(
    /// What a task is when a route ends it.
    EndsAs, "an end", {
        /// It reached its goal.
        Complete = "complete",
        /// It was called off.
        Cancelled = "cancelled",
    }
);

/// What happens to a task that was sent back too often.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Exhausted {
    /// It goes where it was sent, and waits there for a person.
    #[default]
    Block,
    /// It goes where it was sent, and that visit belongs to the role.
    Escalate(RoleId),
    /// It goes there.
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
    /// How often a gate with routes of its own may send back when it does not say.
    pub const DEFAULT_RETRIES: u32 = 3;

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

    /// Returns whether the gate decides: it has an outcome of its own, and then `complete` means nothing.
    pub fn decides(&self) -> bool {
        self.decisions().next().is_some()
    }

    /// Returns how often routes from here may send a task back to one gate; absent means that the loop guard alone counts.
    pub fn retries(&self) -> Option<u32> {
        let own = !self.routes.is_empty() || self.on_failure.is_some();
        self.max_retries.or(own.then_some(Self::DEFAULT_RETRIES))
    }

    /// Returns every way that is written, with the outcome that takes it.
    pub fn written(&self) -> impl Iterator<Item = (&Outcome, &Route)> {
        let failure = self.on_failure.as_ref().map(|route| (&Outcome::Failed, route));
        self.routes.iter().map(|(outcome, route)| (outcome, route)).chain(failure)
    }
}

impl Route {
    /// Returns a route that does nothing but lead there.
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
