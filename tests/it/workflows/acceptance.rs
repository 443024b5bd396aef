//! Acceptance tests of tasks: requests to a real server, with good and bad manners, and programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::checker::check;
use crate::support::environment::{Output, PROJECT, TestEnvironment};

/// Starts a server, and returns its URL. It serves until the process ends.
fn server() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap()));
        }
    });
    url
}

fn serve(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut first = String::new();
    let _ = reader.read_line(&mut first);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
            break;
        }
        let lower = line.to_lowercase();
        if let Some(number) = lower.strip_prefix("content-length: ") {
            length = number.trim().parse().unwrap();
        }
        head.push_str(&lower);
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let body = String::from_utf8(body).unwrap();
    let (method, path) = {
        let mut words = first.split(' ');
        (words.next().unwrap_or_default(), words.next().unwrap_or_default())
    };
    let mut answer = |status: &str, headers: &str, body: &str| {
        let length = body.len();
        let _ = write!(
            stream,
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}connection: close\r\n\r\n{body}"
        );
    };
    match path {
        "/login"
            if body.contains("\"name\":\"ada\"")
                && head.contains("content-type: application/json") =>
        {
            answer(
                "200 OK",
                "X-Session: s1\r\n",
                "{\"user\": {\"name\": \"Ada\", \"roles\": [\"admin\"], \"age\": 36.0}}",
            );
        }
        "/api/protected" if method == "POST" => answer("200 OK", "", "success"),
        "/login" => answer("401 Unauthorized", "", "expired token"),
        "/redirect" => answer("302 Found", "Location: /login\r\n", ""),
        "/echo" => answer("200 OK", "", &format!("{method} {body}")),
        "/flood" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n");
            let piece = "x".repeat(65_536);
            while stream.write_all(piece.as_bytes()).is_ok() {}
        }
        "/headers" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
            while stream.write_all(b"X-More: 1\r\n").is_ok() {}
        }
        "/broken" => {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort");
        }
        // It hangs until the other side gives up.
        _ => drop(reader.read(&mut [0])),
    }
}

/// Returns a task with these lines in its frontmatter, committed by a person.
fn task_with(env: &TestEnvironment, lines: &str) -> String {
    let id = env.new_task(&["Log in"]);
    env.edit(&env.task_path(&id), "---\n", &format!("---\n{lines}"));
    env.commit_all("tests");
    id
}

fn tested(env: &TestEnvironment, id: &str, args: &[&str]) -> Output {
    env.aof(&[&["task", "test", id], args].concat())
}

const TESTS: &str = r#"tests:
  - given: "A known name"
    when: {method: POST, path: /login, json: {name: ada}}
    then: {status: 200, body_contains: [Ada], headers: {x-session: s1}, json: {$.user.name: Ada, "$.user.roles[0]": admin, $.user.age: 36}}
  - given: "Expired token"
    when: {method: POST, path: /login, headers: {Authorization: "Bearer x"}, body: "none"}
    then: {status: 401, body_contains: [expired, token]}
  - given: "A redirect is the answer"
    when: {path: /redirect}
    then: {status: 302, headers: {location: /login}}
  - when: {method: PATCH, path: /echo, body: more}
    then: {body_contains: PATCH more}
  - when: {method: DELETE, path: /echo}
    then: {body_contains: DELETE}
  - when: {run: [sh, -c, "echo hello; exit 3"]}
    then: {exit: 3, stdout_contains: [hello]}
  - given: "Valid JWT token in Authorization header"
    when: "POST /api/protected"
    then: {status: 200, body_contains: ["success"]}
  - given: "A slow connection"
    when: "Post a letter to /api/protected"
    then: {status: 200}
"#;

#[test]
fn tests_of_a_task_run_as_requests_and_commands() {
    let (env, url) = (TestEnvironment::new(), server());
    let id = task_with(&env, TESTS);
    let text = tested(&env, &id, &["--base-url", &url]).success();
    assert_eq!(text.stdout.matches("passed  ").count(), 7, "{text}");
    assert!(
        text.stdout.contains("not runnable  A slow connection: Post a letter to /api/protected"),
        "{text}"
    );
    assert!(
        text.stdout.ends_with("7 passed, 0 failed, 1 not runnable\n") && text.stderr.is_empty(),
        "{text}"
    );

    let report = env.path("report.xml");
    let json =
        tested(&env, &id, &["--base-url", &url, "--json", "--junit", report.to_str().unwrap()])
            .success()
            .json();
    assert_eq!(
        (&json["ok"], &json["passed"], &json["notRunnable"]),
        (&json!(true), &json!(7), &json!(1))
    );
    assert_eq!(json["tests"][0]["name"], "A known name: POST /login");
    let report = env.read("report.xml");
    assert!(report.contains("tests=\"8\" failures=\"0\" skipped=\"1\""), "{report}");
    assert_eq!(report.matches("<testcase ").count(), 8);

    let mut command = env.aof_command(&["task", "test", &id]);
    command.env("AOF_BASE_URL", format!("{url}/"));
    let _ = env.run(command).success();

    for shown in ["show", "brief"] {
        let page = env.aof(&["task", shown, &id]).success().stdout;
        assert!(
            page.contains(
                "Expired token: POST /login -> status 401, body has `expired`, body has `token`"
            ),
            "{page}"
        );
        assert!(page.contains("/api/protected -> status 200 (not runnable)"), "{page}");
        let value = env.aof(&["task", shown, &id, "--json"]).success().json();
        assert_eq!(value["tests"][2]["then"]["status"], 302);
    }
    let prompt = env.aof(&["task", "brief", &id, "--format", "markdown"]).success().stdout;
    assert!(prompt.contains("\n## Tests\n\n- A known name: POST /login"), "{prompt}");
}

#[test]
fn bad_servers_and_bad_programs_are_stopped_and_reported() {
    let (env, url) = (TestEnvironment::new(), server());
    let tests = r#"tests:
  - {when: {path: /hang}, then: {status: 200}, timeout: 1s}
  - {when: {path: /flood}, then: {status: 200, body_contains: [y]}}
  - {when: {path: /flood}, then: {json: {$.a: 1}}}
  - {when: {path: /headers}, then: {status: 200}}
  - {when: {path: /broken}, then: {status: 200}}
  - {when: {path: /redirect}, then: {status: 200, headers: {location: /home}, json: {$: 1}}}
  - {when: {run: [sh, -c, "sleep 60 & echo $! > sleeper; wait"]}, then: {exit: 0}, timeout: 1s}
  - {when: {run: [sh, -c, "yes & wait"]}, then: {exit: 0}, timeout: 1s}
  - {when: {run: [sh, -c, "yes | head -c 3000000; exit 1"]}, then: {exit: 0, stdout_contains: [end]}}
  - {when: {run: [no-such-program]}, then: {exit: 0}}
  - {when: {run: [sh, -c, "kill -9 $$"]}, then: {exit: 0}}
  - {when: {run: [sh, -c, "echo 'bad luck' >&2; exit 4"]}, then: {exit: 0}}
"#;
    let id = task_with(&env, tests);
    let json = tested(&env, &id, &["--base-url", &url, "--json"]).code(1).json();
    let failures: Vec<String> = json["tests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|test| {
            let failures = test["failures"].as_array().unwrap();
            let texts: Vec<&str> = failures.iter().map(|text| text.as_str().unwrap()).collect();
            texts.join("; ")
        })
        .collect();
    let expected = [
        "no whole answer within 1 s",
        "body, of which only the first MiB was read: expected `y` in it, got `xxx",
        "json: the answer is longer than 1 MiB",
        "no answer: ",
        "no answer: ",
        "status: expected 200, got 302; header location: expected `/home`, got `/login`; json: the answer is no JSON",
        "it did not end within 1 s, and was killed",
        "it did not end within 1 s, and was killed",
        "exit: expected 0, got 1: `y`; stdout, of which only the first MiB was read: expected `end` in it",
        "`no-such-program` cannot be started",
        "it ended by signal: 9",
        "exit: expected 0, got 4: `bad luck`",
    ];
    for (failure, expected) in failures.iter().zip(expected) {
        assert!(failure.starts_with(expected), "{failure:?} begins with {expected:?}");
    }
    assert_eq!((json["failed"].as_u64(), json["passed"].as_u64()), (Some(12), Some(0)));
    let sleeper = env.read("sleeper");
    let state = Command::new("ps").args(["-o", "stat=", "-p", sleeper.trim()]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    // Whoever is to collect a killed process may not have done so yet.
    assert!(state.is_empty() || state.starts_with('Z'), "its process group lives on: {state}");

    let gone = tested(&env, &id, &["--base-url", "http://127.0.0.1:1"]).code(1);
    assert!(gone.stdout.contains("no answer: "), "{gone}");
    for (base, code) in [
        ("", "no_base_url"),
        ("127.0.0.1", "invalid_base_url"),
        ("ftp://x", "invalid_base_url"),
        ("http://a:b@x", "invalid_base_url"),
    ] {
        let refused = tested(&env, &id, &["--base-url", base, "--json"]).code(4).json();
        assert_eq!(refused["error"], code, "{base}");
    }
}

#[test]
fn nothing_to_run_is_no_success() {
    let env = TestEnvironment::new();
    let bare = env.new_task(&["Plain"]);
    let none = tested(&env, &bare, &[]).code(1);
    assert!(none.stdout.contains("has no tests"), "{none}");
    let id = task_with(&env, "tests: [{when: look at it, then: {status: 200}}]\n");
    let described = tested(&env, &id, &[]).code(1);
    assert!(described.stdout.ends_with("0 passed, 0 failed, 1 not runnable\n"), "{described}");
    assert_eq!(tested(&env, "AOF-zzz", &["--json"]).code(3).json()["error"], "task_not_found");
}

#[test]
fn mistakes_in_tests_are_reported_with_their_place_and_leave_the_task_usable() {
    let env = TestEnvironment::new();
    let faults = [
        ("tests: {when: x}", "`tests` is a list of tests"),
        ("tests: [{wen: x}]", "a test has no field `wen`"),
        ("tests: [{given: x}]", "a test needs `when`"),
        ("tests: [{when: {path: /x}}]", "a test needs `then`"),
        ("tests: [{when: {path: /x}, then: {}}]", "this expects nothing"),
        ("tests: [{when: {path: /x}, then: {exit: 0, status: 200}}]", "an answer has no `exit`"),
        ("tests: [{when: {run: [x]}, then: {status: 200, exit: 0}}]", "a command has no `status`"),
        ("tests: [{when: {run: make check}, then: {exit: 0}}]", "`run` is a list of words"),
        ("tests: [{when: {run: []}, then: {exit: 0}}]", "`run` names no program"),
        ("tests: [{when: {method: get, path: /x}, then: {status: 200}}]", "`get` is not a method"),
        (
            "tests: [{when: {method: FETCH, path: /x}, then: {status: 200}}]",
            "`FETCH` is not a method",
        ),
        ("tests: [{when: {path: 'http://evil.example/x'}, then: {status: 200}}]", "names a server"),
        ("tests: [{when: {path: '//evil.example/x'}, then: {status: 200}}]", "names a server"),
        ("tests: [{when: {path: x}, then: {status: 200}}]", "does not begin with `/`"),
        ("tests: [{when: {path: /a/%2e%2E/b}, then: {status: 200}}]", "leads out of the base URL"),
        (
            "tests: [{when: {path: '/a b'}, then: {status: 200}}]",
            "characters that a URL cannot have",
        ),
        (
            "tests: [{when: {path: /x, body: a}, then: {status: 200}}]",
            "a `GET` request has no body",
        ),
        (
            "tests: [{when: {method: POST, path: /x, body: a, json: {}}, then: {status: 200}}]",
            "either `body` or `json`",
        ),
        (
            "tests: [{when: {path: /x, headers: {'a b': c}}, then: {status: 200}}]",
            "is not the name of a header",
        ),
        (
            "tests: [{when: {path: /x, headers: {a: \"c\\nd\"}}, then: {status: 200}}]",
            "a header is one line",
        ),
        ("tests: [{when: {path: /x}, then: {status: 2000}}]", "is not the status of an answer"),
        ("tests: [{when: {path: /x}, then: {status: ok}}]", "whole number"),
        ("tests: [{when: {path: /x}, then: {json: {a: 1}}}]", "is not a JSONPath"),
        ("tests: [{when: {path: /x}, then: {status: 200}, timeout: soon}]", "not a length of time"),
        ("testsFile: ../../../etc/passwd", "is not a path inside the project"),
        ("testsFile: /etc/passwd", "is not a path inside the project"),
        ("testsFile: none.tests.yaml", "`none.tests.yaml` cannot be read"),
        ("testsFile: [a]", "`testsFile` is the name of a file"),
    ];
    let id = env.new_task(&["Log in"]);
    let path = env.task_path(&id);
    let plain = env.read(&path);
    for (lines, fault) in faults {
        env.write(&path, plain.replacen("---\n", &format!("---\n{lines}\n"), 1));
        let refused = tested(&env, &id, &[]).code(6);
        assert!(refused.stderr.contains(fault), "{lines}: {refused}");
        assert!(refused.stderr.contains("tasks/AOF-xxxxx.md:2:"), "{lines}: {refused}");
    }
    assert_eq!(tested(&env, &id, &["--json"]).code(6).json()["error"], "invalid_tests");

    env.write(&path, plain.replacen("---\n", "---\ntests: [{wen: x}]\n", 1));
    let shown = env.aof(&["task", "show", &id]).success();
    assert!(
        shown.stderr.contains("the tests of")
            && shown.stdout.contains("line 2: a test has no field `wen`"),
        "{shown}"
    );
    for command in ["status", "doctor"] {
        let output = env.aof(&[command]);
        assert!(output.stdout.contains("the tests of AOF-xxxxx are invalid"), "{output}");
    }
    let _ = env.complete(&id, "agent-7").success();
    assert!(
        env.task_text(&id).starts_with("---\ntests: [{wen: x}]\n"),
        "the task moves, its tests stay"
    );
}

#[test]
fn a_file_of_tests_lies_beside_the_task_or_in_the_project() {
    let env = TestEnvironment::new();
    let id = env.new_task(&["Log in"]);
    let companion = format!("tasks/{id}.tests.yaml");
    let test = "- {when: {run: [sh, -c, 'echo %']}, then: {stdout_contains: ['%']}}\n";
    env.write(&companion, test.replace('%', "companion"));
    env.write("checks/login.yaml", format!("tests:\n{}", test.replace('%', "project")));
    env.edit(&env.task_path(&id), "---\n", &format!("---\ntestsFile: {id}.tests.yaml\n"));
    env.commit_all("tests");
    let one = tested(&env, &id, &[]).success();
    assert!(one.stdout.contains("run sh -c echo companion") && one.stderr.is_empty(), "{one}");
    assert!(
        env.aof(&["task", "show", &id])
            .success()
            .stdout
            .contains("those in `AOF-xxxxx.tests.yaml`")
    );

    env.edit(&env.task_path(&id), &format!("{id}.tests.yaml"), "checks/login.yaml");
    let other = tested(&env, &id, &[]).success();
    assert!(
        other.stdout.contains("echo project")
            && other.stderr.contains("differ from what people last committed"),
        "{other}"
    );
    let committed = tested(&env, &id, &["--committed"]).success();
    assert!(committed.stdout.contains("echo companion"), "{committed}");

    env.write("checks/login.yaml", "tests: [{wen: x}]\n");
    let bad = tested(&env, &id, &[]).code(6);
    assert!(
        bad.stderr.contains("checks/login.yaml:1:10")
            && bad.stderr.contains("did you mean `when`?"),
        "{bad}"
    );
    assert!(env.aof(&["doctor"]).stdout.contains("are invalid"));
}

#[test]
fn commands_in_tests_run_once_they_are_trusted() {
    let env = TestEnvironment::new();
    env.write("check.sh", "echo one > ran\n");
    let id = task_with(&env, "tests: [{when: {run: [sh, check.sh]}, then: {exit: 0}}]\n");
    let untrusting = |args: &[&str], hash: Option<&str>| {
        let mut command = env.aof_command(args);
        command.env_remove("AOF_TRUST");
        command.envs(hash.map(|hash| ("AOF_TRUST", hash)));
        env.run(command)
    };
    let refused = untrusting(&["task", "test", &id], None).code(4);
    assert!(
        refused.stderr.contains("the tests of AOF-xxxxx is not trusted on this machine"),
        "{refused}"
    );
    assert!(refused.stderr.contains("`aof trust AOF-xxxxx`") && !env.exists("ran"), "{refused}");
    let page = untrusting(&["trust", &id, "--dry-run"], None).success();
    assert!(
        page.stdout.contains("  sh check.sh") && page.stdout.contains("  file check.sh ("),
        "{page}"
    );

    let (_, after) = refused.stderr.split_once("AOF_TRUST=").unwrap();
    let hash: String = after.chars().take_while(char::is_ascii_hexdigit).collect();
    let _ = untrusting(&["task", "test", &id], Some(&format!("0123,{hash}"))).success();
    assert_eq!(env.read("ran"), "one\n");
    env.write("check.sh", "echo two > ran\n");
    let _ = untrusting(&["task", "test", &id], Some(&hash)).code(4);
    assert_eq!(env.read("ran"), "one\n", "another file is another program");
    let rules: Value = untrusting(&["trust", "--json"], None).success().json();
    assert_eq!(rules["programs"], json!([]), "those of the rules are apart");
}

/// A gate that runs the tests of a task, one that counts its boxes, and a last one.
const CHECKS: &str = "\
workflow:
  gates:
    - {id: build, role: builder, check: tests, routes: {ready: {to: tidy}, again: {to: $hold}}}
    - {id: tidy, role: builder, check: [checklist], canReject: true}
    - {id: ship, role: builder}
";
const BUILDERS: &str = "roles: {builder: {agents: [agent-7, agent-8]}}\nagents: {agent-7: {}, agent-8: {email: eight@example.org}}\n";

const FILE_IS_THERE: &str =
    "tests: [{when: {run: [test, -f, built]}, then: {exit: 0}}, {when: look, then: {}}]\n";

fn checking() -> (TestEnvironment, String) {
    let env = TestEnvironment::with_rules(CHECKS, BUILDERS);
    let id = task_with(&env, FILE_IS_THERE);
    (env, id)
}

#[test]
fn a_gate_that_checks_tests_is_passed_once_they_pass() {
    let (env, id) = checking();
    let head = env.head();
    let refused = env.say(&id, "agent-7", "ready", &[]).code(4);
    assert!(refused.stderr.contains("gate `build` checks task `AOF-xxxxx` before it is passed: test `run test -f built`: exit: expected 0, got 1"), "{refused}");
    assert!(refused.stderr.contains("aof test AOF-xxxxx --committed"), "{refused}");
    let json = env.say(&id, "agent-7", "ready", &["--json"]).code(4).json();
    assert_eq!(json["error"], "checks_failed");
    assert_eq!(json["checks"], json!({"tests": {"passed": 0, "failed": 1, "notRunnable": 1}}));
    assert_eq!(env.head(), head, "nothing was written");
    let _ = env.say(&id, "agent-7", "again", &[]).success();
    let _ = env.aof(&["task", "unblock", &id]).success();

    env.write("built", "");
    let _ = env.say(&id, "agent-7", "ready", &["--dry-run"]).success();
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
    let entry = env.aof(&["task", "history", &id, "--json"]).success().json()["history"][1].clone();
    assert_eq!(
        (&entry["to"], &entry["checks"]),
        (&json!("tidy"), &json!({"tests": {"passed": 1, "failed": 0, "notRunnable": 1}}))
    );
    check(&env);
    let _ = env.aof(&["verify"]).success();

    let brief = env.aof(&["task", "brief", &id, "--json"]).success().json();
    assert_eq!(brief["gate_context"]["checks"], json!(["checklist"]));
    let page = env.aof(&["task", "brief", &id]).success();
    assert!(page.stdout.contains("only if each box of its text is ticked"), "{page}");
    let drawn = env.aof(&["workflow", "show"]).success();
    assert!(drawn.stdout.contains("checks the `tests` before a task passes"), "{drawn}");
    let why = env.aof(&["why", &id]).success();
    assert!(why.stdout.contains("gate `tidy` checks the `checklist` before it is passed"), "{why}");
}

#[test]
fn an_entry_without_its_checks_is_a_forgery() {
    let (env, id) = checking();
    env.write("built", "");
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
    let text = env.task_text(&id);
    let path = env.task_path(&id);
    for (from, to) in [("failed: 0", "failed: 1"), ("passed: 1", "passed: 0")] {
        assert!(text.contains(from), "{text}");
        env.write(&path, text.replace(from, to));
        env.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        let found = env.aof(&["verify"]).code(1);
        assert!(found.stdout.contains("gate `build` checks task"), "{found}");
    }
}

#[test]
fn an_agent_s_own_tests_do_not_count() {
    let (env, id) = checking();
    let path = env.task_path(&id);
    let easy = env.read(&path).replace("[test, -f, built]", "['true']");
    let refused = || {
        let refused = env.say(&id, "agent-7", "ready", &["--json"]).code(4).json();
        assert_eq!(refused["error"], "checks_failed");
    };
    // In the worktree, uncommitted.
    env.write(&path, &easy);
    refused();
    // Committed in the agent's own name, with an address of org.yaml or without one.
    for author in ["agent-8 <eight@example.org>", "agent-7 <agent-7@aof.invalid>"] {
        env.write(&path, format!("{easy}\n{author}\n"));
        env.git(&["commit", "-q", "-a", "-m", "easier", "--author", author]);
        refused();
    }
    // Found by aof while the agent has claimed the task.
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();
    env.write(&path, env.read(&path).replace("['true']", "[sh, -c, ':']"));
    for args in [&["task", "renew", &id, "--agent", "agent-7"][..], &["watch", "--once"]] {
        let _ = env.aof(args);
        assert!(!env.log().contains("by hand"), "{}", env.log());
    }
    let frozen = env.say(&id, "agent-7", "ready", &["--json"]).code(5).json();
    assert_eq!(frozen["fields"], serde_json::json!(["tests"]));
    env.git(&["restore", &path]);
    refused();
    // By `aof edit`, as the agent, and then as a person: that accepts the file as it stands.
    let _ = env.aof(&["task", "edit", &id, "--agent", "agent-7", "--tag", "a"]).success();
    refused();
    let _ = env.aof(&["task", "edit", &id, "--tag", "b"]).success();
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn edits_that_aof_finds_while_nobody_works_are_a_persons() {
    let (env, id) = checking();
    let path = env.task_path(&id);
    env.write(&path, env.read(&path).replace("[test, -f, built]", "['true']"));
    let _ = env.aof(&["task", "comment", &id, "-m", "easier now"]).success();
    assert!(env.log().contains("edited by hand"), "{}", env.log());
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
}

#[test]
fn a_file_of_tests_counts_as_people_committed_it() {
    let env = TestEnvironment::with_rules(CHECKS, BUILDERS);
    env.write("checks.yaml", "- {when: {run: [test, -f, built]}, then: {exit: 0}}\n");
    let id = task_with(&env, "testsFile: ./checks.yaml\n");
    let json = env.say(&id, "agent-7", "ready", &["--json"]).code(6).json();
    assert_eq!(json["error"], "invalid_tests");
    env.edit(&env.task_path(&id), "./checks.yaml", "tests/checks.yaml");
    env.write("tests/checks.yaml", "- {when: {run: [test, -f, built]}, then: {exit: 0}}\n");
    env.commit_all("tests");
    assert_eq!(
        env.say(&id, "agent-7", "ready", &["--json"]).code(4).json()["error"],
        "checks_failed"
    );
    env.write("tests/checks.yaml", "- {when: {run: ['true']}, then: {exit: 0}}\n");
    assert_eq!(
        env.say(&id, "agent-7", "ready", &["--json"]).code(4).json()["error"],
        "checks_failed"
    );
    env.git(&["commit", "-q", "-a", "-m", "easier", "--author", "agent-7 <agent-7@aof.invalid>"]);
    assert_eq!(
        env.say(&id, "agent-7", "ready", &["--json"]).code(4).json()["error"],
        "checks_failed"
    );
    env.write("built", "");
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
}

#[test]
fn a_gate_that_checks_tests_needs_some_that_people_wrote() {
    let env = TestEnvironment::with_rules(CHECKS, BUILDERS);
    let bare = env.new_task(&["Plain"]);
    let refused = env.say(&bare, "agent-7", "ready", &[]).code(4);
    assert!(refused.stderr.contains("people have committed no tests that can be run"), "{refused}");
    let path = env.task_path(&bare);
    env.edit(&path, "---\n", "---\ntests: [{when: {run: ['true']}, then: {exit: 0}}]\n");
    let refused = env.say(&bare, "agent-7", "ready", &[]).code(4);
    let output = "your tests are not committed: `aof edit AOF-xxxxx`";
    assert!(refused.stderr.contains(output), "{refused}");
    let web = task_with(&env, "tests: [{when: {path: /}, then: {status: 200}}]\n");
    assert_eq!(
        env.say(&web, "agent-7", "ready", &["--json"]).code(4).json()["error"],
        "no_base_url"
    );
    let mut command = env.aof_command(&[
        "task",
        "complete",
        &web,
        "--agent",
        "agent-7",
        "--outcome",
        "ready",
        "--summary",
        "done",
        "--json",
    ]);
    command.env("AOF_BASE_URL", server());
    // The path hangs, so its time limit would pass; another one answers.
    env.edit(&env.task_path(&web), "path: /}", "path: /redirect}");
    env.edit(&env.task_path(&web), "status: 200", "status: 302");
    env.commit_all("tests");
    let _ = env.run(command).success();
}

#[test]
fn a_gate_that_checks_the_list_is_passed_once_each_box_is_ticked() {
    let (env, id) = checking();
    let path = env.task_path(&id);
    env.write("built", "");
    env.write(
        &path,
        format!("{}\n- [ ] Write docs\n- [x] Rename\n\n```\n- [ ] code\n```\n", env.read(&path)),
    );
    env.commit_all("list");
    let _ = env.say(&id, "agent-7", "ready", &[]).success();
    let _ = env.aof(&["task", "next", "--agent", "agent-7"]).success();

    let refused = env.say(&id, "agent-7", "complete", &["--json"]).code(4).json();
    assert_eq!(
        (&refused["checks"], &refused["failures"]),
        (&json!({"checklist": {"done": 1, "open": 1}}), &json!(["open: Write docs"]))
    );
    let text = env.read(&path);
    env.write(&path, text.replace("- [ ] Write docs\n", ""));
    let removed = env.say(&id, "agent-7", "complete", &[]).code(4);
    assert!(removed.stderr.contains("open: Write docs (removed or changed)"), "{removed}");
    let _ = env
        .say(&id, "agent-7", "needs_review", &["--blocker", "The docs have no place yet"])
        .success();
    let _ = env.say(&id, "agent-7", "ready", &[]).success();

    env.write(&path, env.read(&path).replace("- [x] Rename", "- [x] Write docs\n- [x] Rename"));
    let _ = env.say(&id, "agent-7", "complete", &[]).success();
    let entries = env.aof(&["task", "history", &id, "--json"]).success().json()["history"].clone();
    assert_eq!(entries[1]["checks"], Value::Null, "a rejection is not checked");
    assert_eq!(entries[3]["checks"], json!({"checklist": {"done": 2, "open": 0}}));
    let _ = env.aof(&["verify"]).success();
}

#[test]
fn a_dropped_file_waits_for_trust_and_holds_up_no_other() {
    let (env, id) = checking();
    env.write("built", "");
    let other = env.new_task(&["Other"]);
    let drop_file = |id: &str, outcome: &str| {
        let blockers = if outcome == "blocked" { "blockers: [no server]\n" } else { "" };
        env.write(
            &format!(".aof/inbox/{id}.yaml"),
            format!("task: {id}\nagent: agent-7\noutcome: {outcome}\nsummary: done\n{blockers}"),
        );
    };
    drop_file(&id, "ready");
    drop_file(&other, "blocked");
    let watch = |trust: bool| {
        let mut command = env.aof_command(&["watch", "--once"]);
        if !trust {
            command.env_remove("AOF_TRUST");
        }
        env.run(command)
    };
    let waited = watch(false);
    assert!(
        waited.stdout.contains("`aof trust AOF-xxxxx`")
            || waited.stderr.contains("`aof trust AOF-xxxxx`"),
        "{waited}"
    );
    assert!(
        env.task_text(&other).contains("outcome: blocked")
            && !env.task_text(&id).contains("outcome: ready")
    );
    assert_eq!(env.files(".aof/refused"), Vec::<String>::new());
    let _ = watch(true);
    assert!(env.task_text(&id).contains("outcome: ready"), "{}", env.task_text(&id));

    let failing = task_with(&env, "tests: [{when: {run: ['false']}, then: {exit: 0}}]\n");
    drop_file(&failing, "ready");
    let _ = watch(true);
    let reasons: Vec<String> = env
        .files(".aof/refused")
        .into_iter()
        .filter(|name| name.ends_with(".reason.json"))
        .collect();
    assert!(
        env.read(&format!(".aof/refused/{}", reasons[0].rsplit('/').next().unwrap()))
            .contains("\"checks_failed\"")
    );
}

#[test]
fn checks_need_a_gate_with_a_role() {
    let env = TestEnvironment::new();
    for (gate, fault) in [
        ("{id: a, role: builder, check: test}", "`test` is not a check"),
        (
            "{id: a, role: builder, detour: true, check: tests}",
            "`check` is for gates of the main line",
        ),
        ("{id: a, role: builder, check: tests, forEach: input.list}", "`check` is for whole tasks"),
        (
            "{id: a, type: condition, when: 'true', check: tests}",
            "`check` is for gates of the main line",
        ),
        (
            "{id: a, type: fork, branches: [{id: b, role: builder, check: tests}]}",
            "a gate of its own before or after the fork checks that",
        ),
    ] {
        env.write(
            "project.yaml",
            format!("workflow: {{gates: [{gate}, {{id: end, role: builder}}]}}\n"),
        );
        env.write("org.yaml", BUILDERS);
        let refused = env.aof(&["workflow", "validate"]);
        assert!(
            format!("{}{}", refused.stdout, refused.stderr).contains(fault),
            "{gate}: {refused}"
        );
    }
}

#[test]
fn the_example_of_the_guide_runs() {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guides/tests.md"))
            .unwrap();
    let example = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
    let env = TestEnvironment::new();
    let id = task_with(&env, example);
    let answer = tested(&env, &id, &["--base-url", &server()]).success();
    assert!(answer.stdout.ends_with("3 passed, 0 failed, 1 not runnable\n"), "{answer}");
}

#[test]
fn a_text_that_is_a_request_is_sent() {
    let (env, url) = (TestEnvironment::new(), server());
    let run = |when: &str, then: &str| {
        let id = task_with(&env, &format!("tests: [{{when: \"{when}\", then: {then}}}]\n"));
        let answer = tested(&env, &id, &["--base-url", &url]);
        answer.stdout.lines().last().unwrap_or(&answer.stderr).to_owned()
    };
    for (when, then, result) in [
        ("GET /redirect", "{status: 302, headers: {location: /login}}", "1 passed, 0 failed"),
        (" delete  /echo ", "{body_contains: [DELETE]}", "1 passed, 0 failed"),
        ("GET /redirect", "{status: 200}", "0 passed, 1 failed"),
        // Not a request, or nothing that an answer could be compared with.
        ("GET /redirect and follow it", "{status: 302}", "0 passed, 0 failed, 1 not runnable"),
        ("GET /../login", "{status: 302}", "0 passed, 0 failed, 1 not runnable"),
        ("GET //elsewhere/x", "{status: 302}", "0 passed, 0 failed, 1 not runnable"),
        ("GET /redirect", "{}", "0 passed, 0 failed, 1 not runnable"),
        ("GET /redirect", "{exit: 0}", "0 passed, 0 failed, 1 not runnable"),
    ] {
        assert_eq!(run(when, then), result, "{when} {then}");
    }
    // At a gate, too.
    env.write(
        "project.yaml",
        PROJECT.replace("role: backend", "role: backend\n      check: tests"),
    );
    env.commit_all("rules");
    let id = task_with(&env, "tests: [{when: GET /redirect, then: {status: 302}}]\n");
    let mut command = env.aof_command(&[
        "complete",
        &id,
        "--agent",
        "agent-7",
        "--outcome",
        "complete",
        "--summary",
        "Done",
    ]);
    command.env("AOF_BASE_URL", &url);
    assert!(env.run(command).success().stdout.contains("implement → review"));
    check(&env);
}
