//! A task that is finished moves to the archive: what goes with it, what stays, and what is in the way there.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use insta::{allow_duplicates, assert_snapshot};
use serde_json::Value;

use crate::support::checker::check;
use crate::support::environment::LAYOUTS;
use crate::support::environment::executable;
use crate::support::environment::{TestEnvironment, eventually};

/// A task that the next completion finishes, and where its file goes then.
fn last_gate(env: &TestEnvironment) -> (String, String) {
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    let place = format!("tasks/archive/2026/02/16/{id}.md");
    (id, place)
}

#[test]
fn a_person_s_file_at_the_archive_path_stays() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    env.write(&place, "My notes\n");
    let head = env.head();
    let refused = env.say(&id, "agent-3", "complete", &[]).code(1);
    assert!(refused.stderr.contains(&env.plain(&place)), "{refused}");
    // Nobody has chosen a name.
    let hint =
        format!("hint: move `$PROJECT/{}` away, then run the command again", env.plain(&place));
    assert!(refused.stderr.contains(&hint), "{refused}");
    assert_eq!((env.read(&place), env.head()), ("My notes\n".to_owned(), head));
    fs::remove_file(env.path(&place)).unwrap();
    let _ = env.complete(&id, "agent-3");
    assert!(env.read(&place).contains("status: complete"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_person_s_file_at_a_companion_s_path_stays() {
    for theirs in ["My notes\n", "the log\n"] {
        let env = TestEnvironment::new();
        let (id, place) = last_gate(&env);
        let (here, there) = (format!("tasks/{id}.log"), place.replace(".md", ".log"));
        env.write(&here, "the log\n");
        env.commit_all("log");
        env.write(&there, theirs);
        let head = env.head();
        let refused = env.say(&id, "agent-3", "complete", &[]).code(1);
        assert!(refused.stderr.contains(&env.plain(&there)), "{refused}");
        assert_eq!(
            (env.read(&there), env.read(&here), env.head()),
            (theirs.to_owned(), "the log\n".to_owned(), head)
        );
        assert!(!env.exists(&place) && env.task_text(&id).contains("status: ready"));
    }
}

#[test]
fn ignored_and_large_companions_stay() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    env.write(".gitignore", "*.log\n");
    env.commit_all("ignore");
    env.write(&format!("tasks/{id}.log"), "not for git\n");
    env.write(&format!("tasks/{id}.mp4"), vec![b'x'; 17 * 1024 * 1024]);
    env.write(&format!("tasks/{id}.plan.md"), "the plan\n");
    let answer = env.say(&id, "agent-3", "complete", &["--json"]).success().json();
    let stays = &answer["warnings"][0];
    assert_eq!(
        (&stays["warning"], &stays["ignored"][0]),
        (&"companions_stay".into(), &"tasks/AOF-xxxxx.log".into())
    );
    assert_eq!(stays["tooLarge"][0], "tasks/AOF-xxxxx.mp4");
    assert_snapshot!(stays["message"].as_str().unwrap(), @"the task has moved without `tasks/AOF-xxxxx.log` (which git ignores) and `tasks/AOF-xxxxx.mp4` (too large to be committed): move or remove that yourself");
    assert_eq!(
        env.files("tasks"),
        [
            format!("tasks/{id}.log"),
            format!("tasks/{id}.mp4"),
            place.clone(),
            place.replace(".md", ".plan.md")
        ]
    );
    assert_eq!(env.git(&["status", "--porcelain"]), format!("?? tasks/{id}.mp4\n"));
}

#[test]
fn a_companion_that_stayed_is_named_until_it_is_moved() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]).success();
    let (id, place) = last_gate(&env);
    env.write(".gitattributes", env.read(".gitattributes") + "*.plan.md filter=up\n");
    for name in ["log", "plan.md", "txt"] {
        env.write(&format!("tasks/{id}.{name}"), "beside\n");
    }
    env.write(".gitignore", "*.log\n");
    env.commit_all("beside");
    let printed = || {
        let status = env.aof(&["--json", "status"]).success().json();
        let of = |list: &Value| {
            list.as_array().unwrap().iter().find(|one| one["code"] == "companions_stayed").cloned()
        };
        let doctor = env.aof(&["--json", "doctor"]).success().json();
        (of(&status["attention"]), of(&doctor["complaints"]))
    };
    assert_eq!(printed(), (None, None));
    let _ = env.complete(&id, "agent-3");
    let moves = ["log", "plan.md"]
        .map(|name| (format!("tasks/{id}.{name}"), place.replace(".md", &format!(".{name}"))));
    for (at, (here, there)) in moves.iter().enumerate() {
        let (Some(point), Some(complaint)) = printed() else { panic!("nothing is told of {here}") };
        // Whatever it is called, it is no task.
        let _ = env.aof(&["task", "list", "--all"]).success();
        assert!(!env.aof(&["status"]).stdout.contains("cannot be read"));
        let left: Vec<String> = moves[at..].iter().map(|(here, _)| env.plain(here)).collect();
        let problem = point["problem"].as_str().unwrap();
        assert!(
            problem.starts_with(&format!("{} file", left.len()))
                && problem.ends_with(&left.join(", ")),
            "{problem}"
        );
        assert_eq!([&complaint["problem"], &complaint["fix"]], [&point["problem"], &point["fix"]]);
        assert_eq!(complaint["weight"], "advice");
        let command = if at == 0 { "mv" } else { "git mv" };
        let fix = point["fix"].as_str().unwrap();
        assert!(fix.contains(&env.plain(&format!("`{command} {here} {there}`"))), "{fix}");
        let mut shell = env.command("sh");
        shell.args(["-c", &format!("{command} {here} {there}")]).current_dir(env.path("."));
        let _ = env.run(shell).success();
    }
    assert_eq!(printed(), (None, None));
    env.commit_all("beside its task");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_list_finds_companions_without_the_archive() {
    let env = TestEnvironment::new();
    let _ = last_gate(&env);
    env.write("tasks/AOF-nobody.plan.md", "the plan\n");
    for args in [&["task", "list"][..], &["task", "list", "--all"], &["sweep"]] {
        let listed = env.aof(args).success();
        assert!(!listed.stderr.contains("AOF-nobody"), "{listed}");
    }
    // Whether it belongs to a finished task takes the archive: these look there.
    let unread = |text: String| text.contains("`tasks/AOF-nobody.plan.md` cannot be read");
    assert!(unread(env.aof(&["status"]).stdout) && unread(env.aof(&["doctor"]).stdout));
}

#[test]
fn a_file_left_by_a_manual_move_is_a_companion() {
    for is_committed in [true, false] {
        let env = TestEnvironment::new();
        let _ = env.aof(&["doctor", "--fix"]);
        let (id, _) = last_gate(&env);
        for name in ["plan.md", "tests.yaml"] {
            env.write(&format!("tasks/{id}.{name}"), "beside\n");
        }
        if is_committed {
            env.commit_all("beside");
        }
        env.write("tasks/sprint/README.md", "This sprint\n");
        fs::rename(env.path(&format!("tasks/{id}.md")), env.path(&format!("tasks/sprint/{id}.md")))
            .unwrap();
        for args in
            [&["task", "list"][..], &["task", "list", "--all"], &["gate", "status"], &["sweep"]]
        {
            let listed = env.aof(args).success();
            assert!(!listed.stderr.contains("plan.md"), "{listed}");
        }
        let watched = env.aof(&["watch", "--once"]).success();
        assert!(!format!("{watched}").contains("plan.md"), "{watched}");
        let output = env.aof(&["status"]).success().stdout;
        let command = if is_committed { "git mv" } else { "mv" };
        for part in [
            format!(
                "2 files stayed behind when their tasks were moved: tasks/{id}.plan.md, tasks/{id}.tests.yaml"
            ),
            format!("`{command} tasks/{id}.plan.md tasks/sprint/{id}.plan.md`"),
        ] {
            assert!(output.contains(&env.plain(&part)), "{part}\n{output}");
        }
        assert!(!output.contains("cannot be read"), "{output}");
        let doctor = env.aof(&["doctor"]).success();
        assert!(doctor.stdout.contains("stayed behind"), "{doctor}");
        for name in ["plan.md", "tests.yaml"] {
            let [from, to] =
                ["tasks", "tasks/sprint"].map(|folder| env.path(&format!("{folder}/{id}.{name}")));
            fs::rename(from, to).unwrap();
        }
        assert!(!env.aof(&["status"]).success().stdout.contains("stayed behind"));
        let _ = env.complete(&id, "agent-3").success();
        assert_eq!(env.files("tasks/archive").len(), 3);
        // People sort what is finished, too, and leave something behind.
        fs::create_dir_all(env.path("tasks/archive/2026-Q1")).unwrap();
        fs::rename(
            env.path(&env.task_path(&id)),
            env.path(&format!("tasks/archive/2026-Q1/{id}.md")),
        )
        .unwrap();
        env.commit_all("sorted");
        let _ = env.aof(&["task", "list", "--all"]).success();
    }
}

#[test]
fn encrypted_and_lfs_companions_stay_as_git_has_them() {
    // By where it stands, by where it would go, and where only git can read its index.
    let cases = [
        (".gitattributes", "*.log filter=up\n", None),
        ("tasks/archive/.gitattributes", "*.log filter=up\n", None),
        (".gitattributes", "*.log working-tree-encoding=UTF-16\n", None),
        (".gitattributes", "*.log ident\n", None),
        (".gitattributes", "*.log filter=up\n", Some(LAYOUTS[0])),
        (".gitattributes", "*.log filter=up\n", Some(LAYOUTS[1])),
        (".gitattributes", "*.log filter=nowhere\n", None),
    ];
    for (file, line, layout) in cases {
        let env = TestEnvironment::new();
        env.git(&["config", "filter.up.clean", "tr a-z A-Z"]);
        env.git(&["config", "filter.up.smudge", "tr A-Z a-z"]);
        let (id, place) = last_gate(&env);
        env.write(file, line);
        env.write(&format!("tasks/{id}.txt"), "the text\n");
        let here = format!("tasks/{id}.log");
        let text: Vec<u8> = if line.contains("encoding") {
            "\u{feff}token".encode_utf16().flat_map(u16::to_be_bytes).collect()
        } else {
            b"token".to_vec()
        };
        env.write(&here, &text);
        env.write("src/main.rs", "fn main() {}\n");
        env.commit_all("log");
        let blob = env.git(&["rev-parse", &format!("HEAD:{here}")]);
        if let Some(layout) = layout {
            env.git(layout);
        }
        let answer = env.say(&id, "agent-3", "complete", &["--json"]).success().json();
        let stays = &answer["warnings"][0];
        assert_eq!(
            (&stays["warning"], &stays["filtered"][0]),
            (&"companions_stay".into(), &"tasks/AOF-xxxxx.log".into())
        );
        let message = stays["message"].as_str().unwrap();
        assert!(
            message.contains("`tasks/AOF-xxxxx.log` (which git changes on the way into a commit: `filter`, `ident` or"),
            "{message}"
        );
        assert_eq!(env.git(&["rev-parse", &format!("HEAD:{here}")]), blob);
        assert!(env.exists(&here) && !env.exists(&place.replace(".md", ".log")), "{file}: {line}");
        assert!(
            env.exists(&place.replace(".md", ".txt")) && !env.exists(&format!("tasks/{id}.txt"))
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{file}: {line}");
    }
}

#[test]
fn attributes_that_change_nothing_keep_nothing_back() {
    for line in [
        "*.log -filter\n",
        "*.log filter\n",
        "*.log -ident\n",
        "*.log working-tree-encoding=utf-8\n",
        "*.png filter=lfs\n",
    ] {
        let env = TestEnvironment::new();
        let (id, place) = last_gate(&env);
        env.write(".gitattributes", line);
        env.write(&format!("tasks/{id}.log"), "the log\n");
        env.commit_all("log");
        let answer = env.say(&id, "agent-3", "complete", &["--json"]).success().json();
        assert_eq!(answer["warnings"], serde_json::json!([]), "{line}: {answer}");
        assert_eq!(env.read(&place.replace(".md", ".log")), "the log\n", "{line}");
        assert_eq!(env.git(&["status", "--porcelain"]), "", "{line}");
    }
}

#[test]
fn an_executable_companion_stays_executable() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    // One is committed, one is not; nor can another be run.
    for name in ["check.sh", "fix.sh", "log"] {
        env.write(&format!("tasks/{id}.{name}"), "#!/bin/sh\n");
    }
    executable(&env.path(&format!("tasks/{id}.check.sh")));
    env.commit_all("check");
    executable(&env.path(&format!("tasks/{id}.fix.sh")));
    env.git(&["commit", "--quiet", "--no-verify", "--all", "--message", "fix"]);
    let there = |name: &str| place.replace(".md", &format!(".{name}"));
    env.write(&format!("tasks/{id}.new.sh"), "#!/bin/sh\n");
    executable(&env.path(&format!("tasks/{id}.new.sh")));
    let _ = env.complete(&id, "agent-3");
    for (name, runs) in
        [("check.sh", true), ("fix.sh", true), ("new.sh", true), ("log", false), ("md", false)]
    {
        let mode = fs::metadata(env.path(&there(name))).unwrap().permissions().mode();
        assert_eq!(mode & 0o111 != 0, runs, "{name}");
        let listed = env.git(&["ls-tree", "HEAD", &there(name)]);
        assert_eq!(listed.starts_with("100755"), runs, "{listed}");
    }
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn without_file_modes_the_committed_mode_counts() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    let here = format!("tasks/{id}.check.sh");
    env.write(&here, "#!/bin/sh\n");
    executable(&env.path(&here));
    env.commit_all("check");
    env.git(&["config", "core.fileMode", "false"]);
    fs::set_permissions(env.path(&here), fs::Permissions::from_mode(0o644)).unwrap();
    let _ = env.complete(&id, "agent-3");
    let listed = env.git(&["ls-tree", "HEAD", &place.replace(".md", ".check.sh")]);
    assert!(listed.starts_with("100755"), "{listed}");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_file_with_a_name_that_ends_like_a_task_is_no_companion() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]).success();
    let (id, place) = last_gate(&env);
    let plan = format!("tasks/{id}.plan.md");
    env.write(&plan, "The plan\n");
    env.commit_all("plan");
    let is_quiet = || {
        for args in [&["status"][..], &["doctor"], &["task", "list", "--all"]] {
            let output = env.aof(args).success();
            assert!(!output.to_string().contains("plan.md"), "{output}");
        }
    };
    is_quiet();
    let _ = env.complete(&id, "agent-3");
    assert!(env.exists(&place.replace(".md", ".plan.md")) && !env.exists(&plan));
    is_quiet();
    let _ = env.aof(&["verify"]).success();
    // Without its task it is nobody's.
    env.write("tasks/AOF-zzz.plan.md", "The plan\n");
    assert!(env.aof(&["status"]).stdout.contains("plan.md` cannot be read"));
}

#[cfg(debug_assertions)]
#[test]
fn a_failed_cleanup_after_the_commit_fails_no_act() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    let pipe = env.path("../pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command =
        env.aof_command(&["task", "complete", &id, "--agent", "agent-3", "--outcome", "complete"]);
    command
        .args(["--summary", "Fine"])
        .env("AOF_WAIT_AT", format!("ops.committed:{}", pipe.display()));
    let before = env.head();
    let child = command
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    eventually("it is committed", || env.head() != before);
    // What is no file cannot be removed as one.
    fs::remove_file(env.path(&format!("tasks/{id}.md"))).unwrap();
    fs::create_dir(env.path(&format!("tasks/{id}.md"))).unwrap();
    let opened = fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let answer = env.finish("task complete", child).success();
    drop(opened);
    assert!(answer.stderr.is_empty(), "{answer}");
    fs::remove_dir(env.path(&format!("tasks/{id}.md"))).unwrap();
    env.new_task(&["Another task"]);
    assert!(env.read(&place).contains("status: complete"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_doctor_finds_a_failed_cleanup() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    let mut command =
        env.aof_command(&["task", "complete", &id, "--agent", "agent-3", "--outcome", "complete"]);
    command.args(["--summary", "Fine"]).env("AOF_STOP_AT", "ops.committed");
    assert_eq!(env.run(command).code, None);
    // Healing that cannot remove the old file either keeps nobody waiting for it, and then nothing tells of it any more.
    fs::write(env.path(".aof/intent"), " ".repeat(4096)).unwrap();
    let left = format!("tasks/{id}.md");
    let output = env.aof(&["doctor"]).code(1);
    assert!(
        output
            .stdout
            .contains("`tasks/AOF-xxxxx.md` is a copy that nobody committed, or was left behind"),
        "{output}"
    );
    let _ = env.aof(&["doctor", "--fix"]);
    let _ = env.aof(&["doctor"]).success();
    assert!(!env.exists(&left));
    assert!(env.read(&place).contains("status: complete"));

    // What a person made of it is theirs.
    env.write(&left, "---\ntitle: Mine\n---\n");
    let output = env.aof(&["doctor", "--fix"]).code(1);
    assert!(output.stdout.contains("see what differs, keep one"), "{output}");
    assert!(env.exists(&left));
}

#[test]
fn a_person_s_companion_is_committed_as_theirs_before_the_task_ends() {
    for staged in [false, true] {
        let env = TestEnvironment::new();
        let (id, place) = last_gate(&env);
        let beside = |name: &str| format!("tasks/{id}.{name}");
        for name in ["plan.md", "log"] {
            env.write(&beside(name), "as it was\n");
        }
        env.commit_all("beside");
        env.write(&beside("plan.md"), "as it was\nAda's own thought\n");
        env.write(&beside("txt"), "new\n");
        env.edit(&env.task_path(&id), "title: Add login", "title: Add a login");
        if staged {
            env.git(&["add", &beside("plan.md")]);
        }
        let _ = env.say(&id, "agent-3", "complete", &["--dry-run"]).success();
        let _ = env.complete(&id, "agent-3");
        let log =
            env.git_plain(&["log", "-3", "--format=%an: %s", "--name-status", "--no-renames"]);
        allow_duplicates!(assert_snapshot!(log, @"
        agent-3: AOF-xxxxx: review -> end (complete)

        D	tasks/AOF-xxxxx.log
        D	tasks/AOF-xxxxx.md
        D	tasks/AOF-xxxxx.plan.md
        A	tasks/archive/2026/02/16/AOF-xxxxx.log
        A	tasks/archive/2026/02/16/AOF-xxxxx.md
        A	tasks/archive/2026/02/16/AOF-xxxxx.plan.md
        A	tasks/archive/2026/02/16/AOF-xxxxx.txt
        Ada: AOF-xxxxx: edited by hand

        M	tasks/AOF-xxxxx.md
        Ada: AOF-xxxxx: companions edited by hand

        M	tasks/AOF-xxxxx.plan.md
        "));
        assert_eq!(
            env.git(&["show", &format!("HEAD~2:{}", beside("plan.md"))]),
            "as it was\nAda's own thought\n"
        );
        let there = place.replace(".md", ".plan.md");
        assert_eq!(
            env.git(&["diff", &format!("HEAD~2:{}", beside("plan.md")), &format!("HEAD:{there}")]),
            ""
        );
        assert_eq!(env.git(&["status", "--porcelain"]), "");
        let _ = env.aof(&["verify"]).success();
    }
}

#[test]
fn a_companion_with_a_name_that_git_refuses_stays() {
    for (name, shown) in [("a\nb.log", "a\\nb.log"), ("a\\b.log", "a\\\\b.log")] {
        let env = TestEnvironment::new();
        let (id, place) = last_gate(&env);
        let path = format!("tasks/{id}.{name}");
        env.write(&path, "mine\n");
        env.write(
            &format!(".aof/inbox/{id}.yaml"),
            format!("task: {id}\nagent: agent-3\noutcome: complete\nsummary: x\n"),
        );
        let answer = env.aof(&["watch", "--once"]).success().stdout;
        assert!(
            answer.contains(&format!(
                "the task has moved without `tasks/AOF-xxxxx.{shown}` (whose name cannot be"
            )),
            "{answer}"
        );
        assert!(
            env.exists(&place)
                && env.read(&path) == "mine\n"
                && env.files(".aof/refused").is_empty()
        );
        let status = env.aof(&["status"]).success().stdout;
        assert!(
            status.contains(&format!("when its task was finished: tasks/AOF-xxxxx.{shown}\n")),
            "{status}"
        );
        fs::remove_file(env.path(&path)).unwrap();
        check(&env);
    }
}

#[test]
fn the_watcher_takes_no_companion_that_stayed_for_a_task() {
    let env = TestEnvironment::new();
    let (id, _) = last_gate(&env);
    env.write(".git/info/exclude", "*.plan.md\n");
    env.write(&format!("tasks/{id}.plan.md"), "the plan\n");
    env.write("tasks/AOF-nobody.plan.md", "of no task\n");
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    let answer = env.aof(&["watch", "--once"]).success().stdout;
    assert!(
        answer.contains("`tasks/AOF-nobody.plan.md` is no task")
            && !answer.contains(&env.plain(&id)),
        "{answer}"
    );
    assert!(env.aof(&["status", "--json"]).success().stdout.contains("companions_stayed"));
}

#[test]
fn a_folder_hides_no_finished_task() {
    let env = TestEnvironment::new();
    let (id, place) = last_gate(&env);
    let _ = env.say(&id, "agent-3", "complete", &[]).success();
    let here = env.path(&format!("tasks/{id}.md"));
    let show = || {
        let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
        assert_eq!(shown["path"], env.plain(&place));
        let _ = env.aof(&["task", "history", &id]).success();
    };
    std::os::unix::fs::symlink("/nowhere", &here).unwrap();
    show();
    // Nothing of anybody's is written over.
    let refused = env.aof(&["task", "reopen", &id, "--to", "review", "--reason", "x"]).code(1);
    assert!(refused.stderr.contains("already exists"), "{refused}");
    fs::remove_file(&here).unwrap();
    fs::create_dir(&here).unwrap();
    show();
    fs::remove_dir(&here).unwrap();
    fs::create_dir(env.path("tasks/sprint")).unwrap();
    std::os::unix::fs::symlink("/nowhere", env.path(&format!("tasks/sprint/{id}.md"))).unwrap();
    show();
    let _ = env.aof(&["task", "reopen", &id, "--to", "review", "--reason", "x"]).success();
    assert!(env.read(&format!("tasks/{id}.md")).contains("current: review"));
}
