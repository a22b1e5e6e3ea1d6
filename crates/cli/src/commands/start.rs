//! Opens the store of a command that runs until it is stopped, and waits for one that is away.

use std::time::Duration;

use windlass::runtime::{Connections, Outage, open_connections};
use windlass::{OpenMode, StoreUrl};

use crate::exit::Result;
use crate::process_args::ProcessArgs;
use crate::session::Session;

/// Time between two attempts to open the store.
const RETRY_EVERY: Duration = Duration::from_secs(1);

/// Opens the store. Retries while its server cannot be reached, unless `--fail-fast` is set; an error
/// that only a change can fix, such as a wrong password, is returned at once.
pub(crate) async fn open(
    session: &Session,
    mode: OpenMode,
    process: ProcessArgs,
) -> Result<Connections> {
    let url = session.persistent_store_url()?;
    let outage = Outage::new(url.to_string());
    let mut caller = outage.caller();
    // A file that cannot be opened now does not appear by itself.
    let waits = !process.fail_fast && !matches!(url, StoreUrl::Sqlite { .. });
    loop {
        match open_connections(&url, mode).await {
            Err(error) if waits && error.may_pass() => caller.failed(&error),
            Err(error) => return Err(error.into()),
            Ok(connections) => {
                caller.succeeded();
                return Ok(connections.with_outage(outage));
            }
        }
        tokio::time::sleep(RETRY_EVERY).await;
    }
}
