//! The history of a task: visits and comments below the headings of their days.

use maud::{Markup, html};

use crate::board::model::activity::ActivityEntry;
use crate::board::model::page::{TaskDetails, TimelineEntry};
use crate::board::pages::layout::PageFrame;
use crate::board::pages::markdown::markdown;
use crate::board::pages::parts::{icon, sign};
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
    let who = entry.agent.as_ref().map(|agent| frame.name(agent)).unwrap_or_default();
    html! {
        @match (is_sent_back(entry), &entry.to) {
            (true, _) => (sign("back", "bad", "sent back")),
            (false, Some(_)) => (sign("check", "ok", "passed")),
            (false, None) => (icon("stop")),
        }
        div {
            p { b { (who) } " " (entry.words()) " " span.muted { (phrases::lasting(entry.seconds)) } }
            @if !entry.summary.is_empty() && entry.blockers.first() != Some(&entry.summary) { p.summary { (entry.summary) } }
            @if !entry.blockers.is_empty() { ul { @for text in &entry.blockers { li { (text) } } } }
            @if let Some(notes) = &entry.notes { p.summary { (notes) } }
        }
    }
}

fn comment(frame: &PageFrame, comment: &BodyComment) -> Markup {
    let agent = comment.by.parse::<AgentId>().ok();
    let (sign, name) = frame.doer(agent.as_ref(), &comment.by);
    html! { (sign) div { p { b { (name) } } div.say.text { (markdown(&comment.text)) } } }
}

fn act(frame: &PageFrame, entry: &ActivityEntry) -> Markup {
    let (sign, name) = frame.doer(entry.agent.as_ref(), &entry.author);
    html! { (sign) div { p { b { (name) } " " (entry.words) } @if !entry.text.is_empty() { p.summary { (entry.text) } } } }
}

/// Returns true if a visit sent the task back.
pub(super) fn is_sent_back(entry: &TimelineEntry) -> bool {
    !entry.blockers.is_empty() && entry.outcome != "blocked" || entry.outcome == "needs_review"
}
