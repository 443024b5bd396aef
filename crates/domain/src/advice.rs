//! Advice: what to do next, as words with operations between them. Each door names the operations in its own language.

use std::fmt;

use super::AgentId;
use super::words::words;

words!(
    /// An operation that advice proposes.
    Remedy, "an operation", {
        Assign = "assign",
        Brief = "brief",
        Cancel = "cancel",
        Comment = "comment",
        Complete = "complete",
        Edit = "edit",
        History = "history",
        Hold = "hold",
        Init = "init",
        List = "list",
        Mcp = "mcp",
        MigrateBranch = "migrate branch",
        Next = "next",
        Override = "override",
        Release = "release",
        Renew = "renew",
        Reopen = "reopen",
        Run = "run",
        Show = "show",
        Sign = "sign",
        Status = "status",
        Test = "test",
        Unblock = "unblock",
        Undo = "undo",
        Watch = "watch",
        Why = "why",
        WorkflowList = "workflow list",
        WorkflowShow = "workflow show",
        WorkflowValidate = "workflow validate",
    }
);

impl Remedy {
    /// Returns the operation on a task, a visit or a workflow.
    #[expect(clippy::needless_pass_by_value, reason = "ids and texts, borrowed or not")]
    pub fn on(self, subject: impl ToString) -> Fix {
        Fix { subject: Some(subject.to_string()), ..self.into() }
    }
}

/// A proposed operation with its arguments. It displays as the command of the command line, for logs and stored texts.
///
/// ```
/// use aof_domain::{Fix, Remedy};
///
/// let fix = Remedy::Release.on("AOF-7qk@3").given("agent", "agent-7");
/// assert_eq!(fix.to_string(), "aof release AOF-7qk@3 --agent agent-7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    pub operation: Remedy,
    /// The task, the visit or the workflow.
    pub subject: Option<String>,
    pub arguments: Vec<FixArgument>,
}

/// An argument of a proposed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FixArgument {
    /// An option without a value.
    Flag(&'static str),
    /// An option with its value.
    Given(&'static str, String),
    /// An option whose value the reader chooses.
    Asked(&'static str),
    /// A second subject, which the reader chooses.
    Chosen(&'static str),
}

impl From<Remedy> for Fix {
    fn from(operation: Remedy) -> Self {
        Self { operation, subject: None, arguments: Vec::new() }
    }
}

impl Fix {
    fn and(mut self, argument: FixArgument) -> Self {
        self.arguments.push(argument);
        self
    }

    #[must_use]
    pub fn flag(self, name: &'static str) -> Self {
        self.and(FixArgument::Flag(name))
    }

    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "ids and texts, borrowed or not")]
    pub fn given(self, name: &'static str, value: impl ToString) -> Self {
        self.and(FixArgument::Given(name, value.to_string()))
    }

    #[must_use]
    pub fn asked(self, name: &'static str) -> Self {
        self.and(FixArgument::Asked(name))
    }

    #[must_use]
    pub fn chosen(self, name: &'static str) -> Self {
        self.and(FixArgument::Chosen(name))
    }

    /// Returns the operation in the name of that agent, if it is an agent's and names none.
    #[must_use]
    pub fn by(self, agent: &AgentId) -> Self {
        let is_agents = match self.operation {
            Remedy::Next => true,
            // Without a subject, only the name of the operation is meant.
            Remedy::Complete | Remedy::Release | Remedy::Renew => self.subject.is_some(),
            _ => false,
        };
        let names_agent = self
            .arguments
            .iter()
            .any(|argument| matches!(argument, FixArgument::Given("agent", _)));
        if is_agents && !names_agent { self.given("agent", agent) } else { self }
    }

    /// Returns it as words that begin with `name`.
    pub fn words(&self, name: &str) -> String {
        let Self { operation: _, subject, arguments } = self;
        let mut words = name.to_owned();
        if let Some(subject) = subject {
            words.push_str(&format!(" {subject}"));
        }
        for argument in arguments {
            words.push_str(&match argument {
                FixArgument::Flag(name) => format!(" --{name}"),
                FixArgument::Given(name, value) => format!(" --{name} {value}"),
                FixArgument::Asked("m") => " -m \"...\"".to_owned(),
                FixArgument::Asked(name) => format!(" --{name} {}", placeholder(name)),
                FixArgument::Chosen(name) => format!(" {}", placeholder(name)),
            });
        }
        words
    }
}

fn placeholder(name: &str) -> String {
    match name {
        "reason" => "\"...\"".to_owned(),
        "to" => "GATE".to_owned(),
        "undepends" => "ID".to_owned(),
        name => name.to_uppercase(),
    }
}

impl fmt::Display for Fix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "aof {}", self.words(self.operation.as_str()))
    }
}

/// A part of advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdvicePart {
    Text(String),
    Fix(Fix),
}

/// Advice. It displays with the commands of the command line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Advice(Vec<AdvicePart>);

/// Returns advice of these parts: texts, operations, and other advice.
#[macro_export]
macro_rules! advice {
    ($($part:expr),+ $(,)?) => {{
        let mut advice = $crate::Advice::default();
        $(advice.extend($part);)+
        advice
    }};
}

impl Advice {
    /// Adds parts.
    pub fn extend(&mut self, parts: impl Into<Self>) {
        self.0.extend(parts.into().0);
    }

    /// Returns the advice with its texts changed.
    #[must_use]
    pub fn with_texts(self, change: impl Fn(String) -> String) -> Self {
        let part = |part| match part {
            AdvicePart::Text(text) => AdvicePart::Text(change(text)),
            fix @ AdvicePart::Fix(_) => fix,
        };
        Self(self.0.into_iter().map(part).collect())
    }

    /// Returns the text, in which `show` names the operations, between backticks.
    pub fn render(&self, show: impl Fn(&Fix) -> String) -> String {
        let text = |part: &AdvicePart| match part {
            AdvicePart::Text(text) => text.clone(),
            AdvicePart::Fix(fix) => format!("`{}`", show(fix)),
        };
        self.0.iter().map(text).collect()
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Fix::to_string))
    }
}

impl From<String> for Advice {
    fn from(text: String) -> Self {
        Self(vec![AdvicePart::Text(text)])
    }
}

impl From<&str> for Advice {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<&Self> for Advice {
    fn from(advice: &Self) -> Self {
        advice.clone()
    }
}

impl From<Fix> for Advice {
    fn from(fix: Fix) -> Self {
        Self(vec![AdvicePart::Fix(fix)])
    }
}

impl From<Remedy> for Advice {
    fn from(operation: Remedy) -> Self {
        Fix::from(operation).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_display_as_commands() {
        for (fix, command) in [
            (Remedy::Next.into(), "aof next"),
            (Remedy::Assign.on("AOF-a").chosen("agent"), "aof assign AOF-a AGENT"),
            (Remedy::Test.on("AOF-a").flag("committed"), "aof test AOF-a --committed"),
            (
                Remedy::Override.on("AOF-a").given("to", "code").asked("reason"),
                "aof override AOF-a --to code --reason \"...\"",
            ),
            (Remedy::Edit.on("AOF-a").asked("undepends"), "aof edit AOF-a --undepends ID"),
            (Remedy::WorkflowList.into(), "aof workflow list"),
        ] {
            assert_eq!(fix.to_string(), command);
        }
    }

    #[test]
    fn only_operations_of_agents_name_the_agent() {
        let agent: AgentId = "agent-7".parse().unwrap();
        for (fix, command) in [
            (Remedy::Next.into(), "aof next --agent agent-7"),
            (Remedy::Renew.into(), "aof renew"),
            (Remedy::Release.on("AOF-a@1"), "aof release AOF-a@1 --agent agent-7"),
            (Remedy::Release.on("AOF-a").given("agent", "b"), "aof release AOF-a --agent b"),
            (Remedy::Why.on("AOF-a"), "aof why AOF-a"),
        ] {
            let fix: Fix = fix;
            assert_eq!(fix.by(&agent).to_string(), command);
        }
    }

    #[test]
    fn doors_name_operations_in_their_own_words() {
        let advice = advice!["see it with ", Remedy::Show.on("AOF-a"), format!("; or {}", 1)];
        assert_eq!(advice.to_string(), "see it with `aof show AOF-a`; or 1");
        let in_tools = advice.render(|fix| fix.words("aof_task_get"));
        assert_eq!(in_tools, "see it with `aof_task_get AOF-a`; or 1");
    }
}
