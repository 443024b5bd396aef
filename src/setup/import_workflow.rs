//! Imports workflows of other systems into the project: checks them with the existing rules, writes and commits them.

use serde_json::{Value, json};

use super::import::import_file::{Imported, ImportedWorkflow, RoleNeed, import};
use super::import::source::ForeignSystem;
use super::planned_files::{PlannedFiles, new_file, write_planned};
use crate::domain::workflow::definition::ContextRules;
use crate::domain::{AgentId, Org, Role, RoleId, Severity, WorkflowName, listed};
use crate::files::config::configuration::{ORG_FILE, Reading, Source, WORKFLOWS_FOLDER, read};
use crate::files::diagnostic::Diagnostic;
use crate::files::frontmatter::{Edit, parse, splice};
use crate::files::yaml::{self, Fault, Node, ParseLimits};
use crate::git::{CommitId, Head};
use crate::project::error::ProjectError;
use crate::project::rule_files::{RULES_LIMIT, worktree_rule_files};
use crate::project::rule_files::{compiled, diagnostics_of};
use crate::project::workspace::{Workspace, known_as};
use crate::rules::Rules;
use crate::storage::ProjectPath;
use crate::tasks::plan::DryRun;
use crate::tasks::write::PlainFile;
use crate::tasks::write::existing_file;

/// The choice whether routes of the source may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fidelity {
    /// No route may be lost.
    Whole,
    /// Routes may be lost.
    Lossy,
}

/// The treatment of roles that org.yaml lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingRoles {
    AreTold,
    /// The roles are added to org.yaml, with agents of invented names.
    AreWritten,
}

/// The result of an import, or of its dry run.
pub(crate) struct ImportOutcome {
    /// The files, in the order of the workflows; org.yaml last, if roles were added to it.
    pub paths: Vec<ProjectPath>,
    /// The roles that org.yaml lacks, or lacked.
    pub missing_roles: Vec<RoleNeed>,
    /// The roles that org.yaml already has, with their agents.
    pub known_roles: Vec<(RoleId, Vec<AgentId>)>,
    /// The text to add to org.yaml.
    pub snippet: Option<String>,
    /// Other diagnostics of the rules with the new files.
    pub diagnostics: Vec<Diagnostic>,
    /// True if the rules are valid with the new files, so that they can be committed.
    pub valid: bool,
    /// The commit; `None` if none was made.
    pub commit: Option<CommitId>,
}

/// Reads a file of another system.
pub(crate) fn read_foreign(
    file: &str,
    bytes: &[u8],
    system: Option<ForeignSystem>,
    name: Option<&WorkflowName>,
) -> Result<Imported, ProjectError> {
    import(file, bytes, system, name).map_err(|diagnostics| ProjectError::InvalidImport {
        problem: format!("`{file}` cannot be imported"),
        diagnostics,
    })
}

/// Imports the workflows into the project; without a project, only checks them.
///
/// Files are committed if the rules are valid with them. If org.yaml lacks a role, they are left in the worktree for a person to
/// complete and commit.
pub(crate) fn import_into_project(
    workspace: Option<&Workspace>,
    imported: &Imported,
    fidelity: Fidelity,
    roles: MissingRoles,
    dry_run: DryRun,
) -> Result<ImportOutcome, ProjectError> {
    let lost: Vec<_> = imported.lost().cloned().collect();
    if fidelity == Fidelity::Whole && !lost.is_empty() {
        return Err(ProjectError::LossyImport { lost });
    }
    let mut files: Vec<PlainFile> =
        imported.workflows.iter().map(file).collect::<Result<_, ProjectError>>()?;
    let new: Vec<ProjectPath> = files.iter().map(|file| file.path.clone()).collect();
    let sources = match workspace {
        Some(workspace) => worktree_rule_files(&workspace.repository)?,
        None => Vec::new(),
    };
    let mut brought = check_rules(workspace, imported, &files, sources.clone())?;
    if roles == MissingRoles::AreWritten && !brought.missing_roles.is_empty() {
        let org = read(&sources).configuration.org;
        let roles = new_roles(&importer(workspace, &org), &org, &brought.missing_roles);
        files.push(org_with_roles(&sources, &roles)?);
        brought = ImportOutcome {
            missing_roles: brought.missing_roles,
            known_roles: brought.known_roles,
            snippet: brought.snippet,
            ..check_rules(workspace, imported, &files, sources)?
        };
        if workspace.is_some() && !brought.valid {
            return Err(ProjectError::InvalidImport {
                problem: "with these roles, the rules would not be valid yet".to_owned(),
                diagnostics: brought.diagnostics,
            });
        }
    }
    if let Some(workspace) = workspace.filter(|_| dry_run == DryRun::No) {
        let message = message(imported);
        brought.commit = write(workspace, (&new, &files), &message, brought.valid)?;
    }
    Ok(brought)
}

/// Writes the files, of which `new` must not exist, and commits them if the rules are valid with them.
fn write(
    workspace: &Workspace,
    (new, files): (&[ProjectPath], &[PlainFile]),
    message: &str,
    is_committed: bool,
) -> Result<Option<CommitId>, ProjectError> {
    let plan = |head: &Head| {
        let unfit = |code, problem, fix| Err(ProjectError::Unfit { code, problem, fix });
        if let Some(path) = existing_file(workspace, head, new)? {
            let fix = format!(
                "nothing was written: use another name (`--name`), or remove `{path}` and commit that first"
            );
            return unfit("file_exists", format!("there is a `{path}` already"), fix.into());
        }
        for file in files.iter().filter(|file| file.before.is_some()) {
            let read = |commit| workspace.repository.read(commit, file.path.as_str());
            if head.commit.map(read).transpose()?.flatten() != file.before {
                let problem = format!("`{}` has changes that are not committed", file.path);
                let fix = "commit it first, or import without `--with-roles`".to_owned();
                return unfit("uncommitted_changes", problem, fix.into());
            }
        }
        Ok(PlannedFiles { outcome: (), files: files.to_vec(), is_committed })
    };
    Ok(write_planned(workspace, DryRun::No, message, plan)?.1)
}

/// Returns org.yaml with more roles and agents; everything else in it is unchanged.
fn org_with_roles(sources: &[Source], roles: &Value) -> Result<PlainFile, ProjectError> {
    let before = sources.iter().find(|source| source.name == ORG_FILE);
    let before = before.map(|source| source.bytes.clone());
    let refuse = |problem: String| ProjectError::Unfit {
        code: "roles_not_added",
        problem: format!("the roles cannot be added to {ORG_FILE}: {problem}"),
        fix: "add them by hand, as an import without `--with-roles` shows them".into(),
    };
    let text = String::from_utf8_lossy(before.as_deref().unwrap_or_default());
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    // An edit that changes only a frontmatter has the same effect on a file that is only frontmatter.
    let fenced = format!("---\n{text}{end}---\n");
    let parsed = parse(fenced.as_bytes()).map_err(|faults| {
        refuse(faults.first().map(|fault| fault.message.clone()).unwrap_or_default())
    })?;
    let mut edits = Vec::new();
    for (part, members) in roles.as_object().into_iter().flatten() {
        for (name, value) in members.as_object().into_iter().flatten() {
            edits.push(Edit::set([part.as_str(), name.as_str()], value.clone()));
        }
    }
    let changed =
        splice(&parsed, &edits, parsed.rest()).map_err(|fault| refuse(fault.to_string()))?;
    let text = changed.text();
    let text = text.strip_prefix("---\n").and_then(|text| text.strip_suffix("---\n"));
    let bytes = text.unwrap_or_default().as_bytes().to_vec();
    Ok(PlainFile { path: ORG_FILE.parse()?, before, bytes })
}

/// Returns the agent of the person who imports: git's user, otherwise the first person of org.yaml.
fn importer(workspace: Option<&Workspace>, org: &Org) -> String {
    let user = workspace.and_then(|workspace| known_as(workspace, org)).filter(AgentId::is_human);
    let first = || org.all_agents().into_iter().find(|agent| agent.is_human()).cloned();
    user.or_else(first).map_or_else(|| "human-you".to_owned(), |agent| agent.to_string())
}

/// Returns the missing roles and agents in the form of org.yaml. The person who imports a workflow may see it.
fn new_roles(person: &str, org: &Org, missing_roles: &[RoleNeed]) -> Value {
    let (mut roles, mut agents) = (serde_json::Map::new(), serde_json::Map::new());
    for need in missing_roles {
        let agent = if need.people { person.to_owned() } else { format!("agent-{}", need.role) };
        let viewer = Some(person).filter(|person| need.views && *person != agent);
        let members: Vec<&str> = [agent.as_str()].into_iter().chain(viewer).collect();
        let mut role = serde_json::Map::new();
        if let Some(description) = &need.description {
            let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
            role.insert("description".to_owned(), line.into());
        }
        role.insert("agents".to_owned(), json!(members));
        if need.people {
            role.insert("requireHuman".to_owned(), true.into());
        }
        roles.insert(need.role.to_string(), role.into());
        for agent in members {
            let is_known = |known: &AgentId| known.as_str() == agent;
            if org.agents.as_ref().is_some_and(|known| !known.keys().any(is_known)) {
                agents.insert(agent.to_owned(), json!({}));
            }
        }
    }
    if agents.is_empty() {
        json!({"roles": roles})
    } else {
        json!({"roles": roles, "agents": agents})
    }
}

/// Returns roles and agents as text to paste into org.yaml.
fn snippet(parts: &Value) -> String {
    let mut text = String::new();
    for (part, members) in parts.as_object().into_iter().flatten() {
        text.push_str(&format!("{part}:\n"));
        for (name, member) in members.as_object().into_iter().flatten() {
            let fields = member.as_object().into_iter().flatten();
            let fields = fields.map(|(key, value)| match value {
                Value::Array(list) => {
                    let words: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
                    format!("    {key}: [{}]\n", words.join(", "))
                }
                value => format!("    {key}: {value}\n"),
            });
            let fields: String = fields.collect();
            text.push_str(&format!(
                "  {name}:{}\n{fields}",
                if fields.is_empty() { " {}" } else { "" }
            ));
        }
    }
    text
}

fn file(draft: &ImportedWorkflow) -> Result<PlainFile, ProjectError> {
    let path = format!("{WORKFLOWS_FOLDER}/{}.yaml", draft.name).parse()?;
    if draft.text.len() as u64 > RULES_LIMIT {
        return Err(ProjectError::InvalidImport {
            problem: format!(
                "the workflow `{}` would be larger than {} MiB, which no file of rules may be",
                draft.name,
                RULES_LIMIT >> 20
            ),
            diagnostics: Vec::new(),
        });
    }
    Ok(new_file(path, draft.text.clone()))
}

/// Checks the rules with the new files, alone and with the roles that org.yaml lacks. Fails if they are invalid even with these roles.
fn check_rules(
    workspace: Option<&Workspace>,
    imported: &Imported,
    files: &[PlainFile],
    mut sources: Vec<Source>,
) -> Result<ImportOutcome, ProjectError> {
    let is_new = |name: &str| files.iter().any(|file| file.path.as_str() == name);
    sources.retain(|source| !is_new(&source.name));
    let added =
        files.iter().map(|file| Source { name: file.path.to_string(), bytes: file.bytes.clone() });
    sources.extend(added);
    let Reading { mut configuration, faults } = read(&sources);
    let (missing_roles, known_roles) = compare_roles(&configuration.org, imported);
    let snippet = (!missing_roles.is_empty())
        .then(|| importer(workspace, &configuration.org))
        .map(|person| snippet(&new_roles(&person, &configuration.org, &missing_roles)));
    for need in &missing_roles {
        configuration.org.roles.push((need.role.clone(), placeholder_role(need)));
    }
    let findings = match Rules::new(configuration.project.clone(), configuration.org.clone()) {
        Ok((_, findings)) | Err(findings) => diagnostics_of(&configuration, findings),
    };
    let mut diagnostics: Vec<Diagnostic> = faults.into_iter().chain(findings).collect();
    diagnostics.retain(|found| is_new(&found.file) && found.code != "no_default_workflow");
    if diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return Err(ProjectError::InvalidImport {
            problem: "what the file says is no valid workflow here".to_owned(),
            diagnostics,
        });
    }
    diagnostics.extend(files.iter().filter_map(large_values));
    let compiled = compiled(&sources);
    let valid = workspace.is_some() && compiled.is_ok();
    if let (Some(_), Err(faults)) = (workspace, compiled) {
        // Other errors; missing roles are reported separately.
        let error = |found: &Diagnostic| {
            found.severity == Severity::Error
                && !matches!(found.code, "unknown_role" | "unknown_viewer")
        };
        diagnostics.extend(faults.into_iter().filter(error));
    }
    let paths = files.iter().map(|file| file.path.clone()).collect();
    let commit = None;
    Ok(ImportOutcome { paths, missing_roles, known_roles, snippet, diagnostics, valid, commit })
}

/// Words in the names of values that tend to be long.
const LONG: [&str; 14] = [
    "argument",
    "article",
    "content",
    "diff",
    "document",
    "draft",
    "essay",
    "ideas",
    "json",
    "patch",
    "proposal",
    "source",
    "stories",
    "transcript",
];

/// Returns a warning about values that probably exceed the default size limit, if the workflow sets no limit.
fn large_values(file: &PlainFile) -> Option<Diagnostic> {
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let root = yaml::parse(text, &ParseLimits::default()).ok()?;
    if root.get("context").is_some_and(|context| context.get("maxBytes").is_some()) {
        return None;
    }
    let gates = root.get("gates").map(Node::items).unwrap_or_default();
    let mut found = Vec::new();
    for gate in gates {
        let (Some(id), Some(outputs)) = (gate.get("id"), gate.get("outputs")) else { continue };
        let variants = outputs.get("oneOf").map(Node::items).unwrap_or_default();
        let shapes = variants.iter().chain([outputs]).filter_map(|shape| shape.get("properties"));
        for entry in shapes.flat_map(Node::entries) {
            let key = entry.key.text.to_ascii_lowercase();
            let name = format!("{}.{}", id.as_str().unwrap_or_default(), entry.key.text);
            let is_known = found.iter().any(|(known, _)| *known == name);
            if !is_known && LONG.iter().any(|word| key.contains(word)) {
                found.push((name, entry.key.span.clone()));
            }
        }
    }
    let (_, span) = found.first()?.clone();
    let limit = ContextRules::DEFAULT_BYTES;
    let names = listed(found.iter().map(|(name, _)| name));
    let message =
        format!("by its name, a value may be larger than {limit} bytes, and be refused: {names}");
    let help = "set a limit as in `context: {maxBytes: 65536}`, or have the agent write a file and hand on its path";
    let fault = Fault::new("large_value", span, message).help(help);
    let mut warning = Diagnostic::from_fault(file.path.as_str(), text, &fault);
    warning.severity = Severity::Warning;
    Some(warning)
}

/// Returns the roles of the workflows that org.yaml lacks, and those that it has, with their agents.
fn compare_roles(org: &Org, imported: &Imported) -> (Vec<RoleNeed>, Vec<(RoleId, Vec<AgentId>)>) {
    let mut missing: Vec<RoleNeed> = Vec::new();
    let mut known_roles: Vec<(RoleId, Vec<AgentId>)> = Vec::new();
    let agents = org.all_agents();
    for need in imported.workflows.iter().flat_map(|draft| &draft.roles) {
        let known = org.roles.iter().find(|(role, _)| *role == need.role);
        match missing.iter_mut().find(|other| other.role == need.role) {
            Some(other) => other.people |= need.people,
            None if known_roles.iter().any(|(role, _)| *role == need.role) => {}
            None => match known {
                Some((role, known)) => known_roles.push((role.clone(), known.agents.clone())),
                None => missing.push(need.clone()),
            },
        }
    }
    for need in imported.workflows.iter().flat_map(|draft| &draft.viewers) {
        let is_there = org.roles.iter().any(|(role, _)| *role == need.role)
            || agents.iter().any(|agent| agent.as_str() == need.role.as_str());
        match missing.iter_mut().find(|other| other.role == need.role) {
            Some(other) => other.views = true,
            None if is_there => {}
            None => missing.push(need.clone()),
        }
    }
    (missing, known_roles)
}

/// Returns a role with a placeholder agent, for a role that org.yaml lacks.
fn placeholder_role(need: &RoleNeed) -> Role {
    let agent = if need.people { "human-you" } else { "agent-1" };
    Role { agents: agent.parse().into_iter().collect(), ..Role::default() }
}

fn message(imported: &Imported) -> String {
    let names: Vec<String> =
        imported.workflows.iter().map(|draft| draft.name.to_string()).collect();
    let word = if names.len() == 1 { "workflow" } else { "workflows" };
    format!("Import the {word} {} from {}", names.join(", "), imported.system)
}
