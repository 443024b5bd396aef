//! `budget` of a workflow and of a project: the amounts that agents' programs may spend.

use super::decode::{Faults, FieldReader};
use crate::yaml::Node;
use aof_domain::{RunBudget, RunBudgets};

/// Returns the amounts of one budget.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> RunBudget {
    let Some(fields) = FieldReader::of(node, "a budget", faults) else {
        return RunBudget::default();
    };
    let before = faults.len();
    let budget = RunBudget {
        cost: fields.parsed("cost"),
        tokens: fields.parsed("tokens"),
        time: fields.parsed("time"),
    };
    fields.refuse_unknown_but(|key| {
        ["task", "day"].contains(&key).then(|| {
            format!("`{key}` is said in project.yaml, as in `budget: {{{key}: {{cost: 20}}}}`")
        })
    });
    if budget.is_empty() && faults.len() == before {
        let help = "write `{cost: 20, tokens: 5M, time: 4h}`, or some of these";
        faults.invalid(node, "this budget limits nothing", help);
    }
    budget
}

/// Returns the budgets of a project.
pub(crate) fn read_budgets(node: &Node<'_>, faults: &Faults) -> RunBudgets {
    let fields = FieldReader::of(node, "`budget` of a project", faults);
    let Some(fields) = fields else { return RunBudgets::default() };
    let budgets = RunBudgets {
        task: fields.with("task", read).unwrap_or_default(),
        day: fields.with("day", read).unwrap_or_default(),
    };
    fields.refuse_unknown_but(|key| {
        ["cost", "tokens", "time"]
            .contains(&key)
            .then(|| format!("say of what: `budget: {{task: {{{key}: ...}}}}`, or `day`"))
    });
    budgets
}
