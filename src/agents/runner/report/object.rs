//! `json`: everything that is printed is one object.

use super::report::Report;
use crate::agents::runner::attempt::printed::{Printed, plain};
use crate::domain::Map;
use crate::files::json::json;

/// Returns what a program reported that prints one JSON object and nothing else.
pub(crate) fn json(printed: &Printed<'_>) -> Report {
    let text = String::from_utf8_lossy(printed.stdout);
    let mut report = Report { text: plain(printed.stdout), ..Report::default() };
    match crate::agents::runner::report::object::json::read::<Map>(
        text.trim_start_matches('\u{feff}'),
    ) {
        Ok(map) => report.structured = Some(map),
        Err(_) if report.text.trim().is_empty() => {}
        Err(error) => {
            report.remarks.push(format!("what was printed is not one JSON object: {error}"));
        }
    }
    report
}
