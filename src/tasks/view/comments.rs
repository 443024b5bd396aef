//! The comments of a task, apart from its text.

use crate::domain::Timestamp;

const MARKER: &str = "<!-- aof:comment -->\n";
const NEXT: &str = "\n<!-- aof:";

/// A comment at the end of a task's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskComment {
    /// The name of the one who wrote it, as the text has it.
    pub by: String,
    pub at: Timestamp,
    pub text: String,
}

/// Returns a body without its comments, and the comments in their order. What is not as the engine writes it stays in the text.
pub(crate) fn split_comments(body: &str) -> (String, Vec<TaskComment>) {
    let (mut text, mut comments, mut rest) = (String::new(), Vec::new(), body);
    while let Some(at) = rest.find(MARKER) {
        let (before, marked) = rest.split_at(at);
        let end =
            marked[MARKER.len()..].find(NEXT).map_or(marked.len(), |end| MARKER.len() + end + 1);
        let (comment, after) = marked.split_at(end);
        text.push_str(before);
        match read(&comment[MARKER.len()..]) {
            Some(comment) => comments.push(comment),
            None => text.push_str(comment),
        }
        rest = after;
    }
    text.push_str(rest);
    (text.trim_end().to_owned(), comments)
}

fn read(comment: &str) -> Option<TaskComment> {
    let (head, text) = comment.split_once(":\n")?;
    let (by, at) = head.strip_prefix("**")?.rsplit_once("**, ")?;
    Some(TaskComment { by: by.to_owned(), at: at.parse().ok()?, text: text.trim().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_apart_from_the_text() {
        let body = "Text.\n\n<!-- aof:comment -->\n**Ada**, 2026-02-16T10:00:00Z:\n\nFirst: yes.\n\n\
                    <!-- aof:work AOF-abc@0 -->\n## plan by agent-7\n\nWork.\n\n\
                    <!-- aof:comment -->\n**Bo b**, 2026-02-16T11:00:00Z:\n\n- Second\n\n<!-- aof:comment -->\nno head\n";
        let (text, comments) = split_comments(body);
        let shown: Vec<_> = comments.iter().map(|one| (&*one.by, &*one.text)).collect();
        assert_eq!(shown, [("Ada", "First: yes."), ("Bo b", "- Second")]);
        let expected = "Text.\n\n<!-- aof:work AOF-abc@0 -->\n## plan by agent-7\n\nWork.\n\n<!-- aof:comment -->\nno head";
        assert_eq!(text, expected);
        assert_eq!(split_comments("\n").0, "");
    }
}
