//! Tasks that go on and whose file stands in the archive, and finished ones whose file stands outside of it: git follows renames when
//! it merges, and puts what goes on here where the other side has archived it. They are found without looking through the whole
//! archive each time, and brought to where they belong.

use std::collections::BTreeSet;
use std::fs;

use crate::domain::Status;
use crate::git::{CommitId, ObjectId, Repository};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::layout::{ARCHIVE, task_id};
use crate::storage::task_files::TaskEntry;
use crate::storage::{ArchiveScan, FileStat, Hint, ProjectPath};

/// So many files that changed in the archive are looked at again rather than noted each time.
const FEW: usize = 16;

/// Returns the files in the archive whose tasks may go on. What HEAD has decides which they are; those that are not there are left
/// out. What a person did and has not committed is not seen.
pub(crate) fn open_in_archive(workspace: &Workspace) -> Vec<TaskEntry> {
    let paths = &workspace.paths;
    if !paths.root().join(ARCHIVE).is_dir() {
        return Vec::new();
    }
    // Where git cannot tell, the archive is as it should be, as far as anybody knows; whoever commits meets the same.
    let open = committed(workspace).unwrap_or_default();
    let entry = |path: ProjectPath| {
        let data =
            fs::symlink_metadata(path.below(paths.root())).ok().filter(fs::Metadata::is_file)?;
        Some(TaskEntry { id: task_id(path.name())?.ok()?, stat: FileStat::of(&data), path })
    };
    open.into_iter().filter_map(entry).collect()
}

fn is_task(path: &ProjectPath) -> bool {
    task_id(path.name()).is_some_and(|id| id.is_ok())
}

/// Returns those that HEAD has: what was seen of an earlier commit, and what has changed since. What is kept is said of a commit, so
/// nothing but its own content goes into it: what stands in the worktree just now may be gone, or come back, at the next look.
fn committed(workspace: &Workspace) -> Result<BTreeSet<ProjectPath>, ProjectError> {
    let repository = &workspace.repository;
    let Some(head) = repository.look()?.commit else { return Ok(BTreeSet::new()) };
    let known = ArchiveScan::load(&workspace.paths).and_then(|known| {
        let since =
            known.commit.parse::<CommitId>().ok().filter(|since| repository.has_commit(*since))?;
        Some((since, known.paths().collect::<BTreeSet<ProjectPath>>()))
    });
    let Some((since, before)) = known else {
        let mut open = BTreeSet::new();
        for file in repository.list(head, ARCHIVE)? {
            see(repository, &mut open, &file.path, Some(file.id))?;
        }
        note(workspace, head, &open);
        return Ok(open);
    };
    if since == head {
        return Ok(before);
    }
    let mut open = before.clone();
    let changed = repository.changed_below(ARCHIVE, since, head)?;
    for file in &changed {
        see(repository, &mut open, &file.path, file.after)?;
    }
    if open != before || changed.len() > FEW {
        note(workspace, head, &open);
    }
    Ok(open)
}

/// Puts a file that a commit has there among the open ones, or takes it from them.
fn see(
    repository: &Repository,
    open: &mut BTreeSet<ProjectPath>,
    path: &str,
    content: Option<ObjectId>,
) -> Result<(), ProjectError> {
    let Ok(path) = path.parse::<ProjectPath>() else { return Ok(()) };
    let content = content.filter(|_| is_task(&path));
    match content.map(|content| repository.read_blob(content)).transpose()? {
        Some(bytes) if !says_finished(&bytes) => drop(open.insert(path)),
        _ => drop(open.remove(&path)),
    }
    Ok(())
}

fn note(workspace: &Workspace, head: CommitId, open: &BTreeSet<ProjectPath>) {
    let seen = ArchiveScan {
        commit: head.to_string(),
        open: open.iter().map(ToString::to_string).collect(),
    };
    // It only saves time: a project that cannot be written to is listed all the same.
    let _ = seen.save(&workspace.paths);
}

/// A file of thousands is soon asked: the key stands at the beginning of a line, above the body.
fn says_finished(bytes: &[u8]) -> bool {
    let lines = bytes.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    let status =
        lines.take_while(|line| *line != b"---").find_map(|line| line.strip_prefix(b"status:"));
    let said = status.and_then(|value| std::str::from_utf8(value).ok()).unwrap_or_default();
    let said =
        said.split_once(" #").map_or(said, |(said, _)| said).trim().trim_matches(['"', '\'']);
    said.parse::<Status>().is_ok_and(Status::is_finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_is_read_above_the_body_and_only_there() {
        for text in [
            "---\nid: AOF-abc\nstatus: complete\n---\n",
            "---\r\nstatus: 'failed' # at last\r\n---\r\n",
            "---\nstatus:   \"cancelled\"\n---\nstatus: ready\n",
        ] {
            assert!(says_finished(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "---\nstatus: ready\n---\n",
            "---\ntitle: x\n---\nstatus: complete\n",
            "---\nmetadata:\n  status: complete\nstatus: in_progress\n---\n",
            "---\nstatus: Complete\n---\n",
        ] {
            assert!(!says_finished(text.as_bytes()), "{text}");
        }
    }
}
