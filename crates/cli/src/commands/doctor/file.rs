//! The file of a SQLite store: engine, settings and permissions.

use std::path::Path;

use windlass::sqlite::Info;

use super::Check;

/// Checks the properties of the file.
pub(super) fn examine(path: &Path, info: &Info, checks: &mut Vec<Check>) {
    checks.push(Check::ok(
        "sqlite",
        format!("version {}", info.sqlite_version),
    ));
    checks.push(Check::ok(
        "schema",
        format!("version {}", info.schema_version),
    ));
    checks.push(Check::ok(
        "size",
        format!("{} bytes, {} free inside", info.file_bytes, info.free_bytes),
    ));
    checks.push(if info.journal_mode.eq_ignore_ascii_case("wal") {
        Check::ok("journal", "wal")
    } else {
        Check::fail(
            "journal",
            format!(
                "{} instead of wal, so readers and writers block each other",
                info.journal_mode
            ),
            "move the file to a local disk and open it again",
        )
    });
    checks.push(if ["full", "extra"].contains(&info.synchronous.as_str()) {
        Check::ok(
            "synchronous",
            format!("{}: accepted jobs survive a power loss", info.synchronous),
        )
    } else {
        Check::warn(
            "synchronous",
            format!("{}: a power loss may lose accepted jobs", info.synchronous),
            "open the store with `Synchronous::Full` (the default) in every program that uses it",
        )
    });
    checks.push(mode(path, info.mode));
}

/// Reports the result of the integrity check.
pub(super) fn examine_pages(errors: Vec<String>, checks: &mut Vec<Check>) {
    if errors.is_empty() {
        checks.push(Check::ok("pages", "no corrupt pages"));
    }
    for error in errors {
        let fix = "stop all workers, copy the file, then restore a backup";
        checks.push(Check::fail("pages", error, fix));
    }
}

fn mode(path: &Path, mode: u32) -> Check {
    let bits = mode & 0o777;
    let for_others = bits % 0o100;
    if for_others == 0 {
        return Check::ok("permissions", format!("{bits:04o}"));
    }
    Check::warn(
        "permissions",
        format!("{bits:04o}: other users on this machine can read or change the jobs"),
        format!("chmod 600 {:?}", path.display().to_string()),
    )
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn a_file_that_others_may_read_is_a_warning_with_a_fix() {
        let path = Path::new("jobs.db");
        assert_eq!(mode(path, 0o100_600).status, Status::Ok);

        let check = mode(path, 0o100_644);

        assert_eq!(check.status, Status::Warn);
        assert_eq!(check.fix.unwrap(), "chmod 600 \"jobs.db\"");
    }
}
