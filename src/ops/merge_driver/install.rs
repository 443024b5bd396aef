//! What tells git to merge tasks by their meaning: a line in `.gitattributes`, which is committed, and in each clone git's
//! configuration and a hook. A person's lines stay as they are; a person's hook is never changed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::audit::{Hooks, Repository};
use crate::ops::error::OpsError;
use crate::ops::line_ends;
use crate::ops::rule_files::commit_files;
use crate::ops::transaction::Beside;
use crate::ops::workspace::Workspace;
use crate::store::tasks::read;
use crate::store::{Durability, Folder, StoreError};

/// The file that says which files our driver merges.
pub const ATTRIBUTES: &str = ".gitattributes";

/// The line that says so, and that git writes them as they were committed: tasks are compared byte for byte.
const LINE: &str = "tasks/**/*.md merge=aof -text";

/// What it said before.
const FORMER_LINE: &str = "tasks/**/*.md merge=aof";

/// The command that git runs for each file.
const COMMAND: &str = "aof merge-driver %O %A %B %P --marker-size %L --ours-label %X --theirs-label %Y";

/// What people are told of it.
const NAME: &str = "tasks, by their meaning";

const HOOK: &str = "prepare-commit-msg";

/// The line of a hook that does what ours does.
const HOOK_LINE: &str = "aof merge-driver --message \"$1\" \"$2\"";

/// What stands in the hook above that line.
const HOOK_HEAD: &str = "#!/bin/sh\n# Lists what a merge of tasks superseded in its message, whatever way that is written. Has git stop at\n\
    # a commit that is rebased, picked or reverted, and that the rules of the tasks do not allow there, and before what a killed\n\
    # command of aof has left is committed by hand.\n\
    dir=$(git rev-parse --git-dir) || exit 0\n\
    [ -e \"$dir/MERGE_HEAD\" ] || [ -e \"$dir/CHERRY_PICK_HEAD\" ] || [ -e \"$dir/REBASE_HEAD\" ] ||\n\
    [ -e \"$dir/REVERT_HEAD\" ] || grep -q '^This reverts commit ' \"$1\" ||\n\
    grep -qs '[^ ]' .aof/intent || ls \"$dir\" | grep -q '^aof-' || exit 0\n\
    command -v aof >/dev/null 2>&1 || exit 0\n";

/// What stood there before: the first says nothing of a merge whose message a person gives, and neither looks at what is rebased.
const FORMER_HOOK_HEADS: [&str; 2] = [
    "#!/bin/sh\n# Lists what a merge of tasks superseded in its message.\n\
     [ \"$2\" = merge ] || exit 0\ncommand -v aof >/dev/null 2>&1 || exit 0\n",
    "#!/bin/sh\n# Lists what a merge of tasks superseded in its message, whatever way that is written.\n\
     [ -e \"$(git rev-parse --git-path MERGE_HEAD)\" ] || exit 0\ncommand -v aof >/dev/null 2>&1 || exit 0\n",
];

/// Something without which git merges tasks as text, or a merge does not say what it superseded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// The line in `.gitattributes`.
    Attributes,
    /// The command in git's configuration; it may be another one.
    Driver,
    /// The hook, which can be made; also where the one that stands there is what aof wrote before.
    Hook,
    /// The hook as aof writes it, but for its line ends: there is no interpreter whose name ends in a carriage return.
    HookEnds,
    /// The hook, where a person has one, or has git look elsewhere for hooks.
    ForeignHook {
        /// The file.
        path: PathBuf,
        /// The line to add.
        line: &'static str,
        /// Why it does nothing, where it has the line.
        idle: Option<Idle>,
    },
}

/// Why a hook that has our line does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It is not executable.
    Mode,
    /// Its first line, or ours, ends in a carriage return.
    Ends,
}

/// Returns what is missing.
pub fn missing(workspace: &Workspace) -> Result<Vec<Missing>, OpsError> {
    missing_in(&workspace.repository)
}

fn missing_in(repository: &Repository) -> Result<Vec<Missing>, OpsError> {
    let mut missing = Vec::new();
    if repository.merge_attribute("tasks/AOF-abc.md")?.as_deref() != Some("aof") {
        missing.push(Missing::Attributes);
    }
    if repository.merge_driver()?.as_deref() != Some(COMMAND) {
        missing.push(Missing::Driver);
    }
    let (folder, own) = match repository.hooks()? {
        Hooks::Own(folder) => (folder, true),
        Hooks::Elsewhere(folder) => (folder, false),
    };
    let path = folder.join(HOOK);
    match std::fs::read_to_string(&path) {
        // What stands behind a link may be others' as well.
        Ok(text) if own && !path.is_symlink() && is_ours(&text) => {
            if is_former(&text) || !runs(&path) {
                missing.push(Missing::Hook);
            }
        }
        Ok(text) if own && !path.is_symlink() && is_ours(&text.replace("\r\n", "\n")) => {
            missing.push(Missing::HookEnds);
        }
        Ok(text) if calls(&text) && runs(&path) && !has_wrong_ends(&text) => {}
        Err(fault) if fault.kind() == std::io::ErrorKind::NotFound && own && !path.is_symlink() => {
            missing.push(Missing::Hook);
        }
        read => {
            let idle = read.ok().filter(|text| calls(text)).map(|_| if runs(&path) { Idle::Ends } else { Idle::Mode });
            missing.push(Missing::ForeignHook { path, line: HOOK_LINE, idle });
        }
    }
    Ok(missing)
}

/// Returns whether git runs that file.
fn runs(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|own| own.is_file() && own.permissions().mode() & 0o111 != 0)
}

/// Returns whether a hook does what ours does; a comment does nothing.
fn calls(text: &str) -> bool {
    text.lines().any(is_call)
}

fn is_call(line: &str) -> bool {
    !line.trim_start().starts_with('#') && line.contains("aof merge-driver --message")
}

/// Returns whether the system finds no interpreter for a hook, or aof is told of a carriage return: both belong to their lines.
fn has_wrong_ends(text: &str) -> bool {
    let mut lines = text.split('\n').enumerate();
    lines.any(|(number, line)| line.ends_with('\r') && ((number == 0 && line.starts_with("#!")) || is_call(line)))
}

/// Puts in place what is missing and can be put there; `.gitattributes` in a commit of its own. Returns what is left to a person.
pub fn install(workspace: &Workspace) -> Result<Vec<Missing>, OpsError> {
    let mut left = Vec::new();
    for own in missing(workspace)? {
        match own {
            Missing::Attributes if !commit_attributes(workspace)? => left.push(own),
            Missing::Attributes => {}
            Missing::Driver => workspace.repository.set_merge_driver(NAME, COMMAND)?,
            Missing::Hook | Missing::HookEnds => write_hook(&workspace.repository.common_dir().join("hooks"))?,
            Missing::ForeignHook { .. } => left.push(own),
        }
    }
    Ok(left)
}

/// What a clone is told and no commit holds, as far as it was not told before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SetUp {
    /// The configuration of git's with the driver.
    pub driver: Option<PathBuf>,
    /// The hook.
    pub hook: Option<PathBuf>,
    /// A hook that a person has, or would have to make, and the line that it lacks.
    pub foreign: Option<(PathBuf, &'static str)>,
}

/// Returns what [`install_here`] is going to put in place; a repository that is to be made in the folder has nothing of it.
pub(in crate::ops) fn to_set_up(repository: Option<&Repository>, folder: &Path) -> Result<SetUp, OpsError> {
    let (git, missing) = match repository {
        Some(repository) => (repository.common_dir().to_owned(), missing_in(repository)?),
        None => (folder.join(".git"), vec![Missing::Driver, Missing::Hook]),
    };
    let is_missing = |wanted: &Missing| missing.contains(wanted);
    let foreign = missing.iter().find_map(|missing| match missing {
        Missing::ForeignHook { path, line, idle: None } => Some((path.clone(), *line)),
        _ => None,
    });
    Ok(SetUp {
        foreign,
        driver: is_missing(&Missing::Driver).then(|| git.join("config")),
        hook: is_missing(&Missing::Hook).then(|| git.join("hooks").join(HOOK)),
    })
}

/// Puts in place what no commit holds: git's configuration and the hook.
pub(in crate::ops) fn install_here(workspace: &Workspace) -> Result<(), OpsError> {
    for own in missing(workspace)? {
        match own {
            Missing::Driver => workspace.repository.set_merge_driver(NAME, COMMAND)?,
            Missing::Hook | Missing::HookEnds => write_hook(&workspace.repository.common_dir().join("hooks"))?,
            Missing::Attributes | Missing::ForeignHook { .. } => {}
        }
    }
    Ok(())
}

/// Returns what the file is to say, if it does not say it yet.
pub(in crate::ops) fn attributes_after(before: Option<&[u8]>) -> Option<Vec<u8>> {
    let before = before.unwrap_or_default();
    let lines = || before.split_inclusive(|byte| *byte == b'\n');
    if lines().any(|line| line.trim_ascii() == LINE.as_bytes()) {
        return None;
    }
    let is_former = |line: &&[u8]| line.trim_ascii_end() == FORMER_LINE.as_bytes();
    if lines().any(|line| is_former(&line)) {
        let brought_up =
            lines().map(|line| match line.strip_prefix(FORMER_LINE.as_bytes()).filter(|_| is_former(&line)) {
                Some(end) => [LINE.as_bytes(), end].concat(),
                None => line.to_vec(),
            });
        return Some(brought_up.collect::<Vec<_>>().concat());
    }
    let end: &[u8] = if before.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let apart = if before.is_empty() || before.ends_with(b"\n") { &b""[..] } else { end };
    Some([before, apart, LINE.as_bytes(), end].concat())
}

/// Returns whether the file says what HEAD has; line ends that git may have written are no difference.
pub(in crate::ops) fn is_as_committed(
    repository: &Repository,
    standing: Option<&[u8]>,
    committed: Option<&[u8]>,
) -> bool {
    match (standing, committed) {
        (Some(standing), Some(committed)) => repository.is_same_text(standing, repository.hash_blob(committed)),
        (standing, committed) => standing.is_none() && committed.is_none(),
    }
}

/// Appends the line, or brings it up to date, and commits it. A file with changes that are not committed is left alone.
pub(in crate::ops) fn commit_attributes(workspace: &Workspace) -> Result<bool, OpsError> {
    let path = ATTRIBUTES.parse()?;
    loop {
        let head = workspace.head()?;
        let committed = head.commit.map(|commit| workspace.repository.read(commit, ATTRIBUTES)).transpose()?.flatten();
        let standing = match read(&workspace.paths, &path) {
            Ok(standing) => Some(standing.bytes),
            Err(StoreError::Gone { .. }) => None,
            Err(_) => return Ok(false),
        };
        if !is_as_committed(&workspace.repository, standing.as_deref(), committed.as_deref()) {
            return Ok(false);
        }
        let Some(bytes) = attributes_after(standing.as_deref()) else { return Ok(true) };
        let converted = line_ends::elsewise(workspace, &head)?;
        let file = Beside { path: path.clone(), before: standing, bytes };
        let lock = workspace.lock()?;
        if commit_files(workspace, &lock, &head, &[file], "Merge tasks by their meaning, and keep their line ends")?
            .is_some()
        {
            // Git would take them for changed now.
            line_ends::write_as_committed(workspace, &lock, &converted)?;
            return Ok(true);
        }
    }
}

/// Returns whether that is the hook as aof writes it, or did before, and nobody else's.
fn is_ours(text: &str) -> bool {
    is_former(text) || text == hook()
}

/// Returns whether that is the hook as aof wrote it before, and nobody else's.
fn is_former(text: &str) -> bool {
    let mut rests = FORMER_HOOK_HEADS.iter().filter_map(|head| text.strip_prefix(head));
    rests.any(|rest| rest.trim_end() == HOOK_LINE)
}

fn hook() -> String {
    format!("{HOOK_HEAD}{HOOK_LINE}\n")
}

fn write_hook(folder: &Path) -> Result<(), OpsError> {
    use std::io::Write;
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let text = hook();
    let path = folder.join(HOOK);
    let broken = |cause| StoreError::Io { doing: "write the hook", path: path.clone(), cause };
    if std::fs::read_to_string(&path).is_ok_and(|text| is_ours(&text.replace("\r\n", "\n"))) {
        Folder::open(folder, "")?.replace(HOOK, text.as_bytes(), Durability::Durable)?;
        return Ok(std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).map_err(broken)?);
    }
    let temp = format!(".{HOOK}.aof-{}", std::process::id());
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o755).open(folder.join(&temp))?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(broken)?;
    // A hook is there as a whole or not at all, and a person's is never replaced.
    let hooks = Folder::open(folder, "")?;
    let moved = hooks.move_new(OsStr::new(&temp), &hooks, OsStr::new(HOOK));
    if moved.is_err() {
        hooks.remove(&temp)?;
    }
    Ok(moved?)
}
