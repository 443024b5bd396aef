//! The list of tasks: sorted by a column, in groups, with acts for those that are selected.

use maud::{Markup, html};

use super::{BoardQuery, chips, filter_menus, no_hit, parsed, wants_done};
use crate::board::model::columns::{BoardView, Card, Place};
use crate::board::pages::layout::{NavPage, PageContent, PageFrame, prose, query_string};
use crate::board::pages::parts::{bars, due_class, icon, state, tags, turn_class};
use crate::domain::{Priority, counted};
use crate::tasks::view::phrases;

/// The number of tasks that the page shows at first.
const MOST: usize = 200;

/// The columns by which a list can be sorted, with their titles and classes.
const COLUMNS: [(&str, &str, &str); 5] = [
    ("id", "Id", "id"),
    ("title", "Title", "title"),
    ("gate", "Gate", "gate"),
    ("who", "Who", "turn"),
    ("due", "Due", "number"),
];

/// The fields by which a list can be grouped.
const GROUPS: [(&str, &str); 4] =
    [("gate", "By gate"), ("who", "By who"), ("milestone", "By milestone"), ("none", "No groups")];

/// Returns the page of all tasks that a board shows.
pub(crate) fn list(frame: &PageFrame, board: &BoardView, query: &BoardQuery) -> PageContent {
    let (filter, fault) = parsed(query);
    let page = frame.links.page(NavPage::List);
    let group = query.group.as_deref().filter(|name| GROUPS.iter().any(|(known, _)| known == name));
    let group = group.unwrap_or("gate");
    // An exported page has no filter, so it has all tasks.
    let shows_done = wants_done(&filter) || frame.you.is_none();
    let columns = board.lanes.iter().flat_map(|lane| &lane.columns);
    let open = columns.filter(|column| shows_done || column.place != Place::Finished);
    let cards: Vec<&Card> =
        open.flat_map(|column| &column.cards).filter(|card| filter.admits(*card)).collect();
    let head = html! {
        h1 { "List" b #count data-live { (cards.len()) } }
        @if frame.you.is_some() {
            @let chip = html! { button.chip type="button" popovertarget="menu-group" { (GROUPS.iter().find(|(name, _)| *name == group).map_or("", |(_, title)| title)) (icon("down")) } };
            (chips(frame, board, query, &page, &chip))
        }
    };
    let body = html! {
        (filter_menus(frame, board, query, &page))
        menu.menu #menu-group popover aria-label="Groups" { @for (name, title) in GROUPS {
            li { a href=(address(query, &page, "", name)) aria-current=[(name == group).then_some("true")] { (title) } }
        } }
        @if let Some(fault) = &fault { p.notice.refusal #fault role="alert" { (prose(fault)) } }
        @if frame.acts() { (bulk(frame)) }
        div #list data-live {
            @if cards.is_empty() && filter.is_empty() {
                section.blank {
                    h2 { "No tasks yet" }
                    @if frame.acts() { a.button.primary href=(frame.links.act("new")) { (icon("plus")) "New task" } }
                }
            } @else if cards.is_empty() { (no_hit(query, &page)) }
            @else { (table(frame, sorted(cards, query), query, group)) }
        }
    };
    PageContent { head, body }
}

/// Returns the cards in the order that is asked for: the most urgent first, unless a column decides.
fn sorted<'b>(mut cards: Vec<&'b Card>, query: &BoardQuery) -> Vec<&'b Card> {
    let urgency = |card: &Card| {
        (
            !card.overdue,
            card.priority,
            card.due.is_none(),
            card.due.map(|due| due.to_string()),
            card.since,
        )
    };
    cards.sort_by_cached_key(|card| (urgency(card), card.id.clone()));
    match query.sort.as_deref() {
        Some("id") => cards.sort_by_cached_key(|card| card.id.clone()),
        Some("title") => cards.sort_by_cached_key(|card| card.title.to_lowercase()),
        Some("gate") => cards.sort_by_cached_key(|card| card.gate.clone()),
        Some("who") => cards.sort_by_cached_key(|card| card.words.turn.phrase.clone()),
        Some("due") => cards
            .sort_by_cached_key(|card| (card.due.is_none(), card.due.map(|due| due.to_string()))),
        _ => {}
    }
    cards
}

/// Returns the address of the list with this order and these groups; empty ones stay as they are.
fn address(query: &BoardQuery, page: &str, sort: &str, group: &str) -> String {
    let given = |new: &str, value: &Option<String>| {
        if new.is_empty() { value.clone().unwrap_or_default() } else { new.to_owned() }
    };
    let (sort, group) = (given(sort, &query.sort), given(group, &query.group));
    format!("{page}?{}", query_string(&[("q", &query.text), ("sort", &sort), ("group", &group)]))
}

fn table(frame: &PageFrame, cards: Vec<&Card>, query: &BoardQuery, group: &str) -> Markup {
    let count = cards.len();
    let has_due = cards.iter().any(|card| card.due.is_some());
    let mut groups: Vec<(String, Vec<&Card>)> = Vec::new();
    for card in cards.into_iter().take(if frame.you.is_some() { MOST } else { usize::MAX }) {
        let name = match group {
            "gate" => card.gate.as_ref().map_or_else(|| ended(card), ToString::to_string),
            "who" => card.words.turn.phrase.clone(),
            "milestone" => card.milestone.clone().unwrap_or_else(|| "no milestone".to_owned()),
            _ => String::new(),
        };
        match groups.iter_mut().find(|(known, _)| *known == name) {
            Some((_, cards)) => cards.push(card),
            None => groups.push((name, vec![card])),
        }
    }
    let page = frame.links.page(NavPage::List);
    let is_sorted = |name: &str| query.sort.as_deref().unwrap_or_default() == name;
    let columns = COLUMNS.iter().filter(|(name, ..)| has_due || *name != "due");
    html! {
        table.list.by-gate[group == "gate"] {
            thead { tr {
                @if frame.acts() { th scope="col" { label.check.script { input #all type="checkbox" aria-label="Select all"; } } }
                @for (name, title, class) in columns.clone() {
                    @if *name == "title" { th scope="col" { span.hidden { "Priority" } } }
                    @if *name == "due" { th.tags scope="col" { "Tags" } }
                    th scope="col" class=(class) aria-sort=[is_sorted(name).then_some("ascending")] {
                        @if frame.links.is_live() { a href=(address(query, &page, name, "")) { (title) @if is_sorted(name) { (icon("down")) } } }
                        @else { (title) }
                    }
                }
                @if !has_due { th.tags scope="col" { "Tags" } }
                th.number.age scope="col" { "Age" }
            } }
            @for (name, cards) in &groups {
                tbody {
                    @if !name.is_empty() { tr { th scope="rowgroup" colspan="9" { (name) b { (cards.len()) } } } }
                    @for card in cards { (row(frame, card, has_due)) }
                }
            }
        }
        p.hint {
            (counted(count, "task"))
            @if count > MOST && frame.you.is_some() { ", of which " (MOST) " are here: filter, or " code { "aof list" } }
        }
    }
}

fn ended(card: &Card) -> String {
    if card.state == "complete" { "done".to_owned() } else { card.state.to_owned() }
}

fn row(frame: &PageFrame, card: &Card, has_due: bool) -> Markup {
    let (local, turn) = (card.id.local(), &card.words.turn);
    let (bold, rest) = local.split_at_checked(card.words.beginning.len()).unwrap_or((local, ""));
    html! {
        tr data-task=(card.id) {
            @if frame.acts() { td { label.check { input type="checkbox" form="bulk" name="tickets" value=(card.ticket) aria-label={ "Select " (local) }; } } }
            td.id { code title=(card.id) { b { (bold) } (rest) } }
            td { (bars(card.priority)) }
            td.title { div { (state(card)) a dir="auto" href=(frame.links.task(&card.id)) { (card.title) @if let Some(parts) = card.children { " (" (parts.done) "/" (parts.total) ")" } } } }
            td.gate { @if let Some(gate) = &card.gate { (gate) } }
            td class={ "turn " (turn_class(turn.kind)) } title=(turn.phrase) { (turn.phrase) }
            td.tags { (tags(&card.tags)) }
            @if has_due {
                td class={ "number " (due_class(card)) } { @if let Some(due) = card.due { time datetime=(due) title=(due) { (card.words.due) } } @else if card.overdue { "late" } }
            }
            td.number.age { (frame.short_age(card.since)) }
        }
    }
}

/// Returns the bar of acts for the selected tasks.
fn bulk(frame: &PageFrame) -> Markup {
    html! {
        form.bulk #bulk method="post" action=(frame.links.act("bulk")) aria-label="Acts for the selected tasks" {
            input type="hidden" name="form" value=(frame.form_token);
            input type="hidden" name="back" value=(frame.here);
            b role="status" { "Selected" }
            button.button.small name="act" value="claim" { "Take" }
            button.button.small name="act" value="release" { "Give back" }
            select name="priority" aria-label="Priority" { @for one in Priority::ALL { option value=(one) selected[*one == Priority::Medium] { (phrases::priority(*one)) } } }
            button.button.small name="act" value="edit" { "Set priority" }
            input type="text" name="reason" aria-label="Reason to hold" placeholder="Why they must wait";
            button.button.small name="act" value="hold" { "Hold" }
        }
    }
}
