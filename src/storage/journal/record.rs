//! The text of the record: the SHA-256 of what follows, a line break, JSON. After a power cut a file that was written over may
//! have parts of two records, and parts of two may be JSON as well; the digest tells that they are neither.

use serde::{Deserialize, Serialize};

use super::{Aim, Intent, Made, Moved, Old, Write};
use crate::domain::Digest;
use crate::storage::ProjectPath;
use crate::storage::fs::project_path::BadPath;

#[derive(Serialize, Deserialize)]
struct Record {
    /// 1 where it is to be undone. A number, and the first of all: either has as many bytes, and they are at the beginning.
    #[serde(default)]
    undo: u8,
    pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    writes: Vec<WriteRecord>,
    locks: Option<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct WriteRecord {
    task: Option<String>,
    old: Option<OldRecord>,
    new: String,
    sha256: String,
    companions: Vec<MovedRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    made: Vec<MadeRecord>,
}

#[derive(Serialize, Deserialize)]
struct OldRecord {
    path: String,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
struct MovedRecord {
    from: String,
    to: String,
    sha256: String,
}

#[derive(Serialize, Deserialize)]
struct MadeRecord {
    path: String,
    sha256: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<String>,
}

/// Returns the text that says this.
pub(crate) fn text(intent: &Intent) -> Vec<u8> {
    let json = serde_json::to_vec(&Record::of(intent)).expect("a record of plain fields is JSON");
    [Digest::of(&json).as_str().as_bytes(), b"\n", &json].concat()
}

/// Why a text cannot be read, and what of it can.
#[derive(Debug)]
pub(crate) struct Unread {
    pub reason: String,
    pub locks: Option<serde_json::Value>,
}

/// Reads such a text, or tells what is wrong with it. A whole one that says otherwise what was to be written, as one of an earlier
/// version does, still says whose git's locks are.
pub(crate) fn intent(text: &[u8]) -> Result<Intent, Unread> {
    let parted =
        text.iter().position(|byte| *byte == b'\n').map(|end| (&text[..end], &text[end + 1..]));
    let damaged = |reason: &str| Unread { reason: reason.to_owned(), locks: None };
    let (digest, json) = parted.ok_or_else(|| damaged("it has no digest"))?;
    if digest != Digest::of(json).as_str().as_bytes() {
        return Err(damaged("it is not what its digest was made of"));
    }
    let record = serde_json::from_slice::<Record>(json).map_err(|fault| fault.to_string());
    record.and_then(Record::intent).map_err(|reason| {
        let said = serde_json::from_slice::<serde_json::Value>(json).unwrap_or_default();
        Unread { reason, locks: said.get("locks").filter(|locks| !locks.is_null()).cloned() }
    })
}

impl Record {
    fn of(intent: &Intent) -> Self {
        let written = |write: &Write| WriteRecord {
            task: write.task.as_ref().map(ToString::to_string),
            old: write.old.as_ref().map(OldRecord::of),
            new: write.new.to_string(),
            sha256: write.sha256.as_str().to_owned(),
            companions: write.companions.iter().map(MovedRecord::of).collect(),
            made: write.made.iter().map(MadeRecord::of).collect(),
        };
        Self {
            undo: u8::from(intent.aim == Aim::Undo),
            pid: intent.pid,
            boot: intent.boot.clone(),
            writes: intent.writes.iter().map(written).collect(),
            locks: intent.locks.clone(),
        }
    }

    fn intent(self) -> Result<Intent, String> {
        let writes: Result<_, String> = self.writes.into_iter().map(WriteRecord::write).collect();
        let aim = if self.undo == 0 { Aim::Finish } else { Aim::Undo };
        Ok(Intent { pid: self.pid, boot: self.boot, aim, writes: writes?, locks: self.locks })
    }
}

impl WriteRecord {
    fn write(self) -> Result<Write, String> {
        let path = |text: String| -> Result<ProjectPath, String> {
            text.parse().map_err(|fault: BadPath| fault.to_string())
        };
        let task =
            |text: String| text.parse().map_err(|fault: crate::domain::IdFault| fault.to_string());
        let digest =
            |text: String| text.parse().map_err(|fault: crate::domain::IdFault| fault.to_string());
        let old = |old: OldRecord| {
            Ok::<_, String>(Old { path: path(old.path)?, sha256: digest(old.sha256)? })
        };
        let moved = |file: MovedRecord| {
            Ok(Moved { from: path(file.from)?, to: path(file.to)?, sha256: digest(file.sha256)? })
        };
        let made = |made: MadeRecord| {
            let before = made.before.map(digest).transpose()?;
            Ok(Made { path: path(made.path)?, sha256: digest(made.sha256)?, before })
        };
        Ok(Write {
            task: self.task.map(task).transpose()?,
            old: self.old.map(old).transpose()?,
            new: path(self.new)?,
            sha256: digest(self.sha256)?,
            companions: self.companions.into_iter().map(moved).collect::<Result<_, String>>()?,
            made: self.made.into_iter().map(made).collect::<Result<_, String>>()?,
        })
    }
}

impl OldRecord {
    fn of(old: &Old) -> Self {
        Self { path: old.path.to_string(), sha256: old.sha256.as_str().to_owned() }
    }
}

impl MovedRecord {
    fn of(file: &Moved) -> Self {
        Self {
            from: file.from.to_string(),
            to: file.to.to_string(),
            sha256: file.sha256.as_str().to_owned(),
        }
    }
}

impl MadeRecord {
    fn of(made: &Made) -> Self {
        let text = |digest: &Digest| digest.as_str().to_owned();
        Self {
            path: made.path.to_string(),
            sha256: text(&made.sha256),
            before: made.before.as_ref().map(text),
        }
    }
}
