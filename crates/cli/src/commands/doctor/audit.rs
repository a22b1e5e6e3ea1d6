//! The structure of queues: every id in exactly one place, every counter right.

use windlass::{QueueName, Store};

use super::{Check, Status};
use crate::exit::Result;

/// How many faults of one queue are told one by one.
const TOLD_MAX: usize = 20;

/// Audits every queue, job by job. What is wrong is mended as it is found, in the same step.
pub(super) async fn examine(store: &dyn Store, checks: &mut Vec<Check>) -> Result<()> {
    for queue in store.queues().await? {
        examine_one(store, &queue, checks).await?;
    }
    Ok(())
}

async fn examine_one(store: &dyn Store, queue: &QueueName, checks: &mut Vec<Check>) -> Result<()> {
    let name = format!("audit {queue}");
    let (mut checked, mut wrong) = (0, 0);
    let mut from = None;
    loop {
        let page = store.audit(queue, from).await?;
        checked += page.checked;
        for repair in page.repairs {
            wrong += 1;
            if wrong <= TOLD_MAX {
                let id = repair.id.map_or(String::new(), |id| format!("job {id}: "));
                let message = format!("{id}{} ({})", repair.message, repair.code);
                let fix = "it is mended; find out which other program or person changed the store";
                checks.push(Check::new(Status::Warn, &name, message, fix));
            }
        }
        from = page.next;
        if from.is_none() {
            break;
        }
    }
    let message = format!("{checked} jobs checked, {wrong} faults found");
    if wrong == 0 {
        checks.push(Check::ok(name, message));
    } else if wrong > TOLD_MAX {
        let fix = "they are mended; `windlass clean --deep` tells whether more come";
        checks.push(Check::new(Status::Warn, name, message, fix));
    }
    Ok(())
}
