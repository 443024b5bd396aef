//! `aof completions`, `aof man` and `aof schema`

use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::cli::arguments::one_of;
use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::files::schema::Schema;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof completions bash > ~/.local/share/bash-completion/completions/aof
  aof completions zsh > ~/.zfunc/_aof
  aof completions fish > ~/.config/fish/completions/aof.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof man | man -l -
  aof man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder; it is made if it is missing
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArgs {
    /// The kind of file
    #[arg(value_name = "KIND",
        value_parser = one_of::<Schema>(Schema::ALL.iter().map(|schema| schema.as_str())))]
    kind: Schema,
}

/// Prints completions; `command` is the whole command line, here and in `man`.
pub(crate) fn completions(
    session: &Session,
    args: &CompletionsArgs,
    mut command: clap::Command,
) -> ExitCode {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "aof", &mut text);
    session.output.print(&String::from_utf8_lossy(&text));
    ExitCode::SUCCESS
}

pub(crate) fn man(
    session: &Session,
    args: &ManArgs,
    command: clap::Command,
) -> Result<ExitCode, CliError> {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.expect("a page in memory can be written to");
        session.output.print(&String::from_utf8_lossy(&page));
        return Ok(ExitCode::SUCCESS);
    };
    let folder = session.directory.join(folder);
    std::fs::create_dir_all(&folder)
        .and_then(|()| clap_mangen::generate_to(command, &folder))
        .map_err(|cause| CliError::output(&folder, &cause))?;
    session.output.say(format!("wrote the manual pages into `{}`", folder.display()));
    Ok(ExitCode::SUCCESS)
}

/// Prints the schema unchanged, with `--json` too: a `jsonVersion` would be no part of it.
pub(crate) fn schema(session: &Session, args: &SchemaArgs) -> ExitCode {
    session.output.line(format!("{:#}", args.kind.document()));
    ExitCode::SUCCESS
}
