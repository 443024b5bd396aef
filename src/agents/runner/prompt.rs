//! The prompt of an agent: the brief of its gate, how to answer, and the result of the previous attempt. Pure.

use std::path::Path;
use std::time::Duration;

use super::answer::RunQuestion;
use crate::domain::workflow::gate::Mark;
use crate::domain::{Outcome, Outputs};
use crate::files::printable::one_line;
use crate::files::task_file::TaskFile;
use crate::git::UncommittedChanges;
use crate::project::task_worktrees::WorkspaceFacts;
use crate::rules::brief::GateContext;
use crate::rules::outputs::{Field, fields};
use crate::rules::verdict::looked_for_at;
use crate::storage::runs::RunEnding;
use crate::tasks::view::brief::{BriefExtent, brief_markdown};

/// The previous attempt, which failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EarlierAttempt {
    pub how: RunEnding,
    pub why: String,
    /// The changes that the attempt left in the worktree.
    pub left: UncommittedChanges,
}

/// The number of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttemptCount {
    /// The number, from 1.
    pub attempt: u32,
    /// The largest number of attempts.
    pub attempts: u32,
}

/// Returns the whole prompt.
pub(crate) fn prompt(
    file: &TaskFile,
    context: &GateContext,
    asked: &RunQuestion<'_>,
    has_mcp: bool,
    output: &Path,
    earlier: Option<(&EarlierAttempt, AttemptCount)>,
    (extent, workspace): (BriefExtent, Option<&WorkspaceFacts>),
) -> String {
    let retry = earlier.map_or_else(String::new, |(earlier, count)| {
        let left = left_behind(&earlier.left);
        format!("## Another attempt\n\n{}{left}\n", describe_earlier(earlier, count))
    });
    let renewal = format!("`aof renew {}`", context.ticket);
    let brief = brief_markdown(file, context, &renewal, extent);
    let place = workspace.map(describe_workspace).unwrap_or_default();
    format!("{retry}{brief}{place}\n## Answer\n\n{}", answer_format(asked, has_mcp, output))
}

fn describe_workspace(workspace: &WorkspaceFacts) -> String {
    let WorkspaceFacts { folder, branch, base, is_detached } = workspace;
    let folder = folder.display();
    let text = if *is_detached {
        format!(
            "You work in `{folder}`, a git worktree at the head of `{branch}`, beside others. **What you change there is not kept**: say what \
             is to be changed."
        )
    } else {
        format!(
            "You work in `{folder}`, a git worktree of this task alone, on its branch `{branch}`, which began at `{base}`. Commit your work \
             there, on that branch. What you leave uncommitted is committed in your name. Do not use `git stash`, and change nothing outside \
             that folder."
        )
    };
    format!("\n## Workspace\n\n{text}\n")
}

fn left_behind(left: &UncommittedChanges) -> String {
    if left.paths.is_empty() {
        return String::new();
    }
    let mut text = "\nIt left these files behind, which are not committed:\n\n".to_owned();
    text.extend(left.paths.iter().map(|path| format!("- {}\n", one_line(path))));
    if left.more > 0 {
        text.push_str(&format!("- and {} more; see `git status`\n", left.more));
    }
    text
}

/// Returns the instructions for the answer. `output` is the file that `AOF_OUTPUT` names. The example has no possible outcome, so a
/// mere copy of it is not an answer.
fn answer_format(asked: &RunQuestion<'_>, has_mcp: bool, output: &Path) -> String {
    let mut ways = vec![
        format!(
            "write the file `{}` (it is also in `$AOF_OUTPUT`) as JSON, YAML, or Markdown with frontmatter",
            output.display()
        ),
        "end your last message with a block of JSON, fenced as below".to_owned(),
    ];
    if has_mcp {
        ways.insert(0, "call the tool `aof_task_complete`".to_owned());
    }
    ways.extend(asked.signal.map(|signal| {
        let place = if signal.mark == Mark::Status { "begin" } else { "end" };
        format!("{place} your last message with {}", looked_for_at(&signal.mark, &asked.possible))
    }));
    let ways: Vec<String> =
        ways.iter().zip(1..).map(|(way, number)| format!("{number}. {way}")).collect();
    let ways = ways.join("\n");
    let outcome = |outcome| format!("  - `{outcome}`{}\n", required_fields(asked, outcome));
    let outcomes: String = asked.possible.iter().map(outcome).collect();
    let list = match asked.outputs {
        Outputs::One(shape) => list_outputs(&fields(shape)),
        _ => String::new(),
    };
    let outputs = match list.as_str() {
        "" => String::new(),
        list => format!("- `outputs`, unless it is `blocked`, is an object with {list}\n"),
    };
    format!(
        r#"When you are done, say how it ended, in ONE of these ways and nowhere else:
{ways}

- `outcome` is one of:
{outcomes}- `summary` says in a sentence or two what was done and how it was checked
{outputs}
```json
{{"outcome": "<one of the above>", "summary": "<what was done>"}}
```

What you say of it elsewhere does not count. Saying nothing is a failed attempt.
"#
    )
}

/// Describes the previous attempt, and asks to continue its work.
fn describe_earlier(earlier: &EarlierAttempt, count: AttemptCount) -> String {
    let happened = match earlier.how {
        RunEnding::Timeout | RunEnding::Idle => "was stopped",
        RunEnding::Crash => "failed",
        RunEnding::BadVerdict => "ended, and its answer does not count",
        _ => "was interrupted, and does not count",
    };
    let next = if earlier.how == RunEnding::BadVerdict {
        "The work may be done already: check it, do what is missing, and answer."
    } else {
        "Do not begin again: look at what is there, keep what is good, and finish it."
    };
    let AttemptCount { attempt, attempts } = count;
    let why = earlier.why.trim().trim_end_matches('.');
    format!(
        "This is attempt {attempt} of {attempts}. The attempt before {happened}: {why}.\n{next}\n"
    )
}

/// Returns the fields that the outcome requires, in words.
fn required_fields(asked: &RunQuestion<'_>, outcome: &Outcome) -> String {
    let mut needs = match outcome {
        Outcome::NeedsReview => {
            vec!["`blockers`, a list of what must be fixed, each fault by itself".to_owned()]
        }
        Outcome::Blocked => vec!["`blockers`, a list of what stands in the way".to_owned()],
        _ => Vec::new(),
    };
    if let Outputs::Variants(_) = asked.outputs
        && let Some(shape) = asked.outputs.shape(outcome.as_str())
        && let list = list_outputs(&fields(shape))
        && !list.is_empty()
    {
        needs.push(format!("`outputs`, an object with {list}"));
    }
    if needs.is_empty() { String::new() } else { format!(", with {}", needs.join(", and ")) }
}

fn list_outputs(fields: &[Field]) -> String {
    let outer = fields.iter().filter(|field| !field.name.contains(['.', '[']));
    let one = |field: &Field| {
        let optional = if field.required { "" } else { "; may be left out" };
        format!("`{}` ({}{optional})", field.name, field.form)
    };
    outer.map(one).collect::<Vec<_>>().join(", ")
}

/// Returns a duration in words: `10 min 5 s`.
pub(crate) fn spelled(time: Duration) -> String {
    let seconds = time.as_secs();
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::runner::report::Report;
    use crate::agents::runner::report::{Exit, RunOutput};
    use crate::agents::runner::report_formats::all_text;
    use crate::agents::runner::verdict::verdict;
    use crate::domain::{AgentId, Outcome, Signal, Ticket};
    use crate::files::config::shape_file;
    use crate::files::yaml;

    #[test]
    fn the_prompt_names_every_way_to_answer() {
        let (ticket, agent): (Ticket, AgentId) =
            ("AOF-abc@1".parse().unwrap(), "agent-7".parse().unwrap());
        let possible: Vec<Outcome> =
            ["approved", "rejected", "blocked"].map(|word| word.parse().unwrap()).into();
        let declared = serde_json::json!({"oneOf": [
            {"properties": {"$status": {"const": "approved"}, "branch": {"type": "string"}, "url": {"type": "string"}},
                "required": ["$status", "branch"]},
            {"properties": {"$status": {"const": "rejected"}, "comments": {"type": "string"}},
                "required": ["$status", "comments"]},
        ]});
        let declared = declared.to_string();
        let node = yaml::parse(&declared, &yaml::ParseLimits::default()).unwrap();
        let outputs = shape_file::read(&node, &crate::files::config::decode::Faults::default());
        let signal =
            Signal { mark: Mark::Key("VERDICT".to_owned()), missing: None, words: Vec::new() };
        let asked = RunQuestion {
            ticket: &ticket,
            agent: &agent,
            possible,
            back: Vec::new(),
            default: None,
            signal: Some(&signal),
            outputs: &outputs,
            exit: &[],
            program: "claude".to_owned(),
            prompt: String::new(),
        };
        let format = answer_format(&asked, true, Path::new("/p/.aof/runs/AOF-abc@1/1/output"));
        insta::assert_snapshot!(format, @r#"
        When you are done, say how it ended, in ONE of these ways and nowhere else:
        1. call the tool `aof_task_complete`
        2. write the file `/p/.aof/runs/AOF-abc@1/1/output` (it is also in `$AOF_OUTPUT`) as JSON, YAML, or Markdown with frontmatter
        3. end your last message with a block of JSON, fenced as below
        4. end your last message with a line `VERDICT: approved` or `VERDICT: rejected`

        - `outcome` is one of:
          - `approved`, with `outputs`, an object with `branch` (a text), `url` (a text; may be left out)
          - `rejected`, with `outputs`, an object with `comments` (a text)
          - `blocked`, with `blockers`, a list of what stands in the way
        - `summary` says in a sentence or two what was done and how it was checked

        ```json
        {"outcome": "<one of the above>", "summary": "<what was done>"}
        ```

        What you say of it elsewhere does not count. Saying nothing is a failed attempt.
        "#);
        assert!(!answer_format(&asked, false, Path::new("o")).contains("aof_task_complete"));
        // An agent that only repeats the prompt has not answered.
        let echo = format.rfind("```").map(|at| &format[..at + 3]).unwrap();
        let printed = RunOutput { stdout: echo.as_bytes(), stderr: b"", exit: Exit::SUCCESS };
        let without = RunQuestion { signal: None, ..asked };
        let why = verdict(&without, &all_text(&printed), &printed, None).unwrap_err().why;
        assert!(why.contains("`<one of the above>`, which is none here"), "{why}");
        let silent = Report::default();
        assert!(verdict(&without, &silent, &printed, None).is_err());
    }

    #[test]
    fn another_attempt_knows_of_the_one_before() {
        let faults = [
            (RunEnding::Timeout, "it was not done after 30 min"),
            (RunEnding::Lost, "its runner was killed"),
            (RunEnding::Crash, "`claude` was ended by signal 9."),
            (RunEnding::BadVerdict, "nothing was said"),
        ];
        let faults = faults.map(|(how, why)| {
            let left = UncommittedChanges::default();
            let earlier = EarlierAttempt { how, why: why.to_owned(), left };
            describe_earlier(&earlier, AttemptCount { attempt: 2, attempts: 3 })
        });
        insta::assert_snapshot!(faults.join("\n"), @"
        This is attempt 2 of 3. The attempt before was stopped: it was not done after 30 min.
        Do not begin again: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before was interrupted, and does not count: its runner was killed.
        Do not begin again: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before failed: `claude` was ended by signal 9.
        Do not begin again: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before ended, and its answer does not count: nothing was said.
        The work may be done already: check it, do what is missing, and answer.
        ");
    }
}
