//! What stands in the worktree at the paths of an interrupted sync. It is read from the files themselves, never taken from an index; only
//! where they do not say it as they are, git is asked what it would make of them: once, as long as there is time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::indexed::{Sides, Staged, entry_of};
use super::table::{Entry, File};
use crate::git::checkout::worktree_folder::folder::{Below, Found, Seen};
use crate::git::command;
use crate::git::command::PATHS_A_COMMAND;
use crate::git::error::AuditError;
use crate::git::log::path_diff::Changes;
use crate::git::objects::id::ObjectId;
use crate::git::objects::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, MODE_LINK, MODE_SUBMODULE};
use crate::git::repository::repository::Repository;

/// What git said of files that looked so, and until when it may be asked.
pub(crate) struct Asked {
    pub until: Instant,
    answers: BTreeMap<String, Answer>,
}

struct Answer {
    seen: Seen,
    id: Option<ObjectId>,
}

impl Asked {
    pub(crate) const fn until(until: Instant) -> Self {
        Self { until, answers: BTreeMap::new() }
    }

    /// Returns what it said of a file that looks so, which may be nothing.
    fn answer(&self, path: &str, seen: Seen) -> Option<&Answer> {
        self.answers.get(path).filter(|answer| answer.seen == seen)
    }
}

/// Returns how long it is until then.
pub(crate) fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// Which kinds of file can be told apart here.
struct Kinds {
    programs: bool,
    links: bool,
}

impl Repository {
    /// Returns what stands at each of the paths, in their order.
    pub(crate) fn standing(
        &self,
        below: &Below,
        changes: &Changes,
        staged: &BTreeMap<&str, Staged>,
        asked: &mut Asked,
    ) -> Result<Vec<(File, Option<Seen>)>, AuditError> {
        let kinds = self.kinds()?;
        let mut standing: BTreeMap<&str, (File, Option<Seen>)> = BTreeMap::new();
        let (mut unclear, mut behind) = (Vec::new(), Vec::new());
        for (path, sides) in changes {
            let entry = staged.get(path.as_str());
            // What cannot even be looked at, nobody knows.
            let Ok(found) = below.found(path) else {
                standing.insert(path, (File::Unknown, None));
                continue;
            };
            let file = match &found {
                Found::Nothing if entry.is_some_and(|entry| entry.is_left_out) => File::LeftOut,
                Found::Nothing => nothing(*sides),
                Found::Folder => folder(path, *sides, entry_of(*sides, entry), changes),
                Found::Strange => File::Other,
                Found::Behind(above) => {
                    behind.push((path, above.clone()));
                    File::Unknown
                }
                Found::File(seen) | Found::Link(seen) => match below.blob(path, *seen) {
                    Err(_) => File::Unknown,
                    Ok(None) => File::Other,
                    Ok(Some(id)) => kinds.file(*sides, &found, id).unwrap_or_else(|| {
                        if matches!(found, Found::File(_)) {
                            unclear.push((path, *seen));
                        }
                        File::Other
                    }),
                },
            };
            standing.insert(path, (file, found.seen()));
        }
        let new = unclear.iter().filter(|(path, seen)| asked.answer(path, *seen).is_none());
        let new: Vec<(&str, Seen)> = new.map(|(path, seen)| (path.as_str(), *seen)).collect();
        self.ask_git(&new, asked);
        for (path, seen) in unclear {
            let id = asked.answer(path, seen).and_then(|answer| answer.id);
            let is = |id| {
                kinds.file(changes[path.as_str()], &Found::File(seen), id).unwrap_or(File::Other)
            };
            standing.insert(path, (id.map_or(File::Unknown, is), Some(seen)));
        }
        for (path, above) in behind {
            // A file that one of the two commits has there is no wall: where it stands, nothing stands below it.
            let is_of_either =
                matches!(standing.get(above.as_str()), Some((File::From | File::To, Some(_))));
            if is_of_either {
                standing.insert(path, (nothing(changes[path]), None));
            }
        }
        Ok(standing.into_values().collect())
    }

    /// Asks for the names that git would give to these files, with whatever filters it has for them: none where a filter fails, or all
    /// the time has gone.
    fn ask_git(&self, files: &[(&str, Seen)], asked: &mut Asked) {
        let until = asked.until;
        let ask = |paths: &[&str]| -> Option<Vec<ObjectId>> {
            let patience = Some(left(until)).filter(|left| !left.is_zero())?;
            let mut git = command::git(self);
            // As they are: behind a `./` git finds no pattern of `.git/info/attributes` that has a slash.
            git.args(["hash-object", "--"]).args(paths);
            let output = command::run_git_for(git, &[], patience).ok()?;
            let ids = str::from_utf8(&output).ok()?.lines().map(str::parse);
            ids.collect::<Result<Vec<_>, _>>().ok().filter(|ids| ids.len() == paths.len())
        };
        for files in files.chunks(PATHS_A_COMMAND) {
            let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
            let ids = match ask(&paths) {
                Some(ids) => ids.into_iter().map(Some).collect(),
                None => paths
                    .iter()
                    .map(|path| ask(&[path]).and_then(|ids| ids.first().copied()))
                    .collect::<Vec<_>>(),
            };
            for ((path, seen), id) in files.iter().zip(ids) {
                asked.answers.insert((*path).to_owned(), Answer { seen: *seen, id });
            }
        }
    }

    fn kinds(&self) -> Result<Kinds, AuditError> {
        let is_on = |name| Ok::<_, AuditError>(self.switch(name)?.unwrap_or(true));
        Ok(Kinds { programs: is_on("core.fileMode")?, links: is_on("core.symlinks")? })
    }
}

impl Kinds {
    /// Says which side a file or link is that says this; nothing where it is neither.
    fn file(&self, sides: Sides, found: &Found, id: ObjectId) -> Option<File> {
        let is = |side: Option<Leaf>| {
            side.is_some_and(|leaf| {
                leaf.id == id
                    && match (leaf.mode, found) {
                        (MODE_FILE | MODE_EXECUTABLE, Found::File(seen)) => {
                            !self.programs || seen.is_program() == (leaf.mode == MODE_EXECUTABLE)
                        }
                        (MODE_LINK, Found::Link(_)) => true,
                        (MODE_LINK, Found::File(_)) => !self.links,
                        _ => false,
                    }
            })
        };
        if is(sides.1) { Some(File::To) } else { is(sides.0).then_some(File::From) }
    }
}

/// Says what it means that nothing stands at a path.
fn nothing((before, after): Sides) -> File {
    match (before, after) {
        (None, _) => File::From,
        (_, None) => File::To,
        _ => File::Missing,
    }
}

/// Says what it means that a folder does. What is in that of a submodule is the submodule's.
fn folder(path: &str, sides: Sides, entry: Entry, changes: &Changes) -> File {
    let is_submodule = |side: Option<Leaf>| side.is_some_and(|leaf| leaf.mode == MODE_SUBMODULE);
    match (is_submodule(sides.0), is_submodule(sides.1)) {
        (true, true) if entry == Entry::To => File::To,
        (true, _) => File::From,
        (false, true) => File::To,
        (false, false) => {
            let inside = format!("{path}/");
            let has_changes = changes
                .range(inside.clone()..)
                .next()
                .is_some_and(|(other, _)| other.starts_with(&inside));
            // What is of neither commit in it is in the way when the path gets its file.
            if has_changes { nothing(sides) } else { File::Other }
        }
    }
}
