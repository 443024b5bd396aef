//! Reads the acceptance tests of a task: `tests` in its frontmatter, or a file of tests.
//!
//! Faults here are for a person to fix; the task can be read all the same.

use super::config::decode::{Faults, FieldReader, parse_key, parse_node, text_of};

use super::yaml::{Fault, Node, NodeKind, ParseLimits};
use aof_domain::acceptance::{AcceptanceTest, Expected, JsonPath, Method, TestAction, TestRequest};

/// The key of the tests in a task file, and of the file with more of them.
pub const TESTS: &str = "tests";
pub const TESTS_FILE: &str = "testsFile";

/// The most tests that a task may have.
const MOST: usize = 200;

/// Reads a file of tests: a list, or `tests:` with a list.
pub fn parse(text: &str) -> Result<Vec<AcceptanceTest>, Vec<Fault>> {
    let root = super::yaml::parse(text, &ParseLimits::default())?;
    let faults = Faults::default();
    let tests = match &root.kind {
        NodeKind::Mapping(_) => FieldReader::of(&root, "a file of tests", &faults).map(|fields| {
            let tests = fields.with("tests", read_list);
            fields.refuse_unknown();
            fields.require("tests", tests).unwrap_or_default()
        }),
        _ => Some(read_list(&root, &faults)),
    };
    faults.or_value(tests)
}

/// Reads the value of `tests`.
pub fn read(node: &Node<'_>) -> Result<Vec<AcceptanceTest>, Vec<Fault>> {
    let faults = Faults::default();
    let tests = read_list(node, &faults);
    faults.or_value(Some(tests))
}

fn read_list(node: &Node<'_>, faults: &Faults) -> Vec<AcceptanceTest> {
    if !matches!(node.kind, NodeKind::Sequence(_)) {
        let help = "begin each with a dash, as in `- when: {run: [make, check]}`";
        faults.wrong_kind(node, "`tests` is a list of tests", help);
        return Vec::new();
    }
    if node.items().len() > MOST {
        let message = format!("{} tests are too many", node.items().len());
        faults.invalid(node, message, format!("a task has at most {MOST}"));
        return Vec::new();
    }
    node.items().iter().filter_map(|item| read_test(item, faults)).collect()
}

fn read_test(node: &Node<'_>, faults: &Faults) -> Option<AcceptanceTest> {
    let fields = FieldReader::of(node, "a test", faults)?;
    let given = fields.text("given");
    let timeout = fields.parsed("timeout").unwrap_or(AcceptanceTest::TIMEOUT);
    let when = fields.with("when", read_action).flatten();
    let when = fields.require("when", when);
    let then = fields.with("then", |node, faults| read_expected(node, when.as_ref(), faults));
    fields.refuse_unknown();
    let when = when?;
    let asks = |then: &Expected| then.exit.is_none() && then.stdout_contains.is_empty();
    let when = match (&when, then.iter().flatten().find(|then| **then != Expected::default())) {
        (TestAction::Described(text), Some(then)) if asks(then) => {
            request_line(text).unwrap_or(when)
        }
        _ => when,
    };
    if then.is_none() && !matches!(when, TestAction::Described(_)) {
        fields.fault("then", "missing_field", "a test needs `then`: what is expected", "");
    }
    Some(AcceptanceTest { given, when, then: then.flatten().unwrap_or_default(), timeout })
}

/// Returns the request that a text names, as in `POST /api/protected`; `None` for any other text.
fn request_line(text: &str) -> Option<TestAction> {
    let (method, path) = text.trim().split_once(' ')?;
    let method = method.to_ascii_uppercase().parse().ok()?;
    let path = path.trim();
    let path = path_fault(path).is_none().then(|| path.to_owned())?;
    Some(TestAction::Request(TestRequest { method, path, headers: Vec::new(), body: None }))
}

/// Reads the action of a test. A text is for people, unless it is a request.
fn read_action(node: &Node<'_>, faults: &Faults) -> Option<TestAction> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        return parse_node(node, "`when` is a text, a request or a command", faults)
            .map(TestAction::Described);
    }
    let fields = FieldReader::of(node, "`when`", faults)?;
    if fields.has("run") {
        let words = fields.list::<String>("run");
        fields.refuse_unknown_but(|_| Some("a command has `run` alone".to_owned()));
        let words = fields.require("run", words)?;
        let span = fields.key_span("run");
        if fields.take("run").is_some_and(|run| run.as_str().is_some()) {
            let help = "write the words apart, as in `run: [cargo, test]`: no shell reads them";
            faults.add("wrong_kind", &span, "`run` is a list of words", help);
        } else if words.first().is_none_or(String::is_empty) {
            faults.add("invalid_value", &span, "`run` names no program", "");
        }
        return Some(TestAction::Command(words));
    }
    let method = fields.parsed("method").unwrap_or(Method::Get);
    let path = fields.with("path", read_path).flatten();
    let path = fields.require("path", path);
    let headers = fields.with("headers", read_headers).unwrap_or_default();
    let (text, json) = (fields.text("body"), fields.take("json").map(Node::to_value));
    fields.refuse_unknown();
    if text.is_some() && json.is_some() {
        fields.fault("json", "two_ways", "a request has either `body` or `json`", "remove one");
    }
    let mut headers = headers;
    let is_typed = |(name, _): &(String, String)| name.eq_ignore_ascii_case("content-type");
    if json.is_some() && !headers.iter().any(is_typed) {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    let body = text.or(json.map(|json| json.to_string()));
    if body.is_some() && !method.has_body() {
        let key = if fields.has("json") { "json" } else { "body" };
        let message = format!("a `{method}` request has no body");
        fields.fault(key, "dead_field", message, "use POST, PUT or PATCH, or remove it");
    }
    Some(TestAction::Request(TestRequest { method, path: path?, headers, body }))
}

/// Reads the path of a request. It must not lead to another server, or above the base URL.
fn read_path(node: &Node<'_>, faults: &Faults) -> Option<String> {
    let path: String = parse_node(node, "`path` is a text", faults)?;
    let Some((message, help)) = path_fault(&path) else { return Some(path) };
    faults.invalid(node, format!("`{}` {message}", path.escape_debug()), help);
    None
}

/// Returns the fault in the path of a request, and the fix.
fn path_fault(path: &str) -> Option<(&'static str, &'static str)> {
    let decoded = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/");
    let place = decoded.split(['?', '#']).next().unwrap_or_default();
    let is_plain = path.bytes().all(|byte| byte.is_ascii_graphic()) && !path.contains(['#', '\\']);
    Some(if path.contains("://") && !path.starts_with('/') || path.starts_with("//") {
        ("names a server", "write the path alone: `--base-url` or `AOF_BASE_URL` says which server")
    } else if !path.starts_with('/') {
        ("does not begin with `/`", "write it as in `/api/login?next=home`")
    } else if !is_plain {
        ("has characters that a URL cannot have", "encode them, as in `%20` for a blank")
    } else if place.split('/').any(|part| part == "..") {
        ("leads out of the base URL", "write it without `..`")
    } else {
        return None;
    })
}

/// Reads a mapping of names of headers to their values.
fn read_headers(node: &Node<'_>, faults: &Faults) -> Vec<(String, String)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        faults.wrong_kind(node, "`headers` is a mapping of names and values", "");
    }
    let mut headers = Vec::new();
    for entry in node.entries() {
        let name = entry.key.text.as_ref();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            let message = format!("`{}` is not the name of a header", name.escape_debug());
            faults.add("invalid_value", &entry.key.span, message, "write it as in `Accept`");
        }
        match text_of(&entry.value) {
            Some(value) if !value.chars().any(char::is_control) => {
                headers.push((name.to_owned(), value.into_owned()));
            }
            Some(_) => faults.invalid(&entry.value, "a header is one line", ""),
            None => faults.wrong_kind(&entry.value, "the value of a header is a text", ""),
        }
    }
    headers
}

/// Reads the expectations. Each must fit the action of the test.
fn read_expected(node: &Node<'_>, when: Option<&TestAction>, faults: &Faults) -> Option<Expected> {
    let fields = FieldReader::of(node, "`then`", faults)?;
    let expected = Expected {
        status: fields.count("status"),
        body_contains: fields.list("body_contains").unwrap_or_default(),
        headers: fields.with("headers", read_headers).unwrap_or_default(),
        json: fields.with("json", read_json).unwrap_or_default(),
        exit: fields.count("exit"),
        stdout_contains: fields.list("stdout_contains").unwrap_or_default(),
    };
    fields.refuse_unknown();
    if let Some(status) = expected.status.filter(|status| !(100..=599).contains(status)) {
        let message = format!("`{status}` is not the status of an answer");
        fields.fault("status", "invalid_value", message, "it is between 100 and 599");
    }
    let (of_requests, of_commands) =
        (["status", "body_contains", "headers", "json"], ["exit", "stdout_contains"]);
    let (others, has): (&[&str], _) = match when {
        Some(TestAction::Request(_)) => (&of_commands, "an answer"),
        Some(TestAction::Command(_)) => (&of_requests, "a command"),
        _ => return Some(expected),
    };
    for key in others.iter().filter(|key| fields.has(key)) {
        let message = format!("{has} has no `{key}`");
        fields.fault(key, "dead_field", message, "remove it, or change `when`");
    }
    if expected == Expected::default() {
        let help = match when {
            Some(TestAction::Command(_)) => "say `exit` or `stdout_contains`",
            _ => "say `status`, `body_contains`, `headers` or `json`",
        };
        faults.add("missing_field", &node.first_key(), "this expects nothing", help);
    }
    Some(expected)
}

/// Reads the values that are expected at places of a JSON answer.
fn read_json(node: &Node<'_>, faults: &Faults) -> Vec<(JsonPath, serde_json::Value)> {
    if !matches!(node.kind, NodeKind::Mapping(_)) {
        let help = "as in `json: {$.user.name: Ada}`";
        faults.wrong_kind(node, "`json` is a mapping of JSONPaths and values", help);
    }
    let read = |entry: &super::yaml::MappingEntry<'_>| {
        Some((parse_key(&entry.key, faults)?, entry.value.to_value()))
    };
    node.entries().iter().filter_map(read).collect()
}
