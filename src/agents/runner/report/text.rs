//! `text`: everything that is printed is the message.

use super::report::Report;
use crate::agents::runner::attempt::printed::{Printed, plain};

/// Returns what a program reported that prints text.
pub(crate) fn text(printed: &Printed<'_>) -> Report {
    Report { text: plain(printed.stdout), ..Report::default() }
}
