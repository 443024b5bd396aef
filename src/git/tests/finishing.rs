use std::fs;
use std::time::{Duration, Instant};

use super::environment::TestRepository;
use crate::git::objects::tree::Leaf;
use crate::git::transaction::locks::LockFile;
use crate::git::{BranchLock, CommitId, Finished, Unsettled};

/// A branch that was on its way from one commit to the other.
struct Way {
    test: TestRepository,
    from: String,
    to: String,
}

impl Way {
    /// The later commit has these files; the branch, the index and the worktree are at the earlier one.
    fn to(files: &[(&str, &str)]) -> Self {
        let test = TestRepository::with_tasks();
        let head = |test: &TestRepository| test.git(&["rev-parse", "HEAD"]).trim().to_owned();
        let from = head(&test);
        for (path, text) in files {
            test.write(path, text);
        }
        test.git(&["add", "--force", "--all", "."]);
        test.git(&["commit", "-qm", "what comes"]);
        let to = head(&test);
        test.git(&["reset", "-q", "--hard", &from]);
        Self { test, from, to }
    }

    fn finish(&self) -> Vec<Unsettled> {
        self.finish_within(Duration::from_mins(2))
    }

    fn finish_within(&self, patience: Duration) -> Vec<Unsettled> {
        self.finished(patience).unsettled
    }

    fn finished(&self, patience: Duration) -> Finished {
        let id = |text: &str| text.parse::<CommitId>().unwrap();
        let file = LockFile { temp: String::new(), device: 0, inode: 0, born: None };
        let was = BranchLock {
            reference: "refs/heads/main".to_owned(),
            from: Some(id(&self.from)),
            to: id(&self.to),
            file,
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        self.test.open().finish_bringing(&was, deadline, patience, &mut |_| Ok(Vec::new())).unwrap()
    }

    fn head(&self) -> String {
        self.test.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

#[test]
fn what_is_kept_out_goes_back_whoever_wrote_down_that_it_comes() {
    let files = [(".aof/inbox/evil.yaml", "evil\n"), ("src/x.txt", "theirs\n")];
    for placed in [0, 1, 2] {
        let way = Way::to(&files);
        for (path, text) in &files[..placed] {
            way.test.write(path, text);
        }
        assert_eq!(way.finish(), []);
        assert_eq!(way.head(), way.from);
        assert_eq!(fs::read_to_string(way.test.path("src/x.txt")).unwrap(), "x\n");
        assert!(!way.test.path(".aof").exists());
        way.test.assert_clean();
    }
}

#[test]
fn nothing_is_done_of_what_git_has_swept() {
    let way = Way::to(&[("src/x.txt", "theirs\n")]);
    let swept = Way { to: "1234567890123456789012345678901234567890".to_owned(), ..way };
    assert_eq!(swept.finish(), []);
    assert_eq!(swept.head(), swept.from);
    swept.test.assert_clean();
    // Likewise where it began: that was on a branch which is gone.
    let (from, to) = (swept.to, swept.from);
    let swept = Way { from, to, test: swept.test };
    swept.test.write("src/x.txt", "mine\n");
    let Finished { unsettled, failed } = swept.finished(Duration::from_mins(2));
    assert_eq!(unsettled, []);
    assert!(failed.is_some_and(|why| why.contains("does not have the commit `1234567890")));
    assert_eq!(swept.head(), swept.to);
    assert_eq!(fs::read_to_string(swept.test.path("src/x.txt")).unwrap(), "mine\n");
}

#[test]
fn why_all_goes_back_is_told() {
    let way = Way::to(&[("src/x.txt", "theirs\n"), ("src/y.bin", "theirs\n")]);
    way.test.write("src/x.txt", "theirs\n");
    fs::write(way.test.path(".git/info/attributes"), "*.bin filter=f\n").unwrap();
    way.test.git(&["config", "filter.f.smudge", "echo 'no room left' >&2; false"]);
    way.test.git(&["config", "filter.f.required", "true"]);
    let Finished { unsettled, failed } = way.finished(Duration::from_mins(2));
    assert_eq!(unsettled, []);
    assert!(failed.as_ref().is_some_and(|why| why.contains("no room left")), "{failed:?}");
    assert_eq!(
        (way.head(), fs::read_to_string(way.test.path("src/x.txt")).unwrap()),
        (way.from.clone(), "x\n".to_owned())
    );
    way.test.git(&["config", "filter.f.smudge", "cat"]);
    assert_eq!(way.finished(Duration::from_mins(2)), Finished::default());
    assert_eq!(way.head(), way.to);
}

#[test]
fn what_head_has_is_found_whatever_the_folders_are_called() {
    let files: Vec<(String, String)> = ["a", "a/b", "a.b", "deep/er/a"]
        .iter()
        .flat_map(|folder| {
            (0..9).map(move |number| {
                (format!("{folder}-/{number}.txt"), format!("{folder} {number}\n"))
            })
        })
        .collect();
    let named: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let way = Way::to(&named);
    for (path, text) in named.iter().step_by(2) {
        way.test.write(path, text);
    }
    assert_eq!(way.finish(), []);
    assert_eq!(way.head(), way.to);
    way.test.assert_clean();
}

/// Whoever changes the time back has changed the file all the same.
#[test]
fn an_edit_that_looks_like_what_came_is_somebodys() {
    let way = Way::to(&[("src/x.txt", "t\n"), ("src/y.txt", "theirs\n")]);
    way.test.git(&["read-tree", &way.to]);
    way.test.write("src/x.txt", "t\n");
    way.test.git(&["update-index", "-q", "--refresh"]);
    let file = fs::File::options().write(true).open(way.test.path("src/x.txt")).unwrap();
    let time = file.metadata().unwrap().modified().unwrap();
    fs::write(way.test.path("src/x.txt"), "m\n").unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(way.finish(), []);
    assert_eq!(fs::read_to_string(way.test.path("src/x.txt")).unwrap(), "m\n");
    assert_eq!(
        (way.head(), way.test.git(&["diff", "--cached", "--name-only"])),
        (way.from.clone(), String::new())
    );
}

/// What goes back is as it was stored; what a filter would have to write is told.
#[test]
fn a_filter_that_hangs_keeps_no_other_file_from_going_back() {
    let way = Way::to(&[("tasks/AOF-aaa.md", "theirs\n"), ("src/x.txt", "theirs\n")]);
    way.test.write("src/x.txt", "theirs\n");
    way.test.write("tasks/AOF-aaa.md", "mine\n");
    fs::write(way.test.path(".git/info/attributes"), "src/*.txt filter=f\n").unwrap();
    way.test.git(&["config", "filter.f.clean", "cat"]);
    way.test.git(&["config", "filter.f.smudge", "sleep 3000"]);
    way.test.git(&["config", "filter.f.required", "true"]);
    let unsettled = way.finish_within(Duration::from_secs(5));
    assert_eq!(unsettled.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["src/x.txt"]);
    assert_eq!(way.head(), way.from);
}

/// Git that is killed while it writes a copy of the index leaves its lock on that copy.
#[test]
fn a_lock_left_on_a_copy_of_the_index_does_not_stop_the_next_command() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let copy = repository.index_copy().unwrap();
    fs::write(copy.path.with_added_extension("lock"), "").unwrap();
    let id = test.git(&["rev-parse", ":tasks/AOF-aaa.md"]).trim().parse().unwrap();
    let leaf = Leaf { mode: 0o100_644, id };
    repository.set_entries(&copy.path, [(b"b".as_slice(), Some(leaf))].into_iter()).unwrap();
}
