//! One API request per line, on a memory store: each gets a reply or an error with a known code.

use std::time::Duration;

use tokio::time::timeout;
use windlass_api::{Code, Error, Request, dispatch};

use crate::fixture::{Fixture, LINES_MAX, block_on};

/// A `wait` without a limit ends here.
const WAIT_MAX: Duration = Duration::from_secs(3_600);

/// Executes the requests in `data`.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    block_on(async {
        let mut fixture = Fixture::new();
        for line in text.lines().take(LINES_MAX) {
            let line = fixture.next(line);
            let Ok(outcome) = timeout(WAIT_MAX, execute(&fixture, &line)).await else {
                continue;
            };
            match outcome {
                Ok(reply) => fixture.replied(&reply),
                Err(error) => check(&error),
            }
            fixture.assert_sound().await;
        }
    });
}

async fn execute(fixture: &Fixture, line: &str) -> Result<String, Error> {
    let (queue, request) = Request::parse_line(line)?;
    let reply = dispatch(fixture.store.as_ref(), queue.as_ref(), request).await?;
    Ok(reply.to_json())
}

fn check(error: &Error) {
    assert_ne!(error.code, Code::Internal, "{error:?}");
}
