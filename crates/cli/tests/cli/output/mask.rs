//! Masks values that differ between runs: times, ids, tokens, ports, ages.

/// Text before a number that varies.
const BEFORE_NUMBERS: [&str; 27] = [
    "\"oldest_ms\":",
    "\"next_due_ms\":",
    "\"last_seen_ms\":",
    "\"last_minute\":{\"enqueued\":",
    "\"finished\":",
    "last minute in ",
    "last minute out ",
    // On a busy machine the demo may rescue more jobs.
    "\"accepted\":30,\"succeeded\":",
    "\"succeeded\":N,\"dead\":",
    "\"retried\":",
    "\"retried\":N,\"rescued\":",
    "\"seconds\":",
    "\"jobs_per_second\":",
    "_per_s\":",
    "\"ratio\":{\"enqueue\":",
    "N,\"process\":",
    "\"p50\":",
    "\"p99\":",
    "\"sqlite\",\"status\":\"ok\",\"message\":\"version ",
    "sqlite: version ",
    "http://127.0.0.1:",
    "\"bytes_before\":",
    "\"bytes_after\":",
    "compacted from ",
    "compacted from N to ",
    "\"file\":\"copy.db\",\"bytes\":",
    "copy.db: ",
];

/// Lines of which only the beginning is stable.
const LOOSE_LINES: [&str; 8] = [
    "finished ",
    "retried ",
    "rescued ",
    "time ",
    "wait time ",
    "enqueue  ",
    "process  ",
    "lateness: ",
];

/// Checks of the doctor that depend on the machine; their result is masked.
const LOOSE_CHECKS: [&str; 3] = ["latency", "space", "size"];

/// Replaces everything that varies with a placeholder.
pub(super) fn mask(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        // The fix of a masked check is masked too.
        let is_loose = lines.last().is_some_and(|last| last.ends_with(": …"));
        if !(is_loose && line.starts_with("      fix: ")) {
            lines.push(mask_line(line));
        }
    }
    let masked = |line: String| line + "\n";
    if lines.iter().map(String::as_str).eq(text.lines()) {
        return lines.into_iter().map(masked).collect();
    }
    // Column widths depend on the values.
    let lines = lines.iter().map(|line| squeeze(line));
    lines.map(masked).collect()
}

fn mask_line(line: &str) -> String {
    let loose = LOOSE_LINES.iter().find(|start| line.starts_with(**start));
    if let Some(start) = loose {
        return format!("{}  …", start.trim_end());
    }
    let folder = std::env::temp_dir();
    let mut text = line.replace(env!("CARGO_PKG_VERSION"), "VERSION");
    text = mask_words(&text);
    for before in BEFORE_NUMBERS {
        text = mask_after(&text, before);
    }
    for check in LOOSE_CHECKS {
        text = mask_check(&text, check);
    }
    // The folder may be a symlink and have two names.
    let real = folder.canonicalize().unwrap_or_else(|_| folder.clone());
    for folder in [real, folder] {
        let folder = folder.display().to_string();
        text = mask_path(&text, folder.trim_end_matches('/'));
    }
    text
}

/// Masks a check of the doctor, as text or JSON.
fn mask_check(text: &str, name: &str) -> String {
    let is_line = text.split_once(": ").is_some_and(|(start, _)| {
        let (status, named) = start.split_at_checked(6).unwrap_or_default();
        ["ok    ", "warn  "].contains(&status) && named == name
    });
    if is_line {
        return format!("…  {name}: …");
    }
    let object = format!("{{\"name\":\"{name}\",");
    match text.split_once(&object) {
        Some((start, rest)) => {
            let rest = rest.find('}').map_or("", |at| &rest[at..]);
            format!("{start}{object}…{rest}")
        }
        None => text.to_owned(),
    }
}

/// Masks times, ids, tokens and ages.
fn mask_words(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-:.".contains(c);
    let mut masked = String::new();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (word, more) = rest.split_at(end);
        let bare = word.trim_matches([':', '.']);
        masked += &match name_of(bare) {
            Some(name) if !bare.is_empty() => word.replace(bare, name),
            _ => word.to_owned(),
        };
        let next = more.find(is_part).unwrap_or(more.len());
        masked += &more[..next];
        rest = &more[next..];
    }
    masked
}

fn name_of(word: &str) -> Option<&'static str> {
    let is_id = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase();
    let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if word.len() >= 20 && word.starts_with("20") && word.ends_with('Z') {
        Some("TIME")
    } else if is_token(word) {
        Some("TOKEN")
    } else if word.len() == 26 && word.starts_with('0') && word.chars().all(is_id) {
        Some("ID")
    } else if word.len() == 16 && word.chars().all(is_hex) {
        Some("BOOT")
    } else if word.len() == 20 && word.starts_with("run-") && word[4..].chars().all(is_hex) {
        Some("run-NONCE")
    } else if word.len() == 64 && word.chars().all(is_hex) {
        Some("HEX")
    } else if is_age(word) {
        Some("AGE")
    } else {
        None
    }
}

fn is_token(word: &str) -> bool {
    word.split_once('-').is_some_and(|(number, nonce)| {
        let is_number = number.len() == 16 && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number && nonce.len() == 8 && nonce.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

fn is_age(word: &str) -> bool {
    word.strip_suffix('s').is_some_and(|number| {
        number.starts_with(|c: char| c.is_ascii_digit())
            && number
                .chars()
                .all(|c| c.is_ascii_digit() || "dhms.".contains(c))
    })
}

/// Returns the token in an output, if there is one.
pub(super) fn token(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let mut words = text.split(|c| !is_part(c));
    words.find(|word| is_token(word)).map(str::to_owned)
}

fn mask_after(text: &str, before: &str) -> String {
    let mut parts = text.split(before);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let blank = part.len() - part.trim_start_matches(' ').len();
        let (blank, number) = part.split_at(blank);
        let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = if rest.len() < number.len() { "N" } else { "" };
        masked.extend([before, blank, number, rest]);
    }
    masked
}

/// Masks paths in the folder for temporary files.
fn mask_path(text: &str, folder: &str) -> String {
    let folder = format!("{folder}/");
    let mut parts = text.split(&folder);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.find([' ', '"', '/']).map_or("", |at| &part[at..]);
        masked.extend(["FOLDER", rest]);
    }
    masked
}

fn squeeze(line: &str) -> String {
    let mut text = line.trim_end().to_owned();
    while text.contains("   ") {
        text = text.replace("   ", "  ");
    }
    text
}

#[test]
fn what_differs_is_masked_and_the_rest_is_not() {
    for (text, masked) in [
        (
            "lease valid until 2026-11-16T07:45:27.835Z\n",
            "lease valid until TIME\n",
        ),
        ("01m7hmvhdqacwh4d2zehq2p8q0", "ID\n"),
        ("1763279127835000-0a1b2c3d  1  x", "TOKEN  1  x\n"),
        ("oldest     51ms", "oldest  AGE\n"),
        ("w-1  0.3s ago", "w-1  AGE ago\n"),
        (
            "{\"oldest_ms\":12,\"paused\":false}",
            "{\"oldest_ms\":N,\"paused\":false}\n",
        ),
        ("oldest     1s", "oldest  AGE\n"),
        ("oldest     1m1s25ms", "oldest  AGE\n"),
        ("id    1", "id    1\n"),
        ("ok    space: 7 MiB", "…  space: …\n"),
        (
            "warn  space: 7 MiB\n      fix: free disk space",
            "…  space: …\n",
        ),
        (
            "{\"name\":\"space\",\"status\":\"ok\"}",
            "{\"name\":\"space\",…}\n",
        ),
    ] {
        assert_eq!(mask(text), masked);
    }
}
