//! `windlass stdio`: one JSON request per line in, one reply per line out.

use clap::Args;
use windlass_api::lines::LINE_BYTES_MAX_DEFAULT;
use windlass_cli::{Options, serve};
use windlass_terminal::pipes::{check_line_max, outcome, stop};

use crate::exit::{Exit, Result};
use crate::session::Session;

/// Command-line arguments.
#[derive(Debug, Args)]
#[command(
    after_help = "A request is a JSON object with \"op\", \"ref\" (any JSON, copied to the reply) and the fields \
    of the operation: {\"op\":\"enqueue\",\"ref\":1,\"queue\":\"mail\",\"payload\":\"hello\"}. The reply is \
    {\"ref\":1,\"ok\":true,…} or {\"ref\":1,\"ok\":false,\"error\":{\"code\":…,\"message\":…,\"help\":…,\"line\":…}}. \
    See docs/stdio.md for all operations."
)]
pub(crate) struct Arguments {
    /// Run requests concurrently and reply in order of completion
    #[arg(long)]
    unordered: bool,

    /// Longest accepted line, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = LINE_BYTES_MAX_DEFAULT)]
    line_max: usize,
}

/// Serves requests until stdin ends.
pub(crate) async fn run(arguments: Arguments, session: &mut Session) -> Result<Exit> {
    check_line_max(arguments.line_max)?;
    let options = Options {
        line_bytes_max: arguments.line_max,
        is_ordered: !arguments.unordered,
    };
    let settings = session.settings()?;
    let store = windlass::open(&settings.store, windlass::OpenMode::CreateIfMissing).await?;
    let stop = stop(session)?;
    let (input, output) = (tokio::io::stdin(), tokio::io::stdout());
    let ended = serve(store.as_ref(), input, output, options, stop).await;
    outcome(session, ended)
}
