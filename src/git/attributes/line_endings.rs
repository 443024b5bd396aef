//! Line ends as git converts them between a worktree and its commits: by the attributes `text`, `crlf` and `eol`, and by
//! `core.autocrlf`.
//!
//! One direction is enough: what git would commit of a file that stands in the worktree. Nothing is asked of git's attributes
//! unless there is a CRLF in it, so where nothing is converted nothing of this is noticed.

use std::borrow::Cow;

use super::attributes::Attribute;
use crate::git::error::AuditError;
use crate::git::objects::id::ObjectId;
use crate::git::repository::repository::Repository;

/// What git does with the line ends of a file when it takes it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Conversion {
    /// Nothing.
    Never,
    /// They become LF, if the file looks like text and was not taken in with CRLF before.
    Guessed,
    /// They become LF.
    Always,
}

impl Repository {
    /// Returns whether these bytes of the worktree say what a commit has, but for LF that git may have written as CRLF.
    pub fn is_same_text(&self, bytes: &[u8], committed: ObjectId) -> bool {
        self.hash_blob(bytes) == committed
            || matches!(with_lf(bytes), Cow::Owned(plain) if self.hash_blob(&plain) == committed)
    }

    /// Returns whether git converts the line ends of a file of the project.
    pub fn converts_line_ends(&self, path: &str) -> Result<bool, AuditError> {
        Ok(self.conversion(&self.full_path(path))? != Conversion::Never)
    }

    /// Returns what git would commit of a file with these bytes; `before` reads what it has at that path, as far as there is anything.
    pub(crate) fn as_committed<'b>(
        &self,
        full_path: &str,
        bytes: &'b [u8],
        before: impl FnOnce() -> Result<Option<Vec<u8>>, AuditError>,
    ) -> Result<Cow<'b, [u8]>, AuditError> {
        let Cow::Owned(plain) = with_lf(bytes) else { return Ok(Cow::Borrowed(bytes)) };
        let has_crlf =
            |bytes: &[u8]| matches!(with_lf(bytes), Cow::Owned(_)) && !looks_binary(bytes);
        let is_converted = match self.conversion(full_path)? {
            Conversion::Never => false,
            Conversion::Always => true,
            Conversion::Guessed => {
                !looks_binary(bytes) && !before()?.is_some_and(|before| has_crlf(&before))
            }
        };
        Ok(if is_converted { Cow::Owned(plain) } else { Cow::Borrowed(bytes) })
    }

    fn conversion(&self, full_path: &str) -> Result<Conversion, AuditError> {
        // `crlf` is what `text` was called before.
        let [text, crlf, eol] = self.attributes(&[full_path], ["text", "crlf", "eol"])?.remove(0);
        for said in [text, crlf] {
            match said {
                Attribute::Set => return Ok(Conversion::Always),
                Attribute::Unset => return Ok(Conversion::Never),
                Attribute::Value(value) if value == "input" => return Ok(Conversion::Always),
                Attribute::Value(value) if value == "auto" => return Ok(Conversion::Guessed),
                Attribute::Value(_) | Attribute::Unspecified => {}
            }
        }
        if matches!(eol, Attribute::Value(value) if value == "lf" || value == "crlf") {
            return Ok(Conversion::Always);
        }
        let setting = self.config()?.text("core.autocrlf").map(str::to_ascii_lowercase);
        let is_set = matches!(setting.as_deref(), Some("true" | "input" | "yes" | "on" | "1"));
        Ok(if is_set { Conversion::Guessed } else { Conversion::Never })
    }
}

/// Returns the bytes with LF for each CRLF; owned if there was one.
pub(crate) fn with_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    let before_newline = |at: usize| bytes.get(at..at + 2) == Some(b"\r\n");
    if !bytes.contains(&b'\r') || !(0..bytes.len()).any(before_newline) {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(
        bytes
            .iter()
            .enumerate()
            .filter(|(at, _)| !before_newline(*at))
            .map(|(_, byte)| *byte)
            .collect(),
    )
}

/// Returns the bytes with CRLF for each LF that has no CR before it.
pub(crate) fn with_crlf(bytes: &[u8]) -> Vec<u8> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n').flat_map(|line| {
        let plain = line.strip_suffix(b"\n").filter(|line| !line.ends_with(b"\r"));
        plain.map_or_else(|| line.to_vec(), |plain| [plain, b"\r\n"].concat())
    });
    lines.collect()
}

/// Returns whether git takes these bytes for no text: a CR alone, a NUL, or too much that cannot be shown.
fn looks_binary(bytes: &[u8]) -> bool {
    let (mut shown, mut hidden) = (0_usize, 0_usize);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => return true,
            0 => return true,
            b'\r' | b'\n' => {}
            // The end of a file as DOS wrote it.
            0x1a if at + 1 == bytes.len() => {}
            0x08 | b'\t' | 0x1b | 0x0c => shown += 1,
            0x7f | 0..0x20 => hidden += 1,
            _ => shown += 1,
        }
    }
    shown >> 7 < hidden
}
