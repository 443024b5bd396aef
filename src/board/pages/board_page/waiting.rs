//! The decisions that wait for the reader: a row for each, which opens what one must know.

use maud::{Markup, html};

use super::{BoardQuery, decision_acts};
use crate::board::model::columns::{BoardView, Card};
use crate::board::model::decisions::DecisionCard;
use crate::board::model::page::TaskDetails;
use crate::board::pages::forms::Posted;
use crate::board::pages::layout::{LISTED, NavPage, PageContent, PageFrame, hidden, left_out};
use crate::board::pages::markdown::markdown;
use crate::board::pages::parts::{bars, due_class, icon, quick_id};
use crate::board::pages::task_page::diff::work;
use crate::board::pages::task_page::{has_open_points, open_points, settled_points};
use crate::domain::{GateId, Priority, Ticket, Timestamp, counted};
use crate::tasks::headers::mentions::Mention;
use crate::tasks::view::work_diff::WorkDiff;

/// The lines of a text that an open row shows.
const LINES: usize = 12;

/// The task of the open row, with the changes to judge.
pub(crate) struct Looked {
    pub page: TaskDetails,
    pub diff: Result<WorkDiff, String>,
}

/// Returns the page of the tasks that wait for the reader.
pub(crate) fn waiting(
    frame: &PageFrame,
    board: &BoardView,
    query: &BoardQuery,
    looked: Option<&Looked>,
) -> PageContent {
    let count = board.decisions.len() + board.mentions.len();
    let rows = board.decisions.iter().filter_map(|one| Some((one, board.card(&one.ticket.task)?)));
    let head = html! {
        h1 { "Waiting" span.wide { " for you" } b #count data-live { (count) } }
        div.far.script { button.button.small #ask type="button" hidden { "Notify me" } }
    };
    let body = html! {
        div #waiting data-live {
            @if count == 0 {
                section.blank { h2 { "Nothing waits for you" } a.button href=(frame.links.board()) { "Board" } }
            } @else {
                form.bulk #bulk method="post" action=(frame.links.act("bulk")) {
                    (hidden(frame, "approve", ""))
                    b role="status" { "Selected" }
                    button.button.small { "Approve" }
                }
                ol.rows aria-label="Waiting for you" {
                    @for mention in board.mentions.iter().take(LISTED) { (mention_row(frame, board, mention)) }
                    @for (decision, card) in rows.take(LISTED) {
                        (row(frame, decision, card, query, looked.filter(|one| one.page.id == card.id)))
                    }
                }
                (left_out(board.decisions.len(), "aof decide"))
                p.hint { span.keys.script { kbd { "j" } " " kbd { "k" } " move, " kbd { "enter" } " look, " kbd { "a" } " approve, " kbd { "r" } " send back, " kbd { "x" } " select." } }
            }
        }
    };
    PageContent { head, body }
}

/// Returns the row of a comment that mentions the reader. Opening the task takes it away.
fn mention_row(frame: &PageFrame, board: &BoardView, mention: &Mention) -> Markup {
    html! {
        @if let Some(card) = board.card(&mention.task) {
            li.mention #{ "mention-" (card.id) } data-task=(card.id) data-ticket=(card.ticket) {
                div.row {
                    span {} (icon("say"))
                    (cells(frame, card, card.gate.as_ref().map_or("", GateId::as_str), mention.at))
                    div.acts { span.said { b { (board.author(&mention.by)) } " mentioned you" } }
                }
            }
        }
    }
}

/// Returns the cells of a row between its sign and its acts.
fn cells(frame: &PageFrame, card: &Card, gate: &str, since: Timestamp) -> Markup {
    html! {
        @if card.priority == Priority::Medium { span.no-bars {} } @else { (bars(card.priority)) }
        code title=(card.id) { (card.id.local()) }
        h2 { a dir="auto" href=(frame.links.task(&card.id)) { (card.title) } }
        span.gate title=(gate) { (gate) }
        @if let Some(due) = card.due { time class={ "due " (due_class(card)) } datetime=(due) title=(due) { (card.words.due) } }
        @else { span.due {} }
        span.age { (frame.short_age(since)) }
    }
}

fn row(
    frame: &PageFrame,
    decision: &DecisionCard,
    card: &Card,
    query: &BoardQuery,
    looked: Option<&Looked>,
) -> Markup {
    let is_open = query.open.as_deref() == Some(card.id.as_str());
    let local = card.id.local();
    let open = if is_open { String::new() } else { format!("?open={}", card.id) };
    let twist = format!("{}{open}#row-{}", frame.links.page(NavPage::Waiting), card.id);
    html! {
        li.open[is_open] #{ "row-" (card.id) } data-task=(card.id) data-ticket=(decision.ticket) {
            div.row {
                label.check { input type="checkbox" form="bulk" name="tickets" value=(decision.ticket) aria-label={ "Select " (local) }; }
                a.twist href=(twist) aria-expanded=(is_open) aria-label={ "Look at " (local) } { (icon("down")) }
                (cells(frame, card, &decision.gate, card.since))
                div.acts {
                    @if frame.acts() { (decision_acts(frame, decision, true)) }
                    a.icon href={ (frame.links.task(&card.id)) "#do" } data-acts aria-label={ "More acts for " (local) } { (icon("more")) }
                }
            }
            @if let Some(looked) = looked { (look(frame, looked)) }
        }
    }
}

fn look(frame: &PageFrame, Looked { page, diff }: &Looked) -> Markup {
    let lines: Vec<&str> = page.sheet.text.lines().collect();
    let last = page.timeline.last();
    html! {
        div.look {
            div {
                section {
                    h3 { "Open points" }
                    @if !has_open_points(frame, &page.sheet.points) { p.muted { "None." } }
                    (open_points(frame, &page.sheet.points))
                }
                section { (settled_points(frame, &page.sheet.points)) }
                @if let Some(last) = last {
                    section {
                        h3 { @if let Some(agent) = &last.agent { (frame.name(agent)) } " at " (last.station) ", " (frame.ago(last.exited)) }
                        p.summary { (last.summary) }
                    }
                }
                section {
                    h3 { "Text" }
                    @if lines.is_empty() { p.muted { "This task has no text." } }
                    div.text { (markdown(&lines.iter().take(LINES).copied().collect::<Vec<_>>().join("\n"))) }
                    @if lines.len() > LINES { p { a.all href=(frame.links.task(&page.id)) { "All " (lines.len()) " lines" } } }
                }
            }
            div { (work(diff)) }
        }
    }
}

/// Returns the page that asks once more before several tasks are approved.
pub(crate) fn approve_all(frame: &PageFrame, board: &BoardView, tickets: &[Ticket]) -> PageContent {
    let cards = tickets.iter().filter_map(|ticket| Some((ticket, board.card(&ticket.task)?)));
    let body = html! {
        form.plain method="post" action=(frame.links.act("bulk")) {
            input type="hidden" name="form" value=(frame.form_token);
            input type="hidden" name="act" value="approve";
            input type="hidden" name="sure" value="yes";
            input type="hidden" name="back" value=(frame.links.page(NavPage::Waiting));
            ul { @for (ticket, card) in cards {
                li {
                    input type="hidden" name="tickets" value=(ticket);
                    code { (card.id.local()) } " " a dir="auto" href=(frame.links.task(&card.id)) { (card.title) }
                }
            } }
            p.acts {
                button.button.primary { "Approve " (tickets.len()) }
                a.button href=(frame.links.page(NavPage::Waiting)) { "Back" }
            }
        }
    };
    PageContent::titled(&format!("Approve {}?", counted(tickets.len(), "task")), body)
}

/// Returns the fields of an approval. Fails with a sentence where a form must be filled in.
pub(crate) fn approval(board: &BoardView, ticket: &Ticket) -> Result<Posted, String> {
    let decision = board.decisions.iter().find(|one| one.ticket == *ticket);
    let decision = decision.ok_or("it no longer waits for you")?;
    let choice = decision.approval().filter(|_| !decision.asks);
    let choice = choice.ok_or("its form must be filled in")?;
    let fields = [
        ("act", "complete".to_owned()),
        ("outcome", choice.outcome.clone()),
        ("id", quick_id(ticket, &choice.outcome).to_string()),
    ];
    Ok(Posted(fields.map(|(name, value)| (name.to_owned(), value)).into()))
}
