//! How a program ended: the fourth source where the gate says what a status means; a crash where nobody does.

use super::read::{Asked, Said, Source};
use crate::agents::runner::attempt::printed::{Exit, Printed, last_line, last_lines, plain};
use crate::agents::runner::report::trouble::{Trouble, TroubleKind};
use crate::domain::Outcome;

/// How many of the last lines a blocker holds.
const LINES: usize = 20;

/// How many of them are of the standard error where both have some.
const ERROR_LINES: usize = 8;

/// How long a blocker is at most, in bytes.
const BYTES: usize = 4 * 1024;

/// Returns what the exit status means at the gate.
pub(crate) fn declared<'a>(asked: &Asked<'a>, exit: Exit) -> Option<&'a Outcome> {
    match exit {
        Exit::Status(status) => {
            asked.exit.iter().find(|(known, _)| *known == status).map(|(_, outcome)| outcome)
        }
        Exit::Signal(_) | Exit::Unseen => None,
    }
}

/// Returns what the exit status says.
pub(crate) fn said(asked: &Asked<'_>, printed: &Printed<'_>, outcome: &Outcome) -> Said {
    let summary = summary(asked, printed.exit);
    let mut said = Said::alone(Source::ExitStatus, Some(outcome.clone()));
    if !asked.passes(outcome) {
        let tail = last_of_both(printed);
        said.blockers = Some(vec![if tail.is_empty() { summary.clone() } else { tail }]);
    }
    said.summary = Some(summary);
    said
}

/// Returns the trouble of a program that came to no good end, with the last line that it left.
pub(crate) fn crash(asked: &Asked<'_>, printed: &Printed<'_>) -> Trouble {
    let line = last_line(&plain(printed.stderr)).or_else(|| last_line(&plain(printed.stdout)));
    let line = line.map(|line| format!("; the last thing it printed: {line}")).unwrap_or_default();
    Trouble { kind: TroubleKind::Failed, why: format!("{}{line}", summary(asked, printed.exit)) }
}

pub(crate) fn summary(asked: &Asked<'_>, exit: Exit) -> String {
    format!("`{}` {exit}", asked.program)
}

fn last_of_both(printed: &Printed<'_>) -> String {
    let (out, error) = (plain(printed.stdout), plain(printed.stderr));
    if out.trim().is_empty() || error.trim().is_empty() {
        return last_lines(if out.trim().is_empty() { &error } else { &out }, LINES, BYTES)
            .to_owned();
    }
    let error = last_lines(&error, ERROR_LINES, BYTES / 2);
    let out = last_lines(&out, LINES - error.lines().count(), BYTES - error.len() - 1);
    format!("{out}\n{error}")
}
