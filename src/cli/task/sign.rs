//! `aof task sign`

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::arguments::SignWith;
use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::cli::time::now;
use crate::rules::NAMESPACE;
use crate::storage::random::ulid;
use crate::tasks::signing::{completion_in, sign_file, what_to_sign};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task sign done.yaml                       adds the visit, an id and the signature to the file
  aof task sign done.yaml --sign-with ~/.ssh/id_ed25519
  aof task sign done.yaml --print > to-sign     prints what to sign, for a program of your own:
  ssh-keygen -Y sign -n aof -f KEY to-sign      .. whose signature then goes into the file, as `signature`

The signature is for the visit that is open now, and for nothing else. Then drop the file into .aof/inbox.")]
pub(crate) struct SignArgs {
    /// The completion, as `*.yaml`, `*.json` or `*.md`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print what is to be signed, and change nothing
    #[arg(long, conflicts_with = "sign_with")]
    print: bool,
    #[command(flatten)]
    signing: SignWith,
}

pub(crate) fn run(session: &Session, args: &SignArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task sign")?;
    let output = session.output;
    let name = args.file.display().to_string();
    let bytes = std::fs::read(&args.file).map_err(|cause| CliError::input(&name, &cause))?;
    let id = ulid(now())?;
    if args.print {
        let (completion, _) = completion_in(&name, &bytes, &id)?;
        if completion.id == id {
            return Err(CliError::refused(
                "missing_id",
                format!("the completion's id is signed with it, and `{name}` has none"),
                format!("give it one, as in `id: {id}`"),
            ));
        }
        let wanted = what_to_sign(&workspace, &completion)?;
        if output.is_json() {
            output.data(json!({
                "task": wanted.ticket,
                "agent": wanted.agent,
                "completionId": wanted.completion,
                "namespace": NAMESPACE,
                "validKeys": wanted.keys.iter().map(ToString::to_string).collect::<Vec<_>>(),
                "toSign": wanted.text,
            }));
        } else {
            output.exactly(&wanted.text);
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (completion, signed) = sign_file(&workspace, &name, &bytes, &id, args.signing.signing())?;
    std::fs::write(&args.file, signed).map_err(|cause| CliError::output(&args.file, &cause))?;
    let signature = completion.signature.as_ref();
    let key = signature.map(|signature| signature.key().fingerprint()).unwrap_or_default();
    if output.is_json() {
        output.data(json!({
            "task": completion.ticket,
            "agent": completion.agent,
            "completionId": completion.id,
            "key": key,
            "signature": signature.map(ToString::to_string),
        }));
    } else {
        output.line(format!("{name}: signed for {} with {key}", completion.ticket));
    }
    Ok(ExitCode::SUCCESS)
}
