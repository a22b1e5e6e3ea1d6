//! `windlass serve`: the HTTP door.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use windlass::{QueueName, Store};
use windlass_server::{CancellationToken, Options, Server, Tokens};

use crate::exit::{Exit, Failure, Result};
use crate::session::Session;
use crate::signals::Signals;

/// The environment variable with a token that may do everything: a flag would show it to everybody
/// on the machine.
pub(crate) const TOKEN_VARIABLE: &str = "WINDLASS_HTTP_TOKEN";

/// What may be typed.
#[derive(Debug, Args)]
#[command(
    after_help = "It prints its URL and serves until SIGTERM or Ctrl-C. WINDLASS_HTTP_TOKEN is a token that may do everything (32 characters or more). FILE has a token per line: \
    NAME SHA256 SCOPES [QUEUES] [rate=N] [streams=N], for example `ann 9f86… read,enqueue mail-*`; scopes are read, enqueue, work, operate \
    and admin. Hash a token with `printf %s TOKEN | sha256sum`. The routes are at /docs.\n\n\
    Examples:\n  \
    windlass serve\n  \
    windlass serve --listen 0.0.0.0:7700 --tokens tokens.txt --host jobs.example.org"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    door: DoorArguments,
}

/// The flags of the door.
#[derive(Debug, Args)]
pub(crate) struct DoorArguments {
    /// Where to listen: an address and a port; port 0 is any that is free
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    listen: SocketAddr,

    /// A file of tokens, each with its scopes and queues
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Let other machines in without a token
    #[arg(long)]
    insecure: bool,

    /// A name this server is called by, besides localhost and addresses; may be given several times
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// The queue of jobs that come by `POST /`, with a payload and a dueTime
    #[arg(long, value_name = "NAME", default_value = "delayed")]
    delayed_queue: String,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    url: &'a str,
}

/// Serves until it is told to stop.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // What is wrong with the flags is told before a store is made.
    let options = arguments.door.options()?;
    let mut signals = Signals::listen()?;
    let store = session.store_or_create().await?;
    let server = open(store, options, session).await?;
    let stop = CancellationToken::new();
    let mut running = tokio::spawn(server.run(stop.clone()));
    signals.next().await;
    stop.cancel();
    tokio::select! {
        _ = &mut running => Ok(Exit::Ok),
        () = signals.next() => Ok(Exit::Interrupted),
    }
}

/// Listens, and prints where.
pub(super) async fn open(
    store: Arc<dyn Store>,
    options: Options,
    session: &mut Session,
) -> Result<Server> {
    let is_open = options.tokens.is_empty();
    let is_far = !options.listen.ip().is_loopback();
    let server = Server::bind(store, options).await?;
    if is_open && is_far {
        let warning = "anybody who reaches this address may do everything (--insecure)";
        session.output.talk(warning);
    }
    // From here on signals are ours: the first is a clean stop.
    session.clearing.take_over();
    let url = server.url();
    let reply = Reply { url: &url };
    session.output.result(&reply, |output| output.line(&url));
    Ok(server)
}

impl DoorArguments {
    pub(super) fn options(&self) -> Result<Options> {
        let mut options = Options::new(self.listen)?;
        let file = self.tokens.as_deref().map(Tokens::read).transpose()?;
        options.tokens = file.unwrap_or_default().and(token_of_environment()?);
        options.is_insecure = self.insecure;
        options.hosts.clone_from(&self.host);
        options.delayed_queue = QueueName::new(&self.delayed_queue)?;
        options.check()?;
        Ok(options)
    }
}

fn token_of_environment() -> Result<Tokens> {
    match token() {
        Some(secret) => Ok(Tokens::single(&secret).map_err(|error| {
            let help = "draw one with `openssl rand -hex 32`";
            Failure::config(format!("{TOKEN_VARIABLE}: {error}"), help)
        })?),
        None => Ok(Tokens::default()),
    }
}

/// The token in the environment, where there is one.
pub(super) fn token() -> Option<String> {
    let secret = std::env::var_os(TOKEN_VARIABLE)?;
    // What is not UTF-8 is no token, and is refused as one.
    Some(secret.to_string_lossy().into_owned()).filter(|secret| !secret.is_empty())
}
