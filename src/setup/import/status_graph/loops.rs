//! Limits of loops: few rounds where work is rejected, and no limit where a loop makes progress.

use std::collections::BTreeSet;

use super::conditions::VISITS;
use crate::domain::listed;
use crate::setup::import::record::ImportReport;
use crate::setup::import::workflow_draft::{RouteDraft, WorkflowDraft};

/// Limits loops, which have no limit in the source. A loop gets a limit if a status that leads back rejects the work, unless progress
/// leads to the same gate: the gate counts both alike.
pub(crate) fn limit_loops(draft: &mut WorkflowDraft, report: &ImportReport<'_>) {
    let (mut seen, mut rejecting) = (BTreeSet::new(), Vec::new());
    let (mut progress, mut endless) = (BTreeSet::new(), Vec::new());
    for (index, gate) in draft.gates.iter().enumerate() {
        seen.insert(gate.id.clone());
        let is_back = |route: &&RouteDraft| seen.contains(&route.to);
        let (back, forward): (Vec<_>, Vec<_>) =
            gate.routes.iter().partition(|(_, route)| is_back(&route));
        let is_judged = forward.into_iter().any(|(word, _)| is_approval(word));
        let mut targets: BTreeSet<_> = back.iter().map(|(_, route)| route.to.clone()).collect();
        // A role that leads back to itself judges no one's work.
        let mut words = back.iter().map(|(word, to)| (word, is_judged && to.to != gate.id));
        let fails_to = gate.on_failure.as_ref().filter(is_back).map(|route| route.to.clone());
        let is_counted = |when: &String| when.split(" || ").all(|part| part.contains(VISITS));
        let rejects = fails_to.is_some()
            || gate.when.as_ref().is_some_and(|condition| !is_counted(condition));
        targets.extend(fails_to);
        match targets.is_empty() {
            true => {}
            false if rejects || words.any(|(word, is_judged)| is_rejection(word, is_judged)) => {
                rejecting.push((index, targets));
            }
            false => {
                progress.extend(targets);
                endless.push(index);
            }
        }
    }
    let (shared, limited): (Vec<_>, Vec<_>) =
        rejecting.into_iter().partition(|(_, targets)| !targets.is_disjoint(&progress));
    if !limited.is_empty() {
        report.added("maxRetries", "loops have no limit there; here a gate sends back 3 times unless `maxRetries` says more");
    }
    for (index, _) in limited {
        let gate = &mut draft.gates[index];
        let leads_to_itself = gate.targets().any(|target| target == gate.id);
        gate.max_retries = leads_to_itself.then_some(SELF_LOOP_RETRIES);
    }
    endless.extend(shared.into_iter().map(|(index, _)| index));
    if !endless.is_empty() {
        let names = listed(endless.iter().map(|index| &draft.gates[*index].id));
        let note = format!("{ENDLESS} at {names}: in loops that make progress, nothing is counted");
        report.added("maxRetries", note);
    }
    for index in endless {
        draft.gates[index].max_retries = Some(ENDLESS);
    }
}

/// Returns true if a status sends work back because it is not good enough: by its name, or because the gate also approves and the
/// name is not about progress.
fn is_rejection(status: &str, is_judged: bool) -> bool {
    const PARTS: [&str; 13] = [
        "reject", "fail", "fix", "retry", "redo", "revis", "change", "invalid", "wrong", "error",
        "not_", "rework", "needs_",
    ];
    const PROGRESS: [&str; 8] =
        ["next", "more", "continu", "go_on", "another", "again", "remain", "progress"];
    let status = status.to_ascii_lowercase().replace('-', "_");
    let has = |parts: &[&str]| parts.iter().any(|part| status.contains(part));
    has(&PARTS) || is_judged && !has(&PROGRESS)
}

/// Returns true if the name of a status means that work is good enough.
fn is_approval(status: &str) -> bool {
    const STARTS: [&str; 12] = [
        "ok", "approv", "accept", "pass", "lgtm", "done", "complete", "good", "valid", "clean",
        "success", "ready",
    ];
    let status = status.to_ascii_lowercase().replace('-', "_");
    status.split('_').any(|word| STARTS.iter().any(|start| word.starts_with(start)))
}

/// The number of times that a gate may lead back to itself: such a loop needs a limit of its own.
const SELF_LOOP_RETRIES: u64 = 3;
/// The limit of a loop in which nothing is rejected.
const ENDLESS: u64 = 100_000;
