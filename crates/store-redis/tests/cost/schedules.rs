//! The CPU time that many schedules take the server, and its instructions, which do not depend on the load
//! of the machine. Prints them; run it by hand:
//!
//! ```text
//! cargo test -p windlass-store-redis --test cost print_the_time -- --ignored --nocapture
//! WINDLASS_REDIS_SERVER=$PWD/crates/store-redis/tests/cost/redis-under-callgrind \
//!     cargo test -p windlass-store-redis --test cost print_the_instructions_of_firing -- --ignored --nocapture
//! ```

use crate::instructions::Callgrind;
use crate::open;
use crate::verbs::Meter;

/// The number of schedules, all due at once.
const SCHEDULES: usize = 10_000;

/// Instants settled by one call.
const PAGE: usize = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "prints times: see the top of this file"]
async fn print_the_time_of_many_schedules_due_at_once() {
    let (mut fixture, counters) = open().await;
    fixture.put_schedules(SCHEDULES).await;
    for round in 1..=3 {
        fixture.outlast_delay();
        let mut times = Vec::new();
        for _ in 0..SCHEDULES / PAGE {
            let before = cpu_us(&counters.server);
            fixture.fire(PAGE).await;
            times.push(cpu_us(&counters.server) - before);
        }
        let (all, most) = (
            times.iter().sum::<f64>(),
            times.iter().fold(0.0, |a: f64, b| a.max(*b)),
        );
        let count = f64::from(u32::try_from(SCHEDULES).unwrap());
        println!(
            "round {round}: {:.1} us per instant, the longest call took {most:.0} us",
            all / count
        );
    }
}

/// After 20 rounds the histories are full, and a plan is as long as it gets. There are two pages of schedules:
/// Redis stores the index of a single one as a list.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs valgrind: see the top of this file"]
async fn print_the_instructions_of_firing() {
    let (mut fixture, counters) = open().await;
    let mut callgrind = Callgrind {
        server: counters.server,
    };
    fixture.put_schedules(2 * PAGE).await;
    for round in 1..=24 {
        fixture.outlast_delay();
        callgrind.begin();
        fixture.fire(PAGE).await;
        fixture.fire(PAGE).await;
        if [2, 24].contains(&round) {
            let [per_instant] = callgrind.per_job(2 * PAGE);
            println!("round {round}: {per_instant:.0} instructions per instant");
        }
    }
}

/// The CPU time of the server so far, in microseconds.
fn cpu_us(server: &windlass_testkit::redis::Server) -> f64 {
    let text = server.command(&["INFO", "cpu"]).ok().text();
    let names = ["used_cpu_user:", "used_cpu_sys:"];
    let lines = text.lines().map(str::trim);
    let seconds = lines.filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let seconds = seconds.map(|text| text.parse::<f64>().unwrap());
    seconds.sum::<f64>() * 1e6
}
