//! Builds the command of an agent from its `run` in org.yaml: program, arguments, environment, and the configuration of our MCP server.
//! Starts nothing.
//!
//! Placeholders are replaced once: a value is never searched for placeholders, and no shell reads it.

use std::env;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::domain::{AgentId, Launch, Placeholder, Preset, Station, Ticket, WorkflowName};
use crate::project::task_worktrees::WorkspaceFacts;
use crate::system::process::{Program, Secrets, is_secret_name};

/// The facts of one attempt, for placeholders and variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchFacts {
    pub ticket: Ticket,
    pub station: Station,
    pub workflow: WorkflowName,
    pub agent: AgentId,
    /// The agent's email, for git.
    pub email: String,
    /// The key of git's user, if git signs by the committer's name.
    pub signing_key: Option<String>,
    /// The folder of the project.
    pub project: PathBuf,
    /// The worktree in which it works, unless that is the folder where people work.
    pub workspace: Option<WorkspaceFacts>,
    /// The path of aof's own program.
    pub aof: PathBuf,
    /// The number of the attempt, from 1.
    pub attempt: u32,
    /// The name of the run, for the completion's metadata.
    pub run: String,
    pub model: Option<String>,
    /// The session to continue.
    pub resume: Option<String>,
    pub prompt: String,
    pub prompt_file: PathBuf,
    /// The file that the agent may write its completion to.
    pub output_file: PathBuf,
    /// The file that configures aof's server for MCP clients.
    pub mcp_config: PathBuf,
}

/// A program with its arguments, input and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LaunchCommand {
    /// The program and its arguments.
    pub words: Vec<String>,
    pub stdin: String,
    /// The variables that are added.
    pub environment: Vec<(String, String)>,
}

impl LaunchCommand {
    /// Returns the words for people, with `{prompt}` in place of the prompt.
    pub(crate) fn shown_words(&self, prompt: &str) -> Vec<String> {
        let shown = |word: &String| if word == prompt { "{prompt}" } else { word }.to_owned();
        self.words.iter().map(shown).collect()
    }

    /// Returns the program in that directory; `None` if the command is empty.
    pub(crate) fn program(self, directory: &Path) -> Option<Program> {
        let mut program = Program::new(self.words, directory)?;
        program.environment =
            self.environment.into_iter().map(|(name, value)| (name, value.into())).collect();
        program.input = self.stdin.into_bytes();
        Some(program)
    }
}

/// Returns the program, its arguments and its environment.
pub(crate) fn command(launch: &Launch, facts: &LaunchFacts) -> LaunchCommand {
    let template = template(launch, facts.model.is_some(), facts.resume.as_deref());
    let on_stdin =
        !mentions(&template, Placeholder::Prompt) && !mentions(&template, Placeholder::PromptFile);
    LaunchCommand {
        words: template.iter().map(|word| filled(word, facts)).collect(),
        stdin: if on_stdin { facts.prompt.clone() } else { String::new() },
        environment: environment(launch, facts),
    }
}

fn mentions(words: &[String], name: Placeholder) -> bool {
    words.iter().any(|word| Placeholder::names(word).any(|used| used == name.as_str()))
}

/// Returns the command with its placeholders.
fn template(launch: &Launch, with_model: bool, resume: Option<&str>) -> Vec<String> {
    if !launch.command.is_empty() {
        return launch.command.clone();
    }
    // All presets print event streams: a program that is silent until its end would look as if it hung.
    let (before, after) = match launch.preset {
        Preset::Claude => (
            "claude -p --output-format stream-json --verbose --permission-mode acceptEdits",
            &[
                "--mcp-config",
                "{mcpConfig}",
                "--strict-mcp-config",
                // The project's own settings may name another agent for shells, and have precedence over the environment.
                "--settings",
                "{\"env\": {\"AOF_AGENT\": \"{agent}\"}}",
                "--allowedTools",
                "mcp__aof",
            ][..],
        ),
        Preset::Codex => (
            "codex exec --json --sandbox workspace-write --skip-git-repo-check",
            &[
                "-c",
                "mcp_servers.aof.command=\"{aof}\"",
                "-c",
                "mcp_servers.aof.args=[\"-C\", \"{project}\", \"mcp\", \"--agent\", \"{agent}\"]",
                "-c",
                "mcp_servers.aof.env_vars={variables}",
                "-c",
                "shell_environment_policy.set.AOF_AGENT=\"{agent}\"",
            ][..],
        ),
        // The empty word is the prompt, which is passed on stdin.
        Preset::Gemini => ("gemini -p \"\" -o stream-json --approval-mode auto_edit", &[][..]),
        Preset::Opencode => ("opencode run --format json", &[][..]),
        Preset::Command => ("", &[][..]),
    };
    let model: &[&str] =
        if with_model && launch.preset != Preset::Command { &["--model", "{model}"] } else { &[] };
    // Codex reads the prompt from stdin if it is `-`.
    let last: &[&str] = match (launch.preset, &resume) {
        (Preset::Claude, Some(session)) => &["--resume", session],
        (Preset::Codex, Some(session)) => &["resume", session, "-"],
        (Preset::Codex, None) => &["-"],
        _ => &[],
    };
    let before = before.split_whitespace().map(|word| word.trim_matches('"'));
    // Codex gives its servers only the named variables; our server masks the secrets.
    let named = ["AOF_TASK", "AOF_RUN"].into_iter();
    let named: Vec<&str> = named.chain(launch.secrets.iter().map(String::as_str)).collect();
    let word = |word: &str| word.replace("{variables}", &format!("{named:?}"));
    let words = before.chain(model.iter().copied()).chain(after.iter().copied());
    words.chain(last.iter().copied()).map(word).collect()
}

/// Replaces the placeholders in a word; other braces are kept.
fn filled(word: &str, facts: &LaunchFacts) -> String {
    let mut text = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let known =
            after.split_once('}').and_then(|(name, after)| Some((name.parse().ok()?, after)));
        if let Some((name, after)) = known {
            text.push_str(&value(name, facts));
            rest = after;
        } else {
            text.push('{');
            rest = after;
        }
    }
    text + rest
}

fn value(name: Placeholder, facts: &LaunchFacts) -> String {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    match name {
        Placeholder::Task => facts.ticket.task.to_string(),
        Placeholder::Ticket => facts.ticket.to_string(),
        Placeholder::Gate => facts.station.to_string(),
        Placeholder::Workflow => facts.workflow.to_string(),
        Placeholder::Agent => facts.agent.to_string(),
        Placeholder::Project => path(&facts.project),
        Placeholder::Attempt => facts.attempt.to_string(),
        Placeholder::Model => facts.model.clone().unwrap_or_default(),
        Placeholder::Prompt => facts.prompt.clone(),
        Placeholder::PromptFile => path(&facts.prompt_file),
        Placeholder::OutputFile => path(&facts.output_file),
        Placeholder::McpConfig => path(&facts.mcp_config),
        Placeholder::Aof => path(&facts.aof),
    }
}

/// Returns the variables of org.yaml, followed by aof's own, which take precedence.
fn environment(launch: &Launch, facts: &LaunchFacts) -> Vec<(String, String)> {
    let value = |name| value(name, facts);
    let run_facts = [
        ("AOF_TASK", value(Placeholder::Ticket)),
        ("AOF_AGENT", value(Placeholder::Agent)),
        ("AOF_GATE", value(Placeholder::Gate)),
        ("AOF_WORKFLOW", value(Placeholder::Workflow)),
        ("AOF_PROJECT", value(Placeholder::Project)),
        ("AOF_ATTEMPT", value(Placeholder::Attempt)),
        ("AOF_RUN", facts.run.clone()),
        ("AOF_PROMPT", value(Placeholder::PromptFile)),
        ("AOF_OUTPUT", value(Placeholder::OutputFile)),
        ("AOF_MCP_CONFIG", value(Placeholder::McpConfig)),
        ("GIT_AUTHOR_NAME", value(Placeholder::Agent)),
        ("GIT_AUTHOR_EMAIL", facts.email.clone()),
        ("GIT_COMMITTER_NAME", value(Placeholder::Agent)),
        ("GIT_COMMITTER_EMAIL", facts.email.clone()),
    ];
    let mut all = launch.env.clone();
    // In an untrusted folder, Gemini CLI edits nothing and starts no server; its flag for that takes effect too late for servers.
    if launch.preset == Preset::Gemini && launch.command.is_empty() {
        all.insert(0, ("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "true".to_owned()));
    }
    all.extend(run_facts.map(|(name, value)| (name.to_owned(), value)));
    all.extend(facts.workspace.iter().flat_map(WorkspaceFacts::variables));
    if let Some(key) = &facts.signing_key {
        let set = all.iter().rev().find(|(name, _)| name == COUNT).map(|(_, count)| count.clone());
        let set = set.or_else(|| env::var(COUNT).ok());
        // Git itself reports a count that is not a number.
        let count = set.map_or(Ok(0), |count| count.trim().parse::<usize>()).unwrap_or(0);
        all.push((format!("GIT_CONFIG_KEY_{count}"), "user.signingKey".to_owned()));
        all.push((format!("GIT_CONFIG_VALUE_{count}"), key.clone()));
        all.push((COUNT.to_owned(), (count + 1).to_string()));
    }
    all
}

/// The number of git's settings in the environment.
const COUNT: &str = "GIT_CONFIG_COUNT";

/// Returns true if the agent is given our MCP server.
pub(crate) fn has_mcp(launch: &Launch) -> bool {
    mentions(&launch.command, Placeholder::McpConfig)
        || launch.command.is_empty() && matches!(launch.preset, Preset::Claude | Preset::Codex)
}

/// Returns the configuration of our server for MCP clients, for this agent.
pub(crate) fn mcp_config(facts: &LaunchFacts) -> String {
    let server = json!({
        "command": facts.aof.to_string_lossy(),
        "args": ["-C", facts.project.to_string_lossy(), "mcp"],
        "env": {
            "AOF_AGENT": facts.agent.as_str(),
            "AOF_TASK": facts.ticket.to_string(),
            "AOF_RUN": facts.run,
        },
        // Claude Code hides the tools of other servers until the model searches for them, and the prompt names one of these.
        "alwaysLoad": true,
    });
    format!("{:#}\n", json!({"mcpServers": {"aof": server}}))
}

/// Returns the values to mask. Fails if one that the agent needs is not set.
pub(crate) fn secrets(launch: &Launch, agent: &AgentId) -> Result<Secrets, String> {
    if let Some(name) = missing(launch).next() {
        return Err(format!(
            "`{agent}` needs `{name}`, and the environment has no such variable; set it where `aof` is started"
        ));
    }
    Ok(Secrets::of_environment(&launch.env, |name| {
        is_secret_name(name) || launch.secrets.iter().any(|secret| secret == name)
    }))
}

/// Returns the unset variables that the agent needs.
pub(crate) fn missing(launch: &Launch) -> impl Iterator<Item = &String> {
    launch.secrets.iter().filter(|name| env::var(name).unwrap_or_default().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::runner::answer::{AnswerSource, RunAnswer};
    use crate::domain::{CompletionContent, Reads, RunLimits};

    fn facts() -> LaunchFacts {
        LaunchFacts {
            ticket: "AOF-abc@3/security".parse().unwrap(),
            station: "review/security".parse().unwrap(),
            workflow: "feature".parse().unwrap(),
            agent: "coder".parse().unwrap(),
            email: "coder@aof.invalid".to_owned(),
            signing_key: None,
            project: "/p".into(),
            workspace: None,
            aof: "/bin/aof".into(),
            attempt: 2,
            run: "r1".to_owned(),
            model: None,
            resume: None,
            prompt: "Do {task}; $(rm -rf /) {prompt}".to_owned(),
            prompt_file: "/p/prompt.md".into(),
            output_file: "/p/output".into(),
            mcp_config: "/p/mcp.json".into(),
        }
    }

    fn launch(preset: Preset, command: &[&str]) -> Launch {
        Launch {
            preset,
            command: command.iter().map(|word| (*word).to_owned()).collect(),
            reads: None,
            env: vec![("CI".to_owned(), "1".to_owned())],
            secrets: Vec::new(),
            parallel: None,
            limits: RunLimits::default(),
        }
    }

    #[test]
    fn values_are_filled_in_once_and_stay_one_argument() {
        let words = [
            "agent",
            "--at={ticket}",
            "{\"a\": {task}, {tiket}}",
            "{prompt}",
            "{",
            "{}",
            "{gate}{attempt}{model}",
        ];
        let command = command(&launch(Preset::Command, &words), &facts());
        assert_eq!(
            command.words,
            [
                "agent",
                "--at=AOF-abc@3/security",
                "{\"a\": AOF-abc, {tiket}}",
                "Do {task}; $(rm -rf /) {prompt}",
                "{",
                "{}",
                "review/security2"
            ]
        );
        assert_eq!(command.stdin, "", "the prompt is given once");
    }

    #[test]
    fn the_prompt_comes_on_stdin_unless_the_command_names_it() {
        for (preset, words, on_stdin) in [
            (Preset::Claude, &[][..], true),
            (Preset::Codex, &[], true),
            (Preset::Gemini, &[], true),
            (Preset::Opencode, &[], true),
            (Preset::Claude, &["claude", "-p", "{prompt}"], false),
            (Preset::Command, &["a", "--file={promptFile}"], false),
            (Preset::Command, &["a"], true),
        ] {
            let command = command(&launch(preset, words), &facts());
            assert_eq!(!command.stdin.is_empty(), on_stdin, "{preset} {words:?}");
            assert_eq!(
                command.words.iter().any(|word| word.contains("rm -rf")),
                words.contains(&"{prompt}")
            );
        }
    }

    #[test]
    fn a_model_is_passed_to_the_presets_that_have_one() {
        let with = LaunchFacts { model: Some("small".to_owned()), ..facts() };
        for preset in [Preset::Claude, Preset::Codex, Preset::Gemini, Preset::Opencode] {
            let words = |facts: &LaunchFacts| command(&launch(preset, &[]), facts).words;
            assert!(words(&with).windows(2).any(|pair| pair == ["--model", "small"]), "{preset}");
            assert!(!words(&facts()).contains(&"--model".to_owned()), "{preset}");
        }
        assert_eq!(launch(Preset::Command, &["a"]).reads(), Reads::Text);
    }

    #[test]
    fn shells_act_as_the_agent_despite_project_settings() {
        let words = command(&launch(Preset::Claude, &[]), &facts()).words;
        let settings = words.windows(2).find(|pair| pair[0] == "--settings").unwrap();
        let settings: serde_json::Value = serde_json::from_str(&settings[1]).unwrap();
        assert_eq!(settings, json!({"env": {"AOF_AGENT": "coder"}}));
    }

    #[test]
    fn codex_hands_on_to_aofs_server_which_run_it_is() {
        let command = command(&launch(Preset::Codex, &[]), &facts());
        let settings: Vec<&str> = command
            .words
            .windows(2)
            .filter(|pair| pair[0] == "-c")
            .map(|pair| pair[1].as_str())
            .collect();
        assert_eq!(
            settings,
            [
                r#"mcp_servers.aof.command="/bin/aof""#,
                r#"mcp_servers.aof.args=["-C", "/p", "mcp", "--agent", "coder"]"#,
                r#"mcp_servers.aof.env_vars=["AOF_TASK", "AOF_RUN"]"#,
                r#"shell_environment_policy.set.AOF_AGENT="coder""#
            ]
        );
        for name in ["AOF_TASK", "AOF_RUN"] {
            assert!(command.environment.iter().any(|(known, _)| known == name), "{name}");
        }
    }

    #[test]
    fn gemini_trusts_the_project_unless_somebody_says_otherwise() {
        let trust = |launch: &Launch| {
            let environment = command(launch, &facts()).environment;
            environment
                .into_iter()
                .rev()
                .find(|(name, _)| name == "GEMINI_CLI_TRUST_WORKSPACE")
                .map(|(_, value)| value)
        };
        assert_eq!(trust(&launch(Preset::Gemini, &[])).as_deref(), Some("true"));
        assert_eq!(trust(&launch(Preset::Gemini, &["gemini"])), None);
        assert_eq!(trust(&launch(Preset::Claude, &[])), None);
        let mut doubtful = launch(Preset::Gemini, &[]);
        doubtful.env.push(("GEMINI_CLI_TRUST_WORKSPACE".to_owned(), "false".to_owned()));
        assert_eq!(trust(&doubtful).as_deref(), Some("false"));
    }

    #[test]
    fn aofs_own_variables_cannot_be_overridden() {
        let mut launch = launch(Preset::Command, &["a"]);
        launch.env.push(("AOF_AGENT".to_owned(), "other".to_owned()));
        let environment = command(&launch, &facts()).environment;
        let last = environment
            .iter()
            .rev()
            .find(|(name, _)| name == "AOF_AGENT")
            .map(|(_, value)| value.as_str());
        assert_eq!(last, Some("coder"));
    }

    #[test]
    fn a_secret_that_json_spells_otherwise_is_seen_when_it_is_read() {
        let secret = "a\"b\\c-and-more";
        let secrets = Secrets::new([("DB_PASSWORD", secret)]);
        let map = json!({"k": [{secret: secret}, 1]}).as_object().cloned().unwrap();
        let content = CompletionContent {
            summary: Some(format!("it is {secret}")),
            blockers: Some(vec![secret.to_owned()]),
            rejection_notes: Some(secret.to_owned()),
            outputs: map.clone(),
            metadata: map,
            body: Some(format!("{secret}\n")),
            ..CompletionContent::default()
        };
        let answer = RunAnswer { source: AnswerSource::Structured, outcome: None, content };
        let masked = answer.masked(&secrets);
        let all = format!("{masked:?}");
        assert!(!all.contains("and-more"), "{all}");
        assert_eq!(masked.content.summary.as_deref(), Some("it is [secret DB_PASSWORD]"));
    }
}
