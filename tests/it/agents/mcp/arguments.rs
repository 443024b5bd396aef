//! Arguments of tools that do not fit, are too long, or name files that are not for the record.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::json;

use crate::support::checker::check;
use crate::support::environment::TestEnvironment;
use crate::support::mcp_client::{McpClient, WITH_BOSS, WITH_PERSON, shown};

#[test]
fn arguments_that_do_not_fit_are_refused_with_those_that_do() {
    let env = TestEnvironment::with_rules(WITH_PERSON, WITH_BOSS);
    env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let mut lines = Vec::new();
    for (tool, arguments) in [
        (
            "aof_task_complete",
            json!({"outcome": "blocked", "summary": "Stuck", "blocker": ["No access"]}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "blocked", "summary": "Stuck", "blockers": "No access"}),
        ),
        ("aof_task_complete", json!({"outcome": 3, "summary": "Stuck"})),
        (
            "aof_task_complete",
            json!({"agent": "agent-3", "outcome": "complete", "summary": "I am somebody else"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "task": "../../etc/passwd"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "file": "/etc/passwd"}),
        ),
        (
            "aof_task_complete",
            json!({"outcome": "complete", "summary": "x", "file": "../home/.gitconfig"}),
        ),
        ("aof_task_complete", json!({"outcome": "complete", "summary": "x", "file": "gone.md"})),
        ("aof_task_list", json!({"status": "done"})),
        ("aof_task_list", json!({"gate": "revew"})),
        ("aof_task_list", json!({"limit": -1})),
        ("aof_task_list", json!({"ready": "perhaps"})),
        ("aof_task_next", json!({"role": "architect"})),
        ("aof_task_next", json!({"role": "bakend"})),
        ("aof_task_comment", json!({})),
        ("aof_task_comment", json!({"text": " "})),
        ("aof_task_create", json!({"title": ""})),
        ("aof_task_create", json!({"titel": "Write it down"})),
        ("aof_workflow_start", json!({"workflow": "defalt", "title": "Add X"})),
        ("aof_workflow_start", json!({"workflow": "feature", "title": "Add X"})),
        ("aof_status", json!({"verbose": true})),
    ] {
        let output = worker.refused(tool, arguments);
        let message = output["message"].as_str().unwrap().split("\n\nExample").next().unwrap();
        lines.push(format!(
            "{tool}: {}\n  {}\n  -> {}",
            output["error"],
            message.replace("\n\n", "\n  "),
            output["nextCall"]
        ));
    }
    assert_snapshot!(env.plain(&lines.join("\n")), @r#"
    aof_task_complete: "unknown_argument"
      `aof_task_complete` takes no argument `blocker`
      did you mean `blockers`?
      -> {"tool":"aof_task_complete","arguments":{"outcome":"blocked","summary":"Stuck","blockers":["No access"],"task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      `blockers` of `aof_task_complete` is to be a list of texts, not the text `No access`
      Needed with needs_review and blocked
      -> {"tool":"aof_task_complete","arguments":{"outcome":"blocked","summary":"Stuck","blockers":["No access"],"task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_outcome"
      `3` is not an outcome of gate `implement`
      valid here: `complete`, `blocked`, `skip`
      `complete`  your work here is finished
      `blocked`  something outside stops you (name it in `blockers`)
      `skip`  this gate does not apply to the task
      -> {"tool":"aof_task_complete","arguments":{"outcome":"<one of complete, blocked, skip>","summary":"Stuck","task":"AOF-xxxxx@0"}}
    aof_task_complete: "unknown_argument"
      `aof_task_complete` takes no argument `agent`
      it takes `summary`, `outcome`, `blockers`, `rejectionNotes`, `task`, `gate`, `outputs`, `metadata`, `text`, `file`, `id`, `signature`
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"I am somebody else","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_id"
      `../../etc/passwd` is not a task or a ticket: it is a prefix, `-`, and 3 to 32 of `a-z0-9`, as in `AOF-7qk`; or such an id and the number of a visit, as in `AOF-7qk@3`, and of a branch, as in `AOF-7qk@3/security`
      see what there is with aof_task_list or aof_status
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","task":"<task>"}}
    aof_task_complete: "invalid_argument"
      `/etc/passwd` is no file below the project
      name one by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      `../home/.gitconfig` is no file below the project
      name one by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_complete: "invalid_argument"
      cannot read `gone.md`: No such file or directory (os error 2)
      name one by its path from the project's folder
      -> {"tool":"aof_task_complete","arguments":{"outcome":"complete","summary":"x","file":"<file>","task":"AOF-xxxxx@0"}}
    aof_task_list: "invalid_argument"
      `status` of `aof_task_list` is to be one of `ready`, `in_progress`, `blocked`, `waiting`, `complete`, `failed`, `cancelled`, `new`, not the text `done`
      -> {"tool":"aof_task_list","arguments":{"status":"<one of ready, in_progress, blocked, waiting, complete, failed, cancelled, new>"}}
    aof_task_list: "unknown_gate"
      there is no gate `revew`
      did you mean `review`?
      -> {"tool":"aof_task_list","arguments":{"gate":"review"}}
    aof_task_list: "invalid_argument"
      `limit` of `aof_task_list` is to be a whole number, not less than 0, not `-1`
      How many at most; 20
      -> {"tool":"aof_task_list","arguments":{}}
    aof_task_list: "invalid_argument"
      `ready` of `aof_task_list` is to be true or false, not the text `perhaps`
      Only what can be handed out now
      -> {"tool":"aof_task_list","arguments":{}}
    aof_task_next: "wrong_role"
      `agent-7` is not in role `architect`
      its roles are `backend`; see `aof org show`
      -> {"tool":"aof_task_next","arguments":{}}
    aof_task_next: "unknown_role"
      there is no role `bakend`
      did you mean `backend`?
      -> {"tool":"aof_task_next","arguments":{"role":"backend"}}
    aof_task_comment: "missing_argument"
      `aof_task_comment` needs `text`
      What is to be said, as Markdown
      -> {"tool":"aof_task_comment","arguments":{"text":"<text>","task":"AOF-xxxxx@0"}}
    aof_task_comment: "empty_comment"
      the comment is empty
      give its text, as in `aof_task_comment AOF-xxxxx -m "..."`
      -> {"tool":"aof_task_comment","arguments":{"text":"<what is to be said>","task":"AOF-xxxxx@0"}}
    aof_task_create: "missing_title"
      a task needs a title
      say what is to be done in a few words, as in `Add login`
      -> {"tool":"aof_task_create","arguments":{"title":"<what is to be done, in a few words>"}}
    aof_task_create: "unknown_argument"
      `aof_task_create` takes no argument `titel`
      did you mean `title`?
      -> {"tool":"aof_task_create","arguments":{"title":"Write it down"}}
    aof_workflow_start: "unknown_workflow"
      there is no workflow `defalt`
      did you mean `default`?
      -> {"tool":"aof_workflow_start","arguments":{"workflow":"default","title":"Add X"}}
    aof_workflow_start: "unknown_workflow"
      there is no workflow `feature`
      there is `default`
      -> {"tool":"aof_workflow_list","arguments":{}}
    aof_status: "unknown_argument"
      `aof_status` takes no argument `verbose`
      call it without arguments
      -> {"tool":"aof_status","arguments":{}}
    "#);
    check(&env);
}

#[test]
fn an_overlong_argument_is_refused_and_the_server_goes_on() {
    let env = TestEnvironment::new();
    env.new_task(&["Add login"]);
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let long = "x".repeat(1 << 20);
    let output =
        worker.refused("aof_task_complete", json!({"outcome": "complete", "summary": long}));
    assert_snapshot!(shown(&env, &output), @r#"
    {
      "error": "too_long",
      "message": "`summary` has 1048576 bytes, and the limit is 16384\n\nkeep it short, and hand the rest on as a file",
      "field": "summary",
      "bytes": 1048576,
      "limit": 16384,
      "state": {
        "task": "AOF-xxxxx",
        "ticket": "AOF-xxxxx@0",
        "title": "Add login",
        "status": "in_progress",
        "gate": "implement",
        "agent": "agent-7",
        "available": {
          "outcomes": [
            "complete",
            "blocked"
          ],
          "role": "backend",
          "agents": [
            "agent-7"
          ]
        }
      },
      "nextCall": {
        "tool": "aof_task_complete",
        "arguments": {
          "outcome": "complete",
          "summary": "<the same, shorter; the rest belongs into a file that it names>",
          "task": "AOF-xxxxx@0"
        }
      }
    }
    "#);
    worker
        .refused("aof_task_complete", json!({"outcome": "complete", "summary": "x", "text": long}));
    worker.refused("aof_task_comment", json!({"text": long}));
    // A line that nobody could mean is not even kept.
    worker.send(&format!("\"{}\"", "x".repeat(9 << 20)));
    assert_snapshot!(worker.line(), @r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a message has at most 8388608 bytes"}}"#);
    assert_eq!(worker.call("aof_status", json!({}))["current"].as_array().unwrap().len(), 1);
    check(&env);
}

#[test]
fn a_file_that_is_not_for_the_record_is_not_read() {
    let env = TestEnvironment::new();
    env.write(".gitignore", ".env\nbuild/\n");
    env.commit_all("ignore");
    env.new_task(&["Add login"]);
    env.write(".env", "TOKEN=1");
    env.write("build/report.md", "Built");
    env.write(".aof/runs/note.md", "Seen");
    env.write("bytes.md", [0xff, 0xfe]);
    env.write("long.md", "x".repeat(64 * 1024 + 1));
    env.write("src/notes.md", "Noted");
    for (target, link) in [
        (".git/config", "config.md"),
        (".env", "env.md"),
        ("/etc/passwd", "users.md"),
        ("src/notes.md", "notes.md"),
    ] {
        std::os::unix::fs::symlink(target, env.path(link)).unwrap();
    }
    assert!(Command::new("mkfifo").arg(env.path("pipe.md")).status().unwrap().success());
    // More than any memory holds, and a hole on the disk.
    fs::File::create(env.path("vast.md")).unwrap().set_len(1 << 40).unwrap();
    let mut worker = McpClient::of(&env, "agent-7");
    worker.call("aof_task_next", json!({}));
    let with = |file: &str| json!({"outcome": "complete", "summary": "Done", "file": file});
    let mut lines = Vec::new();
    for file in [
        ".git/config",
        "src/../.git/HEAD",
        ".aof/runs/note.md",
        ".env",
        "build/report.md",
        "config.md",
        "env.md",
        "users.md",
        "pipe.md",
        "src",
        "bytes.md",
        "long.md",
        "vast.md",
    ] {
        let head = env.head();
        let output = worker.refused("aof_task_complete", with(file));
        assert_eq!(env.head(), head, "{file}");
        let message = output["message"].as_str().unwrap().replace("\n\n", "\n  ");
        lines.push(format!(
            "{file}: {}\n  {message}\n  -> {}",
            output["error"], output["nextCall"]["arguments"]
        ));
    }
    assert_snapshot!(env.plain(&lines.join("\n")), @r#"
    .git/config: "invalid_argument"
      `.git/config` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    src/../.git/HEAD: "invalid_argument"
      `src/../.git/HEAD` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    .aof/runs/note.md: "invalid_argument"
      `.aof/runs/note.md` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    .env: "invalid_argument"
      git ignores `.env`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    build/report.md: "invalid_argument"
      git ignores `build/report.md`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    config.md: "invalid_argument"
      `config.md` is in a folder that belongs to git or to aof
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    env.md: "invalid_argument"
      git ignores `env.md`, so it is not for the record
      hand on what you wrote yourself in `text`
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    users.md: "invalid_argument"
      `users.md` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    pipe.md: "invalid_argument"
      `pipe.md` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    src: "invalid_argument"
      `src` is no file below the project
      name one by its path from the project's folder
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    bytes.md: "invalid_argument"
      `bytes.md` is no text in UTF-8
      give a file of text
      -> {"outcome":"complete","summary":"Done","file":"<file>","task":"AOF-xxxxx@0"}
    long.md: "too_long"
      `body` has 65537 bytes, and the limit is 65536
      put the text into a file of the repository and name the file in the summary
      -> {"outcome":"complete","summary":"Done","text":"<the same, shorter; the rest belongs into a file that it names>","task":"AOF-xxxxx@0"}
    vast.md: "too_long"
      `body` has 1099511627776 bytes, and the limit is 65536
      put the text into a file of the repository and name the file in the summary
      -> {"outcome":"complete","summary":"Done","text":"<the same, shorter; the rest belongs into a file that it names>","task":"AOF-xxxxx@0"}
    "#);
    // A link to what is for the record, and as much as a text may be long, are as good as any.
    env.write("long.md", "x".repeat(64 * 1024));
    worker.call("aof_task_complete", with("notes.md"));
    let id = env.new_task(&["Add logout"]);
    worker.call("aof_task_next", json!({}));
    worker.call("aof_task_complete", with("long.md"));
    assert!(env.task_text(&id).len() > 64 * 1024);
}
