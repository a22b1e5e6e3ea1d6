//! A full disk: enqueue fails with a clear error, no job is lost, and workers continue.

use std::path::Path;

use serde_json::Value;

use super::bad_store::{in_namespace, program, quoted};
use super::sandbox::Sandbox;

/// Fills a small disk with jobs, runs commands on it, then frees space. `step` prints the name, exit
/// code, stdout and stderr of a command in one line.
const SCRIPT: &str = r#"
step() { name=$1; shift; out=$("$@" 2>"$err"); echo "$name|$?|$out|$(cat "$err")"; }
cd "$disk"
export WINDLASS_STORE=sqlite:jobs.db
head -c 4000000 /dev/zero > filler
payload=$(head -c 100000 /dev/zero | tr '\0' x)
accepted=0
while "$program" enqueue q "$payload" --json > /dev/null 2> "$err"; do accepted=$((accepted + 1)); done
echo "accepted|$accepted||"
step refused "$program" enqueue q "$payload" --json
step stats "$program" queue stats q --json
head -c 100000000 /dev/zero > rest 2> /dev/null
step brim "$program" enqueue q "$payload" --json
step brim_stats "$program" queue stats q --json
step brim_claim "$program" claim q --json
rm rest
claimed=0
while [ $claimed -lt 40 ] && [ $claimed -lt $((accepted - 1)) ]; do
    job=$("$program" claim q --json) || break
    id=${job#*\"id\":\"}; id=${id%%\"*}; token=${job#*\"token\":\"}; token=${token%%\"*}
    "$program" complete q "$id" --token "$token" --json > /dev/null || break
    claimed=$((claimed + 1))
done
echo "completed|$claimed||"
rm filler
step again "$program" enqueue q "$payload" --json
step end "$program" queue stats q --json
"#;

/// Parses a printed line: exit code or number, stdout, stderr.
fn line<'a>(text: &'a str, name: &str) -> (u64, &'a str, &'a str) {
    let found = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix('|'))
        .unwrap_or_else(|| panic!("{name} is missing in {text}"));
    let mut parts = found.split('|');
    let number = parts.next().unwrap().parse().unwrap();
    (number, parts.next().unwrap(), parts.next().unwrap())
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn a_full_disk_refuses_jobs_loses_none_and_lets_workers_go_on() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let setup = format!("mount -t tmpfs -o size=20m tmpfs {}", quoted(&disk));
    let variables = format!(
        "disk={} program={} err={}",
        quoted(&disk),
        program(),
        quoted(&sandbox.path("err"))
    );

    let ran = in_namespace(&setup, &format!("{variables}\n{SCRIPT}")).ok();

    let text = ran.text();
    let (accepted, ..) = line(&text, "accepted");
    assert!(accepted >= 20, "{text}");
    for name in ["refused", "brim"] {
        let (code, out, err) = line(&text, name);
        assert_eq!((code, out), (75, ""), "{name}: {err}");
        let error = json(err);
        assert_eq!(error["error"]["code"], "store_full", "{error}");
        let help = error["error"]["help"].as_str().unwrap();
        assert!(help.contains("free disk space"), "{help}");
    }
    let (code, out, err) = line(&text, "stats");
    assert_eq!(code, 0, "{err}");
    assert_eq!(json(out)["ready"], accepted);
    // Without a free byte, commands either work or report the full disk.
    for name in ["brim_stats", "brim_claim"] {
        let (code, _, err) = line(&text, name);
        let is_clear = code == 0 || json(err)["error"]["code"] == "store_full";
        assert!(is_clear, "{name}: {code}: {err}");
    }
    let (completed, ..) = line(&text, "completed");
    assert_eq!(completed, 40.min(accepted - 1), "{text}");
    assert_eq!(line(&text, "again").0, 0, "{text}");
    let end = json(line(&text, "end").1);
    let total = end["ready"].as_u64().unwrap() + end["running"].as_u64().unwrap();
    assert_eq!(total, accepted + 1 - completed, "{end}");
}

/// Fills a small disk to the reserve, then deletes every job.
const PURGE: &str = r#"
step() { name=$1; shift; out=$("$@" 2>"$err"); echo "$name|$?|$out|$(cat "$err")"; }
cd "$disk"
export WINDLASS_STORE=sqlite:jobs.db
payload=$(head -c 100000 /dev/zero | tr '\0' x)
while "$program" enqueue q "$payload" --json > /dev/null 2> "$err"; do :; done
step refused "$program" enqueue q "$payload" --json
step purge "$program" queue purge q --json
step again "$program" enqueue q "$payload" --json
step size stat -c %s jobs.db
step compact "$program" store compact --json
step compacted stat -c %s jobs.db
step stats "$program" queue stats q --json
"#;

#[test]
fn deleted_jobs_make_room_on_a_full_disk_and_compact_gives_it_back() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let setup = format!("mount -t tmpfs -o size=20m tmpfs {}", quoted(&disk));
    let variables = format!(
        "disk={} program={} err={}",
        quoted(&disk),
        program(),
        quoted(&sandbox.path("err"))
    );

    let ran = in_namespace(&setup, &format!("{variables}\n{PURGE}")).ok();

    let text = ran.text();
    let (code, _, err) = line(&text, "refused");
    assert_eq!(code, 75, "{err}");
    let error = json(err);
    let help = error["error"]["help"].as_str().unwrap();
    assert!(help.contains("windlass queue purge"), "{help}");
    for name in ["purge", "again", "compact"] {
        assert_eq!(line(&text, name).0, 0, "{name}: {text}");
    }
    let bytes = |name: &str| line(&text, name).1.parse::<u64>().unwrap();
    let compacted = json(line(&text, "compact").1);
    assert_eq!(compacted["bytes_before"], bytes("size"), "{compacted}");
    assert_eq!(compacted["bytes_after"], bytes("compacted"), "{compacted}");
    assert!(bytes("size") > 8_000_000, "{text}");
    assert!(bytes("compacted") < 400_000, "{text}");
    assert_eq!(json(line(&text, "stats").1)["ready"], 1, "{text}");
}

#[test]
fn a_store_cannot_be_made_on_a_full_disk_and_says_so() {
    let sandbox = Sandbox::new();
    let disk = sandbox.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let setup = format!(
        "mount -t tmpfs -o size=64k tmpfs {0} && head -c 64000 /dev/zero > {0}/filler",
        quoted(&disk)
    );
    let store = format!("sqlite:{}/jobs.db", disk.display());
    let line = format!(
        "{} enqueue q x --json --store {}",
        program(),
        quoted(Path::new(&store))
    );

    let ran = in_namespace(&setup, &line).exits(75);

    assert_eq!(ran.error()["code"], "store_full");
}
