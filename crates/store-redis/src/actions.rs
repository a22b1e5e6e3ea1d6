//! The log of operator actions: arguments and replies of the scripts in `lua/actions`.

use bytes::Bytes;
use redis::Value;
use windlass_core::action::{ACTIONS_MAX, Action, ActionRecord};
use windlass_core::store::{Cursor, Page};
use windlass_core::{QueueName, Result, Timestamp};
use windlass_redis_link::reply::Reply;

use crate::codec::damaged;
use crate::partition::{number_arg, text_arg};

pub(crate) fn log_args(action: &Action) -> Vec<Bytes> {
    let queue = action.queue.as_ref().map_or("", |queue| queue.as_str());
    let request = action.request.as_deref().unwrap_or_default();
    // No text has a control character.
    let fields = [
        &action.who,
        &action.interface,
        &action.op,
        queue,
        &action.target,
        request,
    ];
    vec![Bytes::from(fields.join("\t")), number_arg(ACTIONS_MAX)]
}

pub(crate) fn list_args(before: Option<u64>, limit: usize) -> Vec<Bytes> {
    let before = before.map(|before| before.to_string()).unwrap_or_default();
    // One more shows whether there is another page.
    vec![text_arg(&before), number_arg(limit + 1)]
}

pub(crate) fn read_page(value: Value, limit: usize) -> Result<Page<ActionRecord>> {
    let mut reply = Reply::list(value)?;
    let mut items = Vec::new();
    while !reply.is_empty() {
        items.push(read(&reply.text()?)?);
    }
    let has_more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| has_more);
    let next = last.map(|record| Cursor(record.number.to_string()));
    Ok(Page { items, next })
}

fn read(text: &str) -> Result<ActionRecord> {
    let bad = || damaged("action", "malformed");
    let fields: Vec<&str> = text.split('\t').collect();
    let [number, at, who, interface, op, queue, target, request] = fields[..] else {
        return Err(bad());
    };
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Ok(ActionRecord {
        number: number.parse().map_err(|_| bad())?,
        at: Timestamp::from_ms(at.parse().map_err(|_| bad())?),
        action: Action {
            who: who.to_owned(),
            interface: interface.to_owned(),
            op: op.to_owned(),
            queue: some(queue).map(QueueName::new).transpose()?,
            target: target.to_owned(),
            request: some(request),
        },
    })
}
