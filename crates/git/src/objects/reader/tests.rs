use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Cache, ROOM};
use crate::error::GitError;
use crate::id::ObjectId;
use crate::objects::loose::{ObjectKind, name, place_in};
use crate::tests::environment::TestRepository;

/// Creates and packs a history of long files that change little, as tasks do.
fn packed(settings: &[&str]) -> TestRepository {
    let test = TestRepository::with_tasks();
    let mut lines: Vec<String> =
        (0..400).map(|line| format!("line {line} of a file that is long enough\n")).collect();
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

fn only_file(folder: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|found| found == extension)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns all objects except tags.
fn all(test: &TestRepository) -> Vec<(ObjectId, ObjectKind)> {
    let listed =
        test.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
    let kinds =
        [("blob", ObjectKind::Blob), ("tree", ObjectKind::Tree), ("commit", ObjectKind::Commit)];
    let objects = listed.lines().filter_map(|line| {
        let (id, kind) = line.split_once(' ').unwrap();
        let (_, kind) = kinds.iter().find(|(word, _)| *word == kind)?;
        Some((id.parse().unwrap(), *kind))
    });
    objects.collect()
}

#[test]
fn objects_of_packs_and_of_lenders_are_read() {
    let test = packed(&[]);
    let borrowed = TestRepository::with_tasks();
    fs::write(
        borrowed.path(".git/objects/info/alternates"),
        test.path(".git/objects").display().to_string(),
    )
    .unwrap();
    for repository in [test.open(), borrowed.open()] {
        for (id, kind) in all(&test) {
            assert_eq!(name(kind, &repository.reader().read(kind, id).unwrap()), id);
        }
    }
}

#[test]
fn requested_objects_stay_in_the_cache() {
    let mut cache = Cache::default();
    let id = |number: u32| name(ObjectKind::Blob, &number.to_be_bytes());
    for number in 0..100 {
        cache.keep(id(number), (ObjectKind::Blob, Arc::from(vec![0; ROOM / 10])));
        assert!(cache.get(id(0)).is_some(), "{number}");
        assert!(cache.newer.len() + cache.older.len() <= 30);
    }
    assert!(cache.get(id(1)).is_none() && cache.get(id(99)).is_some());
}

#[test]
fn a_damaged_pack_never_passes_for_a_whole_one() {
    let test = packed(&[]);
    let folder = test.path(".git/objects/pack");
    let objects = all(&test);
    for (path, step) in [(only_file(&folder, "pack"), 97), (only_file(&folder, "idx"), 331)] {
        let whole = fs::read(&path).unwrap();
        let (mut read, mut lost) = (0, 0);
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            fs::remove_file(&path).unwrap();
            fs::write(&path, &damaged).unwrap();
            let Ok(repository) = crate::Repository::discover(&test.path("")) else {
                continue;
            };
            for (id, kind) in objects.iter().skip(at % 7).step_by(7) {
                if let Ok(bytes) = repository.reader().read(*kind, *id) {
                    assert_eq!(name(*kind, &bytes), *id, "byte {at}");
                    read += 1;
                } else {
                    lost += 1;
                }
            }
        }
        // If an index is damaged, nothing of its pack is read.
        let reads = path.extension().is_some_and(|end| end == "pack");
        assert!((read > 0) == reads && lost > 0, "{}: {read} read, {lost} lost", path.display());
        fs::remove_file(&path).unwrap();
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn an_index_that_leads_behind_the_end_of_its_pack_is_not_followed() {
    let test = packed(&[]);
    let objects = all(&test);
    let path = only_file(&test.path(".git/objects/pack"), "idx");
    let mut index = fs::read(&path).unwrap();
    let count = u32::from_be_bytes(index[8 + 255 * 4..8 + 256 * 4].try_into().unwrap()) as usize;
    let offsets = 8 + 256 * 4 + count * 24;
    for place in 0..count {
        index[offsets + place * 4] = 0x08;
    }
    fs::remove_file(&path).unwrap();
    fs::write(&path, &index).unwrap();
    let repository = test.open();
    for (id, kind) in objects {
        let error = format!("{:?}", repository.reader().read(kind, id).unwrap_err());
        assert!(error.contains("its checksum is wrong"), "{error}");
    }
}

#[test]
fn a_truncated_alternate_is_reported_unless_the_object_is_whole_elsewhere() {
    let [lender, between, borrower] = [(); 3].map(|()| TestRepository::empty());
    let lends = |to: &TestRepository, line: String| {
        fs::write(to.path(".git/objects/info/alternates"), format!("# borrowed\n{line}\n"))
            .unwrap();
    };
    lends(&between, lender.path(".git/objects").display().to_string());
    // A folder that borrows from itself is read once.
    lends(&lender, borrower.path(".git/objects").display().to_string());
    lends(&borrower, between.path(".git/objects").display().to_string());
    lender.git(&["commit", "--quiet", "--allow-empty", "--message", "lent"]);
    let id: ObjectId = lender.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    let [file, nearer] = [&lender, &between].map(|test| place_in(&test.path(".git/objects"), id));
    let whole = fs::read(&file).unwrap();
    assert_eq!(borrower.open().reader().any(id).unwrap().0, ObjectKind::Commit);
    let put = |file: &Path, bytes: &[u8]| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let _ = fs::remove_file(file);
        fs::write(file, bytes).unwrap();
    };
    put(&file, &whole[..whole.len() / 2]);
    let fault = borrower.open().reader().any(id).unwrap_err();
    let GitError::Damaged { id: named, file: at, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!((*named, fs::canonicalize(at).unwrap()), (id, fs::canonicalize(&file).unwrap()));
    put(&nearer, &whole);
    assert_eq!(borrower.open().reader().any(id).unwrap().0, ObjectKind::Commit);
    put(&nearer, &whole[..whole.len() / 2]);
    put(&file, &whole);
    assert_eq!(borrower.open().reader().any(id).unwrap().0, ObjectKind::Commit);
}
