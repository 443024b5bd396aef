use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

use super::environment::{
    TestRepository, commit, delete, draft, no_intent, publish, put, soon, write_and_publish,
};
use crate::objects::tree::Leaf;
use crate::transaction::locks::LockFile;
use crate::{BranchLock, CheckoutRecovery, CommitId, GitError, Repository, Unsettled};
use aof_system::disk::{SyncPart, Unsynced};

#[test]
fn a_disk_that_does_not_confirm_a_folder_is_reported_with_the_commit() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let prepared = repository
        .prepare(&repository.head().unwrap(), &draft(vec![put("tasks/AOF-aaa.md", "one\n")]))
        .unwrap();
    test.write("tasks/AOF-aaa.md", "one\n");
    // A pipe has nothing to sync.
    let (_, pipe) = io::pipe().unwrap();
    let pipe = Arc::new(File::from(OwnedFd::from(pipe)));
    let mut folders =
        || vec![Unsynced::new(Arc::clone(&pipe), Path::new("a pipe"), SyncPart::Bytes)];
    let published = publish(&repository, &prepared, soon(), &mut no_intent, &mut folders).unwrap();
    assert_eq!(published.not_synced.unwrap().path, Path::new("a pipe"));
    assert_eq!(test.git(&["rev-parse", "main"]).trim(), published.commit.to_string());
    test.assert_clean();
}

#[test]
fn a_change_is_a_commit_of_exactly_that() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let published =
        commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "task a, reviewed\n")]).unwrap();
    assert!(published.not_synced.is_none());
    assert_eq!(test.git(&["rev-parse", "main"]).trim(), published.commit.to_string());
    assert_eq!(test.git(&["show", "--format=", "--name-status", "HEAD"]), "M\ttasks/AOF-aaa.md\n");
    assert_eq!(
        test.git(&[
            "show",
            "-s",
            "--format=%an %ae %at %cn %ce %ct|%s|%b|%(trailers:key=Aof-Task,valueonly)",
            "HEAD"
        ])
        .trim(),
        "agent-7 agent-7@aof.invalid 1700001000 Ada Lovelace ada@example.org 1700002000\
         |AOF-aaa: implement -> review (complete)|Done.\n\nAof-Task: AOF-aaa\n|AOF-aaa"
    );
    test.assert_clean();
    let subject = "commit: AOF-aaa: implement -> review (complete)";
    assert_eq!(test.git(&["reflog", "-1", "--format=%gs", "main"]).trim(), subject);
    assert_eq!(test.git(&["reflog", "-1", "--format=%gs", "HEAD"]).trim(), subject);
    assert_eq!(
        test.git(&["rev-parse", "main@{1}", "main~1"])
            .lines()
            .collect::<std::collections::HashSet<_>>()
            .len(),
        1
    );
}

#[test]
fn files_come_move_and_go() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    for changes in [
        vec![put("tasks/AOF-new.md", "new\n")],
        vec![put("tasks/archive/2026/02/16/AOF-aaa.md", "task a\n"), delete("tasks/AOF-aaa.md")],
        vec![put("tasks/ccc/AOF-ddd.md", "d\n"), put("tasks/AOF-bbb.md", "b\n")],
        vec![put("tasks/ccc.md", "beside a folder\n"), put("tasks/ccc-x", "also\n")],
        vec![delete("tasks/ccc/AOF-ddd.md"), delete("tasks/ccc/AOF-ccc.md")],
        vec![put("tasks/ccc/AOF-ccc.md", "back\n")],
        vec![delete("tasks/archive/2026/02/16/AOF-aaa.md"), put("tasks/AOF-aaa.md", "reopened\n")],
    ] {
        commit(&test, &repository, changes).unwrap();
        test.assert_clean();
    }
    let names = test.git(&["ls-tree", "-r", "--name-only", "HEAD", "tasks/"]);
    assert_eq!(
        names,
        "tasks/AOF-aaa.md\ntasks/AOF-bbb.md\ntasks/AOF-new.md\ntasks/ccc-x\ntasks/ccc.md\ntasks/ccc/AOF-ccc.md\n"
    );
}

#[test]
fn everything_can_be_deleted() {
    let test = TestRepository::empty();
    let repository = test.open();
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "a\n")]).unwrap();
    commit(&test, &repository, vec![delete("tasks/AOF-aaa.md")]).unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["ls-tree", "-r", "HEAD"]), "");
}

#[test]
fn the_first_commit_of_a_repository_may_be_the_engines() {
    let test = TestRepository::empty();
    let repository = test.open();
    assert_eq!(repository.head().unwrap().commit, None);
    commit(
        &test,
        &repository,
        vec![put("project.yaml", "project: {}\n"), put("tasks/AOF-aaa.md", "a\n")],
    )
    .unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["rev-list", "--count", "HEAD"]).trim(), "1");
    assert!(test.git(&["reflog", "--format=%gs"]).starts_with("commit (initial): AOF-aaa"));
    commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "b\n")]).unwrap();
    test.assert_clean();
}

#[test]
fn a_change_that_changes_nothing_is_refused() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let head = repository.head().unwrap();
    for changes in
        [vec![put("tasks/AOF-aaa.md", "task a\n")], vec![delete("tasks/AOF-zzz.md")], vec![]]
    {
        assert!(matches!(repository.prepare(&head, &draft(changes)), Err(GitError::Unchanged)));
    }
    assert!(matches!(repository.prepare_batch(&head, &[]), Err(GitError::Unchanged)));
}

#[test]
fn a_batch_is_a_commit_each_in_one_pack() {
    let test = TestRepository::with_tasks();
    let repository = test.open();
    let mut drafts = vec![draft(vec![put("tasks/AOF-aaa.md", "by hand\n")])];
    for number in 0..20 {
        drafts.push(draft(vec![put(
            &format!("tasks/AOF-n{number:02}.md"),
            &format!("{number}\n").repeat(number * 40),
        )]));
    }
    drafts
        .push(draft(vec![delete("tasks/AOF-n03.md"), put("tasks/archive/AOF-n03.md", "moved\n")]));
    drafts.push(draft(vec![put("tasks/AOF-aaa.md", "twice\n")]));
    let prepared = repository.prepare_batch(&repository.head().unwrap(), &drafts).unwrap();
    let mut last = std::collections::BTreeMap::new();
    for change in drafts.into_iter().flat_map(|draft| draft.changes) {
        last.insert(change.path.clone(), change);
    }
    last.remove("tasks/AOF-n03.md");
    write_and_publish(&test, &repository, &last.into_values().collect::<Vec<_>>(), &prepared)
        .unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["rev-list", "--count", "HEAD"]).trim(), "24");
    assert_eq!(prepared.commits().count(), 23);
    assert_eq!(test.git(&["reflog", "main"]).lines().count(), 24);
    assert_eq!(test.git(&["show", "--format=", "--name-status", "HEAD~1"]).lines().count(), 2);
    let packs: Vec<_> = std::fs::read_dir(test.path(".git/objects/pack")).unwrap().collect();
    assert_eq!(packs.len(), 2);
    test.git(&["gc", "-q", "--prune=now"]);
    test.assert_clean();
    assert_eq!(repository.read(prepared.last(), "tasks/AOF-aaa.md").unwrap().unwrap(), b"twice\n");
}

#[test]
fn a_project_may_be_a_folder_of_the_repository() {
    let test = TestRepository::with_tasks();
    test.write("apps/web/project.yaml", "project: {}\n");
    test.git(&["add", "."]);
    test.git(&["commit", "-qm", "project"]);
    let repository = Repository::discover(&test.path("apps/web")).unwrap();
    assert_eq!(repository.prefix(), "apps/web");
    assert_eq!(repository.worktree_root(), test.root().canonicalize().unwrap());
    let published = commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "web\n")]).unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["show", "--format=", "--name-status"]), "A\tapps/web/tasks/AOF-aaa.md\n");
    assert_eq!(repository.read(published.commit, "tasks/AOF-aaa.md").unwrap().unwrap(), b"web\n");
    assert_eq!(repository.read(published.commit, "tasks/AOF-bbb.md").unwrap(), None);
    let listed: Vec<_> =
        repository.list(published.commit, "").unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(listed, ["project.yaml", "tasks/AOF-aaa.md"]);
    let id = repository.blob_id(published.commit, "tasks/AOF-aaa.md").unwrap();
    assert_eq!(id, Some(repository.hash_blob(b"web\n")));
}

#[test]
fn linked_worktrees_have_a_branch_and_an_index_of_their_own() {
    let test = TestRepository::with_tasks();
    let linked = test.beside("linked");
    test.git(&["worktree", "add", "-q", "-b", "side/tasks", linked.to_str().unwrap()]);
    let repository = Repository::discover(&linked).unwrap();
    assert_eq!(repository.head().unwrap().branch(), "side/tasks");
    let change = put("tasks/AOF-aaa.md", "side\n");
    let prepared = repository.prepare(&repository.head().unwrap(), &draft(vec![change])).unwrap();
    std::fs::write(linked.join("tasks/AOF-aaa.md"), "side\n").unwrap();
    publish(&repository, &prepared, soon(), &mut no_intent, &mut Vec::new).unwrap();
    assert_eq!(test.git_in(&linked, &["status", "--porcelain"]), "");
    assert_eq!(
        test.git_in(&linked, &["reflog", "HEAD", "-1", "--format=%h"]),
        test.git(&["rev-parse", "--short", "side/tasks"])
    );
    test.assert_clean();
    assert_eq!(test.git(&["log", "--format=%s", "main"]), "start\n");
}

#[test]
fn packed_branches_can_be_moved() {
    let test = TestRepository::with_tasks();
    test.git(&["checkout", "-q", "-b", "feature/deep/one"]);
    test.git(&["pack-refs", "--all", "--prune"]);
    let repository = test.open();
    let published = commit(&test, &repository, vec![put("tasks/AOF-aaa.md", "packed\n")]).unwrap();
    test.assert_clean();
    assert_eq!(test.git(&["rev-parse", "feature/deep/one"]).trim(), published.commit.to_string());
}

#[test]
fn the_mode_of_a_file_stays() {
    let test = TestRepository::with_tasks();
    test.git(&["update-index", "--chmod=+x", "tasks/AOF-aaa.md"]);
    test.git(&["config", "core.fileMode", "false"]);
    test.git(&["commit", "-qm", "executable"]);
    commit(&test, &test.open(), vec![put("tasks/AOF-aaa.md", "still\n")]).unwrap();
    assert!(test.git(&["ls-tree", "HEAD", "tasks/AOF-aaa.md"]).starts_with("100755"));
    test.assert_clean();
}

#[test]
fn line_endings_settings_leave_no_file_dirty() {
    let path = "tasks/AOF-aaa.md";
    let attributes = [
        "",
        "* text=auto",
        "* text=auto eol=crlf",
        "*.md text",
        "*.md eol=crlf",
        "*.md -text",
        "*.md crlf=input",
    ];
    let contents = [
        "a\nb\n",
        "a\r\nb\r\n",
        "a\r\nb\n",
        "a\n",
        "a\rb\r\n",
        "a\0b\r\n",
        "\u{1}\u{2}\r\n",
        "a\r\n\u{1a}",
    ];
    let settings = [("true", ""), ("true", "*.md -text"), ("input", ""), ("input", "* text=auto")];
    let cases = attributes.map(|attributes| ("false", attributes)).into_iter().chain(settings);
    for (setting, attributes) in cases {
        for before in ["before\n", "before\r\n"] {
            let test = TestRepository::with_tasks();
            test.write(path, before);
            test.write(".gitattributes", &format!("{attributes}\n"));
            // The blob is added unconverted; git converts it later.
            test.git(&["update-index", "--add", ".gitattributes"]);
            let blob = test.open().git().blob(before.as_bytes()).unwrap().to_string();
            test.git(&["update-index", "--cacheinfo", &format!("100644,{blob},{path}")]);
            test.git(&["commit", "-qm", "as it was"]);
            test.git(&["config", "core.autocrlf", setting]);
            let base = test.git(&["rev-parse", "HEAD"]);
            for content in contents {
                // The blob that git itself makes of the content.
                test.git(&["reset", "-q", "--hard", base.trim()]);
                test.write(path, content);
                test.git(&["add", path]);
                let by_git = test.git(&["rev-parse", &format!(":{path}")]);
                test.git(&["reset", "-q", "--hard"]);
                let repository = test.open();
                let case =
                    format!("autocrlf={setting}, {attributes:?}, {content:?} after {before:?}");
                match commit(&test, &repository, vec![put(path, content)]) {
                    Ok(published) => {
                        let blob = repository.blob_id(published.commit, path).unwrap().unwrap();
                        assert_eq!(blob, repository.hash_blob(content.as_bytes()), "{case}");
                        assert_eq!(blob.to_string(), by_git.trim(), "{case}");
                    }
                    Err(GitError::Unchanged) => {
                        assert_eq!(
                            test.git(&["rev-parse", &format!("HEAD:{path}")]),
                            by_git,
                            "{case}"
                        );
                        continue;
                    }
                    // Git would commit other bytes, or might.
                    Err(GitError::Converted { .. }) if content.contains("\r\n") => continue,
                    Err(error) => panic!("{case}: {error}"),
                }
                let file = std::fs::File::open(test.path(path)).unwrap();
                file.set_modified(std::time::SystemTime::now()).unwrap();
                assert_eq!(test.status(), "", "{case}");
            }
        }
    }
}

#[test]
fn a_repository_can_go_to_another_thread() {
    fn goes<T: Send>() {}
    goes::<Repository>();
    goes::<crate::Prepared>();
}

/// A branch in the middle of a move from one commit to the other.
struct Way {
    test: TestRepository,
    from: String,
    to: String,
}

impl Way {
    /// Creates a later commit with these files; the branch, the index and the worktree are at the
    /// earlier one.
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

    fn finished(&self, patience: Duration) -> CheckoutRecovery {
        let id = |text: &str| text.parse::<CommitId>().unwrap();
        let file = LockFile { temp: String::new(), device: 0, inode: 0, born: None };
        let was = BranchLock {
            reference: "refs/heads/main".to_owned(),
            from: Some(id(&self.from)),
            to: id(&self.to),
            file,
        };
        let deadline = Instant::now() + Duration::from_secs(5);
        self.test
            .open()
            .recover_fast_forward(&was, deadline, patience, &mut |_| Ok(Vec::new()))
            .unwrap()
    }

    fn head(&self) -> String {
        self.test.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }
}

#[test]
fn withheld_files_are_reverted_by_any_record() {
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
fn a_checkout_to_a_swept_commit_is_not_finished() {
    let way = Way::to(&[("src/x.txt", "theirs\n")]);
    let swept = Way { to: "1234567890123456789012345678901234567890".to_owned(), ..way };
    assert_eq!(swept.finish(), []);
    assert_eq!(swept.head(), swept.from);
    swept.test.assert_clean();
    // The same move, recorded for a branch that no longer exists.
    let (from, to) = (swept.to, swept.from);
    let swept = Way { from, to, test: swept.test };
    swept.test.write("src/x.txt", "mine\n");
    let CheckoutRecovery { unsettled, failed } = swept.finished(Duration::from_mins(2));
    assert_eq!(unsettled, []);
    assert!(failed.is_some_and(|why| why.contains("no longer has the commit `1234567890")));
    assert_eq!(swept.head(), swept.to);
    assert_eq!(fs::read_to_string(swept.test.path("src/x.txt")).unwrap(), "mine\n");
}

#[test]
fn the_reason_why_all_goes_back_is_reported() {
    let way = Way::to(&[("src/x.txt", "theirs\n"), ("src/y.bin", "theirs\n")]);
    way.test.write("src/x.txt", "theirs\n");
    fs::write(way.test.path(".git/info/attributes"), "*.bin filter=f\n").unwrap();
    way.test.git(&["config", "filter.f.smudge", "echo 'no room left' >&2; false"]);
    way.test.git(&["config", "filter.f.required", "true"]);
    let CheckoutRecovery { unsettled, failed } = way.finished(Duration::from_mins(2));
    assert_eq!(unsettled, []);
    assert!(failed.as_ref().is_some_and(|why| why.contains("no room left")), "{failed:?}");
    assert_eq!(
        (way.head(), fs::read_to_string(way.test.path("src/x.txt")).unwrap()),
        (way.from.clone(), "x\n".to_owned())
    );
    way.test.git(&["config", "filter.f.smudge", "cat"]);
    assert_eq!(way.finished(Duration::from_mins(2)), CheckoutRecovery::default());
    assert_eq!(way.head(), way.to);
}

#[test]
fn entries_of_head_are_found_under_any_folder_name() {
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

/// A file whose time is set back is changed all the same.
#[test]
fn an_edit_like_a_received_change_belongs_to_its_author() {
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

/// Stored files are restored; files that a filter would need to write are reported.
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
