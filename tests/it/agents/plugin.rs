//! The plugin in `packaging/plugin`, and the entry for the registry of MCP servers. What the schemas of their formats demand is stated
//! here; the schemas themselves are not copied.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::environment::TestEnvironment;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging").join(name);
    fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

fn parsed(name: &str) -> Value {
    serde_json::from_str(&text(name)).unwrap_or_else(|cause| panic!("{name}: {cause}"))
}

#[track_caller]
fn expect_valid(name: &str, schema: &Value) {
    let validator = jsonschema::validator_for(schema).unwrap();
    let faults: Vec<String> =
        validator.iter_errors(&parsed(name)).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{name}: {faults:?}");
}

fn agent_plugins(kind: &str) -> String {
    format!("https://agent-plugins.org/schemas/1.0.0/{kind}.schema.json")
}

#[test]
fn the_plugin_is_one_of_agent_plugins_1_0_0() {
    let (word, words) =
        (json!({"type": "string"}), json!({"type": "array", "items": {"type": "string"}}));
    let author = json!({
        "type": "object",
        "properties": {"name": word, "email": word, "url": word},
        "additionalProperties": false,
    });
    let name = json!({
        "type": "string",
        "maxLength": 64,
        "pattern": "^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$",
        "not": {"pattern": "--|\\.\\."},
    });
    let manifest = json!({
        "type": "object",
        "properties": {
            "$schema": {"const": agent_plugins("plugin")},
            "name": name, "version": word, "description": word, "author": author, "homepage": word,
            "repository": word, "license": word, "keywords": words,
            "extensions": {"type": "object", "additionalProperties": {"type": "object"}},
        },
        "required": ["$schema", "name"],
        "additionalProperties": false,
    });
    expect_valid("plugin/plugin.json", &manifest);
    let server = json!({
        "type": "object",
        "properties": {
            "type": {"const": "stdio"},
            "command": {"type": "string", "minLength": 1},
            "args": words,
            "env": {"type": "object", "additionalProperties": word},
        },
        "required": ["type", "command"],
        "additionalProperties": false,
    });
    let servers = json!({
        "type": "object",
        "properties": {
            "$schema": {"const": agent_plugins("mcp")},
            "mcpServers": {"type": "object", "additionalProperties": server},
        },
        "required": ["$schema", "mcpServers"],
        "additionalProperties": false,
    });
    expect_valid("plugin/mcp.json", &servers);
    assert_eq!(parsed("plugin/mcp.json")["mcpServers"], parsed("plugin/.mcp.json")["mcpServers"]);
}

#[test]
fn the_entry_of_the_registry_has_what_that_demands() {
    let package = json!({
        "type": "object",
        "properties": {
            "registryType": {"enum": ["npm", "oci"]},
            "identifier": {"type": "string", "minLength": 1},
            "version": {"type": "string", "minLength": 1, "maxLength": 255, "not": {"const": "latest"}},
            "transport": {"type": "object", "properties": {"type": {"const": "stdio"}}, "required": ["type"]},
            "packageArguments": {"type": "array", "items": {
                "type": "object",
                "properties": {"type": {"const": "positional"}, "value": {"type": "string"}},
                "required": ["type", "value"],
            }},
            "environmentVariables": {"type": "array", "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "isRequired": {"type": "boolean"}},
                "required": ["name"],
            }},
        },
        "required": ["registryType", "identifier", "transport"],
    });
    let name = json!({
        "type": "string",
        "minLength": 3,
        "maxLength": 200,
        "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$",
    });
    let short = json!({"type": "string", "minLength": 1, "maxLength": 100});
    let entry = json!({
        "type": "object",
        "properties": {
            "name": name, "title": short, "description": short,
            "version": {"type": "string", "maxLength": 255},
            "packages": {"type": "array", "items": package},
        },
        "required": ["name", "description", "version"],
    });
    expect_valid("server.json", &entry);
    // The registry looks for its name in the packages.
    let name = parsed("server.json")["name"].as_str().unwrap().to_owned();
    assert_eq!(parsed("npm/package.json")["mcpName"], name);
    let label = format!("LABEL io.modelcontextprotocol.server.name=\"{name}\"\n");
    assert!(text("container/Containerfile").contains(&label));
    assert_eq!(
        parsed("server.json")["packages"][0]["identifier"],
        parsed("npm/package.json")["name"]
    );
}

#[test]
fn all_of_it_has_the_version_of_the_program() {
    let version = env!("CARGO_PKG_VERSION");
    for file in ["plugin/plugin.json", "plugin/.claude-plugin/plugin.json", "server.json"] {
        assert_eq!(parsed(file)["version"], version, "{file}");
    }
    let packages = &parsed("server.json")["packages"];
    assert_eq!(packages[0]["version"], version);
    assert!(packages[1]["identifier"].as_str().unwrap().ends_with(&format!(":{version}")));
}

#[test]
fn its_hooks_are_those_that_init_writes() {
    let env = TestEnvironment::new();
    let _ = env.aof(&["init", "--agents", "--agent", "agent-7", "--hooks"]).success();
    let settings: Value = serde_json::from_str(&env.read(".claude/settings.json")).unwrap();
    assert_eq!(settings["hooks"], parsed("plugin/hooks/hooks.json")["hooks"]);
}

#[test]
fn its_skill_names_commands_that_exist() {
    let skill = text("plugin/skills/aof/SKILL.md");
    let (head, body) = skill.strip_prefix("---\n").unwrap().split_once("\n---\n").unwrap();
    let description = head.lines().find_map(|line| line.strip_prefix("description: ")).unwrap();
    assert!(head.starts_with("name: aof\n") && description.len() <= 1024, "{head}");
    assert!(body.lines().count() <= 50, "a skill is read as a whole");
    let env = TestEnvironment::new();
    let mut commands = 0;
    for code in body.split('`').skip(1).step_by(2).filter_map(|code| code.strip_prefix("aof ")) {
        let words: Vec<&str> = code.split_whitespace().collect();
        let help = env.aof(&[words[0], "--help"]).success().stdout;
        for option in words.iter().filter(|word| word.starts_with("--")) {
            assert!(help.contains(*option), "aof {code}");
        }
        commands += 1;
    }
    assert!(commands >= 6, "{commands}");
}
