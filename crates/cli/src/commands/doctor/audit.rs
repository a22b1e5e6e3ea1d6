//! The consistency of queues: every job is in exactly one index, every counter is correct.

use windlass::Store;
use windlass_api::MaintenanceReply;

use super::Check;
use crate::exit::Result;

/// Repairs listed per queue.
const LISTED_MAX: usize = 20;

/// Audits every queue. Errors are repaired in the transaction that finds them.
pub(super) async fn examine(store: &dyn Store, checks: &mut Vec<Check>) -> Result<()> {
    for queue in store.queues().await? {
        let name = format!("audit {queue}");
        let mut reply = MaintenanceReply::default();
        reply.audit(store, &queue).await?;
        for repair in reply.repairs.iter().take(LISTED_MAX) {
            let id = repair.id.as_ref();
            let id = id.map_or(String::new(), |id| format!("job {id}: "));
            let message = format!("{id}{} ({})", repair.message, repair.code);
            let fix = "repaired; find out which other program changed the store";
            checks.push(Check::warn(&name, message, fix));
        }
        let MaintenanceReply {
            checked, repaired, ..
        } = reply;
        let message = format!("{checked} jobs checked, {repaired} errors repaired");
        if repaired == 0 {
            checks.push(Check::ok(name, message));
        } else if repaired > LISTED_MAX as u64 {
            let fix = "run `windlass audit` to check whether new errors appear";
            checks.push(Check::warn(name, message, fix));
        }
    }
    Ok(())
}
