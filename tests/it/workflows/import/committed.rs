//! Another system's file becomes a workflow that is committed and runs.

use insta::assert_snapshot;

use crate::support::environment::TestEnvironment;

/// Two gates that everybody knows already.
const PROJECT: &str = "\
workflow:
  name: usual
  gates:
    - id: work
      role: coder
    - id: look
      role: tester
      canReject: true
";

const ORG: &str = "\
roles:
  coder: {agents: [agent-1]}
  tester: {agents: [agent-2]}
  researcher: {agents: [agent-3]}
";

/// A step that tries twice, and goes back when that was not enough.
const BUG: &str = r#"{
  "id": "bug",
  "description": "Find it, mend it, prove it",
  "steps": [
    {"id": "find", "type": "agent", "agent": "researcher", "on_success": "mend"},
    {"id": "mend", "type": "agent", "agent": "coder", "input": "A patch, and no more", "on_success": "prove"},
    {"id": "prove", "type": "agent", "agent": "tester", "max_retries": 2, "on_success": "end", "on_error": "mend"}
  ]
}
"#;

fn kitchen() -> TestEnvironment {
    TestEnvironment::with_rules(PROJECT, ORG)
}

#[test]
fn an_imported_workflow_is_committed_alone_and_runs() {
    let env = kitchen();
    env.write("bug.json", BUG);
    env.write("staged.txt", "mine");
    env.git(&["add", "staged.txt"]);
    assert_snapshot!(env.aof(&["workflow", "import", "bug.json"]), @"
    exit 0
    --- stdout
    bug.json, read as openagents:
         2  kept       id: as `name`
         3  kept       description
         5  kept       steps.find.id
         5  dropped    steps.find.type: what a gate is anyway
         5  converted  steps.find.agent: `role`
         5  converted  steps.find.on_success: leads to `mend`
         6  kept       steps.mend.id
         6  dropped    steps.mend.type: what a gate is anyway
         6  converted  steps.mend.agent: `role`
         6  converted  steps.mend.input: `brief.instructions`: there is no step of that name, so it is a text
         6  converted  steps.mend.on_success: leads to `prove`
         7  kept       steps.prove.id
         7  dropped    steps.prove.type: what a gate is anyway
         7  converted  steps.prove.agent: `role`
         7  converted  steps.prove.max_retries: `maxRetries` is one less: it counts tries, and again at each arrival; here all of a task are counted
         7  converted  steps.prove.on_success: leads to `$end`
         7  converted  steps.prove.on_error: leads to `mend`
         -  added      find.on_error: not given: there an error goes the way of a success; here it fails the task (`$fail`)
         -  added      mend.on_error: not given: there an error goes the way of a success; here it fails the task (`$fail`)
         -  added      run.exit: a program that ends well has done its step, as there
    5 kept, 9 converted, 3 added, 3 dropped

    imported workflows/bug.yaml, commit COMMIT

    org.yaml has these roles already; its agents get the work: `researcher` (`agent-3`), `coder` (`agent-1`), `tester` (`agent-2`)
    ");
    assert_snapshot!(env.read("workflows/bug.yaml"), @r#"
    name: bug
    description: Find it, mend it, prove it
    gates:
      - id: find
        role: researcher
        run: {exit: {complete: 0}}
        onFailure: {to: $fail}
      - id: mend
        role: coder
        run: {exit: {complete: 0}}
        onFailure: {to: $fail}
        brief: {instructions: "A patch, and no more"}
      - id: prove
        role: tester
        run: {exit: {complete: 0}}
        onFailure: {to: prove}
        maxRetries: 1
        onExhausted: {to: mend}
    "#);
    assert_snapshot!(env.git_plain(&["log", "-1", "--format=%an: %s", "--name-status"]), @"
    Ada: Import the workflow bug from openagents

    A	workflows/bug.yaml
    ");
    assert_eq!(env.git(&["status", "--porcelain"]), "A  staged.txt\n?? bug.json\n");
    let _ = env.aof(&["workflow", "validate"]).success();

    let id = env.new_task(&["It hangs", "--workflow", "bug"]);
    for (agent, outcome) in [
        ("agent-3", "complete"),
        ("agent-1", "complete"),
        ("agent-2", "failed"),
        ("agent-2", "failed"),
    ] {
        let _ = env.say(&id, agent, outcome, &[]).success();
    }
    // Tried twice, so the failure took its own way.
    assert!(
        env.read(&format!("tasks/{id}.md")).contains("current: mend"),
        "{}",
        env.read(&format!("tasks/{id}.md"))
    );
    let brief = env.aof(&["task", "brief", &id]).success().stdout;
    assert!(brief.contains("A patch, and no more"), "{brief}");
    let _ = env.say(&id, "agent-1", "complete", &[]).success();
    let _ = env.say(&id, "agent-2", "complete", &[]).success();
    assert!(!env.exists(&format!("tasks/{id}.md")), "it is done");
}

/// The files of every system, in the words that its readers are tested with.
const FIXTURES: [(&str, &str); 6] = [
    ("antfarm.yml", include_str!("../../../fixtures/import/antfarm.yml")),
    ("antfarm-loop.yml", include_str!("../../../fixtures/import/antfarm-loop.yml")),
    ("openagents.json", include_str!("../../../fixtures/import/openagents.json")),
    ("status-graph.yaml", include_str!("../../../fixtures/import/status-graph.yaml")),
    ("orbital.toml", include_str!("../../../fixtures/import/orbital.toml")),
    ("hops.yaml", include_str!("../../../fixtures/import/aof-hops.yaml")),
];

#[test]
fn imports_of_every_system_are_valid_with_the_named_roles() {
    for (file, text) in FIXTURES {
        let env =
            TestEnvironment::with_rules("project: {name: Import}\ndefaultWorkflow: usual\n", "");
        env.write("workflows/usual.yaml", "gates:\n  - {id: work, role: worker}\n");
        env.write(file, text);
        // Its schema has a keyword that nothing would check.
        let lossy: &[&str] = if file == "status-graph.yaml" { &["--accept-losses"] } else { &[] };
        let args = [&["--json", "workflow", "import", file], lossy].concat();
        let json = env.aof(&args).success().json();
        let snippet = json["orgSnippet"].as_str().unwrap();
        let worker =
            if snippet.contains("  worker:") { "" } else { "  worker: {agents: [agent-1]}\n" };
        env.write("org.yaml", format!("{snippet}{worker}"));
        let _ = env.aof(&["workflow", "validate"]).success();
        env.commit_all(file);
        for workflow in json["workflows"].as_array().unwrap() {
            let name = workflow["name"].as_str().unwrap();
            let topic: &[&str] = if name == "song" { &["--context", "topic=rain"] } else { &[] };
            let id = env.new_task(&[&["It begins", "--workflow", name], topic].concat());
            assert!(env.task_text(&id).contains("status: ready"), "{file}: {}", env.task_text(&id));
        }
    }
}

#[test]
fn verdicts_and_keys_of_replies_are_read_as_they_were() {
    let env = TestEnvironment::with_rules(
        "project: {name: Import}\n",
        "roles:\n  cook: {agents: [agent-1]}\n  Taster-No-1: {agents: [agent-2]}\n  human: {agents: [human-ada]}\n",
    );
    env.write("antfarm.yml", FIXTURES[0].1);
    let _ = env.aof(&["workflow", "import", "antfarm.yml"]).success();
    let id = env.new_task(&["Soup"]);
    let reply = |agent: &str, text: &str| {
        env.write("reply.md", text);
        let task = env.task_text(&id);
        let gate = task.split("current: ").nth(1).and_then(|rest| rest.lines().next()).unwrap();
        env.aof(&[
            "task",
            "complete",
            &id,
            "--gate",
            gate,
            "--agent",
            agent,
            "--summary",
            "Replied",
            "--file",
            "reply.md",
        ])
        .success()
    };
    let at = |gate: &str| {
        assert!(
            env.task_text(&id).contains(&format!("current: {gate}\n")),
            "{}",
            env.task_text(&id)
        );
    };
    let _ = reply("agent-1", "STATUS: done\nRECIPE_FILE: soup.md\nSEASON: winter\n");
    at("cook");
    let brief = env.aof(&["task", "brief", &id]).success().stdout;
    assert!(brief.contains("Cook soup.md (winter)") && brief.contains("{{if guests}}"), "{brief}");
    let _ = reply("agent-1", "STATUS: retry\nPROBLEMS:\n- It burned\n");
    at("write");
    let _ = reply("agent-1", "STATUS: done\nRECIPE_FILE: stew.md\nSEASON: winter\n");
    let _ = reply("agent-1", "STATUS: done\nCOOK: a stew\n");
    at("taste");
    let _ = reply("agent-2", "STATUS: done\nDECISION: again\nTASTE_NOTES: more salt\n");
    at("cook");
    let _ = reply("agent-1", "STATUS: done\nCOOK: a salty stew\n");
    let _ = reply("agent-2", "STATUS: done\nDECISION: serve\nTASTE_NOTES: good\n");
    at("tell");
    let _ = env.say(&id, "agent-1", "complete", &[]).success();
    assert!(env.task_path(&id).starts_with("tasks/archive/"), "it is done");
}

#[test]
fn agents_side_by_side_become_branches_that_join() {
    let env = kitchen();
    let steps = r#"{"id": "both", "steps": [
        {"id": "make", "agent": "coder", "on_success": "judge"},
        {"id": "judge", "type": "parallel", "agents": ["tester", "researcher"], "on_success": "end", "on_error": "make"}]}"#;
    env.write("both.json", steps);
    let _ = env.aof(&["workflow", "import", "both.json"]).success();
    let id = env.new_task(&["Two opinions", "--workflow", "both"]);
    let ready = |env: &TestEnvironment| {
        let _ = env.say(&id, "agent-1", "complete", &[]).success();
    };
    ready(&env);
    let _ = env.say(&id, "agent-2", "complete", &[]).success();
    let _ = env
        .say(&id, "agent-3", "needs_review", &["--blocker", "The second line is missing"])
        .success();
    assert!(env.task_text(&id).contains("current: make"), "{}", env.task_text(&id));
    ready(&env);
    for agent in ["agent-3", "agent-2"] {
        let _ = env.say(&id, agent, "complete", &[]).success();
    }
    assert!(env.task_path(&id).starts_with("tasks/archive/"), "it is done");
}

#[test]
#[cfg(debug_assertions)]
fn an_import_that_is_killed_anywhere_is_whole_or_nothing() {
    for point in aof::system::crash_points::POINTS {
        let env = kitchen();
        env.write("bug.json", BUG);
        let mut command = env.aof_command(&["workflow", "import", "bug.json"]);
        command.env("AOF_STOP_AT", point);
        let killed = env.run(command);
        let _ = env.new_task(&["The next command heals"]);
        let again = env.aof(&["workflow", "import", "bug.json"]);
        assert!(matches!(again.code, Some(0 | 4)), "{point}: {killed}{again}");
        assert_eq!(env.git(&["status", "--porcelain"]), "?? bug.json\n", "{point}");
        assert_eq!(
            env.git(&["log", "--format=%s", "--", "workflows/bug.yaml"]).lines().count(),
            1,
            "{point}"
        );
        env.git(&["fsck", "--strict"]);
        assert!(!env.is_in_the_middle(), "{point}");
    }
}

#[test]
fn two_workflows_need_a_default_before_they_count() {
    let env = TestEnvironment::with_rules("project: {name: Kitchen}\n", ORG);
    let two = BUG.replace("\"id\": \"bug\",", "");
    env.write("two.json", format!("{{\"workflows\": {{\"one\": {two}, \"two\": {two}}}}}"));
    let output = env.aof(&["workflow", "import", "two.json"]).success();
    assert!(
        output.stdout.contains("wrote workflows/one.yaml workflows/two.yaml; not committed"),
        "{output}"
    );
    assert!(output.stderr.contains("no_default_workflow"), "{output}");
}

#[test]
fn roles_that_org_lacks_are_reported_and_the_rules_in_force_stay() {
    let env = kitchen();
    env.write("org.yaml", ORG.replace("  researcher: {agents: [agent-3]}\n", ""));
    env.commit_all("fewer");
    env.write("bug.json", BUG);
    let before = env.git(&["rev-parse", "HEAD"]);
    assert_snapshot!(env.aof(&["workflow", "import", "bug.json"]).stdout.split_once("\n\n").unwrap().1, @r#"
    wrote workflows/bug.yaml; not committed, because the rules would not be valid yet

    org.yaml has these roles already; its agents get the work: `coder` (`agent-1`), `tester` (`agent-2`)

    org.yaml lacks roles of this workflow; add them, with agents of yours (`--with-roles` does):
    roles:
      researcher:
        agents: [agent-researcher]

    then see that all is well with `aof workflow validate`, and put it in force:
      git add org.yaml workflows/bug.yaml && git commit -m "Import a workflow" -- org.yaml workflows/bug.yaml
    "#);
    assert_eq!(env.git(&["rev-parse", "HEAD"]), before);
    let org = env.read("org.yaml") + "  researcher:\n    agents: [agent-researcher]\n";
    env.write("org.yaml", org);
    let _ = env.aof(&["workflow", "validate"]).success();
}

#[test]
fn a_rehearsal_prints_the_file_and_needs_no_project() {
    let env = TestEnvironment::without_repository();
    env.write("steps.toml", "[workflow]\nname = \"round\"\n[[workflow.steps]]\nname = \"dig\"\n[[workflow.steps]]\nname = \"sow\"\nmood = 1\n");
    assert_snapshot!(env.aof(&["workflow", "import", "steps.toml", "--dry-run"]), @r#"
    exit 0
    --- stdout
    # workflows/round.yaml
    name: round
    context: {input: {files: the task}}
    repeat: {until: context.verify.complete, max: 50, onExhausted: $fail}
    gates:
      - id: dig
        role: worker
        run: {exit: {complete: 0}}

      - id: sow
        role: worker
        run: {exit: {complete: 0}}

      - id: verify
        role: reviewer
        signal: {expects: "COMPLETE:", missing: failed}
        onFailure: {to: verify}
        maxRetries: 2
        onExhausted: {to: $fail}
        outputs: {type: object, properties: {complete: {type: boolean}}, required: [complete]}
        brief:
          instructions: |
            Check whether every item of {{files}} is done and ticked off. Change nothing.

            End with one line:
            COMPLETE: true
            if nothing is open, else
            COMPLETE: false
    --- stderr
    steps.toml, read as orbital:
         2  kept       workflow.name
         4  kept       workflow.steps.dig.name: as `id`
         6  kept       workflow.steps.sow.name: as `id`
         7  dropped    workflow.steps.sow.mood: not known here
         -  added      workflow.steps.dig.prompt: not given: the brief is generated
         -  added      workflow.steps.sow.prompt: not given: the brief is generated
         -  added      run.exit: a program that ends well has done its step, as there
         -  added      repeat: the outer loop: the steps again, 50 times at most, until the gate `verify` finds everything complete, which is the verification there; its words are aof's own
         -  added      context.input.files: the task itself, unless it says another: `aof new --context`
         -  added      roles: one agent does everything there; here `worker` works and `reviewer` judges, and one agent may be both
    3 kept, 6 added, 1 dropped

    org.yaml lacks roles of this workflow; add them, with agents of yours (`--with-roles` does):
    roles:
      worker:
        description: "Does the work"
        agents: [agent-worker]
      reviewer:
        description: "Judges the work"
        agents: [agent-reviewer]
    dry run: nothing was written
    "#);
    assert_eq!(env.files("."), ["steps.toml"]);
    let json = env
        .aof(&["--json", "workflow", "import", "steps.toml", "--dry-run", "--name", "spring"])
        .success()
        .stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["from"], &json["workflows"][0]["path"]),
        (&"orbital".into(), &"workflows/spring.yaml".into())
    );
    assert_eq!(json["lackingRoles"][0]["role"], "worker");
    let output = env.aof(&["workflow", "import", "steps.toml"]);
    assert_eq!(output.code, Some(3), "{}", output.stderr);
}

#[test]
fn a_change_that_routes_tasks_differently_is_refused() {
    let env = kitchen();
    let jumping = "id: stories\nsteps:\n  - id: one\n    agent: coder\n    type: dance\n    expects: 'STATUS: done'\n    goto: two\n    colour: red\n";
    env.write("stories.yml", jumping);
    assert_snapshot!(env.aof(&["workflow", "import", "stories.yml"]), @"
    exit 6
    --- stdout
    stories.yml, read as antfarm:
         1  kept       id: as `name`
         3  kept       steps.one.id
         4  converted  steps.one.agent: `role`
         5  lost       steps.one.type: `dance` is no kind of step that is known here
         6  converted  steps.one.expects: `signal.expects`; a reply without that line does not pass
         7  lost       steps.one.goto: not known here, and by its name it says where a task goes
         8  dropped    steps.one.colour: not known here
         -  added      steps.one.max_retries: not given: 2, which is the default there
    2 kept, 2 converted, 1 added, 1 dropped, 2 lost
    --- stderr
    error: the import would lose routes or checks: `steps.one.type`, `steps.one.goto`

    hint: nothing was written; change the file, or import the rest of it with `--accept-losses`
    ");
    assert!(!env.exists("workflows"));
    let refused = env.aof(&["--json", "workflow", "import", "stories.yml"]);
    let json: serde_json::Value = serde_json::from_str(&refused.stdout).unwrap();
    assert_eq!(
        (refused.code, &json["error"], &json["lost"][0]["field"]),
        (Some(6), &"lossy_import".into(), &"steps.one.type".into())
    );
    let _ = env.aof(&["workflow", "import", "stories.yml", "--accept-losses"]).success();
    assert!(env.exists("workflows/stories.yaml"));
}

#[test]
fn nothing_that_is_there_is_written_over() {
    let env = kitchen();
    env.write("bug.json", BUG);
    env.write("workflows/bug.yaml", "name: other\ngates:\n  - {id: a, role: coder}\n");
    assert_snapshot!(env.aof(&["workflow", "import", "bug.json", "--name", "bug"]).stderr, @"
    error: there is a `workflows/bug.yaml` already

    hint: nothing was written: use another name (`--name`), or remove `workflows/bug.yaml` and commit that first
    ");
    // A name that another file has.
    assert_snapshot!(env.aof(&["workflow", "import", "bug.json", "--name", "usual"]).stderr, @"
    error: what the file says is no valid workflow here

    error[duplicate_workflow]: there is already a workflow `usual`, at project.yaml:2
     --> workflows/usual.yaml:1:7
      |
    1 | name: usual
      |       ^^^^^
      |
      = help: give each workflow a `name` of its own
    ");
    assert_eq!(env.files("workflows"), ["workflows/bug.yaml"]);
    let _ = env.aof(&["workflow", "import", "bug.json", "--name", "bug-2"]).success();
}

#[test]
fn files_that_are_no_workflow_leave_nothing_behind() {
    let env = kitchen();
    env.write("none.yaml", "teams: []\nagents: []\n");
    env.write("bad.yaml", b"steps: \xff\n");
    env.write(
        "circle.json",
        r#"{"id": "c", "steps": [{"id": "a", "agent": "coder", "on_success": "a"}]}"#,
    );
    for file in ["none.yaml", "bad.yaml", "circle.json", "gone.yaml"] {
        let output = env.aof(&["workflow", "import", file]);
        assert_eq!(output.code, Some(if file == "gone.yaml" { 1 } else { 6 }), "{}", output.stderr);
    }
    assert!(!env.exists("workflows"));
    assert_snapshot!(env.aof(&["workflow", "import", "circle.json"]).stderr, @"
    error: what the file says is no valid workflow here

    error[self_loop]: `complete` leads gate `a` to itself
     --> workflows/c.yaml:7:7
      |
    7 |       complete: a
      |       ^^^^^^^^
      |
      = help: say how often with `maxRetries`, use `$hold` to wait for a person, or `onFailure` to try again
    ");
}
