//! `aof workflow run`: what a task begins with.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::scripted_agents::{DONE, project_of, timeless};

fn environment() -> TestEnvironment {
    let rules = "workflows: {feature: {gates: [{id: work, role: worker}]}, fix: {gates: [{id: work, role: worker}]}}\ndefaultWorkflow: feature\n";
    project_of(rules, &[("coder", "worker", "", DONE)])
}

/// Returns the only task.
fn task(env: &TestEnvironment) -> serde_json::Value {
    let files = env.files("tasks");
    assert_eq!(files.len(), 1, "{files:?}");
    let id = files[0].rsplit('/').next().unwrap().trim_end_matches(".md");
    env.aof(&["task", "show", id, "--json"]).success().json()
}

#[test]
fn a_task_begins_with_its_input_files_and_options() {
    let env = environment();
    env.write("docs/spec.md", "A login\n");
    env.write("notes.md", "Soon\n");
    let mut command = env.aof_command(&[
        "workflow",
        "run",
        "fix",
        "spec.md",
        "../notes.md",
        "--input",
        "Login fails\n\nSince Monday.",
        "--context",
        "issue=123",
        "--context",
        "{\"repo\": \"web\", \"deep\": {\"a\": [1]}}",
        "--tag",
        "urgent",
    ]);
    command.current_dir(env.path("docs"));
    assert_snapshot!(timeless(&env.run(command).to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete, 1 visit
    --- stderr
    AOF-xxxxx: Login fails, in `fix`
    Step 1/1: work: coder at AOF-xxxxx@0
    AOF-xxxxx: work → done after TIME: Did it
    ");
    let task = task(&env);
    assert_snapshot!(format!("{}\n{}\n{}\n{}", task["title"], task["tags"], task["body"], task["context"]), @r#"
    "Login fails"
    ["urgent"]
    "\nLogin fails\n\nSince Monday.\n\nFiles:\n\n- docs/spec.md\n- notes.md\n"
    {"input":{"issue":123,"repo":"web","deep":{"a":[1]},"input":"Login fails\n\nSince Monday.","files":"docs/spec.md notes.md"}}
    "#);
    env.commit_all("the person's files");
    check(&env);
}

#[test]
fn files_alone_are_enough() {
    let env = environment();
    env.write("spec.md", "A login\n");
    let _ = env.aof(&["workflow", "run", "feature", "spec.md", "--step"]).success();
    let task = task(&env);
    assert_snapshot!(format!("{}\n{}", task["title"], task["context"]), @r#"
    "feature: spec.md"
    {"input":{"files":"spec.md"}}
    "#);
}

#[test]
fn a_run_that_cannot_begin_creates_no_task() {
    let env = environment();
    std::fs::write(env.home().join("secret.md"), "x").unwrap();
    env.write("spec.md", "A login\n");
    let head = env.head();
    let tries: [&[&str]; 8] = [
        &["feature"],
        &["feature", "--input", "  "],
        &["featur", "--input", "Add login"],
        &["feature", "none.md"],
        &["feature", "../home/secret.md"],
        &["feature", "--input", "Add login", "--context", "novalue"],
        &["feature", "--input", "Add login", "--context", "{\"half\": "],
        &["reviewed", "spec.md"],
    ];
    let output: Vec<String> = tries
        .iter()
        .map(|words| env.aof(&[&["workflow", "run"][..], words].concat()).to_string())
        .collect();
    assert_snapshot!(output.join("\n"), @r#"
    exit 4
    --- stderr
    error: nothing says what is to be done

    hint: say it with `--input "..."`, or name a file

    exit 4
    --- stderr
    error: nothing says what is to be done

    hint: say it with `--input "..."`, or name a file

    exit 3
    --- stderr
    error: there is no workflow `featur`

    hint: did you mean `feature`?

    exit 1
    --- stderr
    error: cannot read `none.md`: No such file or directory (os error 2)

    exit 4
    --- stderr
    error: `../home/secret.md` is not in the project

    hint: agents work in `$PROJECT`: copy it there, or say what is in it with `--input`

    exit 2
    --- stderr
    error: invalid value 'novalue' for '--context <KEY=VALUE|JSON>': write it as `KEY=VALUE`

    For more information, try '--help'.

    exit 2
    --- stderr
    error: invalid value '{"half": ' for '--context <KEY=VALUE|JSON>': it is not JSON: it ends too early (line 1, column 9)

    For more information, try '--help'.

    exit 4
    --- stderr
    error: the template `reviewed` needs roles that org.yaml lacks

    hint: add to `roles` in org.yaml, with agents of yours:

      developer:
        description: Writes code and tests
        agents: [agent-dev-1, agent-dev-2]
      reviewer:
        description: Looks for what is wrong with the work
        agents: [agent-review-1]
      tester:
        description: Tries out what was built
        agents: [agent-test-1]

    and to `agents`:

      agent-dev-1:
      agent-dev-2:
      agent-review-1:
      agent-test-1:

    then commit it, and run this again
    "#);
    assert_eq!(env.files("tasks"), Vec::<String>::new());
    assert_eq!(env.head(), head);
}

#[test]
fn a_rehearsal_shows_every_gate_and_makes_nothing() {
    let env = environment();
    let (head, files) = (env.head(), env.files("."));
    let output =
        env.aof(&["workflow", "run", "feature", "--input", "Add login", "--dry-run"]).success();
    assert!(
        output.stdout.contains("sh agents/coder.sh") && output.stdout.contains("Add login"),
        "{output}"
    );
    assert_eq!((env.head(), env.files("tasks")), (head, Vec::new()));
    let runs =
        env.files(".").into_iter().filter(|file| !files.contains(file) && file.contains("runs/"));
    assert_eq!(runs.count(), 0);
}

#[test]
fn a_template_that_the_project_lacks_is_begun_first() {
    let env = environment();
    env.write("spec.md", "A login\n");
    let roles = "roles:\n  worker: {agents: [coder]}\n  developer: {agents: [coder]}\n  reviewer: {agents: [critic]}\n  tester: {agents: [critic]}\n";
    let agents = "agents:\n  coder: {run: {command: [sh, agents/coder.sh]}}\n  critic: {run: {command: [sh, agents/coder.sh]}}\n";
    env.write("org.yaml", format!("{roles}{agents}"));
    env.commit_all("roles");
    let head = env.head();
    for words in [&["reviewed"][..], &["reviewed", "none.md"], &["reviewed", "spec.md", "none.md"]]
    {
        for more in [&[][..], &["--dry-run"]] {
            let output = env.aof(&[&["workflow", "run"][..], words, more].concat());
            assert!(!output.to_string().contains("began") && output.stdout.is_empty(), "{output}");
            assert_ne!(output.code, Some(0), "{output}");
        }
    }
    assert!(!env.path("workflows/reviewed.yaml").exists());
    assert_eq!(env.head(), head);
    assert_snapshot!(env.aof(&["workflow", "run", "reviewed", "spec.md", "--dry-run"]), @"
    exit 0
    --- stdout
    dry run: `reviewed` would begin as workflows/reviewed.yaml, from the template
    ");
    assert_snapshot!(env.aof(&["--json", "workflow", "run", "reviewed", "spec.md", "--dry-run"]), @r#"
    exit 0
    --- stdout
    {
      "dryRun": true,
      "begins": "workflows/reviewed.yaml",
      "runs": [],
      "waits": [],
      "jsonVersion": 1
    }
    "#);
    assert_eq!(env.head(), head);
    assert_snapshot!(timeless(&env.aof(&["workflow", "run", "reviewed", "spec.md"]).to_string()), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete, 3 visits
    --- stderr
    began `reviewed` from the template: workflows/reviewed.yaml
    AOF-xxxxx: reviewed: spec.md, in `reviewed`
    Step 1/4: implement: coder at AOF-xxxxx@0
    AOF-xxxxx: implement → review after TIME: Did it
    Step 3/4: review: critic at AOF-xxxxx@1
    AOF-xxxxx: review → verify after TIME: Did it
    Step 4/4: verify: critic at AOF-xxxxx@2
    AOF-xxxxx: verify → done after TIME: Did it
    ");
    assert_snapshot!(env.log(), @"
    critic: AOF-xxxxx: verify -> end (complete)
    critic: AOF-xxxxx: claimed by critic at verify
    critic: AOF-xxxxx: review -> verify (complete)
    critic: AOF-xxxxx: claimed by critic at review
    coder: AOF-xxxxx: implement -> review (complete)
    coder: AOF-xxxxx: claimed by coder at implement
    Ada: AOF-xxxxx: created at implement
    Ada: Begin workflow reviewed: the reviewed process
    Ada: roles
    Ada: rules
    ");
    check(&env);
}

#[test]
fn a_stream_of_json_ends_with_a_line_that_says_so() {
    let env = environment();
    let lines = |words: &[&str]| {
        let output = env.aof(&[&["--json"][..], words].concat());
        assert!(
            output
                .stdout
                .lines()
                .all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()),
            "{output}"
        );
        output.stdout
    };
    let printed = [
        lines(&["workflow", "run", "feature"]),
        lines(&["workflow", "run", "featur", "--input", "Add login"]),
        lines(&["run", "--task", "AOF-none"]),
        lines(&["run", "--agent", "nobody"]),
    ];
    assert_snapshot!(printed.concat(), @r#"
    {"jsonVersion":1,"event":"ended","success":false,"error":"nothing says what is to be done","code":"missing_input","message":"nothing says what is to be done\n\nsay it with `--input \"...\"`, or name a file"}
    {"jsonVersion":1,"event":"ended","success":false,"error":"there is no workflow `featur`","code":"unknown_workflow","message":"there is no workflow `featur`\n\ndid you mean `feature`?","given":"featur","known":["feature","fix","basic","sdlc","sales","publishing","compound","feature-development","bug-fix","comprehensive-test","refactor","deploy","solve-issue","fast","reviewed","tdd","spec-driven","autonomous"]}
    {"jsonVersion":1,"event":"ended","success":false,"error":"there is no task `AOF-none`","code":"task_not_found","message":"there is no task `AOF-none`\n\n`aof list --all` lists them all","task":"AOF-none"}
    {"jsonVersion":1,"event":"ended","success":false,"error":"there is no agent `nobody`","code":"unknown_agent","message":"there is no agent `nobody`\n\nthere is `coder`","given":"nobody","known":["coder"]}
    "#);
}

#[test]
fn a_stream_of_json_ends_so_when_the_repository_goes_under_way() {
    let env = project_of(
        "workflow: {gates: [{id: work, role: worker}, {id: check, role: worker}]}\n",
        &[("coder", "worker", "", "mv .git gone\n")],
    );
    let output = env.aof(&["--json", "workflow", "run", "default", "--input", "Add login"]);
    let lines: Vec<serde_json::Value> = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{output}")))
        .collect();
    assert!(lines.len() > 1, "{output}");
    let end = lines.last().unwrap();
    assert_eq!((&end["event"], &end["success"]), (&"ended".into(), &false.into()), "{output}");
    assert!(end["error"].is_string() && end["code"].is_string(), "{output}");
}

#[test]
fn notices_of_a_run_are_delivered_by_it_and_none_is_missed() {
    let rules = "workflow: {gates: [{id: work, role: worker}, {id: approve, role: lead, requireHuman: true}]}\n\
                 notify: [{on: all, command: [sh, -c, \"cat >> told\"]}]\n";
    let env = project_of(rules, &[("coder", "worker", "", DONE), ("human-ada", "lead", "", "")]);
    let _ = env.aof(&["workflow", "run", "default", "--input", "Add login"]);
    let printed = || -> Vec<String> {
        let text = std::fs::read_to_string(env.path("told")).unwrap_or_default();
        let message = |line| serde_json::from_str::<serde_json::Value>(line).unwrap();
        text.lines().map(|line| message(line)["event"].as_str().unwrap().to_owned()).collect()
    };
    let by_run = printed();
    assert_eq!(by_run.first().map(String::as_str), Some("task_created"), "{by_run:?}");
    assert!(by_run.iter().any(|event| event == "gate_transition"), "{by_run:?}");
    let _ = env.aof(&["sweep"]).success();
    assert_eq!(printed(), by_run);
}
