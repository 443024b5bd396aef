//! Columns and cards of a project at one moment.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::decisions::DecisionCard;
use crate::domain::{
    AgentId, BranchStatus, ChecklistCount, Due, Gate, GateId, OpenBranch, Priority, RoleId, Status,
    TaskId, Ticket, Timestamp, Workflow, WorkflowName,
};
use crate::files::printable::one_line;
use crate::rules::Rules;
use crate::storage::FileStat;
use crate::tasks::headers::filter::{FilterKey, FilterState, Filterable};
use crate::tasks::headers::listing::{Listing, Unreadable};
use crate::tasks::headers::mentions::Mention;
use crate::tasks::headers::summary::{ChildProgress, TaskSummary};
use crate::tasks::headers::waiting::WaitingDecision;
use crate::tasks::view::phrases::{self, ShortIds, Turn};

/// A project as boards show it, at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BoardView {
    /// The project's name.
    pub project: Option<String>,
    /// The time that ages count to.
    pub at: Timestamp,
    /// The reader, if known.
    pub you: Option<AgentId>,
    /// The workflows that have tasks, or may have some; in the order of the rules.
    pub lanes: Vec<BoardLane>,
    /// The visits about which the reader may decide now, the most urgent first.
    pub waiting_for_you: Vec<Ticket>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<UnreadableFile>,
    /// The programs that pause at their usage limits, one sentence for each.
    pub paused: Vec<String>,
    /// The comments that mention the reader, and that the reader has not seen.
    #[serde(skip)]
    pub mentions: Vec<Mention>,
    /// The decisions that wait for the reader, with their words.
    #[serde(skip)]
    pub decisions: Vec<DecisionCard>,
    /// The people whose names are not clear without `human-`.
    #[serde(skip)]
    pub full_names: Vec<AgentId>,
    /// The project's time zone.
    #[serde(skip)]
    pub zone: Option<TimeZone>,
}

/// The phrases of a card, for people.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CardWords {
    pub turn: Turn,
    /// The due date, as in `today`; empty if there is none.
    pub due: String,
    /// The shortest beginning by which the task is named, without the prefix of the project.
    pub beginning: String,
    pub parent: Option<TaskId>,
}

/// The columns of one workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BoardLane {
    pub workflow: WorkflowName,
    pub columns: Vec<BoardColumn>,
}

/// The tasks at one place of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BoardColumn {
    pub place: Place,
    /// The roles that the work belongs to: the gate's role, or those of its branches.
    pub roles: Vec<RoleId>,
    /// The branches if the gate is a fork.
    pub branches: Vec<GateId>,
    /// True if only people may complete the gate.
    pub human: bool,
    /// The number of tasks that the agents of the roles can hold in total; `None` if there is no limit.
    pub capacity: Option<u32>,
    /// The most urgent first; in the last column, the last changed first.
    pub cards: Vec<Card>,
}

/// The place of a column in a workflow.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Files that people created and no one has taken up.
    New,
    Gate(GateId),
    /// Tasks at a gate that the rules no longer have.
    Stranded,
    /// Recently finished tasks.
    Finished,
}

impl Place {
    /// Returns the name of the place for people.
    pub(crate) fn title(&self) -> &str {
        match self {
            Self::New => "new",
            Self::Gate(gate) => gate.as_str(),
            Self::Stranded => "gate is gone",
            Self::Finished => "done",
        }
    }

    /// Returns the name of the place: a gate's id, or a word that is never a gate's id.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::New => "(new)",
            Self::Gate(gate) => gate.as_str(),
            Self::Stranded => "(stranded)",
            Self::Finished => "(finished)",
        }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("name", self.name())?;
        map.serialize_entry("gate", &if let Self::Gate(gate) = self { Some(gate) } else { None })?;
        map.end()
    }
}

/// A task on a board.
#[allow(clippy::struct_excessive_bools, reason = "each is a mark on the card")]
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Card {
    pub id: TaskId,
    pub ticket: Ticket,
    pub title: String,
    pub workflow: WorkflowName,
    pub gate: Option<GateId>,
    /// The task's state, as the word that lists show.
    pub state: &'static str,
    pub held: bool,
    pub priority: Priority,
    pub roles: Vec<RoleId>,
    pub agents: Vec<AgentId>,
    /// The time since which the task is at its gate, or finished.
    pub since: Timestamp,
    pub due: Option<Due>,
    pub overdue: bool,
    /// The role that the task was escalated to.
    pub escalated: Option<RoleId>,
    pub waiting_for: Vec<TaskId>,
    pub blockers: Vec<String>,
    /// The number of times that the task was sent back.
    pub rejections: usize,
    pub checklist: Option<DoneCount>,
    pub children: Option<DoneCount>,
    pub branches: Vec<BranchCard>,
    pub milestone: Option<String>,
    pub assignee: Vec<String>,
    pub tags: Vec<String>,
    /// The names by which filters find its agents.
    #[serde(skip)]
    pub agent_names: Vec<String>,
    /// The names by which filters find its assignees.
    #[serde(skip)]
    pub assignee_names: Vec<String>,
    /// True if the reader holds the task, it is planned for them, or they may take it.
    pub mine: bool,
    /// True if the reader may decide about the task now.
    pub waits_for_you: bool,
    #[serde(skip)]
    pub words: CardWords,
    /// The state of the task's file: a change to the file may show elsewhere than on the card.
    #[serde(skip)]
    pub file: FileStat,
}

/// A count of the items that are done, and of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct DoneCount {
    pub done: usize,
    pub total: usize,
}

impl DoneCount {
    fn of_boxes(boxes: ChecklistCount) -> Option<Self> {
        let number = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let total = number(boxes.total());
        (total > 0).then(|| Self { done: number(boxes.done), total })
    }

    fn of_children(children: ChildProgress) -> Option<Self> {
        let ChildProgress { complete: done, total, .. } = children;
        (total > 0).then_some(Self { done, total })
    }
}

/// An open branch of a fork.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct BranchCard {
    pub id: GateId,
    pub role: RoleId,
    pub agent: Option<AgentId>,
    pub status: BranchStatus,
}

/// A file that cannot be read as a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct UnreadableFile {
    pub place: String,
    pub reason: String,
}

/// The data that a board is made from.
pub(crate) struct BoardSource<'a> {
    pub rules: &'a Rules,
    /// The active tasks, the recently finished ones, and those that they wait for.
    pub listing: &'a Listing,
    pub waiting: &'a [WaitingDecision],
    pub you: Option<&'a AgentId>,
    pub now: Timestamp,
}

impl BoardView {
    /// Returns the board of a project.
    pub(crate) fn new(source: &BoardSource<'_>) -> Self {
        let BoardSource { rules, listing, waiting, you, now } = source;
        let waits: HashSet<&TaskId> = waiting.iter().map(|wait| &wait.ticket.task).collect();
        let children = children_of(listing);
        let mut lanes: Vec<BoardLane> =
            rules.project.workflows.iter().map(|flow| lane(rules, flow)).collect();
        let mut order: Vec<&TaskSummary> = listing.tasks.iter().map(|(task, _)| &**task).collect();
        order.sort_by_key(|task| (task.urgency(*now), &task.id));
        let ids = ShortIds::new(listing.tasks.iter().map(|(task, _)| &task.id));
        for task in order {
            let is_awaited = waits.contains(&task.id);
            let words = words(source, task, is_awaited, &ids);
            let card = card(source, task, &children, (is_awaited, words));
            let lane = lane_for(&mut lanes, &task.routing.workflow);
            column_for(lane, &place_of(rules, task)).cards.push(card);
        }
        for lane in &mut lanes {
            for column in lane.columns.iter_mut().filter(|one| one.place == Place::Finished) {
                column.cards.sort_by(|a, b| b.since.cmp(&a.since).then_with(|| a.id.cmp(&b.id)));
            }
        }
        // A project has many workflows that it never uses: a lane without cards is shown only if it is where new tasks go.
        let is_default = |lane: &BoardLane| lane.workflow == rules.project.default_workflow;
        lanes.retain(|lane| {
            is_default(lane) || lane.columns.iter().any(|column| !column.cards.is_empty())
        });
        Self {
            project: rules.project.name.clone(),
            at: *now,
            you: you.cloned(),
            lanes,
            waiting_for_you: waiting.iter().map(|wait| wait.ticket.clone()).collect(),
            unreadable: listing.unreadable.iter().map(UnreadableFile::of).collect(),
            paused: Vec::new(),
            mentions: Vec::new(),
            decisions: waiting.iter().map(|wait| DecisionCard::of(rules, listing, wait)).collect(),
            full_names: full_names(rules),
            zone: Some(rules.project.timezone.clone()),
        }
    }

    /// Returns the lanes in the order of tabs: the one with most for the reader first, equal ones by the rules.
    pub(crate) fn tabs(&self) -> Vec<&BoardLane> {
        let mut lanes: Vec<&BoardLane> = self.lanes.iter().collect();
        lanes.sort_by_cached_key(|lane| std::cmp::Reverse(lane.for_you()));
        lanes
    }

    /// Returns all cards, lane by lane.
    pub(crate) fn cards(&self) -> impl Iterator<Item = &Card> {
        self.lanes.iter().flat_map(|lane| &lane.columns).flat_map(|column| &column.cards)
    }

    /// Returns the name of an agent for people, as in `phrases::name`.
    pub(crate) fn name<'a>(&self, agent: &'a AgentId) -> &'a str {
        name_among(agent, &self.full_names)
    }

    /// Returns the name of the author of a comment, as the comment has it.
    pub(crate) fn author(&self, by: &str) -> String {
        by.parse().map_or_else(|_| one_line(by), |by| self.name(&by).to_owned())
    }

    /// Returns the number of decisions and mentions that wait for the reader.
    pub(crate) fn waiting_count(&self) -> usize {
        self.waiting_for_you.len() + self.mentions.len()
    }

    /// Takes out the mention of a task, which the reader sees now, and returns its time.
    pub(crate) fn see(&mut self, task: &TaskId) -> Option<Timestamp> {
        let at = self.mentions.iter().position(|mention| mention.task == *task)?;
        Some(self.mentions.remove(at).at)
    }

    /// Returns the card of a task.
    pub(crate) fn card(&self, id: &TaskId) -> Option<&Card> {
        self.cards().find(|card| card.id == *id)
    }
}

/// Returns the name of an agent: without `human-`, unless that name is not clear.
pub(crate) fn name_among<'a>(agent: &'a AgentId, full_names: &[AgentId]) -> &'a str {
    let whole = agent.as_str();
    whole.strip_prefix("human-").filter(|_| !full_names.contains(agent)).unwrap_or(whole)
}

impl BoardLane {
    /// Returns the number of cards that wait for the reader.
    pub(crate) fn for_you(&self) -> usize {
        let cards = self.columns.iter().flat_map(|column| &column.cards);
        cards.filter(|card| card.waits_for_you).count()
    }
}

impl UnreadableFile {
    fn of(file: &Unreadable) -> Self {
        Self { place: file.place(), reason: file.reason.clone() }
    }
}

/// Returns the columns of a workflow, without cards. A gate without roles has no column: no task stays there.
fn lane(rules: &Rules, workflow: &Workflow) -> BoardLane {
    let gates = workflow.gates.iter().filter(|gate| !gate.roles().is_empty());
    let mut columns: Vec<BoardColumn> = gates.map(|gate| gate_column(rules, gate)).collect();
    columns.push(BoardColumn::at(Place::Finished));
    BoardLane { workflow: workflow.name.clone(), columns }
}

fn gate_column(rules: &Rules, gate: &Gate) -> BoardColumn {
    let roles: Vec<RoleId> = gate.roles().into_iter().cloned().collect();
    let of_role = |role: &RoleId| rules.org.role(role).is_some_and(|known| known.require_human);
    let is_human = gate.duty().is_some_and(|duty| duty.require_human) || roles.iter().all(of_role);
    let fork = gate.fork();
    let branches = fork.into_iter().flat_map(|fork| &fork.branches);
    BoardColumn {
        place: Place::Gate(gate.id.clone()),
        branches: branches.map(|branch| branch.id().clone()).collect(),
        human: is_human,
        capacity: capacity(rules, &roles),
        roles,
        cards: Vec::new(),
    }
}

/// Returns the number of tasks that the agents of these roles can hold together.
fn capacity(rules: &Rules, roles: &[RoleId]) -> Option<u32> {
    let roles = roles.iter().filter_map(|role| rules.org.role(role));
    let agents: HashSet<&AgentId> = roles.flat_map(|role| &role.agents).collect();
    let room = |agent: &&AgentId| rules.org.agent(agent).and_then(|known| known.max_tasks);
    let total: Option<u32> = agents.iter().map(room).sum();
    total.filter(|total| *total > 0)
}

impl BoardColumn {
    fn at(place: Place) -> Self {
        let (roles, branches, cards) = (Vec::new(), Vec::new(), Vec::new());
        Self { place, roles, branches, human: false, capacity: None, cards }
    }
}

/// Returns the place where a task is shown.
pub(super) fn place_of(rules: &Rules, task: &TaskSummary) -> Place {
    match task.current_gate() {
        _ if task.is_new => Place::New,
        _ if task.is_finished() => Place::Finished,
        Some(gate) if rules.workflow_of(task).is_some_and(|flow| flow.gate(gate).is_some()) => {
            Place::Gate(gate.clone())
        }
        _ => Place::Stranded,
    }
}

/// Returns the lane of a workflow. A workflow that the rules no longer have comes last.
fn lane_for<'l>(lanes: &'l mut Vec<BoardLane>, workflow: &WorkflowName) -> &'l mut BoardLane {
    let at = lanes.iter().position(|lane| lane.workflow == *workflow).unwrap_or_else(|| {
        let columns = vec![BoardColumn::at(Place::Finished)];
        lanes.push(BoardLane { workflow: workflow.clone(), columns });
        lanes.len() - 1
    });
    &mut lanes[at]
}

/// Returns the column of a place. New tasks come before the gates, stranded ones after them.
fn column_for<'l>(lane: &'l mut BoardLane, place: &Place) -> &'l mut BoardColumn {
    let at = lane.columns.iter().position(|column| column.place == *place).unwrap_or_else(|| {
        let at = match place {
            Place::New => 0,
            Place::Gate(_) | Place::Stranded | Place::Finished => {
                lane.columns.len().saturating_sub(1)
            }
        };
        lane.columns.insert(at, BoardColumn::at(place.clone()));
        at
    });
    &mut lane.columns[at]
}

/// Returns the progress of each task's children, as far as they are listed.
fn children_of(listing: &Listing) -> HashMap<&TaskId, ChildProgress> {
    let mut children: HashMap<&TaskId, ChildProgress> = HashMap::new();
    for (task, _) in &listing.tasks {
        if let Some(parent) = &task.parent {
            children.entry(parent).or_default().count(task);
        }
    }
    children
}

fn words(
    source: &BoardSource<'_>,
    task: &TaskSummary,
    is_awaited: bool,
    ids: &ShortIds,
) -> CardWords {
    let BoardSource { rules, you, now, .. } = source;
    let due = task.plan.due.map(|due| phrases::due(due, *now, &rules.project.timezone));
    CardWords {
        turn: phrases::turn(task, rules, source.now, *you, is_awaited, ids),
        due: due.unwrap_or_default(),
        beginning: ids.short(&task.id).to_owned(),
        parent: task.parent.clone(),
    }
}

/// Returns the people who are shown with `human-`: something else has their short name.
fn full_names(rules: &Rules) -> Vec<AgentId> {
    let known = rules.org.all_agents().into_iter();
    let people = known.filter(|agent| agent.is_human());
    people.filter(|agent| phrases::name(rules, agent) == agent.as_str()).cloned().collect()
}

fn card(
    source: &BoardSource<'_>,
    task: &TaskSummary,
    children: &HashMap<&TaskId, ChildProgress>,
    (waits_for_you, words): (bool, CardWords),
) -> Card {
    let open = task.task.gate.as_ref();
    let branches = &task.open_branches;
    let boxes = DoneCount::of_boxes(task.checklist);
    Card {
        id: task.id.clone(),
        ticket: task.ticket(),
        title: task.title.clone(),
        workflow: task.routing.workflow.clone(),
        gate: task.current_gate().cloned(),
        state: task.shown_state(),
        held: task.is_held(),
        priority: task.priority(),
        roles: task.roles().cloned().collect(),
        agents: task.agents().cloned().collect(),
        since: open.map_or(task.updated, |open| open.entered),
        due: task.plan.due,
        overdue: task.is_overdue(source.now),
        escalated: task.escalated().cloned(),
        waiting_for: task.awaited.tasks.clone(),
        blockers: task.blockers.iter().map(ToString::to_string).collect(),
        rejections: task.visits.iter().filter(|visit| visit.rejected).count(),
        checklist: boxes,
        children: children.get(&task.id).copied().and_then(DoneCount::of_children),
        branches: branches.iter().map(BranchCard::of).collect(),
        milestone: task.plan.milestone.clone(),
        assignee: task.plan.assignee.clone(),
        agent_names: task.agent_names(source.rules).map(str::to_owned).collect(),
        assignee_names: task.assignee_names(source.rules).map(str::to_owned).collect(),
        tags: task.tags.clone(),
        mine: source.you.is_some_and(|you| task.is_mine(source.rules, you)),
        waits_for_you,
        words,
        file: task.file,
    }
}

impl Filterable for Card {
    fn texts(&self) -> Vec<&str> {
        let tags = self.tags.iter().map(String::as_str);
        [self.id.as_str(), &self.title].into_iter().chain(tags).collect()
    }

    fn values(&self, key: FilterKey) -> Vec<&str> {
        match key {
            FilterKey::Role => self.roles.iter().map(RoleId::as_str).collect(),
            FilterKey::Agent => self.agent_names.iter().map(String::as_str).collect(),
            FilterKey::Assignee => self.assignee_names.iter().map(String::as_str).collect(),
            FilterKey::Tag => self.tags.iter().map(String::as_str).collect(),
            FilterKey::Workflow => vec![self.workflow.as_str()],
            FilterKey::Milestone => self.milestone.as_deref().into_iter().collect(),
            FilterKey::Gate => {
                let branches = self.branches.iter().map(|branch| &branch.id);
                self.gate.iter().chain(branches).map(GateId::as_str).collect()
            }
            FilterKey::Status => vec![self.state],
            FilterKey::Priority => vec![self.priority.as_str()],
        }
    }

    fn is(&self, state: FilterState) -> bool {
        match state {
            FilterState::Mine => self.mine,
            FilterState::Overdue => self.overdue,
            FilterState::Ready => self.state == Status::Ready.as_str(),
            FilterState::Blocked => self.state == Status::Blocked.as_str(),
            FilterState::Waiting => self.waits_for_you,
            FilterState::Escalated => self.escalated.is_some(),
            FilterState::Held => self.held,
        }
    }
}

impl BranchCard {
    fn of(branch: &OpenBranch) -> Self {
        Self {
            id: branch.id.clone(),
            role: branch.role.clone(),
            agent: branch.agent.clone(),
            status: branch.status,
        }
    }
}
