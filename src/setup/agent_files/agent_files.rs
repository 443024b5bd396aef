//! The files by which coding agents find a project's tasks: what they should say, given what they say now. What others wrote in
//! them stays as it is; what cannot be merged is refused, with what to write by hand.

use super::block;
use super::import_line;
use super::json_member;
use super::toml_table;
use serde_json::{Value, json};

/// A file that a coding agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentFile {
    /// `AGENTS.md`, which most of them read.
    Instructions,
    /// `CLAUDE.md`, which Claude Code reads in its place, and which imports it.
    ClaudeInstructions,
    /// `.mcp.json` of Claude Code.
    ClaudeCode,
    /// `.codex/config.toml`
    Codex,
    /// `.gemini/settings.json`
    GeminiCli,
    /// `opencode.json`
    OpenCode,
}

/// Why a file was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unmergeable {
    /// The line, if it is one.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: String,
    /// What to do about it.
    pub fix: String,
}

impl Unmergeable {
    pub(crate) fn new(
        line: Option<usize>,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { line, problem: problem.into(), fix: fix.into() }
    }
}

impl AgentFile {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 6] = [
        Self::Instructions,
        Self::ClaudeInstructions,
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::OpenCode,
    ];

    /// Returns where the file is. Where there are several places, the one that is there counts, and the first if none is.
    pub(crate) fn places(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &["AGENTS.md"],
            Self::ClaudeInstructions => &["CLAUDE.md"],
            Self::ClaudeCode => &[".mcp.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::GeminiCli => &[".gemini/settings.json"],
            Self::OpenCode => &["opencode.json", "opencode.jsonc"],
        }
    }

    /// Returns what the file is, for people.
    pub(crate) fn what(self) -> &'static str {
        match self {
            Self::Instructions => "how to work on tasks, for every coding agent",
            Self::ClaudeInstructions => "has Claude Code read AGENTS.md",
            Self::ClaudeCode => "the MCP server, for Claude Code",
            Self::Codex => "the MCP server, for Codex, in a project that it trusts",
            Self::GeminiCli => "the MCP server, for Gemini CLI",
            Self::OpenCode => "the MCP server, for OpenCode",
        }
    }

    /// Returns what the file should say, given what it says now: the same text if nothing is missing.
    pub(crate) fn merged(self, standing: Option<&str>) -> Result<String, Unmergeable> {
        let standing = standing.unwrap_or_default();
        match self {
            Self::Instructions => block::merged(standing),
            Self::ClaudeInstructions => Ok(import_line::merged(standing)),
            Self::Codex => toml_table::merged(standing),
            Self::ClaudeCode | Self::GeminiCli => {
                json_member::merged(standing, &["mcpServers"], &server())
            }
            Self::OpenCode => {
                json_member::merged(standing, open_code_path(standing), &open_code_server())
            }
        }
    }

    /// Returns what to write into the file by hand, where it cannot be merged.
    pub(crate) fn snippet(self) -> String {
        self.merged(None).unwrap_or_default()
    }
}

/// How the MCP server is started, as Claude Code and Gemini CLI write it.
fn server() -> Value {
    json!({"command": "aof", "args": ["mcp"]})
}

fn open_code_server() -> Value {
    json!({"type": "local", "command": ["aof", "mcp"], "enabled": true})
}

/// OpenCode reads the servers below `mcp`; files of its second version may have them below `mcp.servers`, and then all are there.
fn open_code_path(standing: &str) -> &'static [&'static str] {
    let servers =
        json_member::value(standing).and_then(|value| value.pointer("/mcp/servers").cloned());
    match servers {
        Some(Value::Object(servers)) if !servers.contains_key("type") => &["mcp", "servers"],
        _ => &["mcp"],
    }
}

/// Tells whether a command line starts the MCP server; what a person added behind it is theirs.
pub(crate) fn starts_server<'w>(mut words: impl Iterator<Item = &'w str>) -> bool {
    let program = words.next().and_then(|path| path.rsplit('/').next());
    program == Some("aof") && words.next() == Some("mcp")
}

/// Returns the line break of a text: that of its first line.
pub(crate) fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests;
