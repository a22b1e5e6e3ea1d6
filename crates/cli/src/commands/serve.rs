//! `windlass serve`: serves the HTTP API.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use windlass::{QueueName, Store};
use windlass_server::{CancellationToken, HttpServer, Options, Tokens};

use crate::exit::{CliError, Exit, Result};
use crate::session::Session;
use crate::signals::Signals;

/// Environment variable with a token that has all scopes. Not a flag: other users can read those.
pub(crate) const TOKEN_VARIABLE: &str = "WINDLASS_HTTP_TOKEN";

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "Prints its URL and serves until SIGTERM or Ctrl-C. The routes are documented at /docs.\n\n\
    Access tokens:\n  \
    WINDLASS_HTTP_TOKEN  environment variable with a token that has all scopes (32 characters or more)\n  \
    --tokens FILE        one token per line: NAME SHA256 SCOPES [QUEUES] [rate=N] [streams=N],\n                       \
    for example `ann 9f86… read,enqueue mail-*`\n  \
    Scopes: read, enqueue, work, operate, admin. Hash a token with `printf %s TOKEN | sha256sum`.\n\n\
    Examples:\n  \
    windlass serve\n  \
    windlass serve --listen 0.0.0.0:7700 --tokens tokens.txt --host jobs.example.org"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    http: HttpArguments,
}

/// Flags of the HTTP API, shared by `serve` and `up`.
#[derive(Debug, Args)]
pub(crate) struct HttpArguments {
    /// Address and port to listen on; port 0 picks a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    listen: SocketAddr,

    /// File of access tokens with their scopes and queues
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,

    /// Allow access from other machines without a token
    #[arg(long)]
    insecure: bool,

    /// Additional host name to accept requests for; repeatable
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,

    /// Queue for jobs posted to `POST /` with a payload and a dueTime
    #[arg(long, value_name = "NAME", default_value = "delayed")]
    delayed_queue: String,
}

#[derive(Debug, Serialize)]
struct Reply<'a> {
    url: &'a str,
}

/// Serves until a signal.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    // Validate the flags before a store is created.
    let options = arguments.http.options()?;
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

/// Binds the listener and prints its URL.
pub(super) async fn open(
    store: Arc<dyn Store>,
    options: Options,
    session: &mut Session,
) -> Result<HttpServer> {
    let has_no_tokens = options.tokens.is_empty();
    let is_remote = !options.listen.ip().is_loopback();
    let server = HttpServer::bind(store, options).await?;
    if has_no_tokens && is_remote {
        let warning = "warning: anyone who can reach this address has full access (--insecure)";
        session.output.note(warning);
    }
    // From here on the first signal is a graceful stop.
    session.interrupts.take_over();
    let url = server.url();
    let reply = Reply { url: &url };
    session.output.result(&reply, |output| output.line(&url));
    Ok(server)
}

impl HttpArguments {
    pub(super) fn options(&self) -> Result<Options> {
        let mut options = Options::new(self.listen)?;
        let file = self.tokens.as_deref().map(Tokens::read).transpose()?;
        options.tokens = file.unwrap_or_default().and(environment_token()?);
        options.is_insecure = self.insecure;
        options.hosts.clone_from(&self.host);
        options.delayed_queue = QueueName::new(&self.delayed_queue)?;
        options.check()?;
        Ok(options)
    }
}

fn environment_token() -> Result<Tokens> {
    match token() {
        Some(secret) => Ok(Tokens::single(&secret).map_err(|error| {
            let help = "generate one with `openssl rand -hex 32`";
            CliError::config(format!("{TOKEN_VARIABLE}: {error}"), help)
        })?),
        None => Ok(Tokens::default()),
    }
}

/// Returns the token from the environment, if set.
pub(super) fn token() -> Option<String> {
    let secret = std::env::var_os(TOKEN_VARIABLE)?;
    // A token that is not UTF-8 fails validation later.
    Some(secret.to_string_lossy().into_owned()).filter(|secret| !secret.is_empty())
}
