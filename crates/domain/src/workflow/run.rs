//! The settings for starting an agent, and the limits of its runs (`run` of an agent, a workflow, a gate). This module does not
//! start agents.

use std::time::Duration;

use serde::Serialize;

use crate::words::words;
use crate::workflow::workspaces::WorkFolder;
use crate::{Outcome, Period, RetryDelay};

words!(
    /// A program that aof knows how to start and to read.
    Preset, "a preset", {
        /// Claude Code.
        Claude = "claude",
        /// Codex CLI.
        Codex = "codex",
        /// Gemini CLI.
        Gemini = "gemini",
        /// `OpenCode`.
        Opencode = "opencode",
        /// Any program, started by its `command`.
        Command = "command",
    }
);

words!(
    /// The format of a program's output.
    Reads, "a way to read what is printed", {
        /// The result object, or the stream of them, of Claude Code.
        Claude = "claude",
        /// The event lines of Codex CLI.
        Codex = "codex",
        /// The result object of Gemini CLI.
        Gemini = "gemini",
        /// The event lines of `OpenCode`.
        Opencode = "opencode",
        /// One JSON object.
        Json = "json",
        /// Text.
        Text = "text",
    }
);

words!(
    /// A name in braces that is filled in in a command: `{task}`.
    Placeholder, "a placeholder", {
        /// The task's id.
        Task = "task",
        /// The visit, or the branch of it.
        Ticket = "ticket",
        /// The gate, or the branch of it.
        Gate = "gate",
        /// The task's workflow.
        Workflow = "workflow",
        /// The agent that is started.
        Agent = "agent",
        /// The folder of the project.
        Project = "project",
        /// The number of the attempt of the visit, from 1.
        Attempt = "attempt",
        /// The model.
        Model = "model",
        /// The whole prompt.
        Prompt = "prompt",
        /// The path of the file with the prompt.
        PromptFile = "promptFile",
        /// The path of the file that the agent may write its completion to.
        OutputFile = "outputFile",
        /// The path of a file that configures aof's server for MCP clients.
        McpConfig = "mcpConfig",
        /// The path of aof itself.
        Aof = "aof",
    }
);

impl Placeholder {
    /// Returns the names in braces, known or not.
    pub fn names(word: &str) -> impl Iterator<Item = &str> {
        let closed = word.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        closed
            .map(|(name, _)| name)
            .filter(|name| !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric()))
    }
}

/// The settings for starting an agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Launch {
    pub preset: Preset,
    /// The program and its arguments in place of the preset's; empty only if the preset has its own.
    pub command: Vec<String>,
    /// The format of its output, if it differs from the preset's.
    pub reads: Option<Reads>,
    /// Variables that are added to its environment.
    pub env: Vec<(String, String)>,
    /// The environment variables that it needs, and whose values no other process may see.
    pub secrets: Vec<String>,
    /// The most runs of its program at once in a clone.
    pub parallel: Option<u32>,
    #[serde(flatten)]
    pub limits: RunLimits,
}

impl Launch {
    /// Returns whether its program reports what it cost.
    pub fn reports_cost(&self) -> bool {
        matches!(self.reads(), Reads::Claude | Reads::Opencode)
    }

    /// Returns whether its program reports the tokens that it used.
    pub fn reports_tokens(&self) -> bool {
        !matches!(self.reads(), Reads::Json | Reads::Text)
    }

    /// Returns whether its program can continue a session: a preset's, started by the preset's own command.
    pub fn can_resume(&self) -> bool {
        self.command.is_empty() && matches!(self.preset, Preset::Claude | Preset::Codex)
    }

    /// Returns the format of its output.
    pub fn reads(&self) -> Reads {
        self.reads.unwrap_or(match self.preset {
            Preset::Claude => Reads::Claude,
            Preset::Codex => Reads::Codex,
            Preset::Gemini => Reads::Gemini,
            Preset::Opencode => Reads::Opencode,
            Preset::Command => Reads::Text,
        })
    }
}

/// The limits that a gate, an agent or a workflow sets for runs; the next wider one sets absent ones.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RunLimits {
    /// The time limit of one attempt.
    pub timeout: Option<Period>,
    /// The time that it may print nothing.
    pub idle: Option<Period>,
    /// The model for the agent to use.
    pub model: Option<String>,
    /// The number of attempts at a visit, the first included; never 0.
    pub attempts: Option<u32>,
    /// False if a visit that returns to its agent begins a new session.
    pub resume: Option<bool>,
    /// The pause after the first attempt.
    pub delay: Option<RetryDelay>,
    /// The factor by which each pause is longer than the last; never 0.
    pub factor: Option<u32>,
    pub longest: Option<Period>,
    /// The folder in which the program works.
    pub workspace: Option<WorkFolder>,
}

/// The limits of one run, with all defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunBounds {
    /// The time limit of one attempt.
    pub timeout: Period,
    /// The time that it may print nothing.
    pub idle: Period,
    /// The model, if one is set.
    pub model: Option<String>,
    /// The number of attempts at a visit.
    pub attempts: u32,
    /// True if a visit that returns to its agent continues that agent's session.
    pub resumes: bool,
    /// The folder in which the program works.
    pub workspace: WorkFolder,
    /// True if the first pause is set: then it is not shortened at random.
    pub is_delay_given: bool,
    delay: Duration,
    factor: u32,
    longest: Period,
}

impl RunBounds {
    /// The default time limit of one attempt, in seconds.
    pub const TIMEOUT: u64 = 30 * 60;
    /// The default time that it may print nothing, in seconds.
    pub const IDLE: u64 = 10 * 60;
    /// The default number of attempts at a visit.
    pub const ATTEMPTS: u32 = 2;
    /// The default first pause, factor and longest pause.
    pub const RETRY: (u64, u32, u64) = (5, 2, 5 * 60);

    /// Returns the limits that these sources set together; the narrowest comes first.
    pub fn of(narrowest_first: &[&RunLimits]) -> Self {
        fn first<T>(all: &[&RunLimits], of: impl Fn(&RunLimits) -> Option<T>) -> Option<T> {
            all.iter().find_map(|limits| of(limits))
        }
        let all = narrowest_first;
        let period = |of: fn(&RunLimits) -> Option<Period>, usual| {
            first(all, of).unwrap_or(Period::of_seconds(usual))
        };
        let (delay, factor, longest) = Self::RETRY;
        Self {
            timeout: period(|limits| limits.timeout, Self::TIMEOUT),
            idle: period(|limits| limits.idle, Self::IDLE),
            model: first(all, |limits| limits.model.clone()),
            attempts: first(all, |limits| limits.attempts).unwrap_or(Self::ATTEMPTS),
            resumes: first(all, |limits| limits.resume).unwrap_or(true),
            workspace: first(all, |limits| limits.workspace).unwrap_or(WorkFolder::Checkout),
            is_delay_given: first(all, |limits| limits.delay).is_some(),
            delay: first(all, |limits| limits.delay)
                .map_or(Duration::from_secs(delay), |pause| pause.0),
            factor: first(all, |limits| limits.factor).unwrap_or(factor),
            longest: period(|limits| limits.longest, longest),
        }
    }

    /// Returns the pause after that many failed attempts, before it is shortened at random.
    pub fn pause(&self, failed: u32) -> Duration {
        let factor = self.factor.saturating_pow(failed.saturating_sub(1));
        let longest = Duration::from_secs(self.longest.seconds()).max(self.delay);
        self.delay.saturating_mul(factor).min(longest)
    }
}

/// The limits that a gate or a branch sets for its agents' runs.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct GateRun {
    #[serde(flatten)]
    pub limits: RunLimits,
    /// The outcomes of exit statuses; if empty, exit statuses mean nothing.
    pub exit: Vec<(u8, Outcome)>,
    /// The exit statuses by which a program says that it is to be started again later.
    pub wait: Vec<u8>,
    /// The time from one start to the next.
    pub every: Option<Period>,
}

impl GateRun {
    /// The usual time from one start to the next.
    const EVERY: Period = Period::of_seconds(60);

    /// Returns how often a program looks whether the gate may be passed; `None` if an agent works there once.
    pub fn looks_every(&self) -> Option<Period> {
        (!self.wait.is_empty()).then(|| self.every.unwrap_or(Self::EVERY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_wins() {
        let period = |text: &str| Some(text.parse::<Period>().unwrap());
        let gate = RunLimits { timeout: period("1h"), ..RunLimits::default() };
        let agent = RunLimits {
            timeout: period("2h"),
            attempts: Some(4),
            model: Some("small".to_owned()),
            ..RunLimits::default()
        };
        let workflow = RunLimits { idle: period("1m"), attempts: Some(9), ..RunLimits::default() };
        let bounds = RunBounds::of(&[&gate, &agent, &workflow]);
        assert_eq!((bounds.timeout.seconds(), bounds.idle.seconds()), (3_600, 60));
        assert_eq!((bounds.attempts, bounds.model.as_deref()), (4, Some("small")));
    }

    #[test]
    fn pauses_grow_up_to_the_longest() {
        let pauses = |limits: RunLimits| {
            let bounds = RunBounds::of(&[&limits]);
            [1, 2, 3, 4, 100].map(|failed| bounds.pause(failed).as_millis())
        };
        assert_eq!(pauses(RunLimits::default()), [5_000, 10_000, 20_000, 40_000, 300_000]);
        let pause = |text: &str| Some(text.parse::<RetryDelay>().unwrap());
        let short = RunLimits { delay: pause("1500ms"), ..RunLimits::default() };
        assert_eq!(pauses(short)[..3], [1_500, 3_000, 6_000]);
        let fixed = RunLimits { factor: Some(1), delay: pause("10m"), ..RunLimits::default() };
        assert_eq!(pauses(fixed), [600_000; 5], "a delay that is longer than the longest counts");
    }
}
