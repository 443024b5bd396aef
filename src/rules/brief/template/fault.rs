//! What is wrong with a template.

use std::ops::Range;

/// Something in a template that is no hole and looks like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The bytes in the text.
    pub range: Range<usize>,
    /// What is wrong, in one sentence.
    pub message: String,
    pub help: String,
}

impl Fault {
    fn new(range: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { range, message: message.into(), help: help.into() }
    }

    pub(crate) fn unclosed(range: Range<usize>, braces: &str) -> Self {
        let close = "}".repeat(braces.len());
        let message = format!("`{braces}` is opened and not closed by `{close}`");
        Self::new(
            range,
            message,
            format!("close it, or write `\\{braces}` if it is meant as it stands"),
        )
    }

    pub(crate) fn empty(range: Range<usize>) -> Self {
        Self::new(
            range,
            "there is no name between these braces",
            "name what is to stand here, as in `{{branch}}`",
        )
    }

    pub(crate) fn nested(range: Range<usize>) -> Self {
        let message = "these braces are not closed before the next ones open";
        Self::new(
            range,
            message,
            "close them; a name is no template itself, so there are no braces inside braces",
        )
    }

    pub(crate) fn filter(range: Range<usize>, name: &str, filter: &str) -> Self {
        let filter: String = filter.chars().filter(|c| !c.is_control()).take(40).collect();
        let message = format!("there are no filters here, and `| {filter}` is one");
        Self::new(
            range,
            message,
            format!("write `{{{{{name}}}}}`: lists come as lines with dashes, all else as it is"),
        )
    }

    pub(crate) fn section(range: Range<usize>, sign: char) -> Self {
        let what = match sign {
            '#' | '^' | '/' => "sections",
            '>' => "partials",
            '!' => "comments",
            '&' => "marks for unescaped values",
            '=' => "changes of the braces",
            _ => "tags",
        };
        let message = format!("there are no {what} here, and `{{{{{sign}` begins one");
        let help = match sign {
            '#' | '^' | '/' => {
                "a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`"
            }
            '&' => "leave the sign away: nothing is ever escaped",
            _ => "remove it",
        };
        Self::new(range, message, help)
    }

    pub(crate) fn name(range: Range<usize>, name: &str) -> Self {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
        let help = "it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`";
        Self::new(range, format!("`{shown}` is no name"), help)
    }
}
