//! The script of the demo: the rules of its project, and which agent drops which file when.

use serde_json::json;

use crate::domain::TaskId;

pub(crate) const PROJECT: &str = "\
project:
  name: demo
workflow:
  gates:
    - id: implement
      role: developer
    - id: docs
      role: writer
      when: tags.includes('docs')
    - id: code-review
      role: reviewer
      canReject: true
    - id: approve
      role: approver
      requireHuman: true
";

pub(crate) const ORG: &str = "\
roles:
  developer: {agents: [agent-7]}
  writer: {agents: [agent-5]}
  reviewer: {agents: [agent-3]}
  approver: {agents: [human-alice]}
agents:
  human-alice: {email: alice@example.org}
  agent-3: {}
  agent-5: {}
  agent-7: {}
";

/// A completion file that an agent drops.
pub(crate) struct Turn {
    pub agent: &'static str,
    pub file: &'static str,
    pub does: &'static str,
    pub text: String,
}

/// Returns the files in the order in which they are dropped.
pub(crate) fn turns(login: &TaskId, guide: &TaskId) -> Vec<Turn> {
    let yaml = |agent, file, task: &TaskId, summary| Turn {
        agent,
        file,
        does: "`complete`, as YAML",
        text: format!("task: {task}\nagent: {agent}\noutcome: complete\nsummary: {summary}\n"),
    };
    let review = |file, does, outcome, summary: &str, blockers: &[&str]| {
        Turn {
        agent: "agent-3",
        file,
        does,
        text: json!({
            "task": login, "agent": "agent-3", "outcome": outcome, "summary": summary, "blockers": blockers
        })
        .to_string(),
    }
    };
    let again =
        yaml("agent-7", "login-again.md", login, "Five attempts, then a pause; the test is there");
    let work = "A sixth attempt within a minute is answered with a pause of a minute.";
    let blockers =
        ["Limit the attempts in login.rs to five a minute", "Add a test of the sixth attempt"];
    vec![
        yaml("agent-7", "login.yaml", login, "Form, session cookie, six tests"),
        yaml("agent-7", "guide.yaml", guide, "The login can be explained now"),
        yaml("agent-5", "guide-text.yaml", guide, "A page with two pictures"),
        review(
            "review.json",
            "`needs_review` with what has to be fixed, as JSON",
            "needs_review",
            "Passwords can be guessed without end",
            &blockers,
        ),
        yaml("agent-3", "guide-review.yaml", guide, "Reads well"),
        Turn {
            does: "`complete`, as Markdown with the work below",
            text: format!("---\n{}---\n{work}\n", again.text),
            ..again
        },
        review(
            "verdict.json",
            "`approved`, which this gate does not know",
            "approved",
            "Good now",
            &[],
        ),
        review(
            "verdict-again.json",
            "`complete`, having read the reason",
            "complete",
            "Good now",
            &[],
        ),
    ]
}
