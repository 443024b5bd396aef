//! The pages of a person's texts: a new task, an edited one, and the passkey of the person.

use maud::{Markup, PreEscaped, html};

use crate::board::model::page::TaskDetails;
use crate::board::pages::forms::Posted;
use crate::board::pages::layout::{PageContent, PageFrame, hidden};
use crate::board::pages::parts::icon;
use crate::domain::Priority;
use crate::tasks::view::phrases;

/// Returns the page where the title and the text of a task are edited.
pub(crate) fn edit(frame: &PageFrame, page: &TaskDetails, kept: Option<&Posted>) -> PageContent {
    let (title, body) = match kept {
        Some(kept) => (kept.text("title"), kept.text("body")),
        None => (page.title.as_str(), page.body.as_str()),
    };
    let body = html! {
        @if kept.is_some() {
            p { "This is the text as it is now. What you save replaces it." }
            pre tabindex="0" { (page.body) }
        }
        form.editor method="post" action=(format!("{}/edit", frame.links.task(&page.id))) {
            (hidden(frame, "edit", ""))
            textarea.hidden name="was" hidden aria-hidden="true" tabindex="-1" { (PreEscaped("\n")) (page.body) }
            input type="hidden" name="title-was" value=(page.title);
            div {
                label for="title" { "Title" }
                input #title name="title" dir="auto" required value=(title);
            }
            (body_field(frame, body))
            button.button.primary type="submit" { @if kept.is_some() { "Replace with mine" } @else { "Save" } }
        }
    };
    PageContent::titled(&format!("Edit {}", page.id), body)
}

/// Returns the field of a text, with a place for its preview.
fn body_field(frame: &PageFrame, body: &str) -> Markup {
    html! {
        div {
            label for="body-text" { "Text, in Markdown" }
            // A browser drops a line break right after the tag.
            textarea #body-text name="body" rows="16" { (PreEscaped("\n")) (body) }
        }
        details.more.preview.script data-preview=(format!("{}preview", frame.links.board())) {
            summary { (icon("down")) "Preview" }
            div.text aria-live="polite" {}
        }
    }
}

/// Returns the page where a task is created.
pub(crate) fn new(frame: &PageFrame, workflows: &[String], kept: Option<&Posted>) -> PageContent {
    let value = |name: &str| kept.map(|kept| kept.text(name)).unwrap_or_default();
    let body = html! {
        form.editor method="post" action=(format!("{}new", frame.links.board())) {
            (hidden(frame, "create", ""))
            div {
                label for="title" { "Title" }
                input #title name="title" dir="auto" required autofocus value=(value("title"));
            }
            div.pair {
                div {
                    label for="priority" { "Priority" }
                    select #priority name="priority" {
                        option value="" { (phrases::priority(Priority::Medium)) }
                        @for one in Priority::ALL.iter().filter(|one| **one != Priority::Medium) {
                            option value=(one) selected[one.as_str() == value("priority")] { (phrases::priority(*one)) }
                        }
                    }
                }
                div { label for="due" { "Due" } input #due name="due" type="date" value=(value("due")); }
                div { label for="tags" { "Tags" } input #tags name="tags" type="text" placeholder="api docs" value=(value("tags")); }
                @if workflows.len() > 1 {
                    div {
                        label for="workflow" { "Workflow" }
                        select #workflow name="workflow" {
                            option value="" { "the project's default" }
                            @for name in workflows { option value=(name) selected[name == value("workflow")] { (name) } }
                        }
                    }
                }
            }
            (body_field(frame, value("body")))
            button.button.primary type="submit" { "Create" }
        }
    };
    PageContent::titled("New task", body)
}

/// Returns the page where a person makes a passkey. The server stores nothing: a commit adds the passkey's line to org.yaml.
pub(crate) fn passkey(frame: &PageFrame, host: &str, known: &[String]) -> PageContent {
    let you = frame.you.as_ref().and_then(|you| you.as_ref().ok());
    let body = html! {
        div.plain { p { "Where org.yaml has your passkey, what you say at a gate is signed with it: in this browser, by your finger, face or PIN." }
        @if !known.is_empty() {
            p { "org.yaml has for " (host) ":" }
            ul { @for fingerprint in known { li { code { (fingerprint) } } } }
        }
        @if let Some(you) = you {
            div.passkey data-host=(host) data-agent=(you) {
                p { button.button.primary type="button" disabled { "Make a passkey" } }
                p.outcome role="status" { noscript { "This needs script." } }
                div hidden {
                    p { "Put this into org.yaml, and commit it:" }
                    pre tabindex="0" {}
                }
            }
        }
        }
    };
    PageContent::titled("Passkey", body)
}
