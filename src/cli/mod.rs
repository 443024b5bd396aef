//! The command line. Each command parses its arguments, calls one operation, and renders the result.

pub(crate) mod agents;
pub(crate) mod arguments;
pub(crate) mod board;
pub(crate) mod demo;
pub(crate) mod error;
pub(crate) mod history;
pub(crate) mod observability;
pub(crate) mod output;
pub mod program;
pub(crate) mod project;
pub(crate) mod render;
pub(crate) mod session;
pub(crate) mod task;
pub(crate) mod text_input;
pub(crate) mod watch;
pub(crate) mod workflow;

pub(crate) use crate::domain::{counted, length};
pub(crate) use arguments::{
    AGENT, ActingAgent, DryRunOption, LogFormat, OfflineOption, PastTime, SignWith, Words,
    agent_of_environment, agent_variable, between, context, current_run, current_session, duration,
    exact_time, key_value, local_time, now, object, one_of, show_as_of, template, typed_command,
    value_of, with_local_times, words,
};
pub(crate) use error::{CliError, CliResult, exit_code};
pub(crate) use output::{
    BLUE, BOLD, CYAN, DIM, GREEN, JSON_VERSION, Output, RED, YELLOW, bold, cyan, dim, first_of,
    green, indented, json_line, merged, of_commit, painted, red, short, styled, width, wrapped,
    yellow,
};
pub(crate) use session::Session;
