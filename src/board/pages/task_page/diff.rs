//! The changes that belong to a task: the work beside it, and its commits.

use maud::{Markup, html};

use crate::board::model::page::TaskDetails;
use crate::board::pages::layout::{PageContent, PageFrame};
use crate::board::pages::parts::icon;
use crate::domain::counted;
use crate::tasks::view::work_diff::{COMMITS_READ, TaskCommit, WorkDiff};

/// Returns the page of the changes outside `tasks/` since a task was created.
pub(crate) fn diff(
    frame: &PageFrame,
    page: &TaskDetails,
    diff: &Result<WorkDiff, String>,
) -> PageContent {
    let head = html! { h1 { "Work on " a href=(frame.links.task(&page.id)) { (page.id) } } };
    PageContent { head, body: html! { div.plain { (work(diff)) } } }
}

/// Returns changes, a fold for each file.
pub(in crate::board::pages) fn work(diff: &Result<WorkDiff, String>) -> Markup {
    let diff = match diff {
        Ok(diff) => diff,
        Err(problem) => return html! { p.notice.refusal { (problem) } },
    };
    let files: Vec<&str> =
        diff.text.split("\ndiff --git ").filter(|file| !file.is_empty()).collect();
    let count = |text: &str, sign: char, head: &str| {
        text.lines().filter(|line| line.starts_with(sign) && !line.starts_with(head)).count()
    };
    html! {
        h2 {
            @if files.is_empty() { "No file changed" } @else {
                (counted(files.len(), "file")) " changed, +" (count(&diff.text, '+', "+++")) " −" (count(&diff.text, '-', "---"))
            }
            span.muted { " since " code { (diff.since) } ", " (diff.which) }
        }
        @for file in &files {
            @let name = file.lines().next().and_then(|line| line.rsplit_once(" b/")).map_or("", |(_, name)| name);
            @let start = file.find("\n@@").map_or(0, |at| at + 1);
            details.file open[files.len() == 1] {
                summary {
                    (icon("down")) code { (name) }
                    span.far { span.ok { "+" (count(file, '+', "+++")) } " " span.late { "−" (count(file, '-', "---")) } }
                }
                (diff_text(&file[start..]))
            }
        }
        @if !diff.untracked.is_empty() {
            h2 { "Files that git does not know yet" }
            ul { @for file in &diff.untracked { li { code { (file) } } } }
        }
    }
}

/// Returns the commits of a task: author, time, and the change to the task's file.
pub(crate) fn log(
    frame: &PageFrame,
    page: &TaskDetails,
    commits: &Result<Vec<TaskCommit>, String>,
) -> PageContent {
    let head = html! { h1 { "Commits of " a href=(frame.links.task(&page.id)) { (page.id) } } };
    let body = html! {
        @match commits {
            Err(problem) => p.notice.refusal { (problem) },
            Ok(commits) => div.plain {
                @if commits.is_empty() { p { "Nothing is committed yet." } }
                @for commit in commits {
                    details {
                        summary {
                            b { (commit.subject) } " "
                            span.facts {
                                code { (commit.id) } " " (commit.author) ", "
                                @match commit.at.parse() { Ok(at) => (frame.ago(at)), Err(_) => (commit.at) }
                            }
                        }
                        (diff_text(&commit.patch))
                    }
                }
                @if commits.len() == COMMITS_READ { p.hint { "more: " code { "git log --follow -p " (page.path) } } }
            }
        }
    };
    PageContent { head, body }
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
