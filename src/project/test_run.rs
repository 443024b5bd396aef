//! Runs acceptance tests: requests to a web server, and programs. Holds no lock, and bounds time and output.
//!
//! No redirect is followed and no proxy is used: only the server's own answer counts.

use std::env;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::http::{Request, Uri};
use ureq::{Agent, Error};

use super::error::ProjectError;
use crate::domain::acceptance::{
    AcceptanceTest, Expected, TestAction, TestRequest, TestResult, TestVerdict,
};
use crate::files::json;
use crate::files::printable::one_line;
use crate::system::process::{Attendant, How, Orphans, ProcessLimits, Program, Secrets, Stream};
use crate::system::terminal::is_stopped;

/// The variable with the base URL.
pub(crate) const BASE_URL: &str = "AOF_BASE_URL";
/// The number of bytes of an answer, or of an output, that are read.
const LIMIT: usize = 1024 * 1024;
/// The number of characters of an output that are shown.
const SHOWN: usize = 200;

/// The server and the folder for tests.
pub(crate) struct TestSetup<'a> {
    /// The server that gets the requests, instead of the variable's.
    pub base_url: Option<&'a str>,
    /// The working directory of programs.
    pub directory: &'a Path,
}

/// Runs the tests, one after the other. Fails if there are requests, and no server to send them to.
pub(crate) fn run_tests(
    tests: &[AcceptanceTest],
    setup: &TestSetup<'_>,
    secrets: &Secrets,
) -> Result<Vec<TestResult>, ProjectError> {
    let is_request = |test: &AcceptanceTest| matches!(test.when, TestAction::Request(_));
    let base = if tests.iter().any(is_request) { base_url(setup.base_url)? } else { String::new() };
    let mut results = Vec::new();
    for test in tests {
        if is_stopped() {
            break;
        }
        let begun = Instant::now();
        let failures = match &test.when {
            TestAction::Described(_) => None,
            TestAction::Request(request) => Some(send(&base, request, test)),
            TestAction::Command(words) => Some(start(words, test, setup)),
        };
        let verdict = match failures {
            None => TestVerdict::NotRunnable,
            Some(failures) if failures.is_empty() => TestVerdict::Passed,
            Some(failures) => TestVerdict::Failed(
                failures.iter().map(|failure| secrets.masked_text(failure)).collect(),
            ),
        };
        results.push(TestResult { name: test.name(), verdict, took: begun.elapsed() });
    }
    if results.len() < tests.len() {
        return Err(ProjectError::Unfit {
            code: "tests_stopped",
            problem: "the tests were stopped".to_owned(),
            fix: "run them again".into(),
        });
    }
    Ok(results)
}

/// Returns the base URL without a slash at its end.
fn base_url(given: Option<&str>) -> Result<String, ProjectError> {
    let named = given.map(str::to_owned).or_else(|| env::var(BASE_URL).ok());
    let Some(text) = named.filter(|text| !text.is_empty()) else {
        return Err(ProjectError::Unfit {
            code: "no_base_url",
            problem: "the tests send requests, and no server is named".to_owned(),
            fix: format!("name it with `aof test --base-url URL`, or set `{BASE_URL}`").into(),
        });
    };
    let is_server = |uri: &Uri| {
        let is_plain = !uri.authority().is_some_and(|host| host.as_str().contains('@'));
        matches!(uri.scheme_str(), Some("http" | "https")) && is_plain && uri.query().is_none()
    };
    if text.parse::<Uri>().is_ok_and(|uri| is_server(&uri)) {
        return Ok(text.trim_end_matches('/').to_owned());
    }
    Err(ProjectError::Unfit {
        code: "invalid_base_url",
        problem: format!("`{}` is not the URL of a web server", one_line(&text)),
        fix: "write it as in `http://127.0.0.1:8080`, without a name, a password or a query".into(),
    })
}

/// Sends a request; returns the expectations that its answer does not meet.
fn send(base: &str, request: &TestRequest, test: &AcceptanceTest) -> Vec<String> {
    let time = Duration::from_secs(test.timeout.seconds());
    let mut built =
        Request::builder().method(request.method.as_str()).uri(format!("{base}{}", request.path));
    for (name, value) in &request.headers {
        built = built.header(name, value);
    }
    let agent: Agent = Agent::config_builder()
        .timeout_global(Some(time))
        .max_redirects(0)
        .max_redirects_will_error(false)
        .http_status_as_error(false)
        .proxy(None)
        .user_agent(concat!("aof/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    let sent = match &request.body {
        _ if !request.method.has_body() => {
            built.body(()).map_err(Error::Http).and_then(|request| agent.run(request))
        }
        body => built
            .body(body.clone().unwrap_or_default())
            .map_err(Error::Http)
            .and_then(|request| agent.run(request)),
    };
    let why = |error: &dyn std::error::Error, is_late: bool| {
        let late = format!("no whole answer within {} s", test.timeout.seconds());
        vec![if is_late { late } else { format!("no answer: {}", one_line(&error.to_string())) }]
    };
    let mut answer = match sent {
        Ok(answer) => answer,
        Err(error) => return why(&error, matches!(error, Error::Timeout(_))),
    };
    let mut body = Vec::new();
    let limit = LIMIT as u64 + 1;
    if let Err(error) = answer.body_mut().as_reader().take(limit).read_to_end(&mut body) {
        return why(&error, error.kind() == std::io::ErrorKind::TimedOut);
    }
    let is_cut = body.len() > LIMIT;
    body.truncate(LIMIT);
    let body = String::from_utf8_lossy(&body);
    let mut failures = Vec::new();
    let status = u32::from(answer.status().as_u16());
    if test.then.status.is_some_and(|wanted| wanted != status) {
        failures.push(format!("status: expected {}, got {status}", wanted(test.then.status)));
    }
    for (name, value) in &test.then.headers {
        let got: Vec<_> = answer.headers().get_all(name).iter().collect();
        if !got.iter().any(|got| got.as_bytes() == value.as_bytes()) {
            let got: Vec<_> =
                got.iter().map(|got| String::from_utf8_lossy(got.as_bytes())).collect();
            let got = if got.is_empty() { "none".to_owned() } else { shown(&got.join(", ")) };
            failures.push(format!("header {name}: expected `{}`, got {got}", one_line(value)));
        }
    }
    failures.extend(missing("body", &test.then.body_contains, &body, is_cut));
    failures.extend(check_json(&test.then, &body, is_cut));
    failures
}

fn wanted(number: Option<u32>) -> String {
    number.map(|number| number.to_string()).unwrap_or_default()
}

/// Returns the beginning of a text, in quotes.
fn shown(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("`{}...`", &text[..at]),
        None => format!("`{text}`"),
    }
}

/// Returns the expectations about parts of a text that it does not meet.
fn missing(what: &str, parts: &[String], text: &str, is_cut: bool) -> Vec<String> {
    let cut = if is_cut { ", of which only the first MiB was read" } else { "" };
    let absent = parts.iter().filter(|part| !text.contains(part.as_str()));
    let failure =
        |part: &String| format!("{what}{cut}: expected {} in it, got {}", shown(part), shown(text));
    absent.map(failure).collect()
}

fn check_json(expected: &Expected, body: &str, is_cut: bool) -> Vec<String> {
    if expected.json.is_empty() {
        return Vec::new();
    }
    let document: Value = match serde_json::from_str(body) {
        Ok(document) => document,
        Err(_) if is_cut => return vec!["json: the answer is longer than 1 MiB".to_owned()],
        Err(error) => {
            let why = json::reason(&error);
            return vec![format!("json: the answer is no JSON: {why}: {}", shown(body))];
        }
    };
    let mut failures = Vec::new();
    for (path, wanted) in &expected.json {
        let got = path.find(&document);
        if !got.is_some_and(|got| is_equal(got, wanted)) {
            let got = got.map_or("nothing".to_owned(), |got| shown(&got.to_string()));
            failures
                .push(format!("json {path}: expected {}, got {got}", shown(&wanted.to_string())));
        }
    }
    failures
}

/// Returns whether two values are equal; `1` and `1.0` are.
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64().is_some_and(|one| Some(one) == other.as_f64())
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| is_equal(a, b))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, a)| other.get(key).is_some_and(|b| is_equal(a, b)))
        }
        _ => one == other,
    }
}

/// Runs a program; returns the expectations that it does not meet. Its whole process group ends with it.
fn start(words: &[String], test: &AcceptanceTest, setup: &TestSetup<'_>) -> Vec<String> {
    let Some(mut program) = Program::new(words, setup.directory) else {
        return vec!["no program is named".to_owned()];
    };
    if let Some(url) = setup.base_url {
        program = program.with(BASE_URL, url);
    }
    let limits = ProcessLimits {
        time: Duration::from_secs(test.timeout.seconds()),
        idle: None,
        grace: Duration::ZERO,
        orphans: Orphans::Killed,
    };
    let mut output = TestOutput::default();
    let running = match program.start() {
        Ok(running) => running,
        Err(error) => return vec![one_line(&error.to_string())],
    };
    let how = match running.wait(&limits, &mut output) {
        Ok(ended) => ended.how,
        Err(error) => return vec![one_line(&error.to_string())],
    };
    let stdout = String::from_utf8_lossy(&output.stdout);
    let code = match how {
        How::Exited(code) => code,
        How::TimedOut | How::Idle => {
            return vec![format!(
                "it did not end within {} s, and was killed",
                test.timeout.seconds()
            )];
        }
        How::Stopped(()) => return vec!["it was stopped".to_owned()],
        How::Signalled(signal) => {
            return vec![format!("it ended by {}", ExitStatus::from_raw(signal))];
        }
    };
    let mut failures = Vec::new();
    if test.then.exit.is_some_and(|wanted| i64::from(wanted) != i64::from(code)) {
        let printed = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
        let printed = String::from_utf8_lossy(printed);
        let printed = printed.trim_end().rsplit('\n').next().unwrap_or_default();
        let printed =
            if printed.is_empty() { String::new() } else { format!(": {}", shown(printed)) };
        failures.push(format!("exit: expected {}, got {code}{printed}", wanted(test.then.exit)));
    }
    failures.extend(missing("stdout", &test.then.stdout_contains, &stdout, output.is_cut));
    failures
}

/// Keeps the beginning of a program's output.
#[derive(Default)]
struct TestOutput {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    is_cut: bool,
}

impl Attendant for TestOutput {
    type Reason = ();

    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        let kept = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        let room = LIMIT - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.is_cut |= stream == Stream::Stdout && bytes.len() > room;
    }

    fn wants_end(&mut self) -> Option<()> {
        is_stopped().then_some(())
    }
}
