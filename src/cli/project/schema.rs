//! `aof schema`

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::cli::session::Session;
use crate::files::schema::Schema;

/// Print the JSON Schema of a kind of file
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the schema is of
    #[arg(value_name = "KIND", value_parser = kind())]
    kind: Schema,
}

fn kind() -> impl TypedValueParser<Value = Schema> {
    PossibleValuesParser::new(Schema::ALL.iter().map(|schema| schema.as_str()))
        .try_map(|word| word.parse::<Schema>())
}

/// Prints the schema as it is, with `--json` too: a version of ours would be no part of it.
pub(crate) fn run(session: &Session, args: &Args) -> ExitCode {
    session.output.line(format!("{:#}", args.kind.document()));
    ExitCode::SUCCESS
}
