//! A path inside the project, as git and all messages write it: relative, UTF-8, with `/`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A path below the project's root, without `..` or `.git`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct ProjectPath(String);

/// A path that is not inside the project.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a path inside the project: {reason}", text.escape_debug())]
pub struct BadPath {
    pub text: String,
    pub reason: &'static str,
}

impl ProjectPath {
    /// Returns a path from text that is known to be valid.
    pub(crate) fn trusted(text: String) -> Self {
        debug_assert!(fault(&text).is_none(), "{text}");
        Self(text)
    }

    /// Returns the path as text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its last component.
    pub(crate) fn name(&self) -> &str {
        self.0.rsplit_once('/').map_or(&self.0, |(_, name)| name)
    }

    /// Returns its folder; empty for the project's root.
    pub(crate) fn folder(&self) -> &str {
        self.0.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// Returns the path of that name in the same folder.
    pub(crate) fn sibling(&self, name: &str) -> Result<Self, BadPath> {
        match self.folder() {
            "" => name.parse(),
            folder => format!("{folder}/{name}").parse(),
        }
    }

    /// Returns the path on this machine.
    pub(crate) fn below(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }
}

fn fault(text: &str) -> Option<&'static str> {
    if text.starts_with('/') {
        return Some("it is absolute");
    }
    if text.contains('\0') {
        return Some("it has a zero byte");
    }
    text.split('/').find_map(|part| match part {
        "" => Some("it has an empty part"),
        "." | ".." => Some("it has a `.` or `..`"),
        _ if part.eq_ignore_ascii_case(".git") => Some("it is git's own"),
        _ => None,
    })
}

impl fmt::Display for ProjectPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl TryFrom<String> for ProjectPath {
    type Error = BadPath;

    fn try_from(text: String) -> Result<Self, BadPath> {
        match fault(&text) {
            None => Ok(Self(text)),
            Some(reason) => Err(BadPath { text, reason }),
        }
    }
}

impl FromStr for ProjectPath {
    type Err = BadPath;

    fn from_str(text: &str) -> Result<Self, BadPath> {
        text.to_owned().try_into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_outside_the_project_has_a_path() {
        for text in [
            "",
            "/",
            "/etc/passwd",
            "..",
            "../x",
            "a/../b",
            "a//b",
            "a/",
            "./a",
            "a/.",
            "a\0b",
            ".git/hooks/post-commit",
            "sub/.GIT/config",
        ] {
            assert!(text.parse::<ProjectPath>().is_err(), "{text:?} must be refused");
        }
    }

    #[test]
    fn a_path_knows_its_folder_and_siblings() {
        let path: ProjectPath = "tasks/ab/AOF-abc.md".parse().unwrap();
        assert_eq!((path.folder(), path.name()), ("tasks/ab", "AOF-abc.md"));
        assert_eq!(
            path.sibling("AOF-abc.tests.yaml").unwrap().as_str(),
            "tasks/ab/AOF-abc.tests.yaml"
        );
        assert!(path.sibling("../x").is_err());
        let top: ProjectPath = "project.yaml".parse().unwrap();
        assert_eq!((top.folder(), top.name()), ("", "project.yaml"));
        assert_eq!(top.sibling("org.yaml").unwrap().as_str(), "org.yaml");
    }
}
