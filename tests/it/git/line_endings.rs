//! Files that git would commit with other bytes than stand in the worktree: their tasks are refused, and no others.

use crate::support::environment::TestEnvironment;

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
}

/// Has git look at the files below a folder again: else it goes by when they were written.
fn touch(env: &TestEnvironment, folder: &str) {
    for file in env.files(folder) {
        let file = std::fs::File::open(env.path(&file)).unwrap();
        file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    }
}

#[test]
fn a_task_is_refused_only_if_git_would_change_its_bytes() {
    for (line, by, fix) in [
        ("", "core.autocrlf", "-text"),
        ("* text=auto eol=crlf", "text", "-text"),
        ("*.md eol=crlf\n*.yaml eol=crlf", "eol", "-text"),
    ] {
        let (env, id) = converted(line);
        let head = env.head();
        let _ = env.aof(&["status"]).success();
        let _ = env.aof(&["watch", "--once"]).success();
        assert_eq!(env.head(), head, "{line:?}: {}", env.log());
        let path = env.task_path(&id);
        // A transition writes what is committed, with LF; an edit with CRLF is refused.
        env.edit(&path, "title: Add login", "title: Add logins");
        let refused = env.say(&id, "agent-7", "complete", &[]).code(5);
        let output = format!("would change the bytes of `tasks/AOF-xxxxx.md` in a commit (`{by}`)");
        assert!(refused.stderr.contains(&output), "{line:?}: {refused}");
        assert!(refused.stderr.contains(&format!("`tasks/** {fix}`")), "{line:?}: {refused}");
        let _ = env.aof(&["task", "new", "Another"]).success();
        // As the message says.
        env.write(".gitattributes", format!("{line}\n{LINE}tasks/**/*.md -text\n"));
        env.write(&path, env.read(&path).replace("\r\n", "\n"));
        env.git(&["commit", "-q", "-m", "attributes", ".gitattributes"]);
        let _ = env.complete(&id, "agent-7").success();
        let _ = env.aof(&["verify"]).success();
        touch(&env, "tasks");
        assert_eq!(env.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn a_task_with_a_filter_is_refused() {
    let env = TestEnvironment::new();
    let (id, other) = (env.new_task(&["Add login"]), env.new_task(&["Another"]));
    for (attribute, by) in [
        ("filter=far", "filter"),
        ("ident", "ident"),
        ("working-tree-encoding=UTF-16", "working-tree-encoding"),
    ] {
        env.write(".gitattributes", format!("tasks/{id}.md {attribute}\n"));
        let refused = env.say(&id, "agent-7", "complete", &[]).code(5);
        assert!(refused.stderr.contains(&format!("(`{by}`)")), "{refused}");
        assert!(refused.stderr.contains(&format!("`tasks/** -{by}`")), "{refused}");
    }
    let _ = env.complete(&other, "agent-7").success();
    env.write(".gitattributes", "");
    let _ = env.complete(&id, "agent-7").success();
}

/// Adds the advised line to the advised file, and returns both.
fn follow(env: &TestEnvironment, output: &str) -> (String, String) {
    let after =
        |word: &str| output.split_once(word).unwrap().1.split('`').next().unwrap().to_owned();
    let top = env.home().with_file_name("project").display().to_string();
    let (line, file) =
        (after("add the line `"), after("at the end of `").replace("$PROJECT", &top));
    let before = std::fs::read_to_string(env.path(&file)).unwrap_or_default();
    env.write(&file, format!("{before}{line}\n"));
    if !file.contains(".git/") {
        env.git(&["add", &file]);
        env.git(&["commit", "-qm", "attributes"]);
    }
    (line, file)
}

#[test]
fn one_advised_line_is_enough_for_each_new_task() {
    let in_subfolder = || {
        let mut env = TestEnvironment::without_rules();
        env.write("sub/project.yaml", crate::support::environment::PROJECT);
        env.write("sub/org.yaml", crate::support::environment::ORG);
        env.commit_all("rules");
        env.enter("sub");
        env
    };
    let sharded = || {
        let project =
            format!("tasks: {{layout: sharded}}\n{}", crate::support::environment::PROJECT);
        TestEnvironment::with_rules(&project, crate::support::environment::ORG)
    };
    let scenes: [(TestEnvironment, &str, &str, &str); 6] = [
        (
            TestEnvironment::new(),
            ".gitattributes",
            "* filter=far\n.gitattributes -filter\n",
            "tasks/**",
        ),
        (TestEnvironment::new(), "tasks/.gitattributes", "*.md ident\n", "*"),
        (TestEnvironment::new(), ".git/info/attributes", "* filter=far\n", "tasks/**"),
        (sharded(), ".gitattributes", "*.md working-tree-encoding=UTF-16\n", "tasks/**"),
        (in_subfolder(), "../.gitattributes", "*.md filter=far\n", "tasks/**"),
        (in_subfolder(), "../.git/info/attributes", "*.md ident\n", "sub/tasks/**"),
    ];
    for (env, file, attributes, pattern) in scenes {
        env.write(file, attributes);
        if !file.contains(".git/") {
            env.git(&["add", file]);
            env.git(&["commit", "-qm", "attributes"]);
        }
        let refused = env.aof(&["new", "A"]).code(5);
        let (line, _) = follow(&env, &refused.stderr);
        assert!(line.starts_with(&format!("{pattern} -")), "{file}: {refused}");
        let (first, second) = (env.new_task(&["A"]), env.new_task(&["B"]));
        // The archive is covered too.
        for id in [&first, &second] {
            let _ = env.aof(&["cancel", id, "--reason", "x"]).success();
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
fn doctor_has_git_keep_line_ends_from_then_on() {
    let (env, id) = converted("");
    let found = env.aof(&["doctor"]).stdout;
    assert!(found.contains("[line_endings]"), "{found}");
    let fixed = env.aof(&["doctor", "--fix"]).success().stdout;
    assert!(fixed.contains("[line_endings]"), "{fixed}");
    assert!(env.git(&["show", "HEAD:.gitattributes"]).contains(" -text\n"));
    let found = env.aof(&["doctor"]).success().stdout;
    assert!(!found.contains("line_endings"), "{found}");
    // Line ends alone are no edit, and the next transition writes the file as it was committed.
    let head = env.head();
    let _ = env.aof(&["watch", "--once"]).success();
    assert_eq!(env.head(), head);
    let _ = env.complete(&id, "agent-7").success();
    assert_eq!(env.git(&["rev-parse", "HEAD~"]).trim(), head);
    assert!(!env.git(&["show"]).contains('\r') && !env.task_text(&id).contains('\r'));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_file_committed_with_crlf_keeps_it() {
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
