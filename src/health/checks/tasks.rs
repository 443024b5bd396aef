//! Tasks that stand still, that wait for what will not come, or that do not follow the rules yet.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::domain::project::some;
use crate::domain::{LostDependency, Status, TaskId};
use crate::health::subject::{Found, Project, Subject};
use crate::project::issue::Issue;
use crate::rules::{Rules, is_nobody};
use crate::tasks::automatic::rule_changes::follow_rules;
use crate::tasks::headers::dependencies::{Dependencies, round, waiting_in_circles};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::plan::choice::DryRun;

/// How long each batch waits for the lock.
const WAIT: Duration = Duration::from_secs(10);

/// Tasks that stand still. That work is blocked or late is nothing that is wrong with the project.
pub(crate) fn standing_still(subject: &Subject<'_>) -> Found {
    let Some(Project { in_force, listing, .. }) = subject.project() else { return Ok(Vec::new()) };
    let mut issues = Vec::new();
    for (header, _) in &listing.tasks {
        issues.extend(of_task(&in_force.rules, header));
    }
    issues.retain(|issue| {
        !subject.is_doctor() || !matches!(issue.code, "task_blocked" | "task_overdue")
    });
    Ok(issues)
}

/// Returns why a task stands still.
fn of_task(rules: &Rules, header: &TaskSummary) -> Option<Issue> {
    let id = &header.id;
    if header.status == Status::Blocked {
        return Some(Issue::new(
            "task_blocked",
            match &header.blockers[..] {
                [] => format!("{id} is blocked, and nobody said why"),
                blockers => format!("{id} is blocked: {}", blockers.join("; ")),
            },
            way_out(header),
        ));
    }
    if header.is_overdue() {
        return Some(Issue::new(
            "task_overdue",
            format!("{id} has taken too long, and nobody steps in for that"),
            format!("see `aof why {id}`; `aof task assign {id} AGENT` gives it to somebody else"),
        ));
    }
    (header.gate.is_some() && rules.workflow_of(header).is_none()).then(|| {
        Issue::new(
            "task_stranded",
            format!(
                "{id} follows workflow `{}`, which the rules do not have any more",
                header.routing.workflow
            ),
            format!("bring it back in a commit; or `aof task cancel {id} --reason \"...\"`"),
        )
    })
}

/// Tasks that wait for each other, or for tasks that are not there.
pub(crate) fn dependencies(subject: &Subject<'_>) -> Found {
    let Some(Project { in_force, listing, .. }) = subject.project() else { return Ok(Vec::new()) };
    let circle = |circle: &Vec<String>| {
        Issue::new(
            "dependency_circle",
            format!("these wait for each other, so none of them is handed out: {}", round(circle)),
            format!(
                "see `aof why {}`; then take one out of a `dependsOn`: `aof task edit ID --undepends ID`",
                circle[0]
            ),
        )
    };
    let dependencies = Dependencies::of(subject.workspace, in_force, listing);
    let missing = |header: &TaskSummary, missing: &TaskId| {
        Issue::new(
            "dependency_missing",
            format!("{} waits for {missing}, and there is no such task", header.id),
            format!(
                "bring its file back, or go on without it: `aof task edit {} --undepends {missing}`",
                header.id
            ),
        )
    };
    let mut all: Vec<Issue> = waiting_in_circles(listing).iter().map(circle).collect();
    for (header, _) in &listing.tasks {
        all.extend(dependencies.missing_for(header).into_iter().map(|id| missing(header, id)));
    }
    Ok(all)
}

/// Tasks that stand where the rules have changed, and do not follow them yet.
pub(crate) fn behind_rules(subject: &Subject<'_>) -> Found {
    let Some(Project { in_force, listing, .. }) = subject.project() else { return Ok(Vec::new()) };
    let owed = listing.tasks.iter().filter(|(task, _)| task.is_owed(&in_force.rules));
    let ids: Vec<&str> = owed.map(|(header, _)| header.id.as_str()).collect();
    let what = match ids.len() {
        0 => return Ok(Vec::new()),
        1 => "task stands where the rules have",
        _ => "tasks stand where the rules have",
    };
    let issue = Issue::new(
        "rules_not_followed",
        format!("{} {what} changed: {}", ids.len(), some(&ids)),
        "`aof watch` has them follow; `aof org reload` does it now, and so does `aof doctor --fix`",
    );
    Ok(vec![issue.cured_by(|workspace| {
        let go_on = &mut |_: Duration| ControlFlow::Continue(());
        let settled = follow_rules(workspace, WAIT, DryRun::No, go_on)?;
        settled.troubled.into_iter().next().map_or(Ok(()), |(_, error)| Err(error))
    })])
}

/// Returns how a blocked task is set going.
fn way_out(header: &TaskSummary) -> String {
    let id = &header.id;
    let lost =
        header.blockers.iter().filter_map(|blocker| LostDependency::read(blocker)).next_back();
    match lost.as_ref().map(LostDependency::task) {
        Some(lost) => format!(
            "take {lost} up again: `aof task reopen {lost} --to GATE --reason \"...\"`; \
             or go on without it: `aof task edit {id} --undepends {lost}`"
        ),
        None if !header.blockers.is_empty()
            && header.blockers.iter().all(|text| is_nobody(text)) =>
        {
            "put somebody into the role in org.yaml, and commit that: it goes on by itself"
                .to_owned()
        }
        None => format!("see `aof why {id}`; then `aof task unblock {id} --reason \"...\"`"),
    }
}
