//! The scripts, built once per layout with different key names.

use std::sync::LazyLock;

use windlass_redis_link::raw_client::RawScript;

use super::keys::WorqrLayout;

/// One script for both layouts.
#[derive(Debug)]
pub(super) struct LayoutScripts {
    released: RawScript,
    document: RawScript,
}

impl LayoutScripts {
    pub(super) fn for_layout(&'static self, layout: WorqrLayout) -> &'static RawScript {
        match layout {
            WorqrLayout::Released => &self.released,
            WorqrLayout::Document => &self.document,
        }
    }
}

const RELEASED: &str = include_str!("../../lua/worqr/lib/released.lua");
const DOCUMENT: &str = include_str!("../../lua/worqr/lib/document.lua");
const LIVENESS: &str = include_str!("../../lua/worqr/lib/liveness.lua");
const NOTIFY: &str = include_str!("../../lua/worqr/lib/notify.lua");
const PUT_BACK: &str = include_str!("../../lua/worqr/lib/put_back.lua");

macro_rules! scripts {
    ($($name:ident: $released:literal, $document:literal, [$($part:ident),*];)+) => {
        $(pub(super) static $name: LazyLock<LayoutScripts> = LazyLock::new(|| LayoutScripts {
            released: RawScript::new(&[
                RELEASED,
                $($part,)*
                include_str!(concat!("../../lua/worqr/", $released)),
            ]),
            document: RawScript::new(&[
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
    BRIDGED: "bridged.lua", [];
    CANCEL: "cancel.lua", [];
    DELETE: "delete.lua", [];
    READ_DELETED: "read_deleted.lua", [];
    ENQUEUE: "enqueue.lua", [];
    EXPIRED: "expired.lua", [LIVENESS];
    FAIL_WORKER: "fail_worker.lua", [LIVENESS, NOTIFY, PUT_BACK];
    FINISH: "finish.lua", [];
    FREE_LOCKS: "free_locks.lua", [];
    KEEP_ALIVE: "keep_alive.lua", [LIVENESS];
    REQUEST_WORK: "request_work.lua", [NOTIFY];
    START: "start.lua", [LIVENESS];
    START_WORK: "start_work.lua", [LIVENESS, NOTIFY];
    START_WORKER: "start_worker.lua", [];
    STOP: "stop.lua", [NOTIFY, PUT_BACK];
    STOP_WORK: "stop_work.lua", [NOTIFY, PUT_BACK];
}

scripts! {
    PROCESSES: "processes_released.lua", "processes_document.lua", [];
}
