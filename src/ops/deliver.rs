//! Completion files: taken from the inbox, each settled in the history or refused with a reason that teaches.
//!
//! A file is renamed to `.taken/ID-NAME` first, and that id is its completion's: delivered again after a crash it is recognised.
//! It is removed only when the history has it, and refused files are kept; so a completion is always in exactly one place.

use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::complete::{Completed, complete};
use super::error::OpsError;
use super::transaction::DryRun;
use super::workspace::Workspace;
use crate::audit::AuditError;
use crate::format::completion_file::{self, Syntax};
use crate::format::diagnostic::Diagnostic;
use crate::model::{Completion, Digest};
use crate::store::inbox::{Class, Delivery, Item, Leftover, Taken};
use crate::store::random::DeliveryId;
use crate::store::{Inbox, StoreError};

/// What became of one file of the inbox.
pub enum Delivered {
    /// It counted.
    Completed {
        /// What it was called.
        name: String,
        /// What it did.
        completed: Box<Completed>,
    },
    /// It was refused.
    Refused {
        /// What it was called.
        name: String,
        /// The reason, as it stands beside the file.
        reason: Value,
        /// Where the file is now.
        path: Option<PathBuf>,
    },
    /// It stays, because nothing can be written now; it is tried again.
    Waiting {
        /// What it was called.
        name: String,
        /// What it waits for.
        error: OpsError,
    },
}

/// Returns how many files wait in the inbox.
pub fn pending(workspace: &Workspace) -> Result<usize, OpsError> {
    let inbox = Inbox::of(&workspace.paths);
    let dropped = inbox.scan(workspace.clock()(), &|_| true)?;
    let dropped = dropped.iter().filter(|candidate| candidate.class != Class::Ignored).count();
    Ok(dropped + inbox.taken()?.len())
}

/// Takes what is in the inbox, one file after the other; a bad one stops none of the others. `closed` tells which files somebody
/// saw finished. Returns what became of each, and whether files are left that may still be written.
pub fn deliver(
    workspace: &mut Workspace,
    wait: std::time::Duration,
    closed: &dyn Fn(&OsStr) -> bool,
    tell: &mut dyn FnMut(Delivered),
) -> Result<bool, OpsError> {
    let paths = workspace.paths.clone();
    let inbox = Inbox::of(&paths);
    for leftover in inbox.taken()? {
        workspace.restart_wait(wait);
        match leftover {
            Leftover::Taken(taken) => tell_of(work_on(workspace, &inbox, &taken)?, tell),
            Leftover::Stranger(item) => {
                tell_of(refuse_odd(&inbox, &item, "it was put where only `aof` puts files")?, tell)
            }
        }
    }
    let now = workspace.clock()();
    let mut growing = false;
    for candidate in inbox.scan(now, closed)? {
        workspace.restart_wait(wait);
        match candidate.class {
            Class::Ignored => {}
            Class::Growing => growing = true,
            Class::Odd(oddity) => tell_of(refuse_odd(&inbox, &candidate.item, &oddity.to_string())?, tell),
            Class::Ready => {
                let id = DeliveryId::new(now)?;
                for taken in inbox.take([(candidate.item, id)])?.taken {
                    tell_of(work_on(workspace, &inbox, &taken)?, tell);
                }
            }
        }
    }
    Ok(growing)
}

fn tell_of(delivered: Option<Delivered>, tell: &mut dyn FnMut(Delivered)) {
    if let Some(delivered) = delivered {
        tell(delivered);
    }
}

fn work_on(workspace: &Workspace, inbox: &Inbox<'_>, taken: &Taken) -> Result<Option<Delivered>, OpsError> {
    let delivery = match inbox.read(taken) {
        Ok(Some(delivery)) => delivery,
        // Another watcher was faster.
        Ok(None) => return Ok(None),
        Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
            return refuse_odd(inbox, taken.item(), &error.to_string());
        }
        Err(error) => return Err(error.into()),
    };
    let name = taken.name.clone();
    let completion = match read(&delivery, taken) {
        Ok(completion) => completion,
        Err(reason) => return refuse(inbox, taken, &delivery, reason),
    };
    match complete(workspace, &completion, DryRun::No) {
        Ok(completed) => {
            inbox.settle(taken, &delivery)?;
            Ok(Some(Delivered::Completed { name, completed: Box::new(completed) }))
        }
        Err(error) if is_passing(&error) => Ok(Some(Delivered::Waiting { name, error })),
        Err(error) => refuse(inbox, taken, &delivery, reason_of(&error)),
    }
}

/// Trouble that is not the file's: it waits in its place.
fn is_passing(error: &OpsError) -> bool {
    match error {
        OpsError::Store(
            StoreError::TaskDoubled { .. } | StoreError::WrongKind { .. } | StoreError::TooLarge { .. },
        ) => false,
        OpsError::Store(_) | OpsError::InvalidRules(_) | OpsError::Restless { .. } | OpsError::Frozen { .. } => true,
        OpsError::UnreadableTask { .. } => true,
        OpsError::Unfit { code, .. } => *code == "rules_not_committed",
        OpsError::Audit(error) => !matches!(error, AuditError::BadPerson { .. } | AuditError::BadPath { .. }),
        _ => false,
    }
}

fn read(delivery: &Delivery, taken: &Taken) -> Result<Completion, Value> {
    let Some(syntax) = Syntax::of(&taken.name) else {
        return Err(plain_reason(
            "unknown_suffix",
            "a completion file is named `*.yaml`, `*.json` or `*.md`, so that it is known how to read it",
        ));
    };
    completion_file::parse(&delivery.bytes, syntax, &taken.id.completion()).map_err(|faults| {
        let text = String::from_utf8_lossy(&delivery.bytes);
        let diagnostics: Vec<Value> =
            faults.iter().map(|fault| Diagnostic::from_fault(&taken.name, &text, fault).to_value()).collect();
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

fn refuse(inbox: &Inbox<'_>, taken: &Taken, delivery: &Delivery, reason: Value) -> Result<Option<Delivered>, OpsError> {
    let mut reason = reason;
    if let Value::Object(map) = &mut reason {
        map.insert("file".to_owned(), json!(taken.name));
        map.insert("sha256".to_owned(), json!(Digest::of(&delivery.bytes).as_str()));
    }
    let path = inbox.refuse(taken.item(), &reason)?;
    Ok(Some(Delivered::Refused { name: taken.name.clone(), reason, path }))
}

fn refuse_odd(inbox: &Inbox<'_>, item: &Item, why: &str) -> Result<Option<Delivered>, OpsError> {
    let reason = plain_reason("not_a_completion_file", why);
    let path = inbox.refuse(item, &reason)?;
    let name = item.name.to_string_lossy().into_owned();
    Ok(path.map(|path| Delivered::Refused { name, reason, path: Some(path) }))
}

fn plain_reason(code: &str, message: &str) -> Value {
    json!({"error": code, "message": message})
}

/// Returns an error as the file beside a refused one, and `--json`, show it.
pub fn reason_of(error: &OpsError) -> Value {
    let mut map = Map::new();
    map.insert("error".to_owned(), json!(error.code()));
    if let OpsError::Refused(refusal) = error {
        map.insert("message".to_owned(), json!(refusal.message()));
        map.extend(refusal.fields().into_iter().map(|(key, value)| (key.to_owned(), value)));
    } else {
        let fix = error.fix().map(|fix| format!("\n\n{fix}")).unwrap_or_default();
        map.insert("message".to_owned(), json!(format!("{}{fix}", error.problem())));
    }
    if let OpsError::UnreadableTask { diagnostics, .. } | OpsError::InvalidRules(diagnostics) = error {
        map.insert("diagnostics".to_owned(), diagnostics.iter().map(Diagnostic::to_value).collect());
    }
    Value::Object(map)
}
