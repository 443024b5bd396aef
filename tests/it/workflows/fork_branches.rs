//! Which branch of a fork is meant: said, guessed where only one can be, and asked for where several can.

use insta::assert_snapshot;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::workflows::forks::{FORKED, PEOPLE, at_fork, environment};

#[test]
fn a_missing_or_unknown_branch_is_refused_with_the_list() {
    let env = environment();
    let id = env.new_task(&["Add login", "--tag", "no-docs"]);
    let _ = env.complete(&id, "agent-7").success();
    let head = env.head();
    assert_snapshot!(env.say(&id, "agent-l", "complete", &[]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is at gate `parallel-review`, and none of the branches that are open there is for `agent-l`

    hint: leave it to an agent of the role, or take another with `aof next --agent agent-l`:
      `AOF-xxxxx@1/security`  role security
      `AOF-xxxxx@1/style`  role backend
    ");
    assert_snapshot!(env.say(&format!("{id}@1/nonsense"), "agent-s", "complete", &[]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is at gate `parallel-review`, and no branch `nonsense` is open there

    hint: use the ticket of a branch that is open:
      `AOF-xxxxx@1/security`  role security
      `AOF-xxxxx@1/style`  role backend
    ");
    assert_snapshot!(env.say(&format!("{id}@1/docs"), "agent-w", "complete", &["--json"]), @r#"
    exit 4
    --- stdout
    {
      "error": "no_such_branch",
      "message": "task `AOF-xxxxx` is at gate `parallel-review`, and no branch `docs` is open there\n\nuse the ticket of a branch that is open:\n  `AOF-xxxxx@1/security`  role security\n  `AOF-xxxxx@1/style`  role backend",
      "task": "AOF-xxxxx",
      "gate": "parallel-review",
      "branch": "docs",
      "openBranches": [
        {
          "ticket": "AOF-xxxxx@1/security",
          "role": "security"
        },
        {
          "ticket": "AOF-xxxxx@1/style",
          "role": "backend"
        }
      ],
      "jsonVersion": 1
    }
    --- stderr
    task `AOF-xxxxx` is at gate `parallel-review`, and no branch `docs` is open there
    "#);
    assert_snapshot!(env.aof(&["task", "brief", &id]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is at gate `parallel-review`, where several branches are open: say which one you mean

    hint: use the ticket of a branch that is open:
      `AOF-xxxxx@1/security`  role security
      `AOF-xxxxx@1/style`  role backend
    ");
    let _ = env.say(&format!("{id}@1/../x"), "agent-s", "complete", &[]).code(2);
    assert_eq!(env.head(), head, "nothing was written");
    let _ = env.say(&id, "agent-s", "complete", &[]).success();
    assert_snapshot!(env.say(&format!("{id}@1/security"), "agent-s", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@1/security` at gate `parallel-review/security` has ended: `agent-s` ended it with `complete` on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    assert_snapshot!(env.say(&id, "agent-s", "complete", &[]), @"
    exit 5
    --- stderr
    error: `AOF-xxxxx@1/security` at gate `parallel-review/security` has ended: `agent-s` ended it with `complete` on Feb 16, 10:00

    hint: nothing was changed and nothing is to be done; see where it stands now with `aof show AOF-xxxxx`
    ");
    check(&env);
}

#[test]
fn an_agent_in_two_branches_says_which_one_it_means() {
    let people = PEOPLE.replace("writer: {agents: [agent-w]}", "writer: {agents: [agent-s]}");
    let env = TestEnvironment::with_rules(FORKED, &people);
    let id = at_fork(&env);
    assert_snapshot!(env.say(&id, "agent-s", "complete", &[]), @"
    exit 4
    --- stderr
    error: task `AOF-xxxxx` is at gate `parallel-review`, where several branches are open: say which one you mean

    hint: use the ticket of a branch that is open:
      `AOF-xxxxx@1/security`  role security
      `AOF-xxxxx@1/docs`  role writer
      `AOF-xxxxx@1/style`  role backend
    ");
    let taken = env
        .aof(&["task", "next", "--agent", "agent-s", "--role", "writer", "--json"])
        .success()
        .json();
    assert_eq!(taken["ticket"], env.plain(&format!("{id}@1/docs")));
    let _ = env.say(&id, "agent-s", "complete", &[]).success();
    let _ = env.say(&id, "agent-s", "complete", &[]).success();
    let _ = env.say(&id, "agent-s", "complete", &[]).code(5);
    check(&env);
    let task = env.aof(&["task", "show", &id, "--json"]).json();
    assert_eq!(task["gate"]["branches"][0]["status"], "complete");
    assert_eq!(task["available"]["branches"][0]["ticket"], env.plain(&format!("{id}@1/style")));
    assert_eq!(task["available"]["branches"][0]["outcomes"][0], "fine");
}

#[test]
fn a_text_stands_under_its_branch() {
    let env = environment();
    let id = at_fork(&env);
    env.write("report.md", "Looked at everything.\n");
    let _ = env.say(&id, "agent-s", "complete", &["--file", "report.md"]).success();
    let text = env.task_text(&id);
    let marker =
        format!("<!-- aof:work {id}@1/security -->\n## parallel-review/security by agent-s\n");
    assert!(text.contains(&marker), "{text}");
}

#[test]
fn dropped_files_complete_branches_and_never_the_next_one_by_accident() {
    let env = TestEnvironment::with_rules(FORKED, &PEOPLE.replace("[agent-w]", "[agent-s]"));
    let id = at_fork(&env);
    let file = |ticket: &str, agent: &str, outcome: &str| {
        format!("task: {ticket}\nagent: {agent}\noutcome: {outcome}\nsummary: Did it\n")
    };
    env.write(".aof/inbox/a.yaml", file(&format!("{id}@1/docs"), "agent-s", "complete"));
    env.write(".aof/inbox/b.yaml", file(&id, "agent-7", "fine"));
    env.write(".aof/inbox/c.yaml", file(&id, "agent-7", "fine"));
    let _ = env.aof(&["watch", "--once"]);
    let task = env.aof(&["task", "show", &id, "--json"]).json();
    let states: Vec<&str> = task["gate"]["branches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|branch| branch["status"].as_str().unwrap())
        .collect();
    assert_eq!(states, ["ready", "complete", "complete"]);
    assert_eq!(env.files(".aof/refused").len(), 2, "the second of the same is told why");
    check(&env);
}

#[test]
fn of_two_dropped_files_the_one_without_a_branch_means_the_other_branch() {
    let rules = FORKED.replace("{id: approve, role: lead}", "{id: approve, role: security}");
    let env = TestEnvironment::with_rules(&rules, &PEOPLE.replace("[agent-w]", "[agent-s]"));
    let id = at_fork(&env);
    let file = |ticket: &str| {
        format!("task: {ticket}\nagent: agent-s\noutcome: complete\nsummary: Did it\n")
    };
    env.write(".aof/inbox/a.yaml", file(&format!("{id}@1/security")));
    env.write(".aof/inbox/b.yaml", file(&id));
    let _ = env.aof(&["watch", "--once"]);
    let states = || {
        let task = env.aof(&["task", "show", &id, "--json"]).json();
        let branches = task["gate"]["branches"].as_array().cloned().unwrap_or_default();
        branches
            .iter()
            .map(|branch| branch["status"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(states(), ["complete", "complete", "ready"]);
    assert!(env.files(".aof/refused").is_empty());
    // If the first closed the fork, the second is not taken for the gate behind it.
    let id = at_fork(&env);
    let _ = env.say(&id, "agent-8", "fine", &[]).success();
    let _ = env.say(&format!("{id}@1/docs"), "agent-s", "complete", &[]).success();
    env.write(".aof/inbox/c.yaml", file(&format!("{id}@1/security")));
    env.write(".aof/inbox/d.yaml", file(&id));
    let _ = env.aof(&["watch", "--once"]);
    assert_eq!(env.aof(&["task", "show", &id, "--json"]).json()["gate"]["current"], "approve");
    assert_eq!(env.files(".aof/refused").len(), 2, "the file, and why");
    check(&env);
}

#[test]
fn a_refusal_at_a_branch_names_the_branch_as_its_brief_does() {
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
