//! `aof new`.

use insta::assert_snapshot;

use crate::support::checker::{check, parse};
use crate::support::environment::TestEnvironment;
use crate::support::terminal::Seat;

#[test]
fn a_new_task_says_all_that_was_said_of_it() {
    let env = TestEnvironment::new();
    let output = env.aof(&[
        "task",
        "new",
        "Add login: with \"tokens\" # now",
        "--description",
        "Users want in",
        "--body",
        "# Why\n\n---\n\nBecause.",
        "--tag",
        "auth",
        "--tag",
        "no",
        "--meta",
        "priority=high",
        "--meta",
        "estimate=3",
        "--context",
        "repo=web",
        "--context",
        "files=[\"a\"]",
    ]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at implement, ready for agent-7 or agent-8
    ");
    let path = env.files("tasks").remove(0);
    assert_snapshot!(env.plain(&env.read(&path)), @r#"
    ---
    id: AOF-xxxxx
    title: "Add login: with \"tokens\" # now"
    description: Users want in
    status: ready
    created: 2026-02-16T10:00:04Z
    updated: 2026-02-16T10:00:04Z
    routing:
      workflow: default
      role: backend
    gate:
      current: implement
      entered: 2026-02-16T10:00:04Z
      visit: 0
    context:
      input:
        repo: web
        files:
          - a
    workflowHash: HASH
    tags:
      - auth
      - "no"
    metadata:
      priority: high
      estimate: 3
    ---

    # Why

    ---

    Because.
    "#);
    assert_eq!(parse(env.read(&path).as_bytes()).unwrap()["tags"][1], "no");
    check(&env);
}

#[test]
fn programs_get_the_same_words() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--json"]), @r#"
    exit 0
    --- stdout
    {
      "id": "AOF-xxxxx",
      "title": "Add login",
      "status": "ready",
      "created": "2026-02-16T10:00:04Z",
      "updated": "2026-02-16T10:00:04Z",
      "routing": {
        "workflow": "default",
        "role": "backend"
      },
      "gate": {
        "current": "implement",
        "entered": "2026-02-16T10:00:04Z",
        "visit": 0
      },
      "workflowHash": "HASH",
      "body": "",
      "path": "tasks/AOF-xxxxx.md",
      "version": 0,
      "ticket": "AOF-xxxxx@0",
      "available": {
        "outcomes": [
          "complete",
          "blocked"
        ],
        "role": "backend",
        "agents": [
          "agent-7",
          "agent-8"
        ]
      },
      "warnings": [],
      "commit": "COMMIT",
      "jsonVersion": 1
    }
    "#);
    check(&env);
}

#[test]
fn many_tasks_are_made_at_once_and_each_has_its_commit() {
    let env = TestEnvironment::new();
    env.write("list.json", r#"[{"title": "One", "tags": ["a"]}, {"title": "Two", "body": "Text"}, {"title": "Three", "metadata": {"priority": "low"}}]"#);
    assert_snapshot!(env.aof(&["task", "new", "--from", "list.json"]), @"
    exit 0
    --- stdout
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at implement, ready for agent-7 or agent-8
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at implement, ready for agent-7 or agent-8
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at implement, ready for agent-7 or agent-8
    ");
    assert_snapshot!(env.log(), @"
    Ada: AOF-xxxxx: created at implement
    Ada: AOF-xxxxx: created at implement
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    check(&env);

    let list = format!("[{}]", vec![r#"{"title": "Again"}"#; 250].join(","));
    let _ = env.aof_reading(&["task", "new", "--from", "-", "--json"], list.as_bytes()).success();
    assert_eq!(env.files("tasks").len(), 253);
    check(&env);
}

#[test]
fn an_invalid_task_is_refused_whole() {
    let env = TestEnvironment::new();
    assert_snapshot!(env.aof(&["task", "new", "  "]), @"
    exit 4
    --- stderr
    error: a task needs a title

    hint: say what is to be done in a few words, as in `Add login`
    ");
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--workflow", "defaul"]), @"
    exit 3
    --- stderr
    error: there is no workflow `defaul`

    hint: did you mean `default`?
    ");
    assert_snapshot!(env.aof_reading(&["task", "new", "--from", "-"], b"{\"title\": \"One\"}\n[]\n"), @r#"
    exit 4
    --- stderr
    error: standard input cannot be taken: task 2: it is not an object

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    assert_snapshot!(env.aof_reading(&["task", "new", "--from", "-", "--json"], b"[{\"title\": \"One\"}, {\"titel\": \"Two\"}]"), @r#"
    exit 4
    --- stdout
    {
      "error": "invalid_tasks",
      "message": "standard input cannot be taken: task 2: `new` takes no argument `titel`; did you mean `title`?\n\ngive a list of objects, as in `[{\"title\": \"Add login\", \"tags\": [\"auth\"]}]`",
      "jsonVersion": 1
    }
    --- stderr
    standard input cannot be taken: task 2: `new` takes no argument `titel`; did you mean `title`?
    "#);
    env.write(
        "tasks.json",
        r#"[{"title": "One", "tags": "x", "dependsOn": ["AOF-abc", "x"]}, 3, {"metadata": [1]}]"#,
    );
    assert_snapshot!(env.aof(&["task", "new", "--from", "tasks.json"]), @r#"
    exit 4
    --- stderr
    error: `tasks.json` cannot be taken: task 1: `tags` of `new` is to be a list of texts, not the text `x`; task 2: it is not an object; task 3: `metadata` of `new` is to be an object, not a list

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    env.write("tasks.json", r#"[{"title": "#);
    assert_snapshot!(env.aof(&["task", "new", "--from", "tasks.json"]), @r#"
    exit 4
    --- stderr
    error: `tasks.json` cannot be taken: it ends too early (line 1, column 11)

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    assert_snapshot!(env.aof_reading(&["task", "new", "--from", "-"], b"[{\"title\": \"One\"}, {\"title\": \"\"}, {\"title\": \"Two\", \"workflow\": \"defaul\"}]"), @r#"
    exit 4
    --- stderr
    error: standard input cannot be taken: task 2: a task needs a title; task 3: there is no workflow `defaul`

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    // As in a completion: nobody sees which of the two would count.
    assert_snapshot!(env.aof_reading(&["task", "new", "--from", "-"], b"[{\"title\": \"One\",\n\"title\": \"Two\"}]"), @r#"
    exit 4
    --- stderr
    error: standard input cannot be taken: the key `title` on line 2 is already defined on line 1

    hint: give a list of objects, as in `[{"title": "Add login", "tags": ["auth"]}]`
    "#);
    assert_snapshot!(env.aof_reading(&["task", "new", "--from", "-"], b"[]"), @"
    exit 0
    --- stderr
    nothing was created: the list is empty
    ");
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--depends", "nonsense"]), @"
    exit 3
    --- stderr
    error: there is no task `AOF-nonsense`

    hint: `aof list --all` lists them all
    ");
    let _ = env.aof(&["task", "new", "Add login", "--dry-run"]).success();
    assert_eq!(env.log(), "Ada: rules\n");
    assert!(!env.exists("tasks"));
}

#[test]
fn agents_create_tasks_only_with_permission() {
    let env = TestEnvironment::with_rules(
        crate::support::environment::PROJECT,
        "roles:\n  backend: {agents: [agent-7]}\n  architect: {agents: [agent-3]}\nagents:\n  agent-3: {may: [new]}\n  agent-7: {}\n",
    );
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--agent", "agent-7"]), @"
    exit 4
    --- stderr
    error: `agent-7` may not create tasks: that is for people

    hint: ask a person, or allow it in org.yaml: `agents: {agent-7: {may: [new]}}`
    ");
    let held = env.new_task(&["Add accounts"]);
    let _ = env.complete(&held, "agent-7");
    let _ = env.aof(&["task", "next", "--agent", "agent-3"]).success();
    let _ = env.aof(&["task", "new", "Add login", "--agent", "agent-3"]).success();
    assert_snapshot!(env.log(), @"
    agent-3: AOF-xxxxx: created at implement
    agent-3: AOF-xxxxx: claimed by agent-3 at review
    agent-7: AOF-xxxxx: implement -> review (complete)
    Ada: AOF-xxxxx: created at implement
    Ada: rules
    ");
    check(&env);
}

#[test]
fn a_task_that_no_gate_applies_to_is_refused() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - {id: security, role: backend, when: \"tags.includes('auth')\"}\n",
        crate::support::environment::ORG,
    );
    assert_snapshot!(env.aof(&["task", "new", "Fix a typo"]), @"
    exit 4
    --- stderr
    error: no gate of workflow `default` applies to this task: every `when` is false

    hint: see the conditions with `aof workflow show default`, or choose another with `--workflow`
    ");
    let _ = env.new_task(&["Add login", "--tag", "auth"]);
    check(&env);
}

#[test]
fn ids_begin_as_the_project_wants() {
    let env = TestEnvironment::with_rules(
        &format!("project: {{idPrefix: WEB}}\n{}", crate::support::environment::PROJECT),
        crate::support::environment::ORG,
    );
    let id = env.new_task(&["Add login"]);
    assert!(id.starts_with("WEB-"), "{id}");
    let _ = env.complete(&id, "agent-7");
}

#[test]
fn tasks_of_one_second_keep_the_order_of_their_creation() {
    let env = TestEnvironment::new();
    let in_one_second = |args: &[&str]| {
        let mut command = env.aof_command(args);
        command.env("AOF_NOW", "2026-02-16T12:00:00Z");
        env.run(command).success()
    };
    let file = |number: usize| {
        let title = format!("title: Task {number}\n");
        env.files("tasks").into_iter().find(|path| env.read(path).contains(&title)).unwrap()
    };
    let mut titles: Vec<String> = (0..62).map(|number| format!("Task {number}")).collect();
    for title in &titles[..6] {
        let _ = in_one_second(&["task", "new", title]);
    }
    // The newest commits of the second concern another task.
    let first = in_one_second(&["task", "next", "--agent", "agent-7", "--json"]).json();
    assert_eq!(first["task"]["title"], titles.remove(0));
    let path = file(0);
    let first = path.trim_start_matches("tasks/").trim_end_matches(".md");
    let _ = in_one_second(&["task", "comment", first, "-m", "Soon", "--agent", "agent-7"]);
    for title in &titles[5..11] {
        let _ = in_one_second(&["task", "new", title]);
    }
    let many = titles[11..].iter().map(|title| serde_json::json!({"title": title}));
    let many: Vec<serde_json::Value> = many.collect();
    env.write("many.json", serde_json::to_string(&many).unwrap());
    let _ = in_one_second(&["task", "new", "--from", "many.json"]);
    for sort in ["priority", "due", "created", "updated", "waiting"] {
        let listed = env.aof(&["task", "list", "--ready", "--sort", sort, "--json"]).success();
        let listed = listed.json()["tasks"].as_array().unwrap().clone();
        let listed: Vec<&str> = listed.iter().filter_map(|task| task["title"].as_str()).collect();
        assert_eq!(listed, titles, "{sort}");
    }
    let created = |number: usize| {
        let text = env.read(&file(number));
        let line = text.lines().find_map(|line| line.strip_prefix("created: ")).unwrap();
        line.to_owned()
    };
    assert_eq!(created(0), "2026-02-16T12:00:00Z", "alone in its second, it has no fraction");
    assert_eq!(created(1), "2026-02-16T12:00:00.001Z");
    assert_eq!(created(61), "2026-02-16T12:00:00.061Z");
    for title in &titles {
        let next = env.aof(&["task", "next", "--another", "--agent", "agent-7", "--json"]);
        assert_eq!(next.success().json()["task"]["title"], *title);
    }
    let _ = env.aof(&["verify"]).success();
    check(&env);
}

#[test]
fn tasks_come_from_lines_of_json_and_from_open_boxes() {
    let env = TestEnvironment::new();
    let titles = || {
        let listed = env.aof(&["list", "--json", "--sort", "created"]).success().json();
        let tasks = listed["tasks"].as_array().unwrap().clone();
        tasks.iter().map(|task| task["title"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    env.write("lines.jsonl", "{\"title\": \"One\"}\n\n{\"title\": \"Two\", \"tags\": [\"api\"]}\n");
    let _ = env.aof(&["new", "--from", "lines.jsonl"]).success();
    assert_eq!(titles(), ["One", "Two"]);
    env.write(
        "plan.md",
        "# Plan\n\n- [ ] Three\n  It needs a form.\n\n  - [ ] with a check\n- [x] Done already\n  - [ ] below it\n* [ ] Four\n",
    );
    let _ = env.aof(&["new", "--from", "plan.md"]).success();
    assert_eq!(titles(), ["One", "Two", "Three", "Four"]);
    let listed = env.aof(&["list", "--json", "three"]).success().json();
    let path = listed["tasks"][0]["path"].as_str().unwrap().to_owned();
    let files = env.git(&["ls-files", "tasks"]);
    let texts: Vec<String> = files.lines().map(|file| env.read(file)).collect();
    assert!(
        texts.iter().any(|text| text.ends_with("---\n\nIt needs a form.\n- [ ] with a check\n")),
        "{path} {texts:?}"
    );
    for (text, reason) in
        [("{\"title\": \"A\"}\n{\"title\"\n", "line 2"), ("Some prose\n", "- [ ]")]
    {
        env.write("bad", text);
        let refused = env.aof(&["new", "--from", "bad"]).code(4);
        assert!(refused.stderr.contains(reason), "{refused}");
    }
}

#[test]
fn tasks_of_a_list_name_each_other_and_each_is_made_once() {
    let env = TestEnvironment::new();
    let list = |more: &str| {
        format!(
            r#"[{{"ref": "ship", "title": "Ship it", "dependsOn": ["form", 7]}},
                {{"ref": "form", "title": "Form", "parent": "epic", "metadata": {{"size": 3}}}},
                {{"ref": 7, "title": "Texts", "dependsOn": ["form"], "parent": "epic"}},
                {{"ref": "epic", "title": "Checkout"}}{more}]"#
        )
        .replace("7]", "\"7\"]")
    };
    env.write("list.json", list(""));
    let dry = env.aof(&["new", "--from", "list.json", "--dry-run", "--json"]).success().json();
    assert_eq!(dry["tasks"].as_array().unwrap().len(), 4);
    assert_eq!(env.files("tasks"), [""; 0]);
    let _ = env.aof(&["new", "--from", "list.json"]).success();
    let tasks = || {
        let files = env.files("tasks");
        let id = |title: &str| {
            let has = |file: &&String| env.read(file).contains(title);
            let file = files.iter().find(has).unwrap_or_else(|| panic!("{title}: {files:?}"));
            file.trim_start_matches("tasks/").trim_end_matches(".md").to_owned()
        };
        (
            files.len(),
            id("title: Ship it"),
            id("title: Form"),
            id("title: Texts"),
            id("title: Checkout"),
        )
    };
    let (count, ship, form, texts, epic) = tasks();
    assert_eq!(count, 4);
    let has = |id: &str, lines: &str| {
        let text = env.task_text(id);
        assert!(text.contains(lines), "{lines} in {text}");
    };
    has(&ship, &format!("dependsOn:\n  - {form}\n  - {texts}\n"));
    has(&form, &format!("parent: {epic}\n"));
    has(&texts, &format!("parent: {epic}\n"));
    has(&form, "metadata:\n  size: 3\n  ref: form\n");

    // The same file once more, with a new line; one of its tasks has ended meanwhile.
    let _ = env.aof(&["cancel", &texts, "-m", "No"]).success();
    env.write("list.json", list(r#", {"title": "Later", "dependsOn": ["7"], "ref": "later"}"#));
    let again = env.aof(&["new", "--from", "list.json", "--json"]).success().json();
    assert_eq!(again["tasks"].as_array().unwrap().len(), 1, "{again}");
    let existing: Vec<&String> = again["existing"].as_object().unwrap().keys().collect();
    assert_eq!(existing, ["7", "epic", "form", "ship"]);
    let later = env.files("tasks").into_iter().find(|file| env.read(file).contains("title: Later"));
    assert!(env.read(&later.unwrap()).contains(&format!("dependsOn:\n  - {texts}\n")));
    let head = env.head();
    let said = env.aof(&["new", "--from", "list.json"]).success().stdout;
    assert!(said.contains("`ref: form` exists already"), "{said}");
    assert_eq!(env.head(), head);

    for (list, problem) in [
        (r#"[{"ref": "a", "title": "A"}, {"ref": "a", "title": "B"}]"#, "`ref: a` is there twice"),
        (
            r#"[{"ref": "a", "title": "A", "dependsOn": ["b"]}, {"ref": "b", "title": "B", "parent": "a"}]"#,
            "`a`, `b` wait for each other in a circle",
        ),
        (
            r#"[{"ref": "a", "title": "A"}, {"ref": "b", "title": "B", "parent": "a", "dependsOn": ["a"]}]"#,
            "`a`, `b` wait for each other in a circle",
        ),
        (r#"[{"ref": "a", "title": "A", "dependsOn": ["nowhere at all"]}]"#, "nowhere at all"),
        (r#"[{"ref": [], "title": "A"}]"#, "ref"),
    ] {
        env.write("bad.json", list);
        let refused = env.aof(&["new", "--from", "bad.json"]).code(4).stderr;
        assert!(refused.contains(problem), "{list}: {refused}");
    }
    assert_eq!(env.head(), head);

    // Only `last` is refused: the ones before it exist, and are named.
    let list = r#"[{"ref": "first", "title": "Before"}, {"ref": "last", "title": "Last", "parent": "first", "dependsOn": ["AOF-none"]}]"#;
    env.write("bad.json", list);
    let refused = env.aof(&["new", "--from", "bad.json"]).code(3);
    assert!(refused.stdout.contains("created, tasks/"), "{refused}");
    assert!(refused.stderr.contains("AOF-none"), "{refused}");
    env.write("bad.json", list.replace("AOF-none", &form));
    let output = env.aof(&["new", "--from", "bad.json"]).success().stdout;
    assert!(output.contains("`ref: first` exists already"), "{output}");
    assert_eq!(output.matches(": created").count(), 1, "{output}");
}

#[test]
fn a_missing_title_is_asked_for_at_a_terminal() {
    let env = TestEnvironment::new();
    let refused = env.unattended(&["new"]).code(4);
    assert!(refused.stderr.contains("a task needs a title"), "{refused}");
    let mut seat = Seat::of(&env, &["new", "-p", "high"]);
    seat.shows("Title: ");
    seat.types("Add login");
    seat.shows("created");
    assert!(seat.ends().0.success());
    assert!(env.aof(&["list"]).success().stdout.contains("Add login"));
}
