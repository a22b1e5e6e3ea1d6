//! The changes, each one script; every one begins with `layout.lua`.

use std::sync::LazyLock;

use windlass_store_redis::guest::GuestScript;

macro_rules! scripts {
    ($($name:ident: $file:literal,)+) => {
        $(pub(super) static $name: LazyLock<GuestScript> = LazyLock::new(|| {
            GuestScript::new(&[
                include_str!("../../lua/blueque/layout.lua"),
                include_str!(concat!("../../lua/blueque/", $file, ".lua")),
            ])
        });)+
    };
}

scripts! {
    ADOPT: "adopt",
    BEAT: "beat",
    CONDEMN: "condemn",
    COUNT: "count",
    DELETE: "delete",
    DUE: "due",
    ENQUEUE: "enqueue",
    FIGURES: "figures",
    FINISH: "finish",
    FORGET: "forget",
    JOIN: "join",
    LEAVE: "leave",
    LISTEN: "listen",
    RECORDS: "records",
    RESCUE: "rescue",
    START: "start",
}
