//! Where git converts line ends, what it calls unmodified is no edit, and a transition is committed as git would commit it.

use crate::environment::TestEnvironment;

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

/// Expects that git says so, having looked at the files again.
#[track_caller]
fn is_clean(env: &TestEnvironment) {
    for file in env.files("tasks") {
        let file = std::fs::File::open(env.path(&file)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

/// Returns how many lines the last commit changed.
fn changed_lines(env: &TestEnvironment) -> usize {
    let diff = env.git(&["show", "--format=", "--unified=0", "HEAD"]);
    assert!(!diff.contains('\r'), "{diff}");
    diff.lines()
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---"))
        .count()
}

#[test]
fn what_git_calls_unmodified_is_no_edit() {
    for by in ["", "* text=auto eol=crlf", "*.md text eol=crlf\n*.yaml eol=crlf"] {
        let (env, id) = converted(by);
        let before = env.head();
        let status = env.aof(&["status"]).success().stdout;
        assert!(!status.contains("not committed") && !status.contains("differ"), "{by:?}: {status}");
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
    let _ = there(&["task", "complete", &id, "--agent", "agent-7", "-o", "complete", "-s", "done"]).success();
    assert_eq!(env.git(&["-C", clone, "rev-parse", "HEAD~"]), before);
    assert!(!env.git(&["-C", clone, "show"]).contains('\r'));
    assert!(!std::fs::read_to_string(&file).unwrap().contains('\r'));
    assert_eq!(env.git(&["-C", clone, "status", "--porcelain"]), "");
    let _ = there(&["verify"]).success();
}
