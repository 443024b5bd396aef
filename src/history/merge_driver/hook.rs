//! The hook that has git's own commits say what a merge superseded. A person's hook is never changed.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use super::install::Missing;
use crate::git::{Hooks, Repository};
use crate::project::error::error::OpsError;
use crate::storage::{Durability, Folder, StoreError};

/// What git calls it.
pub(crate) const HOOK: &str = "prepare-commit-msg";

/// The line of a hook that does what ours does.
const HOOK_LINE: &str = "aof merge-driver --message \"$1\" \"$2\"";

/// What stands in the hook above that line.
const HOOK_HEAD: &str = "#!/bin/sh\n# Lists what a merge of tasks superseded in its message, whatever way that is written. Has git stop at\n\
    # a commit that is rebased, picked or reverted, and that the rules of the tasks do not allow there, and before what a killed\n\
    # command of aof has left is committed by hand, or what was committed since git looked is taken back.\n\
    dir=$(git rev-parse --git-dir) || exit 0\n\
    [ -e \"$dir/MERGE_HEAD\" ] || [ -e \"$dir/CHERRY_PICK_HEAD\" ] || [ -e \"$dir/REBASE_HEAD\" ] ||\n\
    [ -e \"$dir/REVERT_HEAD\" ] || grep -q '^This reverts commit ' \"$1\" ||\n\
    grep -qs '[^ ]' .aof/intent || ls \"$dir\" | grep -q '^aof-' ||\n\
    ! git diff-index --cached --quiet HEAD -- '*tasks/*' 2>/dev/null || exit 0\n\
    command -v aof >/dev/null 2>&1 || exit 0\n";

/// What stood there before: the first says nothing of a merge whose message a person gives, the second does not look at what is rebased,
/// and none looks at what would be taken back.
const FORMER_HOOK_HEADS: [&str; 3] = [
    "#!/bin/sh\n# Lists what a merge of tasks superseded in its message.\n\
     [ \"$2\" = merge ] || exit 0\ncommand -v aof >/dev/null 2>&1 || exit 0\n",
    "#!/bin/sh\n# Lists what a merge of tasks superseded in its message, whatever way that is written.\n\
     [ -e \"$(git rev-parse --git-path MERGE_HEAD)\" ] || exit 0\ncommand -v aof >/dev/null 2>&1 || exit 0\n",
    "#!/bin/sh\n# Lists what a merge of tasks superseded in its message, whatever way that is written. Has git stop at\n\
     # a commit that is rebased, picked or reverted, and that the rules of the tasks do not allow there, and before what a killed\n\
     # command of aof has left is committed by hand.\n\
     dir=$(git rev-parse --git-dir) || exit 0\n\
     [ -e \"$dir/MERGE_HEAD\" ] || [ -e \"$dir/CHERRY_PICK_HEAD\" ] || [ -e \"$dir/REBASE_HEAD\" ] ||\n\
     [ -e \"$dir/REVERT_HEAD\" ] || grep -q '^This reverts commit ' \"$1\" ||\n\
     grep -qs '[^ ]' .aof/intent || ls \"$dir\" | grep -q '^aof-' || exit 0\n\
     command -v aof >/dev/null 2>&1 || exit 0\n",
];

/// Why a hook that has our line does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It is not executable.
    Mode,
    /// Its first line, or ours, ends in a carriage return.
    Ends,
}

/// Returns what is missing of the hook, if anything.
pub(crate) fn missing(repository: &Repository) -> Result<Option<Missing>, OpsError> {
    let (folder, own) = match repository.hooks()? {
        Hooks::Own(folder) => (folder, true),
        Hooks::Elsewhere(folder) => (folder, false),
    };
    let path = folder.join(HOOK);
    Ok(match fs::read_to_string(&path) {
        // What stands behind a link may be others' as well.
        Ok(text) if own && !path.is_symlink() && is_ours(&text) => {
            (is_former(&text) || !runs(&path)).then_some(Missing::Hook)
        }
        Ok(text) if own && !path.is_symlink() && is_ours(&text.replace("\r\n", "\n")) => {
            Some(Missing::HookEnds)
        }
        Ok(text) if calls(&text) && runs(&path) && !has_wrong_ends(&text) => None,
        Err(fault) if fault.kind() == ErrorKind::NotFound && own && !path.is_symlink() => {
            Some(Missing::Hook)
        }
        read => {
            let idle = read
                .ok()
                .filter(|text| calls(text))
                .map(|_| if runs(&path) { Idle::Ends } else { Idle::Mode });
            Some(Missing::ForeignHook { path, line: HOOK_LINE, idle })
        }
    })
}

/// Returns whether git runs that file.
fn runs(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|own| own.is_file() && own.permissions().mode() & 0o111 != 0)
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
    lines.any(|(number, line)| {
        line.ends_with('\r') && ((number == 0 && line.starts_with("#!")) || is_call(line))
    })
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

/// Writes the hook into that folder.
pub(crate) fn write(folder: &Path) -> Result<(), OpsError> {
    let text = hook();
    let path = folder.join(HOOK);
    let broken = |cause| StoreError::Io { doing: "write the hook", path: path.clone(), cause };
    if fs::read_to_string(&path).is_ok_and(|text| is_ours(&text.replace("\r\n", "\n"))) {
        Folder::open(folder, "")?.replace(HOOK, text.as_bytes(), Durability::Durable)?;
        return Ok(fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).map_err(broken)?);
    }
    let temp = format!(".{HOOK}.aof-{}", std::process::id());
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o755).open(folder.join(&temp))?;
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
