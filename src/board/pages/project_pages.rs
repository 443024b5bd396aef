//! Pages of a whole project: its activity, the issues that need attention, a workflow, and the result of verifying the history.

use maud::{Markup, html};

use super::board_page::BoardQuery;
use super::is_about;
use super::layout::{
    LISTED, NavPage, PageContent, PageFrame, left_out, names, prose, query_string,
};
use super::parts::icon;
use crate::board::model::activity::{ActivityEntry, ActivityKind};
use crate::board::model::columns::BoardView;
use crate::board::model::drawing::{edge_label, edge_words};
use crate::domain::{AgentId, TaskId, Workflow, counted};
use crate::files::event::render::place_words;
use crate::health::overview::{Overview, StatusLists, StatusSection, problems};
use crate::history::verify::history::Verification;
use crate::rules::prover::Alarm;
use crate::rules::{Edge, Rules, edges};
use crate::tasks::view::phrases;

/// The choices of the activity, as its address has them: `only`, and the title of the chip.
const ONLY: [(&str, &str); 5] = [
    ("", "All"),
    ("people", "People"),
    ("agents", "Agents"),
    ("decisions", "Decisions"),
    ("comments", "Comments"),
];

/// Returns the page of the latest activity: below the heading of each day, the entries of each task. `known` are the agents of a choice,
/// `title` has the titles of tasks; entries beyond those listed are older.
pub(crate) fn activity(
    frame: &PageFrame,
    query: &BoardQuery,
    found: &[ActivityEntry],
    known: &[&AgentId],
    title: &dyn Fn(&TaskId) -> String,
) -> PageContent {
    let entries = &found[..found.len().min(LISTED)];
    let day = |entry: &ActivityEntry| phrases::day(entry.at, frame.at, &frame.zone);
    let address = |only: &str, skip: usize| {
        let skip = if skip == 0 { String::new() } else { skip.to_string() };
        let pairs = query_string(&[("only", only), ("skip", &skip)]);
        format!("{}?{pairs}", frame.links.page(NavPage::Activity))
    };
    let only = query.only.as_deref().unwrap_or_default();
    let current = |word: &str| (word == only).then_some("true");
    let of_one = known.iter().find(|agent| agent.as_str() == only);
    let head = html! {
        h1 { "Activity" }
        @if frame.you.is_some() {
            nav.chips #chips aria-label="Filter" data-live {
                @for (word, title) in ONLY { a.chip href=(address(word, 0)) aria-current=[current(word)] { (title) } }
                button.chip type="button" popovertarget="menu-who" aria-current=[of_one.map(|_| "true")] {
                    @match of_one { Some(agent) => (frame.name(agent)), None => "Who" } (icon("down"))
                }
            }
        }
    };
    let body = html! {
        @if frame.you.is_some() {
            menu.menu #menu-who popover aria-label="Who" { @for agent in known {
                li { a href=(address(agent.as_str(), 0)) aria-current=[current(agent.as_str())] { (frame.name(agent)) } }
            } }
        }
        div.days #activity data-live {
            @if entries.is_empty() {
                section.blank {
                    h2 { @if only.is_empty() { "Nothing has happened yet" } @else { "Nothing of that kind has happened" } }
                    @if only.is_empty() { a.button href=(frame.links.board()) { "Board" } } @else { a.button href=(address("", 0)) { "Clear" } }
                }
            }
            @for entries in entries.chunk_by(|a, b| day(a) == day(b)) {
                section.day {
                    h2 { (day(&entries[0])) }
                    @for (task, entries) in by_task(entries) {
                        article.about {
                            h3 { a dir="auto" href=(frame.links.task(task)) { (title(task)) } code title=(task) { (task.local()) } }
                            div.log.flat { ol { @for run in entries.chunk_by(|a, b| is_run(a, b)) {
                                @if let [entry] = run { (entry_line(frame, entry)) } @else { (run_line(frame, run)) }
                            } } }
                        }
                    }
                }
            }
            @if entries.len() < found.len() && frame.you.is_some() {
                p.older { a.button href=(address(only, query.skip + entries.len())) { "Older" } }
            }
        }
    };
    PageContent { head, body }
}

/// Returns true if two entries are of one program, so that one line holds both.
fn is_run(a: &ActivityEntry, b: &ActivityEntry) -> bool {
    a.agent == b.agent && a.agent.as_ref().is_some_and(|agent| !agent.is_human())
}

/// Returns the entries of a day for each task, in the order of their last ones.
fn by_task(entries: &[ActivityEntry]) -> Vec<(&TaskId, Vec<&ActivityEntry>)> {
    let mut tasks: Vec<(&TaskId, Vec<&ActivityEntry>)> = Vec::new();
    for entry in entries {
        match tasks.iter_mut().find(|(task, _)| **task == entry.task) {
            Some((_, of_task)) => of_task.push(entry),
            None => tasks.push((&entry.task, vec![entry])),
        }
    }
    tasks
}

fn entry_line(frame: &PageFrame, entry: &ActivityEntry) -> Markup {
    let (sign, name) = frame.doer(entry.agent.as_ref(), &entry.author);
    html! { li { (sign) p { b { (name) } " " (what(entry)) } (frame.clock(entry.at)) } }
}

/// Returns an act, and the first line of its text.
fn what(entry: &ActivityEntry) -> Markup {
    let text = entry.text.lines().next().unwrap_or_default();
    html! { (entry.words) @if !text.is_empty() { span.muted { ": " (text) } } }
}

/// Returns several entries of one agent as one line that unfolds.
fn run_line(frame: &PageFrame, run: &[&ActivityEntry]) -> Markup {
    let (sign, name) = frame.doer(run[0].agent.as_ref(), &run[0].author);
    html! {
        li {
            (sign)
            details.run {
                summary { (icon("down")) span { b { (name) } " " (run.len()) " steps, the last " (run[0].words) } }
                ol { @for entry in run {
                    li { (icon(if entry.kind == ActivityKind::Comment { "say" } else { "check" })) p { (what(entry)) } (frame.clock(entry.at)) }
                } }
            }
            (frame.clock(run[0].at))
        }
    }
}

/// Returns the page of the issues that need attention.
pub(crate) fn status(
    frame: &PageFrame,
    rules: Option<&Rules>,
    overview: &Overview<'_>,
    lists: &StatusLists,
) -> PageContent {
    let attention: Vec<_> = problems(overview).collect();
    let body = html! {
        div.plain #status data-live {
            p.facts {
                (phrases::counts(&overview.counts))
                @if let Some(branch) = overview.branch { ", on branch " code { (branch) } }
            }
            @for section in lists.sections() { (status_section(frame, rules, &section)) }
            h2 { "Problems" }
            @if attention.is_empty() { p.muted { "None." } }
            ul.issues { @for issue in attention.iter().take(LISTED) {
                li { p { (prose(&issue.problem)) } p.fix { (prose(&issue.fix.to_string())) } }
            } }
            (left_out(attention.len(), "aof status --json"))
        }
    };
    PageContent::titled("Status", body)
}

fn status_section(frame: &PageFrame, rules: Option<&Rules>, section: &StatusSection<'_>) -> Markup {
    let StatusSection { title, entries, command } = section;
    html! {
        h2 { (title) }
        ul { @for entry in entries.iter().take(LISTED) {
            @let due = rules.and_then(|rules| entry.due_words(rules, frame.at));
            li {
                a dir="auto" href=(frame.links.task(&entry.ticket.task)) { (entry.title) }
                " " span.facts {
                    (rules.map(|rules| entry.place(rules)).unwrap_or_default()) ", "
                    @match due { Some(due) => (due), None => (frame.ago(entry.since)) }
                }
            }
        } }
        (left_out(entries.len(), command))
    }
}

/// Returns a workflow: its drawing, and a table of its gates.
pub(crate) fn workflow(
    frame: &PageFrame,
    board: &BoardView,
    (rules, workflow): (&Rules, &Workflow),
    (graph, alarms): (&Markup, &[Alarm]),
) -> PageContent {
    let head = html! {
        h1 { "Workflow" }
        @if rules.project.workflows.len() > 1 {
            nav.tabs aria-label="Workflows" { @for one in &rules.project.workflows {
                a href=(frame.links.workflow(&one.name)) aria-current=[(one.name == workflow.name).then_some("page")] { (one.name) }
            } }
        } @else { span.muted { (workflow.name) } }
    };
    let ways = edges(workflow);
    let body = html! {
        @if !alarms.is_empty() {
            section #proof data-live aria-label="Proof" { @for alarm in alarms {
                div.notice.refusal[alarm.is_certain] {
                    p { @if !alarm.is_certain { "It may be: " } (with_code(&alarm.message)) }
                    @if !alarm.story.is_empty() { ol { @for act in &alarm.story { li { (with_code(&act.text)) } } } }
                    p.fix { "To fix it, " (with_code(&alarm.fix)) "." }
                }
            } }
        }
        div.flow {
            section #graph data-live aria-label="Drawing" { (graph) }
            div #gates.scroll data-live tabindex="0" role="group" aria-label="Gates" {
                table.gates {
                    thead { tr { th scope="col" { "Gate" } th scope="col" { "Who" } th.number scope="col" { "Tasks" } th scope="col" { "Leads to" } } }
                    tbody { @for gate in &workflow.gates {
                        @let cards: Vec<_> = board.cards().filter(|card| card.workflow == workflow.name && card.gate.as_ref() == Some(&gate.id)).collect();
                        tr {
                            th scope="row" { (gate.id) @if alarms.iter().any(|alarm| is_about(alarm, gate)) { small.late { "fault" } } }
                            td { @if gate.roles().is_empty() { "by itself" } @else { (names(gate.roles())) } }
                            td.number {
                                @if !gate.roles().is_empty() { (cards.len()) }
                                @if let Some(oldest) = cards.iter().map(|card| card.since).min() { small { "oldest " (frame.short_age(oldest)) } }
                            }
                            td { @for edge in ways.iter().filter(|edge| edge.from == gate.id) {
                                p { (way(workflow, edge)) }
                            } }
                        }
                    } }
                }
            }
        }
    };
    PageContent { head, body }
}

/// Returns a text whose parts between backticks are code.
fn with_code(text: &str) -> Markup {
    html! { @for (index, part) in text.split('`').enumerate() { @if index % 2 == 0 { (part) } @else { code { (part) } } } }
}

/// Returns a route in words: where it leads, and for which outcome, unless it is the usual one.
fn way(workflow: &Workflow, edge: &Edge) -> Markup {
    let label = edge_words(&edge_label(workflow, edge));
    html! { (place_words(&edge.to)) @if !label.is_empty() { span.muted { ", " (label) } } }
}

/// Returns the result of verifying the history.
pub(crate) fn verification(frame: &PageFrame, verified: &Verification) -> PageContent {
    let open: Vec<_> = verified.open().collect();
    let body = html! {
        p.notice.refusal[!open.is_empty()] {
            @if open.is_empty() { "The history holds: " } @else { (counted(open.len(), "finding")) " in " }
            (counted(verified.commits, "commit")) " with " (counted(verified.changes, "change")) " of tasks."
        }
        @if !verified.ends.is_empty() { p { "The history is shallow: older commits are not here." } }
        @if !open.is_empty() {
            div.scroll.plain tabindex="0" role="group" aria-label="Findings" { table {
                thead { tr { @for head in ["Commit", "When", "By", "Task", "What"] { th scope="col" { (head) } } } }
                tbody { @for finding in open.iter().take(LISTED) {
                    tr {
                        td { code { (finding.commit.to_string().get(..10).unwrap_or_default()) } }
                        td { (frame.ago(finding.authored)) }
                        td { (finding.author) }
                        td { @if let Some(task) = &finding.task { (task) } }
                        td { (finding.rule.sentence()) ": expected " (finding.expected) ", found " (finding.found) }
                    }
                } }
            } }
            (left_out(open.len(), "aof verify"))
        }
    };
    PageContent::titled("Verify", body)
}
