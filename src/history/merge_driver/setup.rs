//! What tells git to merge tasks by meaning: a line in `.gitattributes`, which is committed, and in each clone git's configuration and
//! hooks. A person's lines and hooks stay as they are.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::git::{Head, Hooks, Repository, with_lf};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::task_files::read;
use crate::storage::{Folder, ProjectPath, StoreError};
use crate::tasks::apply::commit_files;
use crate::tasks::write::Beside;

/// The command that git runs for each file.
const COMMAND: &str =
    "aof merge-driver %O %A %B %P --marker-size %L --ours-label %X --theirs-label %Y";

/// The driver's name for people.
const NAME: &str = "tasks, by their meaning";

/// What a clone lacks.
#[derive(Debug)]
pub(crate) struct Missing {
    /// The line in `.gitattributes`.
    pub attributes: bool,
    /// The command in git's configuration; there may be another one.
    pub driver: bool,
    /// The hooks.
    pub hooks: HookState,
}

/// Returns what is missing.
pub(crate) fn missing(repository: &Repository) -> Result<Missing, ProjectError> {
    Ok(Missing {
        attributes: repository.merge_attribute("tasks/AOF-abc.md")?.as_deref() != Some("aof"),
        driver: lacks_driver(repository)?,
        hooks: HookState::of(repository)?,
    })
}

/// Returns whether the clone does not know the driver.
pub(crate) fn lacks_driver(repository: &Repository) -> Result<bool, ProjectError> {
    Ok(repository.merge_driver()?.as_deref() != Some(COMMAND))
}

/// Sets up what is missing; `.gitattributes` in a commit of its own. Returns whether that file could be changed: its uncommitted changes
/// are left alone.
pub(crate) fn install(workspace: &Workspace) -> Result<bool, ProjectError> {
    let is_whole = !missing(&workspace.repository)?.attributes || commit_attributes(workspace)?;
    install_here(workspace)?;
    Ok(is_whole)
}

/// Sets up what no commit holds: git's configuration and the hooks.
pub(crate) fn install_here(workspace: &Workspace) -> Result<(), ProjectError> {
    let repository = &workspace.repository;
    if lacks_driver(repository)? {
        repository.set_merge_driver(NAME, COMMAND)?;
    }
    set_up_hooks(repository)
}

/// What [`install_here`] is going to set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SetUp {
    /// The git configuration that gets the driver.
    pub driver: Option<PathBuf>,
    /// The hooks that are made.
    pub hooks: Vec<PathBuf>,
    /// Hooks that a person has, or would have to make, and that lack the line.
    pub foreign: Vec<PathBuf>,
}

/// Returns what [`install_here`] is going to set up. Without a repository, one will be made in the folder.
pub(crate) fn to_set_up(
    repository: Option<&Repository>,
    folder: &Path,
) -> Result<SetUp, ProjectError> {
    let Some(repository) = repository else {
        let git = folder.join(".git");
        let hooks = HOOKS.map(|name| git.join("hooks").join(name)).to_vec();
        return Ok(SetUp { driver: Some(git.join("config")), hooks, foreign: Vec::new() });
    };
    let HookState { ours: hooks, foreign, .. } = HookState::of(repository)?;
    let driver = lacks_driver(repository)?.then(|| repository.common_dir().join("config"));
    Ok(SetUp { driver, hooks, foreign })
}

/// The file that says which files our driver merges.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

/// The line that says so, and that git writes them as they were committed: tasks are compared byte for byte.
const LINE: &str = "tasks/**/*.md merge=aof -text";

/// Returns what the file is to say, if it does not say it yet.
pub(crate) fn attributes_after(before: Option<&[u8]>) -> Option<Vec<u8>> {
    let before = before.unwrap_or_default();
    if before.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == LINE.as_bytes()) {
        return None;
    }
    let end: &[u8] = if before.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let apart = if before.is_empty() || before.ends_with(b"\n") { &b""[..] } else { end };
    Some([before, apart, LINE.as_bytes(), end].concat())
}

/// Returns whether the file says what HEAD has; line ends that git may have written are no difference.
pub(crate) fn is_as_committed(
    repository: &Repository,
    standing: Option<&[u8]>,
    committed: Option<&[u8]>,
) -> bool {
    match (standing, committed) {
        (Some(standing), Some(committed)) => {
            repository.is_same_text(standing, repository.hash_blob(committed))
        }
        (standing, committed) => standing.is_none() && committed.is_none(),
    }
}

/// The file in the worktree.
enum AttributesFile {
    /// It says what HEAD has; nothing where there is none.
    Committed(Option<Vec<u8>>),
    /// It has changes that are not committed.
    Changed,
}

/// Returns whether the file has changes that are not committed, so that nobody adds the line.
pub(crate) fn is_held(workspace: &Workspace) -> Result<bool, ProjectError> {
    Ok(matches!(look(workspace, &workspace.repository.look()?)?, AttributesFile::Changed))
}

fn look(workspace: &Workspace, head: &Head) -> Result<AttributesFile, ProjectError> {
    let committed = head
        .commit
        .map(|commit| workspace.repository.read(commit, ATTRIBUTES))
        .transpose()?
        .flatten();
    let standing = match read(&workspace.paths, &ATTRIBUTES.parse()?) {
        Ok(standing) => Some(standing.bytes),
        Err(StoreError::Gone { .. }) => None,
        Err(_) => return Ok(AttributesFile::Changed),
    };
    let is_unchanged =
        is_as_committed(&workspace.repository, standing.as_deref(), committed.as_deref());
    Ok(if is_unchanged { AttributesFile::Committed(standing) } else { AttributesFile::Changed })
}

/// Appends the line, and commits it. A file with changes that are not committed is left alone.
pub(crate) fn commit_attributes(workspace: &Workspace) -> Result<bool, ProjectError> {
    let path: ProjectPath = ATTRIBUTES.parse()?;
    loop {
        let head = workspace.head()?;
        let AttributesFile::Committed(standing) = look(workspace, &head)? else { return Ok(false) };
        let Some(bytes) = attributes_after(standing.as_deref()) else { return Ok(true) };
        // Git may have written CRLF here, and would convert it.
        let bytes = with_lf(&bytes).into_owned();
        let file = Beside { path: path.clone(), before: standing, bytes };
        let message = "Merge tasks by their meaning, and keep their line ends";
        if commit_files(workspace, &head, &[file], message)?.is_some() {
            return Ok(true);
        }
    }
}

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
