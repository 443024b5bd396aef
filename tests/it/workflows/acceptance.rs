//! Acceptance tests of tasks: requests to a real server, with good and bad manners, and programs.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::environment::{Output, TestEnvironment};

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
"#;

#[test]
fn tests_of_a_task_run_as_requests_and_commands() {
    let (env, url) = (TestEnvironment::new(), server());
    let id = task_with(&env, TESTS);
    let text = tested(&env, &id, &["--base-url", &url]).success();
    assert_eq!(text.stdout.matches("passed  ").count(), 6, "{text}");
    assert!(
        text.stdout
            .contains("not runnable  Valid JWT token in Authorization header: POST /api/protected"),
        "{text}"
    );
    assert!(
        text.stdout.ends_with("6 passed, 0 failed, 1 not runnable\n") && text.stderr.is_empty(),
        "{text}"
    );

    let report = env.path("report.xml");
    let json =
        tested(&env, &id, &["--base-url", &url, "--json", "--junit", report.to_str().unwrap()])
            .success()
            .json();
    assert_eq!(
        (&json["ok"], &json["passed"], &json["notRunnable"]),
        (&json!(true), &json!(6), &json!(1))
    );
    assert_eq!(json["tests"][0]["name"], "A known name: POST /login");
    let report = env.read("report.xml");
    assert!(report.contains("tests=\"7\" failures=\"0\" skipped=\"1\""), "{report}");
    assert_eq!(report.matches("<testcase ").count(), 7);

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
        assert!(page.contains("-> status 200, body has `success` (not runnable)"), "{page}");
        let value = env.aof(&["task", shown, &id, "--json"]).success().json();
        assert_eq!(value["tests"][2]["then"]["status"], 302);
    }
    let prompt = env.aof(&["task", "brief", &id, "--format", "markdown"]).success().stdout;
    assert!(prompt.contains("\n## Tests\n\n- A known name: POST /login"), "{prompt}");
}

#[test]
fn bad_servers_and_bad_programs_are_stopped_and_told() {
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
fn mistakes_in_tests_are_told_with_their_place_and_leave_the_task_usable() {
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
        let told = env.aof(&[command]);
        assert!(told.stdout.contains("the tests of AOF-xxxxx are invalid"), "{told}");
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
