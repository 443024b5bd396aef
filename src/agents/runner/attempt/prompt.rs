//! What an agent is told: the brief of its gate, how to answer, and what the attempt before came to. Pure.

use super::answer::{Before, Mcp, again, answer_format};
use crate::agents::runner::verdict::read::Asked;
use crate::files::printable::one_line;
use crate::files::task_file::TaskFile;
use crate::git::LeftBehind;
use crate::rules::brief::context::GateContext;
use crate::tasks::view::brief_markdown::brief_markdown;
use std::path::Path;

/// The attempt before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// How it ended.
    pub before: Before,
    /// What it left in the worktree.
    pub left: LeftBehind,
}

/// Which attempt it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// From 1.
    pub attempt: u32,
    /// How many there are at most.
    pub attempts: u32,
}

/// Returns the whole prompt.
pub(crate) fn prompt(
    file: &TaskFile,
    context: &GateContext,
    asked: &Asked<'_>,
    mcp: Mcp,
    output: &Path,
    count: Count,
    earlier: Option<&Earlier>,
) -> String {
    let mut text = String::new();
    if let Some(earlier) = earlier {
        text.push_str("## Another attempt\n\n");
        text.push_str(&again(&earlier.before, count.attempt, count.attempts));
        text.push_str(&left_behind(&earlier.left));
        text.push('\n');
    }
    text.push_str(&brief_markdown(file, context, &format!("`aof task renew {}`", context.ticket)));
    text.push_str("\n## Answer\n\n");
    text.push_str(&answer_format(asked, mcp, output));
    text
}

fn left_behind(left: &LeftBehind) -> String {
    if left.paths.is_empty() {
        return String::new();
    }
    let mut text = "\nIt left these files behind, which are not committed:\n\n".to_owned();
    text.extend(left.paths.iter().map(|path| format!("- {}\n", one_line(path))));
    if left.more > 0 {
        text.push_str(&format!("- and {} more; see `git status`\n", left.more));
    }
    text
}
