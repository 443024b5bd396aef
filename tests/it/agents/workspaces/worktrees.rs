//! Git worktrees in which agents work at tasks: made, set up, used by each visit, and removed once the work has arrived.

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{said_at_home, shown, stand};

/// Writes a file that names the visit, and says that everything went well.
pub(super) const WRITES: &str = "echo $AOF_TASK > $AOF_GATE.txt; echo '{\"outcome\": \"complete\", \"summary\": \"Did it\"}' > \"$AOF_OUTPUT\"";

/// Returns a project whose tasks are on a branch of their own, with these settings and agents, each with its shell command.
pub(super) fn project(settings: &str, gates: &str, agents: &[(&str, &str)]) -> TestEnvironment {
    let env = TestEnvironment::without_rules();
    env.write("code.txt", "one\n");
    env.write("check.sh", "test -f write.txt\n");
    env.write(".gitignore", ".env\n*.log\n");
    env.commit_all("code");
    let _ = env.aof(&["init", "--branch", "aof"]).success();
    let command = |script: &str| serde_json::to_string(script).unwrap();
    let known: String = agents
        .iter()
        .map(|(id, script)| {
            let command = command(script);
            format!("  {id}: {{run: {{command: [sh, -c, {command}], attempts: 1}}}}\n")
        })
        .collect();
    let roles: String =
        agents.iter().map(|(id, _)| format!("  {id}s: {{agents: [{id}]}}\n")).collect();
    env.write(
        ".aof/branch/project.yaml",
        format!("git: {{branch: aof}}\nrun: {{workspace: worktree}}\n{settings}\nworkflow: {{gates: [{gates}]}}\n"),
    );
    env.write(".aof/branch/org.yaml", format!("roles:\n{roles}agents:\n{known}"));
    // Without the first task.
    env.git(&["-C", ".aof/branch", "rm", "-r", "--quiet", "tasks"]);
    env.git(&["-C", ".aof/branch", "add", "--all"]);
    env.git(&["-C", ".aof/branch", "commit", "--no-verify", "--quiet", "--amend", "-m", "rules"]);
    env
}

pub(super) fn two_gates(settings: &str) -> TestEnvironment {
    project(
        settings,
        "{id: write, role: coders}, {id: review, role: critics, canReject: true, run: {exit: {complete: 0, needs_review: 1}}}",
        &[("coder", WRITES), ("critic", "test -f write.txt && echo seen >> seen.log")],
    )
}

fn work_of(env: &TestEnvironment, id: &str) -> String {
    // The names of commits count, which `shown` hides.
    let output = env.aof_command(&["task", "show", id, "--json"]).output().unwrap();
    let task: Value = serde_json::from_slice(&output.stdout).unwrap();
    let one = |visit: &Value| {
        let work = &visit["work"];
        let word = |key: &str| work[key].as_str().unwrap_or("-").to_owned();
        let head = env.git(&["log", "-1", "--format=%an: %s", &word("head")]);
        format!(
            "{} {} from {}: {head}",
            visit["gate"].as_str().unwrap(),
            word("branch"),
            word("base")
        )
    };
    let visits = task["gateHistory"].as_array().unwrap();
    env.plain(&visits.iter().map(one).collect::<String>())
}

#[test]
fn each_task_has_a_worktree_on_a_branch_of_its_own() {
    let env = two_gates("");
    env.write("code.txt", "a person's edit\n");
    let (one, two) = (env.new_task(&["One"]), env.new_task(&["Two"]));
    let _ = env.aof(&["run", "--all", "--jobs", "2"]).success();
    assert_eq!(
        (stand(&env, &one), stand(&env, &two)),
        ("complete - -".into(), "complete - -".into())
    );
    assert_snapshot!(work_of(&env, &one), @"
    write aof-work/AOF-xxxxx from main: coder: AOF-xxxxx: what coder left uncommitted at write
    review aof-work/AOF-xxxxx from main: coder: AOF-xxxxx: what coder left uncommitted at write
    ");
    // What people work at is theirs alone.
    assert_eq!(env.git(&["status", "--porcelain"]), " M code.txt\n");
    assert_eq!(env.git(&["stash", "list"]), "");
    let branch = |id: &str| format!("aof-work/{id}");
    assert_eq!(env.git(&["show", &format!("{}:write.txt", branch(&one))]), format!("{one}@0\n"));
    assert_snapshot!(env.aof(&["verify"]).success().stdout.lines().last().unwrap(), @"all is as the rules allow: 12 commits, 10 changes of a task");
    let head = env.git(&["rev-parse", "--short=7", &branch(&one)]);
    let seen = |words: &[&str]| {
        let said = env.aof(words).success().stdout.replace(head.trim(), "COMMIT7");
        said.lines().find(|line| line.contains(" from main, head")).unwrap_or_default().to_owned()
    };
    assert_snapshot!(seen(&["show", &one]), @"Work  aof-work/AOF-xxxxx from main, head COMMIT7");
    // Their work is not on the base: all of it stays, and is listed.
    let stays = || env.aof(&["workspace", "prune"]).success().stdout;
    assert_snapshot!(stays(), @"
    AOF-xxxxx stays: its work is not on the base
    AOF-xxxxx stays: its work is not on the base
    nothing to remove; 2 workspaces
    ");
    env.git(&["checkout", "--quiet", "code.txt"]);
    env.git(&["merge", "--quiet", "--squash", &branch(&one)]);
    env.git(&["commit", "--quiet", "--message", "One, squashed"]);
    assert_snapshot!(stays(), @"
    removed AOF-xxxxx
    AOF-xxxxx stays: its work is not on the base
    ");
    assert_eq!(env.git(&["branch", "--list", &branch(&one)]), "");
    assert!(!env.exists(&format!(".aof/work/{one}")) && env.exists(&format!(".aof/work/{two}")));
}

#[test]
fn set_up_and_copied_files_are_never_committed() {
    let env = two_gates(
        "workspaces: {copy: [.env], setup: [[sh, -c, 'echo made > made.txt; echo more >> code.txt; echo $AOF_WORKSPACE $AOF_BRANCH > $HOME/setup']]}",
    );
    env.write(".env", "KEY=1\n");
    env.write("big.log", "log\n");
    env.write(".worktreeinclude", "*.log\n");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    let folder = env.path(&format!(".aof/work/{id}"));
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap_or_default();
    assert_eq!((read(".env"), read("made.txt")), ("KEY=1\n".into(), "made\n".into()));
    assert_eq!(read("big.log"), "log\n");
    let at = folder.canonicalize().unwrap();
    assert_eq!(said_at_home(&env, "setup"), format!("{} aof-work/{id}\n", at.display()));
    let changed = env.git(&["diff", "--name-only", "main", &format!("aof-work/{id}")]);
    assert_eq!(changed, "write.txt\n");
    // What set-up made goes with the worktree.
    env.git(&["merge", "--quiet", &format!("aof-work/{id}")]);
    assert_eq!(env.aof(&["workspace", "prune"]).success().stdout, "removed AOF-xxxxx\n");
    assert!(!folder.exists());
    assert_eq!(env.git(&["for-each-ref", "refs/aof/salvage"]), "");
}

#[test]
fn a_failing_set_up_is_a_failed_attempt() {
    let env = two_gates("workspaces: {setup: [[sh, -c, 'echo no network >&2; exit 3']]}");
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).code(1);
    assert_eq!(env.read(&format!(".aof/branch/.aof/runs/{id}@0/1/setup")), "no network\n");
    assert_eq!(stand(&env, &id), "blocked write -");
    assert_snapshot!(env.plain(&shown(&env, &id)["gateHistory"][0]["summary"].to_string()), @r#""1 attempt of `coder` failed; the last one: the set-up of its workspace failed: `sh -c echo no network >&2; exit 3` ended with exit status 3: no network""#);
}

#[test]
fn what_must_not_be_committed_refuses_the_verdict() {
    for (settings, script, why) in [
        (
            "workspaces: {uncommitted: refuse}",
            "echo x > x.txt",
            "these files are not committed: `x.txt`",
        ),
        ("", "head -c 11000000 /dev/zero > x.bin", "`x.bin` is larger than 10 MiB"),
        ("", "git init -q inner; echo x > inner/x", "`inner/` is a git repository of its own"),
        ("", "git checkout -q -b other", "the workspace has `other` checked out"),
        ("", "git checkout -q --detach", "HEAD is detached"),
        ("", "echo x > x; touch $(git rev-parse --git-dir)/index.lock", "index.lock': File exists"),
        ("", "echo x > x; touch $(git rev-parse --git-dir)/MERGE_HEAD", "merge"),
    ] {
        let script = format!("{script}; echo '{{\"outcome\": \"complete\"}}' > $AOF_OUTPUT");
        let env = project(settings, "{id: write, role: coders}", &[("coder", &script)]);
        let id = env.new_task(&["One"]);
        let _ = env.aof(&["run", "--all"]).code(1);
        assert_eq!(stand(&env, &id), "blocked write -", "{why}");
        let summary = shown(&env, &id)["gateHistory"][0]["summary"].to_string();
        assert!(summary.contains(why), "{why}: {summary}");
        // Whatever it is, it is still there.
        assert!(env.exists(&format!(".aof/work/{id}")));
    }
}

#[test]
fn a_branch_of_a_fork_reads_the_work_and_keeps_nothing() {
    let env = project(
        "",
        "{id: write, role: coders}, {id: check, type: fork, branches: [{id: law, role: laws}, {id: text, role: texts}]}",
        &[
            ("coder", WRITES),
            (
                "law",
                "cat write.txt > $HOME/law; echo x > kept.txt; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT",
            ),
            (
                "text",
                "cat write.txt > $HOME/text; cat $AOF_PROMPT > $HOME/prompt; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT",
            ),
        ],
    );
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all", "--jobs", "2"]).success();
    assert_eq!(stand(&env, &id), "complete - -");
    assert_eq!(
        (said_at_home(&env, "law"), said_at_home(&env, "text")),
        (format!("{id}@0\n"), format!("{id}@0\n"))
    );
    assert!(said_at_home(&env, "prompt").contains("What you change there is not kept"));
    assert_eq!(env.git(&["diff", "--name-only", "main", &format!("aof-work/{id}")]), "write.txt\n");
    for branch in ["law", "text"] {
        assert!(!env.exists(&format!(".aof/work/{id}.{branch}")), "{branch}");
    }
}

#[test]
fn a_changed_script_waits_for_a_person() {
    let env = project(
        "",
        "{id: write, role: coders}, {id: review, role: critics, canReject: true, run: {exit: {complete: 0, needs_review: 1}}}",
        &[("coder", &format!("echo true > check.sh; {WRITES}")), ("critic", "sh check.sh")],
    );
    let id = env.new_task(&["One"]);
    let ran = env.aof(&["run", "--all"]).code(7);
    assert!(ran.stdout.contains("changed `check.sh`, which a program here runs"), "{ran}");
    assert_eq!(stand(&env, &id), "ready review -");
    let asked = env.aof(&["trust", &id]).code(4);
    assert!(
        asked.stdout.contains("-test -f write.txt") && asked.stdout.contains("+true"),
        "{asked}"
    );
    let hash =
        asked.stderr.split("AOF_TRUST=").nth(1).unwrap().split('`').next().unwrap().to_owned();
    let mut trusting = env.aof_command(&["trust", &id]);
    trusting.env("AOF_TRUST", &hash);
    let _ = env.run(trusting);
    let _ = env.aof(&["run", "--all"]).success();
    assert_eq!(stand(&env, &id), "complete - -");
}

#[test]
fn bad_surroundings_are_refused_with_a_fix() {
    // Tasks beside the code.
    let env = TestEnvironment::with_rules(
        "run: {workspace: worktree}\nworkflow: {gates: [{id: work, role: coders}]}\n",
        "roles: {coders: {agents: [coder]}}\nagents: {coder: {run: {command: ['true']}}}\n",
    );
    assert_snapshot!(env.aof(&["workflow", "validate"]).code(6).stdout, @"
    error[workspace_beside_tasks]: `workspace: worktree` needs the tasks on a branch of their own
     --> project.yaml:1:6
      |
    1 | run: {workspace: worktree}
      |      ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: move them there with `aof migrate branch`

    invalid: 1 error
    ");
    // A branch of that name with other work.
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    env.git(&["branch", &format!("aof-work/{id}")]);
    assert_snapshot!(env.aof(&["workspace", "path", &id]).code(4).stderr, @"
    error: the branch `aof-work/AOF-xxxxx` exists, and no visit of the task made it

    hint: rename it, `git -C .aof/branch branch -m aof-work/AOF-xxxxx OTHER`, or choose another `workspaces.prefix`
    ");
    let _ = env.aof(&["run", "--all"]).code(7);
    env.git(&["branch", "-D", &format!("aof-work/{id}")]);
    // Something in the way.
    env.write(&format!(".aof/work/{id}/mine.txt"), "mine\n");
    assert_snapshot!(env.aof(&["workspace", "path", &id]).code(4).stderr, @"
    error: `$PROJECT/.aof/work/AOF-xxxxx` is in the way: a workspace belongs there

    hint: move it elsewhere; if it is a worktree that was moved or lost its `.git`, `git -C .aof/branch worktree repair` brings it back
    ");
    std::fs::remove_dir_all(env.path(&format!(".aof/work/{id}"))).unwrap();
    // No branch to begin at.
    env.git(&["checkout", "--quiet", "--detach"]);
    assert_snapshot!(env.aof(&["workspace", "path", &id]).code(4).stderr, @"
    error: no branch is checked out in `$PROJECT`, so work has nothing to begin at

    hint: check a branch out, or name one in project.yaml: `workspaces: {base: main}`
    ");
    env.git(&["checkout", "--quiet", "main"]);
    // A dirty main worktree is no obstacle.
    env.write("code.txt", "dirty\n");
    let _ = env.aof(&["workspace", "path", &id]).success();
    assert_eq!(env.read(&format!(".aof/work/{id}/code.txt")), "one\n");
}

#[test]
fn people_make_and_prune_workspaces() {
    let env = two_gates("");
    let id = env.new_task(&["One"]);
    assert_eq!(env.aof(&["workspace", "list"]).success().stdout, "no task has a workspace here\n");
    assert_snapshot!(env.aof(&["workspace", "path", &id]).success().stdout, @"$PROJECT/.aof/work/AOF-xxxxx");
    let folder = env.path(&format!(".aof/work/{id}"));
    std::fs::write(folder.join("new.txt"), "new\n").unwrap();
    assert_snapshot!(env.aof(&["workspace", "diff", &id]).success().stdout, @"new file, not added: new.txt");
    // A command there acts on the project.
    let mut inside = env.aof_command(&["show", &id]);
    inside.current_dir(&folder);
    let _ = env.run(inside).success();
    let head = env.git(&["rev-parse", "--short=7", &format!("aof-work/{id}")]);
    let listed = env.aof(&["workspace", "list"]).success().stdout.replace(head.trim(), "COMMIT7");
    assert_snapshot!(listed, @"
    TASK       BASE  HEAD     STAYS             FOLDER
    AOF-xxxxx  main  COMMIT7  the task is open  $PROJECT/.aof/work/AOF-xxxxx
    ");
    let _ = env.aof(&["cancel", &id, "-m", "no"]).success();
    assert_snapshot!(env.aof(&["workspace", "prune"]).success().stdout, @"
    AOF-xxxxx stays: a file is not committed
    nothing to remove; 1 workspace
    ");
    let _ = env.aof(&["workspace", "prune", "--force"]).code(2);
    assert_snapshot!(env.aof(&["workspace", "prune", "--force", &id]).success().stdout, @"removed AOF-xxxxx");
    assert_eq!(env.git(&["show", &format!("refs/aof/salvage/{id}:new.txt")]), "new\n");
    assert!(!folder.exists());
}

#[test]
fn the_brief_and_the_board_name_the_branch() {
    let env = project(
        "workspaces: {base: main}",
        "{id: write, role: coders}, {id: accept, role: critics}",
        &[("coder", WRITES), ("critic", "exit 1")],
    );
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--agent", "coder"]);
    let head = env.git(&["rev-parse", "--short=7", &format!("aof-work/{id}")]);
    let seen = |words: &[&str]| {
        let said = env.aof(words).success().stdout.replace(head.trim(), "COMMIT7");
        said.lines().find(|line| line.contains(" from main, head")).unwrap_or_default().to_owned()
    };
    assert_snapshot!(seen(&["brief", &id]), @"  work: aof-work/AOF-xxxxx from main, head COMMIT7");
    assert_snapshot!(seen(&["brief", &id, "--format", "markdown"]), @"- aof-work/AOF-xxxxx from main, head COMMIT7");
    let brief = env.aof(&["brief", &id, "--json"]).success().json();
    assert_eq!(brief["work"]["base"], "main");
    let _ = env.aof(&["board", "--export", ".aof/site"]).success();
    let site = env.files(".aof/site").into_iter().map(|file| env.read(&file)).collect::<String>();
    assert!(site.contains(&format!("aof-work/{id} from main, head {}", head.trim())));
}

#[test]
fn a_service_needs_a_named_base() {
    let env = two_gates("");
    assert_snapshot!(env.aof(&["run", "--all", "--follow"]).code(4).stderr, @"
    error: with `--follow`, the branch that work begins at must be named: another may be checked out later

    hint: name it in project.yaml: `workspaces: {base: main}`
    ");
}

/// The branch of the work may have a project of its own, as a repository of code has for its examples.
#[test]
fn programs_in_a_workspace_act_on_the_project_that_started_them() {
    let script = "cp -r $HOME/other/. . && aof show $AOF_TASK > $HOME/shown && mkdir inner && git -C inner init -q && cp project.yaml inner && (cd inner && aof list > $HOME/inner 2>&1); rm -rf inner; echo '{\"outcome\": \"complete\", \"summary\": \"ok\"}' > $AOF_OUTPUT";
    let env = project("", "{id: write, role: coders}", &[("coder", script)]);
    let other = env.home().join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("project.yaml"), "project: {name: Other, idPrefix: OTH}\n").unwrap();
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    assert!(said_at_home(&env, "shown").contains("One"), "{}", said_at_home(&env, "shown"));
    assert!(!said_at_home(&env, "inner").contains(&id), "{}", said_at_home(&env, "inner"));
}

/// Changes the settings of all agents' runs.
fn set_runs(env: &TestEnvironment, settings: &str) {
    let path = ".aof/branch/org.yaml";
    env.write(path, env.read(path).replace("attempts: 1", &format!("attempts: 1, {settings}")));
    env.git(&["-C", ".aof/branch", "commit", "--no-verify", "--quiet", "--all", "-m", "runs"]);
}

#[test]
fn neither_secrets_nor_a_set_up_that_hangs_get_through() {
    for (settings, run, script, why) in [
        ("", "secrets: [TOKEN]", "echo $TOKEN > x.txt; true", "`x.txt` has the value of a secret"),
        ("workspaces: {setup: [[sleep, '600']]}", "timeout: 2s", "true", "was not done after 2 s"),
    ] {
        let script = format!("{script}; {WRITES}");
        let env = project(settings, "{id: write, role: coders}", &[("coder", &script)]);
        set_runs(&env, run);
        let id = env.new_task(&["One"]);
        let mut command = env.aof_command(&["run", "--all"]);
        command.env("TOKEN", "sesame-12345678");
        let _ = env.run(command).code(1);
        assert_eq!(stand(&env, &id), "blocked write -", "{why}");
        let summary = shown(&env, &id)["gateHistory"][0]["summary"].to_string();
        assert!(summary.contains(why), "{why}: {summary}");
        assert!(!env.git(&["log", "--all", "-p"]).contains("sesame"));
    }
}

#[test]
fn a_missing_base_waits_and_names_the_branch() {
    let env = two_gates("workspaces: {base: trunk}");
    let id = env.new_task(&["One"]);
    let ran = env.aof(&["run", "--all"]).code(7);
    assert!(ran.stdout.contains("there is no branch `trunk` here"), "{ran}");
    assert_eq!(stand(&env, &id), "ready write -");
    // The base counts as it is now, not as the remote had it.
    env.git(&["branch", "trunk"]);
    let _ = env.aof(&["run", "--all"]).success();
    assert_eq!(stand(&env, &id), "complete - -");
}

#[test]
fn submodules_sparse_checkouts_and_names_in_two_cases_are_no_obstacle() {
    let script = format!(
        "git -c protocol.file.allow=always submodule update -q --init && echo a > Readme && echo b > README && {WRITES}"
    );
    let env = project("", "{id: write, role: coders}", &[("coder", &script)]);
    let library = env.home().join("library");
    std::fs::create_dir_all(&library).unwrap();
    let path = library.to_str().unwrap();
    env.git(&["init", "--quiet", path]);
    env.git(&["-C", path, "commit", "--quiet", "--allow-empty", "--message", "one"]);
    let module = ["submodule", "--quiet", "add", path, "library"];
    env.git(&[&["-c", "protocol.file.allow=always"][..], &module].concat());
    env.write("deep/file.txt", "deep\n");
    env.write("wide/file.txt", "wide\n");
    env.commit_all("a submodule");
    env.git(&["sparse-checkout", "set", "deep"]);
    let id = env.new_task(&["One"]);
    let _ = env.aof(&["run", "--all"]).success();
    let changed = env.git(&["diff", "--name-only", "main", &format!("aof-work/{id}")]);
    assert_eq!(changed, "README\nReadme\nwrite.txt\n");
    env.git(&["merge", "--quiet", &format!("aof-work/{id}")]);
    assert_eq!(env.aof(&["workspace", "prune"]).success().stdout, "removed AOF-xxxxx\n");
    assert!(!env.exists(&format!(".aof/work/{id}")) && env.exists("library/.git"));
}
