//! Invalid benchmark runs fail with help.

use super::sandbox::{Sandbox, text};

#[test]
fn invalid_flags_are_rejected() {
    let sandbox = Sandbox::new();
    for line in [
        "bench --private",
        "bench --store memory:",
        "bench --payload 2",
        "bench --batch 0",
        "bench --backlog 0",
        "bench --rounds 0",
        "bench --within 0s",
        "bench nothing",
    ] {
        let ran = sandbox.run(&format!("{line} --json")).exits(2);
        assert!(!text(&ran.error()["message"]).is_empty(), "{line}");
    }
}
