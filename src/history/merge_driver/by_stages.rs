//! How a file stands that git left unmerged, told from git's index alone: git does not say which commits it brings together, or merges into
//! what no commit has. Only reads.

use super::archive_folder::{place_among, speaking};
use super::case::{Case, Look, Scene};
use super::unmerged_tasks::{Left, Remains};
use crate::git::{Marks, StagedVersion, Unmerged};
use crate::history::merge::merge::{Conflict, Versions, merge_files};
use crate::history::merge::text_merge::merged as merged_as_text;
use crate::history::merge::unrelated_tasks::of_one_task;
use crate::project::error::error::OpsError;

/// Returns how it stands.
pub(crate) fn left(scene: &Scene<'_>, case: Case) -> Result<Left, OpsError> {
    let repository = &scene.workspace.repository;
    if case.unmerged.is_empty() {
        let other = case.mixed.with.first().unwrap_or(&case.id).clone();
        return Ok(case.plain([None; 3], Remains::Unknown(other)));
    }
    let of = |side: fn(&Unmerged) -> Option<StagedVersion>| case.unmerged.iter().find_map(side);
    let mut sides = [of(|own| own.base), of(|own| own.ours), of(|own| own.theirs)];
    // What one side moved stands merged in another place.
    let moved = case.staged.first().map(|(_, version)| *version);
    sides[1] = sides[1].or(moved);
    sides[2] = sides[2].or(moved);
    if !sides.into_iter().flatten().all(StagedVersion::is_file) {
        return Ok(case.plain(sides, Remains::Touched));
    }
    let read = |side: Option<StagedVersion>| {
        side.map(|side| repository.read_blob(side.content)).transpose()
    };
    let [base, ours, theirs] = sides.map(read);
    let (base, ours, theirs) = (base?, ours?, theirs?);
    let standing =
        ours.as_ref().or(theirs.as_ref()).or(base.as_ref()).map(Vec::as_slice).unwrap_or_default();
    let or_that = |side: &'_ Option<Vec<u8>>| side.clone().unwrap_or_else(|| standing.to_vec());
    let (one, two) = (or_that(&ours), or_that(&theirs));
    let versions = Versions { base: base.as_deref(), ours: &one, theirs: &two };
    if let Err(kept) = of_one_task(&case.id, versions)
        && let [Conflict::OtherTask(other)] = &kept.conflicts[..]
    {
        return Ok(case.plain(sides, Remains::Unknown(other.clone())));
    }
    if ours.is_none() || theirs.is_none() {
        return Ok(case.plain(sides, Remains::Removed));
    }
    let Some(rules) = scene.rules.as_deref() else {
        return Ok(case.plain(sides, Remains::Lawless));
    };
    let merge = Box::new(merge_files(rules, &case.id, versions, &Marks::default())?);
    let mut paths = case.paths();
    paths.truncate(case.unmerged.len() + 1);
    let place =
        place_among(rules, &case.id, &paths, speaking(rules, &case.id, [&merge.bytes, &one, &two]));
    let as_text = merged_as_text(versions, None, &Marks::default())?.bytes;
    let known = [&one[..], &two, &merge.bytes, &as_text];
    let Look { stood, is_known, is_ours } = case.look(scene.workspace, &paths, (&one, &known))?;
    let remains =
        if let Some(refused) = scene.refused(rules, (&case.id, &paths[place]), versions, &merge)? {
            Remains::Refused(refused)
        } else if !is_known {
            Remains::Touched
        } else if paths.len() == 1 && is_ours && merge.bytes != one {
            Remains::WithoutTheirs(merge)
        } else {
            Remains::Unmerged(merge)
        };
    let path = paths.swap_remove(place);
    let Case { id, mixed, .. } = case;
    Ok(Left { id, path, others: paths, sides, stood, mixed, remains })
}
