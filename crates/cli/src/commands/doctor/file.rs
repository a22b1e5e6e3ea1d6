//! The file of an embedded store: its engine, its settings and who may read it.

use std::path::Path;

use windlass::sqlite::Info;

use super::{Check, Status};

/// Looks at the facts about the file.
pub(super) fn examine(path: &Path, info: &Info, checks: &mut Vec<Check>) {
    checks.push(Check::ok(
        "sqlite",
        format!("version {}", info.sqlite_version),
    ));
    checks.push(Check::ok(
        "schema",
        format!("version {}", info.schema_version),
    ));
    checks.push(Check::ok("size", format!("{} bytes", info.file_bytes)));
    checks.push(if info.journal_mode.eq_ignore_ascii_case("wal") {
        Check::ok("journal", "wal")
    } else {
        Check::new(
            Status::Fail,
            "journal",
            format!(
                "{} instead of wal: readers and writers block each other",
                info.journal_mode
            ),
            "put the file on a local disk and open it again",
        )
    });
    checks.push(if ["full", "extra"].contains(&info.synchronous.as_str()) {
        Check::ok(
            "synchronous",
            format!("{}: what is accepted is on disk", info.synchronous),
        )
    } else {
        Check::new(
            Status::Warn,
            "synchronous",
            format!(
                "{}: a loss of power may lose accepted jobs",
                info.synchronous
            ),
            "let the programs that use it open it with `Synchronous::Full`, as they do unless told otherwise",
        )
    });
    checks.push(mode(path, info.mode));
}

/// Looks at what reading the whole file brought up.
pub(super) fn examine_pages(faults: Vec<String>, checks: &mut Vec<Check>) {
    if faults.is_empty() {
        checks.push(Check::ok("pages", "every page is whole"));
    }
    for fault in faults {
        let fix = "stop all workers, copy the file and restore a backup";
        checks.push(Check::new(Status::Fail, "pages", fault, fix));
    }
}

fn mode(path: &Path, mode: u32) -> Check {
    let bits = mode & 0o777;
    let for_others = bits % 0o100;
    if for_others == 0 {
        return Check::ok("permissions", format!("{bits:04o}"));
    }
    Check::new(
        Status::Warn,
        "permissions",
        format!("{bits:04o}: others on this machine may read or change the jobs"),
        format!("chmod 600 {:?}", path.display().to_string()),
    )
}

#[cfg(test)]
mod tests {
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
