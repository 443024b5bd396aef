//! What git's attributes say of a file. libgit2 tells, unless it cannot read the index, in which some may stand; git tells then.

use std::path::Path;

use git2::{AttrCheckFlags, AttrValue};

use super::error::AuditError;
use super::repository::Repository;
use super::spawn;

/// What is said of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

impl Repository {
    /// Returns what is said of a file of the project.
    pub(super) fn attribute(&self, path: &str, name: &str) -> Result<Attribute, AuditError> {
        let full = self.full_path(path);
        if let Ok(said) = self.git().get_attr_bytes(Path::new(&full), name, AttrCheckFlags::FILE_THEN_INDEX) {
            return Ok(match AttrValue::from_bytes(said) {
                AttrValue::True => Attribute::Set,
                AttrValue::False => Attribute::Unset,
                AttrValue::Unspecified => Attribute::Unspecified,
                AttrValue::String(value) => Attribute::Value(value.to_owned()),
                AttrValue::Bytes(value) => Attribute::Value(String::from_utf8_lossy(value).into_owned()),
            });
        }
        let mut git = spawn::git(self);
        git.args(["check-attr", "-z", name, "--", &full]);
        let told = spawn::run_git(git, &[])?;
        // The path, the attribute, and what is said.
        let said = told.split(|byte| *byte == 0).nth(2).map(String::from_utf8_lossy).unwrap_or_default();
        Ok(match said.as_ref() {
            "set" => Attribute::Set,
            "unset" => Attribute::Unset,
            "unspecified" | "" => Attribute::Unspecified,
            value => Attribute::Value(value.to_owned()),
        })
    }
}
