//! Walks through histories of any shape, compared with the shape; clocks are wrong, and objects are damaged.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use super::environment::{TestRepository, commit, put};
use crate::{ChangedFile, CommitId, GitError, HistoryOverride, Repository};

const SIZE: usize = 24;

/// A history: the parents of each commit, which come before it.
type Shape = Vec<Vec<usize>>;

/// Numbers that look random, and are the same in each run.
struct Chance(u64);

impl Chance {
    /// Returns a history of many branches, each begun at any commit and merged one by one, and of a line that merges some of their commits.
    fn wide_shape(&mut self, branches: usize) -> Shape {
        let (mut shape, mut top): (Shape, usize) = (vec![Vec::new()], 0);
        for _ in 0..10 {
            shape.push(vec![top]);
            top = shape.len() - 1;
        }
        let mut other = top;
        for _ in 0..branches {
            let limit = if self.below(3) == 0 { shape.len() } else { 11 };
            let begun = self.below(limit);
            shape.push(if self.below(60) == 0 { Vec::new() } else { vec![begun] });
            let branch = shape.len() - 1;
            shape.push(vec![top, branch]);
            top = shape.len() - 1;
            if self.below(8) == 0 {
                shape.push(vec![other, self.below(shape.len())]);
                shape.last_mut().unwrap().dedup();
                other = shape.len() - 1;
            }
        }
        shape
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }

    /// Returns a history: some commits continue a line, some fork and merge anywhere, some begin a new one.
    fn shape(&mut self, size: usize) -> Shape {
        let (forks, merges, roots) = (self.below(10) + 1, self.below(6), self.below(4));
        (0..size)
            .map(|number| {
                if number == 0 || self.below(40) < roots {
                    return Vec::new();
                }
                let near = |chance: &mut Self| number - 1 - chance.below(forks).min(number - 1);
                let mut parents = vec![near(self)];
                if self.below(10) < merges {
                    let other = self.below(number);
                    parents.extend((!parents.contains(&other)).then_some(other));
                }
                parents
            })
            .collect()
    }
}

/// Makes the commits with git, at those times.
fn made(test: &TestRepository, shape: &Shape, times: &[i64]) -> Vec<CommitId> {
    let mut text = String::new();
    for (number, (parents, time)) in shape.iter().zip(times).enumerate() {
        let message = format!("{number} {times:?}");
        write!(
            text,
            "commit refs/heads/c{number}\nmark :{}\ncommitter A <a@b> {time} +0000\n",
            number + 1
        )
        .unwrap();
        write!(text, "data {}\n{message}\n", message.len()).unwrap();
        for (place, parent) in parents.iter().enumerate() {
            writeln!(text, "{} :{}", if place == 0 { "from" } else { "merge" }, parent + 1)
                .unwrap();
        }
        if parents.is_empty() {
            text.push_str("deleteall\n");
        }
        text.push('\n');
    }
    let (stream, marks) = (test.beside("stream"), test.beside("marks"));
    fs::write(&stream, text).unwrap();
    let file = fs::File::open(&stream).unwrap();
    let status = std::process::Command::new("git")
        .args(["-c", "fastimport.unpackLimit=100000", "fast-import", "--quiet", "--force"])
        .arg(format!("--export-marks={}", marks.display()))
        .current_dir(test.root())
        .stdin(file)
        .status()
        .unwrap();
    assert!(status.success());
    let mut named: Vec<(usize, CommitId)> = fs::read_to_string(&marks)
        .unwrap()
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(mark, id)| (mark[1..].parse().unwrap(), id.parse().unwrap()))
        .collect();
    named.sort_by_key(|(mark, _)| *mark);
    named.into_iter().map(|(_, id)| id).collect()
}

/// Returns each commit with all of its ancestors.
fn behind(shape: &Shape) -> Vec<BTreeSet<usize>> {
    let mut all: Vec<BTreeSet<usize>> = Vec::new();
    for (number, parents) in shape.iter().enumerate() {
        let mut ancestors: BTreeSet<usize> =
            parents.iter().flat_map(|parent| all[*parent].iter().copied()).collect();
        ancestors.insert(number);
        all.push(ancestors);
    }
    all
}

fn line(shape: &Shape, from: usize) -> Vec<usize> {
    std::iter::successors(Some(from), |number| shape[*number].first().copied()).collect()
}

/// Returns commit times by clocks that are right, random, or all wrong: the earlier the commit, the newer its time.
fn clocks(chance: &mut Chance, round: usize, size: usize) -> Vec<i64> {
    let time = |number: usize| i64::try_from(number).unwrap();
    (0..size)
        .map(|number| match round % 3 {
            0 => 1_000 + time(number),
            1 => 1_000 + time(chance.below(size)),
            _ => 2_000 - time(number),
        })
        .collect()
}

/// Compares every walk between some commits with the shape.
fn assert_exact(test: &TestRepository, shape: &Shape, times: &[i64], triples: &[[usize; 3]]) {
    let ids = made(test, shape, times);
    let repository = test.open();
    let number = |id: &CommitId| ids.iter().position(|known| known == id).unwrap();
    let behind = behind(shape);
    for [one, other, third] in triples.iter().copied() {
        let case = || format!("{one} {other} {third} of {shape:?} at {times:?}");
        for since in [vec![], vec![other], vec![other, third]] {
            let known: Vec<CommitId> = since.iter().map(|known| ids[*known]).collect();
            let reach = repository.commits_between(&known, ids[one]).unwrap();
            let order: Vec<usize> = reach.commits.iter().map(number).collect();
            let hidden: BTreeSet<usize> =
                since.iter().flat_map(|known| behind[*known].iter().copied()).collect();
            let expected: BTreeSet<usize> = behind[one].difference(&hidden).copied().collect();
            assert_eq!(
                order.iter().copied().collect::<BTreeSet<_>>(),
                expected,
                "{since:?}: {}",
                case()
            );
            assert_eq!((order.len(), reach.ends.len()), (expected.len(), 0), "{}", case());
            for (place, commit) in order.iter().enumerate() {
                let later = |parent: &usize| order[place..].contains(parent);
                assert!(!shape[*commit].iter().any(later), "{order:?}: {}", case());
            }
        }
        assert_eq!(
            repository.is_ancestor(ids[one], ids[other]).unwrap(),
            behind[other].contains(&one),
            "{}",
            case()
        );
        let distance = repository.distance(ids[one], ids[other]).unwrap();
        let expected = (
            behind[one].difference(&behind[other]).count(),
            behind[other].difference(&behind[one]).count(),
        );
        assert_eq!((distance.ahead, distance.behind), expected, "{}", case());
        let common: BTreeSet<usize> = behind[one].intersection(&behind[other]).copied().collect();
        let is_best = |base: &usize| {
            !common.iter().any(|later| later != base && behind[*later].contains(base))
        };
        let best: BTreeSet<usize> = common.iter().copied().filter(is_best).collect();
        let bases: BTreeSet<usize> =
            repository.merge_bases(ids[one], ids[other]).unwrap().iter().map(number).collect();
        assert_eq!(bases, best, "{}", case());
        let had = &behind[other];
        let mut added: Vec<usize> =
            line(shape, one).into_iter().take_while(|number| !had.contains(number)).collect();
        added.reverse();
        let found = repository.added_since(ids[other], ids[one]).unwrap().unwrap();
        assert_eq!(found.iter().map(number).collect::<Vec<_>>(), added, "{}", case());
    }
}

#[test]
fn every_walk_is_exact_for_all_shapes_and_clocks() {
    let test = TestRepository::empty();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    for round in 0..60 {
        let shape = chance.shape(SIZE);
        let times = clocks(&mut chance, round, SIZE);
        let triples: Vec<_> = (0..60).map(|_| [(); 3].map(|()| chance.below(SIZE))).collect();
        assert_exact(&test, &shape, &times, &triples);
    }
}

#[test]
fn every_walk_is_exact_with_more_branches_than_colours() {
    let test = TestRepository::empty();
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    for round in 0..12 {
        let shape = chance.wide_shape(150);
        let size = shape.len();
        let times = clocks(&mut chance, round, size);
        let mut triples: Vec<_> = (0..8).map(|_| [(); 3].map(|()| chance.below(size))).collect();
        // The last commits have most ancestors, and the first ones have none.
        triples.extend(
            (0..6).map(|_| [size - 1 - chance.below(4), chance.below(20), chance.below(size)]),
        );
        assert_exact(&test, &shape, &times, &triples);
    }
}

/// Returns a line of commits followed by branches, each begun at one of the last ten of the line and merged one by one after it. Also
/// returns the number of the last commit of the line.
fn merged(line: usize, branches: usize) -> (Shape, usize) {
    let mut shape: Shape = (0..line).map(|number| Vec::from_iter(number.checked_sub(1))).collect();
    let mut top = line - 1;
    for branch in 0..branches {
        shape.push(vec![line - 1 - branch % 10]);
        shape.push(vec![top, shape.len() - 1]);
        top = shape.len() - 1;
    }
    (shape, line - 1)
}

fn upward(shape: &Shape) -> Vec<i64> {
    (0..shape.len()).map(|number| 1_000 + i64::try_from(number).unwrap()).collect()
}

#[test]
fn walks_over_many_merges_read_only_to_their_beginning() {
    let test = TestRepository::empty();
    let (shape, known) = merged(60, 200);
    let ids = made(&test, &shape, &upward(&shape));
    // The commits before these cannot be read.
    for id in &ids[..45] {
        fs::remove_file(file_of(&test, *id)).unwrap();
    }
    let repository = test.open();
    let (known, last) = (ids[known], ids[shape.len() - 1]);
    let reach = repository.commits_between(&[known], last).unwrap();
    assert_eq!((reach.commits.len(), reach.ends.len()), (400, 0));
    let distance = repository.distance(known, last).unwrap();
    assert_eq!((distance.ahead, distance.behind), (0, 400));
    assert_eq!(repository.added_since(known, last).unwrap().unwrap().len(), 200);
    assert_eq!(repository.merge_bases(known, last).unwrap(), [known]);
    assert_eq!(repository.newest_common(last, [known]).unwrap(), Some(known));
}

#[test]
fn an_unrelated_merged_branch_is_read_in_full_only_by_verification() {
    let test = TestRepository::empty();
    let (mut shape, known) = merged(2_000, 0);
    shape.push(Vec::new());
    shape.push(vec![known, known + 1]);
    let ids = made(&test, &shape, &upward(&shape));
    for id in &ids[..500] {
        fs::remove_file(file_of(&test, *id)).unwrap();
    }
    let repository = test.open();
    let (known, last) = (ids[known], ids[known + 2]);
    let distance = repository.distance(known, last).unwrap();
    assert_eq!((distance.ahead, distance.behind), (0, 2));
    assert_eq!(repository.added_since(known, last).unwrap().unwrap(), [last]);
    assert_eq!(repository.newest_common(last, [known]).unwrap(), Some(known));
    let judged = repository.commits_between(&[known], last);
    assert!(matches!(judged, Err(GitError::Missing { .. })), "{judged:?}");
}

/// Makes five commits, each a loose file. Returns their names, first commit first.
fn five(test: &TestRepository) -> Vec<CommitId> {
    (0..5)
        .map(|number| {
            test.git(&["commit", "--quiet", "--allow-empty", "--message", &number.to_string()]);
            test.git(&["rev-parse", "HEAD"]).trim().parse().unwrap()
        })
        .collect()
}

fn file_of(test: &TestRepository, id: CommitId) -> std::path::PathBuf {
    let name = id.to_string();
    test.path(&format!(".git/objects/{}/{}", &name[..2], &name[2..]))
}

/// Calls every walk.
fn faults_of_walks(
    repository: &Repository,
    first: CommitId,
    last: CommitId,
) -> Vec<(&'static str, Option<GitError>)> {
    vec![
        ("all_since", repository.commits_between(&[], last).err()),
        ("distance", repository.distance(first, last).err()),
        ("is_ancestor", repository.is_ancestor(first, last).err()),
        ("merge_bases", repository.merge_bases(first, last).err()),
        ("line_to", repository.line_to(last).err()),
        ("added_since", repository.added_since(first, last).err()),
        ("log", repository.log(last).map_or_else(Some, |mut log| log.find_map(Result::err))),
    ]
}

#[test]
fn a_damaged_commit_ends_every_walk_with_its_name() {
    let test = TestRepository::empty();
    let commits = five(&test);
    let file = file_of(&test, commits[2]);
    let whole = fs::read(&file).unwrap();
    let put = |bytes: &[u8]| {
        fs::remove_file(&file).unwrap();
        fs::write(&file, bytes).unwrap();
    };
    for cut in [&whole[..whole.len() / 2], &[], b"no object at all"] {
        put(cut);
        for (walk, fault) in faults_of_walks(&test.open(), commits[0], commits[4]) {
            let damaged = fault.unwrap_or_else(|| panic!("{walk} ends well"));
            let GitError::Damaged { id, file: damaged_file, .. } = &damaged else {
                panic!("{walk}: {damaged:?}")
            };
            assert_eq!((*id, damaged_file), (commits[2].object(), &file), "{walk}");
        }
    }
    fs::remove_file(&file).unwrap();
    for (walk, fault) in faults_of_walks(&test.open(), commits[0], commits[4]) {
        assert!(
            matches!(fault, Some(GitError::Missing { id, .. }) if id == commits[2].object()),
            "{walk}: {fault:?}"
        );
    }
}

#[test]
fn an_index_that_leads_nowhere_ends_every_walk() {
    let test = TestRepository::empty();
    let commits = five(&test);
    test.git(&["repack", "-adq"]);
    let listing =
        fs::read_dir(test.path(".git/objects/pack")).unwrap().map(|entry| entry.unwrap().path());
    let path =
        listing.into_iter().find(|path| path.extension().is_some_and(|end| end == "idx")).unwrap();
    let whole = fs::read(&path).unwrap();
    let count = u32::from_be_bytes(whole[8 + 255 * 4..8 + 256 * 4].try_into().unwrap()) as usize;
    let names = 8 + 256 * 4;
    let place = (0..count)
        .find(|place| {
            whole[names + place * 20..names + place * 20 + 20] == *commits[2].object().as_bytes()
        })
        .unwrap();
    let at = names + count * 24 + place * 4;
    // Beyond the end, into the middle of an entry, to an eight-byte offset that does not exist, to the header.
    for offset in [0x7fff_0000_u32, 33, 0x8000_0005, 0xffff_ffff, 0] {
        let mut index = whole.clone();
        index[at..at + 4].copy_from_slice(&offset.to_be_bytes());
        fs::remove_file(&path).unwrap();
        fs::write(&path, &index).unwrap();
        for (walk, fault) in faults_of_walks(&test.open(), commits[0], commits[4]) {
            let is_reported =
                matches!(&fault, Some(GitError::Damaged { file, .. }) if file.ends_with(&path));
            assert!(is_reported, "{walk}, {offset:x}: {fault:?}");
        }
    }
}

#[test]
fn grafts_and_replacements_change_no_history() {
    let test = TestRepository::empty();
    let commits = five(&test);
    assert_eq!(test.open().history_overrides().unwrap(), []);
    let line = format!("{} {}\n", commits[4], commits[0]);
    fs::create_dir_all(test.path(".git/info")).unwrap();
    fs::write(test.path(".git/info/grafts"), line).unwrap();
    test.git(&["replace", &commits[3].to_string(), &commits[1].to_string()]);
    let repository = test.open();
    assert_eq!(repository.commits_between(&[], commits[4]).unwrap().commits, commits);
    assert_eq!(repository.line_to(commits[4]).unwrap(), commits);
    assert_eq!(repository.log_entry(commits[4]).unwrap().parents, [commits[3]]);
    assert_eq!(repository.log(commits[4]).unwrap().count(), 5);
    assert_eq!(
        repository.history_overrides().unwrap(),
        [HistoryOverride::Grafts, HistoryOverride::Replacements]
    );
}

#[test]
fn a_commit_is_found_by_the_names_that_git_knows_it_by() {
    let test = TestRepository::empty();
    let commits = five(&test);
    test.git(&["tag", "-a", "-m", "one", "v1", "HEAD~2"]);
    let repository = test.open();
    let id = commits[1].to_string();
    for (name, commit) in [
        ("HEAD", Some(commits[4])),
        ("main~1", Some(commits[3])),
        ("v1", Some(commits[2])),
        (&id, Some(commits[1])),
        (&id[..7], Some(commits[1])),
        ("HEAD~40", None),
        ("HEAD:", None),
        ("no", None),
        ("--all", None),
        ("", None),
    ] {
        assert_eq!(repository.commit_named(name).unwrap(), commit, "{name:?}");
    }
}

fn subjects(log: crate::log::walk::Log<'_>) -> Vec<String> {
    log.map(|entry| entry.unwrap().message.lines().next().unwrap().to_owned()).collect()
}

#[test]
fn history_is_read_newest_first() {
    let test = TestRepository::with_tasks();
    for (number, path) in
        ["tasks/AOF-aaa.md", "src/x.txt", "tasks/ccc/AOF-ccc.md", "project.yaml"].iter().enumerate()
    {
        test.write(path, &format!("{number}\n"));
        test.git(&["add", "."]);
        test.git(&["commit", "-qm", &format!("{number}")]);
    }
    let repository = test.open();
    let head = repository.head().unwrap().commit.unwrap();
    assert_eq!(subjects(repository.log(head).unwrap()), ["3", "2", "1", "0", "start"]);
    assert_eq!(subjects(repository.log_of(head, &["tasks"]).unwrap()), ["2", "0", "start"]);
    assert_eq!(subjects(repository.log_of(head, &["tasks/AOF-aaa.md"]).unwrap()), ["0", "start"]);
    assert_eq!(subjects(repository.log_of(head, &["project.yaml", "org.yaml"]).unwrap()), ["3"]);
    let entry = repository.log_entry(head).unwrap();
    assert_eq!((entry.author.name(), entry.author.email()), ("Ada Lovelace", "ada@example.org"));
    assert_eq!(entry.parents.len(), 1);
    assert_eq!(
        test.git(&["show", "-s", "--format=%at"]).trim(),
        entry.authored.as_second().to_string()
    );
    let after = Some(repository.hash_blob(b"3\n"));
    let changed = vec![ChangedFile { path: "project.yaml".to_owned(), before: None, after }];
    assert_eq!(repository.changed_files(head).unwrap(), changed);
}

#[test]
fn merges_are_followed_to_the_origin_of_a_file() {
    let test = TestRepository::with_tasks();
    test.git(&["checkout", "-q", "-b", "side"]);
    test.write("tasks/AOF-aaa.md", "side\n");
    test.git(&["commit", "-qam", "side a"]);
    test.git(&["checkout", "-q", "main"]);
    test.write("tasks/AOF-bbb.md", "main\n");
    test.git(&["commit", "-qam", "main b"]);
    test.git(&["merge", "-q", "-m", "merge", "side"]);
    let repository = test.open();
    let head = repository.head().unwrap().commit.unwrap();
    assert_eq!(subjects(repository.log(head).unwrap()), ["merge", "main b", "side a", "start"]);
    assert_eq!(
        subjects(repository.log_of(head, &["tasks/AOF-aaa.md"]).unwrap()),
        ["side a", "start"]
    );
    let by_git = test.git(&["log", "--format=%s", "--", "tasks"]);
    assert_eq!(
        subjects(repository.log_of(head, &["tasks"]).unwrap()),
        by_git.lines().collect::<Vec<_>>()
    );
}

#[test]
fn a_subfolder_project_sees_its_own_history() {
    let test = TestRepository::with_tasks();
    test.write("apps/web/project.yaml", "project: {}\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "project"]);
    test.write("src/x.txt", "elsewhere\n");
    test.git(&["commit", "-qam", "elsewhere"]);
    let repository = Repository::discover(&test.path("apps/web")).unwrap();
    let published = commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "a\n")]).unwrap();
    assert_eq!(subjects(repository.log_of(published.commit, &[""]).unwrap()).len(), 2);
    let changed = repository.changed_files(published.commit).unwrap();
    assert_eq!(
        changed.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        ["tasks/AOF-aaa.md"]
    );
    let elsewhere = repository.log_entry(published.commit).unwrap().parents[0];
    assert_eq!(repository.changed_files(elsewhere).unwrap(), []);
}

#[test]
fn changes_match_those_of_git() {
    let test = TestRepository::with_tasks();
    test.git(&["rm", "-q", "-r", "tasks/ccc", "src/x.txt"]);
    for (path, content) in [
        ("tasks/ccc", "a file now\n"),
        ("src/x.txt/y", "a folder now\n"),
        ("tasks/AOF-aaa.md", "a\n"),
    ] {
        test.write(path, content);
    }
    std::os::unix::fs::symlink("AOF-aaa.md", test.path("tasks/link")).unwrap();
    test.git(&["add", "."]);
    test.git(&["update-index", "--chmod=+x", "tasks/AOF-bbb.md"]);
    test.git(&["commit", "-qm", "everything"]);
    let repository = test.open();
    let head = repository.head().unwrap().commit.unwrap();
    let none = "0".repeat(40);
    let line = |file: &ChangedFile| {
        let id = |id: Option<crate::ObjectId>| id.map_or(none.clone(), |id| id.to_string());
        format!("{} {} {}\n", id(file.before), id(file.after), file.path)
    };
    for commit in [head, repository.log_entry(head).unwrap().parents[0]] {
        let mut by_git: Vec<_> = test
            .git(&[
                "diff-tree",
                "--root",
                "-r",
                "--no-commit-id",
                "--no-renames",
                "--no-abbrev",
                &commit.to_string(),
            ])
            .lines()
            .map(|line| {
                let (fields, path) = line.split_once('\t').unwrap();
                let fields: Vec<_> = fields.split(' ').collect();
                format!("{} {} {path}\n", fields[2], fields[3])
            })
            .collect();
        let mut ours: Vec<_> = repository.changed_files(commit).unwrap().iter().map(line).collect();
        by_git.sort();
        ours.sort();
        assert_eq!(ours, by_git);
    }
}

#[test]
fn commits_of_a_branch_are_known_as_far_as_history_goes() {
    let env = TestRepository::with_tasks();
    let repository = env.open();
    let next = |text: &str| {
        env.git(&["commit", "--quiet", "--allow-empty", "--message", text]);
        let repository = env.open();
        repository.head().unwrap().commit.unwrap()
    };
    let (one, two, three) = (next("one"), next("two"), next("three"));
    assert_eq!(repository.added_since(one, three).unwrap(), Some(vec![two, three]));
    assert_eq!(repository.added_since(three, one).unwrap(), Some(vec![]));
    env.git(&["switch", "--quiet", "--create", "side", &two.to_string()]);
    let side = next("side");
    assert_eq!(repository.newest_common(side, [one, three]).unwrap(), Some(two));
    assert_eq!(repository.newest_common(side, []).unwrap(), None);
    let led = |commit, later| repository.is_ancestor(commit, later).unwrap();
    assert!(led(two, side) && led(side, side) && !led(three, side) && !led(side, two));
    env.git_in(&env.root(), &["clone", "--quiet", "--depth", "1", "--no-local", ".", "../cut"]);
    let cut = Repository::discover(&env.beside("cut")).unwrap();
    assert_eq!(cut.added_since(two, side).unwrap(), None);
    assert_eq!(cut.newest_common(side, [one]).unwrap(), None);
}
