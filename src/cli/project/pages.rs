//! `aof completions` and `aof man`: what is made of the command line's own description.

use std::path::PathBuf;
use std::process::ExitCode;

use clap_complete::Shell;

use crate::cli::error::CliError;
use crate::cli::session::Session;

/// Print completions for a shell
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

/// Print the manual page, or write one for each command into a folder
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

/// `command` is the description of the whole command line, here and in `man`.
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
    let written =
        std::fs::create_dir_all(&folder).and_then(|()| clap_mangen::generate_to(command, &folder));
    written.map_err(|cause| CliError::output(&folder.clone(), &cause))?;
    session.output.say(format!("wrote the manual pages into `{}`", folder.display()));
    Ok(ExitCode::SUCCESS)
}
