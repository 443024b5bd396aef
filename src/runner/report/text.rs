//! `text`: everything that is printed is the message.

use super::Report;
use crate::runner::printed::{Printed, plain};

/// Returns what a program reported that prints text.
pub fn text(printed: &Printed<'_>) -> Report {
    Report { text: plain(printed.stdout), ..Report::default() }
}
