//! The rules in force are the committed ones.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::{ORG, PROJECT, TestEnvironment};

#[test]
fn rules_count_once_they_are_committed() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write("project.yaml", PROJECT.replace("review", "inspect"));
    assert_snapshot!(env.complete(&id, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review
      now at review, ready for agent-3
    --- stderr
    warning: project.yaml differs from what is committed; the committed rules count
    ");
    env.git(&["checkout", "--quiet", "project.yaml"]);
    let tidy = env.new_task(&["Tidy up"]);
    env.write("project.yaml", PROJECT.replace("review", "inspect"));
    env.commit_all("inspect");
    assert_snapshot!(env.complete(&tidy, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → inspect
      now at inspect, ready for agent-3
    ");
    check(&env);
}

#[test]
fn line_endings_that_git_wrote_are_no_other_rules() {
    let env = TestEnvironment::new();
    env.write("project.yaml", PROJECT.replace('\n', "\r\n"));
    assert_eq!(env.aof(&["task", "list"]).success().stderr, "no tasks\n");
    env.write("project.yaml", PROJECT.replace("review", "inspect").replace('\n', "\r\n"));
    let warning =
        "warning: project.yaml differs from what is committed; the committed rules count\n";
    assert_eq!(env.aof(&["task", "list"]).success().stderr, format!("{warning}no tasks\n"));
}

#[test]
fn a_task_at_a_gate_that_is_gone_says_so() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    env.write("project.yaml", PROJECT.replace("review", "inspect"));
    env.commit_all("inspect");
    assert_snapshot!(env.say(&id, "agent-3", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@1` at gate `review` has ended: the rules changed, and the task was moved on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    check(&env);
}

#[test]
fn invalid_rules_leave_the_older_ones_in_force_and_are_loud() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    env.write(
        "project.yaml",
        "workflow:\n  gates:\n    - {id: implement, role: backend, canReject: yes}\n    - {role: nobody}\n",
    );
    env.commit_all("broken");
    assert_snapshot!(env.complete(&id, "agent-7"), @"
    exit 0
    --- stdout
    AOF-xxxxx: implement → review
      now at review, ready for agent-3
    --- stderr
    warning: the committed rules are invalid, so those of commit COMMIT stay in force; see `aof workflow validate`
    ");
    env.write("project.yaml", "workflow: [\n");
    env.commit_all("more broken");
    let _ = env.complete(&id, "agent-3");
    env.write("project.yaml", PROJECT);
    env.commit_all("mended");
    let output = env.aof(&["task", "new", "Tidy up"]).success();
    assert_eq!(output.stderr, "");
    check(&env);
}

#[test]
fn rules_that_were_never_committed_do_not_count() {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", PROJECT);
    env.write("org.yaml", ORG);
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @r#"
    exit 6
    --- stderr
    error: the rules of this project are not committed yet: project.yaml, org.yaml

    hint: they count once they are: `git add project.yaml org.yaml && git commit -m "rules" -- project.yaml org.yaml`
    "#);
    assert_snapshot!(env.aof(&["task", "new", "Add login", "--json"]), @r#"
    exit 6
    --- stdout
    {
      "error": "rules_not_committed",
      "message": "the rules of this project are not committed yet: project.yaml, org.yaml\n\nthey count once they are: `git add project.yaml org.yaml && git commit -m \"rules\" -- project.yaml org.yaml`",
      "jsonVersion": 1
    }
    --- stderr
    the rules of this project are not committed yet: project.yaml, org.yaml
    "#);
    assert!(!env.exists("tasks"));
    env.commit_all("rules");
    env.new_task(&["Add login"]);
    check(&env);
}

#[test]
fn rules_that_were_never_valid_are_explained_whole() {
    let env = TestEnvironment::with_rules(
        "workflow:\n  gates:\n    - id: implement\n      role: backendd\n    - id: implement\n      role: architect\n      canRejct: true\n",
        ORG,
    );
    assert_snapshot!(env.aof(&["task", "new", "Add login"]), @"
    exit 6
    --- stderr
    error: the configuration is invalid

    error[unknown_role]: there is no role `backendd` in org.yaml
     --> project.yaml:4:13
      |
    4 |       role: backendd
      |             ^^^^^^^^
      |
      = help: did you mean `backend`? the roles of org.yaml are `backend`, `architect`

    error[duplicate_gate]: gate `implement` is defined twice: it is also number 1 of this list
     --> project.yaml:5:11
      |
    5 |     - id: implement
      |           ^^^^^^^^^
      |
      = help: give each gate of a workflow a name of its own

    error[unknown_field]: a gate has no field `canRejct`
     --> project.yaml:7:7
      |
    7 |       canRejct: true
      |       ^^^^^^^^
      |
      = help: did you mean `canReject`?
    ");
    assert_eq!(
        env.aof(&["task", "new", "Add login", "--json"]).code(6).json()["error"],
        "workflow_config_invalid"
    );
}

#[test]
fn a_workflow_may_have_a_file_of_its_own() {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", "defaultWorkflow: fast\n");
    env.write("org.yaml", ORG);
    env.write("workflows/fast.yaml", "gates:\n  - {id: do, role: backend}\n");
    env.write("workflows/notes.txt", "not a workflow\n");
    env.commit_all("rules");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7");
    assert!(env.task_path(&id).starts_with("tasks/archive/"));
    check(&env);
}

#[test]
fn without_any_rules_there_is_one_gate_for_everybody() {
    let env = TestEnvironment::without_rules();
    env.write("README", "x\n");
    env.write(".aof/.gitignore", "*\n");
    env.commit_all("first");
    let output = env.aof(&["task", "new", "Add login"]);
    assert_snapshot!(output, @"
    exit 0
    --- stdout
    AOF-xxxxx: created, tasks/AOF-xxxxx.md
      now at complete, ready for anybody
    ");
    let path = env.files("tasks").remove(0);
    let id = path.trim_start_matches("tasks/").trim_end_matches(".md").to_owned();
    assert_snapshot!(env.say(&id, "anybody", "complete", &[]), @"
    exit 0
    --- stdout
    AOF-xxxxx: complete → done
      now complete; archived as tasks/archive/2026/02/16/AOF-xxxxx.md
    ");
    check(&env);
}

#[test]
fn metrics_run_without_any_valid_rules() {
    let env = TestEnvironment::without_rules();
    env.write("project.yaml", "workflow: {gates: [{id: work, role: nobody}]}\n");
    env.commit_all("rules");
    let output = env.aof(&["metrics"]).code(6);
    let line = "aof_workflow_config_invalid_total{project=\"project\"} 1";
    assert!(output.stdout.contains(line), "{output}");
    assert!(output.stderr.contains("aof workflow validate"), "{output}");
    let json = env.aof(&["metrics", "--json"]).code(6);
    assert!(json.json()["metrics"].is_array(), "{json}");
    env.write("org.yaml", "roles: {nobody: {agents: [agent-7]}}\n");
    env.commit_all("roles");
    let _ = env.aof(&["metrics"]).success();
}

#[test]
fn known_notes_are_not_repeated() {
    let org = "roles: {backend: {agents: [agent-7, agent-8]}, architect: {agents: [agent-7]}}\n";
    let env = TestEnvironment::with_rules(crate::support::environment::PROJECT, org);
    let note = "note[shared_agent]";
    assert!(env.aof(&["workflow", "validate"]).success().stdout.contains(note));
    assert!(!env.aof(&["org", "reload"]).success().to_string().contains("note["));
    env.edit("project.yaml", "canReject: true", "canReject: true\n      timeout: 1h");
    assert!(!env.aof(&["workflow", "diff"]).success().to_string().contains("note["));
    env.edit(
        "org.yaml",
        "architect: {agents: [agent-7]}",
        "architect: {agents: [agent-7, agent-8]}",
    );
    let diff = env.aof(&["workflow", "diff"]).success().to_string();
    assert!(!diff.contains(note) && diff.contains("with agent-8"), "{diff}");
    let output = env.aof(&["workflow", "validate"]).success().stdout;
    assert!(output.contains("`agent-8` is in 2 roles"), "{output}");
}

/// What `workflow validate` says of `separateFrom` in a workflow of these gates.
fn staffing(env: &TestEnvironment, gates: &str, roles: &str) -> String {
    env.write("project.yaml", format!("workflow:\n  gates:\n{gates}"));
    env.write("org.yaml", format!("roles:\n{roles}"));
    let found = env.aof(&["--json", "workflow", "validate"]).success().json();
    let list = found["diagnostics"].as_array().unwrap().iter();
    let own = list.filter(|own| own["code"] == "nobody_is_separate");
    own.map(|own| format!("{}: {}\n", own["severity"], own["message"]).replace('"', "")).collect()
}

#[test]
fn gates_that_together_need_more_agents_than_there_are_are_reported() {
    let env = TestEnvironment::new();
    let two = "  dev: {agents: [x, y]}\n";
    let three = "    - {id: a, role: dev}\n    - {id: b, role: dev, separateFrom: [a]}\n    - {id: c, role: dev, separateFrom: [a, b]}\n";
    assert_snapshot!(staffing(&env, three, two), @"warning: nobody can complete gate `c`: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`");
    assert_snapshot!(staffing(&env, three, "  dev: {agents: [x, y, z]}\n"), @"");
    // Only people may work at two of them.
    let people = three
        .replace("separateFrom", "requireHuman: true, timeout: 1d, escalateTo: boss, separateFrom");
    let one_person = "  dev: {agents: [x, y, human-ada]}\n  boss: {agents: [human-bob]}\n";
    assert_snapshot!(staffing(&env, &people, one_person), @"warning: nobody can complete gate `c`: gates `b`, `c` need 2 different agents, and there are only `human-ada` of role `dev`");
    // Roles differ: `b` has nobody but those who are needed elsewhere.
    let roles = three.replace("b, role: dev", "b, role: qa");
    assert_snapshot!(staffing(&env, &roles, "  dev: {agents: [x, y]}\n  qa: {agents: [y, x]}\n"), @"warning: nobody can complete gate `c`: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of roles `dev`, `qa`");
    assert_snapshot!(staffing(&env, &roles, "  dev: {agents: [x, y]}\n  qa: {agents: [z]}\n"), @"");
    // Branches of a fork are gates too.
    let fork = "    - {id: a, role: dev}\n    - {id: f, type: fork, branches: [{id: one, role: dev, separateFrom: [a]}, {id: two, role: dev}]}\n    - {id: c, role: dev, separateFrom: [a, f]}\n";
    assert_snapshot!(staffing(&env, fork, two), @"warning: nobody can complete gate `c`: gates `a`, `one`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`");
    // A gate that only some tasks come to.
    let some = three.replace("b, role: dev", "b, role: dev, when: \"tags.includes('big')\"");
    assert_snapshot!(staffing(&env, &some, two), @"note: nobody can complete gate `c` of a task that comes to all of these: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`");
    // None comes to both.
    let either = "    - {id: a, role: dev, routes: {left: b, right: c}}\n    - {id: b, role: dev, routes: {complete: $end}}\n    - {id: c, role: dev, separateFrom: [b]}\n";
    assert_snapshot!(staffing(&env, either, "  dev: {agents: [x]}\n"), @"");
    let sessions = three
        .replace("[a]", "{gates: [a], by: session}")
        .replace("[a, b]", "{gates: [a, b], by: session}");
    assert_snapshot!(staffing(&env, &sessions, two), @"note: nobody can complete gate `c` after work at `a`, `b` that names no session: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`");
}

#[test]
fn rules_that_nobody_can_staff_stay_in_force_and_status_tells() {
    let env = TestEnvironment::new();
    env.write("project.yaml", "workflow:\n  gates:\n    - {id: a, role: dev}\n    - {id: b, role: dev, separateFrom: [a]}\n    - {id: c, role: dev, separateFrom: [a, b]}\n");
    env.write("org.yaml", "roles:\n  dev: {agents: [x, y]}\n");
    env.commit_all("rules");
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "x");
    assert_snapshot!(env.complete(&id, "y"), @"
    exit 0
    --- stdout
    AOF-xxxxx: b → c
      now at c, ready for nobody
    ");
    assert_snapshot!(env.aof(&["org", "validate"]), @"
    exit 0
    --- stdout
    warning[nobody_is_separate]: nobody can complete gate `c`: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`
     --> project.yaml:5:40
      |
    5 |     - {id: c, role: dev, separateFrom: [a, b]}
      |                                        ^^^^^^
      |
      = help: add another agent to one of the roles in org.yaml, or remove `separateFrom`

    valid: 1 roles, 2 agents (1 warning)
    ");
    assert_snapshot!(env.aof(&["status"]), @"
    exit 0
    --- stdout
    on main
    1 open: 1 ready

    what waits for you is unknown: no agent of org.yaml has git's `user.email`

    Problems: 2
      ! nobody can complete gate `c`: gates `a`, `b`, `c` need 3 different agents, and there are only `x`, `y` of role `dev`
        add another agent to one of the roles in org.yaml, or remove `separateFrom`
      ! no watcher is running
        start one with `aof watch`; without it, commands work but dropped files and edits wait
    ");
    check(&env);
}

#[test]
fn a_commit_of_invalid_rules_is_warned_of_and_made() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]).success();
    let valid = env.read("project.yaml");
    env.write("other/project.yaml", "name: not ours\n");
    env.write(".github/workflows/ci.yaml", "on: push\n");
    env.git(&["add", "-A"]);
    let other = env.try_git(&["commit", "--quiet", "-m", "Of others"]).code(0);
    assert!(!other.stderr.contains("invalid rules"), "{other}");

    env.write("project.yaml", "workflow: {gates: 3}\n");
    env.git(&["add", "-A"]);
    // The worktree does not count, only what is staged.
    env.write("project.yaml", &valid);
    let made = env.try_git(&["commit", "--quiet", "-m", "Rules"]).code(0);
    assert_snapshot!(made.stderr, @"
    warning: this commits invalid rules; those of the last valid commit stay in force
    error[wrong_kind]: `gates` is a list of gates, and this is a number
     --> project.yaml:1:19
      |
    1 | workflow: {gates: 3}
      |                   ^
      |
      = help: begin each gate with a dash, as in `- id: review`

    `git commit --amend` after the correction replaces it
    ");
    env.git(&["add", "-A"]);
    let mended = env.try_git(&["commit", "--quiet", "-m", "Valid again"]).code(0);
    assert_eq!(mended.stderr, "");
}
