//! `windlass version`.

use serde::Serialize;

use crate::exit::{Exit, Result};
use crate::session::Session;

#[derive(Debug, Serialize)]
struct Reply {
    version: &'static str,
}

/// Prints the version.
#[expect(
    clippy::unnecessary_wraps,
    reason = "all commands have the same signature"
)]
pub(crate) fn run(session: &mut Session) -> Result<Exit> {
    let reply = Reply {
        version: env!("CARGO_PKG_VERSION"),
    };
    session.output.result(&reply, |output| {
        output.line(&format!("windlass {}", reply.version));
    });
    Ok(Exit::Ok)
}
