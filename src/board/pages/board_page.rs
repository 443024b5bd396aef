//! The board: the columns of a workflow, with a card for each task.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::layout::{
    LISTED, NavPage, PageContent, PageFrame, hidden, left_out, names, prose, query_string,
};
use super::parts::{bars, due_class, form_id, icon, planned, quick_id, state, tags, turn_class};
use crate::board::model::columns::{BoardColumn, BoardLane, BoardView, Card, DoneCount, Place};
use crate::board::model::decisions::{DecisionCard, DecisionChoice};
use crate::domain::{RoleId, Status, counted};
use crate::tasks::headers::filter::{FilterKey, FilterState, Filterable, TaskFilter};
use crate::tasks::view::phrases::TurnKind;

pub(crate) mod list;
pub(crate) mod waiting;

/// The number of cards that a column shows at first, and of values in a menu.
const FEW: usize = 25;
const VALUES: usize = 20;
/// The number of empty gates side by side that share one strip.
const TOGETHER: usize = 3;

/// The choices of a page of tasks, as its address has them.
#[derive(Debug, Default)]
pub(crate) struct BoardQuery {
    /// The text of the filter.
    pub text: String,
    /// The column that is shown in full, as `LANE/COLUMN`.
    pub whole: Option<String>,
    /// The workflow that is shown.
    pub workflow: Option<String>,
    /// The column by which a list is sorted, and by which it is grouped.
    pub sort: Option<String>,
    pub group: Option<String>,
    /// The task that is shown in full.
    pub open: Option<String>,
    /// The kind of acts that the activity shows, or whose; and the number of later ones that it leaves out.
    pub only: Option<String>,
    pub skip: usize,
}

/// The filter of a page, and what is wrong with it. A wrong filter hides nothing.
pub(super) fn parsed(query: &BoardQuery) -> (TaskFilter, Option<String>) {
    match query.text.parse::<TaskFilter>() {
        Ok(filter) => (filter, None),
        Err(fault) => (TaskFilter::default(), Some(fault.to_string())),
    }
}

/// Returns the board: the lane that is asked for, or the one with most for the reader.
pub(crate) fn board(frame: &PageFrame, board: &BoardView, query: &BoardQuery) -> PageContent {
    let (filter, fault) = parsed(query);
    let wants_done = wants_done(&filter);
    let hits = |lane: &BoardLane| {
        let shown = lane.columns.iter().filter(|one| wants_done || one.place != Place::Finished);
        shown.flat_map(|column| &column.cards).filter(|card| filter.admits(*card)).count()
    };
    let named = |lane: &&BoardLane| query.workflow.as_deref() == Some(lane.workflow.as_str());
    let count = |lane: &BoardLane| if filter.is_empty() { lane.for_you() } else { hits(lane) };
    let all = board.tabs();
    // Of equal ones the first counts.
    let best = || all.iter().rev().max_by_key(|lane| count(lane)).copied();
    let lane = board.lanes.iter().find(named).or_else(best);
    let is_empty = board.cards().next().is_none() && board.unreadable.is_empty();
    let tabs = html! {
        @if board.lanes.len() > 1 {
            nav.tabs #tabs aria-label="Workflows" data-live { @for one in &all {
                @let q = query_string(&[("q", &query.text), ("workflow", one.workflow.as_str())]);
                @let count = count(one);
                a href={ (frame.links.board()) "?" (q) } aria-current=[lane.filter(|lane| lane.workflow == one.workflow).map(|_| "page")] {
                    (one.workflow) @if count > 0 { " " b { (count) } }
                }
            } }
        }
    };
    let head = html! {
        h1 { "Board" }
        @if frame.you.is_some() { (tabs) }
        @if frame.you.is_some() && !is_empty { (chips(frame, board, query, &frame.links.board(), &html! {})) }
    };
    let body = html! {
        (filter_menus(frame, board, query, &frame.links.board()))
        @if let Some(fault) = &fault { p.notice.refusal #fault role="alert" { (prose(fault)) } }
        div #troubles data-live {
            @for pause in &board.paused { p.notice { (prose(pause)) } }
            @if !board.unreadable.is_empty() {
                div.notice.refusal {
                    p { "Files that cannot be read as tasks:" }
                    ul { @for file in board.unreadable.iter().take(LISTED) { li { code { (file.place) } ": " (file.reason) } } }
                    (left_out(board.unreadable.len(), "aof list -v"))
                }
            }
        }
        div #columns data-live {
            @match lane {
                _ if is_empty => (nothing_yet(frame, board)),
                Some(lane) if filter.is_empty() || hits(lane) > 0 => (lane_columns(frame, board, lane, &filter, query)),
                _ => (no_hit(query, &frame.links.board())),
            }
        }
        // Exported files have one page for all workflows.
        @if frame.you.is_none() {
            @for other in board.lanes.iter().filter(|one| lane.is_none_or(|lane| lane.workflow != one.workflow)) {
                h2 { (other.workflow) }
                (lane_columns(frame, board, other, &filter, query))
            }
        }
    };
    PageContent { head, body }
}

/// Returns true if a filter asks for finished tasks, as in a list of `aof list`.
pub(super) fn wants_done(filter: &TaskFilter) -> bool {
    let mut statuses = filter.of_key(FilterKey::Status);
    statuses.any(|word| word.parse().is_ok_and(|status: Status| status.is_finished()))
}

fn nothing_yet(frame: &PageFrame, board: &BoardView) -> Markup {
    let lane = board.lanes.first();
    let first = lane.and_then(|lane| lane.columns.first()).map(|column| column.place.title());
    html! {
        section.blank {
            h2 { "No tasks yet" }
            @if let Some(first) = first { p { "A task begins at " (first) " and moves gate by gate to done." } }
            @if frame.acts() { a.button.primary href=(frame.links.act("new")) { (icon("plus")) "New task" } }
        }
    }
}

/// Returns what a filter without a hit shows.
pub(super) fn no_hit(query: &BoardQuery, page: &str) -> Markup {
    html! {
        section.blank role="status" {
            h2 { "No task matches “" (query.text) "”" }
            a.button href=(page) { "Clear" }
        }
    }
}

/// Returns the filter of a page: chips that switch a condition on or off, and a field.
pub(super) fn chips(
    frame: &PageFrame,
    board: &BoardView,
    query: &BoardQuery,
    page: &str,
    more: &Markup,
) -> Markup {
    let count = |state| board.cards().filter(|card| card.is(state)).count();
    let states = [
        ("is:mine", "Mine", 0),
        ("is:waiting", "For me", board.waiting_for_you.len()),
        ("is:overdue", "Late", count(FilterState::Overdue)),
        ("is:blocked", "Blocked", count(FilterState::Blocked)),
    ];
    html! {
        nav.chips #chips aria-label="Filter" data-live {
            @for (word, title, count) in states {
                @let is_on = has_word(&query.text, word);
                @if count > 0 || is_on || title == "Mine" {
                    a.chip href=(switched(query, page, word)) aria-current=[is_on.then_some("true")] {
                        (title) @if count > 0 { " " (count) }
                    }
                }
            }
            (more)
            @for (key, title) in MENUS {
                @if !values(board, key).is_empty() {
                    button.chip type="button" popovertarget={ "menu-" (key) } aria-current=[query.text.contains(&format!("{key}:")).then_some("true")] { (title) (icon("down")) }
                }
            }
        }
        form.filter #filter role="search" action=(page) {
            (icon("search"))
            input #q name="q" type="search" value=(query.text) autocomplete="off" aria-label="Filter" placeholder="Filter   /";
            @if let Some(workflow) = &query.workflow { input type="hidden" name="workflow" value=(workflow); }
            button.button.small type="submit" { "Show" }
            span.hidden role="status" { @if !query.text.is_empty() {
                @let filter = parsed(query).0;
                (counted(board.cards().filter(|card| filter.admits(*card)).count(), "task")) " found"
            } }
        }
        @if !frame.acts() { span {} }
    }
}

/// The conditions that have a menu of their values.
const MENUS: [(&str, &str); 2] = [("role", "Role"), ("tag", "Tag")];

/// Returns the menus of the chips. They stand outside the line of chips, which scrolls.
pub(super) fn filter_menus(
    frame: &PageFrame,
    board: &BoardView,
    query: &BoardQuery,
    page: &str,
) -> Markup {
    html! {
        @if frame.you.is_some() {
            @for (key, title) in MENUS {
                menu.menu #{ "menu-" (key) } popover aria-label=(title) {
                    @for value in values(board, key).into_iter().take(VALUES) {
                        @let word = if value.contains(char::is_whitespace) { format!("\"{key}:{value}\"") } else { format!("{key}:{value}") };
                        li { a href=(switched(query, page, &word)) aria-current=[has_word(&query.text, &word).then_some("true")] { (value) } }
                    }
                }
            }
        }
    }
}

/// Returns the values that the cards have of a key, the most frequent first.
fn values<'b>(board: &'b BoardView, key: &str) -> Vec<&'b str> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for card in board.cards() {
        let roles = card.roles.iter().map(RoleId::as_str);
        let tags = card.tags.iter().map(String::as_str);
        let all: Vec<&str> = if key == "role" { roles.collect() } else { tags.collect() };
        for value in all {
            *counts.entry(value).or_default() += 1;
        }
    }
    let mut values: Vec<(&str, usize)> = counts.into_iter().collect();
    values.sort_by_key(|(value, count)| (std::cmp::Reverse(*count), *value));
    values.into_iter().map(|(value, _)| value).collect()
}

fn has_word(text: &str, word: &str) -> bool {
    text.split_whitespace().any(|one| one == word) || word.starts_with('"') && text.contains(word)
}

/// Returns the address of a page with the condition added to its filter, or taken out of it.
fn switched(query: &BoardQuery, page: &str, word: &str) -> String {
    let text = if has_word(&query.text, word) {
        query.text.replace(word, " ").split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        format!("{} {word}", query.text).trim().to_owned()
    };
    let given = |value: &Option<String>| value.clone().unwrap_or_default();
    let (workflow, sort, group) = (given(&query.workflow), given(&query.sort), given(&query.group));
    let pairs = [("q", &*text), ("workflow", &workflow), ("sort", &sort), ("group", &group)];
    format!("{page}?{}", query_string(&pairs))
}

/// A place of a lane, as the board draws it.
enum Drawn<'l> {
    Column(&'l BoardColumn, Vec<&'l Card>),
    /// Gates without cards, side by side.
    Strips(Vec<&'l BoardColumn>),
}

fn lane_columns(
    frame: &PageFrame,
    board: &BoardView,
    lane: &BoardLane,
    filter: &TaskFilter,
    query: &BoardQuery,
) -> Markup {
    let mut drawn: Vec<Drawn<'_>> = Vec::new();
    for column in &lane.columns {
        let cards: Vec<&Card> = column.cards.iter().filter(|card| filter.admits(*card)).collect();
        let is_strip = column.place == Place::Finished && !wants_done(filter);
        match drawn.last_mut() {
            _ if !cards.is_empty() && !is_strip => drawn.push(Drawn::Column(column, cards)),
            Some(Drawn::Strips(strips)) if column.place != Place::Finished => strips.push(column),
            _ => drawn.push(Drawn::Strips(vec![column])),
        }
    }
    let columns = || {
        drawn.iter().filter_map(|one| match one {
            Drawn::Column(column, cards) => Some((*column, cards)),
            Drawn::Strips(_) => None,
        })
    };
    let last = columns().next_back();
    html! {
        nav.way aria-label="Gates" { @for (at, (column, cards)) in columns().enumerate() {
            a href={ "#" (column_id(lane, column)) } aria-current=[(at == 0).then_some("true")] { (column.place.title()) " " b { (cards.len()) } }
        } }
        div.board tabindex="0" role="group" aria-label={ "Gates of " (lane.workflow) } {
            @for one in &drawn {
                @match one {
                    Drawn::Column(column, cards) => (column_section(frame, board, lane, (column, cards), query)),
                    Drawn::Strips(columns) if columns.len() >= TOGETHER => section.strip data-place=(columns.iter().map(|one| one.place.name()).collect::<Vec<_>>().join(" ")) title=(names(columns.iter().map(|one| one.place.title()))) {
                        h2 { (columns.len()) " empty" }
                    },
                    Drawn::Strips(columns) => @for column in columns { (strip(frame, column)) },
                }
            }
            @if let Some((column, cards)) = last {
                div.next { a href={ "#" (column_id(lane, column)) } tabindex="-1" { (column.place.title()) " " (cards.len()) (icon("down")) } }
            }
        }
    }
}

fn strip(frame: &PageFrame, column: &BoardColumn) -> Markup {
    let title = html! { (column.place.title()) " " b { (column.cards.len()) } };
    html! {
        section.strip data-place=(column.place.name()) {
            @if column.place == Place::Finished && !column.cards.is_empty() {
                h2 { a href={ (frame.links.page(NavPage::List)) @if frame.links.is_live() { "?q=status:complete" } } { (title) } }
            } @else { h2 { (title) } }
        }
    }
}

fn column_id(lane: &BoardLane, column: &BoardColumn) -> String {
    format!("column-{}-{}", lane.workflow, column.place.name().trim_matches(['(', ')']))
}

fn column_section(
    frame: &PageFrame,
    board: &BoardView,
    lane: &BoardLane,
    (column, cards): (&BoardColumn, &[&Card]),
    query: &BoardQuery,
) -> Markup {
    let path = format!("{}/{}", lane.workflow, column.place.name());
    // Exported files have no second page of a column.
    let is_whole = frame.you.is_none() || query.whole.as_deref() == Some(&path);
    let room = if is_whole { usize::MAX } else { FEW };
    let most = column.capacity.filter(|most| column.cards.len() > *most as usize);
    let id = column_id(lane, column);
    let who = if column.human { "people".to_owned() } else { names(&column.roles) };
    html! {
        section.column #(id) aria-labelledby={ "of-" (id) } data-place=(column.place.name()) {
            h2 #{ "of-" (id) } {
                (column.place.title()) " "
                b.bad[most.is_some()] { (cards.len()) @if let Some(most) = most { "/" (most) span.hidden { " at most" } } }
                small title=(names(&column.roles)) { (who) @if !column.branches.is_empty() { ", " (column.branches.len()) " at once" } }
            }
            ol.cards tabindex="0" aria-labelledby={ "of-" (id) } {
                @for card in cards.iter().take(room) { (card_item(frame, board, card)) }
                @if cards.len() > room {
                    @let q = query_string(&[("q", &query.text), ("workflow", lane.workflow.as_str()), ("whole", &path)]);
                    li.others { a href={ (frame.links.board()) "?" (q) "#" (id) } { (cards.len() - room) " more" } }
                }
            }
        }
    }
}

/// Returns a task as an item of a column.
fn card_item(frame: &PageFrame, board: &BoardView, card: &Card) -> Markup {
    let is_finished = matches!(card.state, "complete" | "cancelled" | "failed");
    let parts = |count: DoneCount| format!("{}/{}", count.done, count.total);
    html! {
        li.card.for-you[card.waits_for_you] #{ "card-" (card.id) }
            data-task=(card.id) data-ticket=(card.ticket) draggable=[(frame.acts() && !is_finished).then_some("true")] {
            h3 { (state(card)) a dir="auto" href=(frame.links.task(&card.id)) draggable="false" { (card.title) } }
            p.meta {
                span.whole {
                    code title=(card.id) { (card.id.local()) }
                    (frame.short_age(card.since))
                    @if card.rejections > 0 { span title="times sent back" { "back " (card.rejections) } }
                    @if let Some(count) = card.children.or(card.checklist) { span title="done, of all" { (parts(count)) } }
                    @if let Some(role) = &card.escalated { span.late { "escalated to " (role) } }
                }
                span.far { (bars(card.priority)) (due(card)) }
            }
            div.foot {
                (tags(&card.tags))
                span.far { (turn(frame, card)) }
            }
            @if frame.acts() { (card_acts(frame, board, card)) }
        }
    }
}

fn due(card: &Card) -> Markup {
    let date = card.due.map(|due| due.to_string()).unwrap_or_default();
    html! {
        @if card.due.is_some() { time class={ "due " (due_class(card)) } datetime=(date) title=(date) { (card.words.due) } }
        @else if card.overdue { span.late { "late" } }
    }
}

/// Returns whose turn it is: those who have it as signs, else in a phrase.
fn turn(frame: &PageFrame, card: &Card) -> Markup {
    let turn = &card.words.turn;
    html! {
        @match turn.kind {
            TurnKind::Open if turn.phrase.starts_with("for ") => {
                "for" @for name in card.assignee.iter().take(2) { (planned(name)) }
            },
            TurnKind::Taken => @for agent in card.agents.iter().take(3) { (frame.avatar(agent)) },
            _ => span class={ "turn " (turn_class(turn.kind)) } title=(turn.phrase) { (turn.phrase) },
        }
    }
}

fn card_acts(frame: &PageFrame, board: &BoardView, card: &Card) -> Markup {
    let decision = board.decisions.iter().find(|one| one.ticket.task == card.id);
    let may_take =
        card.mine && card.agents.is_empty() && card.state == "ready" && decision.is_none();
    html! {
        div.acts {
            @if let Some(decision) = decision { (decision_acts(frame, decision, false)) }
            @else if may_take {
                form method="post" action=(frame.links.task(&card.id)) {
                    (hidden(frame, "claim", &card.ticket.to_string()))
                    button.button { "Take" }
                }
            }
            a.icon href={ (frame.links.task(&card.id)) "#do" } data-acts aria-label={ "More acts for " (card.id.local()) } { (icon("more")) }
        }
    }
}

/// Returns the acts of a decision: the likely one first. One that asks for something leads to its form.
pub(super) fn decision_acts(
    frame: &PageFrame,
    decision: &DecisionCard,
    with_leads: bool,
) -> Markup {
    let is_usual = decision.approval().is_some();
    let shown = decision.choices.iter().filter(|choice| {
        if is_usual { choice.approves || choice.rejects } else { choice.outcome != "blocked" }
    });
    html! {
        @for (at, choice) in shown.take(2).enumerate() {
            @if choice.approves && !decision.asks && !frame.signs {
                form method="post" action=(frame.links.task(&decision.ticket.task)) {
                    (hidden(frame, "complete", &decision.ticket.to_string()))
                    input type="hidden" name="outcome" value=(choice.outcome);
                    input type="hidden" name="id" value=(quick_id(&decision.ticket, &choice.outcome));
                    button.button.primary data-act="approve" { (label(choice, with_leads)) }
                }
            } @else {
                a.button.primary[at == 0] href={ (frame.links.task(&decision.ticket.task)) "#" (form_id(&decision.ticket.to_string(), &choice.outcome)) }
                    data-outcome=(choice.outcome) data-act=(if choice.rejects { "reject" } else { "decide" }) {
                    (label(choice, with_leads && !choice.rejects))
                }
            }
        }
    }
}

fn label(choice: &DecisionChoice, with_leads: bool) -> String {
    let leads = Some(&choice.leads).filter(|leads| with_leads && !leads.is_empty());
    choice.label.clone() + &leads.map(|leads| format!(" → {leads}")).unwrap_or_default()
}
