//! Where a gate reads its verdict from when a completion names no outcome: a mark in the completion's text.

use crate::domain::Outcome;

/// What marks the verdict, and what the absence of a mark means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signal {
    /// The mark.
    pub mark: Mark,
    /// The outcome that no verdict, or one that nobody can read, stands for; absent means a rejection.
    pub missing: Option<Outcome>,
}

/// A mark in a text. The last one in a text counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mark {
    /// `<tag>PASS</tag>`, `<tag>FAIL</tag>`, or `<tag>OUTCOME</tag>`.
    Tag {
        /// The tag's name.
        tag: String,
        /// What `PASS` stands for; absent means the gate's decision of that name, else `complete`.
        pass: Option<Outcome>,
        /// What `FAIL` stands for; absent means the gate's decision of that name, else `needs_review`.
        fail: Option<Outcome>,
    },
    /// `KEY: OUTCOME` on a line.
    Key(String),
    /// A line as it stands: it is there or it is not.
    Expects(String),
    /// `$status` in the frontmatter of the text.
    Status,
}

/// Names that no tag can have: what stands in such a tag is quoted, or a promise that everybody makes.
pub(crate) const NO_TAGS: &[&str] = &["promise", "code", "pre", "blockquote"];
