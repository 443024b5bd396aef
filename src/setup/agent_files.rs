//! The files that inform coding agents about a project's tasks: returns their new text, given the current one. Text by others stays
//! unchanged; a file that cannot be merged is refused, with a snippet to add by hand.

pub(crate) mod claude_hooks;
mod toml_file;

use std::ops::Range;

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};

use self::claude_hooks::without_hooks;
use self::toml_file::{with_table, without_table};
use crate::domain::AgentId;

const BLOCK_BEGIN: &str = "<!-- AOF:BEGIN";
/// The mark that some editors put before UTF-8; the parsers take it for a fault.
const BYTE_ORDER_MARK: char = '\u{feff}';
const BLOCK_END: &str = "<!-- AOF:END -->";
/// The block in AGENTS.md, between two markers.
const BLOCK: &str = include_str!("agent_files/block.md");
/// The line of CLAUDE.md that imports AGENTS.md, which Claude Code does not read otherwise.
const IMPORT: &str = "@AGENTS.md";
/// The server's name in all configurations.
const NAME: &str = "aof";
/// The table of servers in Codex's configuration, and the table of its shells' variables.
const SERVERS: &[&str] = &["mcp_servers"];
const SHELL: &[&str] = &["shell_environment_policy", "set"];
/// The text that OpenCode adds to a configuration without it, which would then have uncommitted changes.
const OPEN_CODE_SCHEMA: &str = "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}\n";
/// The variable that names the agent who acts.
const WHO: &str = "AOF_AGENT";
/// The server's environment variables: the agent, the task and the run. Codex passes on only named variables.
const VARIABLES: [&str; 3] = [WHO, "AOF_TASK", "AOF_RUN"];

/// A file that a coding agent reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AgentFile {
    /// `AGENTS.md`, which most agents read.
    Instructions,
    /// `CLAUDE.md`, which Claude Code reads instead of `AGENTS.md`, and which imports it.
    ClaudeInstructions,
    /// `.mcp.json` of Claude Code.
    ClaudeCode,
    /// `.claude/settings.json`, which has the variables of Claude Code's shells.
    ClaudeSettings,
    /// `.codex/config.toml`
    Codex,
    /// `.gemini/settings.json`
    GeminiCli,
    /// `opencode.json`
    OpenCode,
    /// `.vscode/mcp.json`
    VsCode,
    /// `.cursor/mcp.json`
    Cursor,
}

/// The reason why a file cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnmergeableFile {
    /// The line, if the problem has one.
    pub line: Option<usize>,
    /// A description of the problem.
    pub problem: String,
    /// The fix.
    pub fix: String,
}

impl UnmergeableFile {
    pub(crate) fn new(
        line: Option<usize>,
        problem: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        Self { line, problem: problem.into(), fix: fix.into() }
    }
}

impl AgentFile {
    /// All files, in the order in which they are shown.
    pub(crate) const ALL: [Self; 9] = [
        Self::Instructions,
        Self::ClaudeInstructions,
        Self::ClaudeCode,
        Self::ClaudeSettings,
        Self::Codex,
        Self::GeminiCli,
        Self::OpenCode,
        Self::VsCode,
        Self::Cursor,
    ];

    /// Returns the possible paths of the file: the existing one is used, otherwise the first.
    pub(crate) fn places(self) -> &'static [&'static str] {
        match self {
            Self::Instructions => &["AGENTS.md"],
            Self::ClaudeInstructions => &["CLAUDE.md"],
            Self::ClaudeCode => &[".mcp.json"],
            Self::ClaudeSettings => &[".claude/settings.json"],
            Self::Codex => &[".codex/config.toml"],
            Self::GeminiCli => &[".gemini/settings.json"],
            Self::OpenCode => &["opencode.json", "opencode.jsonc"],
            Self::VsCode => &[".vscode/mcp.json"],
            Self::Cursor => &[".cursor/mcp.json"],
        }
    }

    /// Returns the reader of the file, in the words of people.
    pub(crate) fn reader(self) -> &'static str {
        match self {
            Self::Instructions | Self::ClaudeInstructions => "all of them: how to work on tasks",
            Self::ClaudeCode | Self::ClaudeSettings => "Claude Code",
            Self::Codex => "Codex, once it trusts the project",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::VsCode => "VS Code",
            Self::Cursor => "Cursor",
        }
    }

    /// Returns the client that starts the server as the file says; `None` for other files.
    pub(crate) fn client(self) -> Option<&'static str> {
        let is_server =
            ![Self::Instructions, Self::ClaudeInstructions, Self::ClaudeSettings].contains(&self);
        self.reader().split(',').next().filter(|_| is_server)
    }

    /// Returns the new text of the file, given the current one: the same if nothing is missing. `agent` acts if the client's
    /// environment does not name an agent. Fails if the file cannot be merged.
    pub(crate) fn merged(
        self,
        current: Option<&str>,
        agent: Option<&AgentId>,
    ) -> Result<String, UnmergeableFile> {
        let current = current.unwrap_or_default();
        if let Some(rest) = current.strip_prefix(BYTE_ORDER_MARK) {
            return Ok(format!("{BYTE_ORDER_MARK}{}", self.merged(Some(rest), agent)?));
        }
        match self {
            Self::Instructions => with_block(current),
            Self::ClaudeInstructions => Ok(with_import(current)),
            Self::ClaudeSettings => match agent {
                Some(agent) => with_member(current, &["env"], WHO, &json!(agent)),
                None => Ok(current.to_owned()),
            },
            Self::Codex => {
                let served = with_table(current, SERVERS, NAME, &self.server(agent))?;
                agent.map_or(Ok(served.clone()), |agent| {
                    with_table(&served, SHELL, WHO, &json!(agent))
                })
            }
            Self::OpenCode if current.trim().is_empty() => {
                self.merged(Some(OPEN_CODE_SCHEMA), agent)
            }
            _ => with_member(current, self.path(current), NAME, &self.server(agent)),
        }
    }

    /// Returns the agent that the settings of Claude Code name for its shells.
    pub(crate) fn agent_of_shells(settings: &str) -> Option<AgentId> {
        json_value(settings)?.pointer(&pointer(&["env"], WHO))?.as_str()?.parse().ok()
    }

    /// Returns the text of the file with another agent in place of the one that it names.
    pub(crate) fn renamed(self, text: &str, before: &AgentId, agent: &AgentId) -> String {
        if matches!(self, Self::Instructions | Self::ClaudeInstructions) {
            return text.to_owned();
        }
        let text = text.replace(&format!("\"{before}\""), &format!("\"{agent}\""));
        text.replace(&format!("${{{WHO}:-{before}}}"), &format!("${{{WHO}:-{agent}}}"))
    }

    /// Returns the text of the file without our part; empty if it has nothing else. Fails if our part cannot be removed.
    pub(crate) fn without(self, current: &str) -> Result<String, UnmergeableFile> {
        if let Some(rest) = current.strip_prefix(BYTE_ORDER_MARK) {
            let rest = self.without(rest)?;
            return Ok(if rest.is_empty() { rest } else { format!("{BYTE_ORDER_MARK}{rest}") });
        }
        match self {
            Self::Instructions => without_block(current),
            Self::ClaudeInstructions => Ok(without_import(current)),
            Self::Codex => without_table(&without_table(current, SERVERS, NAME)?, SHELL, WHO),
            Self::ClaudeSettings => without_member(&without_hooks(current)?, &["env"], WHO),
            _ => {
                let rest = without_member(current, self.path(current), NAME)?;
                let is_ours = self == Self::OpenCode && rest.trim() == OPEN_CODE_SCHEMA.trim();
                Ok(if is_ours && rest != current { String::new() } else { rest })
            }
        }
    }

    /// Returns the text to add to the file by hand if it cannot be merged.
    pub(crate) fn snippet(self, agent: Option<&AgentId>) -> String {
        self.merged(None, agent).unwrap_or_default()
    }

    /// Returns the path of the servers in a JSON file.
    fn path(self, current: &str) -> &'static [&'static str] {
        match self {
            Self::OpenCode => open_code_path(current),
            Self::VsCode => &["servers"],
            _ => &["mcpServers"],
        }
    }

    /// Returns the entry that starts the server. Two clients can fill in a default agent; for the others the server does.
    fn server(self, agent: Option<&AgentId>) -> Value {
        let words = ["mcp"].into_iter();
        let words = words.chain(agent.iter().flat_map(|agent| ["--default-agent", agent.as_str()]));
        let with = |first: &[&'static str]| [first, &words.clone().collect::<Vec<_>>()].concat();
        match self {
            Self::OpenCode => json!({"type": "local", "command": with(&["aof"]), "enabled": true}),
            Self::VsCode => json!({"type": "stdio", "command": "aof", "args": with(&[])}),
            // The folder in which Cursor starts the server is unknown.
            Self::Cursor => {
                let args = with(&["-C", "${workspaceFolder}"]);
                json!({"type": "stdio", "command": "aof", "args": args})
            }
            Self::Codex => json!({"command": "aof", "args": with(&[]), "env_vars": VARIABLES}),
            _ => {
                let mut server = json!({"command": "aof", "args": ["mcp"]});
                if let Some(agent) = agent {
                    server["env"] = json!({"AOF_AGENT": format!("${{AOF_AGENT:-{agent}}}")});
                }
                server
            }
        }
    }
}

/// Returns the path of the servers: below `mcp`, or, in files of OpenCode's second version, below `mcp.servers` if it is present.
fn open_code_path(current: &str) -> &'static [&'static str] {
    let servers = json_value(current).and_then(|value| value.pointer("/mcp/servers").cloned());
    match servers {
        Some(Value::Object(servers)) if !servers.contains_key("type") => &["mcp", "servers"],
        _ => &["mcp"],
    }
}

/// Returns true if an entry starts the MCP server, perhaps in a named folder; later arguments do not matter.
fn starts_server(entry: &Value) -> bool {
    let texts = |key| match entry.get(key) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).collect(),
        Some(Value::String(text)) => vec![text.as_str()],
        _ => Vec::new(),
    };
    let line: Vec<&str> = [texts("command"), texts("args")].concat();
    let program = line.first().and_then(|path| path.rsplit('/').next());
    let rest = line.get(1..).unwrap_or_default();
    program == Some("aof") && matches!(rest, ["mcp", ..] | ["-C", _, "mcp", ..])
}

/// Returns true if the entry of that name stays unchanged: it starts the server, or is a variable that names an agent.
fn is_set(name: &str, entry: &Value) -> bool {
    if name == NAME { starts_server(entry) } else { entry.is_string() }
}

/// Returns the JSON pointer to an entry.
fn pointer(path: &[&str], name: &str) -> String {
    format!("/{}/{name}", path.join("/"))
}

/// Returns the file's content with the entry at that path. In an entry that starts something else, only the members that define its
/// start change.
fn expected_value(mut file: Value, path: &[&str], name: &str, entry: &Value) -> Option<Value> {
    let mut place = &mut file;
    for part in path {
        place = place.as_object_mut()?.entry(*part).or_insert_with(|| json!({}));
    }
    let place = place.as_object_mut()?;
    match place.get_mut(name) {
        Some(Value::Object(old)) => {
            old.extend(start_members(entry).map(|(key, value)| (key.clone(), value.clone())));
        }
        _ => drop(place.insert(name.to_owned(), entry.clone())),
    }
    Some(file)
}

/// Returns the members that define the start of the server. An entry's own environment stays.
fn start_members(server: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = server.as_object().into_iter().flatten();
    all.filter(|(key, _)| !matches!(key.as_str(), "enabled" | "env"))
}

/// Returns the line break of a text: that of its first line.
fn line_break(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Returns the text with the current block: in its old place, or at the end if there is none yet.
fn with_block(text: &str) -> Result<String, UnmergeableFile> {
    let newline = line_break(text);
    let block = BLOCK.replace('\n', newline);
    if let Some(current) = block_in(text)? {
        let ends = text[current.clone()].ends_with('\n');
        let block = if ends { block.as_str() } else { block.trim_end() };
        return Ok(format!("{}{block}{}", &text[..current.start], &text[current.end..]));
    }
    if text.is_empty() {
        return Ok(block);
    }
    let separator = if text.ends_with('\n') { newline.to_owned() } else { newline.repeat(2) };
    Ok(format!("{text}{separator}{block}"))
}

/// Returns the range of the block, with its markers and the last line break. Fails if its markers do not match.
fn block_in(text: &str) -> Result<Option<Range<usize>>, UnmergeableFile> {
    let mut markers: Vec<(usize, bool, Range<usize>)> = Vec::new();
    let mut at = 0;
    for (line, number) in text.split_inclusive('\n').zip(1..) {
        let marker = line.trim();
        let begins = marker.starts_with(BLOCK_BEGIN);
        if begins || marker == BLOCK_END {
            markers.push((number, begins, at..at + line.len()));
        }
        at += line.len();
    }
    match markers.as_slice() {
        [] => Ok(None),
        [(_, true, begin), (_, false, end)] => Ok(Some(begin.start..end.end)),
        [(number, true, _)] => Err(UnmergeableFile::new(
            Some(*number),
            format!("the block that begins on line {number} never ends"),
            format!("put `{BLOCK_END}` on a line after it, or remove line {number}"),
        )),
        [(number, false, _), ..] => Err(UnmergeableFile::new(
            Some(*number),
            format!("`{BLOCK_END}` on line {number} ends a block that never began"),
            format!("remove line {number}, or put `{BLOCK_BEGIN} -->` above what is ours"),
        )),
        [(first, ..), (number, true, _), ..] | [(first, ..), _, (number, ..), ..] => {
            Err(doubled(*number, *first))
        }
    }
}

fn doubled(number: usize, first: usize) -> UnmergeableFile {
    UnmergeableFile::new(
        Some(number),
        format!("line {number} is a second marker of the block that begins on line {first}"),
        "leave one block, from its `AOF:BEGIN` to its `AOF:END`, and remove the other marker lines",
    )
}

/// Returns the text with the import line, added at its end if it is missing.
fn with_import(text: &str) -> String {
    if imports(text) {
        return text.to_owned();
    }
    let newline = line_break(text);
    let separator = match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    format!("{text}{separator}{IMPORT}{newline}")
}

/// Returns true if the text imports AGENTS.md: anywhere in a line, but not in code.
fn imports(text: &str) -> bool {
    let mut in_code = false;
    text.lines().any(|line| {
        let fence = line.trim_start();
        if fence.starts_with("```") || fence.starts_with("~~~") {
            in_code = !in_code;
        }
        !in_code && line.split_whitespace().any(|word| word == IMPORT || word == "@./AGENTS.md")
    })
}

/// Returns the text without the block, and without the empty line before it.
fn without_block(text: &str) -> Result<String, UnmergeableFile> {
    let Some(block) = block_in(text)? else { return Ok(text.to_owned()) };
    let (before, after) = (&text[..block.start], &text[block.end..]);
    let newline = line_break(text);
    let before = before.strip_suffix(newline).filter(|rest| rest.ends_with('\n')).unwrap_or(before);
    Ok(format!("{before}{after}"))
}

/// Returns the text without the import line, and without the empty line before it.
fn without_import(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some(at) = lines.iter().rposition(|line| line.trim() == IMPORT) else {
        return text.to_owned();
    };
    let gap = usize::from(at > 0 && lines[at - 1].trim().is_empty());
    [&lines[..at - gap], &lines[at + 1..]].concat().concat()
}

/// Returns the JSON text without our entry, and without objects that this leaves empty.
fn without_member(text: &str, path: &[&str], name: &str) -> Result<String, UnmergeableFile> {
    let is_ours =
        |value: Value| value.pointer(&pointer(path, name)).is_some_and(|found| is_set(name, found));
    if !json_value(text).is_some_and(is_ours) {
        return Ok(text.to_owned());
    }
    let root = CstRootNode::parse(text, &json_options()).map_err(|_| unsafe_change())?;
    let mut objects = vec![root.object_value().ok_or_else(unsafe_change)?];
    for name in path {
        let inner = objects.last().and_then(|object| object.object_value(name));
        objects.push(inner.ok_or_else(unsafe_change)?);
    }
    let names: Vec<&str> = path.iter().copied().chain([name]).collect();
    for (object, name) in objects.iter().zip(&names).rev() {
        if let Some(member) = object.get(name) {
            member.remove();
        }
        if !object.properties().is_empty() {
            return Ok(root.to_string());
        }
    }
    Ok(String::new())
}

/// Parses JSON with comments and trailing commas. Fails with the place of the fault.
fn parsed(text: &str) -> Result<CstRootNode, UnmergeableFile> {
    CstRootNode::parse(text, &json_options()).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        let problem = format!("line {line}, column {column} is not JSON: {}", error.kind());
        UnmergeableFile::new(Some(line), problem, "fix it, then run this again")
    })
}

/// Parses JSON with comments and trailing commas; returns `None` if it is invalid.
fn json_value(text: &str) -> Option<Value> {
    CstRootNode::parse(text, &json_options()).ok()?.to_serde_value()
}

/// Returns the text with the entry at that path, and keeps comments and layout of everything else. The result is parsed again and
/// compared. An entry that is already set stays unchanged.
fn with_member(
    text: &str,
    path: &[&str],
    name: &str,
    entry: &Value,
) -> Result<String, UnmergeableFile> {
    if text.trim().is_empty() {
        let whole = expected_value(json!({}), path, name, entry).unwrap_or_default();
        return Ok(format!("{whole:#}\n"));
    }
    let root = parsed(text)?;
    let not_object = |what: &str| {
        let problem = format!("{what} is not an object");
        UnmergeableFile::new(None, problem, "make it one, then run this again")
    };
    let before = root.to_serde_value().ok_or_else(|| not_object("the file"))?;
    let mut object = root.object_value().ok_or_else(|| not_object("the file"))?;
    for part in path {
        object = match object.get(part) {
            Some(member) => {
                member.object_value().ok_or_else(|| not_object(&format!("`{part}`")))?
            }
            None => object.append(part, CstInputValue::Object(Vec::new())).object_value_or_set(),
        };
    }
    if before.pointer(&pointer(path, name)).is_some_and(|found| is_set(name, found)) {
        return Ok(text.to_owned());
    }
    match object.object_value(name) {
        Some(path) if entry.is_object() => {
            start_members(entry).for_each(|(key, value)| set_json(&path, key, value));
        }
        _ => set_json(&object, name, entry),
    }
    let merged = root.to_string();
    let expected_value = expected_value(before, path, name, entry);
    if expected_value.is_none() || json_value(&merged) != expected_value {
        let fix = "a key may be there twice: leave one of them";
        return Err(UnmergeableFile::new(None, "it cannot be changed safely", fix));
    }
    Ok(merged)
}

/// Returns the options for the extensions of JSON that people use in such files.
fn json_options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn set_json(object: &CstObject, key: &str, value: &Value) {
    match object.get(key) {
        Some(member) => member.set_value(json_input(value)),
        None => drop(object.append(key, json_input(value))),
    }
}

fn json_input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(json_input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), json_input(value))).collect(),
        ),
    }
}

fn unsafe_change() -> UnmergeableFile {
    UnmergeableFile::new(
        None,
        "it cannot be changed without touching the rest of it",
        "write it by hand",
    )
}

#[cfg(test)]
mod tests;
