//! How a file stands that git left unmerged, or took for that of another task, told from the commits that git brings together. Only reads.

use super::archive_folder::{place_among, speaking};
use super::case::{Case, Look, Scene, Stood};
use super::merge_sides::Version;
use super::replayed::Refused;
use super::unmerged_tasks::{Left, Remains};
use crate::domain::TaskId;
use crate::git::{Marks, Sides, StagedVersion};
use crate::history::merge::merge::{Conflict, FileMerge, Versions, merge_files};
use crate::history::merge::text_merge::merged as merged_as_text;
use crate::history::merge::trees::place_of;
use crate::project::error::error::OpsError;
use crate::rules::Rules;

/// What is to become of the task.
struct Aim {
    path: String,
    merge: FileMerge,
    /// What may stand there that nobody wrote by hand.
    known: Vec<Vec<u8>>,
}

/// Returns how it stands; nothing where it is as it shall be, or somebody has decided that.
pub(crate) fn left(
    scene: &Scene<'_>,
    mut case: Case,
    versions: [Option<Version>; 3],
) -> Result<Option<Left>, OpsError> {
    let sides =
        [0, 1, 2].map(|side| versions[side].as_ref().map(|version: &Version| version.staged));
    let staged: Vec<StagedVersion> =
        case.unmerged.iter().flat_map(|own| [own.base, own.ours, own.theirs]).flatten().collect();
    if !staged.iter().all(|version| version.is_file()) {
        return Ok(Some(case.plain(sides, Remains::Touched)));
    }
    let known = |version: &StagedVersion| {
        sides.iter().flatten().any(|side| side.content == version.content)
    };
    case.mixed.is_made_up = !staged.iter().all(known);
    let [base, ours, theirs] = versions;
    let aim = match (ours, theirs) {
        (ours, theirs) if ours == theirs || theirs == base => taken(scene, ours)?,
        (ours, theirs) if ours == base => taken(scene, theirs)?,
        (Some(ours), Some(theirs)) => {
            let Some(rules) = scene.rules.as_deref() else {
                return Ok(Some(case.plain(sides, Remains::Lawless)));
            };
            Some(merged(scene, rules, &case.id, (base, ours, theirs))?)
        }
        // Git does not say that of a task that it took another one for.
        (Some(changed), None) | (None, Some(changed)) if case.unmerged.is_empty() => {
            let why = Conflict::File("one side changed it, and the other removed it".to_owned());
            let aim = taken(scene, Some(changed))?;
            aim.map(|aim| Aim { merge: FileMerge { conflicts: vec![why], ..aim.merge }, ..aim })
        }
        _ => None,
    };
    if aim.is_none() && case.unmerged.is_empty() {
        return Ok(None);
    }
    let Some(aim) = aim else { return Ok(Some(case.plain(sides, Remains::Removed))) };
    // Neither is it merged then, nor is anything asked: the commit is left out, or all is taken back.
    if let Some((path, refused)) = refused(scene, &case, sides, &aim)? {
        let (mut others, stood) = (case.paths(), Vec::new());
        others.retain(|other| *other != path);
        let (Case { id, mixed, .. }, remains) = (case, Remains::Refused(refused));
        return Ok(Some(Left { id, path, others, sides, stood, mixed, remains }));
    }
    let Aim { path, merge, known } = aim;
    let repository = &scene.workspace.repository;
    if case.unmerged.is_empty() {
        let content = |bytes: &Vec<u8>| repository.hash_blob(bytes);
        let is_aim = |(place, version): &(String, StagedVersion)| {
            *place == path && version.content == content(&merge.bytes) && merge.conflicts.is_empty()
        };
        let is_done = matches!(&case.staged[..], [one] if is_aim(one));
        let mut is_git_s = true;
        for (place, version) in &case.staged {
            is_git_s &= known.iter().any(|own| content(own) == version.content)
                || repository.written_unmerged(place)? == Some(version.content);
        }
        // What people have to decide, somebody has decided; and what stands, stands.
        if case.mixed.with.is_empty() && (is_done || !merge.conflicts.is_empty()) {
            return Ok(None);
        }
        // Who counts no more is told, even where nothing is to be done about it.
        let is_told = merge.superseded.is_empty() && merge.dropped.is_empty();
        let stands = || {
            Stood::at(scene.workspace, &path).map(|stood| stood == Stood::File(merge.bytes.clone()))
        };
        if !is_git_s || is_done && (is_told || !stands()?) {
            return Ok(None);
        }
    }
    let mut others = case.paths();
    others.retain(|other| *other != path);
    let paths: Vec<String> = [&path].into_iter().chain(&others).cloned().collect();
    let known: Vec<&[u8]> = known.iter().chain([&merge.bytes]).map(Vec::as_slice).collect();
    let ours = known[0];
    let Look { stood, is_known, is_ours } = case.look(scene.workspace, &paths, (ours, &known))?;
    let is_mixed = !case.mixed.with.is_empty();
    let is_one_sided = case.unmerged.is_empty() && !is_mixed;
    let remains = if is_one_sided {
        if !is_known {
            return Ok(None);
        }
        Remains::OneSided(Box::new(merge))
    } else if !is_known {
        if is_mixed { Remains::MixedAndTouched } else { Remains::Touched }
    } else if !is_mixed && others.is_empty() && is_ours && ours != merge.bytes {
        Remains::WithoutTheirs(Box::new(merge))
    } else {
        Remains::Unmerged(Box::new(merge))
    };
    let Case { id, mixed, .. } = case;
    Ok(Some(Left { id, path, others, sides, stood, mixed, remains }))
}

/// Takes what one side has, since the other has not changed it; nothing where that side has removed it.
fn taken(scene: &Scene<'_>, version: Option<Version>) -> Result<Option<Aim>, OpsError> {
    let Some(Version { path, staged }) = version else { return Ok(None) };
    let bytes = scene.workspace.repository.read_blob(staged.content)?;
    let merge = FileMerge::taken(&bytes, Vec::new());
    Ok(Some(Aim { path, merge, known: vec![bytes] }))
}

/// Merges what both sides have changed.
fn merged(
    scene: &Scene<'_>,
    rules: &Rules,
    id: &TaskId,
    (base, ours, theirs): (Option<Version>, Version, Version),
) -> Result<Aim, OpsError> {
    let repository = &scene.workspace.repository;
    let before = base.as_ref().map(|base| repository.read_blob(base.staged.content)).transpose()?;
    let (one, two) =
        (repository.read_blob(ours.staged.content)?, repository.read_blob(theirs.staged.content)?);
    let versions = Versions { base: before.as_deref(), ours: &one, theirs: &two };
    let merge = merge_files(rules, id, versions, &Marks::default())?;
    let speaks = speaking(rules, id, [&merge.bytes, &one, &two]);
    let path = place_of(
        rules,
        id,
        base.as_ref().map(|base| &*base.path),
        (&ours.path, &theirs.path),
        speaks,
    )?;
    let as_text = merged_as_text(versions, None, &Marks::default())?.bytes;
    Ok(Aim { path, merge, known: vec![one, two, as_text] })
}

/// Returns why the commit that git makes again cannot stand with what is to become of the task, and at which path. It is judged where git has the
/// file, which may have followed one that was renamed: that move alone may be all that is left of the commit.
fn refused(
    scene: &Scene<'_>,
    case: &Case,
    sides: Sides,
    aim: &Aim,
) -> Result<Option<(String, Box<Refused>)>, OpsError> {
    let (Some(rules), [base, Some(ours), Some(theirs)]) = (scene.rules.as_deref(), sides) else {
        return Ok(None);
    };
    let read = |side: StagedVersion| scene.workspace.repository.read_blob(side.content);
    let (base, ours, theirs) = (base.map(read).transpose()?, read(ours)?, read(theirs)?);
    let mut paths = case.paths();
    let path = if paths.is_empty() || paths.contains(&aim.path) {
        aim.path.clone()
    } else {
        let speaks = speaking(rules, &case.id, [&aim.merge.bytes, &ours, &theirs]);
        paths.swap_remove(place_among(rules, &case.id, &paths, speaks))
    };
    let versions = Versions { base: base.as_deref(), ours: &ours, theirs: &theirs };
    let refused = scene.refused(rules, (&case.id, &path), versions, &aim.merge)?;
    Ok(refused.map(|refused| (path, refused)))
}
