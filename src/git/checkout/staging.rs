//! What comes is written beside the worktree, as git would write it (filters, line endings, links and modes): by git, unless all files
//! are small and to be as they are stored. Takes no lock, and places nothing.
//!
//! Not everything comes this way. Submodules, sparse checkouts, files that become folders, files whose attributes come along with
//! them, and all that comes with a name that is no text, are left to git's own checkout, which writes where the file is to be.

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::checkout::PATIENCE;
use super::incoming_files::Coming;
use super::overwrite_check::keeps_out;
use crate::git::attributes::attributes::Attribute;
use crate::git::command;
use crate::git::error::{AuditError, During};
use crate::git::log::path_diff::{Changes, Difference};
use crate::git::objects::id::CommitId;
use crate::git::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, MODE_SUBMODULE};
use crate::git::repository::repository::Repository;

/// No larger file is written here, but by git, in bytes.
const LARGEST: usize = 1 << 20;

impl Repository {
    /// Writes the files that a commit has and another one has not, in a folder of its own below `beside`. Takes no lock. Nothing is
    /// written where what comes is kept out.
    pub fn prepare_files(
        &self,
        from: Option<CommitId>,
        to: CommitId,
        beside: &Path,
    ) -> Result<Coming, AuditError> {
        let difference = self.difference(from, to)?;
        keeps_out(&difference)?;
        self.files_beside(&difference, |_| true, to, beside, PATIENCE)
    }

    /// Writes those of the changed files that are wanted, as far as they are not left to git.
    pub(crate) fn files_beside(
        &self,
        Difference { files: changes, odd }: &Difference,
        is_wanted: impl Fn(&str) -> bool,
        to: CommitId,
        beside: &Path,
        patience: Duration,
    ) -> Result<Coming, AuditError> {
        if !odd.is_empty() || self.leaves_it_to_git(changes)? {
            return Coming::begin(beside);
        }
        let coming =
            changes.iter().filter_map(|(path, (before, after))| Some((path, *before, (*after)?)));
        let is_file = |leaf: Leaf| leaf.mode != MODE_SUBMODULE;
        let files: Vec<(&String, Leaf)> = coming
            .filter(|(path, before, after)| {
                is_wanted(path) && before.is_none_or(is_file) && is_file(*after)
            })
            .map(|(path, _, after)| (path, after))
            .collect();
        let (coming, trouble) = self.written_beside(&files, changes, to, beside, patience)?;
        trouble.map_or(Ok(coming), |detail| Err(AuditError::NotBrought { detail }))
    }

    /// Writes these files of a commit; none are there where git could not write one, and that is what it said then.
    pub(crate) fn written_beside(
        &self,
        files: &[(&String, Leaf)],
        changes: &Changes,
        of: CommitId,
        beside: &Path,
        patience: Duration,
    ) -> Result<(Coming, Option<String>), AuditError> {
        let mut coming = Coming::begin(beside)?;
        if files.is_empty() {
            return Ok((coming, None));
        }
        // Which attributes count where they come along only git knows.
        if !changes.keys().any(is_attributes) && self.are_plain(files)? {
            for (path, leaf) in files {
                coming.write(path, leaf.mode, &self.read_blob(leaf.id)?)?;
            }
            coming.sync()?;
            return Ok((coming, None));
        }
        if patience.is_zero() {
            return Ok((
                coming,
                Some("git was not asked any more: its filters had taken all the time".to_owned()),
            ));
        }
        let index = coming.folder.join("index");
        let lines =
            files.iter().map(|(path, leaf)| format!("{:o} {}\t{path}\0", leaf.mode, leaf.id));
        let lines: Vec<String> = lines.collect();
        let mut git = self.git_on(&index);
        git.args(["update-index", "--add", "-z", "--index-info"]);
        command::run_git(git, lines.concat().as_bytes())?;
        let mut git = self.git_on(&index);
        // Git before 2.41 goes by the worktree's attributes: those are the same here.
        git.env("GIT_ATTR_SOURCE", of.to_string());
        git.args(["checkout-index", "--all", "--force"]);
        let mut prefix = OsString::from("--prefix=");
        prefix.push(coming.place().join(""));
        git.arg(prefix);
        // Git goes on where this process is killed; as long as it does, the folder is not taken for abandoned.
        let finished = command::run_holding(git, &coming.held, patience);
        let trouble = match finished {
            Ok(finished) if finished.status.success() => None,
            Ok(finished) => Some(String::from_utf8_lossy(&finished.stderr).trim().to_owned()),
            Err(error) => Some(error.to_string()),
        };
        // Where git failed nobody knows which of them are whole.
        if trouble.is_none() {
            let place = coming.place();
            coming.files =
                files.iter().map(|(path, _)| ((*path).clone(), place.join(path))).collect();
            coming.sync()?;
        }
        Ok((coming, trouble))
    }

    /// Says whether git would write these files as they are stored, so that it need not be started for that.
    fn are_plain(&self, files: &[(&String, Leaf)]) -> Result<bool, AuditError> {
        const CONVERSIONS: [&str; 6] =
            ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];
        // What is said of git's configuration in the environment, git alone reads as it does.
        let is_said_beside = ["GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"]
            .iter()
            .any(|name| env::var_os(name).is_some());
        if is_said_beside || self.setting("core.autocrlf")?.is_some_and(|value| value != "false") {
            return Ok(false);
        }
        let odb = self.git().odb().during(|| "read objects".to_owned())?;
        // Git writes a large one piece by piece.
        let is_small =
            |leaf: Leaf| odb.read_header(leaf.id.to_git()).is_ok_and(|(size, _)| size <= LARGEST);
        let is_stored = |path: &str| {
            let said = self.attributes_of_checkout(path, CONVERSIONS);
            said.is_some_and(|said| {
                said.iter().all(|said| matches!(said, Attribute::Unspecified | Attribute::Unset))
            })
        };
        let is_plain = |(path, leaf): &(&String, Leaf)| {
            matches!(leaf.mode, MODE_FILE | MODE_EXECUTABLE) && is_small(*leaf) && is_stored(path)
        };
        Ok(files.iter().all(is_plain))
    }

    /// Says whether git itself has to check these files out: what a sparse checkout leaves out only it knows, attributes that come
    /// along count for the files that come with them, and its index cannot be told beforehand that a file becomes a folder.
    fn leaves_it_to_git(&self, changes: &Changes) -> Result<bool, AuditError> {
        let above =
            |path: &str| path.match_indices('/').any(|(at, _)| changes.contains_key(&path[..at]));
        let is_odd = changes.keys().any(|path| is_attributes(path) || above(path));
        Ok(is_odd || self.is_sparse()?)
    }

    fn is_sparse(&self) -> Result<bool, AuditError> {
        let config = self.git().config().and_then(|mut config| config.snapshot());
        let config = config
            .map_err(|error| AuditError::NotBrought { detail: error.message().to_owned() })?;
        Ok(config.get_bool("core.sparseCheckout").unwrap_or(false))
    }
}

fn is_attributes(path: &String) -> bool {
    path == ".gitattributes" || path.ends_with("/.gitattributes")
}
