//! The output of a check: each step with its time, skipped steps, and a summary.

use std::time::{Duration, Instant};

use super::steps::Step;

/// Progress of one check.
pub(super) struct Report {
    started: Instant,
    step_started: Instant,
    times: Vec<(&'static str, Duration)>,
    not_run: Vec<(&'static str, &'static str)>,
}

impl Report {
    pub(super) fn start() -> Self {
        let now = Instant::now();
        Self {
            started: now,
            step_started: now,
            times: Vec::new(),
            not_run: Vec::new(),
        }
    }

    pub(super) fn begin(&mut self, step: &Step) {
        println!("\n==> {}: {}", step.name, step.shown());
        self.step_started = Instant::now();
    }

    pub(super) fn end(&mut self, name: &'static str) {
        let time = self.step_started.elapsed();
        println!("--> {name} took {}", seconds(time));
        self.times.push((name, time));
    }

    pub(super) fn not_run(&mut self, name: &'static str, why: &'static str) {
        println!("\n==> {name}: not run, {why}");
        self.not_run.push((name, why));
    }

    pub(super) fn failed(&self, step: &Step, failure: &str) {
        let passed = self.times.len().saturating_sub(1);
        let total = seconds(self.started.elapsed());
        println!(
            "\ncheck failed at {}, after {passed} passed steps and {total}",
            step.name
        );
        println!("why: {failure}");
        println!("next: {}", step.next);
    }

    pub(super) fn passed(&self) {
        println!("\n{}", self.summary(self.started.elapsed()));
    }

    /// One line per step, then the summary line.
    fn summary(&self, total: Duration) -> String {
        let mut lines: Vec<String> = Vec::new();
        for (name, time) in &self.times {
            lines.push(format!("  {name:<10} {:>9}", seconds(*time)));
        }
        for (name, why) in &self.not_run {
            lines.push(format!("  {name:<10} {:>9}  {why}", "not run"));
        }
        let not_run = match self.not_run.len() {
            0 => String::new(),
            count => format!(", {count} not run"),
        };
        lines.push(format!(
            "\ncheck passed: {} steps in {}{not_run}",
            self.times.len(),
            seconds(total)
        ));
        lines.join("\n")
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_was_not_run_is_named_in_the_summary() {
        let mut report = Report::start();
        report.times.push(("fmt", Duration::from_millis(1250)));
        report.not_run.push(("deny", "cargo-deny is not installed"));

        let summary = report.summary(Duration::from_secs(2));

        assert!(summary.contains("fmt            1.2 s"), "{summary}");
        assert!(
            summary.contains("not run  cargo-deny is not installed"),
            "{summary}"
        );
        assert!(
            summary.ends_with("\ncheck passed: 1 steps in 2.0 s, 1 not run"),
            "{summary}"
        );
    }
}
