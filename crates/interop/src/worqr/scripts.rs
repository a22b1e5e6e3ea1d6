//! The scripts, each once per layout: the same steps on other names.

use std::sync::LazyLock;

use windlass_store_redis::guest::GuestScript;

use super::keys::Layout;

/// One operation on either layout.
#[derive(Debug)]
pub(super) struct Pair {
    released: GuestScript,
    document: GuestScript,
}

impl Pair {
    pub(super) fn of(&'static self, layout: Layout) -> &'static GuestScript {
        match layout {
            Layout::Released => &self.released,
            Layout::Document => &self.document,
        }
    }
}

const RELEASED: &str = include_str!("../../lua/worqr/lib/released.lua");
const DOCUMENT: &str = include_str!("../../lua/worqr/lib/document.lua");
const LIFE: &str = include_str!("../../lua/worqr/lib/life.lua");
const NOTIFY: &str = include_str!("../../lua/worqr/lib/notify.lua");
const PUT_BACK: &str = include_str!("../../lua/worqr/lib/put_back.lua");

macro_rules! scripts {
    ($($name:ident: $released:literal, $document:literal, [$($part:ident),*];)+) => {
        $(pub(super) static $name: LazyLock<Pair> = LazyLock::new(|| Pair {
            released: GuestScript::new(&[
                RELEASED,
                $($part,)*
                include_str!(concat!("../../lua/worqr/", $released)),
            ]),
            document: GuestScript::new(&[
                DOCUMENT,
                $($part,)*
                include_str!(concat!("../../lua/worqr/", $document)),
            ]),
        });)+
    };
    ($($name:ident: $file:literal, [$($part:ident),*];)+) => {
        scripts! { $($name: $file, $file, [$($part),*];)+ }
    };
}

scripts! {
    CANCEL: "cancel.lua", [];
    DELETE: "delete.lua", [];
    DELETED: "deleted.lua", [];
    ENQUEUE: "enqueue.lua", [];
    EXPIRED: "expired.lua", [LIFE];
    FAIL_WORKER: "fail_worker.lua", [LIFE, NOTIFY, PUT_BACK];
    FINISH: "finish.lua", [];
    FREE: "free.lua", [];
    KEEP_ALIVE: "keep_alive.lua", [LIFE];
    REQUEST_WORK: "request_work.lua", [NOTIFY];
    START: "start.lua", [LIFE];
    START_WORK: "start_work.lua", [LIFE, NOTIFY];
    START_WORKER: "start_worker.lua", [];
    STOP: "stop.lua", [NOTIFY, PUT_BACK];
    STOP_WORK: "stop_work.lua", [NOTIFY, PUT_BACK];
}

scripts! {
    PROCESSES: "processes_released.lua", "processes_document.lua", [];
}
