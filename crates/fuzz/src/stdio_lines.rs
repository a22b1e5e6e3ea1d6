//! Lines for `windlass stdio`: every line that is not empty gets one reply line, whatever it holds.

use std::time::Duration;

use tokio::time::timeout;
use windlass_cli::{CancellationToken, Options, serve};

use crate::fixture::{Fixture, block_on};

/// Small, so that inputs reach it.
const LINE_BYTES_MAX: usize = 1024;

/// A `wait` without a limit ends here.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// Serves `data` as the input of a session, with requests in order and at once.
pub fn run(data: &[u8]) {
    for is_ordered in [true, false] {
        block_on(async {
            let mut fixture = Fixture::new();
            let mut output = Vec::new();
            let options = Options {
                line_bytes_max: LINE_BYTES_MAX,
                is_ordered,
            };
            let stop = CancellationToken::new();
            let store = fixture.store.clone();
            let end = {
                let session = serve(store.as_ref(), data, &mut output, options, stop.clone());
                let mut session = std::pin::pin!(session);
                if let Ok(end) = timeout(WAIT_MAX, session.as_mut()).await {
                    end
                } else {
                    stop.cancel();
                    session.await
                }
            };
            let output = String::from_utf8(output).expect("replies are text");
            assert_eq!(end.replies, output.lines().count() as u64, "{output}");
            for reply in output.lines() {
                fixture.replied(reply);
            }
            fixture.assert_sound().await;
        });
    }
}
