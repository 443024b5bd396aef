//! `aof doctor`: everything that can be wrong is told, with why and what to do; what is certain is done; then all is well.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::environment::{ORG, Output, PROJECT, TestEnvironment};

/// A project of which nothing is missing, and a task that went a step.
fn scene() -> (TestEnvironment, String) {
    let env = whole();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

fn whole() -> TestEnvironment {
    let env = TestEnvironment::new();
    assert_eq!(found(&env, &["--fix"]), ["merge_driver_missing: fixed"]);
    env
}

/// Says what the doctor finds, each with what became of it; its exit code has to agree.
fn found(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let output = env.aof(&[&["doctor", "--json"], args].concat());
    let value = output.json();
    let complaints = value["complaints"].as_array().unwrap();
    let is_wrong = |one: &&Value| one["weight"] == "wrong" && one["outcome"] != "fixed";
    let wrong = complaints.iter().any(|one| is_wrong(&one));
    assert_eq!((output.code, &value["ok"]), (Some(i32::from(wrong)), &json!(!wrong)), "{output}");
    for one in complaints {
        for part in ["problem", "why", "fix"] {
            assert!(one[part].as_str().is_some_and(|text| text.len() > 10), "{one}");
        }
    }
    complaints
        .iter()
        .map(|one| {
            format!("{}: {}", one["code"].as_str().unwrap(), one["outcome"].as_str().unwrap())
        })
        .collect()
}

/// Expects that it is told, that a rehearsal changes nothing, and that it is done away with.
#[track_caller]
fn is_mended(env: &TestEnvironment, code: &str) {
    assert_eq!(found(env, &[]), [format!("{code}: told")]);
    let state = |env: &TestEnvironment| {
        (env.head(), env.files("tasks"), env.files(".aof"), env.git(&["status", "--porcelain"]))
    };
    let before = state(env);
    assert_eq!(found(env, &["--fix", "--dry-run"]), [format!("{code}: curable")]);
    assert_eq!(state(env), before, "a rehearsal changes nothing");
    assert_eq!(found(env, &["--fix"]), [format!("{code}: fixed")]);
    is_well(env);
}

/// Expects that it is told, and that nobody does anything about it.
#[track_caller]
fn is_only_reported(env: &TestEnvironment, code: &str) {
    for args in [&[][..], &["--fix"], &["--fix", "--dry-run"]] {
        assert_eq!(found(env, args), [format!("{code}: told")], "{args:?}");
    }
}

#[track_caller]
fn is_well(env: &TestEnvironment) {
    assert_eq!(found(env, &[]), Vec::<String>::new());
}

/// Gives a file another age, as time would.
fn written_at(env: &TestEnvironment, path: &Path, when: &str) {
    let mut touch = env.command("touch");
    touch.args(["-d", when]).arg(path);
    let _ = env.run(touch).success();
}

fn page(output: &Output) -> String {
    let is_id = |word: &str| word.len() == 7 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let nameless = |line: &str| -> String {
        line.split(' ')
            .map(|word| if is_id(word) { "COMMIT" } else { word })
            .collect::<Vec<_>>()
            .join(" ")
    };
    output.to_string().lines().map(|line| nameless(line) + "\n").collect()
}

#[test]
fn the_doctor_says_that_nothing_is_wrong() {
    let (env, _) = scene();
    assert_snapshot!(env.aof(&["doctor"]), @"
    exit 0
    --- stdout
    all is well
    ");
    is_well(&env);
    let _ = env.aof(&["doctor", "--fix"]).success();
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    assert_eq!(TestEnvironment::without_repository().aof(&["doctor"]).code, Some(3));
}

#[test]
fn each_complaint_has_a_problem_a_reason_and_a_fix() {
    let (env, id) = scene();
    env.write("project.yaml", format!("{PROJECT}# later\n"));
    let path = env.task_path(&id);
    env.write(&format!("tasks/copy/{id}.md"), env.task_text(&id));
    env.write(".aof/cache", "nonsense");
    assert_snapshot!(page(&env.aof(&["doctor"]).code(1)), @r#"
    exit 1
    --- stdout
    advice: the cache of task headers, `.aof/cache`, is damaged [cache_damaged]
      why  every task file is read again until the cache is rebuilt; nothing else depends on it
      fix  `aof doctor --fix` removes it; the next `aof list` makes it again
    wrong: project.yaml differs from what is committed; the committed rules count [rules_not_committed]
      why  the rules that you see are not those in force
      fix  commit it to bring it into force: `git commit -m "rules" -- project.yaml`
    wrong: AOF-xxxxx has 2 files: `tasks/AOF-xxxxx.md`, `tasks/copy/AOF-xxxxx.md` [task_doubled]
      why  `tasks/AOF-xxxxx.md` counts where the task is named, since it stands where it is looked for first; what the others say is lost on everybody, and lists leave the task out
      fix  `tasks/copy/AOF-xxxxx.md` is a copy that nobody committed, or was left behind: `aof doctor --fix` removes it
    2 things are wrong; `aof doctor --fix` repairs 2 of what was found
    "#);
    assert_snapshot!(page(&env.aof(&["doctor", "--fix", "--dry-run"]).code(1)), @r#"
    exit 1
    --- stdout
    would repair: the cache of task headers, `.aof/cache`, is damaged [cache_damaged]
    wrong: project.yaml differs from what is committed; the committed rules count [rules_not_committed]
      why  the rules that you see are not those in force
      fix  commit it to bring it into force: `git commit -m "rules" -- project.yaml`
    would repair: AOF-xxxxx has 2 files: `tasks/AOF-xxxxx.md`, `tasks/copy/AOF-xxxxx.md` [task_doubled]
    2 things are wrong
    "#);
    assert_snapshot!(page(&env.aof(&["doctor", "--fix"]).code(1)), @r#"
    exit 1
    --- stdout
    repaired: the cache of task headers, `.aof/cache`, is damaged [cache_damaged]
    wrong: project.yaml differs from what is committed; the committed rules count [rules_not_committed]
      why  the rules that you see are not those in force
      fix  commit it to bring it into force: `git commit -m "rules" -- project.yaml`
    repaired: AOF-xxxxx has 2 files: `tasks/AOF-xxxxx.md`, `tasks/copy/AOF-xxxxx.md` [task_doubled]
    1 thing is wrong
    "#);
    assert!(env.exists(&path) && !env.exists(&format!("tasks/copy/{id}.md")));
    env.commit_all("rules");
    is_well(&env);
}

#[test]
fn git_learns_how_tasks_are_merged() {
    let env = TestEnvironment::new();
    is_mended(&env, "merge_driver_missing");
    assert_eq!(env.git(&["log", "-1", "--format=", "--name-only"]).trim(), ".gitattributes");
    // A clone has what is committed, and nothing of the rest.
    env.git(&["config", "--remove-section", "merge.aof"]);
    is_mended(&env, "merge_driver_missing");
    env.write(".gitattributes", "*.png binary\n");
    env.commit_all("others");
    env.write(".gitattributes", "*.jpg binary\n");
    assert_eq!(
        found(&env, &["--fix"]),
        ["merge_driver_missing: told"],
        "what somebody is at is left alone"
    );
    let output = env.aof(&["doctor"]).code(1).stdout;
    assert!(
        output.contains("fix  commit them, or take them back") && !output.contains("repairs"),
        "{output}"
    );
    env.commit_all("and more");
    is_mended(&env, "merge_driver_missing");
    assert_eq!(env.read(".gitattributes"), "*.jpg binary\ntasks/**/*.md merge=aof -text\n");
    // A hook that git does not run does nothing.
    let hook = env.path(".git/hooks/pre-commit");
    let whole = fs::read_to_string(&hook).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    is_mended(&env, "merge_hook_missing");
    assert_eq!(fs::metadata(&hook).unwrap().permissions().mode() & 0o777, 0o755);
    fs::remove_file(env.path(".git/hooks/pre-merge-commit")).unwrap();
    is_mended(&env, "merge_hook_missing");
    // A person's hook is theirs, and so is a link.
    let mine = whole.replace("exit 0\naof", "exit 0\necho mine\naof");
    fs::write(&hook, &mine).unwrap();
    is_well(&env);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o644)).unwrap();
    is_only_reported(&env, "merge_hook_missing");
    let comment = "#!/bin/sh\n# no aof merge-driver --check-staged here\n";
    fs::write(&hook, comment).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    is_only_reported(&env, "merge_hook_missing");
    assert_eq!(fs::read_to_string(&hook).unwrap(), comment);
    fs::remove_file(&hook).unwrap();
    std::os::unix::fs::symlink(env.path("../elsewhere"), &hook).unwrap();
    is_only_reported(&env, "merge_hook_missing");
    // Managers of hooks have files of their own.
    env.write(".pre-commit-config.yaml", "entry: aof merge-driver --check-staged\n");
    is_well(&env);
}

#[cfg(debug_assertions)]
#[test]
fn the_doctor_finishes_a_crashed_step() {
    let (env, id) = scene();
    for point in ["ops.file-written", "git.index-moved"] {
        let mut command = env.aof_command(&["task", "comment", &id, "-m", "Almost there"]);
        command.env("AOF_STOP_AT", point);
        assert_eq!(env.run(command).code, None, "{point}");
        assert!(env.is_in_the_middle());
        let codes = found(&env, &["--fix"]);
        assert!(codes.contains(&"unfinished_write: fixed".to_owned()), "{codes:?}");
        is_well(&env);
        assert!(!env.is_in_the_middle());
    }
}

#[test]
fn of_two_files_that_differ_nobody_is_chosen() {
    let (env, id) = scene();
    let copy = format!("tasks/copy/{id}.md");
    env.write(&copy, env.task_text(&id));
    is_mended(&env, "task_doubled");
    env.write(&copy, env.task_text(&id).replace("Add login", "Add a login"));
    is_only_reported(&env, "task_doubled");
    let status = env.aof(&["status"]).success().stdout;
    assert!(
        status.contains("AOF-xxxxx has 2 files: `tasks/AOF-xxxxx.md`, `tasks/copy/AOF-xxxxx.md`"),
        "{status}"
    );
    assert!(
        status.contains("see what differs, keep one") && !status.contains("cannot be read"),
        "{status}"
    );
    fs::remove_file(env.path(&copy)).unwrap();
    // The archive counts as well.
    let _ = env.complete(&id, "agent-3").success();
    is_well(&env);
    env.write(&format!("tasks/{id}.md"), env.task_text(&id));
    let codes = found(&env, &[]);
    assert!(codes.contains(&"task_doubled: told".to_owned()), "{codes:?}");
}

#[test]
fn an_archived_copy_hides_an_active_task_from_no_list() {
    let (env, id) = scene();
    let copy = format!("tasks/archive/2026/02/16/{id}.md");
    env.write(&copy, "---\ntitle: Mine\n---\n");
    assert!(env.aof(&["task", "list"]).success().stdout.contains("Add login"));
    let output = env.aof(&["doctor"]).code(1).stdout;
    assert!(output.contains("what the others say is lost on everybody\n"), "{output}");
    // Git knows nothing of one of them.
    let fix = "and remove the others, with `git rm`, or, where git does not know it, with `rm`: \
               `tasks/archive/2026/02/16/AOF-xxxxx.md`";
    assert!(output.contains(fix), "{output}");
    env.git(&["add", "--all"]);
    env.git(&["commit", "--quiet", "--no-verify", "--message", "copy"]);
    let output = env.aof(&["doctor"]).code(1).stdout;
    assert!(output.contains("and remove the others with `git rm`\n"), "{output}");
}

#[test]
fn of_two_files_it_is_said_which_one_counts_and_whether_any_does() {
    let (env, id) = scene();
    env.write(&format!("tasks/copy/{id}.md"), env.task_text(&id));
    let listed = env.aof(&["task", "list"]).code(6);
    assert!(
        listed.stderr.contains(": `tasks/AOF-xxxxx.md` counts where the task is named"),
        "{listed}"
    );
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).success();
    fs::create_dir(env.path("tasks/other")).unwrap();
    fs::rename(env.path(&format!("tasks/{id}.md")), env.path(&format!("tasks/other/{id}.md")))
        .unwrap();
    let unclear = "it is unclear which one counts, so no command touches it";
    let listed = env.aof(&["task", "list"]).code(6);
    assert!(listed.stderr.contains(unclear), "{listed}");
    let _ = env.aof(&["task", "comment", &id, "-m", "Look"]).code(6);
    let output = env.aof(&["doctor"]).code(1);
    assert!(
        output
            .stdout
            .contains("it is unclear which of them counts, so no command touches the task"),
        "{output}"
    );
}

#[test]
fn a_stale_index_catches_up_and_keeps_staged_changes() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    let earlier = env.git(&["rev-parse", &format!("HEAD~1:{path}")]).trim().to_owned();
    env.git(&["update-index", "--cacheinfo", &format!("100644,{earlier},{path}")]);
    is_mended(&env, "index_behind");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    // What is out of the index was taken out by somebody.
    env.git(&["rm", "-q", "--cached", &path]);
    let codes = found(&env, &["--fix"]);
    assert!(codes.contains(&"task_taken_out: told".to_owned()), "{codes:?}");
    assert_eq!(env.git(&["diff", "--cached", "--name-status"]).trim(), format!("D\t{path}"));
    env.git(&["reset", "-q"]);
    env.edit(&path, "Add login", "Add a login");
    env.git(&["add", &path]);
    let codes = found(&env, &["--fix"]);
    assert!(codes.contains(&"task_staged: told".to_owned()), "{codes:?}");
    assert_eq!(env.git(&["diff", "--cached", "--name-only"]).trim(), path);
    // What it tells to do can be pasted, also where it is about several files.
    let other = env.task_path(&env.new_task(&["Write docs"]));
    env.edit(&other, "Write docs", "Write the docs");
    env.git(&["add", &other]);
    let printed = String::from_utf8(env.aof_command(&["doctor"]).output().unwrap().stdout).unwrap();
    let command = printed
        .split('`')
        .find(|part| part.starts_with("git restore --staged"))
        .expect("a command");
    env.git(&command.split(' ').skip(1).collect::<Vec<_>>());
    assert_eq!(env.git(&["diff", "--cached", "--name-only"]), "", "{command}");
}

#[test]
fn commands_for_files_in_folders_of_any_name_can_be_pasted() {
    let (env, id) = scene();
    let folder = "tasks/my folder's";
    fs::create_dir(env.path(folder)).unwrap();
    let path = format!("{folder}/{id}.md");
    env.git(&["mv", &env.task_path(&id), &path]);
    env.commit_all("sorted");
    let paste = |output: &str, start: &str| {
        let command = output
            .split('`')
            .find(|part| part.starts_with(start))
            .unwrap_or_else(|| panic!("{start}: {output}"));
        let mut shell = env.command("sh");
        let command = command.replace("AOF-xxxxx", &id);
        shell.args(["-c", &command]);
        let _ = env.run(shell).success();
    };
    env.edit(&path, "Add login", "Add a login");
    env.git(&["add", &path]);
    paste(&env.aof(&["doctor"]).stdout, "git restore --staged");
    assert_eq!(env.git(&["diff", "--cached", "--name-only"]), "");
    env.git(&["add", &path]);
    env.edit(&path, "Add a login", "Add two logins");
    paste(&env.aof(&["task", "comment", &id, "-m", "Seen"]).code(5).stderr, "git restore --staged");
    env.edit(&path, "status: ready", "status: blocked");
    paste(&env.aof(&["status"]).stdout, "git diff HEAD");
    paste(&env.aof(&["status"]).stdout, "git restore --source=HEAD");
    fs::remove_file(env.path(&path)).unwrap();
    paste(
        &env.aof(&["task", "show", &id]).code(3).stderr,
        "git restore --source=HEAD --staged --worktree",
    );
    env.edit(&path, "title: ", "title: [");
    paste(&env.aof(&["status"]).stdout, "git log -p");
}

#[test]
fn temporary_files_go_once_nobody_can_be_writing_them() {
    let (env, _) = scene();
    let (in_tasks, in_git) =
        (env.path("tasks/.aof-tmp-0123456789abcdef"), env.path(".git/aof-index-0123"));
    fs::write(&in_tasks, "half").unwrap();
    fs::write(&in_git, "half").unwrap();
    written_at(&env, &in_tasks, "2026-02-16T09:59:59Z");
    is_well(&env);
    written_at(&env, &in_tasks, "2026-02-16T09:00:00Z");
    written_at(&env, &in_git, "2026-02-16T09:00:00Z");
    is_mended(&env, "temporary_files");
    assert!(!in_tasks.exists() && !in_git.exists());
    // One that was to become the file of a finished task.
    let archived = env.path("tasks/archive/2026/02/16/.aof-tmp-0123456789abcdef");
    fs::create_dir_all(archived.parent().unwrap()).unwrap();
    fs::write(&archived, "half").unwrap();
    written_at(&env, &archived, "2026-02-16T09:00:00Z");
    is_mended(&env, "temporary_files");
    assert!(!archived.exists());
}

#[test]
fn locks_that_are_not_ours_are_reported_and_never_removed() {
    let (env, _) = scene();
    let lock = env.path(".git/index.lock");
    fs::write(&lock, "").unwrap();
    assert!(
        !found(&env, &[]).iter().any(|code| code.starts_with("git_locked")),
        "somebody is at work"
    );
    written_at(&env, &lock, "2026-02-16T09:00:00Z");
    is_only_reported(&env, "git_locked");
    assert!(lock.exists());
    fs::remove_file(&lock).unwrap();
    is_well(&env);

    let ours = fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(env.path(".aof/lock"))
        .unwrap();
    ours.lock().unwrap();
    let holder = json!({"pid": 1, "command": "aof watch", "since": "2026-02-16T09:00:00Z"});
    fs::write(env.path(".aof/lock"), holder.to_string()).unwrap();
    is_only_reported(&env, "lock_held");
    drop(ours);
    is_well(&env);
}

#[test]
fn refused_completions_are_reported_until_their_visit_has_ended_or_they_are_removed() {
    let (env, id) = scene();
    let other = env.new_task(&["Add logout"]);
    let drop = |name: &str, text: String| {
        env.write(&format!(".aof/inbox/{name}"), text);
        written_at(&env, &env.path(&format!(".aof/inbox/{name}")), "2026-02-16T09:00:00Z");
        let _ = env.aof(&["watch", "--once"]);
    };
    // One names the visit, one does not, one is of a task that is about to end, one of none.
    drop("named.yaml", format!("task: {other}@0\nagent: agent-7\noutcome: nonsense\n"));
    drop("plain.yaml", format!("task: {other}\nagent: agent-3\noutcome: complete\n"));
    drop("last.yaml", format!("task: {id}\nagent: agent-3\noutcome: nonsense\n"));
    drop("none.yaml", "task: AOF-nobody\nagent: agent-3\n".to_owned());
    let listed = || {
        let status = env.aof(&["status", "--json"]).success().json();
        let all = status["attention"].as_array().unwrap();
        let own = all.iter().find(|issue| issue["code"] == "refused_waiting");
        own.map(|issue| issue["problem"].as_str().unwrap().split(": ").last().unwrap().to_owned())
    };
    let names = |names: &str| Some(names.to_owned());
    assert_eq!(listed(), names("none.yaml, last.yaml, plain.yaml, named.yaml"));
    let _ = env.complete(&other, "agent-7");
    assert_eq!(listed(), names("none.yaml, last.yaml"));
    let _ = env.complete(&id, "agent-3");
    assert_eq!(listed(), names("none.yaml"));
    let before = env.files(".aof/refused");
    assert_eq!(before.len(), 8, "nothing is lost");
    let _ = env.aof(&["status", "--clear", "--dry-run"]).success();
    assert_eq!(env.files(".aof/refused"), before);
    let cleared = env.aof(&["status", "--clear", "--json"]).success().json();
    assert_eq!(cleared["cleared"].as_array().unwrap().len(), 4);
    assert_eq!((listed(), env.files(".aof/refused").len()), (None, 0));
    assert_eq!(env.aof(&["status", "--clear"]).success().stdout, "0 refused completions removed\n");
}

#[test]
fn completions_that_were_refused_are_reported_until_somebody_looks() {
    let (env, id) = scene();
    env.write(".aof/inbox/one.yaml", format!("task: {id}\nagent: agent-3\noutcome: nonsense\n"));
    let path = env.path(".aof/inbox/one.yaml");
    written_at(&env, &path, "2026-02-16T09:00:00Z");
    let codes = found(&env, &[]);
    assert_eq!(codes, ["inbox_waiting: told", "no_watcher: told"]);
    let _ = env.aof(&["watch", "--once"]);
    is_only_reported(&env, "refused_waiting");
    assert!(!env.aof(&["status"]).success().stdout.contains("nothing needs attention"));
    // The last one comes first.
    env.write(".aof/inbox/two.yaml", "task: AOF-nobody\nagent: agent-3\n");
    written_at(&env, &env.path(".aof/inbox/two.yaml"), "2026-02-16T08:00:00Z");
    let _ = env.aof(&["watch", "--once"]);
    let status = env.aof(&["status"]).success().stdout;
    assert!(
        status.contains("2 refused completions wait in `.aof/refused`: two.yaml, one.yaml\n"),
        "{status}"
    );
    is_only_reported(&env, "refused_waiting");
    fs::remove_dir_all(env.path(".aof/refused")).unwrap();
    is_well(&env);
}

#[test]
fn a_branch_that_went_another_way_than_the_remotes_is_reported() {
    let (env, id) = scene();
    let (server, clone) = (env.home().join("server.git"), env.home().join("clone"));
    env.git(&["init", "-q", "--bare", "--initial-branch=main", &server.to_string_lossy()]);
    env.git(&["remote", "add", "origin", &server.to_string_lossy()]);
    env.git(&["push", "-q", "--set-upstream", "origin", "main"]);
    is_well(&env);
    env.git(&["clone", "-q", &server.to_string_lossy(), &clone.to_string_lossy()]);
    let there = clone.to_string_lossy();
    let _ = env.aof(&["-C", &there, "task", "new", "Another"]).success();
    env.git(&["-C", &there, "push", "-q"]);
    env.git(&["fetch", "-q"]);
    is_only_reported(&env, "remote_ahead");
    let _ = env.aof(&["task", "comment", &id, "-m", "Almost there"]).success();
    is_only_reported(&env, "remote_diverged");
    env.git(&["pull", "-q", "--no-rebase", "--no-edit"]);
    is_well(&env);
}

#[test]
fn rules_that_are_not_in_force_are_reported() {
    let (env, _) = scene();
    env.write("project.yaml", format!("{PROJECT}# later\n"));
    is_only_reported(&env, "rules_not_committed");
    env.write("project.yaml", "workflow: {gates: 3}\n");
    env.commit_all("broken rules");
    is_only_reported(&env, "workflow_config_invalid");
    env.write("project.yaml", PROJECT);
    env.commit_all("mended rules");
    is_well(&env);
}

#[test]
fn tasks_at_changed_gates_follow_the_rules() {
    let (env, _) = scene();
    env.write(
        "project.yaml",
        PROJECT.replace("    - id: review\n      role: architect\n      canReject: true\n", ""),
    );
    env.commit_all("no review");
    let codes = found(&env, &[]);
    assert!(codes.contains(&"rules_not_followed: told".to_owned()), "{codes:?}");
    let codes = found(&env, &["--fix"]);
    assert!(codes.contains(&"rules_not_followed: fixed".to_owned()), "{codes:?}");
    is_well(&env);

    let (env, _) = scene();
    env.write(
        "project.yaml",
        PROJECT.replace("canReject: true", "canReject: true\n      maxRetries: 5"),
    );
    env.commit_all("more patience");
    is_only_reported(&env, "rules_drifted");
    let _ = env.aof(&["doctor"]).success();
}

#[test]
fn faults_of_a_task_are_reported() {
    let (env, id) = scene();
    let path = env.task_path(&id);
    env.edit(&path, "status: ready", "status: blocked");
    is_only_reported(&env, "task_frozen");
    env.write(&path, "---\ntitle: [\n---\n");
    is_only_reported(&env, "unreadable_task");
    fs::remove_file(env.path(&path)).unwrap();
    is_only_reported(&env, "task_missing");
    env.git(&["restore", &path]);
    is_well(&env);
    // That a task is blocked is its work's own, and no fault of the project.
    let _ = env.aof(&["task", "hold", &id, "--reason", "Wait"]).success();
    is_well(&env);
}

#[test]
fn an_unfinished_operation_of_git_is_reported() {
    let (env, _) = scene();
    env.write("notes.txt", "one");
    env.commit_all("one");
    env.git(&["checkout", "-q", "-b", "side", "HEAD~1"]);
    env.write("notes.txt", "two");
    env.commit_all("two");
    assert_ne!(env.try_git(&["merge", "-q", "main"]).code, Some(0));
    is_only_reported(&env, "git_busy");
    env.git(&["merge", "--abort"]);
    is_well(&env);
}

#[test]
fn settings_of_git_that_hurt_are_reported() {
    let (env, _) = scene();
    env.git(&["config", "core.autocrlf", "input"]);
    is_well(&env);
    // As it was written before.
    env.write(".gitattributes", "*.png binary\ntasks/**/*.md merge=aof\n*.jpg binary\n");
    env.commit_all("attributes");
    is_mended(&env, "line_endings");
    assert_eq!(
        env.read(".gitattributes"),
        "*.png binary\ntasks/**/*.md merge=aof\n*.jpg binary\ntasks/**/*.md merge=aof -text\n"
    );
    env.write(".gitattributes", env.read(".gitattributes") + "*.md text\n");
    env.commit_all("more attributes");
    assert_eq!(found(&env, &["--fix"]), ["line_endings: failed"]);
    env.write(".gitattributes", env.read(".gitattributes") + "tasks/** -text\n");
    env.commit_all("the last word");
    is_well(&env);
    for (name, value) in
        [("core.splitIndex", "true"), ("index.version", "4"), ("core.sparseCheckout", "true")]
    {
        env.git(&["config", name, value]);
        is_only_reported(&env, "index_layout");
        let _ = env.aof(&["doctor"]).success();
        env.git(&["config", "--unset", name]);
    }
    env.git(&["config", "commit.gpgSign", "true"]);
    env.git(&["config", "gpg.program", "/nowhere/gpg"]);
    is_only_reported(&env, "cannot_sign");
    env.git(&["config", "gpg.format", "ssh"]);
    is_only_reported(&env, "cannot_sign");
    env.git(&["config", "commit.gpgSign", "false"]);
    env.git(&["config", "--global", "--unset", "user.name"]);
    is_only_reported(&env, "no_identity");
    env.git(&["config", "user.name", "Ada"]);
    is_well(&env);
}

#[test]
fn a_signing_key_that_is_not_there_is_reported() {
    let (env, _) = scene();
    env.git(&["config", "gpg.format", "ssh"]);
    env.git(&["config", "user.signingKey", "~/keys/ann.pub"]);
    is_only_reported(&env, "signing_key_missing");
    env.git(&["config", "commit.gpgSign", "true"]);
    is_only_reported(&env, "cannot_sign");
    let output = env.aof(&["doctor"]).stdout;
    assert!(output.contains("there is no key `$ROOT/home/keys/ann.pub`"), "{output}");
    fs::create_dir(env.home().join("keys")).unwrap();
    fs::write(env.home().join("keys/ann.pub"), "ssh-ed25519 AAAA ann\n").unwrap();
    is_well(&env);
    // A key that is no file is the ssh agent's.
    env.git(&["config", "user.signingKey", "key::ssh-ed25519 AAAA ann"]);
    is_well(&env);
}

#[test]
fn with_hooks_of_their_own_people_get_the_line() {
    let (env, id) = scene();
    env.git(&["config", "core.hooksPath", "~/hooks"]);
    is_only_reported(&env, "merge_hook_missing");
    let output = env.aof(&["doctor", "--json"]).json();
    assert_snapshot!(env.plain(&format!("{}\n{}", output["complaints"][0]["problem"], output["complaints"][0]["fix"])), @r#"
    "git looks for hooks where `core.hooksPath` says, and these do not call aof's check: `$ROOT/home/hooks/pre-commit`, `$ROOT/home/hooks/pre-merge-commit`"
    "add the line `aof merge-driver --check-staged` to each of them, and make it executable; for `pre-commit` and other hook managers see docs/guides/merging.md"
    "#);
    assert_eq!(output["complaints"][0]["weight"], "wrong");
    let _ = env.aof(&["doctor"]).code(1);
    let line = "aof merge-driver --check-staged";
    fs::create_dir(env.home().join("hooks")).unwrap();
    for name in ["pre-commit", "pre-merge-commit"] {
        let hook = env.home().join("hooks").join(name);
        fs::write(&hook, format!("#!/bin/sh\n{line}\n")).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    is_well(&env);
    // Husky's own hooks run those of the folder above, whose files need not be executable.
    env.git(&["config", "core.hooksPath", ".husky/_"]);
    env.write(".husky/_/pre-commit", "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"\n");
    is_only_reported(&env, "merge_hook_missing");
    for name in ["pre-commit", "pre-merge-commit"] {
        env.write(&format!(".husky/{name}"), format!("{line}\n"));
    }
    is_well(&env);
    env.git(&["config", "core.hooksPath", "~/hooks"]);
    let before = env.read(&env.task_path(&id));
    let _ = env.complete(&id, "agent-3").success();
    env.write(&env.task_path(&id), before);
    let refused = env.try_git(&["commit", "-q", "-a", "-m", "mine"]).code(1);
    assert!(refused.stderr.contains("not committed:"), "{refused}");
}

#[test]
fn a_file_that_nobody_may_run_is_no_program() {
    let (env, _) = scene();
    fs::create_dir(env.home().join("bin")).unwrap();
    fs::write(env.home().join("bin/aof"), "").unwrap();
    let others = std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .filter(|folder| !folder.join("aof").exists())
        .collect::<Vec<_>>();
    let folders = std::iter::once(env.home().join("bin")).chain(others);
    let mut doctor = env.aof_command(&["doctor", "--json"]);
    doctor.env("PATH", std::env::join_paths(folders).unwrap());
    let output = env.run(doctor).stdout;
    assert!(output.contains("merge_driver_not_found"), "{output}");
    is_well(&env);
}

#[test]
fn a_damaged_event_stream_is_made_again() {
    let (env, id) = scene();
    let _ = env.complete(&id, "agent-3").success();
    let _ = env.aof(&["events"]).success();
    let whole = env.read(".aof/events.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    assert!(lines.len() > 2, "{whole}");
    let mut damaged = lines.clone();
    damaged[1] = "{\"timestamp\": ";
    let mut added = lines.clone();
    added.insert(1, "nonsense");
    for broken in [damaged, added] {
        env.write(".aof/events.jsonl", broken.join("\n") + "\n");
        is_mended(&env, "events_damaged");
        assert_eq!(env.read(".aof/events.jsonl"), whole);
    }
    // What heals by itself, or is made with the next look, is nobody's trouble.
    fs::remove_file(env.path(".aof/events.jsonl")).unwrap();
    is_well(&env);
}

#[test]
fn monitors_of_git_are_in_nobodys_way() {
    let (env, id) = scene();
    let monitor = env.home().join("monitor");
    fs::write(&monitor, "#!/bin/sh\necho asked >> \"$HOME/asked\"\nprintf 'token\\0tasks/\\0'\n")
        .unwrap();
    crate::support::environment::executable(&monitor);
    env.git(&["config", "core.fsmonitor", &monitor.display().to_string()]);
    env.git(&["config", "core.untrackedCache", "true"]);
    env.git(&["update-index", "--untracked-cache", "--fsmonitor"]);
    env.git(&["status"]);
    let asked = || fs::read_to_string(env.home().join("asked")).unwrap().lines().count();
    let before = asked();
    let _ = env.complete(&id, "agent-3").success();
    let _ = env.new_task(&["Another"]);
    assert_eq!(asked(), before, "aof asks no monitor");
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    is_well(&env);
}

#[test]
fn a_signer_needs_ssh_keygen() {
    let (env, _) = scene();
    env.write("org.yaml", format!("{ORG}agents:\n  agent-3: {{signingKey: \"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBGqKV26sIYt+EfoMZnj6JPLqQGj9Ucsgebfjzprk4A1\"}}\n  agent-7:\n  agent-8:\n"));
    env.commit_all("keys");
    is_well(&env);
    env.git(&["config", "gpg.ssh.program", "/nowhere/ssh-keygen"]);
    is_only_reported(&env, "cannot_sign_completions");
}

#[test]
fn many_packs_become_one() {
    let (env, _) = scene();
    for number in 0..60 {
        env.write(&format!("src/{number}.rs"), format!("{number}"));
    }
    env.commit_all("code");
    let listed = env.git(&["ls-tree", "-r", "HEAD", "src"]);
    for line in listed.lines().take(51) {
        let object = line.split_whitespace().nth(2).unwrap();
        let name = env.path("object");
        fs::write(&name, format!("{object}\n")).unwrap();
        let mut pack = env.command("git");
        pack.args(["pack-objects", "-q", ".git/objects/pack/pack"])
            .stdin(fs::File::open(&name).unwrap());
        let _ = env.run(pack).success();
    }
    fs::remove_file(env.path("object")).unwrap();
    is_mended(&env, "repack_pays");
    env.git(&["fsck", "--strict"]);
}

#[test]
fn a_folder_that_has_grown_too_large_is_spread_once_the_rules_say_so() {
    let env = whole();
    let tasks: Vec<Value> =
        (0..1_001).map(|number| json!({"title": format!("Task {number}")})).collect();
    env.write("many.json", Value::from(tasks).to_string());
    let _ = env.aof(&["task", "new", "--from", "many.json"]).success();
    fs::remove_file(env.path("many.json")).unwrap();
    let some = env.files("tasks").pop().unwrap();
    env.write(&some.replace(".md", ".notes.txt"), "beside it");
    env.commit_all("notes");
    is_only_reported(&env, "folder_large");
    env.write("project.yaml", format!("{PROJECT}tasks: {{layout: sharded}}\n"));
    env.commit_all("sharded");
    is_mended(&env, "folder_large");
    let files = env.files("tasks");
    assert!(
        files.len() == 1_002 && files.iter().all(|path| path.split('/').count() == 3),
        "{files:?}"
    );
    assert_eq!(env.git(&["status", "--porcelain"]), "");
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_damaged_cache_is_removed() {
    let (env, _) = scene();
    let _ = env.aof(&["task", "list"]).success();
    env.write(".aof/cache", "nonsense");
    is_mended(&env, "cache_damaged");
}

#[test]
fn files_that_git_left_in_the_wrong_place_are_moved() {
    let (env, id) = scene();
    let other = env.new_task(&["Another"]);
    let active = env.task_path(&id);
    let _ = env.complete(&id, "agent-3").success();
    let archived = env.task_path(&id);
    assert!(archived.starts_with("tasks/archive/"), "{archived}");
    env.git(&["mv", &archived, &active]);
    env.git(&["mv", &env.task_path(&other), &format!("tasks/archive/2026/02/16/{other}.md")]);
    env.git(&["commit", "-q", "-m", "merge"]);
    is_mended(&env, "task_misplaced");
    assert_eq!(env.task_path(&id), archived);
    assert_eq!(env.task_path(&other), format!("tasks/{other}.md"));
    assert_eq!(env.git(&["status", "--porcelain"]), "");
}

#[test]
fn the_remote_that_the_rules_name_is_the_one_that_is_looked_at() {
    let (env, _) = scene();
    env.write("project.yaml", format!("{PROJECT}git: {{remote: hub}}\n"));
    env.commit_all("hub");
    for name in ["hub", "spare"] {
        let server = env.home().join(format!("{name}.git"));
        env.git(&["init", "-q", "--bare", "--initial-branch=main", &server.to_string_lossy()]);
        env.git(&["remote", "add", name, &server.to_string_lossy()]);
        env.git(&["push", "-q", name, "main"]);
    }
    let there = env.home().join("clone").to_string_lossy().into_owned();
    env.git(&["clone", "-q", &env.home().join("hub.git").to_string_lossy(), &there]);
    env.git(&["-C", &there, "commit", "-q", "--allow-empty", "-m", "more"]);
    env.git(&["-C", &there, "push", "-q"]);
    env.git(&["fetch", "-q", "hub"]);
    let answer = env.aof(&["doctor"]).to_string();
    assert!(
        answer.contains("`hub/main` has 1 commit")
            && answer.contains("git pull --ff-only hub main"),
        "{answer}"
    );
}
