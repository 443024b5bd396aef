//! A changed task: one line of what was done, one of what is next.

use crate::cli::{Session, cyan, green, yellow};
use crate::domain::{AgentId, Event, Status, Task};
use crate::files::printable::inert;
use crate::rules::Rules;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::changed_value;
use crate::tasks::view::task_view::who;

/// Shows what was done to a task and what is next.
pub(crate) fn show(session: &Session, rules: &Rules, changed: &Changed, done: &str, mode: DryRun) {
    let output = session.output;
    session.warn_all(&changed.warnings);
    if output.is_json() {
        return output.data(changed_value(rules, changed, mode));
    }
    let (remark, now) = match (mode, changed.settled) {
        (DryRun::Yes, _) => (" (dry run: nothing was written)", "it would be"),
        (DryRun::No, true) => (" (it was so already)", "now"),
        (DryRun::No, false) => ("", "now"),
    };
    output.line(format!("{}: {}{remark}", cyan(&changed.after.task.id), inert(done)));
    output.line(format!("  {now} {}", state(rules, changed)));
    if session.verbose {
        let commit = changed.commit.map(|commit| format!(", commit {:.10}", commit.to_string()));
        output.line(format!("  {}{}", changed.path, commit.unwrap_or_default()));
    }
}

/// Returns where the task is now and whose turn it is.
fn state(rules: &Rules, changed: &Changed) -> String {
    let task = &changed.after.task;
    let Some(open) = &task.gate else {
        return match task.status {
            Status::Complete => format!("{}; archived as {}", green("complete"), changed.path),
            end if end.is_finished() => format!("{end}; archived as {}", changed.path),
            _ => "adopted first: it was made by hand, and is at no gate yet".to_owned(),
        };
    };
    let mut state = format!("at {}, {}", cyan(&open.current), turn(rules, changed, task));
    let skipped = changed.events.iter().filter_map(|event| match event {
        Event::Skipped { gate } => Some(gate.as_str()),
        _ => None,
    });
    let skipped: Vec<&str> = skipped.collect();
    if !skipped.is_empty() {
        state.push_str(&format!(" (passed over: {})", skipped.join(", ")));
    }
    state
}

fn turn(rules: &Rules, changed: &Changed, task: &Task) -> String {
    let branches = task.gate.as_ref().map(|open| &open.branches[..]).unwrap_or_default();
    match task.status {
        Status::Blocked => format!("{}: {}", yellow("blocked"), inert(&task.blockers.join("; "))),
        status if !branches.is_empty() => {
            let open = branches.iter().filter(|branch| branch.status.is_open());
            let open = open.map(|branch| match &branch.agent {
                Some(agent) => format!("{} ({agent})", branch.id),
                None => format!("{} ({})", branch.id, branch.role),
            });
            let open = open.collect::<Vec<_>>().join(", ");
            format!("{} for {open}", status.as_str().replace('_', " "))
        }
        Status::InProgress => {
            let agent = task.routing.agent.as_ref().map(ToString::to_string).unwrap_or_default();
            format!("in progress with {agent}")
        }
        _ => {
            let names = who(rules, &changed.after);
            let names: Vec<&str> = names.iter().map(AgentId::as_str).collect();
            let anybody = task.routing.role.as_ref().is_some_and(|role| rules.is_open(role));
            match &names[..] {
                [] if anybody => "ready for anybody".to_owned(),
                [] => "ready for nobody".to_owned(),
                names => format!("ready for {}", names.join(" or ")),
            }
        }
    }
}
