//! The line of CLAUDE.md that has Claude Code read AGENTS.md: it reads CLAUDE.md only, and takes in what that imports.

use super::agent_files::line_break;

const IMPORT: &str = "@AGENTS.md";

/// Returns the text with the line, at its end if it has none.
pub(crate) fn merged(text: &str) -> String {
    if imports(text) {
        return text.to_owned();
    }
    let newline = line_break(text);
    let apart = match text.trim_start_matches('\u{feff}') {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    format!("{text}{apart}{IMPORT}{newline}")
}

/// Imports count anywhere in a line, but not in code.
fn imports(text: &str) -> bool {
    let mut in_code = false;
    text.lines().any(|line| {
        let fence = line.trim_start();
        if fence.starts_with("```") || fence.starts_with("~~~") {
            in_code = !in_code;
        }
        !in_code && line.split_whitespace().any(|word| word == IMPORT || word == "@./AGENTS.md")
    })
}
