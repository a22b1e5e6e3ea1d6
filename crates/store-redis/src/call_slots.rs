//! Slots number the calls of one client to one partition, so that a script recognises a call that is
//! sent again after its reply was lost.
//!
//! A call occupies a slot from its first attempt to its reply. The script stores the number and the
//! reply of the latest call of each slot, so what it stores does not grow with the number of calls.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use windlass_core::BootId;

use crate::codec::names::CALLS_FIELD;

/// The slots of one client in one partition.
#[derive(Debug)]
pub(crate) struct CallSlots {
    /// Starts the name of each slot; no other client has it.
    prefix: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The names of slots without a call, the last one used at the end.
    free: Vec<Bytes>,
    slots: usize,
    calls: u64,
}

/// The slot of a call; free again when dropped.
#[derive(Debug)]
pub(crate) struct CallSlot<'a> {
    slots: &'a CallSlots,
    name: Bytes,
    call: u64,
}

impl CallSlots {
    pub(crate) fn new() -> Self {
        Self {
            prefix: format!("{CALLS_FIELD}{}.", BootId::generate()),
            state: Mutex::default(),
        }
    }

    /// A slot for the next call. A new one is added only if every slot has a call.
    pub(crate) fn take(&self) -> CallSlot<'_> {
        let mut state = self.state();
        state.calls += 1;
        let call = state.calls;
        let name = state.free.pop().unwrap_or_else(|| {
            state.slots += 1;
            Bytes::from(format!("{}{}", self.prefix, state.slots))
        });
        CallSlot {
            slots: self,
            name,
            call,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No statement leaves the contents inconsistent, so a poisoned lock is safe to use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSlot<'_> {
    /// The first arguments of a script that remembers its calls.
    pub(crate) fn args(&self) -> [Bytes; 2] {
        [self.name.clone(), Bytes::from(self.call.to_string())]
    }
}

impl Drop for CallSlot<'_> {
    fn drop(&mut self) {
        let name = std::mem::take(&mut self.name);
        self.slots.state().free.push(name);
    }
}

#[cfg(test)]
mod tests {
    use redis::Value;
    use windlass_core::{NewJob, Store};
    use windlass_testkit::fixture::queue;
    use windlass_testkit::redis::Server;

    use super::*;
    use crate::open::{Options, RedisStore};

    /// A copy of a call that was delayed in the network arrives after a later call in its slot.
    #[tokio::test]
    async fn a_call_that_arrives_after_the_next_one_changes_nothing() {
        let server = Server::start();
        let store = RedisStore::open(&server.url(), Options::default()).await;
        let store = store.expect("the server is up");
        let name = queue("q");
        let created = store.enqueue(&name, Vec::<NewJob>::new()).await;
        created.expect("the queue is created");
        let partition = store.queue(&name).first();
        let send = async |number: &'static str, id: &'static str| {
            let args = ["@client.1", number, "", "0", "0", "1", "", id, "\npayload"];
            let args = args.map(|arg| Bytes::from_static(arg.as_bytes())).to_vec();
            let call = partition.call(&partition.scripts().enqueue, args);
            partition.link().run(&call).await
        };
        let stored = Value::Array(vec![Value::BulkString(b"r".to_vec())]);

        assert_eq!(send("1", "a").await.expect("it is new"), stored);
        assert_eq!(send("3", "b").await.expect("it is new"), stored);
        let late = send("2", "c").await.expect_err("it is late").to_string();
        assert!(late.contains("LATE"), "{late}");
        assert_eq!(send("3", "b").await.expect("it is the latest"), stored);

        let stats = store.stats(&name).await.expect("the queue is read");
        let stats = stats.expect("the queue exists");
        assert_eq!((stats.ready, stats.total.enqueued), (2, 2));
    }

    #[test]
    fn calls_in_flight_have_separate_slots_and_later_calls_have_higher_numbers() {
        let slots = CallSlots::new();
        let (first, second) = (slots.take(), slots.take());
        let [first_slot, first_number] = first.args();
        let [second_slot, second_number] = second.args();
        assert_ne!(first_slot, second_slot);
        assert_eq!(
            (&first_number[..], &second_number[..]),
            (&b"1"[..], &b"2"[..])
        );
        drop(first);
        let third = slots.take();
        assert_eq!(third.args(), [first_slot, Bytes::from_static(b"3")]);
        drop((second, third));
        assert_eq!(slots.state().slots, 2);
    }

    #[test]
    fn no_two_clients_share_a_slot() {
        let (one, other) = (CallSlots::new(), CallSlots::new());
        assert_ne!(one.take().args()[0], other.take().args()[0]);
    }
}
