//! A stand-in for `gh`, in `~/bin`: it answers the calls that `docs/recipes` makes, word for word, and no other one. Their options and
//! fields are those of gh 2.50: who changes a call here looks them up in gh's manual.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::support::environment::{TestEnvironment, executable};

/// Answers from pairs of files in `~/forge`, a call and what is printed; `down` has the error of all calls.
const GH: &str = r#"#!/bin/sh
cd "$HOME/forge" || exit 2
printf '%s ' "$@" >> calls
[ ! -e down ] || { cat down >&2; exit 1; }
given=$(printf '%s\n' "$@")
for call in *.call; do
    if [ "$(cat "$call")" = "$given" ]; then
        cat "${call%.call}.stderr" >&2
        cat "${call%.call}.stdout"
        exit "$(cat "${call%.call}.code")"
    fi
done
echo "gh $*" >> unknown
exit 2
"#;

const REQUEST: &str = "state,number,isCrossRepository,headRefOid,url,reviewDecision";
const REQUEST_LINES: &str =
    ".[] | [.state, .number, .isCrossRepository, .headRefOid, .url, .reviewDecision] | @tsv";
const REVIEWS: &str = "reviews";
const REVIEW_LINES: &str = ".reviews[] | [.state, .commit.oid] | @tsv";
const CHECKS: &str = "bucket,name,link";
const CHECK_LINES: &str = ".[] | [.bucket, .name, .link] | @tsv";
const ISSUE: &str = "title,body,url";
const ISSUE_TASK: &str = r#"{ref: .url, title: .title, workflow: "change",
    body: ("From " + .url + ":\n\n> " + (.body | gsub("\r\n?"; "\n") | gsub("\n"; "\n> ")) + "\n")}"#;

/// The forge as `gh` sees it.
pub(crate) struct Forge {
    folder: PathBuf,
}

impl Forge {
    /// Puts the stand-in before every other `gh`.
    pub(crate) fn new(env: &TestEnvironment) -> Self {
        let (bin, folder) = (env.home().join("bin"), env.home().join("forge"));
        fs::create_dir_all(&bin).unwrap();
        fs::create_dir_all(&folder).unwrap();
        fs::write(bin.join("gh"), GH).unwrap();
        executable(&bin.join("gh"));
        Self { folder }
    }

    /// Answers a call: what it prints, what it prints on stderr, and its exit status.
    pub(crate) fn answer(&self, name: &str, call: &[&str], said: (&str, &str, i32)) {
        let (stdout, stderr, code) = said;
        let write = |kind: &str, text: &str| {
            fs::write(self.folder.join(format!("{name}.{kind}")), text).unwrap();
        };
        write("call", &(call.join("\n") + "\n"));
        write("stdout", stdout);
        write("stderr", stderr);
        write("code", &code.to_string());
    }

    /// Sets the pull requests of a branch, the newest first.
    pub(crate) fn requests(&self, branch: &str, requests: &[Value]) {
        let lines = lines(&json!(requests), REQUEST, REQUEST_LINES);
        let call = ["pr", "list", "--head", branch, "--state", "all", "--limit", "100"];
        let call = [&call[..], &["--json", REQUEST, "--jq", REQUEST_LINES]].concat();
        self.answer(&format!("requests-{branch}"), &call, (&lines, "", 0));
    }

    /// Sets the checks of a pull request.
    pub(crate) fn checks(&self, number: u32, checks: &[Value]) {
        let lines = lines(&json!(checks), CHECKS, CHECK_LINES);
        // Without any, gh fails.
        let said = match checks {
            [] => ("", "no checks reported on the 'AOF-abc' branch\n", 1),
            _ => (lines.as_str(), "", 0),
        };
        let number = number.to_string();
        let call = ["pr", "checks", &number, "--json", CHECKS, "--jq", CHECK_LINES];
        self.answer(&format!("checks-{number}"), &call, said);
    }

    /// Sets the reviews of a pull request.
    pub(crate) fn reviews(&self, number: u32, reviews: &[Value]) {
        let lines = lines(&json!({ "reviews": reviews }), REVIEWS, REVIEW_LINES);
        let number = number.to_string();
        let call = ["pr", "view", &number, "--json", REVIEWS, "--jq", REVIEW_LINES];
        self.answer(&format!("reviews-{number}"), &call, (&lines, "", 0));
    }

    /// Sets an issue.
    pub(crate) fn issue(&self, number: u32, title: &str, body: &str) {
        let url = format!("https://github.com/ada/shop/issues/{number}");
        let quoted = body.replace("\r\n", "\n").replace('\r', "\n").replace('\n', "\n> ");
        let body = format!("From {url}:\n\n> {quoted}\n");
        let task = json!({"ref": url, "title": title, "workflow": "change", "body": body});
        let number = number.to_string();
        let call = ["issue", "view", &number, "--json", ISSUE, "--jq", ISSUE_TASK];
        self.answer(&format!("issue-{number}"), &call, (&format!("{task}\n"), "", 0));
    }

    /// Lets every call fail with this error, or answers again.
    pub(crate) fn set_down(&self, error: Option<&str>) {
        match error {
            Some(error) => fs::write(self.folder.join("down"), error).unwrap(),
            None => fs::remove_file(self.folder.join("down")).unwrap(),
        }
    }

    /// Returns all calls.
    pub(crate) fn calls(&self) -> String {
        fs::read_to_string(self.folder.join("calls")).unwrap_or_default()
    }
}

impl Drop for Forge {
    fn drop(&mut self) {
        let unknown = fs::read_to_string(self.folder.join("unknown")).unwrap_or_default();
        assert!(
            unknown.is_empty() || std::thread::panicking(),
            "not known to the stand-in: {unknown}"
        );
    }
}

/// Returns a pull request as gh exports it.
pub(crate) fn request(number: u32, state: &str, head: &str) -> Value {
    let url = format!("https://github.com/ada/shop/pull/{number}");
    json!({"number": number, "state": state, "headRefOid": head, "url": url, "isCrossRepository": false, "reviewDecision": ""})
}

/// Returns a check as gh exports it.
pub(crate) fn check(bucket: &str, name: &str) -> Value {
    json!({"bucket": bucket, "name": name, "link": format!("https://ci.example/{name}")})
}

/// Prints as `gh --json FIELDS --jq 'LIST[] | [.A, .B.C] | @tsv'` does. Fails if a value is not among the fields that are asked for.
fn lines(value: &Value, fields: &str, filter: &str) -> String {
    let asked = |value: &Value| {
        let value = value.as_object().unwrap();
        let field = |name: &str| {
            let known = value.get(name).unwrap_or_else(|| panic!("no field `{name}`"));
            (name.to_owned(), known.clone())
        };
        Value::Object(fields.split(',').map(field).collect::<Map<_, _>>())
    };
    let value = match value {
        Value::Array(values) => Value::Array(values.iter().map(asked).collect()),
        value => asked(value),
    };
    let (list, columns) = filter.split_once("[] | [").unwrap();
    let columns = columns.strip_suffix("] | @tsv").unwrap();
    let text = |value: &Value, path: &str| {
        let found = value.pointer(&path.replace('.', "/"));
        match found.unwrap_or_else(|| panic!("`{path}` is not among {fields}")) {
            Value::String(text) => {
                text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n")
            }
            Value::Null => String::new(),
            other => other.to_string(),
        }
    };
    let list = value.pointer(list.trim_end_matches('.').replace('.', "/").as_str()).unwrap();
    let line = |value: &Value| {
        columns.split(", ").map(|path| text(value, path)).collect::<Vec<_>>().join("\t") + "\n"
    };
    list.as_array().unwrap().iter().map(line).collect()
}

/// Copies the recipes into a folder of the project.
pub(crate) fn copy_recipes(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    for name in ["pull-request.sh", "adopt-issue.sh"] {
        let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/recipes").join(name);
        fs::copy(recipe, folder.join(name)).unwrap();
    }
}
