//! What `aof status` says of tasks: those that stand still, and those that wait for what will not come.

use crate::domain::issue::{Attention, some};
use crate::domain::{LostDependency, Status};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::rules::{Rules, is_nobody};
use crate::storage::tasks::walk::TaskEntry;
use crate::tasks::headers::dependencies::{Dependencies, round, waiting_in_circles};
use crate::tasks::headers::header::Header;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::listing::is_misplaced;
use crate::tasks::headers::owed::is_owed;

/// Returns why a task stands still.
pub(crate) fn of_task(rules: &Rules, header: &Header) -> Option<Attention> {
    let id = &header.id;
    if header.status == Status::Blocked.as_str() {
        return Some(Attention {
            code: "task_blocked",
            problem: match &header.blockers[..] {
                [] => format!("{id} is blocked, and nobody said why"),
                blockers => format!("{id} is blocked: {}", blockers.join("; ")),
            },
            fix: way_out(header),
        });
    }
    if header.is_overdue() {
        return Some(Attention {
            code: "task_overdue",
            problem: format!("{id} has taken too long, and nobody steps in for that"),
            fix: format!(
                "see `aof why {id}`; `aof task assign {id} AGENT` gives it to somebody else"
            ),
        });
    }
    (header.gate.is_some() && !is_known(rules, &header.workflow)).then(|| Attention {
        code: "task_stranded",
        problem: format!(
            "{id} follows workflow `{}`, which the rules do not have any more",
            header.workflow
        ),
        fix: format!("bring it back in a commit; or `aof task cancel {id} --reason \"...\"`"),
    })
}

/// Returns which tasks wait for each other, or for tasks that are not there.
pub(crate) fn of_dependencies(
    workspace: &Workspace,
    in_force: &InForce,
    listing: &Listing,
) -> Vec<Attention> {
    let circle = |circle: &Vec<String>| Attention {
        code: "dependency_circle",
        problem: format!(
            "these wait for each other, so none of them is handed out: {}",
            round(circle)
        ),
        fix: format!(
            "see `aof why {}`; then take one out of a `dependsOn`: `aof task edit ID --undepends ID`",
            circle[0]
        ),
    };
    let dependencies = Dependencies::of(workspace, in_force, listing);
    let missing = |header: &Header, missing: &str| Attention {
        code: "dependency_missing",
        problem: format!("{} waits for {missing}, and there is no such task", header.id),
        fix: format!(
            "bring its file back, or go on without it: `aof task edit {} --undepends {missing}`",
            header.id
        ),
    };
    let mut all: Vec<Attention> = waiting_in_circles(listing).iter().map(circle).collect();
    for (header, _) in &listing.tasks {
        all.extend(dependencies.missing_for(header).into_iter().map(|id| missing(header, id)));
    }
    all
}

/// Tasks that stand where the rules have changed, and do not follow them yet.
pub(crate) fn behind(rules: &Rules, listing: &Listing) -> Option<Attention> {
    let owed = listing.tasks.iter().filter(|(header, _)| is_owed(rules, header));
    let ids: Vec<&str> = owed.map(|(header, _)| header.id.as_str()).collect();
    let what = if ids.len() == 1 {
        "task stands where the rules have"
    } else {
        "tasks stand where the rules have"
    };
    (!ids.is_empty()).then(|| Attention {
        code: "rules_not_followed",
        problem: format!("{} {what} changed: {}", ids.len(), some(&ids)),
        fix: "`aof watch` has them follow; `aof org reload` does it now".to_owned(),
    })
}

/// Tasks whose file stands where a merge or a person left it, and does not belong there; no list has those that were `moved` since HEAD.
pub(crate) fn misplaced(listing: &Listing, moved: &[TaskEntry]) -> Option<Attention> {
    let misplaced = listing.tasks.iter().filter(|(header, path)| is_misplaced(header, path));
    let mut ids: Vec<&str> = misplaced.map(|(header, _)| header.id.as_str()).collect();
    ids.extend(moved.iter().map(|task| task.id.as_str()));
    let what = if ids.len() == 1 { "task has its file" } else { "tasks have their files" };
    (!ids.is_empty()).then(|| Attention {
        code: "task_misplaced",
        problem: format!("{} {what} where its status does not belong: {}", ids.len(), some(&ids)),
        fix: "`aof watch` moves it to where it belongs; `aof doctor --fix` does it now".to_owned(),
    })
}

/// Returns how a blocked task is set going.
fn way_out(header: &Header) -> String {
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

fn is_known(rules: &Rules, workflow: &str) -> bool {
    rules.project.workflows.iter().any(|known| known.name.as_str() == workflow)
}
