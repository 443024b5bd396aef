//! Projects that had tasks before they had gates, and projects that have no workflow at all.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{ORG, PROJECT, TestEnvironment};

#[test]
fn task_files_without_a_gate_get_one_all_at_once() {
    let env = TestEnvironment::new();
    env.write("workflows/fast.yaml", "gates:\n  - {id: do, role: backend}\n");
    env.write("project.yaml", format!("{PROJECT}defaultWorkflow: default\n"));
    for number in 0..60 {
        env.write(
            &format!("tasks/AOF-a{number:02}.md"),
            format!(
                "---\ntitle: Task {number}\nstatus: doing # as it was\ntags: [old]\n---\nThe body\n"
            ),
        );
    }
    env.write("tasks/AOF-own.md", "---\ntitle: Its own\nrouting: {workflow: default}\n---\n");
    env.write("tasks/AOF-bad.md", "---\ntitle: [Broken\n---\n");
    env.write("tasks/AOF-odd.md", "---\ntitle: Odd\nrouting: {workflow: nonsense}\n---\n");
    env.commit_all("as it was");
    let head = env.head();
    let rehearsed =
        env.aof(&["migrate", "tasks", "--add-gates", "--workflow", "fast", "--dry-run"]).code(6);
    assert!(rehearsed.stdout.contains("61 tasks would get a gate"), "{rehearsed}");
    assert_eq!(env.head(), head);
    let _ = env.aof(&["migrate", "tasks"]).code(2);
    let _ = env.aof(&["migrate", "tasks", "--add-gates", "--workflow", "slow"]).code(3);

    let done = env.aof(&["migrate", "tasks", "--add-gates", "--workflow", "fast"]).code(6);
    assert_snapshot!(done.stdout.lines().skip(18).collect::<Vec<_>>().join("\n"), @"
    AOF-a18: at do
    AOF-a19: at do
    ... and 41 more
    61 tasks have a gate now
    ");
    assert_snapshot!(done.stderr, @"
    error: `AOF-odd` is left as it is: task `AOF-odd` follows workflow `nonsense`, which the rules in force do not have; the rules in force have `default`, `fast`; commit a workflow of that name, or, as long as the task stands at no gate, name another in `routing.workflow`
    error: `tasks/AOF-bad.md:2:8` cannot be read as a task: not valid YAML: unclosed bracket '['
    `-v` shows all of them, with details
    ");
    assert_eq!(
        env.git(&["rev-list", "--count", &format!("{head}..HEAD")]).trim(),
        "61",
        "a commit each"
    );
    assert_eq!(
        env.git(&["log", "-1", "--format=%s", "--", "tasks/AOF-a07.md"]),
        "AOF-a07: adopted at do\n"
    );
    let task = env.read("tasks/AOF-a07.md");
    assert!(task.contains("workflow: fast") && task.ends_with("---\nThe body\n"), "{task}");
    assert!(!task.contains("gateHistory"), "nothing is made up: {task}");
    assert!(env.read("tasks/AOF-own.md").contains("current: implement"));
    assert_eq!(env.read("tasks/AOF-bad.md"), "---\ntitle: [Broken\n---\n");

    let again = env.aof(&["migrate", "tasks", "--add-gates", "--json"]).code(6).json();
    assert_eq!(
        (&again["adopted"], again["skipped"].as_array().unwrap().len()),
        (&serde_json::json!([]), 1),
        "{again}"
    );
    std::fs::remove_file(env.path("tasks/AOF-bad.md")).unwrap();
    std::fs::remove_file(env.path("tasks/AOF-odd.md")).unwrap();
    env.commit_all("mended");
    let _ = env.aof(&["migrate", "tasks", "--add-gates"]).success();
    check(&env);
}

#[test]
fn migrating_moves_tasks_from_gates_that_are_gone() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    env.hand_made("AOF-abc", "Written by hand");
    env.write("project.yaml", PROJECT.replace("review", "inspect"));
    env.commit_all("inspect");
    assert_snapshot!(env.aof(&["migrate", "tasks", "--add-gates"]), @"
    exit 0
    --- stdout
    AOF-abc: at implement
    AOF-xxxxx: review → implement (moved)
    1 task has a gate now
    ");
    check(&env);
}

#[test]
fn migrations_at_the_same_time_take_each_file_up_once() {
    let env = TestEnvironment::new();
    let ids: Vec<String> = (0..60).map(|number| format!("AOF-a{number:02}")).collect();
    for id in &ids {
        env.hand_made(id, "As it was");
    }
    let arguments = ["migrate", "tasks", "--add-gates", "--wait", "60s", "--json"];
    let children: Vec<_> = (0..3).map(|_| env.start(&arguments)).collect();
    let outputs: Vec<_> =
        children.into_iter().map(|child| env.finish("aof migrate", child).success()).collect();
    let adopted: usize =
        outputs.iter().map(|output| output.json()["adopted"].as_array().unwrap().len()).sum();
    assert_eq!(adopted, 60);
    assert_eq!(env.log().matches(": adopted at implement").count(), 60);
    check(&env);
}

#[test]
fn without_a_workflow_a_task_has_the_role_that_it_names() {
    let env = TestEnvironment::with_rules("project: {name: Plain}\n", ORG);
    env.write("tasks/AOF-abc.md", "---\ntitle: Add login\nrouting: {role: architect}\n---\n");
    env.hand_made("AOF-def", "For anybody");
    let _ = env.aof(&["watch", "--once"]).success();
    assert!(
        env.read("tasks/AOF-abc.md").contains("role: architect"),
        "{}",
        env.read("tasks/AOF-abc.md")
    );
    let refused = env.say("AOF-abc", "agent-7", "complete", &["--json"]).code(4).json();
    assert_eq!((&refused["error"], &refused["gate"]), (&"wrong_role".into(), &"complete".into()));
    let listed = env.aof(&["task", "list", "--role", "architect", "--json"]).success().json();
    assert_eq!(listed["tasks"][0]["id"], "AOF-abc");
    // No outcome means `complete`, and there is nothing to be sent back to.
    let _ = env
        .aof(&["task", "complete", "AOF-abc", "--agent", "agent-3", "--summary", "Did it"])
        .success();
    let _ = env
        .say("AOF-def", "anybody", "needs_review", &["--blocker", "The session never expires"])
        .code(4);
    let _ = env.complete("AOF-def", "anybody");
    assert_eq!(env.files("tasks/archive").len(), 2);

    // Once there is a workflow, tasks go on under it.
    let late = env.new_task(&["Late"]);
    env.write("project.yaml", PROJECT);
    env.commit_all("a workflow");
    let _ = env.aof(&["org", "reload"]).success();
    assert!(env.task_text(&late).contains("current: implement"), "{}", env.task_text(&late));
    check(&env);
}
