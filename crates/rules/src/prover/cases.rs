//! The kinds of tasks that the conditions of a workflow can tell apart, each with a task that represents it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::projection::Model;
use super::reach::targets;
use crate::condition::Condition;
use crate::condition::split::Fact;
use crate::condition::value::parse_number;
use crate::routing::conditions::ConditionScope;
use crate::routing::route::decision;
use crate::workflow::graph::{Edge, EdgeKind, edges, first};
use crate::workflow::rules::Rules;
use aof_domain::{
    Branch, Gate, GateId, GateKind, Map, OnConditionError, Priority, Routing, Station, Status,
    Target, Task, TaskPlan, Timestamp, Workflow, WorkflowName,
};

/// The most combinations of facts that are tried, to find the kinds of tasks.
const MOST_COMBINATIONS: usize = 4_096;
/// The id of each task.
pub const NEW_TASK: &str = "AOF-task";
/// The most kinds of tasks.
const MOST_CASES: usize = 64;

/// The place of a condition: a gate, a branch, or `None` for the end of rounds.
pub(crate) type ConditionPlace = Option<Station>;

/// The answers of conditions, as far as they are known before a task begins; `None` for one that fails.
pub(crate) type Answers = BTreeMap<ConditionPlace, Option<bool>>;

/// A kind of task: the answers of all conditions that depend on its data alone.
pub(crate) struct Case {
    /// A task of the kind, at no gate.
    pub(crate) task: Task,
    answers: Answers,
}

/// All kinds of tasks.
pub(crate) struct Cases {
    pub(crate) all: Vec<Case>,
    /// The conditions that depend on more than that: each may hold or not.
    pub(crate) open: Vec<ConditionPlace>,
    /// The conditions that never differ, with their answer; `None` if they always fail.
    pub(crate) constant: Vec<(ConditionPlace, Option<bool>)>,
    /// True if there are more kinds.
    pub(crate) cut: bool,
    /// False if conditions read too many facts to tell kinds apart.
    pub(crate) is_split: bool,
}

impl Cases {
    /// Returns the kinds of tasks that conditions and these facts tell apart; each begins with each of the lists.
    pub(crate) fn of(model: &Model<'_>, watched: &[Fact]) -> Self {
        let (workflow, lists) = (model.workflow, model.inputs());
        let conditions = conditions(model.rules, workflow);
        let mut facts = watched.to_vec();
        let mut closed = BTreeMap::new();
        let mut open = Vec::new();
        for (place, condition) in &conditions {
            match condition.facts() {
                Some(found) => {
                    facts.extend(found);
                    closed.insert(place.clone(), *condition);
                }
                None => open.push(place.clone()),
            }
        }
        let Some(tasks) = combinations(&facts, workflow) else {
            // Too many facts: no condition is split.
            let open = conditions.into_iter().map(|(place, _)| place).collect();
            let task = blank(&workflow.name);
            let with_list =
                |input: &Map| Case { task: begun(&task, input), answers: Answers::new() };
            let all = lists.iter().map(with_list).collect();
            let cut = !watched.is_empty();
            return Self { all, open, constant: Vec::new(), cut, is_split: false };
        };
        let mut kinds: BTreeMap<(Vec<Option<bool>>, Vec<String>), Task> = BTreeMap::new();
        for task in tasks {
            let scope = ConditionScope::new(&task, &[]);
            let answers = closed.values().map(|one| one.evaluate(&scope.names()).ok()).collect();
            drop(scope);
            let values = watched.iter().map(|fact| fact.value(&task)).collect();
            kinds.entry((answers, values)).or_insert(task);
        }
        let never_differs = |index: usize| {
            let mut answers = kinds.keys().map(|(answers, _)| answers[index]);
            let first = answers.next()?;
            answers.all(|other| other == first).then_some(first)
        };
        let constant = closed.keys().enumerate();
        let constant = constant
            .filter_map(|(index, place)| Some((place.clone(), never_differs(index)?)))
            .collect();
        let mut all = Vec::new();
        for ((answers, _), task) in kinds {
            for input in &lists {
                let answers = closed.keys().cloned().zip(answers.iter().copied()).collect();
                all.push(Case { task: begun(&task, input), answers });
            }
        }
        let cut = all.len() > MOST_CASES;
        all.truncate(MOST_CASES);
        Self { all, open, constant, cut, is_split: true }
    }

    /// Returns the answers that are possible together; none is known if there are too many kinds of tasks.
    pub(crate) fn answers(&self) -> BTreeSet<Answers> {
        if self.cut {
            return BTreeSet::from([Answers::new()]);
        }
        self.all.iter().map(|case| case.answers.clone()).collect()
    }
}

/// Returns whether the branch of the fork applies to tasks with these answers, if that is known.
pub(crate) fn branch_applies(answers: &Answers, fork: &GateId, branch: &Branch) -> Option<bool> {
    let gate = branch.gate();
    let station = Station { gate: fork.clone(), branch: Some(gate.id.clone()) };
    gate.when.is_none().then_some(true).or_else(|| applies(answers, station, gate))
}

fn applies(answers: &Answers, station: Station, gate: &Gate) -> Option<bool> {
    let answer = answers.get(&Some(station))?;
    Some(answer.unwrap_or(gate.on_condition_error == OnConditionError::Enter))
}

/// Returns the edges that tasks with these answers may take.
pub(crate) fn edges_for(workflow: &Workflow, answers: &Answers) -> Vec<Edge> {
    let named: Vec<Target> =
        (0..workflow.gates.len()).flat_map(|at| targets(workflow, at)).collect();
    // A route that names a gate leads there all the same, and a rejection at least to the first gate.
    let is_left_out = |gate: &Gate| {
        let is_first = gate.id == first(workflow).id;
        !gate.detour && !is_first && !named.contains(&Target::Gate(gate.id.clone()))
    };
    let is_possible = |edge: &Edge| {
        let Some((_, gate)) = workflow.gate(&edge.from) else { return true };
        let station = Station::from(&gate.id);
        if gate.kind == GateKind::Condition {
            let answer = answers.get(&Some(station)).copied().flatten();
            let is_taken = |holds| edge.outcomes.contains(&decision(holds));
            return edge.outcomes.is_empty() || answer.is_none_or(is_taken);
        }
        match applies(answers, station, gate) {
            Some(true) => edge.way != EdgeKind::Over,
            Some(false) => edge.way == EdgeKind::Over || !is_left_out(gate),
            None => true,
        }
    };
    edges(workflow).into_iter().filter(is_possible).collect()
}

/// Returns the conditions of the workflow.
fn conditions<'r>(rules: &'r Rules, workflow: &Workflow) -> Vec<(ConditionPlace, &'r Condition)> {
    let all = rules.conditions.when.iter().filter(|((name, _), _)| *name == workflow.name);
    let until = rules.conditions.until.get(&workflow.name).map(|until| (None, until));
    all.map(|((_, station), condition)| (Some(station.clone()), condition)).chain(until).collect()
}

fn begun(task: &Task, input: &Map) -> Task {
    let mut task = task.clone();
    task.context.insert("input".to_owned(), Value::Object(input.clone()));
    task
}

/// Returns a task for each combination of the facts; `None` if there are too many.
fn combinations(facts: &[Fact], workflow: &Workflow) -> Option<Vec<Task>> {
    let mut tags = BTreeSet::new();
    let mut values: BTreeMap<(bool, &str), Vec<Value>> = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Tag(tag) => drop(tags.insert(tag)),
            Fact::Metadata(key, with) => {
                values.entry((true, key)).or_default().extend(with.clone());
            }
            Fact::Plan(key, with) => values.entry((false, key)).or_default().extend(with.clone()),
            Fact::Way(_) => {}
        }
    }
    let mut tasks = vec![blank(&workflow.name)];
    for tag in tags {
        let with = tasks.clone().into_iter().map(|mut task| {
            task.tags.push(tag.clone());
            task
        });
        let with: Vec<Task> = with.collect();
        tasks.extend(with);
        if tasks.len() > MOST_COMBINATIONS {
            return None;
        }
    }
    for ((is_metadata, key), with) in values {
        let values = match (is_metadata, key) {
            (true, _) => neighbours(&with),
            (false, "priority") => Priority::ALL.iter().map(|word| json!(word.as_str())).collect(),
            (false, _) => neighbours(&with).into_iter().map(as_text).collect(),
        };
        if tasks.len() * (values.len() + 1) > MOST_COMBINATIONS {
            return None;
        }
        let give = |task: &Task, value: &Value| {
            let mut task = task.clone();
            match (is_metadata, key) {
                (true, _) => drop(task.metadata.insert(key.into(), value.clone())),
                (false, "priority") => task.plan.priority = value.as_str().map(str::to_owned),
                (false, _) => task.plan.milestone = value.as_str().map(str::to_owned),
            }
            task
        };
        // A value that is missing differs from null.
        let given = values.iter().flat_map(|value| tasks.iter().map(move |task| give(task, value)));
        let given: Vec<Task> = given.collect();
        tasks.extend(given);
    }
    Some(tasks)
}

fn as_text(value: Value) -> Value {
    if value.is_number() { json!(value.to_string()) } else { value }
}

/// Returns values that differ in every comparison with these literals: each of them, and those between and beside them. Numbers may also be
/// written as texts.
fn neighbours(with: &[Value]) -> Vec<Value> {
    let number = |value: &Value| match value {
        Value::String(text) => Some(parse_number(text)).filter(|number| number.is_finite()),
        other => other.as_f64(),
    };
    let mut values =
        vec![Value::Null, json!(""), json!("something else"), json!(true), json!(false)];
    if with.iter().all(|value| value.is_string() && number(value).is_none()) {
        // No number equals a word, and a missing value stands for all that are false.
        values = vec![json!("something else"), json!(true)];
    } else {
        let mut numbers: Vec<f64> = with.iter().filter_map(number).chain([0.0]).collect();
        numbers.sort_by(f64::total_cmp);
        let between = numbers.windows(2).map(|pair| f64::midpoint(pair[0], pair[1]));
        let beside = [numbers[0] - 1.0, numbers[numbers.len() - 1] + 1.0];
        values.extend(between.chain(beside).map(|number| json!(number)));
        values.extend(numbers.iter().flat_map(|number| [json!(number), json!(number.to_string())]));
    }
    values.extend(with.iter().cloned());
    let mut known = BTreeSet::new();
    values.retain(|value| known.insert(value.to_string()));
    values
}

/// Returns a task without data, at no gate.
fn blank(workflow: &WorkflowName) -> Task {
    let now = Timestamp::UNIX_EPOCH;
    Task {
        id: NEW_TASK.parse().expect("it is an id"),
        title: "A task".to_owned(),
        description: None,
        status: Status::Ready,
        created: now,
        updated: now,
        routing: Routing::of(workflow.clone()),
        gate: None,
        history: Vec::new(),
        review: None,
        blockers: Vec::new(),
        context: Map::new(),
        workflow_hash: None,
        tags: Vec::new(),
        metadata: Map::new(),
        plan: TaskPlan::default(),
        depends_on: Vec::new(),
        parent: None,
        created_by: None,
    }
}

impl Case {
    /// Returns whether the task is of this kind.
    #[cfg(test)]
    pub(crate) fn is_like(&self, rules: &Rules, workflow: &Workflow, task: &Task) -> bool {
        let scope = ConditionScope::new(task, &[]);
        conditions(rules, workflow).into_iter().all(|(place, condition)| {
            let answer = self.answers.get(&place);
            answer.is_none_or(|answer| *answer == condition.evaluate(&scope.names()).ok())
        })
    }
}

/// The answer of an open condition in one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum GivenAnswer {
    /// It fails, and says that it was asked.
    Asked,
    Failed,
    Yes,
    No,
}

/// Rules in which each condition has one answer, with the marks of those that were asked.
pub(crate) struct RulesVariant {
    pub(crate) rules: Rules,
    pub(crate) asked: Vec<Arc<AtomicBool>>,
}

impl RulesVariant {
    pub(crate) fn of(
        model: &Model<'_>,
        case: &Case,
        open: &[ConditionPlace],
        answers: &[GivenAnswer],
    ) -> Self {
        let mut rules = model.capped.clone();
        let name = &model.workflow.name;
        let asked: Vec<_> = open.iter().map(|_| Arc::new(AtomicBool::new(false))).collect();
        let given = open.iter().zip(answers).zip(&asked).map(|((place, answer), mark)| {
            let answer = match answer {
                GivenAnswer::Asked | GivenAnswer::Failed => None,
                GivenAnswer::Yes => Some(true),
                GivenAnswer::No => Some(false),
            };
            (place, answer, Some(mark.clone()))
        });
        let known = case.answers.iter().map(|(place, answer)| (place, *answer, None));
        for (place, answer, mark) in known.chain(given) {
            let condition = Condition::stand_in(answer, mark);
            match place {
                Some(place) => {
                    rules.conditions.when.insert((name.clone(), place.clone()), condition);
                }
                None => _ = rules.conditions.until.insert(name.clone(), condition),
            }
        }
        Self { rules, asked }
    }

    /// Returns whether a mark is set since the last time, and clears it.
    pub(crate) fn was_asked(&self, index: usize) -> bool {
        self.asked[index].swap(false, Ordering::Relaxed)
    }
}
