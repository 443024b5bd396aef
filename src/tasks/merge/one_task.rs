//! Versions of two different tasks. Git's rename detection may take a new task for one that was moved into the archive at the same time.
//! Nothing of two tasks is ever mixed.

use super::outcome::{Conflict, FileMerge, Versions};
use crate::domain::TaskId;
use crate::files::task_file::stated_id;

/// Returns the versions, without a base that is another task's. Where the two sides are of two tasks, returns the one that is of this
/// task as a conflict.
pub(crate) fn of_one_task<'v>(
    id: &TaskId,
    versions: Versions<'v>,
) -> Result<Versions<'v>, FileMerge> {
    // An unreadable file may be any task's; a file without an id is the task of its name.
    let named = |bytes: &[u8]| Some(stated_id(bytes).ok()?.unwrap_or_else(|| id.clone()));
    let (base, ours, theirs) =
        (versions.base.and_then(named), named(versions.ours), named(versions.theirs));
    let all: Vec<&TaskId> = [&base, &ours, &theirs].into_iter().flatten().collect();
    if all.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(versions);
    }
    if ours.is_some() && ours == theirs {
        return Ok(Versions { base: None, ..versions });
    }
    let other = all.into_iter().find(|named| *named != id).unwrap_or(id).clone();
    Err(kept(id, versions, [ours.as_ref(), theirs.as_ref()], other))
}

/// Returns the side that is of this task as a conflict, where the file names that git gives the two sides are of two tasks.
pub(crate) fn of_two_names(
    id: &TaskId,
    versions: Versions<'_>,
    names: [Option<&TaskId>; 2],
) -> Option<FileMerge> {
    let [Some(ours), Some(theirs)] = names else { return None };
    let other = [ours, theirs].into_iter().find(|named| *named != id)?.clone();
    (ours != theirs).then(|| kept(id, versions, [Some(ours), Some(theirs)], other))
}

fn kept(
    id: &TaskId,
    versions: Versions<'_>,
    [ours, theirs]: [Option<&TaskId>; 2],
    other: TaskId,
) -> FileMerge {
    let is_theirs = ours != Some(id) && theirs == Some(id);
    let bytes = if is_theirs { versions.theirs } else { versions.ours };
    FileMerge::taken(bytes.to_vec(), vec![Conflict::OtherTask(other)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(id: &str) -> String {
        format!("---\n{id}title: One\n---\n")
    }

    /// Merges versions that say these ids, as those of `AOF-two`.
    fn kept(base: &str, ours: &str, theirs: &str) -> Result<Option<String>, (String, TaskId)> {
        let id: TaskId = "AOF-two".parse().unwrap();
        let [base, ours, theirs] = [base, ours, theirs].map(file);
        let versions = Versions {
            base: Some(base.as_bytes()),
            ours: ours.as_bytes(),
            theirs: theirs.as_bytes(),
        };
        match of_one_task(&id, versions) {
            Ok(versions) => Ok(versions.base.map(|base| String::from_utf8(base.to_vec()).unwrap())),
            Err(FileMerge { bytes, conflicts, .. }) => match &conflicts[..] {
                [Conflict::OtherTask(other)] => {
                    Err((String::from_utf8(bytes).unwrap(), other.clone()))
                }
                other => panic!("{other:?}"),
            },
        }
    }

    #[test]
    fn only_versions_of_one_task_are_merged() {
        let (one, two, three) = ("id: AOF-one\n", "id: AOF-two\n", "id: AOF-six\n");
        let (other, broken) = ("AOF-one".parse::<TaskId>().unwrap(), "id: [\n");
        for (base, ours, theirs, expected) in [
            (two, two, two, Ok(Some(file(two)))),
            ("", two, two, Ok(Some(file("")))),
            (one, one, one, Ok(Some(file(one)))),
            (broken, two, two, Ok(Some(file(broken)))),
            (two, broken, two, Ok(Some(file(two)))),
            // Both sides have it, and git found something else where they parted.
            (one, two, two, Ok(None)),
            (one, two, "", Ok(None)),
            (one, one, two, Err((file(two), other.clone()))),
            (one, two, one, Err((file(two), other.clone()))),
            (one, "", one, Err((file(""), other.clone()))),
            (one, one, "", Err((file(""), other.clone()))),
            (two, one, two, Err((file(two), other.clone()))),
            (one, broken, two, Err((file(two), other.clone()))),
            // Neither is what it is called.
            (two, one, three, Err((file(one), other.clone()))),
        ] {
            assert_eq!(kept(base, ours, theirs), expected, "{base}{ours}{theirs}");
        }
    }
}
