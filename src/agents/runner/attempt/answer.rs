//! What an agent is told about how to say that it is done, and about the attempt before. Pure.
//!
//! The example names no outcome that a gate can have: an agent that only copies it has said nothing.

use std::path::Path;
use std::time::Duration;

use crate::agents::runner::verdict::read::Asked;
use crate::domain::{Outcome, Outputs};
use crate::rules::outputs::{Field, fields};
use crate::rules::verdict::looked_for_at;

/// Whether the agent has the tool that completes its task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mcp {
    /// It has.
    Wired,
    /// It has not.
    Absent,
}

/// How the attempt before ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Before {
    /// It took too long.
    TimedOut(Duration),
    /// It printed nothing for too long.
    Idle(Duration),
    /// It was interrupted, and that was not its fault: by what.
    Interrupted(String),
    /// It came to no good end: why.
    Crashed(String),
    /// What it said does not count: why.
    Bad(String),
    /// The rules refused what it said: why.
    Refused(String),
}

/// Returns the lines of a prompt that say how to answer. `output` is what `AOF_OUTPUT` names.
pub(crate) fn answer_format(asked: &Asked<'_>, mcp: Mcp, output: &Path) -> String {
    let mut ways = Vec::new();
    if mcp == Mcp::Wired {
        ways.push("call the tool `aof_task_complete`".to_owned());
    }
    let output = output.display();
    ways.push(format!(
        "write the file `{output}` (it is also in `$AOF_OUTPUT`) as JSON, YAML, or Markdown with frontmatter"
    ));
    ways.push("end your last message with a block of JSON, fenced as below".to_owned());
    if let Some(signal) = asked.signal {
        ways.push(format!(
            "end your last message with {}",
            looked_for_at(&signal.mark, asked.possible)
        ));
    }
    let mut lines = vec![
        "When you are done, say how it ended, in ONE of these ways and nowhere else:".to_owned(),
    ];
    lines.extend(ways.iter().zip(1..).map(|(way, number)| format!("{number}. {way}")));
    lines.push(String::new());
    lines.push("- `outcome` is one of:".to_owned());
    lines.extend(
        asked.possible.iter().map(|outcome| format!("  - `{outcome}`{}", needs(asked, outcome))),
    );
    lines.push(
        "- `summary` says in a sentence or two what was done and how it was checked".to_owned(),
    );
    if let Outputs::One(shape) = asked.outputs {
        let list = handed_on(&fields(shape));
        if !list.is_empty() {
            lines.push(format!("- `outputs`, unless it is `blocked`, is an object with {list}"));
        }
    }
    lines.extend(["", "```json"].map(str::to_owned));
    lines.push(EXAMPLE.to_owned());
    lines.extend(["```", ""].map(str::to_owned));
    lines.push(
        "What you say of it elsewhere does not count. Saying nothing is a failed attempt."
            .to_owned(),
    );
    lines.join("\n") + "\n"
}

/// What an answer looks like.
const EXAMPLE: &str = r#"{"outcome": "<one of the above>", "summary": "<what was done>"}"#;

/// Returns the opening of a prompt for another attempt: what happened, and that work goes on where it stands.
pub(crate) fn again(before: &Before, attempt: u32, attempts: u32) -> String {
    let happened = match before {
        Before::Interrupted(why) => {
            format!("The attempt before was interrupted, and does not count: {}.", sentence(why))
        }
        Before::TimedOut(after) => {
            format!("The attempt before was stopped: it was not done after {}.", spell(*after))
        }
        Before::Idle(after) => {
            format!("The attempt before was stopped: it printed nothing for {}.", spell(*after))
        }
        Before::Crashed(why) => {
            format!("The attempt before came to no good end: {}.", sentence(why))
        }
        Before::Bad(why) => {
            format!("The attempt before ended, and its answer does not count: {}.", sentence(why))
        }
        Before::Refused(why) => {
            format!("The attempt before ended, and its answer was refused: {}.", sentence(why))
        }
    };
    let next = match before {
        Before::Bad(_) | Before::Refused(_) => {
            "The work may be done already: check it, do what is missing, and answer."
        }
        Before::TimedOut(_) | Before::Idle(_) | Before::Interrupted(_) | Before::Crashed(_) => {
            "Do not begin anew: look at what is there, keep what is good, and finish it."
        }
    };
    format!("This is attempt {attempt} of {attempts}. {happened}\n{next}\n")
}

/// Returns what has to come with the outcome.
fn needs(asked: &Asked<'_>, outcome: &Outcome) -> String {
    let mut needs = Vec::new();
    match outcome {
        Outcome::NeedsReview => {
            needs
                .push("`blockers`, a list of what must be mended, each fault by itself".to_owned());
        }
        Outcome::Blocked => needs.push("`blockers`, a list of what stands in the way".to_owned()),
        _ => {}
    }
    if let (Outputs::Variants(_), Some(shape)) =
        (asked.outputs, asked.outputs.shape(outcome.as_str()))
    {
        let list = handed_on(&fields(shape));
        if !list.is_empty() {
            needs.push(format!("`outputs`, an object with {list}"));
        }
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
    use crate::agents::runner::attempt::printed::{Exit, Printed};
    use crate::agents::runner::report::report::Report;
    use crate::agents::runner::report::text::text;
    use crate::agents::runner::verdict::read::Verdict;
    use crate::agents::runner::verdict::sources::verdict;
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
        let outputs = shape_file::read(&node, &mut Vec::new());
        let signal = Signal { mark: Mark::Key("VERDICT".to_owned()), missing: None };
        let asked = Asked {
            ticket: &ticket,
            agent: &agent,
            possible: &possible,
            back: &[],
            unsaid: None,
            signal: Some(&signal),
            outputs: &outputs,
            exit: &[],
            program: "claude",
            prompt: "",
        };
        let told = answer_format(&asked, Mcp::Wired, Path::new("/p/.aof/runs/AOF-abc@1/1/output"));
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
        assert!(!answer_format(&asked, Mcp::Absent, Path::new("o")).contains("aof_task_complete"));
        // Who only repeats what it was told has not answered.
        let echo = told.rfind("```").map(|at| &told[..at + 3]).unwrap();
        let printed = Printed { stdout: echo.as_bytes(), stderr: b"", exit: Exit::SUCCESS };
        let without = Asked { signal: None, ..asked };
        let Verdict::Bad { why } = verdict(&without, &text(&printed), &printed, None) else {
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
        let told: Vec<String> = all.iter().map(|before| again(before, 2, 3)).collect();
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
