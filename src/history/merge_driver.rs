//! Git's merge driver for task files, and the setup of the driver and of git's hooks.
//!
//! The driver merges the file that git names by the rules in force at HEAD. The hooks run `staged_check`. Git calls both because of a
//! committed line in `.gitattributes`, and of the configuration and hooks of each clone. A person's lines and hooks stay as they are.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::domain::TaskId;
use crate::files::config::configuration::PROJECT_FILE;
use crate::git::{CommitId, Head, Hooks, Marks, Repository, with_lf};
use crate::history::commit_tasks::{id_of, project_folders};
use crate::project::active_rules::{default_rules, rules_at};
use crate::project::error::ProjectError;
use crate::project::rule_files::rule_blobs;
use crate::project::workspace::Workspace;
use crate::storage::task_files::read;
use crate::storage::{Folder, ProjectPath, StoreError};
use crate::tasks::apply::commit_files;
use crate::tasks::merge::file_merge::{merge_files, merge_virtual_base};
use crate::tasks::merge::versions::{FileMerge, Versions, conflict_of_names, ensure_one_task};
use crate::tasks::write::PlainFile;

/// Opens the project in a folder.
pub(crate) type ProjectOpener<'o> = &'o dyn Fn(&Path) -> Result<Workspace, ProjectError>;

/// Returns whether git merges two common ancestors of a criss-cross merge, by the labels of the sides. A label may be followed by the
/// path of a moved file.
pub(crate) fn is_virtual_base(marks: &Marks) -> bool {
    let is = |label: &str, name| {
        label.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    };
    is(&marks.ours, "Temporary merge branch 1") && is(&marks.theirs, "Temporary merge branch 2")
}

/// Merges two versions of a file at a path of the repository around `here`.
pub(crate) fn drive(
    open: ProjectOpener<'_>,
    here: &Path,
    path: &str,
    versions: Versions<'_>,
    marks: &Marks,
) -> Result<FileMerge, ProjectError> {
    let root = Repository::discover(here)?.worktree_root().to_owned();
    let top = open(&root)?;
    let head = top.repository.head_for_reading()?.commit;
    let Some((folder, id)) = task_at(&top.repository, head, path)? else {
        return FileMerge::as_text(versions, None, marks);
    };
    let names = [&marks.ours, &marks.theirs].map(|label| task_of_label(label));
    if let Some(kept) = conflict_of_names(&id, versions, names.each_ref().map(Option::as_ref)) {
        return Ok(kept);
    }
    let project = root.join(folder);
    let rules = match head {
        Some(head) if project.is_dir() => {
            let workspace = open(&project)?;
            match rules_at(&workspace, head)? {
                None if rule_blobs(&workspace.repository, head)?.is_empty() => {
                    Some(default_rules()?)
                }
                rules => rules,
            }
        }
        _ => None,
    };
    match rules {
        Some(rules) if is_virtual_base(marks) => merge_virtual_base(&rules, &id, versions),
        Some(rules) => merge_files(&rules, &id, versions, marks),
        None => {
            if let Err(kept) = ensure_one_task(&id, versions) {
                return Ok(kept);
            }
            let why = "the branch that is merged into has no rules that are valid".to_owned();
            FileMerge::as_text(versions, Some(why), marks)
        }
    }
}

/// Returns the task of a file of the repository, and the folder of its project. Of several folders called `tasks`, the one beside rules
/// counts.
fn task_at(
    top: &Repository,
    head: Option<CommitId>,
    path: &str,
) -> Result<Option<(String, TaskId)>, ProjectError> {
    let Some(id) = id_of(path) else { return Ok(None) };
    for folder in project_folders(path) {
        if let Some(head) = head
            && top.blob_id(head, &format!("{folder}{PROJECT_FILE}"))?.is_some()
        {
            return Ok(Some((folder.to_owned(), id)));
        }
    }
    Ok(project_folders(path).next().map(|folder| (folder.to_owned(), id)))
}

/// Returns the task of the path in a label: git adds the paths if they differ between the sides.
fn task_of_label(label: &str) -> Option<TaskId> {
    id_of(label.rsplit_once(':')?.1)
}

/// The command that git runs for each file. If `aof` is missing, fails or is killed, git merges the file as text, with markers:
/// otherwise it would leave our version, and the next `git add` would lose the other side.
const COMMAND: &str = "aof merge-driver %O %A %B %P --marker-size %L --ours-label %X --theirs-label %Y; code=$?; case $code in \
                       0|1) exit $code;; *) git merge-file --marker-size=%L -L %X -L base -L %Y %A %O %B;; esac";

/// The driver's name for people.
const NAME: &str = "tasks, by their meaning";

/// The parts of the setup that a clone lacks.
#[derive(Debug)]
pub(crate) struct MissingSetup {
    /// True if the line in `.gitattributes` is missing.
    pub attributes: bool,
    /// True if git's configuration has no command, or another one.
    pub driver: bool,
    pub hooks: HookState,
}

/// Returns the missing parts.
pub(crate) fn missing(repository: &Repository) -> Result<MissingSetup, ProjectError> {
    Ok(MissingSetup {
        attributes: repository.merge_attribute("tasks/AOF-abc.md")?.as_deref() != Some("aof"),
        driver: lacks_driver(repository)?,
        hooks: HookState::of(repository)?,
    })
}

/// Returns whether the clone lacks the driver.
pub(crate) fn lacks_driver(repository: &Repository) -> Result<bool, ProjectError> {
    Ok(repository.merge_driver()?.as_deref() != Some(COMMAND))
}

/// Sets up the missing parts; `.gitattributes` in a commit of its own. Returns whether that file is complete: one with uncommitted
/// changes is left alone.
pub(crate) fn install(workspace: &Workspace) -> Result<bool, ProjectError> {
    let is_whole = !missing(&workspace.repository)?.attributes || commit_attributes(workspace)?;
    install_here(workspace)?;
    Ok(is_whole)
}

/// Sets up the parts that are not committed: git's configuration and the hooks.
pub(crate) fn install_here(workspace: &Workspace) -> Result<(), ProjectError> {
    let repository = &workspace.repository;
    if lacks_driver(repository)? {
        repository.set_merge_driver(NAME, COMMAND)?;
    }
    set_up_hooks(repository)
}

/// The changes that [`install_here`] will make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SetupPlan {
    /// The git configuration that gets the driver.
    pub driver: Option<PathBuf>,
    /// The hooks that are created.
    pub hooks: Vec<PathBuf>,
    /// A person's hooks that lack the line.
    pub foreign: Vec<PathBuf>,
}

/// Returns the changes that [`install_here`] will make. Without a repository, one will be created in the folder.
pub(crate) fn to_set_up(
    repository: Option<&Repository>,
    folder: &Path,
) -> Result<SetupPlan, ProjectError> {
    let Some(repository) = repository else {
        let git = folder.join(".git");
        let hooks = HOOKS.map(|name| git.join("hooks").join(name)).to_vec();
        return Ok(SetupPlan { driver: Some(git.join("config")), hooks, foreign: Vec::new() });
    };
    let HookState { ours: hooks, foreign, .. } = HookState::of(repository)?;
    let driver = lacks_driver(repository)?.then(|| repository.common_dir().join("config"));
    Ok(SetupPlan { driver, hooks, foreign })
}

/// The file that selects the files that our driver merges.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

/// The line in `.gitattributes`. It also keeps git from converting task files: they are compared byte for byte.
const LINE: &str = "tasks/**/*.md merge=aof -text";

/// Returns the file with the line added; `None` if it has the line.
pub(crate) fn attributes_after(before: Option<&[u8]>) -> Option<Vec<u8>> {
    let before = before.unwrap_or_default();
    if before.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == LINE.as_bytes()) {
        return None;
    }
    let end: &[u8] = if before.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let gap = if before.is_empty() || before.ends_with(b"\n") { &b""[..] } else { end };
    Some([before, gap, LINE.as_bytes(), end].concat())
}

/// Returns the file without the line; `None` if it does not have it.
pub(crate) fn attributes_without(before: &[u8]) -> Option<Vec<u8>> {
    let is_other = |line: &&[u8]| line.trim_ascii() != LINE.as_bytes();
    let rest: Vec<u8> =
        before.split_inclusive(|byte| *byte == b'\n').filter(is_other).collect::<Vec<_>>().concat();
    (rest.len() < before.len()).then_some(rest)
}

/// Returns whether the file is as in HEAD, apart from line ends that git may have converted.
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

/// The state of `.gitattributes` in the worktree.
enum AttributesFile {
    /// The file is as in HEAD; `None` if there is none.
    Committed(Option<Vec<u8>>),
    /// The file has uncommitted changes.
    Changed,
}

/// Returns whether the file has uncommitted changes, so that the line is not added.
pub(crate) fn has_uncommitted_attributes(workspace: &Workspace) -> Result<bool, ProjectError> {
    Ok(matches!(
        read_attributes(workspace, &workspace.repository.head_for_reading()?)?,
        AttributesFile::Changed
    ))
}

fn read_attributes(workspace: &Workspace, head: &Head) -> Result<AttributesFile, ProjectError> {
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

/// Appends the line, and commits it. Returns `false` if the file has uncommitted changes, and was left alone.
pub(crate) fn commit_attributes(workspace: &Workspace) -> Result<bool, ProjectError> {
    let path: ProjectPath = ATTRIBUTES.parse()?;
    loop {
        let head = workspace.head()?;
        let AttributesFile::Committed(standing) = read_attributes(workspace, &head)? else {
            return Ok(false);
        };
        let Some(bytes) = attributes_after(standing.as_deref()) else { return Ok(true) };
        // Git may have written CRLF here, and would convert it.
        let bytes = with_lf(&bytes).into_owned();
        let file = PlainFile { path: path.clone(), before: standing, bytes };
        let message = "Merge tasks by their meaning, and keep their line ends";
        if commit_files(workspace, &head, &[file], message)?.is_some() {
            return Ok(true);
        }
    }
}

/// The hooks that git runs before it commits, and before it commits a merge without conflicts.
pub(crate) const HOOKS: [&str; 2] = ["pre-commit", "pre-merge-commit"];

/// The line of a hook that runs our check.
pub(crate) const HOOK_LINE: &str = "aof merge-driver --check-staged";

const HOOK: &str = "#!/bin/sh\n\
    # Refuses a commit that takes back what aof has committed of a task.\n\
    command -v aof >/dev/null 2>&1 || exit 0\n\
    aof merge-driver --check-staged\n";

/// The configuration files of hook managers.
const MANAGERS: [&str; 3] = [".pre-commit-config.yaml", "lefthook.yml", "lefthook.yaml"];

/// The state of the hooks.
#[derive(Debug, Default)]
pub(crate) struct HookState {
    /// Hooks that aof creates or repairs.
    pub ours: Vec<PathBuf>,
    /// A person's hooks that lack the line.
    pub foreign: Vec<PathBuf>,
    /// True if `core.hooksPath` names their folder.
    pub is_elsewhere: bool,
}

impl HookState {
    pub(crate) fn of(repository: &Repository) -> Result<Self, ProjectError> {
        let (folder, is_own) = match repository.hooks()? {
            Hooks::Own(folder) => (folder, true),
            Hooks::Elsewhere(folder) => (folder, false),
        };
        // Husky's own files there run those of the folder above.
        let is_husky = folder.ends_with(".husky/_");
        let folder = if is_husky { folder.with_file_name("") } else { folder };
        let mut state = Self { is_elsewhere: !is_own, ..Self::default() };
        let is_in_manager = |name: &&str| {
            let text = fs::read_to_string(repository.worktree_root().join(name));
            text.is_ok_and(|text| runs_check(&text))
        };
        if !MANAGERS.iter().any(is_in_manager) {
            for path in HOOKS.map(|name| folder.join(name)) {
                // A linked file may be shared with others.
                let is_own = is_own && !path.is_symlink();
                match fs::read_to_string(&path) {
                    Ok(text) if runs_check(&text) && (is_husky || is_executable(&path)) => {}
                    Ok(text) if is_own && text == HOOK => state.ours.push(path),
                    Err(fault) if fault.kind() == ErrorKind::NotFound && is_own => {
                        state.ours.push(path);
                    }
                    _ => state.foreign.push(path),
                }
            }
        }
        Ok(state)
    }
}

/// Returns the hooks that are entirely ours, and those of a person that run our check.
pub(crate) fn hooks_to_remove(
    repository: &Repository,
) -> Result<(Vec<PathBuf>, Vec<PathBuf>), ProjectError> {
    let (Hooks::Own(folder) | Hooks::Elsewhere(folder)) = repository.hooks()?;
    let managers = MANAGERS.iter().map(|name| repository.worktree_root().join(name));
    let (mut ours, mut foreign) = (Vec::new(), Vec::new());
    for path in HOOKS.map(|name| folder.join(name)).into_iter().chain(managers) {
        match fs::read_to_string(&path) {
            Ok(text) if text == HOOK && !path.is_symlink() => ours.push(path),
            Ok(text) if runs_check(&text) => foreign.push(path),
            _ => {}
        }
    }
    Ok((ours, foreign))
}

/// Returns whether a hook runs our check.
fn runs_check(text: &str) -> bool {
    text.lines().any(|line| !line.trim_start().starts_with('#') && line.contains(HOOK_LINE))
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Writes the hooks that aof creates.
fn set_up_hooks(repository: &Repository) -> Result<(), ProjectError> {
    let HookState { ours, .. } = HookState::of(repository)?;
    for path in ours {
        write_hook(&path)?;
    }
    Ok(())
}

fn write_hook(path: &Path) -> Result<(), ProjectError> {
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
    // A hook that a person created meanwhile is not replaced.
    let hooks = Folder::open(folder, "")?;
    let moved = hooks.move_new(OsStr::new(&temp), &hooks, name);
    if moved.is_err() {
        hooks.remove(&temp)?;
    }
    Ok(moved?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_end_in_the_path_of_a_renamed_file() {
        let id = |label| task_of_label(label).map(|id| id.to_string());
        assert_eq!(id("side:tasks/AOF-abc.md").as_deref(), Some("AOF-abc"));
        assert_eq!(
            id("16c250e (of: two):tasks/archive/2026/02/16/AOF-abc.md").as_deref(),
            Some("AOF-abc")
        );
        for label in [
            "side",
            "tasks/AOF-abc.md",
            "16c250e (see tasks/AOF-abc.md)",
            "16c250e (see: AOF-abc.md)",
            "side:notes.md",
        ] {
            assert_eq!(id(label), None, "{label}");
        }
    }

    #[test]
    fn labels_tell_a_virtual_base() {
        let is_base = |ours: &str, theirs: &str| {
            is_virtual_base(&Marks { size: 7, ours: ours.into(), theirs: theirs.into() })
        };
        assert!(is_base("Temporary merge branch 1", "Temporary merge branch 2"));
        assert!(is_base(
            "Temporary merge branch 1:tasks/AOF-abc.md",
            "Temporary merge branch 2:tasks/archive/2026/02/16/AOF-abc.md"
        ));
        for theirs in ["side", "16c250e", "Stashed changes", "Temporary merge branch 2"] {
            assert!(!is_base("HEAD", theirs), "{theirs}");
        }
    }
}
