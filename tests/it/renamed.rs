//! Task files under the name of another task: what is told of them does not make `aof verify` say for good that a history was taken away,
//! or brought along.

use std::fs;

use crate::environment::TestEnvironment;
use crate::merging::verified;

/// A task with one entry.
fn scene() -> (TestEnvironment, String) {
    let env = TestEnvironment::new();
    let _ = env.aof(&["doctor", "--fix"]);
    let id = env.new_task(&["Add login"]);
    let _ = env.complete(&id, "agent-7").success();
    (env, id)
}

fn run(env: &TestEnvironment, command: &str) {
    let mut shell = env.command("sh");
    shell.args(["-c", command]).current_dir(env.path("."));
    let _ = env.run(shell).success();
}

/// Everything that is told of the task at that path.
fn told(env: &TestEnvironment, id: &str) -> [String; 3] {
    [
        env.aof(&["status"]).success().stdout,
        env.aof(&["doctor"]).stdout,
        env.say(id, "agent-3", "complete", &[]).code(6).stderr,
    ]
}

#[test]
fn a_renamed_task_file_is_to_be_renamed_back() {
    for (is_known, is_committed) in [(false, false), (true, false), (true, true)] {
        let (env, id) = scene();
        let (here, there) = (format!("tasks/{id}.md"), "tasks/AOF-renamed.md");
        if is_known {
            env.git(&["mv", &here, there]);
        } else {
            fs::rename(env.path(&here), env.path(there)).unwrap();
        }
        if is_committed {
            env.git(&["commit", "-qm", "renamed"]);
        }
        let command = format!("{} {there} {here}", if is_known { "git mv" } else { "mv" });
        let hint = env.plain(&format!("rename it back: `{command}`"));
        for text in told(&env, "AOF-renamed") {
            assert!(text.contains(&hint) && !text.contains("write `id"), "{hint}\n{text}");
        }
        run(&env, &command);
        if is_committed {
            // What a commit took away is told by `aof verify`; the task goes on with what it had.
            let status = env.aof(&["status"]).success().stdout;
            assert!(
                status
                    .contains(&env.plain(&format!("commit that it is back with `git add {here}"))),
                "{status}"
            );
            env.commit_all("back");
        } else {
            assert_eq!(env.git(&["status", "--porcelain"]), "");
            let _ = verified(&env).success();
        }
        let _ = env.say(&id, "agent-3", "complete", &[]).success();
    }
}

#[test]
fn whoever_wrote_another_id_into_a_renamed_file_is_told_to_rename_it_back() {
    let (env, id) = scene();
    env.git(&["mv", &format!("tasks/{id}.md"), "tasks/AOF-renamed.md"]);
    env.git(&["commit", "-qm", "renamed"]);
    env.edit("tasks/AOF-renamed.md", &format!("id: {id}"), "id: AOF-renamed");
    let refused = env.say("AOF-renamed", "agent-3", "complete", &[]).code(5);
    let back = env.plain(&format!("rename it back: `git mv tasks/AOF-renamed.md tasks/{id}.md`"));
    assert!(refused.stderr.contains(&back) && !refused.stderr.contains("commit it"), "{refused}");
    assert!(env.aof(&["status"]).success().stdout.contains(&back));
}

#[test]
fn a_copy_is_not_to_be_committed_with_what_the_engine_keeps() {
    let (env, id) = scene();
    let text = env.task_text(&id);
    // As it is.
    env.write("tasks/AOF-copy1.md", &text);
    let hint = env
        .plain(&format!("it is a copy of `tasks/{id}.md`: remove it with `rm tasks/AOF-copy1.md`"));
    for told in told(&env, "AOF-copy1") {
        assert!(told.contains(&hint) && !told.contains("commit it"), "{told}");
    }
    // With an id of its own, and a history that is not.
    env.write("tasks/AOF-copy1.md", text.replace(&id, "AOF-copy1"));
    for told in [
        env.say("AOF-copy1", "agent-3", "complete", &[]).code(5).stderr,
        env.aof(&["status"]).success().stdout,
        env.aof(&["watch", "--once"]).to_string(),
    ] {
        assert!(told.contains("to have it begin anew") && !told.contains("commit it"), "{told}");
    }
    // What is told can be done.
    let plain: String = text
        .lines()
        .filter(|line| line.starts_with("---") || line.starts_with("title:"))
        .map(|line| format!("{line}\n"))
        .collect();
    env.write("tasks/AOF-copy1.md", plain);
    let _ = env.aof(&["watch", "--once"]).success();
    let _ = env.complete("AOF-copy1", "agent-7").success();
    let _ = verified(&env).success();
    // Once somebody committed it.
    env.write("tasks/AOF-copy2.md", &text);
    env.commit_all("copy");
    let hint = env.plain(&format!(
        "it is a copy of `tasks/{id}.md`: remove it with `git rm tasks/AOF-copy2.md`"
    ));
    assert!(env.aof(&["status"]).success().stdout.contains(&hint));
    env.git(&["rm", "-q", "tasks/AOF-copy2.md"]);
    env.git(&["commit", "-qm", "no copy"]);
    let _ = env.aof(&["verify"]).success();
}
