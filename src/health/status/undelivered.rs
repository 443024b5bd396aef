//! Messages that do not get through.

use crate::domain::issue::Attention;
use crate::observability::notices::list::{OutgoingStanding, outgoing};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// Says where messages do not get through.
pub(crate) fn undelivered(
    workspace: &Workspace,
    attention: &mut Vec<Attention>,
) -> Result<(), OpsError> {
    let messages = outgoing(workspace)?.messages;
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
        attention.push(Attention {
            code,
            problem: format!(
                "{count} {notices} {what}, the last one to `{}`: {error}",
                last.channel
            ),
            fix: fix.to_owned(),
        });
    }
    Ok(())
}
