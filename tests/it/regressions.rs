//! What a hostile or a naive user once ran into.

use crate::checker::check;
use crate::environment::TestEnvironment;

#[test]
fn a_file_that_was_deleted_is_missed_and_can_be_brought_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    std::fs::remove_file(env.path(&path)).unwrap();

    let output = env.say(&id, "agent-7", "complete", &[]).code(3);
    assert!(output.stderr.contains("is gone"), "{output}");
    let status = env.aof(&["--json", "status"]).success().json();
    let point = &status["attention"][0];
    assert_eq!(point["code"], "task_missing", "{status}");

    // The command that is named does what it says.
    let fix = point["fix"].as_str().unwrap();
    let command =
        fix.split('`').nth(1).unwrap().strip_prefix("git ").unwrap().replace("AOF-xxxxx", &id);
    env.git(&command.split(' ').collect::<Vec<_>>());
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn a_file_that_was_moved_is_not_missed() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = env.task_path(&id);
    std::fs::create_dir(env.path("tasks/sprint")).unwrap();
    std::fs::rename(env.path(&path), env.path("tasks/sprint").join(format!("{id}.md"))).unwrap();
    let status = env.aof(&["--json", "status"]).success().json();
    assert!(!status.to_string().contains("task_missing"), "{status}");
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn a_copy_in_another_folder_is_not_taken_for_a_move() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    std::fs::create_dir(env.path("tasks/sprint")).unwrap();
    env.git(&["mv", &env.task_path(&id), "tasks/sprint/"]);
    env.commit_all("sorted");
    let head = env.head();
    std::fs::copy(env.path(&format!("tasks/sprint/{id}.md")), env.path(&format!("tasks/{id}.md")))
        .unwrap();

    let output = env.say(&id, "agent-7", "complete", &[]).code(6);
    assert!(output.stderr.contains("has 2 files"), "{output}");
    assert_eq!(env.head(), head);
}

#[test]
fn a_frozen_task_is_shown_as_frozen_with_the_way_back() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "current: implement", "current: review");

    let output = env.aof(&["task", "show", &id]).success();
    assert!(output.stderr.contains("changed by hand in what the engine keeps: gate"), "{output}");
    assert_eq!(env.aof(&["--json", "task", "show", &id]).success().json()["frozen"][0], "gate");

    let refused = env.say(&id, "agent-3", "complete", &[]).code(5);
    let hint = refused.stderr.split("hint: ").nth(1).unwrap().replace("AOF-xxxxx", &id);
    let commands: Vec<&str> = hint.split('`').skip(1).step_by(2).collect();
    let restore = commands.iter().find(|command| command.starts_with("git restore")).unwrap();
    env.git(&restore.strip_prefix("git ").unwrap().split(' ').collect::<Vec<_>>());
    let step = commands.iter().find(|command| command.starts_with("aof task override")).unwrap();
    let step = step.replace("GATE", "review").replace("\"...\"", "why");
    let _ = env.aof(&step.split(' ').skip(1).collect::<Vec<_>>()).success();
}

#[test]
fn a_renamed_task_that_no_commit_knows_is_told_how_to_go_on() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    std::fs::rename(env.path(&env.task_path(&id)), env.path("tasks/AOF-login.md")).unwrap();
    env.edit("tasks/AOF-login.md", &format!("id: {id}"), "id: AOF-login");

    let output = env.say("AOF-login", "agent-3", "complete", &[]).code(5);
    assert!(output.stderr.contains("was never committed"), "{output}");
    assert!(!output.stderr.contains("git restore"), "there is nothing to restore: {output}");
    env.commit_all("renamed");
    let _ = env.complete("AOF-login", "agent-3");
}

#[test]
fn what_is_said_of_an_unreadable_file_can_be_done() {
    let env = TestEnvironment::new();
    let fix = |env: &TestEnvironment| {
        let status = env.aof(&["--json", "status"]).success().json();
        let points = status["attention"].as_array().unwrap();
        let point = points
            .iter()
            .find(|point| point["code"] == "unreadable_task")
            .expect("it cannot be read");
        point["fix"].as_str().unwrap().to_owned()
    };
    // Nobody committed it: there is nothing to bring back.
    env.write("tasks/AOF-open.md", "---\ntitle: x\n");
    assert_eq!(fix(&env), "mend it: add a line that is exactly `---` after the last key");
    // HEAD has the same.
    env.commit_all("broken");
    assert_eq!(fix(&env), "mend it: add a line that is exactly `---` after the last key");
    env.write("tasks/AOF-open.md", "---\ntitle: x\n---\n");
    env.commit_all("mended");
    env.write("tasks/AOF-open.md", "---\ntitle: [\n---\n");
    assert!(fix(&env).contains("`git restore --source=HEAD tasks/AOF-open.md`"), "{}", fix(&env));
}

#[test]
fn a_readme_among_the_tasks_is_no_broken_task() {
    let env = TestEnvironment::new();
    env.write("tasks/README.md", "What we work on.\n");
    let _ = env.aof(&["task", "list"]).success();
    let status = env.aof(&["status"]).success();
    assert!(!status.stdout.contains("README"), "{status}");
}

#[test]
fn who_wrote_an_edit_need_not_be_known_to_look_at_it() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.edit(&env.task_path(&id), "title: Add login", "title: Add a login");
    std::fs::write(env.home().join(".gitconfig"), "").unwrap();

    let _ = env.aof(&["why", &id]).success();
    let status = env.aof(&["status"]).success();
    assert!(status.stdout.contains("1 edit of a task is not committed"), "{status}");
    let output = env.say(&id, "agent-7", "complete", &[]).code(1);
    assert!(output.stderr.contains("git does not know who you are"), "{output}");
}

#[test]
fn an_empty_variable_names_no_agent() {
    let env = TestEnvironment::new();
    let mut command = env.aof_command(&["task", "new", "Add login"]);
    command.env("AOF_AGENT", "");
    let _ = env.run(command).success();
}

#[test]
fn usage_errors_are_json_where_json_is_wanted() {
    let env = TestEnvironment::new();
    for args in [
        &["--json", "frobnicate"][..],
        &["task", "show", "--json", "../x"],
        &["task", "list", "--json", "--status=x"],
    ] {
        let output = env.aof(args).code(2);
        assert_eq!(output.json()["error"], "usage", "{output}");
        assert!(output.stderr.starts_with("error: "), "{output}");
    }
    assert_eq!(env.aof(&["frobnicate"]).code(2).stdout, "");
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_printed_is_not_passed_over() {
    let env = TestEnvironment::new();
    env.new_task(&["Add login"]);
    let mut command = env.aof_command(&["task", "list"]);
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    command.stderr(std::process::Stdio::piped());
    let output = command.spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cannot write to standard output"), "{said}");
}

#[test]
fn every_text_may_begin_with_a_dash() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env
        .aof(&["task", "edit", &id, "--title", "- a title", "--description", "-- a description"])
        .success();
    let _ = env.aof(&["task", "cancel", &id, "--reason", "- not needed"]).success();
    let _ =
        env.aof(&["task", "reopen", &id, "--to", "implement", "--reason", "- needed"]).success();
    let _ = env.aof(&["task", "override", &id, "--to", "review", "--reason", "-x"]).success();
    let _ = env.aof(&["task", "comment", &id, "--dry-run", "- a list"]).success();
    assert!(!env.task_text(&id).contains("a list"), "a rehearsal writes nothing");
    let _ = env.aof(&["task", "comment", &id, "- a list"]).success();
    assert!(env.task_text(&id).contains("\n- a list\n"));
}

#[test]
fn the_command_that_init_names_enters_the_folder() {
    let env = TestEnvironment::without_repository();
    let output = env.aof(&["init", "my garden's"]).success();
    let line = output.stdout.lines().find(|line| line.trim_start().starts_with("cd ")).unwrap();
    let mut shell = env.command("sh");
    shell.args(["-c", &format!("{line} && ls")]);
    let listed = env.run(shell).success();
    assert!(listed.stdout.contains("project.yaml"), "{listed}");
}

#[test]
fn nobody_is_named_who_could_move_a_task_that_the_loop_guard_holds() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: developer}\n    - {id: review, role: reviewer, canReject: true, \
         routes: {needs_review: implement}, maxRetries: 0}\n",
        "roles:\n  developer: {agents: [agent-7]}\n  reviewer: {agents: [agent-3]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "The session never expires"])
        .success();
    let refused = env.say(&id, "agent-7", "complete", &["--json"]).code(4);
    assert_eq!(refused.json()["error"], "circular_loop");

    let why = env.aof(&["why", &id]).success();
    let told = why.stdout.split("Who can move it").nth(1).unwrap();
    assert!(told.contains("nobody in role developer before a person has looked at it"), "{why}");
    assert!(told.contains("task unblock AOF-xxxxx --reason"), "{why}");
    assert_eq!(env.aof(&["why", &id, "--json"]).success().json()["who"], serde_json::json!([]));
    let shown = env.aof(&["task", "show", &id, "--json"]).success().json();
    assert_eq!(shown["available"]["agents"], serde_json::json!([]));
}

#[test]
fn why_shows_no_escape_codes_and_blames_nobody_for_what_a_gate_decided() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: size, type: condition, when: 'true', routes: {true: $next, false: $fail}}\n    \
         - id: checks\n      type: fork\n      branches:\n        - {id: docs, role: writer}\n        \
         - {id: ghost, role: nobody}\n",
        "roles:\n  writer: {agents: [agent-7]}\n  nobody: {agents: []}\n",
    );
    let id = env.new_task(&["Add login"]);
    let why = env.aof(&["why", &id, "--color", "always"]).success();
    assert!(!why.stdout.contains("u{1b}"), "{why}");
    assert!(why.stdout.contains("ghost: blocked: No agents available for role: nobody"), "{why}");
    assert!(why.stdout.contains("gate `size` came to `true` by itself"), "{why}");
}

#[test]
fn a_task_that_the_rules_left_behind_is_told_of_and_can_be_set_going() {
    let work = "- {id: check, role: writer}";
    let fork =
        "- {id: check, type: fork, branches: [{id: a, role: writer}, {id: b, role: writer}]}";
    let other =
        "- {id: check, type: fork, branches: [{id: c, role: writer}, {id: d, role: writer}]}";
    let condition =
        "- {id: check, type: condition, when: 'true', routes: {true: $next, false: $fail}}";
    let rules = |gate: &str| {
        format!(
            "workflow:\n  gates:\n    - {{id: write, role: writer}}\n    {gate}\n    - {{id: send, role: writer}}\n"
        )
    };
    for (before, after) in [(work, condition), (work, fork), (fork, other), (fork, condition)] {
        let env = TestEnvironment::with_rules(
            &rules(before),
            "roles:\n  writer: {agents: [agent-7, agent-8]}\n",
        );
        let id = env.new_task(&["Add login"]);
        let _ = env.complete(&id, "agent-7").success();
        env.write("project.yaml", rules(after));
        env.commit_all("other rules");

        let status = env.aof(&["status", "--json"]).success().json();
        assert_eq!(status["attention"][0]["code"], "rules_not_followed", "{after}: {status}");
        let why = env.aof(&["why", &id]).success();
        // What is said is meant for the visit that it was said in, not for the one that the task goes on to.
        let _ = env.say(&id, "agent-7", "complete", &[]).code(5);
        if after == condition {
            assert!(why.stdout.contains("gate `check` decides by itself"), "{why}");
            assert!(env.aof(&["why", &id]).success().stdout.contains("gate    send"), "{after}");
            continue;
        }
        assert!(why.stdout.contains("has it begin there anew"), "{why}");
        assert!(!why.stdout.contains("no agent that may"), "{why}");
        let status = env.aof(&["status", "--json"]).success().json();
        assert!(!status.to_string().contains("rules_not_followed"), "{after}: {status}");
        assert!(
            env.aof(&["why", &id]).success().stdout.contains("it began anew at `check`"),
            "{after}"
        );
        check(&env);
    }
}

#[test]
fn a_fork_that_became_work_shows_no_branches() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: check, type: fork, branches: [{id: a, role: writer}, {id: b, role: writer}]}\n",
        "roles:\n  writer: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    env.write("project.yaml", "workflow:\n  gates:\n    - {id: check, role: writer}\n");
    env.commit_all("other rules");
    let why = env.aof(&["why", &id]).success();
    assert!(
        why.stdout.contains("agent-7 (role writer)") && !why.stdout.contains("  - a: "),
        "{why}"
    );
}

#[test]
fn a_detour_for_what_was_sent_back_too_often_leads_back_to_the_gate_that_sent_it() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    - {id: rescue, role: worker, detour: true}\n    \
         - {id: review, role: worker, canReject: true, maxRetries: 0, onExhausted: {to: rescue}}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let rejected = env
        .say(&id, "agent-7", "needs_review", &["--blocker", "The session never expires"])
        .success();
    assert!(rejected.stdout.contains("review -> rescue"), "{rejected}");
    let rescued = env.complete(&id, "agent-7");
    assert!(rescued.stdout.contains("rescue -> review"), "{rescued}");
}

#[test]
fn a_document_that_says_its_outcome_needs_no_summary_beside_it() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    - id: review\n      role: worker\n      \
         routes: {approved: $next, needs_fixes: implement}\n      outputs:\n        oneOf:\n          \
         - properties: {$status: {const: approved}}\n          \
         - {properties: {$status: {const: needs_fixes}, comments: {type: string}}, required: [$status, comments]}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let document = "---\n$status: needs_fixes\ncomments: The session never expires.\n---\nWhat I looked at.\nAt length.\n";
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    env.write("review.md", document);
    let _ =
        env.aof(&["task", "complete", &id, "--agent", "agent-7", "--file", "review.md"]).success();
    assert!(env.task_text(&id).contains("summary: What I looked at."), "{}", env.task_text(&id));

    let _ = env.complete(&id, "agent-7").success();
    let dropped = document.replacen("---\n", &format!("---\ntask: {id}\nagent: agent-7\n"), 1);
    env.write(".aof/inbox/review.md", dropped);
    let taken = env.aof(&["watch", "--once"]).success();
    assert!(taken.stdout.contains("review -> implement (needs_fixes)"), "{taken}");
}

#[test]
fn a_verdict_in_a_summary_leaves_notes_that_say_what_is_to_be_settled() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: implement, role: worker}\n    \
         - {id: review, role: worker, canReject: true, signal: gate}\n",
        "roles:\n  worker: {agents: [agent-7]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let words = "The session never expires <gate>FAIL</gate>";
    let _ = env.aof(&["task", "complete", &id, "--agent", "agent-7", "--summary", words]).success();
    let brief = env.aof(&["task", "brief", &id]).success();
    assert!(brief.stdout.contains("Settle what the notes say"), "{brief}");
    assert!(brief.stdout.contains("The session never expires"), "{brief}");
}

#[test]
fn what_is_refused_at_a_branch_names_the_branch_as_its_brief_does() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: write, role: writer}\n    - id: checks\n      type: fork\n      branches:\n        - {id: docs, role: writer, canReject: \
         true}\n        - {id: looks, role: tester}\n",
        "roles:\n  writer: {agents: [agent-7]}\n  tester: {agents: [agent-8]}\n",
    );
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    let ticket = format!("{id}@1/docs");
    let place = serde_json::json!("checks/docs");
    let brief = env.aof(&["task", "brief", &ticket, "--json"]).success().json();
    assert_eq!(brief["gate_context"]["gate"], place);
    assert_eq!(env.say(&ticket, "agent-8", "complete", &["--json"]).code(4).json()["gate"], place);
    assert_eq!(env.say(&ticket, "agent-7", "skip", &["--json"]).code(4).json()["gate"], place);
    let gates = env.aof(&["gate", "status", "--json"]).success().json();
    assert_eq!(
        (&gates["gates"][1]["role"], &gates["gates"][2]["role"]),
        (&serde_json::Value::Null, &"writer".into())
    );
}

#[test]
fn a_variable_that_names_no_agent_is_named_itself() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    for args in [
        &["task", "list"][..],
        &["task", "next"],
        &["task", "complete", &id, "-o", "complete", "-s", "done"],
    ] {
        let mut command = env.aof_command(args);
        command.env("AOF_AGENT", "a b");
        let output = env.run(command).code(2);
        assert!(
            output.stderr.contains("invalid value 'a b' for 'the variable AOF_AGENT'"),
            "{output}"
        );
        assert!(!output.stderr.contains("--me"), "{output}");
    }
    // What somebody wrote is named as they wrote it.
    let mut command = env.aof_command(&["task", "next", "--agent", "a b"]);
    command.env("AOF_AGENT", "a b");
    let output = env.run(command).code(2);
    assert!(output.stderr.contains("for '--agent <ID>'"), "{output}");
}

#[test]
fn the_demo_says_that_it_has_no_json() {
    let env = TestEnvironment::without_repository();
    let output = env.aof(&["demo", "--json"]).code(2);
    assert_eq!(output.json()["error"], "usage", "{output}");
    assert!(output.stderr.contains("has no JSON"), "{output}");
}

#[test]
fn the_demo_says_that_git_is_missing() {
    let env = TestEnvironment::without_repository();
    let mut command = env.aof_command(&["demo"]);
    command.env("PATH", env.home().join("nowhere"));
    let output = env.run(command).code(1);
    assert!(
        output.stderr.contains("error: `git --no-pager init")
            || output.stderr.contains("error: `git init"),
        "{output}"
    );
    assert!(
        output.stderr.contains("hint: see that git is installed, in one of the folders of `PATH`"),
        "{output}"
    );
    assert!(!output.stderr.contains("stuck"), "{output}");
}
