//! Readable diffs of replies and dumps.

use std::fmt::{Debug, Write};

use windlass_core::Claim;
use windlass_core::dump::QueueDump;

use super::reply::Reply;

/// The maximum number of lines.
const LINES_MAX: usize = 120;

pub(super) fn of_replies(model: &Reply, subject: &Reply) -> String {
    let mut text = String::new();
    match (model, subject) {
        (Reply::Jobs(model), Reply::Jobs(subject)) => {
            keyed(&mut text, "job", model, subject, |job| job.id.to_string());
        }
        _ => match (model.claim(), subject.claim()) {
            (Some(expected), Some(actual)) => {
                let frame = |claim: &Claim| Claim {
                    jobs: vec![],
                    ..claim.clone()
                };
                lines(&mut text, &frame(expected), &frame(actual));
                keyed(&mut text, "job", &expected.jobs, &actual.jobs, |job| {
                    job.id.to_string()
                });
            }
            _ => lines(&mut text, model, subject),
        },
    }
    if text.is_empty() {
        lines(&mut text, model, subject);
    }
    truncate(&text)
}

pub(super) fn of_dumps(model: Option<&QueueDump>, subject: Option<&QueueDump>) -> String {
    let (Some(model), Some(subject)) = (model, subject) else {
        let exists = |dump: Option<&QueueDump>| {
            if dump.is_some() {
                "exists"
            } else {
                "does not exist"
            }
        };
        return format!("- it {}\n+ it {}", exists(model), exists(subject));
    };
    let mut text = String::new();
    for (priority, pair) in model.ready.iter().zip(&subject.ready).enumerate() {
        if pair.0 != pair.1 {
            let _ = writeln!(text, "ready, priority {priority} (suspects, others):");
            let _ = writeln!(text, "- {:?}\n+ {:?}", pair.0, pair.1);
        }
    }
    keyed(&mut text, "job", &model.jobs, &subject.jobs, |job| {
        job.id.to_string()
    });
    let key = |item: &(_, _)| format!("{:?}", item.0);
    keyed(
        &mut text,
        "unique key",
        &model.unique_keys,
        &subject.unique_keys,
        key,
    );
    let key = |item: &(_, _, _)| format!("{:?}", item.0);
    keyed(
        &mut text,
        "tombstone",
        &model.tombstones,
        &subject.tombstones,
        key,
    );
    keyed(&mut text, "lease", &model.leases, &subject.leases, |l| {
        l.owner.as_str().to_owned()
    });
    keyed(
        &mut text,
        "claim",
        &model.claims,
        &subject.claims,
        |claim| claim.token.to_string(),
    );
    lines(&mut text, &model.stats, &subject.stats);
    lines(&mut text, &model.settings, &subject.settings);
    truncate(&text)
}

/// Compares two lists by key.
fn keyed<T: Debug + PartialEq>(
    text: &mut String,
    what: &str,
    model: &[T],
    subject: &[T],
    key: impl Fn(&T) -> String,
) {
    if model == subject {
        return;
    }
    let order = |items: &[T]| items.iter().map(&key).collect::<Vec<_>>();
    for item in model {
        match subject.iter().find(|other| key(other) == key(item)) {
            Some(other) if other == item => {}
            Some(other) => {
                let _ = writeln!(text, "{what} {}:", key(item));
                lines(text, item, other);
            }
            None => {
                let _ = writeln!(text, "{what} {}:\n- {item:?}\n+ missing", key(item));
            }
        }
    }
    for item in subject {
        if !model.iter().any(|other| key(other) == key(item)) {
            let _ = writeln!(text, "{what} {}:\n- missing\n+ {item:?}", key(item));
        }
    }
    if order(model) != order(subject) {
        let _ = writeln!(
            text,
            "order of {what}s:\n- {:?}\n+ {:?}",
            order(model),
            order(subject)
        );
    }
}

/// Compares the debug output of two values line by line.
fn lines<T: Debug + PartialEq>(text: &mut String, model: &T, subject: &T) {
    if model == subject {
        return;
    }
    let (model, subject) = (format!("{model:#?}"), format!("{subject:#?}"));
    let (model, subject): (Vec<_>, Vec<_>) = (model.lines().collect(), subject.lines().collect());
    if model.len() == subject.len() {
        for (old, new) in model.iter().zip(&subject).filter(|(old, new)| old != new) {
            let _ = writeln!(text, "- {}\n+ {}", old.trim(), new.trim());
        }
        return;
    }
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let head = model.iter().zip(&subject).take_while(same).count();
    let tails = model[head..].iter().rev().zip(subject[head..].iter().rev());
    let tail = tails.take_while(same).count();
    for line in &model[head..model.len() - tail] {
        let _ = writeln!(text, "- {line}");
    }
    for line in &subject[head..subject.len() - tail] {
        let _ = writeln!(text, "+ {line}");
    }
}

fn truncate(text: &str) -> String {
    let mut shown: Vec<_> = text.lines().take(LINES_MAX).collect();
    if text.lines().count() > LINES_MAX {
        shown.push("… and more");
    }
    shown.join("\n")
}
