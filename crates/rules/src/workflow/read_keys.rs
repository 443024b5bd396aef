//! The people's keys of a task that its rules read: those in conditions and checks of its workflow.

use std::collections::BTreeSet;

use crate::condition::Condition;
use crate::workflow::rules::Rules;
use aof_domain::{GateCheck, Task, TaskId, WaitFor};

/// The keys that the rules of one task read. `dependsOn` is always one: handing out depends on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadKeys {
    /// The names in conditions, each with its member; `None` for the whole value.
    names: BTreeSet<(String, Option<String>)>,
    /// True if a gate waits for children, here or in another workflow.
    parent: bool,
    /// True if a gate checks `tests`.
    pub tests: bool,
    /// True if a gate checks the boxes of the text.
    pub checklist: bool,
}

impl ReadKeys {
    /// Returns the keys that the workflow of the task reads.
    pub fn of(rules: &Rules, task: &Task) -> Self {
        let name = &task.routing.workflow;
        let conditions = &rules.conditions;
        let when = conditions.when.iter().filter(|((workflow, _), _)| workflow == name);
        let all = when.map(|(_, condition)| condition).chain(conditions.until.get(name));
        let gates = || rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
        let own_gates = || rules.workflow_of(task).into_iter().flat_map(|known| &known.gates);
        let checks = |check| own_gates().any(|gate| gate.check.contains(&check));
        Self {
            names: all.flat_map(Condition::reads).collect(),
            parent: gates().any(|gate| gate.wait_for == Some(WaitFor::Children)),
            tests: checks(GateCheck::Tests),
            checklist: checks(GateCheck::Checklist),
        }
    }

    /// Returns the read keys that differ between two versions of the task. `tests` and the text are not among them: rules do not
    /// see them.
    pub fn changed(&self, before: &Task, after: &Task) -> Vec<String> {
        let ids = |task: &Task| task.depends_on.iter().cloned().collect::<BTreeSet<TaskId>>();
        let mut keys = BTreeSet::new();
        if ids(before) != ids(after) {
            keys.insert("dependsOn".to_owned());
        }
        if self.parent && before.parent != after.parent {
            keys.insert("parent".to_owned());
        }
        let planned = |task: &Task, name: &str| task.plan_values().find(|(key, _)| *key == name);
        for (name, member) in &self.names {
            let differs = match (name.as_str(), member) {
                ("tags", _) => before.tags != after.tags,
                ("metadata", Some(key)) => before.metadata.get(key) != after.metadata.get(key),
                ("metadata", None) => before.metadata != after.metadata,
                (key, _) => planned(before, key) != planned(after, key),
            };
            if differs {
                let member = member.as_ref().filter(|_| name == "metadata");
                keys.insert(member.map_or(name.clone(), |key| format!("{name}.{key}")));
            }
        }
        keys.into_iter().collect()
    }
}
