//! What is known of the paths of an interrupted sync: what HEAD has, what the index has, what stands in the worktree. What stands there is
//! read from the files themselves, never taken from an index; only where they do not say it as they are, git is asked what it would make
//! of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::super::below::{Below, Found, Seen};
use super::super::bring::{Changes, PATHS_A_COMMAND, PATIENCE, SUBMODULE};
use super::super::error::AuditError;
use super::super::id::{CommitId, ObjectId};
use super::super::repository::Repository;
use super::super::spawn;
use super::super::tree::{Leaf, MODE_EXECUTABLE, MODE_FILE, MODE_TREE};
use super::table::{Entry, Facts, File};

/// The mode of links.
const LINK: u32 = 0o120_000;

/// A path that was to change.
pub(super) struct Known {
    pub path: String,
    pub before: Option<Leaf>,
    pub after: Option<Leaf>,
    pub facts: Facts,
    /// How the file or link there looked when it was read.
    pub seen: Option<Seen>,
    /// Whether a sparse checkout leaves the path out.
    pub is_left_out: bool,
}

/// Both sides of a path.
type Sides = (Option<Leaf>, Option<Leaf>);

/// What the index has at a path.
#[derive(Clone, Copy)]
struct Staged {
    /// Nothing where it has several versions.
    leaf: Option<Leaf>,
    is_left_out: bool,
}

/// Which kinds of file can be told apart here.
struct Kinds {
    programs: bool,
    links: bool,
}

impl Repository {
    /// Looks at all of them.
    pub(super) fn known(&self, changes: &Changes, head: Option<CommitId>) -> Result<Vec<Known>, AuditError> {
        let below = Below::open(self.worktree_root())?;
        let staged = self.staged_at(changes)?;
        let standing = self.standing(&below, changes, &staged)?;
        let (trees, head) = (self.trees(), head.map(|commit| self.root_tree(commit)).transpose()?);
        let mut known = Vec::new();
        for ((path, sides), (file, seen)) in changes.iter().zip(standing) {
            let in_head = head.map(|head| trees.lookup(head, path)).transpose()?.flatten();
            let entry = staged.get(path.as_str());
            let (before, after) = *sides;
            known.push(Known {
                path: path.clone(),
                before,
                after,
                facts: Facts {
                    head: of(*sides, in_head.filter(|leaf| leaf.mode != MODE_TREE)),
                    entry: entry_of(*sides, entry),
                    file,
                },
                seen,
                is_left_out: entry.is_some_and(|entry| entry.is_left_out),
            });
        }
        Ok(known)
    }

    fn staged_at<'c>(&self, changes: &'c Changes) -> Result<BTreeMap<&'c str, Staged>, AuditError> {
        let mut found = BTreeMap::new();
        let paths: Vec<&String> = changes.keys().collect();
        for paths in paths.chunks(PATHS_A_COMMAND) {
            let mut git = spawn::git(self);
            git.args(["--literal-pathspecs", "ls-files", "-t", "--stage", "-z", "--full-name", "--"]).args(paths);
            let output = spawn::run_git(git, &[])?;
            for (path, staged) in output.split(|byte| *byte == 0).filter_map(line) {
                if let Some((path, _)) = changes.get_key_value(path) {
                    found.insert(path.as_str(), staged);
                }
            }
        }
        Ok(found)
    }

    /// Returns what stands at each of the paths, in their order.
    fn standing(
        &self,
        below: &Below,
        changes: &Changes,
        staged: &BTreeMap<&str, Staged>,
    ) -> Result<Vec<(File, Option<Seen>)>, AuditError> {
        let kinds = self.kinds()?;
        let mut standing: BTreeMap<&str, (File, Option<Seen>)> = BTreeMap::new();
        let (mut asked, mut behind) = (Vec::new(), Vec::new());
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
                            asked.push((path, found.clone()));
                        }
                        File::Other
                    }),
                },
            };
            standing.insert(path, (file, found.seen()));
        }
        let ids = self.as_git_has_them(&asked.iter().map(|(path, _)| path.as_str()).collect::<Vec<_>>());
        for ((path, found), id) in asked.iter().zip(ids) {
            let file =
                id.map_or(File::Unknown, |id| kinds.file(changes[path.as_str()], found, id).unwrap_or(File::Other));
            standing.insert(path, (file, found.seen()));
        }
        for (path, above) in behind {
            // A file that one of the two commits has there is no wall: where it stands, nothing stands below it.
            let is_of_either = matches!(standing.get(above.as_str()), Some((File::From | File::To, Some(_))));
            if is_of_either {
                standing.insert(path, (nothing(changes[path]), None));
            }
        }
        Ok(standing.into_values().collect())
    }

    /// Returns the names that git would give to these files, with whatever filters it has for them; none where a filter fails.
    fn as_git_has_them(&self, paths: &[&str]) -> Vec<Option<ObjectId>> {
        let asked = |paths: &[&str]| -> Option<Vec<ObjectId>> {
            let mut git = spawn::git(self);
            git.args(["hash-object", "--"]).args(paths.iter().map(|path| format!("./{path}")));
            let output = spawn::run_git_for(git, &[], PATIENCE).ok()?;
            let ids = str::from_utf8(&output).ok()?.lines().map(str::parse);
            ids.collect::<Result<Vec<_>, _>>().ok().filter(|ids| ids.len() == paths.len())
        };
        let mut all = Vec::new();
        for paths in paths.chunks(PATHS_A_COMMAND) {
            match asked(paths) {
                Some(ids) => all.extend(ids.into_iter().map(Some)),
                None => all.extend(paths.iter().map(|path| asked(&[path]).and_then(|ids| ids.first().copied()))),
            }
        }
        all
    }

    fn kinds(&self) -> Result<Kinds, AuditError> {
        let is_on = |name| Ok::<_, AuditError>(self.setting(name)?.is_none_or(|value| value != "false"));
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
                        (LINK, Found::Link(_)) => true,
                        (LINK, Found::File(_)) => !self.links,
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
    let is_submodule = |side: Option<Leaf>| side.is_some_and(|leaf| leaf.mode == SUBMODULE);
    match (is_submodule(sides.0), is_submodule(sides.1)) {
        (true, true) if entry == Entry::To => File::To,
        (true, _) => File::From,
        (false, true) => File::To,
        (false, false) => {
            let inside = format!("{path}/");
            let has_changes =
                changes.range(inside.clone()..).next().is_some_and(|(other, _)| other.starts_with(&inside));
            // What is of neither commit in it is in the way when the path gets its file.
            if has_changes { nothing(sides) } else { File::Other }
        }
    }
}

fn of(sides: Sides, leaf: Option<Leaf>) -> Entry {
    if leaf == sides.1 {
        Entry::To
    } else if leaf == sides.0 {
        Entry::From
    } else {
        Entry::Other
    }
}

fn entry_of(sides: Sides, staged: Option<&Staged>) -> Entry {
    match staged {
        None => of(sides, None),
        Some(Staged { leaf: None, .. }) => Entry::Other,
        Some(staged) => of(sides, staged.leaf),
    }
}

/// Reads `TAG MODE ID STAGE<tab>PATH`.
fn line(line: &[u8]) -> Option<(&str, Staged)> {
    let (fields, path) = str::from_utf8(line).ok()?.split_once('\t')?;
    let mut fields = fields.split(' ');
    let is_left_out = fields.next()?.eq_ignore_ascii_case("S");
    let mode = u32::from_str_radix(fields.next()?, 8).ok()?;
    let id = fields.next()?.parse().ok()?;
    let leaf = (fields.next()? == "0").then_some(Leaf { mode, id });
    Some((path, Staged { leaf, is_left_out }))
}

/// Returns a line for `git update-index --index-info` that gives a path what a commit has there.
pub(super) fn info(lines: &mut String, path: &str, leaf: Option<Leaf>) {
    const NOTHING: &str = "0000000000000000000000000000000000000000";
    let _ = match leaf {
        Some(leaf) => write!(lines, "{:o} {}\t{path}\0", leaf.mode, leaf.id),
        None => write!(lines, "0 {NOTHING}\t{path}\0"),
    };
}
