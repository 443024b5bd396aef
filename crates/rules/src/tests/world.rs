//! Workflows, people and tasks for the tests of the rules.

use crate::{Act, Decision, Refusal, Rules, WorkflowStep, decide};
use aof_domain::CompletionContent;
use aof_domain::*;

pub(crate) fn id<T: std::str::FromStr>(text: &str) -> T
where
    T::Err: std::fmt::Debug,
{
    text.parse().unwrap()
}

/// Returns the minute of the test day.
pub(crate) fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(1_771_236_000 + minute * 60).unwrap()
}

pub(crate) fn gate(name: &str, role: &str) -> Gate {
    Gate {
        id: id(name),
        description: None,
        when: None,
        on_condition_error: OnConditionError::Skip,
        detour: false,
        wait_for: None,
        check: Vec::new(),
        delivery: false,
        exits: Exits::default(),
        metadata: Map::new(),
        kind: GateKind::Work(Box::new(Duty::new(id(role)))),
    }
}

/// Returns the gate with its duty changed.
pub(crate) fn with(mut gate: Gate, change: impl FnOnce(&mut Duty)) -> Gate {
    if let GateKind::Work(duty) = &mut gate.kind {
        change(duty);
    }
    gate
}

/// Returns a gate that may send back.
pub(crate) fn reviewing(name: &str, role: &str) -> Gate {
    with(gate(name, role), |duty| duty.can_reject = true)
}

/// Returns the gate with its routes: `outcome target` pairs.
pub(crate) fn routed(mut gate: Gate, routes: &[(&str, &str)]) -> Gate {
    gate.exits.routes =
        routes.iter().map(|(outcome, to)| (id(outcome), Route::to(id(to)))).collect();
    gate
}

pub(crate) fn workflow(gates: Vec<Gate>) -> Workflow {
    Workflow {
        name: id("default"),
        description: None,
        version: None,
        visible_to: Vec::new(),
        timeout: None,
        lease: None,
        run: RunLimits::default(),
        budget: RunBudget::default(),
        context: ContextRules::default(),
        default_outcome: Outcome::Complete,
        rejection: RejectionStrategy::Origin,
        holds_rejections: false,
        repeat: None,
        gates,
    }
}

pub(crate) fn org() -> Org {
    let role = |agents: &[&str]| Role {
        agents: agents.iter().map(|a| id(a)).collect(),
        ..Role::default()
    };
    Org {
        roles: vec![
            (id("backend"), role(&["agent-7", "agent-8"])),
            (id("architect"), role(&["agent-3"])),
            (id("qa"), role(&["agent-5"])),
            (id("security"), role(&[])),
            (id("po"), Role { require_human: true, ..role(&["human-ada"]) }),
        ],
        ..Org::default()
    }
}

/// implement -> review (may reject) -> audit (tagged `security`, without agents) -> test (unless `skip-qa`) -> approve (people)
pub(crate) fn sdlc() -> Workflow {
    workflow(vec![
        gate("implement", "backend"),
        reviewing("review", "architect"),
        Gate { when: Some("tags.includes('security')".into()), ..reviewing("audit", "security") },
        Gate { when: Some("!tags.includes('skip-qa')".into()), ..reviewing("test", "qa") },
        gate("approve", "po"),
    ])
}

pub(crate) fn project(workflow: Workflow) -> Project {
    Project {
        name: None,
        owner: None,
        id_prefix: IdPrefix::default(),
        layout: TaskLayout::Flat,
        hand_out: HandOut::Ask,
        timezone: jiff::tz::TimeZone::UTC,
        commit_edits: true,
        git: Git::default(),
        squashes: SquashPolicy::Accept,
        run: RunLimits::default(),
        workspaces: WorkspaceSettings::default(),
        notify: Vec::new(),
        budgets: RunBudgets::default(),
        recurring: Vec::new(),
        promises: Vec::new(),
        default_workflow: workflow.name.clone(),
        workflows: vec![workflow],
        implicit_workflow: false,
    }
}

pub(crate) fn rules(workflow: Workflow) -> Rules {
    Rules::new(project(workflow), org()).unwrap().0
}

pub(crate) fn new_task(tags: &[&str]) -> Task {
    Task {
        id: id("AOF-abc"),
        title: "Add login".into(),
        description: None,
        status: Status::Ready,
        created: at(0),
        updated: at(0),
        routing: Routing::of(id("default")),
        gate: None,
        history: Vec::new(),
        review: None,
        blockers: Vec::new(),
        context: Map::new(),
        workflow_hash: None,
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        metadata: Map::new(),
        plan: TaskPlan::default(),
        depends_on: Vec::new(),
        parent: None,
        created_by: None,
    }
}

pub(crate) fn opened(rules: &Rules, tags: &[&str]) -> Task {
    step(rules, &new_task(tags), &Act::Open, 0).unwrap().task
}

pub(crate) fn step(
    rules: &Rules,
    task: &Task,
    act: &Act,
    minute: i64,
) -> Result<WorkflowStep, Refusal> {
    match decide(rules, task, act, at(minute))? {
        Decision::Step(step) => Ok(*step),
        Decision::Settled { visit } => panic!("settled before, as visit {visit}"),
    }
}

pub(crate) fn completion(agent: &str, outcome: &str) -> Completion {
    let reject = outcome == "needs_review" || outcome == "blocked";
    Completion {
        ticket: Ticket { task: id("AOF-abc"), visit: None, branch: None },
        gate: None,
        agent: id(agent),
        content: CompletionContent {
            outcome: Some(outcome.to_owned()),
            summary: Some("said something".into()),
            blockers: reject.then(|| vec!["coverage is 65%, need 80%".into()]),
            ..CompletionContent::default()
        },
        id: id("unset"),
        signature: None,
        facts: Box::default(),
    }
}

/// Completes the open visit with its own completion id.
pub(crate) fn say(
    rules: &Rules,
    task: &Task,
    agent: &str,
    outcome: &str,
) -> Result<WorkflowStep, Refusal> {
    let mut completion = completion(agent, outcome);
    completion.id = id(&format!("c{}", task.history.len()));
    let minute = 10 * (i64::try_from(task.history.len()).unwrap() + 1);
    step(rules, task, &Act::Complete(completion), minute)
}

pub(crate) fn stands(task: &Task) -> String {
    match &task.gate {
        Some(gate) => format!("{}@{} {}", gate.current, gate.visit, task.status),
        None => task.status.to_string(),
    }
}

/// Returns a branch of that role which may reject.
pub(crate) fn branch(name: &str, role: &str) -> Branch {
    Branch::new(reviewing(name, role)).unwrap()
}

/// Returns a fork of these branches.
pub(crate) fn fork(name: &str, join: JoinStrategy, branches: Vec<Branch>) -> Gate {
    Gate { kind: GateKind::Fork(Fork { branches, join }), ..gate(name, "backend") }
}

/// Completes a branch of the open fork.
pub(crate) fn say_at(
    rules: &Rules,
    task: &Task,
    branch: &str,
    agent: &str,
    outcome: &str,
) -> Result<WorkflowStep, Refusal> {
    let mut completion = completion(agent, outcome);
    completion.ticket = task.ticket_of(Some(&id(branch)));
    completion.id = id(&format!("c{}", task.history.len()));
    let minute = 10 * (i64::try_from(task.history.len()).unwrap() + 1);
    step(rules, task, &Act::Complete(completion), minute)
}
