//! The board: a lane for each workflow, a column for each gate, a card for each task.

use maud::{Markup, html};

use super::layout::{LISTED, PageFrame, left_out, names, prose, query_string, since};
use crate::board::model::columns::{
    BoardColumn, BoardLane, BoardView, BranchCard, Card, DoneCount, Place,
};
use crate::domain::{Priority, Ticket, counted};
use crate::tasks::headers::filter::TaskFilter;

/// The number of cards that a column shows at first.
const FEW: usize = 25;

/// The selection of a board's cards.
#[derive(Debug, Default)]
pub(crate) struct BoardQuery {
    /// The text of the filter.
    pub text: String,
    /// The column that is shown in full, as `LANE/COLUMN`.
    pub whole: Option<String>,
}

/// Returns the board. An invalid filter is reported, and hides nothing.
pub(crate) fn board(frame: &PageFrame, board: &BoardView, query: &BoardQuery) -> Markup {
    let parsed: Result<TaskFilter, String> = query.text.parse().map_err(|fault| format!("{fault}"));
    let (filter, fault) = match parsed {
        Ok(filter) => (filter, None),
        Err(fault) => (TaskFilter::default(), Some(fault)),
    };
    html! {
        h1.hidden { "Board of " (frame.project) }
        @if frame.you.is_some() {
            form.filter role="search" action=(frame.links.board()) {
                label for="q" { "Filter" }
                input #q name="q" type="search" value=(query.text) autocomplete="off"
                    placeholder="words, role:backend, is:overdue" aria-describedby=[fault.as_ref().map(|_| "fault")];
                button type="submit" { "Show" }
                @if !query.text.is_empty() { a href=(frame.links.board()) { "all" } }
                @if let Some(fault) = &fault { p.fault #fault role="alert" { (prose(fault)) } }
                @else if !query.text.is_empty() {
                    p.found role="status" { (counted(board.cards().filter(|card| filter.admits(*card)).count(), "task")) " found" }
                }
            }
        }
        div #board data-live {
            @for pause in &board.paused { div.notice { p { (prose(pause)) } } }
            @if !board.unreadable.is_empty() {
                div.notice.refusal {
                    p { "Files that cannot be read as tasks:" }
                    ul { @for file in board.unreadable.iter().take(LISTED) { li { code { (file.place) } ": " (file.reason) } } }
                    (left_out(board.unreadable.len(), "aof list -v"))
                }
            }
            @if frame.acts() && board.cards().next().is_none() && board.unreadable.is_empty() {
                p { "There is no task yet. " a href=(format!("{}new", frame.links.board())) { "Create the first" } }
            }
            @for lane in &board.lanes { (lane_section(frame, lane, &filter, query)) }
        }
    }
}

fn lane_section(
    frame: &PageFrame,
    lane: &BoardLane,
    filter: &TaskFilter,
    query: &BoardQuery,
) -> Markup {
    let heading = format!("lane-{}", lane.workflow);
    html! {
        section.lane aria-labelledby=(heading) {
            h2 #(heading) { a href=(frame.links.workflow(&lane.workflow)) { (lane.workflow) } }
            div.columns tabindex="0" role="group" aria-label=(format!("Columns of {}", lane.workflow)) {
                @for column in &lane.columns { (column_section(frame, lane, column, filter, query)) }
            }
        }
    }
}

fn column_section(
    frame: &PageFrame,
    lane: &BoardLane,
    column: &BoardColumn,
    filter: &TaskFilter,
    query: &BoardQuery,
) -> Markup {
    let path = format!("{}/{}", lane.workflow, column.place.name());
    let cards: Vec<&Card> = column.cards.iter().filter(|card| filter.admits(*card)).collect();
    // Exported files have no second page of a column.
    let is_whole = frame.you.is_none() || query.whole.as_deref() == Some(&path);
    let room = if is_whole { usize::MAX } else { FEW };
    let is_full = column.capacity.is_some_and(|most| column.cards.len() > most as usize);
    let heading = format!("column-{}-{}", lane.workflow, column_id(&column.place));
    let has_gate = matches!(column.place, Place::Gate(_));
    html! {
        section.column.narrow[cards.is_empty() && !query.text.is_empty()] aria-labelledby=(heading) data-workflow=(lane.workflow) data-place=(column.place.name()) {
            header {
                h3 #(heading) { (place_title(&column.place)) }
                span.count.full[is_full] {
                    (cards.len())
                    @if let Some(most) = column.capacity {
                        "/" (most) span.hidden { " at most" }
                    }
                }
                @if has_gate {
                    p.roles {
                        (names(&column.roles))
                        @if column.human { " · people only" }
                        @if !column.branches.is_empty() { " · fork: " (names(&column.branches)) }
                    }
                }
            }
            ol.cards {
                @for card in cards.iter().take(room) { (card_item(frame, card)) }
            }
            @if cards.len() > room {
                @let q = query_string(&[("q", &query.text), ("whole", &path)]);
                p.more {
                    a href=(format!("{}?{q}#{heading}", frame.links.board())) { (cards.len() - room) " more" }
                }
            }
        }
    }
}

fn column_id(place: &Place) -> &str {
    place.name().trim_matches(['(', ')'])
}

fn place_title(place: &Place) -> &str {
    match place {
        Place::New => "new",
        Place::Gate(gate) => gate.as_str(),
        Place::Stranded => "gate is gone",
        Place::Finished => "finished lately",
    }
}

/// Returns a task as an item of a column.
fn card_item(frame: &PageFrame, card: &Card) -> Markup {
    let is_finished = matches!(card.state, "complete" | "cancelled");
    html! {
        li.card.mine[card.mine].waits[card.waits_for_you].late[card.overdue] #(format!("card-{}", card.id))
            data-task=(card.id) data-ticket=(card.ticket) draggable=[(frame.acts() && !is_finished).then_some("true")] {
            a.title dir="auto" href=(frame.links.task(&card.id)) draggable="false" { (card.title) }
            p.facts {
                code { (card.id) }
                " · " (since(card.since, frame.at))
                @if !card.agents.is_empty() { " · " span.who { (names(&card.agents)) } }
            }
            (card_marks(Some(card)))
        }
    }
}

/// Returns the marks of a task.
pub(super) fn card_marks(card: Option<&Card>) -> Markup {
    html! { ul.marks { @for (kind, text) in card.map(marks).unwrap_or_default() { li class=(kind) { (text) } } } }
}

/// Returns the marks of a task: a class for the look of each, and words.
fn marks(card: &Card) -> Vec<(&'static str, String)> {
    let mut marks = Vec::new();
    let mut mark = |kind, text: String| marks.push((kind, text));
    if card.waits_for_you {
        mark("you", "waits for you".to_owned());
    }
    if card.held {
        mark("bad", "held".to_owned());
    } else if card.state == "blocked" {
        mark("bad", "blocked".to_owned());
    } else if card.state == "cancelled" {
        mark("plain", "cancelled".to_owned());
    }
    if let Some(due) = &card.due {
        mark(if card.overdue { "bad" } else { "plain" }, format!("due {due}"));
    } else if card.overdue {
        mark("bad", "took too long".to_owned());
    }
    if let Some(role) = &card.escalated {
        mark("bad", format!("escalated to {role}"));
    }
    if card.priority != Priority::Medium {
        mark("plain", card.priority.to_string());
    }
    if !card.waiting_for.is_empty() {
        mark("plain", format!("waits for {}", names(&card.waiting_for)));
    }
    if card.rejections > 0 {
        mark("plain", format!("sent back {}×", card.rejections));
    }
    let count = |of: &str, count: DoneCount| format!("{of} {}/{}", count.done, count.total);
    if let Some(boxes) = card.checklist {
        mark("plain", count("checklist", boxes));
    }
    if let Some(children) = card.children {
        mark("plain", count("parts", children));
    }
    for BranchCard { id, agent, status, .. } in &card.branches {
        let who = agent.as_ref().map_or(String::new(), |agent| format!(", {agent}"));
        mark("plain", format!("{id}: {status}{who}"));
    }
    for tag in &card.tags {
        mark("tag", tag.clone());
    }
    marks
}

/// Returns the page of the tasks that wait for the reader.
pub(crate) fn waiting(frame: &PageFrame, board: &BoardView) -> Markup {
    let card = |ticket: &Ticket| board.card(&ticket.task);
    html! {
        h1 { "Waiting for you" }
        div #waiting data-live {
            @if board.waiting_for_you.is_empty() { p { "Nothing waits for your decision." } }
            ol.cards.wide {
                @for ticket in board.waiting_for_you.iter().take(LISTED) {
                    @if let Some(card) = card(ticket) { (card_item(frame, card)) }
                }
            }
            (left_out(board.waiting_for_you.len(), "aof decide"))
        }
    }
}
