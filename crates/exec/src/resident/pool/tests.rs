//! Credits, loners, and answers that come too late.

use super::*;
use crate::{sample, talk};

struct Desk {
    pool: Pool,
    lines: Vec<mpsc::UnboundedReceiver<Outgoing>>,
}

impl Desk {
    /// So many processes with room for two jobs each.
    fn new(processes: usize) -> Self {
        let pool = Pool::new(processes);
        let lines = (0..processes).map(|seat| {
            let (sender, lines) = mpsc::unbounded_channel();
            pool.begin(life(seat));
            pool.open(life(seat), &sender, 2);
            lines
        });
        let lines = lines.collect();
        Self { pool, lines }
    }

    fn take(&self, id: &str, is_alone: bool) -> Option<Held<'_>> {
        take(&mut self.pool.wish(is_alone), id)
    }

    /// The processes read what was written to them.
    fn read_all(&mut self) {
        for lines in &mut self.lines {
            while let Ok(line) = lines.try_recv() {
                line.is_begun.unwrap().store(true, Ordering::Release);
            }
        }
    }
}

fn life(seat: usize) -> Life {
    Life { seat, number: 1 }
}

fn take<'a>(wish: &mut Wish<'a>, id: &str) -> Option<Held<'a>> {
    let mut job = sample::job(b"");
    job.id = windlass_core::JobId::new(id).unwrap();
    let context = sample::context_of(job);
    let log = Arc::new(JobLog::new(context.clone(), talk::silent()));
    wish.take(&context, &log, b"line\n")
}

fn who(id: &str) -> Who {
    Who {
        id: id.to_owned(),
        token: Some("7-0000beef".to_owned()),
    }
}

#[test]
fn a_process_never_has_more_jobs_than_its_credits() {
    let desk = Desk::new(2);
    let held: Vec<_> = ["a", "b", "c", "d"]
        .iter()
        .filter_map(|id| desk.take(id, false))
        .collect();
    assert_eq!(held.len(), 4);
    assert_eq!(
        (desk.pool.under_way(life(0)), desk.pool.under_way(life(1))),
        (2, 2)
    );
    assert!(desk.take("e", false).is_none());
    desk.pool
        .answer(life(0), &who("a"), Outcome::done())
        .unwrap();
    assert!(desk.take("e", false).is_some());
}

#[test]
fn a_process_may_ask_for_fewer_jobs_never_for_more() {
    let desk = Desk::new(1);
    desk.pool.lower(life(0), 100);
    let first = desk.take("a", false);
    desk.pool.lower(life(0), 1);
    assert!(first.is_some() && desk.take("b", false).is_none());
}

#[test]
fn answers_are_matched_by_id_and_token_in_any_order() {
    let desk = Desk::new(1);
    let (mut a, mut b) = (
        desk.take("a", false).unwrap(),
        desk.take("b", false).unwrap(),
    );
    let foreign = Who {
        token: Some("8-0000beef".to_owned()),
        ..who("a")
    };
    assert!(
        desk.pool
            .answer(life(0), &foreign, Outcome::done())
            .is_err()
    );
    assert!(
        desk.pool
            .answer(life(0), &who("x"), Outcome::done())
            .is_err()
    );
    desk.pool
        .answer(life(0), &who("b"), Outcome::Release)
        .unwrap();
    let by_id = Who {
        token: None,
        ..who("a")
    };
    desk.pool.answer(life(0), &by_id, Outcome::done()).unwrap();
    assert!(
        desk.pool.answer(life(0), &by_id, Outcome::done()).is_err(),
        "the second answer"
    );
    assert!(matches!(
        a.end.try_recv(),
        Ok(End::Answered(Outcome::Done(None)))
    ));
    assert!(matches!(
        b.end.try_recv(),
        Ok(End::Answered(Outcome::Release))
    ));
}

#[test]
fn a_late_answer_is_refused_and_frees_its_credit() {
    let desk = Desk::new(1);
    let (a, _b) = (
        desk.take("a", false).unwrap(),
        desk.take("b", false).unwrap(),
    );
    assert!(!a.give_up(), "it has other work");
    drop(a);
    assert!(
        desk.take("c", false).is_none(),
        "the process still works on it"
    );
    assert!(
        desk.pool
            .answer(life(0), &who("a"), Outcome::done())
            .is_err()
    );
    assert!(desk.take("c", false).is_some());
}

#[test]
fn a_process_with_nothing_but_given_up_jobs_is_ended() {
    let desk = Desk::new(1);
    let (a, b) = (
        desk.take("a", false).unwrap(),
        desk.take("b", false).unwrap(),
    );
    assert!(!a.give_up());
    assert!(b.give_up());
}

#[test]
fn a_loner_gets_an_empty_process_and_keeps_it_for_itself() {
    let desk = Desk::new(1);
    let _a = desk.take("a", false).unwrap();
    let mut wish = desk.pool.wish(true);
    assert!(take(&mut wish, "loner").is_none());
    assert!(
        desk.take("b", false).is_none(),
        "room is kept for the loner"
    );
    desk.pool
        .answer(life(0), &who("a"), Outcome::done())
        .unwrap();
    let _loner = take(&mut wish, "loner").unwrap();
    drop(wish);
    assert!(desk.take("b", false).is_none());
    desk.pool
        .answer(life(0), &who("loner"), Outcome::done())
        .unwrap();
    assert!(desk.take("b", false).is_some());
}

#[test]
fn a_loner_that_goes_away_lets_others_in() {
    let desk = Desk::new(1);
    let _a = desk.take("a", false).unwrap();
    let mut wish = desk.pool.wish(true);
    assert!(take(&mut wish, "loner").is_none());
    drop(wish);
    assert!(desk.take("b", false).is_some());
}

#[test]
fn at_a_crash_only_jobs_that_the_process_may_have_seen_are_harmed() {
    let mut desk = Desk::new(1);
    let mut seen = take(&mut desk.pool.wish(false), "seen")
        .map(|held| held_end(held))
        .unwrap();
    desk.read_all();
    let mut unseen = take(&mut desk.pool.wish(false), "unseen")
        .map(|held| held_end(held))
        .unwrap();
    let crashed = |was_alone| End::Crashed {
        why: "x".to_owned(),
        was_alone,
    };
    desk.pool.close(life(0), crashed);
    assert!(matches!(
        seen.try_recv(),
        Ok(End::Crashed {
            was_alone: false,
            ..
        })
    ));
    assert!(matches!(unseen.try_recv(), Ok(End::Unharmed)));
    assert!(desk.take("next", false).is_none(), "no process, no job");
    assert!(
        desk.pool
            .answer(life(0), &who("seen"), Outcome::done())
            .is_err()
    );
}

/// The end of a job, without giving it up.
fn held_end(held: Held<'_>) -> oneshot::Receiver<End> {
    let (_, other) = oneshot::channel();
    let mut held = std::mem::ManuallyDrop::new(held);
    std::mem::replace(&mut held.end, other)
}
