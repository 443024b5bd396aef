//! Messages that do not get through.

use crate::health::subject::{Found, Subject};
use crate::observability::notices::list::{OutgoingStanding, outgoing};
use crate::project::issue::Issue;

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let mut issues = Vec::new();
    if subject.project().is_none() {
        return Ok(issues);
    }
    let messages = outgoing(subject.workspace)?.messages;
    let (dropped, failing): (Vec<_>, Vec<_>) = messages
        .iter()
        .filter(|message| message.error.is_some())
        .partition(|message| message.standing == OutgoingStanding::Dropped);
    for (code, count, what, last, fix) in [
        (
            "notices_failing",
            failing.len(),
            "could not be delivered yet",
            failing.last(),
            "they are tried again; see `aof notices`, or `aof notices --deliver` to try them now",
        ),
        (
            "notices_dropped",
            dropped.len(),
            "given up",
            dropped.last(),
            "see `aof notices`; `aof notices --forget` forgets them",
        ),
    ] {
        let Some(last) = last else { continue };
        let error = last.error.clone().unwrap_or_default();
        let notices = if count == 1 { "notice" } else { "notices" };
        issues.push(Issue::new(
            code,
            format!("{count} {notices} {what}, the last one to `{}`: {error}", last.channel),
            fix,
        ));
    }
    Ok(issues)
}
