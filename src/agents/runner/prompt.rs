//! What an agent is told: the brief of its gate, how to answer, and what the attempt before came to. Pure.

use std::path::Path;
use std::time::Duration;

use crate::agents::runner::verdict::question::Question;
use crate::domain::{Outcome, Outputs};
use crate::files::printable::one_line;
use crate::files::task_file::TaskFile;
use crate::git::LeftBehind;
use crate::rules::brief::context::GateContext;
use crate::rules::outputs::{Field, fields};
use crate::rules::verdict::looked_for_at;
use crate::storage::runs::RunEnding;
use crate::tasks::view::brief_markdown::brief_markdown;

/// How the attempt before ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    TimedOut(Duration),
    Idle(Duration),
    /// It was interrupted, and that was not its fault: by what.
    Interrupted(String),
    Crashed(String),
    Bad(String),
    Refused(String),
}

impl Before {
    /// Returns how the record of the attempt tells of it.
    pub(crate) fn ending(&self) -> (RunEnding, Option<String>) {
        match self {
            Self::TimedOut(_) => (RunEnding::Timeout, None),
            Self::Idle(_) => (RunEnding::Idle, None),
            Self::Interrupted(why) => (RunEnding::Lost, Some(why.clone())),
            Self::Crashed(why) => (RunEnding::Crash, Some(why.clone())),
            Self::Bad(why) | Self::Refused(why) => (RunEnding::BadVerdict, Some(why.clone())),
        }
    }

    /// Returns why the attempt came to nothing, for people.
    pub(crate) fn why(&self) -> String {
        match self {
            Self::TimedOut(time) => {
                format!("it was not done after {} s, and was stopped", time.as_secs())
            }
            Self::Idle(time) => {
                format!("it printed nothing for {} s, and was stopped", time.as_secs())
            }
            Self::Interrupted(why) | Self::Crashed(why) | Self::Bad(why) => why.clone(),
            Self::Refused(why) => format!("what it said was refused: {why}"),
        }
    }
}

/// The attempt before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Earlier {
    /// How it ended.
    pub before: Before,
    /// What it left in the worktree.
    pub left: LeftBehind,
}

/// Which attempt it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    /// From 1.
    pub attempt: u32,
    /// How many there are at most.
    pub attempts: u32,
}

/// Returns the whole prompt.
pub(crate) fn prompt(
    file: &TaskFile,
    context: &GateContext,
    asked: &Question<'_>,
    has_mcp: bool,
    output: &Path,
    count: Count,
    earlier: Option<&Earlier>,
) -> String {
    let mut text = String::new();
    if let Some(earlier) = earlier {
        text.push_str("## Another attempt\n\n");
        text.push_str(&again(&earlier.before, count));
        text.push_str(&left_behind(&earlier.left));
        text.push('\n');
    }
    text.push_str(&brief_markdown(file, context, &format!("`aof task renew {}`", context.ticket)));
    text.push_str("\n## Answer\n\n");
    text.push_str(&answer_format(asked, has_mcp, output));
    text
}

fn left_behind(left: &LeftBehind) -> String {
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

/// Returns the lines of a prompt that say how to answer. `output` is what `AOF_OUTPUT` names. The example names no outcome that a
/// gate can have: an agent that only copies it has said nothing.
fn answer_format(asked: &Question<'_>, has_mcp: bool, output: &Path) -> String {
    let mut ways = Vec::new();
    if has_mcp {
        ways.push("call the tool `aof_task_complete`".to_owned());
    }
    ways.push(format!(
        "write the file `{}` (it is also in `$AOF_OUTPUT`) as JSON, YAML, or Markdown with frontmatter",
        output.display()
    ));
    ways.push("end your last message with a block of JSON, fenced as below".to_owned());
    if let Some(signal) = asked.signal {
        let mark = looked_for_at(&signal.mark, &asked.possible);
        ways.push(format!("end your last message with {mark}"));
    }
    let mut text =
        "When you are done, say how it ended, in ONE of these ways and nowhere else:\n".to_owned();
    for (way, number) in ways.iter().zip(1..) {
        text.push_str(&format!("{number}. {way}\n"));
    }
    text.push_str("\n- `outcome` is one of:\n");
    for outcome in &asked.possible {
        text.push_str(&format!("  - `{outcome}`{}\n", needs(asked, outcome)));
    }
    text.push_str("- `summary` says in a sentence or two what was done and how it was checked\n");
    if let Outputs::One(shape) = asked.outputs {
        let list = handed_on(&fields(shape));
        if !list.is_empty() {
            text.push_str(&format!(
                "- `outputs`, unless it is `blocked`, is an object with {list}\n"
            ));
        }
    }
    text.push_str(
        r#"
```json
{"outcome": "<one of the above>", "summary": "<what was done>"}
```

What you say of it elsewhere does not count. Saying nothing is a failed attempt.
"#,
    );
    text
}

/// Returns the opening of a prompt for another attempt: what happened, and that work goes on where it stands.
fn again(before: &Before, count: Count) -> String {
    let happened = match before {
        Before::Interrupted(why) => {
            format!("was interrupted, and does not count: {}", sentence(why))
        }
        Before::TimedOut(after) => format!("was stopped: it was not done after {}", spell(*after)),
        Before::Idle(after) => format!("was stopped: it printed nothing for {}", spell(*after)),
        Before::Crashed(why) => format!("came to no good end: {}", sentence(why)),
        Before::Bad(why) => format!("ended, and its answer does not count: {}", sentence(why)),
        Before::Refused(why) => format!("ended, and its answer was refused: {}", sentence(why)),
    };
    let next = match before {
        Before::Bad(_) | Before::Refused(_) => {
            "The work may be done already: check it, do what is missing, and answer."
        }
        Before::TimedOut(_) | Before::Idle(_) | Before::Interrupted(_) | Before::Crashed(_) => {
            "Do not begin anew: look at what is there, keep what is good, and finish it."
        }
    };
    let Count { attempt, attempts } = count;
    format!("This is attempt {attempt} of {attempts}. The attempt before {happened}.\n{next}\n")
}

/// Returns what has to come with the outcome.
fn needs(asked: &Question<'_>, outcome: &Outcome) -> String {
    let mut needs = Vec::new();
    match outcome {
        Outcome::NeedsReview => {
            needs
                .push("`blockers`, a list of what must be mended, each fault by itself".to_owned());
        }
        Outcome::Blocked => needs.push("`blockers`, a list of what stands in the way".to_owned()),
        _ => {}
    }
    let is_variant = matches!(asked.outputs, Outputs::Variants(_));
    let shape = asked.outputs.shape(outcome.as_str()).filter(|_| is_variant);
    let list = shape.map(|shape| handed_on(&fields(shape))).unwrap_or_default();
    if !list.is_empty() {
        needs.push(format!("`outputs`, an object with {list}"));
    }
    if needs.is_empty() { String::new() } else { format!(", with {}", needs.join(", and ")) }
}

fn handed_on(fields: &[Field]) -> String {
    let outer = fields.iter().filter(|field| !field.name.contains(['.', '[']));
    let one = |field: &Field| {
        let optional = if field.required { "" } else { "; may be left out" };
        format!("`{}` ({}{optional})", field.name, field.form)
    };
    outer.map(one).collect::<Vec<_>>().join(", ")
}

fn sentence(why: &str) -> &str {
    why.trim().trim_end_matches('.')
}

fn spell(time: Duration) -> String {
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
    use crate::agents::runner::output::{Exit, RunOutput};
    use crate::agents::runner::report::agent_report::Report;
    use crate::agents::runner::report::read::all_text;
    use crate::agents::runner::verdict::judge::verdict;
    use crate::agents::runner::verdict::question::Verdict;
    use crate::domain::workflow::gate::Mark;
    use crate::domain::{AgentId, Outcome, Signal, Ticket};
    use crate::files::config::shape_file;
    use crate::files::yaml;

    #[test]
    fn an_agent_is_told_every_way_to_answer() {
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
        let node = yaml::parse(&declared, &yaml::Limits::default()).unwrap();
        let outputs = shape_file::read(&node, &Default::default());
        let signal = Signal { mark: Mark::Key("VERDICT".to_owned()), missing: None };
        let asked = Question {
            ticket: &ticket,
            agent: &agent,
            possible,
            back: Vec::new(),
            unsaid: None,
            signal: Some(&signal),
            outputs: &outputs,
            exit: &[],
            program: "claude".to_owned(),
            prompt: String::new(),
        };
        let told = answer_format(&asked, true, Path::new("/p/.aof/runs/AOF-abc@1/1/output"));
        insta::assert_snapshot!(told, @r#"
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
        // Who only repeats what it was told has not answered.
        let echo = told.rfind("```").map(|at| &told[..at + 3]).unwrap();
        let printed = RunOutput { stdout: echo.as_bytes(), stderr: b"", exit: Exit::SUCCESS };
        let without = Question { signal: None, ..asked };
        let Verdict::Bad { why } = verdict(&without, &all_text(&printed), &printed, None) else {
            panic!("an echo passes")
        };
        assert!(why.contains("`<one of the above>`, which is none here"), "{why}");
        let silent = Report::default();
        assert!(matches!(verdict(&without, &silent, &printed, None), Verdict::Bad { .. }));
    }

    #[test]
    fn another_attempt_knows_of_the_one_before() {
        let all = [
            Before::TimedOut(Duration::from_mins(30)),
            Before::Idle(Duration::from_secs(610)),
            Before::Interrupted("its runner was killed".to_owned()),
            Before::Crashed("`claude` was ended by signal 9.".to_owned()),
            Before::Bad("nothing was said".to_owned()),
            Before::Refused("`needs_review` needs blockers".to_owned()),
        ];
        let told: Vec<String> =
            all.iter().map(|before| again(before, Count { attempt: 2, attempts: 3 })).collect();
        insta::assert_snapshot!(told.join("\n"), @"
        This is attempt 2 of 3. The attempt before was stopped: it was not done after 30 min.
        Do not begin anew: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before was stopped: it printed nothing for 10 min 10 s.
        Do not begin anew: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before was interrupted, and does not count: its runner was killed.
        Do not begin anew: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before came to no good end: `claude` was ended by signal 9.
        Do not begin anew: look at what is there, keep what is good, and finish it.

        This is attempt 2 of 3. The attempt before ended, and its answer does not count: nothing was said.
        The work may be done already: check it, do what is missing, and answer.

        This is attempt 2 of 3. The attempt before ended, and its answer was refused: `needs_review` needs blockers.
        The work may be done already: check it, do what is missing, and answer.
        ");
    }
}
