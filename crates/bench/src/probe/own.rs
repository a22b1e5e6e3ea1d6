//! CPU time of this process.

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far, over all threads, in microseconds.
#[expect(clippy::cast_precision_loss, reason = "the value stays far below 2^53")]
pub(crate) fn own_cpu_us() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}
