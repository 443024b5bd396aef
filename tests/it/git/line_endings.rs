//! Where git converts line ends, what it calls unmodified is no edit, and a transition is committed as git would commit it.

use crate::support::clones::Clones;
use crate::support::environment::LAYOUTS;
use crate::support::environment::{PROJECT, TestEnvironment};

const LINE: &str = "tasks/**/*.md merge=aof\n";

/// A project whose files git has checked out with CRLF, and a task.
fn converted(by: &str) -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    env.write(".gitattributes", LINE);
    env.commit_all("as it was written before");
    let id = env.new_task(&["Add login"]);
    match by {
        "" => env.git(&["config", "core.autocrlf", "true"]),
        line => {
            env.write(".gitattributes", format!("{line}\n{LINE}"));
            env.git(&["commit", "-qam", "attributes"])
        }
    };
    check_out_again(&env);
    assert!(env.task_text(&id).contains("\r\n") && env.read("project.yaml").contains("\r\n"));
    (env, id)
}

fn check_out_again(env: &TestEnvironment) {
    env.git(&["rm", "-q", "--cached", "-r", "."]);
    env.git(&["reset", "-q", "--hard"]);
    is_clean(env);
}

/// Has git look at the files below a folder again: else it goes by when they were written.
fn touch(env: &TestEnvironment, folder: &str) {
    for file in env.files(folder) {
        let file = std::fs::File::open(env.path(&file)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
}

/// Expects that git says so, having looked at the files again.
#[track_caller]
fn is_clean(env: &TestEnvironment) {
    touch(env, "tasks");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

/// Returns how many lines the last commit changed.
fn changed_lines(env: &TestEnvironment) -> usize {
    let diff = env.git(&["show", "--format=", "--unified=0", "HEAD"]);
    assert!(!diff.contains('\r'), "{diff}");
    diff.lines()
        .filter(|line| {
            line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---")
        })
        .count()
}

#[test]
fn what_git_calls_unmodified_is_no_edit() {
    for by in ["", "* text=auto eol=crlf", "*.md text eol=crlf\n*.yaml eol=crlf"] {
        let (env, id) = converted(by);
        let before = env.head();
        let status = env.aof(&["status"]).success().stdout;
        assert!(
            !status.contains("not committed") && !status.contains("differ"),
            "{by:?}: {status}"
        );
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(env.head(), before, "{by:?}: {}", env.log());
        // A transition is that transition, and the file keeps its line ends.
        let _ = env.complete(&id, "agent-7").success();
        assert_eq!(env.git(&["rev-parse", "HEAD~"]).trim(), before.trim(), "{by:?}: {}", env.log());
        assert!(changed_lines(&env) < 30, "{by:?}");
        let text = env.task_text(&id);
        assert_eq!(text.matches('\n').count(), text.matches("\r\n").count(), "{by:?}");
        is_clean(&env);
        // An edit is that edit.
        let path = env.task_path(&id);
        env.edit(&path, "title: Add login", "title: Add logins");
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(changed_lines(&env), 2, "{by:?}: {}", env.git(&["show"]));
        assert!(env.task_text(&id).contains("title: Add logins\r\n"));
        is_clean(&env);
        // To the end, into the archive.
        let _ = env.complete(&id, "agent-3").success();
        assert!(env.task_path(&id).starts_with("tasks/archive/"), "{by:?}");
        assert!(env.task_text(&id).contains("\r\n"));
        is_clean(&env);
        let _ = env.aof(&["task", "new", "Another"]).success();
        is_clean(&env);
        let _ = env.aof(&["verify"]).success();
    }
}

#[test]
fn an_index_that_only_git_reads_keeps_no_line_end_from_anything() {
    for layout in LAYOUTS {
        for by in ["", "*.md text eol=crlf\n*.log text eol=crlf\n*.yaml eol=crlf"] {
            let (env, id) = converted(by);
            env.write("src/main.rs", "fn main() {}\n");
            env.commit_all("code");
            env.git(layout);
            let _ = env.complete(&id, "agent-7").success();
            assert!(changed_lines(&env) < 30, "{layout:?}, {by:?}");
            assert!(env.task_text(&id).contains("\r\n"));
            // From the inbox, with a file beside that goes along.
            env.write(&format!("tasks/{id}.log"), "one\r\ntwo\r\n");
            let other = env.new_task(&["Another", "--body", "one\r\ntwo"]);
            for (task, agent) in [(&id, "agent-3"), (&other, "agent-7")] {
                let said = format!(
                    "task: {task}\r\nagent: {agent}\r\noutcome: complete\r\nsummary: Done\r\n"
                );
                env.write(&format!(".aof/inbox/{task}.yaml"), said);
                let file =
                    std::fs::File::open(env.path(&format!(".aof/inbox/{task}.yaml"))).unwrap();
                file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            }
            let _ = env.aof(&["watch", "--once"]).success();
            let archived = env.task_path(&id);
            assert!(archived.starts_with("tasks/archive/"), "{layout:?}, {by:?}: {archived}");
            assert_eq!(env.read(&archived.replace(".md", ".log")), "one\r\ntwo\r\n");
            is_clean(&env);
            let _ = env.aof(&["verify"]).success();
        }
    }
}

#[test]
fn the_line_of_a_new_project_keeps_line_ends() {
    let env = TestEnvironment::without_rules();
    env.git(&["config", "core.autocrlf", "true"]);
    let _ = env.aof(&["init"]).success();
    assert_eq!(env.read(".gitattributes"), "tasks/**/*.md merge=aof -text\n");
    check_out_again(&env);
    assert!(env.read("project.yaml").contains("\r\n"));
    for file in env.files("tasks") {
        assert!(!env.read(&file).contains('\r'), "{file}");
    }
    let before = env.head();
    let status = env.aof(&["status"]).success().stdout;
    assert!(!status.contains("differ"), "{status}");
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.head(), before);
    let _ = env.aof(&["doctor"]).success();
}

#[test]
fn doctor_has_a_converted_project_kept_as_committed() {
    let (env, id) = converted("");
    let clone = env.home().join("clone");
    let clone = clone.to_str().unwrap();
    env.git(&["clone", "-q", "-c", "core.autocrlf=true", ".", clone]);
    let found = env.aof(&["doctor"]).stdout;
    assert!(found.contains("[line_endings]"), "{found}");
    let fixed = env.aof(&["doctor", "--fix"]).success().stdout;
    assert!(fixed.contains("[line_endings]"), "{fixed}");
    assert!(env.git(&["show", "HEAD:.gitattributes"]).contains(" -text\n"));
    assert!(!env.task_text(&id).contains('\r') && env.read(".gitattributes").contains("\r\n"));
    is_clean(&env);
    let found = env.aof(&["doctor"]).success().stdout;
    assert!(!found.contains("line_endings"), "{found}");
    // Another clone has files as they were converted before.
    env.git(&["-C", clone, "pull", "-q"]);
    let path = env.task_path(&id);
    let file = format!("{clone}/{path}");
    assert!(std::fs::read_to_string(&file).unwrap().contains("\r\n"));
    let there = |args: &[&str]| env.aof(&[&["-C", clone], args].concat());
    let head = || env.git(&["-C", clone, "rev-parse", "HEAD"]);
    let before = head();
    let status = there(&["status"]).success().stdout;
    assert!(!status.contains("not committed"), "{status}");
    let _ = there(&["watch", "--once"]).success();
    assert_eq!(head(), before);
    assert!(there(&["doctor"]).stdout.contains("[line_endings]"));
    let _ = there(&["task", "complete", &id, "--agent", "agent-7", "-o", "complete", "-s", "done"])
        .success();
    assert_eq!(env.git(&["-C", clone, "rev-parse", "HEAD~"]), before);
    assert!(!env.git(&["-C", clone, "show"]).contains('\r'));
    assert!(!std::fs::read_to_string(&file).unwrap().contains('\r'));
    assert_eq!(env.git(&["-C", clone, "status", "--porcelain"]), "");
    let _ = there(&["verify"]).success();
}

/// A project as of before `-text`, with two tasks; in the clone `b` git has converted its files.
fn apart() -> (Clones, [String; 2]) {
    let clones = Clones::new(PROJECT, &[]);
    clones.env.write(".gitattributes", LINE);
    clones.env.commit_all("as it was written before");
    let ids = ["One", "Two"].map(|title| clones.env.new_task(&[title]));
    clones.does(".", &["sync"]);
    clones.env.git(&["clone", "-q", "-c", "core.autocrlf=true", "../hub.git", "../b"]);
    assert!(in_b(&clones, &ids[0]).contains("\r\n"));
    (clones, ids)
}

fn in_b(clones: &Clones, id: &str) -> String {
    clones.env.read(&format!("../b/{}", clones.env.task_path(id)))
}

/// Has the first clone bring the project up to date, and send that.
fn migrates(clones: &Clones) {
    clones.does(".", &["doctor", "--fix"]);
    clones.does(".", &["sync"]);
}

/// Has git alone bring that to the other clone.
fn pulls(clones: &Clones) {
    clones.git("b", &["pull", "--quiet"]);
    touch(&clones.env, "../b/tasks");
}

#[test]
fn a_sync_that_brings_the_line_has_files_written_as_committed() {
    let (clones, [one, two]) = apart();
    migrates(&clones);
    clones.does("b", &["sync"]);
    assert!(!in_b(&clones, &one).contains('\r') && !in_b(&clones, &two).contains('\r'));
    assert_eq!(clones.status("b"), "");
    clones.completes(".", &one, "agent-1");
    clones.does(".", &["sync"]);
    clones.does("b", &["sync"]);
    assert_eq!((clones.head("b"), clones.status("b")), (clones.head("."), String::new()));
}

#[test]
fn what_git_had_converted_is_in_no_way_of_a_sync() {
    // By itself, and where this side went on as well.
    for both in [false, true] {
        let (clones, [one, two]) = apart();
        migrates(&clones);
        pulls(&clones);
        clones.completes(".", &one, "agent-1");
        clones.does(".", &["sync"]);
        if both {
            clones.completes("b", &two, "agent-2");
        }
        assert!(clones.status("b").contains(&one));
        clones.does("b", &["sync", "--dry-run"]);
        assert!(in_b(&clones, &one).contains('\r'));
        clones.does("b", &["sync"]);
        clones.does(".", &["sync"]);
        assert_eq!(
            (clones.head("b"), clones.status("b")),
            (clones.head("."), String::new()),
            "{both}"
        );
        assert!(!in_b(&clones, &one).contains('\r') && in_b(&clones, &one).contains("agent-1"));
        clones.does("b", &["verify"]);
    }
}

#[test]
fn what_somebody_edited_or_staged_stays_in_the_way_of_a_sync() {
    let (clones, [one, two]) = apart();
    migrates(&clones);
    pulls(&clones);
    for id in [&one, &two] {
        clones.completes(".", id, "agent-1");
    }
    clones.does(".", &["sync"]);
    let edited = in_b(&clones, &one).replace("title: One", "title: Ones");
    clones.env.write(&format!("../b/tasks/{one}.md"), &edited);
    clones.git("b", &["add", &format!("tasks/{two}.md")]);
    let head = clones.head("b");
    for args in [&["sync", "--dry-run"][..], &["sync"]] {
        let stopped = clones.aof("b", args).code(5);
        assert_eq!(stopped.stdout.matches("`tasks/AOF-").count(), 2, "{stopped}");
        assert_eq!((in_b(&clones, &one), clones.head("b")), (edited.clone(), head.clone()));
    }
}

#[test]
fn an_edit_of_a_file_that_git_had_converted_is_that_edit() {
    let (clones, [one, two]) = apart();
    migrates(&clones);
    pulls(&clones);
    let lines = || clones.git("b", &["show", "--format=", "--numstat", "HEAD"]);
    let edited = in_b(&clones, &one).replace("title: One", "title: Ones");
    clones.env.write(&format!("../b/tasks/{one}.md"), edited);
    clones.does("b", &["watch", "--once"]);
    assert_eq!(lines(), format!("1\t1\ttasks/{one}.md\n"));
    // With lines that end otherwise, and together with a completion.
    let edited = in_b(&clones, &two) + "More of it.\n";
    clones.env.write(&format!("../b/tasks/{two}.md"), edited);
    clones.completes("b", &two, "agent-1");
    let log = clones.git("b", &["log", "-1", "--format=%s", "HEAD~"]);
    assert!(log.contains("edited by hand"), "{log}");
    assert!(!clones.git("b", &["log", "-p", "-3"]).contains('\r'));
    assert!(in_b(&clones, &two).contains("More of it.\n") && !in_b(&clones, &two).contains('\r'));
    assert_eq!(clones.status("b"), "");
    clones.does("b", &["verify"]);
}

#[test]
fn what_was_committed_with_crlf_keeps_it() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    env.write(&path, env.read(&path).replace('\n', "\r\n"));
    env.commit_all("as Windows has it");
    env.edit(&path, "title: Add login", "title: Add logins");
    let _ = env.aof(&["watch", "--once"]).success();
    let text = env.read(&path);
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert_eq!(env.git(&["show", "--format=", "--numstat", "HEAD"]), format!("1\t1\t{path}\n"));
}
