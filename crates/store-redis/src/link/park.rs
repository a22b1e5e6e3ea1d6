//! Waiting for a marker with a script right behind it, on a connection of its own.

use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::time::Instant;
use windlass_core::Result;

use super::call::Call;
use super::tries::{Repeat, Route, Tries};
use super::{Inner, slot_of};
use crate::fault::{Course, Fault};

/// How much later than asked a server may answer before the line counts as dead.
const GRACE: Duration = Duration::from_secs(1);

/// Redis waits for ever when it is asked to wait for no time.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Waits until there is a marker in the list `wake`, or `wait` is over, then runs `then`. A caller
/// that goes away takes the connection with it: nobody else finds a wait on it.
pub(super) async fn park(inner: &Inner, wake: &[u8], wait: Duration, then: &Call) -> Result<Value> {
    let timeout = inner.address.timeout;
    let mut tries = Tries::new(inner, slot_of(wake), wait + timeout, Repeat::Never);
    loop {
        let fault = match tries.route().await {
            Ok(route) => match wait_at(&route, wake, wait, then, timeout).await {
                Ok(value) => return Ok(value),
                Err(fault) => fault,
            },
            Err(fault) => fault,
        };
        tries.after(fault).await?;
    }
}

async fn wait_at(
    route: &Route,
    wake: &[u8],
    wait: Duration,
    then: &Call,
    timeout: Duration,
) -> Result<Value, Fault> {
    let until = Instant::now() + timeout;
    if route.is_asking {
        // A slot on its way to another node is not the place to wait.
        return route.send(&then.by_text(), until).await;
    }
    let conn = route.node.own(until).await?;
    let mut cmds = Pipeline::with_capacity(2);
    cmds.cmd("BLPOP")
        .arg(wake)
        .arg(wait.max(SHORTEST_WAIT).as_secs_f64());
    cmds.add_command(then.by_sha());
    let answers = conn.calls(&cmds, Instant::now() + wait + GRACE).await?;
    let mut answers = answers.into_iter();
    let mut next = || Fault::in_value(conn.server(), answers.next().unwrap_or(Value::Nil));
    let marker = next();
    let mut answer = next();
    if let Err(fault) = &answer
        && fault.is_no_script
    {
        answer = conn.call(&then.by_text(), Instant::now() + timeout).await;
    }
    let is_whole = !matches!(&answer, Err(fault) if fault.course == Course::Unknown);
    if is_whole {
        route.node.give_back(conn);
    }
    match marker {
        // Nothing was waited for, and never will be: the caller must not come back at once.
        Err(fault) if fault.course == Course::Fatal => Err(fault),
        _ => answer,
    }
}
