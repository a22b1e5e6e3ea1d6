//! `windlass token new`: generates an access token for the HTTP API.

use clap::{Args, Subcommand};
use serde::Serialize;
use windlass_server::NewToken;

use crate::exit::{Exit, Result};
use crate::session::Session;

/// Subcommands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Generate a token, and print it once with its line for the token file
    New(Arguments),
}

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints two lines: the token, for the client, and its line for `serve --tokens FILE`.\n\
    The line holds only the SHA-256 of the token, so the token cannot be shown again.\n\n\
    Example:\n  \
    windlass token new ann --scope read,enqueue --queue 'mail-*'"
)]
pub(crate) struct Arguments {
    /// Name of the token in the file
    name: String,

    /// Scopes: read, enqueue, work, operate, admin; repeatable
    #[arg(long, value_name = "S", required = true)]
    scope: Vec<String>,

    /// Queue pattern, with * for any characters; repeatable [default: all queues]
    #[arg(long, value_name = "PATTERN")]
    queue: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    token: &'a str,
    line: &'a str,
}

/// Generates a token.
pub(crate) fn run(command: &Command, session: &mut Session) -> Result<Exit> {
    let Command::New(arguments) = command;
    let queues = match arguments.queue.as_slice() {
        [] => "*".to_owned(),
        queues => queues.join(","),
    };
    let new = NewToken::generate(&arguments.name, &arguments.scope.join(","), &queues)?;
    let reply = Reply {
        token: &new.secret,
        line: &new.line,
    };
    session.output.result(&reply, |output| {
        output.line(reply.token);
        output.line(reply.line);
    });
    let note = "the token is not shown again; add the second line to the file of `serve --tokens`";
    session.output.note(note);
    Ok(Exit::Ok)
}
