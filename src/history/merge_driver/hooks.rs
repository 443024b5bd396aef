//! The hooks `pre-commit` and `pre-merge-commit`. A person's hook is never changed.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::git::{Hooks, Repository};
use crate::project::error::ProjectError;
use crate::storage::{Folder, StoreError};

/// The hooks that git asks before it commits, and before it commits a merge without conflicts.
pub(crate) const HOOKS: [&str; 2] = ["pre-commit", "pre-merge-commit"];

/// The line of a hook that does what ours do.
pub(crate) const HOOK_LINE: &str = "aof merge-driver --check-staged";

const HOOK: &str = "#!/bin/sh\n\
    # Refuses a commit that takes entries out of the history of a task.\n\
    command -v aof >/dev/null 2>&1 || exit 0\n\
    aof merge-driver --check-staged\n";

/// The files in which hook managers are told what to run.
const MANAGERS: [&str; 3] = [".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml"];

/// The hook that aof once made, and all the lines that it had over time.
const FORMER_HOOK: &str = "prepare-commit-msg";
const FORMER_LINES: &str = r#"#!/bin/sh
# Lists what a merge of tasks superseded in its message.
# Lists what a merge of tasks superseded in its message, whatever way that is written.
# Lists what a merge of tasks superseded in its message, whatever way that is written. Has git stop at
# a commit that is rebased, picked or reverted, and that the rules of the tasks do not allow there, and before what a killed
# command of aof has left is committed by hand.
# command of aof has left is committed by hand, or what was committed since git looked is taken back.
dir=$(git rev-parse --git-dir) || exit 0
[ -e "$dir/MERGE_HEAD" ] || [ -e "$dir/CHERRY_PICK_HEAD" ] || [ -e "$dir/REBASE_HEAD" ] ||
[ -e "$dir/REVERT_HEAD" ] || grep -q '^This reverts commit ' "$1" ||
grep -qs '[^ ]' .aof/intent || ls "$dir" | grep -q '^aof-' || exit 0
grep -qs '[^ ]' .aof/intent || ls "$dir" | grep -q '^aof-' ||
! git diff-index --cached --quiet HEAD -- '*tasks/*' 2>/dev/null || exit 0
[ "$2" = merge ] || exit 0
[ -e "$(git rev-parse --git-path MERGE_HEAD)" ] || exit 0
command -v aof >/dev/null 2>&1 || exit 0
aof merge-driver --message "$1" "$2"
"#;

/// The hooks as they stand.
#[derive(Debug, Default)]
pub(crate) struct HookState {
    /// Those that aof makes or mends.
    pub ours: Vec<PathBuf>,
    /// Those that a person has, or would have to make, and that lack the line.
    pub foreign: Vec<PathBuf>,
    /// The hook of an earlier version, to be removed.
    pub former: Option<PathBuf>,
}

impl HookState {
    pub(crate) fn of(repository: &Repository) -> Result<Self, ProjectError> {
        let (folder, is_own) = match repository.hooks()? {
            Hooks::Own(folder) => (folder, true),
            Hooks::Elsewhere(folder) => (folder, false),
        };
        let mut state = Self::default();
        let is_managed = |name: &&str| {
            let text = fs::read_to_string(repository.worktree_root().join(name));
            text.is_ok_and(|text| calls(&text))
        };
        if !MANAGERS.iter().any(is_managed) {
            for path in HOOKS.map(|name| folder.join(name)) {
                // Others may share what is behind a link.
                let is_own = is_own && !path.is_symlink();
                match fs::read_to_string(&path) {
                    Ok(text) if calls(&text) && is_executable(&path) => {}
                    Ok(text) if is_own && text == HOOK => state.ours.push(path),
                    Err(fault) if fault.kind() == ErrorKind::NotFound && is_own => {
                        state.ours.push(path);
                    }
                    _ => state.foreign.push(path),
                }
            }
        }
        let former = folder.join(FORMER_HOOK);
        let is_ours = |text: String| {
            text.contains("aof merge-driver --message")
                && text.lines().all(|line| FORMER_LINES.lines().any(|known| known == line))
        };
        let is_former = is_own && !former.is_symlink();
        if is_former && fs::read_to_string(&former).is_ok_and(is_ours) {
            state.former = Some(former);
        }
        Ok(state)
    }
}

/// Returns whether a hook calls the check.
fn calls(text: &str) -> bool {
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(HOOK_LINE))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|own| own.is_file() && own.permissions().mode() & 0o111 != 0)
}

/// Writes the hooks that aof makes, and removes the former one.
pub(crate) fn set_up_hooks(repository: &Repository) -> Result<(), ProjectError> {
    let HookState { ours, former, .. } = HookState::of(repository)?;
    for path in ours {
        write(&path)?;
    }
    if let Some(path) = former {
        let io = |cause| StoreError::Io { doing: "remove the hook", path: path.clone(), cause };
        fs::remove_file(&path).map_err(io)?;
    }
    Ok(())
}

fn write(path: &Path) -> Result<(), ProjectError> {
    let broken = |cause| StoreError::Io { doing: "write the hook", path: path.to_owned(), cause };
    let executable = fs::Permissions::from_mode(0o755);
    if path.exists() {
        return Ok(fs::set_permissions(path, executable).map_err(broken)?);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let temp = format!(".{}.aof-{}", name.to_string_lossy(), std::process::id());
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut options = fs::OpenOptions::new();
        let mut file =
            options.write(true).create(true).truncate(true).mode(0o755).open(folder.join(&temp))?;
        file.write_all(HOOK.as_bytes())?;
        file.sync_all()
    });
    written.map_err(broken)?;
    // A person may have made the hook meanwhile: it is never replaced.
    let hooks = Folder::open(folder, "")?;
    let moved = hooks.move_new(OsStr::new(&temp), &hooks, name);
    if moved.is_err() {
        hooks.remove(&temp)?;
    }
    Ok(moved?)
}
