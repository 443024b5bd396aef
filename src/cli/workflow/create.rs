//! `aof workflow create`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::input::arguments::{Rehearsal, template};
use crate::cli::render::output::{BOLD, CYAN, styled};
use crate::cli::session::Session;
use crate::domain::{AgentId, WorkflowName, listed};
use crate::setup::create_workflow::{Fate, NewWorkflow, WorkflowFile, create_workflow};
use crate::setup::template::RoleCast;
use crate::setup::template::Template;
use crate::tasks::apply::change::DryRun;

/// Begin a workflow from a template: a commented file of its own, in one commit
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof workflow create release --template deploy            workflows/release.yaml, committed
  aof workflow create release --template deploy --dry-run  see the file
  aof workflow create --list                               what each template is for

A workflow whose roles org.yaml lacks is written and not committed; what to add is said.")]
pub(crate) struct Args {
    /// What the workflow will be called
    #[arg(required_unless_present = "list")]
    name: Option<WorkflowName>,
    /// What it begins as
    #[arg(long, value_name = "TEMPLATE", value_parser = template(), required_unless_present = "list")]
    template: Option<Template>,
    /// List the templates
    #[arg(long, conflicts_with_all = ["name", "template"])]
    list: bool,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let (Some(name), Some(template)) = (&args.name, args.template) else {
        list(session);
        return Ok(ExitCode::SUCCESS);
    };
    let workspace = session.workspace("workflow create")?;
    let new = NewWorkflow { name: name.clone(), template };
    let mode = args.rehearsal.mode();
    let made = create_workflow(&workspace, &new, mode)?;
    session.warn_of_rules(&made.before);
    if session.output.is_json() {
        session.output.data(value(&new, &made, mode));
    } else {
        show(session, &new, &made, mode);
    }
    Ok(ExitCode::SUCCESS)
}

fn list(session: &Session) {
    if session.output.is_json() {
        let list: Vec<Value> = Template::ALL
            .iter()
            .map(|template| json!({"name": template.as_str(), "summary": template.summary()}))
            .collect();
        session.output.data(json!({"templates": list}));
        return;
    }
    let width = Template::ALL.iter().map(|template| template.as_str().len()).max().unwrap_or(0);
    for template in Template::ALL {
        session.output.line(format!(
            "{}  {}",
            styled(CYAN, format!("{template:<width$}")),
            template.summary()
        ));
    }
}

fn show(session: &Session, new: &NewWorkflow, made: &WorkflowFile, mode: DryRun) {
    let output = session.output;
    let NewWorkflow { name, template } = new;
    if mode == DryRun::Yes {
        output.print(&made.text);
    }
    match &made.fate {
        Fate::Ready => {
            output.say(format!("dry run: nothing was written; `{}` could be committed", made.path));
        }
        Fate::Committed(commit) => {
            let commit = commit.to_string();
            output.line(format!(
                "began `{name}` from the template `{template}`: {}, commit {commit:.7}",
                made.path
            ));
            output.line(format!("\n{}", styled(BOLD, "try next:")));
            for (command, what) in [
                (format!("aof workflow graph {name}"), "see the ways that a task can go"),
                (format!("aof task new \"...\" --workflow {name}"), "create a task that goes them"),
            ] {
                output.line(format!("  {command:<38}  {what}"));
            }
        }
        Fate::Lacks { roles, agents } => {
            let what = lacking(roles);
            let told = match mode {
                DryRun::Yes => {
                    format!(
                        "dry run: nothing was written; it could not be committed yet: org.yaml lacks {what}"
                    )
                }
                DryRun::No => {
                    format!("wrote {}, and did not commit it: org.yaml lacks {what}", made.path)
                }
            };
            let snippet = lacking_text(roles, agents);
            let then = format!(
                "then commit both: `git add org.yaml {0} && git commit -m \"Begin workflow {name}\" -- org.yaml {0}`",
                made.path
            );
            output.say(format!("{told}\n\n{snippet}\n{then}"));
        }
    }
}

fn lacking(roles: &[RoleCast]) -> String {
    let names: Vec<String> = roles.iter().map(|part| part.role.to_string()).collect();
    format!("the role{} {}", if names.len() == 1 { "" } else { "s" }, listed(&names))
}

/// Returns what org.yaml needs, as a person can paste it.
pub(crate) fn lacking_text(roles: &[RoleCast], agents: &[AgentId]) -> String {
    let parts: String = roles.iter().map(RoleCast::text).collect();
    let mut text = format!("add to `roles` in org.yaml, with agents of yours:\n\n{parts}");
    if !agents.is_empty() {
        text.push_str("\nand to `agents`:\n\n");
        text.extend(agents.iter().map(|agent| format!("  {agent}:\n")));
    }
    text
}

fn value(new: &NewWorkflow, made: &WorkflowFile, mode: DryRun) -> Value {
    let (roles, agents) = match &made.fate {
        Fate::Lacks { roles, agents } => (roles.as_slice(), agents.as_slice()),
        Fate::Ready | Fate::Committed(_) => (&[][..], &[][..]),
    };
    let commit = match &made.fate {
        Fate::Committed(commit) => Some(commit.to_string()),
        Fate::Ready | Fate::Lacks { .. } => None,
    };
    let roles: Vec<Value> = roles
        .iter()
        .map(|part| {
            let agents: Vec<&str> = part.agents.iter().map(AgentId::as_str).collect();
            json!({
                "role": part.role.as_str(),
                "description": part.does,
                "agents": agents,
                "requireHuman": part.require_human,
            })
        })
        .collect();
    let mut value = json!({
        "workflow": new.name.as_str(),
        "template": new.template.as_str(),
        "path": made.path.as_str(),
        "text": made.text,
        "commit": commit,
        "lacking": {"roles": roles, "agents": agents.iter().map(AgentId::as_str).collect::<Vec<_>>()},
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
