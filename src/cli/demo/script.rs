//! The script of the demo: the rules of its project, and which agent drops which file when.

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

/// A file that an agent drops once its turn has come.
pub(crate) struct DemoAct {
    pub agent: &'static str,
    pub task: TaskId,
    /// How many visits the task has behind it then.
    pub visit: usize,
    /// A file of the same agent that was refused before.
    pub after: Option<&'static str>,
    pub file: &'static str,
    pub says: &'static str,
    pub text: String,
}

/// Returns all acts, in the order in which the agents of one gate perform them.
pub(crate) fn acts(login: &TaskId, guide: &TaskId) -> Vec<DemoAct> {
    let act = |agent, task: &TaskId, visit, file, says, text: String| DemoAct {
        agent,
        task: task.clone(),
        visit,
        after: None,
        file,
        says,
        text,
    };
    let yaml = |agent: &str, task: &TaskId, summary: &str| {
        format!("task: {task}\nagent: {agent}\noutcome: complete\nsummary: {summary}\n")
    };
    let verdict = |outcome: &str| {
        format!(
            "{{\"task\": \"{login}\", \"agent\": \"agent-3\", \"outcome\": \"{outcome}\", \"summary\": \"Good now\"}}\n"
        )
    };
    vec![
        act(
            "agent-7",
            login,
            0,
            "login.yaml",
            "`complete`, as YAML",
            yaml("agent-7", login, "Form, session cookie, six tests"),
        ),
        act(
            "agent-7",
            guide,
            0,
            "guide.yaml",
            "`complete`, as YAML",
            yaml("agent-7", guide, "The login can be explained now"),
        ),
        act(
            "agent-5",
            guide,
            1,
            "guide-text.yaml",
            "`complete`, as YAML",
            yaml("agent-5", guide, "A page with two pictures"),
        ),
        act(
            "agent-3",
            login,
            1,
            "review.json",
            "`needs_review` with what has to be fixed, as JSON",
            format!(
                "{{\"task\": \"{login}\", \"agent\": \"agent-3\", \"outcome\": \"needs_review\", \
                 \"summary\": \"Passwords can be guessed without end\", \
                 \"blockers\": [\"Limit the attempts in login.rs to five a minute\", \"Add a test of the sixth attempt\"]}}\n"
            ),
        ),
        act(
            "agent-3",
            guide,
            2,
            "guide-review.yaml",
            "`complete`, as YAML",
            yaml("agent-3", guide, "Reads well"),
        ),
        act(
            "agent-7",
            login,
            2,
            "login-again.md",
            "`complete`, as Markdown with the work below",
            format!(
                "---\n{}---\nA sixth attempt within a minute is answered with a pause of a minute.\n",
                yaml("agent-7", login, "Five attempts, then a pause; the test is there")
            ),
        ),
        act(
            "agent-3",
            login,
            3,
            "verdict.json",
            "`approved`, which this gate does not know",
            verdict("approved"),
        ),
        DemoAct {
            after: Some("verdict.json"),
            ..act(
                "agent-3",
                login,
                3,
                "verdict-again.json",
                "`complete`, having read the reason",
                verdict("complete"),
            )
        },
    ]
}
