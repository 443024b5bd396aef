//! The body of a task file, from the closing fence on: appends texts of completions and comments, in the file's own line endings.

use crate::frontmatter::Frontmatter;
use aof_domain::{TaskId, Ticket, Timestamp, Work};

/// The start of our markers in a body.
const MARKER: &str = "<!-- aof:";

/// Returns the rest of the file with another text as its body.
pub(crate) fn replaced(file: &Frontmatter<'_>, text: &str) -> String {
    let close = file.close();
    if text.is_empty() && close.ends_with('\n') {
        return close.to_owned();
    }
    let separator = if text.is_empty() { "" } else { "\n" };
    followed(file, close, format!("{separator}{text}"))
}

/// Returns the rest of the file with a comment at the end of its body.
pub(crate) fn with_comment(
    file: &Frontmatter<'_>,
    name: &str,
    at: Timestamp,
    text: &str,
) -> String {
    let name: String = name.chars().filter(|c| !c.is_control()).collect();
    let comment =
        format!("\n<!-- aof:comment -->\n**{name}**, {at}:\n\n{}", unmarked(text.trim_end()));
    followed(file, file.rest(), comment)
}

/// Returns the rest of the file with a completion's text appended under a heading, with a marker that names the visit. Markers in
/// the text itself are escaped, so that it cannot pose as another visit's.
pub(crate) fn with_work(file: &Frontmatter<'_>, work: &Work) -> String {
    let agent = work.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    let text = unmarked(&work.text);
    followed(
        file,
        file.rest(),
        format!("\n<!-- aof:work {} -->\n## {}{agent}\n\n{text}", work.ticket, work.gate),
    )
}

/// Returns the texts of completions in the body, with the numbers of their visits.
pub fn works<'b>(task: &TaskId, body: &'b str) -> Vec<(usize, &'b str)> {
    let mut works = Vec::new();
    let mut rest = body;
    while let Some(at) = rest.find(MARKER) {
        let marker = &rest[at + MARKER.len()..];
        let end = marker.find(MARKER).unwrap_or(marker.len());
        let (section, next) = (&marker[..end], &marker[end..]);
        rest = next;
        let Some((head, text)) = section.split_once(" -->") else { continue };
        let ticket = head.strip_prefix("work ").and_then(|ticket| ticket.parse::<Ticket>().ok());
        if let Some(visit) =
            ticket.filter(|ticket| ticket.task == *task).and_then(|ticket| ticket.visit)
        {
            // The heading is ours; the text begins after it.
            let text = text.trim_start_matches(['\r', '\n']);
            works.push((visit, text.split_once('\n').map_or("", |(_, text)| text)));
        }
    }
    works
}

/// Splits a body into consecutive parts: the text before our first marker, and each comment and work with the text after it, from
/// the blank line before its marker on.
pub fn passages(body: &str) -> Vec<&str> {
    let mut cuts = vec![0];
    let lines = body
        .match_indices(MARKER)
        .map(|(at, _)| at)
        .filter(|at| *at == 0 || body[..*at].ends_with('\n'));
    cuts.extend(lines.map(|at| {
        let before = &body[..at];
        let blank = ["\n\n", "\r\n\r\n"]
            .iter()
            .find(|blank| before.ends_with(**blank))
            .map_or(0, |blank| blank.len() / 2);
        at - blank
    }));
    cuts.push(body.len());
    cuts.windows(2).map(|cut| &body[cut[0]..cut[1]]).collect()
}

/// The text of a body by whose it is: without our markers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BodyParts<'b> {
    /// The task's text, and what completions added, in order.
    pub texts: Vec<&'b str>,
    pub comments: Vec<BodyComment>,
}

/// A comment in a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyComment {
    /// The name of whoever wrote it, as the text has it.
    pub by: String,
    pub at: Timestamp,
    pub text: String,
}

/// Splits a body into its texts and its comments.
pub fn body_parts(body: &str) -> BodyParts<'_> {
    let mut parts = BodyParts::default();
    for passage in passages(body) {
        let marked = passage.trim_start().strip_prefix(MARKER);
        let text =
            marked.and_then(|rest| rest.split_once("-->")).map(|(head, text)| (head.trim(), text));
        match text {
            Some(("comment", text)) => match comment(text) {
                Some(comment) => parts.comments.push(comment),
                None => parts.texts.push(text),
            },
            Some((_, text)) => parts.texts.push(text),
            None => parts.texts.push(passage),
        }
    }
    parts.texts.retain(|text| !text.trim().is_empty());
    parts
}

/// Reads a comment after its marker, as [`with_comment`] writes it.
fn comment(text: &str) -> Option<BodyComment> {
    let (head, text) = text.trim_start().split_once('\n')?;
    let (by, at) = head.trim().strip_prefix("**")?.strip_suffix(':')?.rsplit_once("**, ")?;
    Some(BodyComment { by: by.to_owned(), at: at.parse().ok()?, text: text.trim().to_owned() })
}

/// Returns the passage marked as superseded, if it is the work of one of these tickets.
pub fn set_aside(passage: &str, tickets: &[Ticket]) -> String {
    let names = tickets.iter().map(|ticket| format!("{MARKER}work {ticket} -->"));
    let marker = names.into_iter().find(|marker| passage.trim_start().starts_with(marker.as_str()));
    match marker {
        Some(marker) => passage.replacen(&marker, &marker.replacen("work", "superseded", 1), 1),
        None => passage.to_owned(),
    }
}

/// Returns the text with our markers escaped; it renders the same.
fn unmarked(text: &str) -> String {
    text.replace(MARKER, "<!--  aof:")
}

/// Appends a text, in the file's own line endings.
fn followed(file: &Frontmatter<'_>, standing: &str, mut text: String) -> String {
    let crlf = file.text().contains("\r\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if crlf {
        text = text.replace("\r\n", "\n").replace('\n', "\r\n");
    }
    let gap = match (standing.ends_with('\n'), crlf) {
        (true, _) => "",
        (false, true) => "\r\n",
        (false, false) => "\n",
    };
    format!("{standing}{gap}{text}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_apart_from_the_text() {
        let body = "Text.\n\n<!-- aof:comment -->\n**Ada**, 2026-02-16T10:00:00Z:\n\nFirst: yes.\n\n\
                    <!-- aof:work AOF-abc@0 -->\n## plan by agent-7\n\nWork.\n\n\
                    <!-- aof:comment -->\n**Bo b**, 2026-02-16T11:00:00Z:\n\n- Second\n\n<!-- aof:comment -->\nno head\n";
        for body in [body.to_owned(), body.replace('\n', "\r\n")] {
            let parts = body_parts(&body);
            let shown: Vec<_> = parts.comments.iter().map(|one| (&*one.by, &*one.text)).collect();
            assert_eq!(shown, [("Ada", "First: yes."), ("Bo b", "- Second")]);
            let texts: Vec<String> =
                parts.texts.iter().map(|text| text.trim().replace('\r', "")).collect();
            assert_eq!(texts, ["Text.", "## plan by agent-7\n\nWork.", "no head"]);
        }
        assert_eq!(body_parts("\n"), BodyParts::default());
    }
}
