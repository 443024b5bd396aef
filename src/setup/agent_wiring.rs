//! Updates the files that inform coding agents about the project, in one commit of their own. A file with uncommitted changes, or one
//! that cannot be merged, is left alone; the others are written.

use std::path::Path;

use super::agent_files::claude_hooks::with_hooks;
use super::agent_files::{AgentFile, UnmergeableFile};
use super::planned_files::{PlannedFiles, write_planned};
use crate::domain::AgentId;
use crate::git::{CommitId, GitError, Head, Repository};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::task_files::read;
use crate::storage::{Paths, ProjectPath, StoreError};
use crate::tasks::plan::DryRun;
use crate::tasks::write::PlainFile;

/// The choice of a person: who acts, and the extent of what is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WiringChoice<'a> {
    /// The agent that acts if a client's environment does not name one.
    pub agent: Option<&'a AgentId>,
    /// True if Claude Code gets hooks.
    pub hooks: bool,
}

/// The files of coding agents, and what was done with each.
pub(crate) struct WiredAgents {
    /// All files.
    pub files: Vec<WiredFile>,
    /// The agent that acts if a client's environment does not name one.
    pub agent: Option<AgentId>,
    /// The commit; `None` if none was made.
    pub commit: Option<CommitId>,
}

/// One of the files of coding agents.
pub(crate) struct WiredFile {
    /// The kind of file.
    pub file: AgentFile,
    /// The path of the file.
    pub path: ProjectPath,
    /// The action on the file, done or planned.
    pub fate: Wiring,
}

/// The action on a file of coding agents.
pub(crate) enum Wiring {
    /// The file is up to date.
    Unchanged,
    /// The file is written.
    Written {
        /// The old text; `None` if the file is new.
        before: Option<String>,
        /// The new text.
        after: String,
    },
    /// The file is left alone.
    Refused(WiringRefusal),
}

/// The reason why a file is left alone.
pub(crate) struct WiringRefusal {
    /// A stable name for programs.
    pub code: &'static str,
    /// A description of the problem.
    pub problem: String,
    /// The fix.
    pub fix: String,
}

impl Wiring {
    /// Returns true if the file is written.
    pub(crate) fn changes(&self) -> bool {
        matches!(self, Self::Written { .. })
    }
}

impl WiredAgents {
    /// Returns true if any file is written.
    pub(crate) fn changes(&self) -> bool {
        self.files.iter().any(|file| file.fate.changes())
    }

    /// Returns the files that were left alone, with the reasons.
    pub(crate) fn refused(&self) -> impl Iterator<Item = (&WiredFile, &WiringRefusal)> {
        self.files.iter().filter_map(|file| match &file.fate {
            Wiring::Refused(obstacle) => Some((file, obstacle)),
            _ => None,
        })
    }
}

/// Brings the files up to date and commits exactly those that changed.
pub(crate) fn wire_agents(
    workspace: &Workspace,
    choice: WiringChoice<'_>,
    dry_run: DryRun,
) -> Result<WiredAgents, ProjectError> {
    // Only the commit detects other versions in git's index.
    let mut staged: Vec<ProjectError> = Vec::new();
    loop {
        let plan = |head: &Head| {
            let mut wired =
                plan(workspace.paths.root(), choice, Some((&workspace.repository, head)))?;
            for file in &mut wired.files {
                let is_about = |error: &&ProjectError| {
                    staged_elsewise(error).is_some_and(|path| is_path_of(path, &file.path))
                };
                if let Some(error) = staged.iter().find(is_about) {
                    let fix = "the others are done; do that, then run this again";
                    file.fate = refused("staged", &error.to_string(), fix);
                }
            }
            let files = wired.files.iter().filter_map(plain_file).collect();
            Ok(PlannedFiles { outcome: wired, files, is_committed: true })
        };
        match write_planned(workspace, dry_run, MESSAGE, plan) {
            Ok((wired, commit)) => return Ok(WiredAgents { commit, ..wired }),
            Err(error)
                if staged_elsewise(&error).is_some() && staged.len() < AgentFile::ALL.len() =>
            {
                staged.push(error);
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns the file of which git's index has another version.
fn staged_elsewise(error: &ProjectError) -> Option<&str> {
    match error {
        ProjectError::Git(
            GitError::StagedDifferently { path }
            | GitError::Unmerged { path }
            | GitError::IntentToAdd { path },
        ) => Some(path),
        _ => None,
    }
}

/// Returns true if a path from the top of the worktree is the file's; the project may be in a subfolder.
fn is_path_of(full: &str, path: &ProjectPath) -> bool {
    full.strip_suffix(path.as_str())
        .is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

const MESSAGE: &str = "Tell coding agents how to work on tasks";

/// Returns the files that would be written for a project that does not exist yet.
pub(crate) fn agents_to_wire(
    folder: &Path,
    choice: WiringChoice<'_>,
) -> Result<WiredAgents, ProjectError> {
    let standing =
        folder.ancestors().find(|folder| folder.is_dir() && !folder.as_os_str().is_empty());
    let repository = match Repository::discover(standing.unwrap_or(Path::new("."))) {
        Ok(repository) if folder.is_dir() => Some(repository),
        Ok(_) | Err(GitError::NoRepository { .. }) => None,
        Err(error) => return Err(error.into()),
    };
    let head = repository.as_ref().map(Repository::head_for_reading).transpose()?;
    plan(folder, choice, repository.as_ref().zip(head.as_ref()))
}

/// Returns the agent that the files in a folder name already.
pub(crate) fn wired_agent(root: &Path) -> Option<AgentId> {
    let path = root.join(AgentFile::ClaudeSettings.places()[0]);
    AgentFile::agent_of_shells(&std::fs::read_to_string(path).ok()?)
}

fn plan(
    root: &Path,
    WiringChoice { agent, hooks }: WiringChoice<'_>,
    committed: Option<(&Repository, &Head)>,
) -> Result<WiredAgents, ProjectError> {
    let before = wired_agent(root);
    let files = AgentFile::ALL.into_iter().map(|file| {
        let places = file.places();
        let exists = |place: &&str| root.join(place).symlink_metadata().is_ok();
        let place = places.iter().copied().find(exists).unwrap_or(places[0]);
        let path: ProjectPath = place.parse()?;
        let merged = |current: Option<&str>| {
            let merged = match (current, &before, agent) {
                (Some(text), Some(before), Some(agent)) => {
                    file.merged(Some(&file.renamed(text, before, agent)), Some(agent))
                }
                _ => file.merged(current, agent),
            }?;
            let gets_hooks = hooks && file == AgentFile::ClaudeSettings;
            if gets_hooks { with_hooks(&merged) } else { Ok(merged) }
        };
        let fate = fate(root, committed, (file, &path), &merged)?;
        Ok(WiredFile { file, path, fate })
    });
    let files = files.collect::<Result<_, ProjectError>>()?;
    Ok(WiredAgents { files, agent: agent.cloned(), commit: None })
}

fn fate(
    root: &Path,
    committed: Option<(&Repository, &Head)>,
    (file, path): (AgentFile, &ProjectPath),
    merged: &dyn Fn(Option<&str>) -> Result<String, UnmergeableFile>,
) -> Result<Wiring, ProjectError> {
    let full = path.below(root);
    if file == AgentFile::ClaudeInstructions
        && is_link_to(&full, &root.join(AgentFile::Instructions.places()[0]))
    {
        return Ok(Wiring::Unchanged);
    }
    let folder = root.join(path.folder());
    if !path.folder().is_empty() && folder.symlink_metadata().is_ok_and(|found| !found.is_dir()) {
        let problem = format!("`{}` is no folder", path.folder());
        return Ok(refused("unreadable_file", &problem, "make it one, then run this again"));
    }
    let unreadable = |problem: &str, fix: &str| Ok(refused("unreadable_file", problem, fix));
    let standing = if full.symlink_metadata().is_ok() {
        match read(&Paths::at(root), path) {
            Ok(snapshot) => Some(snapshot.bytes),
            Err(StoreError::Gone { .. }) => None,
            Err(error @ (StoreError::WrongKind { .. } | StoreError::TooLarge { .. })) => {
                return unreadable(&error.to_string(), "put a plain file in its place");
            }
            Err(error) => return Err(error.into()),
        }
    } else {
        None
    };
    let Ok(text) = standing.clone().map(String::from_utf8).transpose() else {
        return unreadable(&format!("`{path}` is not UTF-8"), "save it as UTF-8");
    };
    let after = match merged(text.as_deref()) {
        // Without a known agent, one of the files needs no content.
        Ok(after) if after == text.as_deref().unwrap_or_default() => return Ok(Wiring::Unchanged),
        Ok(after) => after,
        Err(fault) => {
            let problem = format!("`{path}`: {}", fault.problem);
            return Ok(refused("unmergeable_file", &problem, &fault.fix));
        }
    };
    let in_head = match committed {
        Some((repository, head)) => {
            head.commit.map(|commit| repository.read(commit, path.as_str())).transpose()?
        }
        None => None,
    };
    let in_head = in_head.flatten();
    if in_head != standing {
        let problem = match (&standing, &in_head) {
            (None, _) => format!("`{path}` was removed, and that is not committed"),
            (_, None) => format!("`{path}` is not committed"),
            _ => format!("`{path}` has changes that are not committed"),
        };
        return Ok(refused(
            "uncommitted_changes",
            &problem,
            &format!("commit `{path}`, then run this again"),
        ));
    }
    if let Some((repository, _)) = committed.filter(|_| standing.is_none())
        && repository.is_ignored(path.as_str())?
    {
        let problem = format!("git ignores `{path}`, so it would not be shared");
        return Ok(refused(
            "ignored_file",
            &problem,
            "write it yourself, or take it out of .gitignore and run this again",
        ));
    }
    Ok(Wiring::Written { before: text, after })
}

fn is_link_to(link: &Path, target: &Path) -> bool {
    let is_link = link.symlink_metadata().is_ok_and(|found| found.is_symlink());
    is_link
        && link
            .canonicalize()
            .is_ok_and(|real| target.canonicalize().is_ok_and(|target| real == target))
}

fn refused(code: &'static str, problem: &str, fix: &str) -> Wiring {
    Wiring::Refused(WiringRefusal { code, problem: problem.to_owned(), fix: fix.to_owned() })
}

fn plain_file(file: &WiredFile) -> Option<PlainFile> {
    let Wiring::Written { before, after } = &file.fate else { return None };
    let before = before.as_ref().map(|text| text.as_bytes().to_vec());
    Some(PlainFile { path: file.path.clone(), before, bytes: after.as_bytes().to_vec() })
}
