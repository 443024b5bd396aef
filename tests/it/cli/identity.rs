//! Who acts: a person at a terminal, or the agent that is named.

use std::fs;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::environment::{Output, TestEnvironment};

const PROJECT: &str = "\
workflow:
  gates:
    - {id: build, role: worker}
    - {id: security, role: reviewer, requireHuman: true, when: \"tags.includes('auth') || metadata.risk === 'high'\"}
    - {id: ship, role: worker}
";

const ORG: &str = "\
roles:
  worker: {agents: [agent-1, agent-2]}
  reviewer: {agents: [human-ada]}
agents:
  agent-1: {email: agent-1@example.org}
  agent-2: {email: bot@example.org}
  human-ada: {email: ada@example.org}
";

/// Runs the command without a terminal. It must change nothing, and name the agents.
fn refused(env: &TestEnvironment, args: &[&str]) {
    let (head, json) = (env.head(), &[args, &["--json"]].concat());
    for output in [env.unattended(args).code(4), env.unattended(json).code(4)] {
        let text = output.to_string();
        assert!(text.contains("agent-1"), "{args:?}: {text}");
        let hint = text.split("hint:").nth(1).unwrap_or_default();
        assert!(!hint.contains("human-"), "{args:?}: {text}");
    }
    assert_eq!(env.unattended(json).json()["error"], "no_agent", "{args:?}");
    assert_eq!(env.head(), head, "{args:?}");
}

#[test]
fn gits_user_decides_only_at_a_terminal() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth", "--meta", "risk=low"]);
    let other = &env.new_task(&["Other"]);
    let ended = &env.new_task(&["Ended"]);
    let _ = env.aof(&["cancel", ended, "--reason", "No"]).success();
    for args in [
        &["override", id, "--to", "ship", "--reason", "x"][..],
        &["cancel", id, "--reason", "x"],
        &["hold", id, "--reason", "x"],
        &["assign", "--claim", id, "agent-1"],
        &["reopen", ended, "--to", "build", "--reason", "x"],
        &["undo", ended],
        &["release", id],
        &["claim", id],
        &["complete", id, "--outcome", "complete", "--summary", "x"],
        &["approve", id],
        &["next"],
        &["edit", id, "--untag", "auth"],
        &["edit", id, "--meta", "risk=medium"],
        &["edit", id, "--unset-meta", "risk", "--title", "x"],
        &["edit", id, "--depends", other],
    ] {
        refused(&env, args);
    }
    let _ = env.aof(&["hold", id, "--reason", "Wait"]).success();
    refused(&env, &["unblock", id]);
    assert_snapshot!(env.unattended(&["unblock", id, "--reason", "go on"]).stderr, @"
    error: git's user acts only at a terminal, and no agent is named

    hint: say which agent you are, as in `aof unblock AOF-xxxxx --reason 'go on' --agent agent-1`, or in `AOF_AGENT`; org.yaml has `agent-1`, `agent-2`
    ");
}

#[test]
fn a_refusal_repeats_the_command_with_its_text() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login"]);
    let hint = |text: &str| {
        let refused = env.unattended(&["hold", id, "-m", text]).code(4).stderr;
        refused.split("hint: ").nth(1).unwrap_or_default().to_owned()
    };
    let ticks = hint("see `main.rs`");
    let wanted = r"`aof hold AOF-xxxxx -m $'see \x60main.rs\x60' --agent agent-1`";
    assert!(ticks.contains(wanted), "{ticks}");
    // Only the end of a long text is left out.
    let long = hint(&"word ".repeat(60));
    let wanted = format!("`aof hold AOF-xxxxx -m '{}...' --agent agent-1`", "word ".repeat(30));
    assert!(long.contains(&wanted), "{long}");
}

#[test]
fn texts_and_keys_that_no_rule_reads_need_no_terminal() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    for args in [
        &["edit", id, "--title", "Log in", "--link", "a.md", "--body", "More"][..],
        &["edit", id, "--meta", "size=3", "--priority", "high", "--due", "2026-12-01"],
        &["edit", id, "--milestone", "v1", "--tag", "auth"],
        &["comment", id, "-m", "Well"],
    ] {
        let _ = env.unattended(args).success();
    }
    let _ = env.at_terminal(&["edit", id, "--untag", "auth"]).success();
    let log = env.git(&["log", "-1", "--format=%an %(trailers)"]);
    assert!(log.starts_with("Ada ") && !log.contains("Aof-Named"), "{log}");
}

#[test]
fn boxes_that_a_check_reads_are_taken_out_only_at_a_terminal() {
    let project = "workflow:\n  gates:\n    - {id: build, role: worker, check: [checklist, tests]}\n    - {id: ship, role: worker}\n";
    let env = TestEnvironment::with_rules(project, ORG);
    let id = &env.new_task(&["Login", "--body", "- [ ] one\n- [ ] two"]);
    refused(&env, &["edit", id, "--body", "- [x] one"]);
    let _ = env.unattended(&["edit", id, "--body", "- [x] one\n- [ ] two\n- [ ] three"]).success();
}

#[test]
fn a_child_leaves_a_waiting_parent_only_at_a_terminal() {
    let project = "workflow:\n  gates:\n    - {id: build, role: worker}\n    - {id: ship, role: worker, waitFor: children}\n";
    let env = TestEnvironment::with_rules(project, ORG);
    let parent = &env.new_task(&["Parent"]);
    let child = &env.new_task(&["Child", "--parent", parent]);
    refused(&env, &["edit", child, "--unparent"]);
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let parent = &env.new_task(&["Parent"]);
    let child = &env.new_task(&["Child", "--parent", parent]);
    let _ = env.unattended(&["edit", child, "--unparent"]).success();
}

#[test]
fn a_person_without_proof_is_marked() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    let _ = env.complete(id, "agent-1");
    let _ = env.unattended(&["approve", id, "--agent", "human-ada"]).success();
    let mut hold = env.aof_command(&["hold", id, "--reason", "Wait"]);
    hold.env("AOF_AGENT", "human-ada").stdin(Stdio::null());
    let _ = env.run(hold).success();
    let format = "--format=%(trailers:key=Aof-Named,valueonly,separator=%x2C)";
    assert_eq!(env.git(&["log", format, "-2"]), "human-ada\nhuman-ada\n");
    let page = env.aof(&["show", id]).success().stdout;
    assert!(page.contains("human-ada: named, not seen (complete at security)"), "{page}");
    let history = env.aof(&["history", id]).success().stdout;
    assert!(history.contains("ada") && history.contains("named, not seen"), "{history}");
    for (command, list) in [("show", "gateHistory"), ("history", "history")] {
        let entries = &env.aof(&[command, id, "--json"]).json()[list];
        assert_eq!(entries[0].get("namedNotSeen"), None, "{command}");
        assert_eq!(entries[1]["namedNotSeen"], true, "{command}");
    }
    let verified = env.aof(&["verify"]).success().stdout;
    let note = "a person is named, not seen [named_unseen]";
    assert_eq!(verified.matches(note).count(), 2, "{verified}");

    let other = &env.new_task(&["Logout", "--tag", "auth"]);
    let _ = env.complete(other, "agent-1");
    let _ = env.at_terminal(&["hold", other, "--agent", "human-ada", "--reason", "Wait"]).success();
    assert!(!env.git(&["log", "-1"]).contains("Aof-Named"));
}

#[test]
fn a_git_user_that_is_an_agent_acts_as_that_agent() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    let seen = &env.new_task(&["Logout", "--tag", "auth"]);
    let _ = env.complete(id, "agent-1");
    let refused = |output: Output| {
        let output = output.code(4);
        let is_agents = output.stderr.contains("agent-2") && !output.stderr.contains("no agent is");
        assert!(is_agents, "{output}");
    };
    env.git(&["config", "user.email", "bot@example.org"]);
    let acts: [&[&str]; 4] = [
        &["override", id, "--to", "ship", "--reason", "x"],
        &["cancel", id, "--reason", "x"],
        &["edit", id, "--untag", "auth"],
        &["new", "Another"],
    ];
    for args in acts {
        refused(env.unattended(args));
        refused(env.at_terminal(args));
    }
    // Nor does a terminal of its own make it the person whom it names.
    let _ = env.complete(seen, "agent-1");
    for args in [
        &["hold", seen, "--reason", "Wait", "--agent", "human-ada"][..],
        &["unblock", seen, "--agent", "human-ada"],
        &["approve", seen, "--agent", "human-ada", "--json"],
        &["edit", seen, "--tag", "b", "--agent", "human-ada"],
    ] {
        let _ = env.at_terminal(args).success();
        assert!(env.git(&["log", "-1"]).contains("Aof-Named: human-ada"), "{args:?}");
    }
    let _ = env.aof(&["claim", seen, "--agent", "agent-1"]).success();
    env.edit(&env.task_path(seen), "- auth", "- c");
    let accept = ["edit", seen, "--accept", "--agent", "human-ada"];
    assert!(env.at_terminal(&accept).code(4).stderr.contains("only a person"));
    env.git(&["restore", "."]);
    env.git(&["config", "--unset", "user.email"]);
    for person in ["AUTHOR", "COMMITTER"] {
        let mut command = env.aof_command(acts[0]);
        command.env(format!("GIT_{person}_EMAIL"), "agent-2@aof.invalid");
        refused(env.run(command));
    }
    env.write("org.yaml", ORG.replace("{email: bot", "{may: [cancel], email: bot"));
    env.commit_all("agents may cancel");
    env.git(&["config", "user.email", "bot@example.org"]);
    let _ = env.unattended(&["cancel", id, "--reason", "x"]).success();
    assert!(env.log().starts_with("agent-2: AOF-"), "{}", env.log());
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn verify_reports_acts_without_permission() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    let _ = env.complete(id, "agent-1");
    env.write("org.yaml", ORG.replace("{email: bot", "{may: [override], email: bot"));
    env.commit_all("agents may override");
    let args = ["override", id, "--to", "ship", "--reason", "x", "--agent", "agent-2"];
    let _ = env.unattended(&args).success();
    let _ = env.aof(&["verify"]).success();
    // The same commit, where the rules do not allow it.
    let step = env.head();
    env.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    env.git(&["cherry-pick", &step]);
    let verified = env.aof(&["verify"]).code(1).stdout;
    assert!(verified.contains("[not_allowed]") && verified.contains("`agent-2`"), "{verified}");
}

#[test]
fn an_edit_that_the_rules_read_waits_while_an_agent_holds_the_task() {
    for (key, from, to) in [
        ("tags", "  - auth\n", "  - docs\n"),
        ("metadata.risk", "risk: high", "risk: low"),
        ("dependsOn", "tags:", "dependsOn: [AOF-other]\ntags:"),
    ] {
        let env = TestEnvironment::with_rules(PROJECT, ORG);
        let id = &env.new_task(&["Login", "--tag", "auth", "--meta", "risk=high"]);
        let _ = env.aof(&["claim", id, "--agent", "agent-1"]).success();
        let (path, other) = (env.task_path(id), env.new_task(&["Other"]));
        // A text is welcome.
        env.edit(&path, "title: Login", "title: Log in");
        let _ = env.aof(&["watch", "--once"]).success();
        assert!(env.log().starts_with("Ada: AOF-xxxxx: edited by hand"), "{}", env.log());
        let before = env.read(&path);
        env.edit(&path, from, &to.replace("AOF-other", &other));
        let head = env.head();
        let _ = env.aof(&["watch", "--once"]);
        let frozen = env.say(id, "agent-1", "complete", &[]).code(5);
        assert!(frozen.stderr.contains(key) && frozen.stderr.contains("--accept"), "{frozen}");
        assert!(env.aof(&["status"]).stdout.contains(key));
        assert!(env.aof(&["why", id]).stdout.contains("--accept"));
        let shown = env.aof(&["show", id, "--json"]).json();
        assert_eq!(shown["frozen"], serde_json::json!([key]));
        let _ = env.unattended(&["edit", id, "--accept"]).code(4);
        let _ = env.unattended(&["edit", id, "--accept", "--agent", "human-ada"]).code(4);
        let _ = env.at_terminal(&["edit", id, "--accept", "--agent", "agent-1"]).code(4);
        assert_eq!(env.head(), head, "{key}");
        match key {
            "tags" => {
                let _ = env.at_terminal(&["edit", id, "--accept"]).success();
                assert!(env.log().starts_with("Ada: AOF-xxxxx: edit accepted"), "{}", env.log());
            }
            "dependsOn" => env.commit_all("mine"),
            _ => env.write(&path, before),
        }
        assert_eq!(env.aof(&["show", id, "--json"]).json().get("frozen"), None, "{key}");
        let _ = env.aof(&["release", id, "--agent", "agent-1"]).success();
        let _ = env.aof(&["verify"]).success();
    }
}

#[test]
fn the_way_back_of_such_an_edit_names_the_file_that_git_has() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    let _ = env.aof(&["claim", id, "--agent", "agent-1"]).success();
    let (path, moved) = (env.task_path(id), format!("tasks/sub/{id}.md"));
    env.write(&moved, env.read(&path).replace("- auth", "- docs"));
    fs::remove_file(env.path(&path)).unwrap();
    let frozen = env.say(id, "agent-1", "complete", &[]).code(5).stderr;
    assert!(frozen.contains("--accept") && frozen.contains("remove `tasks/sub/"), "{frozen}");
    let way = frozen.split('`').find(|part| part.starts_with("git restore ")).unwrap();
    env.git(&way.replace("AOF-xxxxx", id).split(' ').skip(1).collect::<Vec<_>>());
    fs::remove_file(env.path(&moved)).unwrap();
    let _ = env.complete(id, "agent-1");
}

#[test]
fn a_task_that_no_program_holds_takes_each_edit_of_a_person() {
    let env = TestEnvironment::with_rules(PROJECT, ORG);
    let id = &env.new_task(&["Login", "--tag", "auth"]);
    env.edit(&env.task_path(id), "  - auth\n", "  - docs\n");
    let _ = env.complete(id, "agent-1");
    assert_eq!(env.aof(&["show", id, "--json"]).json()["gate"]["current"], "ship");
}

#[test]
fn tests_of_a_commit_that_an_agent_made_are_no_persons() {
    let project = "workflow:\n  gates:\n    - {id: build, role: worker, check: tests}\n    - {id: ship, role: worker}\n";
    let env = TestEnvironment::with_rules(project, ORG);
    let id = &env.new_task(&["Login"]);
    let path = env.task_path(id);
    let tests = "tests:\n  - {when: {run: [\"false\"]}, then: {exit: 0}}\ntitle: Login";
    env.edit(&path, "title: Login", tests);
    env.commit_all("tests");
    env.edit(&path, "exit: 0", "exit: 1");
    env.git(&["add", "--all"]);
    let mut amend = env.command("git");
    amend.args(["commit", "--quiet", "--amend", "--no-edit"]);
    amend.env("GIT_COMMITTER_EMAIL", "agent-1@example.org");
    let _ = env.run(amend).success();
    let _ = env.say(id, "agent-1", "complete", &[]).code(4);
    assert_eq!(env.aof(&["show", id, "--json"]).json()["gate"]["current"], "build");
}

#[test]
fn a_started_agent_has_gits_identity_of_its_own() {
    let org = ORG.replace("agent-1: {", "agent-1: {run: {command: [sh, agent.sh]}, ");
    let env = TestEnvironment::with_rules(PROJECT, &org);
    let script = "exec > seen 2>&1\ngit var GIT_AUTHOR_IDENT\ngit var GIT_COMMITTER_IDENT\n\
                  env | grep GIT_CONFIG_ | sort\n\
                  aof override \"$AOF_TASK\" --to ship --reason x; echo \"exit $?\"\n\
                  printf '{\"outcome\": \"complete\", \"summary\": \"Did it\"}' > \"$AOF_OUTPUT\"\n";
    env.write("agent.sh", script);
    env.write(".gitignore", "seen\n.aof\n");
    env.commit_all("agent");
    let id = &env.new_task(&["Login"]);
    let mut run = env.aof_command(&["run", "--task", id]);
    let pager = [("COUNT", "1"), ("KEY_0", "core.pager"), ("VALUE_0", "cat")];
    run.envs(pager.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value)));
    let _ = env.run(run);
    let seen = env.read("seen");
    assert_eq!(seen.matches("agent-1 <agent-1@example.org>").count(), 2, "{seen}");
    assert!(seen.contains("GIT_CONFIG_COUNT=1\n") && seen.contains("exit 4\n"), "{seen}");
    let log = env.git(&["log", "--format=%an %cn %s", "--", "tasks"]);
    assert!(log.contains("agent-1 agent-1 "), "{log}");
    assert!(log.lines().all(|line| !line.starts_with("agent-1 Ada")), "{log}");
    assert!(log.contains("Ada Ada "), "{log}");
    let _ = env.aof(&["verify"]).success();
}
