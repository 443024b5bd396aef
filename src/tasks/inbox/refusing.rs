//! Files that are refused: put aside, with a reason that teaches beside each.

use serde_json::{Value, json};

use crate::domain::Digest;
use crate::project::error::error::OpsError;
use crate::storage::Inbox;
use crate::storage::inbox::{Delivery, InboxFile, TakenFile};
use crate::system::crash_points;
use crate::tasks::inbox::kept_back::wait_or_fail;
use crate::tasks::inbox::recipient::{Delivered, Recipient};

pub(crate) fn refuse(
    inbox: &Inbox<'_>,
    taken: &TakenFile,
    delivery: &Delivery,
    mut reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    reason["file"] = json!(taken.name);
    reason["sha256"] = json!(Digest::of(&delivery.bytes).as_str());
    crash_points::point("inbox.judged");
    put_aside(inbox, taken.item(), taken.name.clone(), reason, recipient)
}

pub(crate) fn refuse_odd(
    inbox: &Inbox<'_>,
    item: &InboxFile,
    why: &str,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    let name = item.name.to_string_lossy().into_owned();
    let mut reason = plain_reason("not_a_completion_file", why);
    reason["file"] = json!(name);
    put_aside(inbox, item, name, reason, recipient)
}

fn put_aside(
    inbox: &Inbox<'_>,
    item: &InboxFile,
    name: String,
    reason: Value,
    recipient: &mut dyn Recipient,
) -> Result<(), OpsError> {
    match inbox.refuse(item, &reason) {
        Ok(Some(path)) => recipient.told(Delivered::Refused { name, reason, path }),
        // Another watcher was faster.
        Ok(None) => {}
        Err(error) => wait_or_fail(name, error.into(), recipient)?,
    }
    Ok(())
}

pub(crate) fn plain_reason(code: &str, message: &str) -> Value {
    json!({"error": code, "message": message})
}
