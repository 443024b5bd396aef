//! In what two commits differ, path by path, and which paths git itself puts nowhere. Reads trees alone.

use std::collections::BTreeMap;

use crate::git::error::AuditError;
use crate::git::objects::id::CommitId;
use crate::git::objects::tree::{Leaf, text};
use crate::git::repository::repository::Repository;

/// What stands at a path before and after.
pub(crate) type Changes = BTreeMap<String, (Option<Leaf>, Option<Leaf>)>;
/// The same at paths that are no text: git alone brings these, and whatever comes with them.
pub(crate) type Odd = BTreeMap<Vec<u8>, (Option<Leaf>, Option<Leaf>)>;

/// In what two commits differ.
#[derive(Default)]
pub(crate) struct Difference {
    pub files: Changes,
    pub odd: Odd,
}

impl Difference {
    /// Returns every path, text or not.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&[u8], &(Option<Leaf>, Option<Leaf>))> {
        let files = self.files.iter().map(|(path, sides)| (path.as_bytes(), sides));
        files.chain(self.odd.iter().map(|(path, sides)| (path.as_slice(), sides)))
    }

    /// Returns what stands at a path before and after, where that changes.
    pub(crate) fn at(&self, path: &[u8]) -> Option<&(Option<Leaf>, Option<Leaf>)> {
        str::from_utf8(path).map_or_else(|_| self.odd.get(path), |path| self.files.get(path))
    }
}

impl Repository {
    /// Returns in what two commits differ; refused where a path is one that git puts nowhere.
    pub(crate) fn difference(
        &self,
        from: Option<CommitId>,
        to: CommitId,
    ) -> Result<Difference, AuditError> {
        let before = from.map(|commit| self.root_tree(commit)).transpose()?;
        let mut difference = Difference::default();
        self.trees().compare(
            before,
            Some(self.root_tree(to)?),
            b"",
            &mut |path, before, after| {
                match String::from_utf8(path) {
                    Ok(path) => difference.files.insert(path, (before, after)),
                    Err(odd) => difference.odd.insert(odd.into_bytes(), (before, after)),
                };
            },
        )?;
        are_fit(&difference)?;
        Ok(difference)
    }
}

/// Refuses paths that git itself puts nowhere: whoever wrote such a tree means a place outside of the worktree, or git's own folder.
fn are_fit(difference: &Difference) -> Result<(), AuditError> {
    let is_unfit = |path: &[u8]| String::from_utf8_lossy(path).split('/').any(is_forbidden);
    match difference.paths().find(|(path, _)| is_unfit(path)) {
        Some((path, _)) => Err(AuditError::Forbidden { path: text(path.to_owned()) }),
        None => Ok(()),
    }
}

/// Says whether git takes a name for none, or for its own folder on some file system: HFS+ leaves characters out of a name, and NTFS
/// ends it at a colon and leaves out what it has at its end.
fn is_forbidden(name: &str) -> bool {
    let is_left_out = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let is_git = |part: &str| {
        let seen: String = part.chars().filter(|c| !is_left_out(c)).collect();
        let seen = seen.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
        seen.eq_ignore_ascii_case(".git") || seen.eq_ignore_ascii_case("git~1")
    };
    matches!(name, "" | "." | "..") || name.contains('\0') || name.split('\\').any(is_git)
}
