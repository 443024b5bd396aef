//! A task in full: what the reader may do, its open points, its fields, its text, and its history.

use maud::{Markup, html};
use serde_json::Value;

use super::forms::{Posted, task_acts};
use super::layout::{NavPage, PageContent, PageFrame, hidden, names, prose, query_string};
use super::markdown::markdown;
use super::parts::{bars, due_class, hue, icon, planned, sign, state, tags, turn_class};
use crate::board::model::columns::{BoardView, Card};
use crate::board::model::page::{OpenPoint, OpeningPage, TaskDetails};
use crate::domain::{CompletionId, GateId, Link, Priority, Status, TaskId};
use crate::tasks::view::code_commits::{CodeCommit, LATEST};
use crate::tasks::view::phrases::{self, TurnKind};

pub(crate) mod diff;
pub(crate) mod edit;
mod history;

use history::{history, is_sent_back};

/// The number of steps that a page shows of a long way.
const STEPS: usize = 8;

/// Returns a task's page. Without a completion id the page allows no acts.
pub(crate) fn task(
    frame: &PageFrame,
    page: &TaskDetails,
    board: &BoardView,
    completion: Option<&CompletionId>,
    kept: Option<&Posted>,
    graph: &Markup,
) -> PageContent {
    let card = board.card(&page.id);
    let gate = page.gate.as_ref().map(GateId::as_str);
    let head = html! {
        nav.crumb aria-label="Where" {
            a href=(frame.links.board()) { "Board" }
            span aria-hidden="true" { "/" }
            a href=(frame.links.workflow(&page.workflow)) { @if let Some(gate) = gate { (gate) } @else { (page.workflow) } }
        }
    };
    let body = html! {
        article.task data-task=(page.id) {
            header {
                div #head data-live {
                    h1 dir="auto" { (page.title) }
                    (sub(frame, page, card))
                    @if let Some(frozen) = &page.frozen { p.notice.refusal { (frozen) } }
                }
                @if let (Some(Ok(you)), Some(completion)) = (&frame.you, completion) {
                    (task_acts(frame, page, you, completion, kept))
                }
            }
            (points(frame, &page.sheet.points))
            aside aria-label="Fields" { (fold(frame, page, board, graph)) }
            div #reading data-live {
                section.text #body aria-label="Text" {
                    @if let Some(Value::String(text)) = page.frontmatter.get("description") { p.description { (text) } }
                    @if page.sheet.text.trim().is_empty() { p.muted { "This task has no text." } } @else { (markdown(&page.sheet.text)) }
                }
                (commits(frame, &page.sheet.commits))
                section aria-labelledby="history-head" {
                    h2 #history-head { "History" }
                    @if frame.acts() { (comment_form(frame, page, kept)) }
                    div.log #history { (history(frame, page)) }
                }
            }
        }
    };
    PageContent { head, body }
}

/// Returns the line below the title: the id, the gate, and whose turn it is.
fn sub(frame: &PageFrame, page: &TaskDetails, card: Option<&Card>) -> Markup {
    let turn = card.map(|card| &card.words.turn).filter(|turn| !turn.phrase.is_empty());
    html! {
        p.sub {
            code { (page.id) }
            @match &page.gate {
                Some(gate) => span { (gate) (again(page, gate.as_str())) },
                None => span { @if page.status == Status::Complete { "done" } @else { (page.status) } },
            }
            @if page.held { span.stopped { "held" } }
            @else if let Some(turn) = turn.filter(|_| page.gate.is_some()) {
                span class=(turn_class(turn.kind)) {
                    @match turn.kind {
                        TurnKind::You => "waits for you",
                        TurnKind::Taken => { (turn.phrase.trim_start_matches('@')) @if turn.phrase == "@you" { " have it" } @else { " has it" } },
                        _ => (turn.phrase),
                    }
                }
                @if let Some(entered) = page.sheet.entered.filter(|_| frame.you.is_some()) {
                    span { (frame.short_age(entered)) " here" }
                }
            }
        }
    }
}

/// Returns how often the task was at the gate before, in words.
fn again(page: &TaskDetails, gate: &str) -> &'static str {
    match page.timeline.iter().filter(|entry| entry.station == gate).count() {
        0 => "",
        1 => ", second time",
        2 => ", third time",
        _ => ", once more",
    }
}

fn points(frame: &PageFrame, points: &[OpenPoint]) -> Markup {
    let open = points.iter().filter(|point| !is_settled(frame, point)).count();
    html! {
        section.panel #points data-live hidden[points.is_empty()] aria-labelledby="points-head" {
            h2 #points-head { "Open points " span.muted { (open) } }
            (open_points(frame, points))
            (settled_points(frame, points))
        }
    }
}

/// Returns whether the reader wanted a point, and the work was done since.
fn is_settled(frame: &PageFrame, point: &OpenPoint) -> bool {
    point.is_settled_for(frame.you.as_ref().and_then(|you| you.as_ref().ok()))
}

/// Returns whether a point is open for the reader.
pub(super) fn has_open_points(frame: &PageFrame, points: &[OpenPoint]) -> bool {
    points.iter().any(|point| !is_settled(frame, point))
}

/// Returns the open points as a list.
pub(super) fn open_points(frame: &PageFrame, points: &[OpenPoint]) -> Markup {
    html! {
        ul.points { @for point in points.iter().filter(|point| !is_settled(frame, point)) {
            li {
                (icon("ready")) p { (point.text) }
                small { @if let Some(by) = &point.by { (frame.name(by)) ", " } (frame.ago(point.at)) }
            }
        } }
    }
}

/// Returns the points that count as settled since the reader sent the task back, below a heading; nothing if there are none.
pub(super) fn settled_points(frame: &PageFrame, points: &[OpenPoint]) -> Markup {
    let settled: Vec<_> = points.iter().filter(|point| is_settled(frame, point)).collect();
    html! {
        @if let Some(first) = settled.first() {
            h3 { "Settled since you sent it back, " (frame.ago(first.at)) }
            ul.points { @for point in &settled { li { (sign("done", "ok", "settled")) p { (point.text) } } } }
        }
    }
}

fn fold(frame: &PageFrame, page: &TaskDetails, board: &BoardView, graph: &Markup) -> Markup {
    let sheet = &page.sheet;
    let priority = sheet.priority.unwrap_or(Priority::Medium);
    let card = board.card(&page.id);
    html! {
        details.fold #fields data-live {
            summary {
                (bars(priority)) (phrases::priority(priority))
                @if let Some(card) = card.filter(|card| card.due.is_some()) { span class=(due_class(card)) { (card.words.due) } }
                (tags(&sheet.tags))
                span.far { "Details" }
                (icon("down"))
            }
            (steps(page))
            dl.fields {
                (field("Who", html! {
                    @for agent in &page.agents { (frame.avatar(agent)) span { (frame.name(agent)) } }
                    @if page.agents.is_empty() { @match card { Some(card) => (card.words.turn.phrase), None => span.muted { "nobody" } } }
                }, html! {}))
                (field("Planned", html! {
                    @for name in &sheet.assignee { (planned(name)) span { (name.trim_start_matches("human-")) } }
                    @if sheet.assignee.is_empty() { span.muted { "nobody" } }
                }, editor(frame, page, "planned", html! {
                    input type="text" name="assignee" aria-label="Planned for" value=(sheet.assignee.join(" "));
                })))
                (field("Priority", html! { (bars(priority)) (phrases::priority(priority)) }, editor(frame, page, "priority", html! {
                    select name="priority" aria-label="Priority" { @for one in Priority::ALL { option value=(one) selected[*one == priority] { (phrases::priority(*one)) } } }
                })))
                (field("Due", html! {
                    @if let (Some(card), Some(due)) = (card, sheet.due) { time class=(due_class(card)) datetime=(due) title=(due) { (card.words.due) } }
                    @else if let Some(due) = sheet.due { time datetime=(due) title=(due) { (phrases::due(due, frame.at, &frame.zone)) } }
                    @else { span.muted { "none" } }
                }, editor(frame, page, "due", html! {
                    @let day = sheet.due.map(|due| due.to_string()).unwrap_or_default();
                    input type="date" name="due" aria-label="Due" value=(day.get(..10).unwrap_or_default());
                })))
                (field("Not before", html! {
                    @match sheet.not_before { Some(day) => time datetime=(day) title=(day) { (day.in_words()) }, None => span.muted { "any day" } }
                }, editor(frame, page, "not before", html! {
                    @let day = sheet.not_before.map(|day| day.to_string()).unwrap_or_default();
                    input type="date" name="notBefore" aria-label="Not before" value=(day.get(..10).unwrap_or_default());
                })))
                (field("Tags", html! {
                    @for text in &sheet.tags { a class={ "tag " (hue(text)) } href={ (frame.links.page(NavPage::List)) @if frame.links.is_live() { "?" (query_string(&[("q", &format!("tag:{text}"))])) } } { (text) } }
                    @if sheet.tags.is_empty() { span.muted { "none" } }
                }, editor(frame, page, "tags", html! {
                    input type="text" name="tags" aria-label="Tags" value=(sheet.tags.join(" "));
                })))
                (field("Milestone", html! { @match &sheet.milestone { Some(name) => (name), None => span.muted { "none" } } }, editor(frame, page, "milestone", html! {
                    input type="text" name="milestone" aria-label="Milestone" value=(sheet.milestone.clone().unwrap_or_default());
                })))
                (field("Part of", html! {
                    @match &sheet.parent { Some(parent) => (related(frame, board, parent)), None => span.muted { "none" } }
                }, editor(frame, page, "the task that it is a part of", html! {
                    input type="text" name="parent" aria-label="Id of the task that it is a part of" value=(sheet.parent.as_ref().map(TaskId::as_str).unwrap_or_default());
                })))
                @if let Some(work) = &sheet.work { (field("Work", html! { (work) }, html! {})) }
                @for link in &sheet.links { (field("Link", link_to(link), html! {})) }
                @for id in &sheet.depends_on { (field("After", related(frame, board, id), html! {})) }
                @for card in board.cards().filter(|card| card.waiting_for.contains(&page.id)) { (field("Before", related(frame, board, &card.id), html! {})) }
                @for card in board.cards().filter(|card| card.words.parent.as_ref() == Some(&page.id)) { (field("Part", related(frame, board, &card.id), html! {})) }
            }
            (more("Why it is here", html! { ul { @for reason in &page.reasons { li { (prose(reason)) } } } }))
            @for opening in &page.openings { (brief(frame, opening)) }
            (more("Workflow", html! { div { (graph) } }))
            (more("All fields", fields(page)))
            p.ids {
                code { (page.id) }
                span { (page.path) }
                @if frame.you.is_some() {
                    a href={ (frame.links.task(&page.id)) "/diff" } { "diff" }
                    a href={ (frame.links.task(&page.id)) "/log" } { "commits" }
                }
            }
        }
    }
}

/// Returns a link of the plan. Only a web page can be opened.
fn link_to(link: &Link) -> Markup {
    let words = [link.request(), link.title.clone()].into_iter().flatten().collect::<Vec<_>>();
    let words = if words.is_empty() { link.url.clone() } else { words.join(" ") };
    let is_page = ["https://", "http://"].iter().any(|start| link.url.starts_with(start));
    html! { @if is_page { a dir="auto" href=(link.url) { (words) } } @else { span dir="auto" title=(link.url) { (words) } } }
}

/// Returns the commits of code that name the task: the latest, and the others in a fold.
fn commits(frame: &PageFrame, commits: &[CodeCommit]) -> Markup {
    let (latest, others) = commits.split_at(commits.len().min(LATEST));
    let list = |commits: &[CodeCommit]| {
        html! {
            ul.points.commits { @for commit in commits {
                li {
                    @if commit.branches.is_empty() { (sign("done", "ok", "merged")) } @else { (sign("half", "", "not merged")) }
                    p {
                        bdi { (commit.subject) } " "
                        small title=(commit.commit) { code { (commit.short()) } " " bdi { (commit.author) } ", " (frame.ago(commit.time)) @for branch in &commit.branches { ", " bdi { (branch) } } }
                    }
                }
            } }
        }
    };
    html! {
        @if !commits.is_empty() {
            section #commits aria-labelledby="commits-head" {
                h2 #commits-head { "Commits" }
                (list(latest))
                @if !others.is_empty() { (more(&format!("{} more", others.len()), list(others))) }
            }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a part is made where it is passed")]
fn field(name: &str, value: Markup, editor: Markup) -> Markup {
    html! { div { dt { (name) } dd { (value) (editor) } } }
}

/// Returns a field of the plan as a form that opens in its place.
#[expect(clippy::needless_pass_by_value, reason = "a part is made where it is passed")]
fn editor(frame: &PageFrame, page: &TaskDetails, name: &str, input: Markup) -> Markup {
    html! {
        @if frame.acts() && page.frozen.is_none() {
            details name="field" {
                summary.icon aria-label={ "Edit " (name) } { (icon("pencil")) }
                form method="post" action=(frame.links.task(&page.id)) {
                    (hidden(frame, "edit", &page.ticket.to_string()))
                    (input)
                    button.button { "Save" }
                }
            }
        }
    }
}

/// Returns another task, with its state if the board has it.
fn related(frame: &PageFrame, board: &BoardView, id: &TaskId) -> Markup {
    let card = board.card(id);
    html! {
        @if let Some(card) = card { (state(card)) }
        a dir="auto" href=(frame.links.task(id)) { @match card { Some(card) => (card.title), None => (id) } }
        @if let Some(card) = card {
            span.muted { @match (&card.gate, card.children) {
                (_, Some(parts)) => { (parts.done) "/" (parts.total) },
                (Some(gate), None) => (gate),
                _ => {},
            } }
        }
    }
}

/// Returns the way through the gates, with the time at each.
fn steps(page: &TaskDetails) -> Markup {
    let passed = &page.timeline[page.timeline.len().saturating_sub(STEPS)..];
    html! {
        ol.steps aria-label="Way through the gates" {
            @if passed.len() < page.timeline.len() { li.facts { span {} (page.timeline.len() - passed.len()) " steps before" } }
            @for entry in passed {
                li {
                    @if is_sent_back(entry) { (sign("back", "bad", "sent back")) } @else { (sign("check", "ok", "passed")) }
                    (entry.station) span { (phrases::lasting(entry.seconds)) }
                }
            }
            @if let Some(gate) = &page.gate {
                li aria-current="step" { (sign("half", "", "now here")) span { (gate) (again(page, gate.as_str())) } }
            } @else { li aria-current="step" { (sign("done", "", "ended")) span { (ended(page)) } } }
        }
    }
}

fn ended(page: &TaskDetails) -> String {
    if page.status == Status::Complete { "done".to_owned() } else { page.status.to_string() }
}

fn comment_form(frame: &PageFrame, page: &TaskDetails, kept: Option<&Posted>) -> Markup {
    let kept = kept.filter(|kept| kept.text("act") == "comment");
    html! {
        form.write method="post" action=(frame.links.task(&page.id)) {
            (hidden(frame, "comment", &page.ticket.to_string()))
            textarea #comment name="reason" rows="1" required aria-label="Comment" placeholder="Comment, ctrl-enter sends" { (kept.map(|kept| kept.text("reason")).unwrap_or_default()) }
            button.button { "Comment" }
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "a part is made where it is passed")]
fn more(title: &str, content: Markup) -> Markup {
    html! { details.more { summary { (icon("down")) (title) } (content) } }
}

fn brief(frame: &PageFrame, opening: &OpeningPage) -> Markup {
    let agents = opening.agents.iter().map(|agent| frame.name(agent));
    more(
        &format!("Brief for {}{}", opening.role, if opening.human { ", people only" } else { "" }),
        html! {
            p.facts { "Open to " (names(agents)) }
            div.text { (markdown(&opening.brief)) }
        },
    )
}

fn fields(page: &TaskDetails) -> Markup {
    html! {
        dl {
            @for (name, value) in &page.frontmatter {
                dt { (name) }
                dd {
                    @match value {
                        Value::String(text) => (text),
                        Value::Array(_) | Value::Object(_) => pre tabindex="0" { (serde_json::to_string_pretty(value).unwrap_or_default()) },
                        other => (other.to_string()),
                    }
                }
            }
        }
    }
}
