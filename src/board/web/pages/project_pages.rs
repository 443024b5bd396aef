//! Pages of a whole project: its activity, the issues that need attention, a workflow, and the result of verifying the history.

use maud::{Markup, html};

use super::layout::{LISTED, PageFrame, left_out, length, moment, names, prose, since};
use crate::board::model::activity::ActivityEntry;
use crate::domain::{GateId, Workflow, counted};
use crate::health::overview::{Overview, StatusEntry, StatusLists};
use crate::history::verify::history::Verification;

/// Returns the page of the latest activity.
pub(crate) fn activity(frame: &PageFrame, entries: &[ActivityEntry]) -> Markup {
    html! {
        h1 { "Activity" }
        div #activity data-live {
            @if entries.is_empty() { p.muted { "No task has left a gate yet." } }
            ol.timeline {
                @for entry in entries {
                    li {
                        p {
                            a dir="auto" href=(frame.links.task(&entry.task)) { (entry.title) }
                        }
                        p.facts {
                            (since(entry.at, frame.at)) " · " (entry.station) " " span.outcome { (entry.outcome) }
                            @if let Some(to) = &entry.to { " → " (to.trim_start_matches('$')) }
                            @if let Some(agent) = &entry.agent { " · " (agent) }
                            " · took " (length(entry.seconds))
                        }
                    }
                }
            }
        }
    }
}

/// Returns the page of the issues that need attention.
pub(crate) fn status(frame: &PageFrame, overview: &Overview<'_>, lists: &StatusLists) -> Markup {
    let attention = overview.attention.iter().filter(|issue| issue.code != "task_overdue");
    let attention: Vec<_> = attention.collect();
    html! {
        h1 { "Attention" }
        div #status data-live {
            p.facts {
                @for (state, count) in &overview.counts { span { (count) " " (state) } " · " }
                @if let Some(branch) = overview.branch { "on branch " code { (branch) } }
            }
            @if frame.you.is_some() { (entries(frame, ("Waiting for you", "for"), &lists.waiting_for_you, "aof decide")) }
            (entries(frame, ("Overdue", "· late for"), &lists.overdue, "aof list --overdue"))
            (entries(frame, ("Escalated", "for"), &lists.escalated, "aof status --json"))
            h2 { "To fix" }
            @if attention.is_empty() { p.muted { "Nothing." } }
            ul.issues { @for issue in attention.iter().take(LISTED) {
                li { p { (prose(&issue.problem)) } p.fix { (prose(&issue.fix.to_string())) } }
            } }
            (left_out(attention.len(), "aof status --json"))
        }
    }
}

fn entries(
    frame: &PageFrame,
    (title, how_long): (&str, &str),
    entries: &[StatusEntry],
    all: &str,
) -> Markup {
    html! {
        h2 { (title) }
        @if entries.is_empty() { p.muted { "Nothing." } }
        ul { @for entry in entries.iter().take(LISTED) {
            li {
                a dir="auto" href=(frame.links.task(&entry.ticket.task)) { (entry.title) }
                " " span.facts {
                    @if let Some(gate) = &entry.gate { "at " (gate) " " }
                    (how_long) " " (since(entry.since, frame.at))
                    @if let Some(reason) = &entry.reason { " · " (reason) }
                }
            }
        } }
        (left_out(entries.len(), all))
    }
}

/// Returns a workflow with the number of tasks at each gate.
pub(crate) fn workflow(
    workflow: &Workflow,
    graph: &Markup,
    counts: &dyn Fn(&GateId) -> usize,
) -> Markup {
    html! {
        h1 { (workflow.name) }
        section #graph data-live aria-label="Graph" { (graph) }
        div #gates.scroll data-live tabindex="0" role="group" aria-label="Gates" {
            table {
                caption { "Gates" }
                thead { tr { th scope="col" { "Gate" } th scope="col" { "Role" } th scope="col" { "Tasks" } } }
                tbody { @for gate in &workflow.gates {
                    tr { th scope="row" { (gate.id) } td { (names(gate.roles())) } td { (counts(&gate.id)) } }
                } }
            }
        }
    }
}

/// Returns the result of verifying the history.
pub(crate) fn verification(verified: &Verification) -> Markup {
    let open: Vec<_> = verified.open().collect();
    html! {
        h1 { "Verify" }
        p.notice.refusal[!open.is_empty()] {
            @if open.is_empty() { "The history holds: " } @else { (counted(open.len(), "finding")) " in " }
            (counted(verified.commits, "commit")) " with " (counted(verified.changes, "change")) " of tasks."
        }
        @if !verified.ends.is_empty() { p { "The history is shallow: older commits are not here." } }
        @if !open.is_empty() {
            div.scroll tabindex="0" role="group" aria-label="Findings" { table {
                thead { tr { @for head in ["Commit", "When", "By", "Task", "What"] { th scope="col" { (head) } } } }
                tbody { @for finding in open.iter().take(LISTED) {
                    tr {
                        td { code { (finding.commit.to_string().get(..10).unwrap_or_default()) } }
                        td { (moment(finding.authored)) }
                        td { (finding.author) }
                        td { @if let Some(task) = &finding.task { (task) } }
                        td { (finding.rule.sentence()) ": expected " (finding.expected) ", found " (finding.found) }
                    }
                } }
            } }
            (left_out(open.len(), "aof verify"))
        }
    }
}
