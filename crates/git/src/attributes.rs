//! Attributes of files, and which of them make git convert a file's bytes.
//!
//! The engine commits the bytes that it has written. Where git would convert them (line ends, filters, encodings), git would show the file
//! as modified for ever, so such a file is refused.

use std::borrow::Cow;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{AttrCheckFlags, AttrValue};
use memchr::memmem::Finder;

use super::command;
use super::error::GitError;
use super::id::ObjectId;
use super::index::entries::{ATTRIBUTE_FILE, ListedEntry, OURS, as_index_error, without_stat};
use super::index::user_index::Index;
use super::objects::git_file;
use super::repository::handle::Repository;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attribute {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

/// The attribute files in the folders of a path.
#[derive(Default)]
struct AttributeFiles {
    in_worktree: Vec<PathBuf>,
    /// Those that git reads from the index, because the worktree lacks them: libgit2 would read both.
    in_index: Vec<ListedEntry>,
}

impl Repository {
    /// Returns the value of an attribute for a file of the project.
    pub(crate) fn attribute(&self, path: &str, name: &str) -> Result<Attribute, GitError> {
        let [value] = self.attributes(None, path, [name])?;
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
        self.conversion_by(None, path, bytes)
    }

    fn conversion_by(
        &self,
        index: Option<&Index>,
        path: &str,
        bytes: &[u8],
    ) -> Result<Option<&'static str>, GitError> {
        let names = ["filter", "ident", "working-tree-encoding"];
        let [filter, ident, encoding] = self.attributes(index, path, names)?;
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
        let [text, crlf, eol] = self.attributes(index, path, ["text", "crlf", "eol"])?;
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

    /// Refuses bytes that git would convert; `index` is git's index as it is now.
    pub(crate) fn check_conversion(
        &self,
        index: &Index,
        path: &str,
        bytes: &[u8],
    ) -> Result<(), GitError> {
        let Some(by) = self.conversion_by(Some(index), path, bytes)? else { return Ok(()) };
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
        let [eol, text, crlf] = self.attributes(None, path, ["eol", "text", "crlf"])?;
        Ok(eol == Attribute::Value("lf".to_owned()) || [text, crlf].contains(&Attribute::Unset))
    }

    /// Returns whether these bytes of the worktree equal a blob, apart from LF that git may have converted to CRLF.
    pub fn is_same_text(&self, bytes: &[u8], committed: ObjectId) -> bool {
        self.hash_blob(bytes) == committed
            || matches!(with_lf(bytes), Cow::Owned(plain) if self.hash_blob(&plain) == committed)
    }

    /// Returns attributes of a file of the project, as git applies them when it adds a file. libgit2 reads them; if it cannot
    /// do so in the way of git, git does. Reads the index if that is not passed and an attribute file may be in it alone.
    fn attributes<const N: usize>(
        &self,
        index: Option<&Index>,
        path: &str,
        names: [&str; N],
    ) -> Result<[Attribute; N], GitError> {
        let full_path = self.full_path(path);
        let values = match self.attribute_files(index, &full_path)? {
            Some(files) if !self.may_set(&files, &names)? => Some(Vec::new()),
            Some(files) => self.attributes_by_libgit2(files.in_index, &full_path, &names),
            None => None,
        };
        let values = match values {
            Some(values) => values,
            None => self.attributes_by_git(&full_path, &names)?,
        };
        let mut values = values.into_iter();
        Ok(names.map(|_| values.next().unwrap_or(Attribute::Unspecified)))
    }

    /// Returns the attribute files in the folders of that path. `None` if one is a link, which libgit2 follows and git does not.
    fn attribute_files(
        &self,
        index: Option<&Index>,
        full_path: &str,
    ) -> Result<Option<AttributeFiles>, GitError> {
        let (mut files, mut missing) = (AttributeFiles::default(), Vec::new());
        for folder in Path::new(full_path).ancestors().skip(1) {
            let name = folder.join(ATTRIBUTE_FILE);
            let file = self.worktree_root().join(&name);
            match fs::symlink_metadata(&file) {
                Ok(found) if found.is_symlink() => return Ok(None),
                Ok(_) => files.in_worktree.push(file),
                Err(_) => missing.push(name),
            }
        }
        if missing.is_empty() {
            return Ok(Some(files));
        }
        let read;
        let index = if let Some(index) = index {
            index
        } else {
            read = Index::read(self, &[])?;
            &read
        };
        // Of an unmerged file, git reads our side.
        let counts = |file: &&ListedEntry| {
            matches!(file.stage, 0 | OURS)
                && missing.iter().any(|path| path.as_os_str().as_bytes() == file.path)
        };
        let staged = index.attribute_files(self)?.iter().filter(counts);
        files.in_index = staged.map(|file| ListedEntry { stage: 0, ..file.clone() }).collect();
        Ok(Some(files))
    }

    /// Returns whether one of these attributes may be set: most projects set few, and libgit2 looks at every file once for each.
    fn may_set(&self, files: &AttributeFiles, names: &[&str]) -> Result<bool, GitError> {
        let named = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let of_user = match self.config()?.text("core.attributesFile") {
            Some(named) => Some(command::expand_home(named).into()),
            None => named("XDG_CONFIG_HOME")
                .or_else(|| Some(named("HOME")?.join(".config")))
                .map(|folder| folder.join("git/attributes")),
        };
        if of_user.as_ref().is_some_and(|file| file.is_relative()) {
            return Ok(true);
        }
        // The places in which libgit2 looks.
        let elsewhere = [
            Some(PathBuf::from("/etc/gitattributes")),
            of_user,
            Some(self.common_dir().join("info/attributes")),
        ];
        let mut texts = Vec::new();
        for file in elsewhere.iter().flatten().chain(&files.in_worktree) {
            match git_file::read(file) {
                Ok(text) => texts.push(text),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(_) => return Ok(true),
            }
        }
        for file in &files.in_index {
            match self.read_blob(file.leaf.id) {
                Ok(text) => texts.push(text),
                Err(_) => return Ok(true),
            }
        }
        // The only macro that no file defines sets them.
        let is_of_binary = names.iter().any(|name| ["diff", "merge", "text"].contains(name));
        let words = names.iter().copied().chain(is_of_binary.then_some("binary"));
        let finders: Vec<Finder<'_>> = words.map(Finder::new).collect();
        Ok(texts.iter().any(|text| finders.iter().any(|word| word.find(text).is_some())))
    }

    /// Makes libgit2 read attributes; it sees these files alone in the index, which it would read whole otherwise. `None` if it
    /// cannot.
    fn attributes_by_libgit2(
        &self,
        files: Vec<ListedEntry>,
        full_path: &str,
        names: &[&str],
    ) -> Option<Vec<Attribute>> {
        let mut index = git2::Index::new().ok()?;
        for file in files {
            index.add(&without_stat(file)).ok()?;
        }
        self.git().set_index(&mut index).ok()?;
        let read = |name: &&str| {
            let flags = AttrCheckFlags::FILE_THEN_INDEX;
            let value = self.git().get_attr_bytes(Path::new(full_path), name, flags).ok()?;
            Some(Attribute::of_libgit2(value))
        };
        names.iter().map(read).collect()
    }

    fn attributes_by_git(
        &self,
        full_path: &str,
        names: &[&str],
    ) -> Result<Vec<Attribute>, GitError> {
        let mut git = self.git_command();
        git.args(["check-attr", "-z"]).args(names).arg("--").arg(full_path);
        let index = self.git_dir().join("index");
        let output = command::run_git(git, &[]).map_err(|error| as_index_error(&index, error))?;
        // The path, the attribute, and its value.
        Ok(output.split(|byte| *byte == 0).skip(2).step_by(3).map(Attribute::of_git).collect())
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
