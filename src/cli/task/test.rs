//! `aof test`

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::cli::{CliError, CliResult, Session, green, indented, red, yellow};
use crate::domain::acceptance::{TestResult, TestVerdict};
use crate::domain::{TaskId, TypedTask};
use crate::files::printable::{inert, one_line};
use crate::project::test_run::{TestSetup, run_tests};
use crate::system::terminal;
use crate::tasks::publish::secrets_of;
use crate::tasks::state::acceptance::{ensure_trusted, peoples_tests, tests_in_worktree};
use crate::tasks::view::task_view::show;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof test AOF-7qk
  aof test AOF-7qk --base-url http://127.0.0.1:8080
  aof test AOF-7qk --junit report.xml

Tests stand in a task's frontmatter, as `tests:`, or in the file that `testsFile:` names; see docs/guides/tests.md. Commands in them \
need `aof trust ID`. The exit code is 0 if all passed, and 1 if one failed or none could be run.")]
pub(crate) struct TestArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// The server that requests go to, in place of `$AOF_BASE_URL`
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The tests as people last committed them, which are those that a gate runs
    #[arg(long)]
    committed: bool,
    /// Also write a report for a CI server into this file
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

pub(crate) fn run(session: &Session, args: &TestArgs) -> CliResult {
    let workspace = session.workspace_in_background("test")?;
    let task = session.ticket(&workspace, &args.task)?.task;
    let (view, in_force) = show(&workspace, &task)?;
    session.warn_of_rules(&in_force);
    let peoples = peoples_tests(&workspace, &in_force, &view.path, &task);
    let tests = if args.committed {
        peoples?
    } else {
        let tests = tests_in_worktree(&workspace, &task, &view.path, &view.file)?;
        if peoples.ok().as_ref() != Some(&tests) {
            session.warn(
                "these tests differ from what people last committed, which a gate runs: see `--committed`",
            );
        }
        tests
    };
    ensure_trusted(&workspace, &in_force, &view.path, &view.file, &tests)?;
    terminal::set_on_stop(&Arc::default()).map_err(|cause| CliError::input("signals", &cause))?;
    let setup = TestSetup { base_url: args.base_url.as_deref(), directory: &workspace.checkout };
    let secrets = secrets_of(&in_force.rules);
    let results = run_tests(&tests, &setup, &secrets)?;
    let count = |word: &str| results.iter().filter(|one| one.verdict.as_str() == word).count();
    let (passed, failed, not_runnable) = (count("passed"), count("failed"), count("not_runnable"));
    if let Some(file) = &args.junit {
        write_report(file, &task, &results)?;
    }
    let ok = failed == 0 && passed > 0;
    let value = || {
        let tests: Vec<Value> = results.iter().map(result_value).collect();
        json!({"task": task, "ok": ok, "passed": passed, "failed": failed, "notRunnable": not_runnable, "tests": tests})
    };
    let text = || {
        let mut text: String = results.iter().map(result_text).collect();
        let rest =
            if not_runnable > 0 { format!(", {not_runnable} not runnable") } else { String::new() };
        text.push_str(&match results.len() {
            0 => format!("{task} has no tests\n"),
            _ => format!("{passed} passed, {failed} failed{rest}\n"),
        });
        text
    };
    session.output.show(value, text);
    Ok(if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn failures(result: &TestResult) -> &[String] {
    match &result.verdict {
        TestVerdict::Failed(failures) => failures,
        _ => &[],
    }
}

fn result_value(result: &TestResult) -> Value {
    let seconds = (result.took.as_secs_f64() * 1000.0).round() / 1000.0;
    json!({
        "name": result.name,
        "result": result.verdict.as_str(),
        "seconds": seconds,
        "failures": failures(result),
    })
}

fn result_text(result: &TestResult) -> String {
    let sign = match &result.verdict {
        TestVerdict::Passed => green("passed"),
        TestVerdict::Failed(_) => red("failed"),
        TestVerdict::NotRunnable => yellow("not runnable"),
    };
    let mut text = format!("{sign}  {}\n", one_line(&result.name));
    for failure in failures(result) {
        text.push_str(&format!("{}\n", indented(&inert(failure), "        ")));
    }
    text
}

/// Writes the results as XML in the format of `JUnit`.
fn write_report(file: &Path, task: &TaskId, results: &[TestResult]) -> CliResult<()> {
    let count = |word: &str| results.iter().filter(|one| one.verdict.as_str() == word).count();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"{task}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\">\n",
        results.len(),
        count("failed"),
        count("not_runnable"),
    );
    for result in results {
        let inner = match &result.verdict {
            TestVerdict::Passed => String::new(),
            TestVerdict::NotRunnable => "<skipped/>".to_owned(),
            TestVerdict::Failed(failures) => {
                format!("<failure>{}</failure>", xml(&failures.join("\n")))
            }
        };
        text.push_str(&format!(
            "  <testcase classname=\"{task}\" name=\"{}\" time=\"{:.3}\">{inner}</testcase>\n",
            xml(&one_line(&result.name)),
            result.took.as_secs_f64(),
        ));
    }
    text.push_str("</testsuite>\n");
    std::fs::write(file, text).map_err(|cause| CliError::output(file, &cause))
}

/// Returns the text for XML, without the characters that XML cannot contain.
fn xml(text: &str) -> String {
    let mut escaped = String::new();
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\u{fffe}' | '\u{ffff}' => escaped.push('?'),
            character if character.is_control() => escaped.push('?'),
            character => escaped.push(character),
        }
    }
    escaped
}
