use std::fs;
use std::path::{Path, PathBuf};

use super::packs::Packs;
use crate::audit::id::ObjectId;
use crate::audit::objects::{Kind, name};
use crate::audit::tests::environment::TestRepository;

/// Makes a history of long files that change little, as tasks do, and packs it.
fn packed(settings: &[&str]) -> TestRepository {
    let test = TestRepository::with_tasks();
    let mut lines: Vec<String> = (0..400).map(|line| format!("line {line} of a file that is long enough\n")).collect();
    for round in 0..30 {
        lines[round * 13 % 400] = format!("changed in round {round}\n");
        test.write("tasks/AOF-aaa.md", &lines.concat());
        test.write(&format!("tasks/more/AOF-{round}.md"), &lines[round..].concat());
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", &format!("round {round}")]);
    }
    test.git(&["tag", "-a", "-m", "a tag is no part of a task's history", "v1"]);
    test.git(&[settings, &["repack", "-adq", "--depth=50", "--window=20"]].concat());
    test
}

fn objects(test: &TestRepository) -> PathBuf {
    test.path(".git/objects")
}

fn only_file(folder: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> = files.filter(|path| path.extension().is_some_and(|own| own == extension)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns all objects but tags.
fn all(test: &TestRepository) -> Vec<(ObjectId, Kind)> {
    let listed = test.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
    let kinds = [("blob", Kind::Blob), ("tree", Kind::Tree), ("commit", Kind::Commit)];
    let objects = listed.lines().filter_map(|line| {
        let (id, kind) = line.split_once(' ').unwrap();
        let (_, kind) = kinds.iter().find(|(word, _)| *word == kind)?;
        Some((id.parse().unwrap(), *kind))
    });
    objects.collect()
}

/// Reads all objects from packs alone, in an order that is not the pack's, twice.
fn assert_all_read(test: &TestRepository) {
    let all = all(test);
    assert!(all.len() > 150);
    let mut packs = Packs::default();
    for (id, kind) in all.iter().chain(all.iter().rev()) {
        let (found, bytes) = packs.read(&objects(test), *id).unwrap_or_else(|| panic!("{id} is not read"));
        assert_eq!((found, name(found, &bytes)), (*kind, *id));
    }
}

#[test]
fn every_object_comes_out_of_a_pack_as_git_put_it_in() {
    for settings in [&[][..], &["-c", "repack.useDeltaBaseOffset=false"]] {
        let test = packed(settings);
        let chains = test.git(&[
            "verify-pack",
            "-sv",
            &only_file(&test.path(".git/objects/pack"), "pack").display().to_string(),
        ]);
        assert!(chains.contains("chain length = 5"), "{chains}");
        assert_all_read(&test);
    }
}

#[test]
fn offsets_of_eight_bytes_are_read() {
    let test = packed(&[]);
    let folder = test.path(".git/objects/pack");
    let (pack, index) = (only_file(&folder, "pack"), only_file(&folder, "idx"));
    let before = fs::metadata(&index).unwrap().len();
    fs::remove_file(&index).unwrap();
    test.git(&["index-pack", "--index-version=2,0x40", &pack.display().to_string()]);
    assert!(fs::metadata(&index).unwrap().len() > before + 8 * 100);
    assert_all_read(&test);
}

#[test]
fn packs_that_come_and_go_are_followed() {
    let test = packed(&[]);
    let mut packs = Packs::default();
    let first: Vec<_> = all(&test);
    let (id, _) = first[0];
    assert!(packs.read(&objects(&test), id).is_some());
    test.write("tasks/AOF-bbb.md", "new\n");
    test.git(&["commit", "-qam", "new"]);
    let new: ObjectId = test.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    assert!(packs.read(&objects(&test), new).is_none());
    test.git(&["repack", "-dq"]);
    assert!(packs.read(&objects(&test), new).is_some());
    test.git(&["repack", "-adq"]);
    for (id, _) in all(&test) {
        assert!(packs.read(&objects(&test), id).is_some());
    }
}

#[test]
fn what_this_reader_does_not_know_libgit2_does() {
    let test = packed(&["-c", "pack.indexVersion=1"]);
    let (repository, mut packs) = (test.open(), Packs::default());
    for (id, kind) in all(&test) {
        assert!(packs.read(&objects(&test), id).is_none());
        assert_eq!(name(kind, &repository.reader().read(kind, id).unwrap()), id);
    }
    let borrowed = TestRepository::with_tasks();
    fs::write(borrowed.path(".git/objects/info/alternates"), objects(&test).display().to_string()).unwrap();
    let repository = borrowed.open();
    for (id, kind) in all(&test) {
        assert_eq!(name(kind, &repository.reader().read(kind, id).unwrap()), id);
    }
}

#[test]
fn a_damaged_pack_never_passes_for_a_whole_one() {
    let test = packed(&[]);
    let folder = test.path(".git/objects/pack");
    let objects = all(&test);
    for (path, step) in [(only_file(&folder, "pack"), 97), (only_file(&folder, "idx"), 331)] {
        let whole = fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            fs::remove_file(&path).unwrap();
            fs::write(&path, &damaged).unwrap();
            let Ok(repository) = crate::audit::Repository::discover(&test.path("")) else { continue };
            for (id, kind) in objects.iter().skip(at % 7).step_by(7) {
                if let Ok(bytes) = repository.reader().read(*kind, *id) {
                    assert_eq!(name(*kind, &bytes), *id, "byte {at}");
                }
            }
        }
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
    }
}
