//! `aof search`

use std::ops::Range;

use serde_json::{Value, json};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::columns::NARROW;
use super::list::wrong_filter;
use crate::cli::render::changes;
use crate::cli::render::table::{cut, fitting};
use crate::cli::{CYAN, CliError, CliResult, Session, YELLOW, dim, styled, width};
use crate::files::printable::one_line;
use crate::project::issue::left_out_warning;
use crate::project::workspace::acting_agent;
use crate::tasks::headers::filter::{TaskFilter, is_condition};
use crate::tasks::headers::list::{ListRequest, Sort, check_filter_names, list};
use crate::tasks::headers::listing::{SearchField, read_file};
use crate::tasks::headers::search::{NoWords, Query};
use crate::tasks::headers::summary::{SummaryDocument, TaskSummary};
use crate::tasks::view::task_view::warnings_value;

/// The largest width of an excerpt.
const WIDEST: usize = 120;
/// The least room for a title.
const NARROWEST: usize = 16;
const GAP: &str = "  ";

#[derive(Debug, clap::Args)]
pub(crate) struct SearchArgs {
    /// Words, all of which must be there, in quotes a phrase; and conditions such as `role:backend`, `is:overdue`
    #[arg(required = true, value_name = "WORDS", value_parser = search_word)]
    words: Vec<String>,
    /// Finished tasks too
    #[arg(short, long)]
    all: bool,
    /// How many at most
    #[arg(long, value_name = "NUMBER", default_value = "30")]
    limit: usize,
}

/// Checks a word of a search: a condition, or text with a letter or digit.
fn search_word(word: &str) -> Result<String, NoWords> {
    if !is_condition(word) {
        Query::of_arguments(&[word])?;
    }
    Ok(word.to_owned())
}

pub(crate) fn run(session: &Session, args: &SearchArgs) -> CliResult {
    let (workspace, in_force) = session.open("search")?;
    let (conditions, words): (Vec<&String>, Vec<&String>) =
        args.words.iter().partition(|word| is_condition(word));
    let query = Query::of_arguments(&words).map_err(|fault| {
        CliError::refused(
            "invalid_search",
            fault.to_string(),
            "give a word; `aof list` takes conditions alone",
        )
    })?;
    let filter = TaskFilter::of_words(conditions).map_err(|fault| wrong_filter(&fault))?;
    let you = acting_agent(&workspace, &in_force.rules.org, None, true).ok();
    let (search, all) = (Some(query.clone()), args.all);
    let request = ListRequest { filter, you, search, all, ..ListRequest::default() };
    let listing = list(&workspace, &in_force, &request, Sort::Relevance);
    check_filter_names(&request.filter, &in_force.rules, &listing)?;
    let workflow = &in_force.rules.project.default_workflow;
    let room = width().saturating_sub(INDENT.len()).min(WIDEST);
    let (mut values, mut page): (Vec<Value>, _) = (Vec::new(), String::new());
    for (task, path) in listing.tasks.iter().take(args.limit) {
        let Some(found) = listing.matches.get(&task.id) else { continue };
        // A file that has just been removed has no text to show.
        let file = read_file(&workspace.paths, workflow, &task.id, path).ok();
        let passage = file.map(|(file, _)| query.passage(*found, &file)).unwrap_or_default();
        if session.output.is_json() {
            let mut value = json!(SummaryDocument::of(task, path, workspace.now()));
            value["score"] = json!(found.score);
            value["field"] = json!(found.field.as_str());
            value["excerpt"] = json!(excerpt(&query, &passage, WIDEST).0);
            values.push(value);
        } else {
            page.push_str(&headline(&query, task));
            if !matches!(found.field, SearchField::Id | SearchField::Title) {
                let (text, marks) = excerpt(&query, &passage, room);
                page.push_str(&format!("{INDENT}{}\n", highlighted(&text, &marks)));
            }
        }
    }
    let total = listing.tasks.len();
    let warning = left_out_warning(&workspace);
    if session.output.is_json() {
        let mut value = json!({
            "tasks": values,
            "total": total,
            "unreadable": changes::unreadable_values(&listing.unreadable),
        });
        if let Some(warning) = &warning {
            value["warnings"] = warnings_value(std::slice::from_ref(warning));
        }
        session.output.data(value);
    } else if total == 0 {
        let hint = if args.all { "" } else { "; `--all` searches finished tasks too" };
        session.output.say(format!("nothing found{hint}"));
    } else {
        session.output.print(&page);
        if total > args.limit {
            let text = format!("{} of {total} tasks; `--limit {total}` shows all", args.limit);
            session.output.say(dim(text));
        }
    }
    session.warn_all(warning.as_slice());
    let code = changes::tell_unreadable(session, &listing.unreadable);
    // As in a list: the system frees the memory faster.
    std::mem::forget(listing);
    Ok(code)
}

const INDENT: &str = "    ";

/// Returns the line of a task: id, title, and state.
fn headline(query: &Query, task: &TaskSummary) -> String {
    let place = match task.current_gate() {
        Some(gate) if width() < NARROW => gate.to_string(),
        Some(gate) => format!("{gate}, {}", task.shown_state()),
        None => task.shown_state().to_owned(),
    };
    let others = task.id.as_str().len() + place.width() + 2 * GAP.len();
    let title = one_line(&task.title);
    let title = cut(&title, width().saturating_sub(others).max(NARROWEST));
    let marked = highlighted(&title, &query.marks(&title));
    format!("{}{GAP}{marked}{GAP}{}\n", styled(CYAN, &task.id), dim(place))
}

/// Returns a part of the text around the first match, in `width` columns, with the ranges of the matches in it.
fn excerpt(query: &Query, text: &str, width: usize) -> (String, Vec<Range<usize>>) {
    let text = one_line(text);
    let marks = query.marks(&text);
    let first = marks.first().map_or(0, |mark| mark.start);
    // A quarter of the room is for the text before the match; one column each is for the ellipses.
    let start = start_of(&text[..first], width / 4);
    let end = start + fitting(&text[start..], width.saturating_sub(2));
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    let within = marks.into_iter().filter(|mark| mark.end <= end);
    let moved = |at: usize| at - start + before.len();
    let marks = within.map(|mark| moved(mark.start)..moved(mark.end)).collect();
    (format!("{before}{}{after}", text[start..end].trim_end()), marks)
}

/// Returns the beginning of the last words of a text that fit into `width` columns.
fn start_of(text: &str, width: usize) -> usize {
    let (mut used, mut start) = (0, text.len());
    for (at, letter) in text.char_indices().rev() {
        used += letter.width().unwrap_or(0);
        if used > width {
            return start;
        }
        if at == 0 || text[..at].ends_with(' ') {
            start = at;
        }
    }
    start
}

fn highlighted(text: &str, marks: &[Range<usize>]) -> String {
    let (mut shown, mut done) = (String::new(), 0);
    for mark in marks {
        shown.push_str(&text[done..mark.start]);
        shown.push_str(&styled(YELLOW, &text[mark.clone()]));
        done = mark.end;
    }
    shown + &text[done..]
}
