//! Tokens of agents, by which they act over HTTP: at most one per agent, in `.aof/tokens.json`, which only its owner can read.
//!
//! The file has only hashes. One round of SHA-256 is enough: 50 random characters cannot be guessed, however fast the hash.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{AgentId, Digest, Timestamp};
use crate::project::error::ProjectError;
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::storage::layout::LOCAL;
use crate::storage::random::random_local;
use crate::storage::{Durability, Folder, Paths, StoreError};

const FILE: &str = "tokens.json";
/// The characters of a token after its prefix: 258 bits.
const LENGTH: usize = 50;

/// The stored data of a token.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TokenRecord {
    /// The SHA-256 of the token.
    hash: Digest,
    pub(crate) created: Timestamp,
}

type TokenRecords = BTreeMap<AgentId, TokenRecord>;

/// Creates a token for an agent of org.yaml. Returns it, and whether it replaces another one. Fails for people, and for agents in
/// roles of people only: people log in.
pub(crate) fn create_token(
    workspace: &Workspace,
    rules: &Rules,
    agent: &AgentId,
) -> Result<(String, bool), ProjectError> {
    check_agent(rules, agent, None)?;
    let mut roles = rules.org.roles_of(agent).filter_map(|role| rules.org.role(role)).peekable();
    if agent.is_human() || roles.peek().is_some() && roles.all(|role| role.require_human) {
        return Err(ProjectError::Unfit {
            code: "human_identity",
            problem: format!(
                "`{agent}` is a person, or has only roles for people: tokens are for agents"
            ),
            fix: "people log in; `aof org show` shows who is in which role".into(),
        });
    }
    let text = format!("aof_{}", random_local(LENGTH)?);
    let record = TokenRecord { hash: Digest::of(text.as_bytes()), created: workspace.now() };
    let had_one = change(workspace, |records| records.insert(agent.clone(), record).is_some())?;
    Ok((text, had_one))
}

/// Removes the token of an agent. Returns whether it had one.
pub(crate) fn revoke_token(workspace: &Workspace, agent: &AgentId) -> Result<bool, ProjectError> {
    change(workspace, |records| records.remove(agent).is_some())
}

fn change(
    workspace: &Workspace,
    change: impl FnOnce(&mut TokenRecords) -> bool,
) -> Result<bool, ProjectError> {
    let lock = workspace.lock()?;
    let mut records = token_records(&workspace.paths)?;
    let had_one = change(&mut records);
    // A replaced file keeps its mode.
    if lock.local().kind(FILE)?.is_none() {
        lock.local().create_private(FILE)?;
    }
    lock.local().replace_json(FILE, &records, Durability::Durable)?;
    Ok(had_one)
}

/// Returns the tokens of all agents.
pub(crate) fn token_records(paths: &Paths) -> Result<TokenRecords, StoreError> {
    let local = Folder::open_existing(paths.root(), LOCAL)?;
    let records = local.map(|local| local.read_json(FILE)).transpose()?.flatten();
    Ok(records.unwrap_or_default())
}

/// Returns the agent of a token. Its duration reveals nothing about other tokens, since hashes are compared. Fails if git tracks
/// anything in `.aof`: a committed file of tokens must not give access.
pub(crate) fn agent_of_token(
    workspace: &Workspace,
    token: &str,
) -> Result<Option<AgentId>, ProjectError> {
    workspace.check_own_folder()?;
    let hash = Digest::of(token.as_bytes());
    let held = token_records(&workspace.paths)?.into_iter().find(|(_, one)| one.hash == hash);
    Ok(held.map(|(agent, _)| agent).filter(|agent| !agent.is_human()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    use tempfile::TempDir;

    use super::*;
    use crate::git::Repository;
    use crate::project::active_rules::default_rules;

    fn workspace(home: &TempDir) -> Workspace {
        Repository::init(home.path()).unwrap();
        let clock = || Timestamp::UNIX_EPOCH;
        Workspace::at(home.path(), "aof mcp token".into(), clock, Duration::ZERO, |_| {}).unwrap()
    }

    #[test]
    fn a_token_is_its_agent_s_until_it_is_replaced_or_revoked() {
        let home = TempDir::new().unwrap();
        let workspace = workspace(&home);
        let rules = default_rules().unwrap();
        let [seven, eight] = ["agent-7", "agent-8"].map(|id| id.parse::<AgentId>().unwrap());
        let of = |token: &str| agent_of_token(&workspace, token).unwrap();
        let create = |agent| create_token(&workspace, &rules, agent).unwrap();
        assert_eq!(of(""), None);
        let ((first, had_one), (other, _)) = (create(&seven), create(&eight));
        assert!(!had_one);
        assert_eq!((of(&first), of(&other)), (Some(seven.clone()), Some(eight.clone())));
        let file = workspace.paths.local().join(FILE);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(!fs::read_to_string(&file).unwrap().contains(&first[4..]));
        let (second, had_one) = create(&seven);
        assert!(had_one);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!((of(&first), of(&second)), (None, Some(seven.clone())));
        for token in ["", "aof_", &second[1..], &format!("{second} ")] {
            assert_eq!(of(token), None, "{token}");
        }
        assert!(revoke_token(&workspace, &seven).unwrap());
        assert!(!revoke_token(&workspace, &seven).unwrap());
        assert_eq!((of(&second), of(&other)), (None, Some(eight)));
    }

    #[test]
    fn no_file_makes_a_token_a_person_s() {
        let home = TempDir::new().unwrap();
        let workspace = workspace(&home);
        let agent = "agent-7".parse().unwrap();
        let (token, _) = create_token(&workspace, &default_rules().unwrap(), &agent).unwrap();
        let file = workspace.paths.local().join(FILE);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, text.replace("agent-7", "human-ada")).unwrap();
        assert_eq!(agent_of_token(&workspace, &token).unwrap(), None);
        // A damaged file admits no one.
        fs::write(&file, "{").unwrap();
        assert_eq!(agent_of_token(&workspace, &token).unwrap(), None);
    }
}
