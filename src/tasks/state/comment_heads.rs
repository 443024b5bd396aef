//! The comments of a task as its summary has them: without their texts.

use serde::{Deserialize, Serialize};

use crate::domain::mentioned;
use crate::files::task_file::body_parts;

/// A comment as a summary has it: its author as the text names them, its time in seconds, and the names after `@`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommentHead {
    pub by: String,
    pub at: i64,
    pub names: Box<[String]>,
}

/// Returns the comments of a body; none if nobody is mentioned.
pub(crate) fn comment_heads(body: &str) -> Box<[CommentHead]> {
    let comments = body_parts(body).comments.into_iter();
    let heads: Box<[CommentHead]> = comments
        .map(|comment| CommentHead {
            names: mentioned(&comment.text).into_iter().map(str::to_owned).collect(),
            at: comment.at.as_second(),
            by: comment.by,
        })
        .collect();
    let is_needed = heads.iter().any(|head| !head.names.is_empty());
    if is_needed { heads } else { Box::default() }
}
