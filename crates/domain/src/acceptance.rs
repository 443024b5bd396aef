//! Acceptance tests of a task: the state before, the action, and the expected result.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;

use super::words::words;
use super::{IdFault, Period};

/// One test (spec 1, 2.1).
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptanceTest {
    /// The state before the test; a text for people.
    pub given: Option<String>,
    pub when: TestAction,
    pub then: Expected,
    /// The time limit.
    pub timeout: Period,
}

/// The action of a test.
#[derive(Debug, Clone, PartialEq)]
pub enum TestAction {
    /// A text, which only people can carry out.
    Described(String),
    /// A request to a web server.
    Request(TestRequest),
    /// A program with its arguments.
    Command(Vec<String>),
}

/// A request; its path is appended to the base URL.
#[derive(Debug, Clone, PartialEq)]
pub struct TestRequest {
    pub method: Method,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
}

words!(
    /// The method of a request.
    Method, "a method", {
        Get = "GET",
        Head = "HEAD",
        Post = "POST",
        Put = "PUT",
        Patch = "PATCH",
        Delete = "DELETE",
        Options = "OPTIONS",
    }
);

impl Method {
    /// Returns whether a request of this method has a body.
    pub fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

/// The expected result of a test.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expected {
    pub status: Option<u32>,
    pub body_contains: Vec<String>,
    pub headers: Vec<(String, String)>,
    pub json: Vec<(JsonPath, Value)>,
    pub exit: Option<u32>,
    pub stdout_contains: Vec<String>,
}

impl AcceptanceTest {
    /// The time limit of a test that sets none.
    pub const TIMEOUT: Period = Period::of_seconds(30);

    /// Returns the test's name in reports.
    pub fn name(&self) -> String {
        match &self.given {
            Some(given) => format!("{}: {}", given.trim(), self.when),
            None => self.when.to_string(),
        }
    }

    /// Returns the program and its arguments, if the test runs one.
    pub fn command(&self) -> Option<&[String]> {
        match &self.when {
            TestAction::Command(words) => Some(words),
            _ => None,
        }
    }

    /// Returns the name and the expectations in one line.
    pub fn summary(&self) -> String {
        let note =
            if matches!(self.when, TestAction::Described(_)) { " (not runnable)" } else { "" };
        match self.then.to_string() {
            then if then.is_empty() => format!("{}{note}", self.name()),
            then => format!("{} -> {then}{note}", self.name()),
        }
    }
}

impl fmt::Display for TestAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Described(text) => f.write_str(text.trim()),
            Self::Request(request) => write!(f, "{} {}", request.method, request.path),
            Self::Command(words) => write!(f, "run {}", words.join(" ")),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number =
            |name: &str, number: &Option<u32>| number.map(|number| format!("{name} {number}"));
        let parts = |name: &'static str, parts: &[String]| {
            parts.iter().map(|part| format!("{name} has `{part}`")).collect::<Vec<_>>()
        };
        let headers = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let json = self.json.iter().map(|(path, value)| format!("{path} is {value}"));
        let all = number("status", &self.status).into_iter().chain(number("exit", &self.exit));
        let all = all.chain(parts("body", &self.body_contains)).chain(headers).chain(json);
        let all: Vec<String> = all.chain(parts("stdout", &self.stdout_contains)).collect();
        f.write_str(&all.join(", "))
    }
}

/// The result of one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestResult {
    pub name: String,
    pub verdict: TestVerdict,
    pub took: Duration,
}

/// The verdict of one test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TestVerdict {
    Passed,
    /// Each expectation that was not met.
    Failed(Vec<String>),
    /// The test is a text for people.
    NotRunnable,
}

impl TestVerdict {
    /// Returns the word for JSON.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed(_) => "failed",
            Self::NotRunnable => "not_runnable",
        }
    }
}

/// A place in a JSON document: `$.items[0].name`, `$['a key']`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    text: String,
    steps: Vec<PathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
}

impl JsonPath {
    /// Returns the value at the place.
    pub fn find<'v>(&self, document: &'v Value) -> Option<&'v Value> {
        self.steps.iter().try_fold(document, |value, step| match step {
            PathStep::Key(key) => value.get(key),
            PathStep::Index(index) => value.get(*index),
        })
    }
}

impl FromStr for JsonPath {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        let fault = || IdFault {
            kind: "a JSONPath",
            text: text.to_owned(),
            rule: "begin with `$`, and go on with `.name`, `['a name']` or `[0]`",
        };
        let mut steps = Vec::new();
        let mut rest = text.strip_prefix('$').ok_or_else(fault)?;
        while !rest.is_empty() {
            let (step, after) = next_step(rest).ok_or_else(fault)?;
            steps.push(step);
            rest = after;
        }
        Ok(Self { text: text.to_owned(), steps })
    }
}

/// Returns the first step of the rest of a path, and the path after it.
fn next_step(rest: &str) -> Option<(PathStep, &str)> {
    if let Some(name) = rest.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-$@".contains(c));
        return is_name.then(|| (PathStep::Key(name.to_owned()), after));
    }
    let inner = rest.strip_prefix('[')?;
    if let Some(quote @ ('\'' | '"')) = inner.chars().next() {
        let (key, after) = inner[1..].split_once(&format!("{quote}]"))?;
        return Some((PathStep::Key(key.to_owned()), after));
    }
    let (index, after) = inner.split_once(']')?;
    Some((PathStep::Index(index.parse().ok()?), after))
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_names_one_place() {
        let document = json!({"a": {"b-c": [1, {"x y": true}]}, "n": null, "e.f": 2});
        for (path, found) in [
            ("$", Some(&document)),
            ("$.a.b-c[0]", Some(&json!(1))),
            ("$.a['b-c'][1][\"x y\"]", Some(&json!(true))),
            ("$['e.f']", Some(&json!(2))),
            ("$.n", Some(&Value::Null)),
            ("$.a.b-c[2]", None),
            ("$.a.b-c.d", None),
            ("$.z", None),
        ] {
            assert_eq!(path.parse::<JsonPath>().unwrap().find(&document), found, "{path}");
        }
        for path in ["", "a", "$a", "$.", "$..a", "$.*", "$[*]", "$[-1]", "$['a", "$[0", "$.a b"] {
            assert!(path.parse::<JsonPath>().is_err(), "{path}");
        }
    }
}
