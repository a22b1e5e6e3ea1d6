//! The consistency of queues: every job is in exactly one index, every counter is correct.

use windlass::{QueueName, Store};

use super::{Check, Status};
use crate::exit::Result;

/// Repairs listed per queue.
const LISTED_MAX: usize = 20;

/// Audits every queue. Errors are repaired in the transaction that finds them.
pub(super) async fn examine(store: &dyn Store, checks: &mut Vec<Check>) -> Result<()> {
    for queue in store.queues().await? {
        examine_one(store, &queue, checks).await?;
    }
    Ok(())
}

async fn examine_one(store: &dyn Store, queue: &QueueName, checks: &mut Vec<Check>) -> Result<()> {
    let name = format!("audit {queue}");
    let (mut checked, mut repaired) = (0, 0);
    let mut from = None;
    loop {
        let page = store.audit(queue, from).await?;
        checked += page.checked;
        for repair in page.repairs {
            repaired += 1;
            if repaired <= LISTED_MAX {
                let id = repair.id.map_or(String::new(), |id| format!("job {id}: "));
                let message = format!("{id}{} ({})", repair.message, repair.code);
                let fix = "repaired; find out which other program changed the store";
                checks.push(Check::new(Status::Warn, &name, message, fix));
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let message = format!("{checked} jobs checked, {repaired} errors repaired");
    if repaired == 0 {
        checks.push(Check::ok(name, message));
    } else if repaired > LISTED_MAX {
        let fix = "run `windlass audit` to check whether new errors appear";
        checks.push(Check::new(Status::Warn, name, message, fix));
    }
    Ok(())
}
