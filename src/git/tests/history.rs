use super::environment::{TestRepository, commit, put};
use crate::git::{ChangedFile, Repository};

fn subjects(log: crate::git::log::walk::Log<'_>) -> Vec<String> {
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
fn merges_are_followed_to_where_a_file_came_from() {
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
fn changes_are_what_git_says() {
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
        let id = |id: Option<crate::git::ObjectId>| id.map_or(none.clone(), |id| id.to_string());
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
fn what_came_to_a_branch_is_known_as_far_as_history_goes() {
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
    let led = |commit, later| repository.led_to(commit, later).unwrap();
    assert!(led(two, side) && led(side, side) && !led(three, side) && !led(side, two));
    env.git_in(&env.root(), &["clone", "--quiet", "--depth", "1", "--no-local", ".", "../cut"]);
    let cut = Repository::discover(&env.beside("cut")).unwrap();
    assert_eq!(cut.added_since(two, side).unwrap(), None);
    assert_eq!(cut.newest_common(side, [one]).unwrap(), None);
}
