//! The CPU time that many schedules take the server. Prints it; run it by hand:
//!
//! ```text
//! cargo test -p windlass-store-redis --test cost schedules -- --ignored --nocapture
//! ```

use crate::open;

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

/// The CPU time of the server so far, in microseconds.
fn cpu_us(server: &windlass_testkit::redis::Server) -> f64 {
    let text = server.command(&["INFO", "cpu"]).ok().text();
    let names = ["used_cpu_user:", "used_cpu_sys:"];
    let lines = text.lines().map(str::trim);
    let seconds = lines.filter_map(|line| names.iter().find_map(|name| line.strip_prefix(name)));
    let seconds = seconds.map(|text| text.parse::<f64>().unwrap());
    seconds.sum::<f64>() * 1e6
}
