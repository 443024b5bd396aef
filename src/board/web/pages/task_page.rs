//! A task in full: its text, the possible acts, the reasons for its state, and its history with the time of each step.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;

use super::board_page::card_marks;
use super::forms::{Posted, hidden, task_forms};
use super::layout::{PageFrame, length, moment, names, prose};
use super::markdown::markdown;
use crate::board::model::columns::Card;
use crate::board::model::page::{OpeningPage, TaskDetails, TimelineEntry};
use crate::domain::CompletionId;
use crate::tasks::view::work_diff::{COMMITS_READ, TaskCommit, WorkDiff};

/// Returns a task's page. Without a completion id the page allows no acts.
pub(crate) fn task(
    frame: &PageFrame,
    page: &TaskDetails,
    card: Option<&Card>,
    completion: Option<&CompletionId>,
    kept: Option<&Posted>,
    graph: &Markup,
) -> Markup {
    html! {
        article.task data-task=(page.id) {
            header #head data-live {
                h1 dir="auto" { (page.title) }
                p.facts {
                    code { (page.id) } " · "
                    a href=(frame.links.workflow(&page.workflow)) { (page.workflow) } " · "
                    b { @if let Some(gate) = &page.gate { (gate) } @else { (page.status) } }
                    @if page.held { " · held" }
                    @if !page.agents.is_empty() { " · " (names(&page.agents)) }
                }
                (card_marks(card))
                @if let Some(frozen) = &page.frozen { p.notice.refusal { (frozen) } }
                ul.reasons { @for reason in &page.reasons { li { (prose(reason)) } } }
            }
            @if let (Some(Ok(you)), Some(completion)) = (&frame.you, completion) {
                (task_forms(frame, page, you, completion, kept))
            }
            section.body #body data-live aria-label="Text" {
                @if let Some(Value::String(text)) = page.frontmatter.get("description") { p.description { (text) } }
                @if page.body.trim().is_empty() { p.muted { "This task has no text." } } @else { (markdown(&page.body)) }
            }
            section #history data-live { (history(&page.timeline)) }
            section #graph data-live { (graph) }
            section #more data-live { (more(frame, page)) }
        }
    }
}

fn history(timeline: &[TimelineEntry]) -> Markup {
    html! {
        h2 { "History" }
        @if timeline.is_empty() { p.muted { "No visit has ended yet." } }
        ol.timeline reversed {
            @for entry in timeline.iter().rev() {
                li {
                    p {
                        b { (entry.station) } " " span.outcome { (entry.outcome) }
                        @if let Some(to) = &entry.to { " → " (to) }
                    }
                    p.facts {
                        time datetime=(moment(entry.exited)) { (moment(entry.exited)) }
                        " · took " (length(entry.seconds))
                        @if let Some(agent) = &entry.agent { " · " (agent) }
                    }
                    @if !entry.summary.is_empty() { p.summary { (entry.summary) } }
                    @if !entry.blockers.is_empty() { ul { @for text in &entry.blockers { li { (text) } } } }
                    @if let Some(notes) = &entry.notes { p.summary { (notes) } }
                }
            }
        }
    }
}

fn more(frame: &PageFrame, page: &TaskDetails) -> Markup {
    html! {
        @for opening in &page.openings { (brief(opening)) }
        details { summary { "Fields" } (fields(page)) }
        @if frame.you.is_some() {
            p { a href=(format!("{}/log", frame.links.task(&page.id))) { "Each commit, with what it changed in the task" } }
            p { a href=(format!("{}/diff", frame.links.task(&page.id))) { "What changed elsewhere since it was created" } }
        }
        p.muted { "The file is " code { (page.path) } }
    }
}

fn brief(opening: &OpeningPage) -> Markup {
    html! {
        details {
            summary { "Brief for " (opening.role) @if opening.human { " (people only)" } }
            p.facts { "may be done by " (names(&opening.agents)) }
            div.body { (markdown(&opening.brief)) }
        }
    }
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

/// Returns the page where the title and the text of a task are edited.
pub(crate) fn edit(frame: &PageFrame, page: &TaskDetails, kept: Option<&Posted>) -> Markup {
    let (title, body) = match kept {
        Some(kept) => (kept.text("title"), kept.text("body")),
        None => (page.title.as_str(), page.body.as_str()),
    };
    html! {
        h1 { "Edit " (page.id) }
        @if kept.is_some() {
            p { "This is the text as it is now. What you save replaces it." }
            pre tabindex="0" { (page.body) }
        }
        form.editor method="post" action=(format!("{}/edit", frame.links.task(&page.id))) {
            (hidden(frame, "edit", ""))
            textarea.hidden name="was" hidden aria-hidden="true" tabindex="-1" { (PreEscaped("\n")) (page.body) }
            input type="hidden" name="title-was" value=(page.title);
            label for="title" { "Title" }
            input #title name="title" dir="auto" required value=(title);
            (body_field(frame, body))
            button.primary type="submit" { @if kept.is_some() { "Replace with mine" } @else { "Save" } }
        }
    }
}

/// Returns the field of a text, with a place for its preview.
fn body_field(frame: &PageFrame, body: &str) -> Markup {
    html! {
        label for="body-text" { "Text, in Markdown" }
        // A browser drops a line break right after the tag.
        textarea #body-text name="body" rows="16" { (PreEscaped("\n")) (body) }
        details.preview data-preview=(format!("{}preview", frame.links.board())) {
            summary { "Preview" }
            div.body aria-live="polite" {}
        }
    }
}

/// Returns the page where a task is created.
pub(crate) fn new(frame: &PageFrame, workflows: &[String], kept: Option<&Posted>) -> Markup {
    let value = |name: &str| kept.map(|kept| kept.text(name)).unwrap_or_default();
    html! {
        h1 { "New task" }
        form.editor method="post" action=(format!("{}new", frame.links.board())) {
            (hidden(frame, "create", ""))
            label for="title" { "Title" }
            input #title name="title" dir="auto" required autofocus value=(value("title"));
            label for="workflow" { "Workflow" }
            select #workflow name="workflow" {
                option value="" { "the project's default" }
                @for name in workflows { option value=(name) selected[name == value("workflow")] { (name) } }
            }
            label for="priority" { "Priority" }
            select #priority name="priority" {
                option value="" { "medium" }
                @for word in ["critical", "high", "low"] { option value=(word) selected[word == value("priority")] { (word) } }
            }
            label for="due" { "Due" }
            input #due name="due" type="date" value=(value("due"));
            label for="tags" { "Tags" }
            input #tags name="tags" placeholder="api, docs" value=(value("tags"));
            (body_field(frame, value("body")))
            button.primary type="submit" { "Create" }
        }
    }
}

/// Returns the changes outside `tasks/` since a task was created.
pub(crate) fn diff(
    frame: &PageFrame,
    page: &TaskDetails,
    diff: &Result<WorkDiff, String>,
) -> Markup {
    html! {
        h1 { "Work on " a href=(frame.links.task(&page.id)) { (page.id) } }
        @match diff {
            Err(problem) => p.notice.refusal { (problem) },
            Ok(diff) => {
                p.muted { "Changes since " code { (diff.since) } ", " (diff.which) }
                @if diff.text.is_empty() { p { "Nothing changed." } }
                (diff_text(&diff.text))
                @if !diff.untracked.is_empty() {
                    h2 { "Files that git does not know yet" }
                    ul { @for file in &diff.untracked { li { code { (file) } } } }
                }
            }
        }
    }
}

/// Returns the commits of a task: author, time, and the change to the task's file.
pub(crate) fn log(
    frame: &PageFrame,
    page: &TaskDetails,
    commits: &Result<Vec<TaskCommit>, String>,
) -> Markup {
    html! {
        h1 { "Commits of " a href=(frame.links.task(&page.id)) { (page.id) } }
        @match commits {
            Err(problem) => p.notice.refusal { (problem) },
            Ok(commits) => {
                @if commits.is_empty() { p { "Nothing is committed yet." } }
                @for commit in commits {
                    details {
                        summary { (commit.subject) }
                        p.facts { code { (commit.id) } " · " (commit.author) " · " time datetime=(commit.at) { (commit.at) } }
                        (diff_text(&commit.patch))
                    }
                }
                @if commits.len() == COMMITS_READ { p.more { "more: " code { "git log --follow -p " (page.path) } } }
            }
        }
    }
}

fn diff_text(text: &str) -> Markup {
    html! { pre.diff tabindex="0" { @for line in text.lines() { span.(diff_class(line)) { (line) "\n" } } } }
}

fn diff_class(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "added",
        Some(b'-') => "removed",
        Some(b'@') => "place",
        _ => "same",
    }
}

/// Returns the page where a person makes a passkey. The server stores nothing: a commit adds the passkey's line to org.yaml.
pub(crate) fn passkey(frame: &PageFrame, host: &str, known: &[String]) -> Markup {
    let you = frame.you.as_ref().and_then(|you| you.as_ref().ok());
    html! {
        h1 { "Passkey" }
        p { "Where org.yaml has your passkey, what you say at a gate is signed with it: in this browser, by your finger, face or PIN." }
        @if !known.is_empty() {
            p { "org.yaml has for " (host) ":" }
            ul { @for fingerprint in known { li { code { (fingerprint) } } } }
        }
        @if let Some(you) = you {
            div.passkey data-host=(host) data-agent=(you) {
                p { button.primary type="button" disabled { "Make a passkey" } }
                p.outcome role="status" { noscript { "This needs script." } }
                div hidden {
                    p { "Put this into org.yaml, and commit it:" }
                    pre tabindex="0" {}
                }
            }
        }
    }
}
