//! Points in time, as files have them.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::config::decode::Fields;
use super::yaml::Fault;
use crate::domain::Timestamp;

/// Returns a point in time: RFC 3339, or a day, which is its first second in UTC.
pub(crate) fn time(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    faults: &mut Vec<Fault>,
) -> Option<Timestamp> {
    let node = fields.take(key)?;
    let time = point_in_time(node.as_str().unwrap_or_default());
    if time.is_none() {
        faults.push(
            Fault::new(
                "invalid_time",
                node.span.clone(),
                format!("`{key}` is not a point in time"),
            )
            .help("write it like `2026-02-16T10:00:00Z`"),
        );
    }
    time
}

/// Returns the point in time that a text says.
pub(crate) fn point_in_time(text: &str) -> Option<Timestamp> {
    let day = || {
        text.parse::<Date>()
            .ok()
            .and_then(|day| day.to_zoned(TimeZone::UTC).ok())
            .map(|zoned| zoned.timestamp())
    };
    text.parse().ok().or_else(day)
}
