//! The first page of help: what people do daily, by what they want to do. `aof help all` lists every command.

use crate::cli::output::{BOLD, CYAN, styled, width};

/// The width of the page.
const WIDTH: usize = 72;

/// A heading, and lines of one or two commands: each with its arguments and what it does.
type HelpSection = (&'static str, &'static [&'static [(&'static str, &'static str)]]);

const SECTIONS: &[HelpSection] = &[
    (
        "See what is going on",
        &[
            &[("status", "what waits for you, what is late, problems")],
            &[("list", "tasks; --mine, --late, --tag"), ("search WORDS", "")],
            &[("show ID", "one task, with its open points and relations")],
            &[("history ID", "what happened to it"), ("why ID", "who can move it")],
            &[("board", "the board here"), ("serve", "in the browser")],
        ],
    ),
    (
        "Work",
        &[
            &[("new TITLE", "a task; -p high, -t tag, --due fri")],
            &[("edit ID...", "change fields, or the text in your editor")],
            &[("next", "take the next task"), ("claim ID", "a certain one")],
            &[("done ID", "its work is done"), ("block ID", "it waits, say why")],
            &[("comment ID", "add a comment"), ("assign ID NAME", "plan it")],
            &[("release ID", "give it back"), ("undo ID", "take a step back")],
        ],
    ),
    (
        "Decide",
        &[
            &[("decide", "everything that waits for you, one by one")],
            &[("approve ID", "pass it on")],
            &[("reject ID", "-m TEXT: send it back, with what to fix")],
        ],
    ),
    (
        "Set up",
        &[
            &[("init", "begin a project; --agents connects coding agents")],
            &[("workflow", "see, check, draw and change the gates")],
            &[("org", "who is in which role")],
            &[("run", "start agents' programs"), ("watch", "keep things moving")],
            &[("sync", "with the remote"), ("doctor", "find and fix faults")],
            &[("verify", "prove that every step kept the rules")],
        ],
    ),
];

const OPTIONS: &[[(&str, &str); 2]] = &[
    [("-C DIR", "work in DIR"), ("--json", "output for programs")],
    [("-v", "exact times, more"), ("--color W", "auto, always, never")],
    [("-h", "help of a command"), ("-V", "version")],
];

/// Returns the page; `None` if it does not fit the terminal.
pub(super) fn first_page() -> Option<String> {
    if width() < WIDTH {
        return None;
    }
    let mut page = "Tasks in git: gates say who is next, every step is a commit.\n\n".to_owned();
    let usage = styled(BOLD, "Usage:");
    page.push_str(&format!("{usage} aof [COMMAND]     alone, in a project: what needs you now\n"));
    for (title, lines) in SECTIONS {
        page.push_str(&format!("\n{}\n", styled(BOLD, title)));
        lines.iter().for_each(|line| push_line(&mut page, line));
    }
    page.push_str("\nID is any unique beginning: `9x` for AOF-9xw4c.\n");
    page.push_str(&format!("\n{}\n", styled(BOLD, "Options")));
    for line in OPTIONS {
        push_line(&mut page, line);
    }
    page.push_str("\nAll commands: aof help all     Begin: aof init && aof new \"Title\"\n");
    Some(page)
}

/// Adds a line: a name of 11 columns and its text; a second name begins at column 40.
fn push_line(page: &mut String, line: &[(&str, &str)]) {
    for (place, (name, text)) in line.iter().enumerate() {
        let (command, arguments) = name.split_once(' ').unwrap_or((name, ""));
        let gap = if arguments.is_empty() { "" } else { " " };
        let shown = format!("{}{gap}{arguments}", styled(CYAN, command));
        if place == 0 {
            let pad = " ".repeat(11_usize.saturating_sub(name.len()));
            let is_alone = line.len() == 1;
            let text = if is_alone { (*text).to_owned() } else { format!("{text:<24}") };
            page.push_str(&format!("  {shown}{pad}  {text}"));
        } else {
            let pad = " ".repeat(9_usize.saturating_sub(name.len()));
            page.push_str(&format!("  {shown}{pad}  {text}"));
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
}
