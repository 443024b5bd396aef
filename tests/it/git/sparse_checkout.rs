//! Task files that git does not look for: a sparse checkout without them, and files that it was told to pass over.

use std::fs;

use serde_json::json;

use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::McpClient;
use crate::support::merge_scene::verified;

#[test]
fn tasks_outside_of_a_sparse_checkout_are_not_gone() {
    for tasks in [1, 2] {
        let env = TestEnvironment::new();
        let _ = env.aof(&["doctor", "--fix"]);
        env.write("src/main.rs", "fn main() {}\n");
        env.commit_all("code");
        let id = env.new_task(&["Add login"]);
        (1..tasks).for_each(|_| drop(env.new_task(&["Add logout"])));
        env.git(&["sparse-checkout", "set", "--cone", "src"]);
        assert!(!env.exists("tasks"));
        let problem = format!("git leaves the files of {tasks} tasks out of this checkout: ");
        for output in [env.aof(&["status"]).success().stdout, env.aof(&["doctor"]).code(1).stdout] {
            assert!(
                output.contains(&problem) && output.contains("`git sparse-checkout add tasks`"),
                "{output}"
            );
            assert!(!output.contains("is gone") && !output.contains("git restore"), "{output}");
        }
        let refused = env.say(&id, "agent-7", "complete", &[]).code(3);
        let error =
            "git leaves the file of task `AOF-xxxxx` out of this checkout: `tasks/AOF-xxxxx.md`";
        assert!(refused.stderr.contains(error), "{refused}");
        assert!(refused.stderr.contains("hint: `git sparse-checkout add tasks`"), "{refused}");
        // What is dropped waits, and counts once the task is there.
        env.write(
            ".aof/inbox/c.yaml",
            format!("task: {id}\nagent: agent-7\noutcome: complete\nsummary: x\n"),
        );
        let head = env.head();
        let _ = env.aof(&["watch", "--once"]);
        assert_eq!(env.head(), head);
        env.git(&["sparse-checkout", "add", "tasks"]);
        let _ = env.aof(&["watch", "--once"]).success();
        assert!(env.task_text(&id).contains("outcome: complete"));
        assert!(!env.aof(&["status"]).success().stdout.contains("out of this checkout"));
        let _ = verified(&env).success();
    }
}

#[test]
fn lists_that_lack_tasks_of_a_sparse_checkout_say_so() {
    let env = TestEnvironment::new();
    env.write("src/main.rs", "fn main() {}\n");
    env.commit_all("code");
    let (_, other) = (env.new_task(&["Add login"]), env.new_task(&["Add logout"]));
    let commands: [&[&str]; 6] = [
        &["list"],
        &["search", "login"],
        &["stats"],
        &["decide", "--agent", "human-ada"],
        &["gate", "status"],
        &["next", "--agent", "agent-7"],
    ];
    let printed =
        |text: &str| text.contains("out of this sparse checkout; `git sparse-checkout add tasks`");
    for args in commands {
        assert!(!printed(
            &env.aof(&[args, &["--dry-run"][..usize::from(args[0] == "next")]].concat()).stderr
        ));
    }
    env.git(&["sparse-checkout", "set", "--cone", "src"]);
    for args in commands {
        let output = env.aof(args).success();
        assert!(printed(&output.stderr) && output.stderr.contains("files of 2 tasks"), "{output}");
    }
    for args in [["list", "--json"], ["search", "--json"]] {
        let words = [&args[..], &["login"][..usize::from(args[0] == "search")]].concat();
        assert_eq!(env.aof(&words).success().json()["warnings"][0]["warning"], "tasks_left_out");
    }
    let mut client = McpClient::of(&env, "agent-7");
    for tool in ["aof_task_list", "aof_task_next"] {
        let answer = client.call(tool, json!({}));
        assert_eq!(answer["warnings"][0]["count"], 2, "{tool}: {answer}");
    }
    // One file is left out, beside one that is there.
    env.git(&["sparse-checkout", "set", "--no-cone", "/*", &format!("!/tasks/{other}.md")]);
    let output = env.aof(&["list"]).success();
    assert!(
        output.stdout.contains("Add login") && output.stderr.contains("file of 1 task"),
        "{output}"
    );
}

#[test]
fn files_outside_the_sparse_checkout_are_reported_as_such() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Add login"]);
    let path = format!("tasks/{id}.md");
    env.git(&["update-index", "--skip-worktree", &path]);
    fs::remove_file(env.path(&path)).unwrap();
    let fix = env
        .plain(&format!("`git update-index --no-skip-worktree {path}`, then `git restore {path}`"));
    assert!(env.aof(&["status"]).success().stdout.contains(&fix));
    assert!(env.say(&id, "agent-7", "complete", &[]).code(3).stderr.contains(&fix));
    env.git(&["update-index", "--no-skip-worktree", &path]);
    env.git(&["restore", &path]);
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
}
