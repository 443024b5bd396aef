//! What git's attributes say of files. libgit2 tells, unless it cannot read the index, in which some may stand; git tells then.

use std::path::Path;

use git2::{AttrCheckFlags, AttrValue};

use crate::git::command;
use crate::git::error::AuditError;
use crate::git::repository::repository::Repository;

/// What is said of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Attribute {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

impl Repository {
    /// Returns what is said of a file of the project.
    pub(crate) fn attribute(&self, path: &str, name: &str) -> Result<Attribute, AuditError> {
        let said = self.attributes(&[&self.full_path(path)], [name])?;
        Ok(said.into_iter().flatten().next().unwrap_or(Attribute::Unspecified))
    }

    /// Returns for each of these files of the project whether what git commits of it is something else than what stands in the worktree,
    /// line ends aside: encrypted, say, or stored elsewhere. Whether that is set up here is not asked: what goes past it stays in the history.
    pub fn filters(&self, paths: &[&str]) -> Result<Vec<bool>, AuditError> {
        let full_paths: Vec<String> = paths.iter().map(|path| self.full_path(path)).collect();
        let full_paths: Vec<&str> = full_paths.iter().map(String::as_str).collect();
        let said = self.attributes(&full_paths, ["filter", "ident", "working-tree-encoding"])?;
        let changes = |[filter, ident, encoding]: &[Attribute; 3]| {
            filter.is_a_filter() || *ident == Attribute::Set || encoding.is_another_encoding()
        };
        Ok(said.iter().map(changes).collect())
    }

    /// Returns what is said of each of these files, by their paths from the top, as git goes by it for what comes from the worktree.
    pub(crate) fn attributes<const N: usize>(
        &self,
        full_paths: &[&str],
        names: [&str; N],
    ) -> Result<Vec<[Attribute; N]>, AuditError> {
        let told =
            full_paths.iter().map(|path| self.told(path, names, AttrCheckFlags::FILE_THEN_INDEX));
        if let Some(told) = told.collect() {
            return Ok(told);
        }
        let mut git = command::git(self);
        git.args(["check-attr", "-z", "--stdin"]).args(names);
        let told = command::run_git(
            git,
            full_paths.iter().flat_map(|path| [path, "\0"]).collect::<String>().as_bytes(),
        )?;
        // The path, the attribute, and what is said.
        let mut said = told.split(|byte| *byte == 0).skip(2).step_by(3).map(Attribute::of_git);
        Ok(full_paths
            .iter()
            .map(|_| names.map(|_| said.next().unwrap_or(Attribute::Unspecified)))
            .collect())
    }

    /// Returns what is said of a file as a checkout goes by it, first of all by the index; nothing where only a checkout of git itself
    /// would know.
    pub(crate) fn attributes_of_checkout<const N: usize>(
        &self,
        full_path: &str,
        names: [&str; N],
    ) -> Option<[Attribute; N]> {
        self.told(full_path, names, AttrCheckFlags::INDEX_THEN_FILE)
    }

    /// Returns what libgit2 says of a file.
    fn told<const N: usize>(
        &self,
        full_path: &str,
        names: [&str; N],
        by: AttrCheckFlags,
    ) -> Option<[Attribute; N]> {
        let mut said = names.map(|_| Attribute::Unspecified);
        for (said, name) in said.iter_mut().zip(names) {
            *said = Attribute::of_libgit2(
                self.git().get_attr_bytes(Path::new(full_path), name, by).ok()?,
            );
        }
        Some(said)
    }
}

impl Attribute {
    /// One that only is set, or is not, names none.
    const fn is_a_filter(&self) -> bool {
        matches!(self, Self::Value(_))
    }

    /// What git commits is UTF-8.
    fn is_another_encoding(&self) -> bool {
        matches!(self, Self::Value(name) if !["utf-8", "utf8"].contains(&name.to_ascii_lowercase().as_str()))
    }

    fn of_libgit2(said: Option<&[u8]>) -> Self {
        match AttrValue::from_bytes(said) {
            AttrValue::True => Self::Set,
            AttrValue::False => Self::Unset,
            AttrValue::Unspecified => Self::Unspecified,
            AttrValue::String(value) => Self::Value(value.to_owned()),
            AttrValue::Bytes(value) => Self::Value(String::from_utf8_lossy(value).into_owned()),
        }
    }

    fn of_git(said: &[u8]) -> Self {
        match said {
            b"set" => Self::Set,
            b"unset" => Self::Unset,
            b"unspecified" | b"" => Self::Unspecified,
            value => Self::Value(String::from_utf8_lossy(value).into_owned()),
        }
    }
}
