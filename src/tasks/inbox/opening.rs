//! Taken files, opened: each says a completion, or is refused.

use serde_json::{Map, Value, json};

use super::intended_visit::bind;
use super::kept_back::wait_or_fail;
use super::recipient::Recipient;
use super::refusing::{plain_reason, refuse, refuse_odd};
use crate::domain::Completion;
use crate::files::completion_file;
use crate::files::completion_file::Syntax;
use crate::files::diagnostic::diagnostic::Diagnostic;
use crate::project::error::error::OpsError;

use crate::storage::inbox::{Delivery, TakenFile, TakenLock};
use crate::storage::{Inbox, StoreError};

/// A file that was taken.
pub(crate) struct Dropped {
    pub(crate) taken: TakenFile,
    /// At which look of [`Heard`](crate::tasks::inbox::intended_visit::Heard) it first lay in the inbox; nothing where none has seen it there.
    pub(crate) first_seen: Option<u64>,
}

impl Dropped {
    pub(crate) const fn before(taken: TakenFile) -> Self {
        Self { taken, first_seen: None }
    }
}

/// A completion that was read from its file.
pub(crate) struct Work {
    pub(crate) taken: TakenFile,
    /// Held for as long as it is worked on.
    _held: TakenLock,
    pub(crate) delivery: Delivery,
    /// What it says, of the visit that it was found to mean, if any.
    pub(crate) completion: Completion,
    /// Whether it says itself which visit it means.
    pub(crate) names_visit: bool,
    /// At which look it first lay in the inbox.
    pub(crate) first_seen: Option<u64>,
}

/// Reads a taken file; what is no completion is refused.
pub(crate) fn open(
    inbox: &Inbox<'_>,
    Dropped { taken, first_seen }: Dropped,
    recipient: &mut dyn Recipient,
) -> Result<Option<Work>, OpsError> {
    let held = inbox
        .hold(&taken)
        .and_then(|held| held.map(|held| Ok((held, inbox.read(&taken)?))).transpose());
    let (held, delivery) = match held {
        Ok(Some((held, Some(delivery)))) => (held, delivery),
        // Another watcher has it, or was faster.
        Ok(_) => return Ok(None),
        Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
            refuse_odd(inbox, taken.item(), &error.to_string(), recipient)?;
            return Ok(None);
        }
        Err(error) => {
            wait_or_fail(taken.name, error.into(), recipient)?;
            return Ok(None);
        }
    };
    match read(&delivery, &taken) {
        Ok(mut completion) => {
            let names_visit = completion.ticket.visit.is_some();
            bind(&mut completion, taken.meant.as_ref());
            Ok(Some(Work { taken, _held: held, delivery, completion, names_visit, first_seen }))
        }
        Err(reason) => {
            refuse(inbox, &taken, &delivery, reason, recipient)?;
            Ok(None)
        }
    }
}

fn read(delivery: &Delivery, taken: &TakenFile) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&taken.name) else {
        return Err(plain_reason(
            "unknown_suffix",
            "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it",
        ));
    };
    completion_file::parse(&delivery.bytes, syntax, &taken.id).map_err(|faults| {
        let text = String::from_utf8_lossy(&delivery.bytes);
        let diagnostics: Vec<Value> = faults
            .iter()
            .map(|fault| Diagnostic::from_fault(&taken.name, &text, fault).to_value())
            .collect();
        let first = faults.first().map(|fault| fault.message.clone()).unwrap_or_default();
        let mut reason = Map::new();
        reason.insert("error".to_owned(), json!("unreadable_completion"));
        reason.insert(
            "message".to_owned(),
            json!(format!("{first}\n\nMend the file and drop it into `.aof/inbox` again.")),
        );
        reason.insert("diagnostics".to_owned(), json!(diagnostics));
        Value::Object(reason)
    })
}
