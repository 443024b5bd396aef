//! The history of a task: visits and comments below the headings of their days.

use maud::{Markup, html};

use crate::board::model::activity::ActivityEntry;
use crate::board::model::page::{TaskDetails, TimelineEntry};
use crate::board::pages::layout::PageFrame;
use crate::board::pages::markdown::markdown;
use crate::board::pages::parts::{icon, initials, sign};
use crate::domain::{AgentId, Timestamp};
use crate::files::task_file::BodyComment;
use crate::tasks::view::phrases;

/// Returns what happened to a task, the newest first, below the heading of each day.
pub(super) fn history(frame: &PageFrame, page: &TaskDetails) -> Markup {
    let sheet = &page.sheet;
    let visits = page.timeline.iter().map(|entry| (entry.exited, visit(frame, entry)));
    let log = sheet.log.iter().rev().map(|one| (one.at, act(frame, one)));
    let comments = sheet.comments.iter().map(|one| (one.at, comment(frame, one)));
    let created = html! {
        @match &sheet.created_by {
            Some(agent) => { (frame.avatar(agent)) div { p { b { (frame.name(agent)) } " created it" } } },
            None => { (icon("plus")) div { p { "Created" } } },
        }
    };
    let mut entries: Vec<(Timestamp, Markup)> = log.chain(visits).chain(comments).collect();
    entries.sort_by_key(|(at, _)| *at);
    entries.reverse();
    entries.push((sheet.created, created));
    let day = |at: &Timestamp| phrases::day(*at, frame.at, &frame.zone);
    html! {
        @for day_entries in entries.chunk_by(|(a, _), (b, _)| day(a) == day(b)) {
            h3 { (day(&day_entries[0].0)) }
            ol { @for (at, entry) in day_entries { li { (entry) (frame.clock(*at)) } } }
        }
    }
}

fn visit(frame: &PageFrame, entry: &TimelineEntry) -> Markup {
    let to = entry.to.as_deref().map(|to| if to == "end" { "done" } else { to });
    let who = entry.agent.as_ref().map(|agent| frame.name(agent)).unwrap_or_default();
    html! {
        @match (is_sent_back(entry), to) {
            (true, _) => (sign("back", "bad", "sent back")),
            (false, Some(_)) => (sign("check", "ok", "passed")),
            (false, None) => (icon("stop")),
        }
        div {
            p {
                b { (who) } " "
                @match (is_sent_back(entry), to) {
                    (true, Some(to)) => { "sent it back from " (entry.station) " to " (to) },
                    (false, Some(to)) => { (entry.station) " → " (to) },
                    (_, None) => { (entry.outcome.replace('_', " ")) " at " (entry.station) },
                }
                " " span.muted { (phrases::lasting(entry.seconds)) }
            }
            @if !entry.summary.is_empty() && entry.blockers.first() != Some(&entry.summary) { p.summary { (entry.summary) } }
            @if !entry.blockers.is_empty() { ul { @for text in &entry.blockers { li { (text) } } } }
            @if let Some(notes) = &entry.notes { p.summary { (notes) } }
        }
    }
}

fn comment(frame: &PageFrame, comment: &BodyComment) -> Markup {
    let agent = comment.by.parse::<AgentId>().ok();
    html! {
        @match &agent {
            Some(agent) => (frame.avatar(agent)),
            None => span.who role="img" aria-label=(comment.by) { (initials(&comment.by)) },
        }
        div { p { b { (agent.as_ref().map_or(&*comment.by, |agent| frame.name(agent))) } } div.say.text { (markdown(&comment.text)) } }
    }
}

fn act(frame: &PageFrame, entry: &ActivityEntry) -> Markup {
    let (sign, name) = doer(frame, entry);
    html! { (sign) div { p { b { (name) } " " (entry.words) } @if !entry.text.is_empty() { p.summary { (entry.text) } } } }
}

/// Returns the sign and the name of who did something.
pub(in crate::board::pages) fn doer<'e>(
    frame: &PageFrame,
    entry: &'e ActivityEntry,
) -> (Markup, &'e str) {
    match &entry.agent {
        Some(agent) => (frame.avatar(agent), frame.name(agent)),
        None => {
            let name = &*entry.author;
            (
                html! { span.who role="img" aria-label=(name) title=(name) { (initials(name)) } },
                name,
            )
        }
    }
}

/// Returns true if a visit sent the task back.
pub(super) fn is_sent_back(entry: &TimelineEntry) -> bool {
    !entry.blockers.is_empty() && entry.outcome != "blocked" || entry.outcome == "needs_review"
}
