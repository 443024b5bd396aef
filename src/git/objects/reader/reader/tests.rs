use std::fs;
use std::path::{Path, PathBuf};

use crate::git::error::AuditError;
use crate::git::objects::id::ObjectId;
use crate::git::objects::loose::{Kind, name, place_in};
use crate::git::objects::reader::pack_index::Index;
use crate::git::objects::reader::packs::Packs;
use crate::git::tests::environment::TestRepository;

/// Makes a history of long files that change little, as tasks do, and packs it.
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

fn objects(test: &TestRepository) -> [PathBuf; 1] {
    [test.path(".git/objects")]
}

fn only_file(folder: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|own| own == extension)).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    files[0].clone()
}

/// Returns all objects but tags.
fn all(test: &TestRepository) -> Vec<(ObjectId, Kind)> {
    let listed =
        test.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)"]);
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
        let (found, bytes) =
            packs.read(&objects(test), *id).unwrap_or_else(|| panic!("{id} is not read"));
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
fn an_index_says_the_same_from_its_file_and_from_memory() {
    let test = packed(&[]);
    let path = only_file(&test.path(".git/objects/pack"), "idx");
    let size = fs::metadata(&path).unwrap().len();
    let (mut little, mut enough) = (size - 1, size);
    let mut stored = Index::open(&path, &mut little).unwrap();
    let mut held = Index::open(&path, &mut enough).unwrap();
    let objects = all(&test);
    let absent: ObjectId = "0123456789012345678901234567890123456789".parse().unwrap();
    for (id, _) in objects.iter().cycle().take(200) {
        assert!(held.find(*id, &mut enough).is_some());
        assert_eq!(stored.find(*id, &mut little), held.find(*id, &mut enough));
        assert_eq!(stored.find(absent, &mut 0), None);
    }
    assert_eq!((stored.held(), little, held.held(), enough), (0, size - 1, size, 0));
    // What was stored for want of room is held once it is asked for often, and answers as before.
    let mut later = Index::open(&path, &mut 0).unwrap();
    let mut room = size + 7;
    for (id, _) in objects.iter().cycle().take(300) {
        assert_eq!(later.find(*id, &mut room), held.find(*id, &mut enough));
    }
    assert_eq!((later.held(), room), (size, 7));
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
fn of_many_packs_few_are_open_and_all_are_read() {
    let test = TestRepository::with_tasks();
    test.git(&["repack", "-adq"]);
    for round in 0..40 {
        test.write(&format!("tasks/AOF-{round}.md"), &format!("task {round}\n"));
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", &format!("round {round}")]);
        test.git(&["repack", "-dq"]);
    }
    let (all, repository) = (all(&test), test.open());
    assert!(fs::read_dir(test.path(".git/objects/pack")).unwrap().count() > 40 * 2);
    for (id, kind) in all.iter().chain(all.iter().rev()) {
        assert_eq!(name(*kind, &repository.reader().read(*kind, *id).unwrap()), *id);
    }
    // What is in the packs that are not held is left to libgit2.
    let mut packs = Packs::default();
    let here = all.iter().filter(|(id, _)| packs.read(&objects(&test), *id).is_some()).count();
    assert!(here > 0 && here < all.len() / 2, "{here} of {}", all.len());
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
    fs::write(
        borrowed.path(".git/objects/info/alternates"),
        test.path(".git/objects").display().to_string(),
    )
    .unwrap();
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
        let (mut read, mut lost) = (0, 0);
        for at in (0..whole.len()).step_by(step) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x15;
            fs::remove_file(&path).unwrap();
            fs::write(&path, &damaged).unwrap();
            let Ok(repository) = crate::git::Repository::discover(&test.path("")) else {
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
        assert!(read > 0 && lost > 0, "{}: {read} read, {lost} lost", path.display());
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
        assert!(error.contains("ends too early"), "{error}");
    }
}

#[test]
fn what_is_cut_off_where_it_is_borrowed_from_is_told_unless_it_is_whole_elsewhere() {
    let [lender, between, borrower] = [(); 3].map(|()| TestRepository::empty());
    let lends = |to: &TestRepository, line: String| {
        fs::write(to.path(".git/objects/info/alternates"), format!("# borrowed\n{line}\n"))
            .unwrap();
    };
    lends(&between, lender.path(".git/objects").display().to_string());
    // Whoever lends to itself is looked into once.
    lends(&lender, borrower.path(".git/objects").display().to_string());
    lends(&borrower, between.path(".git/objects").display().to_string());
    lender.git(&["commit", "--quiet", "--allow-empty", "--message", "lent"]);
    let id: ObjectId = lender.git(&["rev-parse", "HEAD"]).trim().parse().unwrap();
    let [file, nearer] = [&lender, &between].map(|test| place_in(&test.path(".git/objects"), id));
    let whole = fs::read(&file).unwrap();
    assert_eq!(borrower.open().reader().any(id).unwrap().0, Kind::Commit);
    let put = |file: &Path, bytes: &[u8]| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let _ = fs::remove_file(file);
        fs::write(file, bytes).unwrap();
    };
    put(&file, &whole[..whole.len() / 2]);
    let fault = borrower.open().reader().any(id).unwrap_err();
    let AuditError::Damaged { id: told, file: at, .. } = &fault else { panic!("{fault:?}") };
    assert_eq!((*told, fs::canonicalize(at).unwrap()), (id, fs::canonicalize(&file).unwrap()));
    put(&nearer, &whole);
    assert_eq!(borrower.open().reader().any(id).unwrap().0, Kind::Commit);
    put(&nearer, &whole[..whole.len() / 2]);
    put(&file, &whole);
    assert_eq!(borrower.open().reader().any(id).unwrap().0, Kind::Commit);
}
