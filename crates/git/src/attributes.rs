//! Attributes of files, and which of them make git convert a file's bytes.
//!
//! The engine commits the bytes that it has written. Where git would convert them (line ends, filters, encodings), git would show the file
//! as modified for ever, so such a file is refused.

use std::borrow::Cow;
use std::fs;
use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Index};

use super::command;
use super::error::GitError;
use super::id::ObjectId;
use super::index::entries::as_index_error;
use super::repository::handle::Repository;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attribute {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

impl Repository {
    /// Returns the value of an attribute for a file of the project.
    pub(crate) fn attribute(&self, path: &str, name: &str) -> Result<Attribute, GitError> {
        let [value] = self.attributes(path, [name])?;
        Ok(value)
    }

    /// Returns the name of the driver that merges a file of the project, by `.gitattributes`.
    pub fn merge_attribute(&self, path: &str) -> Result<Option<String>, GitError> {
        Ok(match self.attribute(path, "merge")? {
            Attribute::Value(driver) => Some(driver),
            Attribute::Set | Attribute::Unset | Attribute::Unspecified => None,
        })
    }

    /// Returns the attribute or setting by which git would convert these bytes of a file of the project; `None` if it commits
    /// them as they are.
    pub fn conversion(&self, path: &str, bytes: &[u8]) -> Result<Option<&'static str>, GitError> {
        const NAMES: [&str; 6] =
            ["filter", "ident", "working-tree-encoding", "text", "crlf", "eol"];
        let [filter, ident, encoding, text, crlf, eol] = self.attributes(path, NAMES)?;
        if matches!(filter, Attribute::Value(_)) {
            return Ok(Some("filter"));
        }
        if ident == Attribute::Set {
            return Ok(Some("ident"));
        }
        if matches!(encoding, Attribute::Value(name) if !["utf-8", "utf8"].contains(&name.to_ascii_lowercase().as_str()))
        {
            return Ok(Some("working-tree-encoding"));
        }
        if matches!(with_lf(bytes), Cow::Borrowed(_)) {
            return Ok(None);
        }
        // `crlf` is the former name of `text`.
        for value in [text, crlf] {
            match value {
                Attribute::Set => return Ok(Some("text")),
                Attribute::Unset => return Ok(None),
                Attribute::Value(value) if value == "input" => return Ok(Some("text")),
                Attribute::Value(value) if value == "auto" => {
                    return Ok((!looks_binary(bytes)).then_some("text"));
                }
                Attribute::Value(_) | Attribute::Unspecified => {}
            }
        }
        if matches!(eol, Attribute::Value(value) if value == "lf" || value == "crlf") {
            return Ok(Some("eol"));
        }
        let setting = self.config()?.text("core.autocrlf").map(str::to_ascii_lowercase);
        let is_set = matches!(setting.as_deref(), Some("true" | "input" | "yes" | "on" | "1"));
        Ok((is_set && !looks_binary(bytes)).then_some("core.autocrlf"))
    }

    /// Refuses bytes that git would convert.
    pub(crate) fn check_conversion(&self, path: &str, bytes: &[u8]) -> Result<(), GitError> {
        let Some(by) = self.conversion(path, bytes)? else { return Ok(()) };
        let is_own = matches!(by, "filter" | "ident" | "working-tree-encoding");
        let (file, pattern) = self.last_attributes(path, by);
        let line = format!("{pattern} -{}", if is_own { by } else { "text" });
        Err(GitError::Converted { path: path.to_owned(), by, line, file })
    }

    /// Returns the attribute file that decides last for a file of the project, and a pattern in it for all files of its kind.
    fn last_attributes(&self, path: &str, attribute: &str) -> (String, String) {
        let kind =
            path.split_once('/').map_or_else(|| path.to_owned(), |(top, _)| format!("{top}/**"));
        let of_clone = self.common_dir().join("info/attributes");
        if fs::read_to_string(&of_clone).is_ok_and(|text| text.contains(attribute)) {
            return (of_clone.display().to_string(), self.full_path(&kind));
        }
        let mut folders = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
        let nearest = folders.find(|folder| {
            !folder.is_empty() && self.worktree_path(&format!("{folder}/.gitattributes")).is_file()
        });
        match nearest {
            Some(folder) => (format!("{folder}/.gitattributes"), "*".to_owned()),
            None => (".gitattributes".to_owned(), kind),
        }
    }

    /// Returns whether git's attributes keep the committed line ends of a file of the project on checkout.
    pub fn keeps_line_endings(&self, path: &str) -> Result<bool, GitError> {
        let [eol, text, crlf] = self.attributes(path, ["eol", "text", "crlf"])?;
        Ok(eol == Attribute::Value("lf".to_owned()) || [text, crlf].contains(&Attribute::Unset))
    }

    /// Returns whether these bytes of the worktree equal a blob, apart from LF that git may have converted to CRLF.
    pub fn is_same_text(&self, bytes: &[u8], committed: ObjectId) -> bool {
        self.hash_blob(bytes) == committed
            || matches!(with_lf(bytes), Cow::Owned(plain) if self.hash_blob(&plain) == committed)
    }

    /// Returns attributes of a file of the project, as git applies them when it adds a file. libgit2 reads them; if it cannot
    /// read the index, git does.
    fn attributes<const N: usize>(
        &self,
        path: &str,
        names: [&str; N],
    ) -> Result<[Attribute; N], GitError> {
        let full_path = self.full_path(path);
        // libgit2 reads the whole index to find attribute files that the worktree lacks. An empty index avoids that if the main file
        // exists. If it cannot be set, the lookup only takes longer.
        if self.worktree_path(".gitattributes").is_file()
            && let Ok(mut empty) = Index::new()
        {
            let _ = self.git().set_index(&mut empty);
        }
        let read = |name| {
            let flags = AttrCheckFlags::FILE_THEN_INDEX;
            let value = self.git().get_attr_bytes(Path::new(&full_path), name, flags).ok()?;
            Some(Attribute::of_libgit2(value))
        };
        let values: Option<Vec<Attribute>> = names.into_iter().map(read).collect();
        let values = if let Some(values) = values {
            values
        } else {
            let mut git = self.git_command();
            git.args(["check-attr", "-z"]).args(names).arg("--").arg(&full_path);
            let index = self.git_dir().join("index");
            let output =
                command::run_git(git, &[]).map_err(|error| as_index_error(&index, error))?;
            // The path, the attribute, and its value.
            output.split(|byte| *byte == 0).skip(2).step_by(3).map(Attribute::of_git).collect()
        };
        let mut values = values.into_iter();
        Ok(names.map(|_| values.next().unwrap_or(Attribute::Unspecified)))
    }
}

impl Attribute {
    fn of_libgit2(value: Option<&[u8]>) -> Self {
        match AttrValue::from_bytes(value) {
            AttrValue::True => Self::Set,
            AttrValue::False => Self::Unset,
            AttrValue::Unspecified => Self::Unspecified,
            AttrValue::String(value) => Self::Value(value.to_owned()),
            AttrValue::Bytes(value) => Self::Value(String::from_utf8_lossy(value).into_owned()),
        }
    }

    fn of_git(value: &[u8]) -> Self {
        match value {
            b"set" => Self::Set,
            b"unset" => Self::Unset,
            b"unspecified" | b"" => Self::Unspecified,
            value => Self::Value(String::from_utf8_lossy(value).into_owned()),
        }
    }
}

/// Returns the bytes with LF for each CRLF; owned if there was one.
pub fn with_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_before_lf = |at: usize| bytes.get(at..at + 2) == Some(b"\r\n");
    if !bytes.contains(&b'\r') || !(0..bytes.len()).any(is_before_lf) {
        return Cow::Borrowed(bytes);
    }
    let kept = bytes.iter().enumerate().filter(|(at, _)| !is_before_lf(*at));
    Cow::Owned(kept.map(|(_, byte)| *byte).collect())
}

/// Returns whether git takes these bytes for binary. Git also counts unprintable characters.
fn looks_binary(bytes: &[u8]) -> bool {
    let is_lone_cr = |(at, byte): (usize, &u8)| *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
    bytes.contains(&0) || bytes.iter().enumerate().any(is_lone_cr)
}
