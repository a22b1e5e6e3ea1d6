//! The scripts. Each one starts with `layout.lua`.

use std::sync::LazyLock;

use windlass_redis_link::raw_client::RawScript;

macro_rules! scripts {
    ($($name:ident: $file:literal,)+) => {
        $(pub(super) static $name: LazyLock<RawScript> = LazyLock::new(|| {
            RawScript::new(&[
                include_str!("../../lua/blueque/layout.lua"),
                include_str!(concat!("../../lua/blueque/", $file, ".lua")),
            ])
        });)+
    };
}

scripts! {
    CLAIM_ORPHAN: "claim_orphan",
    DECLARE_LOST: "declare_lost",
    DELETE: "delete",
    DUE: "due",
    ENQUEUE: "enqueue",
    FINISH: "finish",
    FORGET: "forget",
    HEARTBEAT: "heartbeat",
    JOIN: "join",
    LEAVE: "leave",
    LISTEN: "listen",
    RECORDS: "records",
    RECOUNT: "recount",
    RECOVER: "recover",
    START: "start",
    STATS: "stats",
}
