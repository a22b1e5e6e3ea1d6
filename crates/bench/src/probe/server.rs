//! Statistics of a Redis server.

use std::time::{Duration, Instant};

use redis::aio::MultiplexedConnection;
use windlass::{Result, StoreUrl};

use crate::connection::connect;
use crate::error;
use crate::measure::real;

/// Commands that only clients send. Redis counts commands called by scripts under the same names, so
/// only these show how many were sent.
const SENT: [&str; 12] = [
    "evalsha",
    "eval",
    "fcall",
    "blpop",
    "brpop",
    "blmove",
    "bzpopmin",
    "xread",
    "ping",
    "subscribe",
    "ssubscribe",
    "waitaof",
];

/// How long freeing the memory of removed keys may take.
const FREED_WITHIN: Duration = Duration::from_secs(30);

/// Reads the statistics of a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerProbe(MultiplexedConnection);

/// The statistics at one point in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) cpu_us: f64,
    pub(crate) scripts: f64,
    pub(crate) script_us: f64,
    pub(crate) commands: f64,
    pub(crate) memory: f64,
}

impl ServerProbe {
    /// `None` if the store is not a single plain server, or the user may not read its statistics.
    pub(crate) async fn open(url: &StoreUrl) -> Result<Option<Self>> {
        let Some(probe) = connect(url).await?.map(Self) else {
            return Ok(None);
        };
        Ok(probe.read().await.is_ok().then_some(probe))
    }

    pub(crate) async fn read(&self) -> Result<Reading> {
        let cpu = self.info("cpu").await?;
        let stats = self.info("commandstats").await?;
        let memory = self.info("memory").await?;
        let seconds = ["used_cpu_user", "used_cpu_sys"].map(|name| field(&cpu, name));
        let sent = SENT.iter().map(|name| command(&stats, name, "calls="));
        Ok(Reading {
            cpu_us: 1e6 * seconds.iter().sum::<f64>(),
            scripts: command(&stats, "evalsha", "calls="),
            script_us: command(&stats, "evalsha", "usec="),
            commands: sent.sum(),
            memory: field(&memory, "used_memory"),
        })
    }

    /// Waits until the memory of removed keys is freed.
    pub(crate) async fn wait_until_freed(&self) -> Result<()> {
        let deadline = Instant::now() + FREED_WITHIN;
        while field(&self.info("memory").await?, "lazyfree_pending_objects") > 0.0
            && Instant::now() < deadline
        {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    /// Counts calls slower than `above` from now on.
    pub(crate) async fn watch_slow_calls(&self, above: Duration) -> Result<()> {
        let above = above.as_micros().to_string();
        for args in [
            vec!["CONFIG", "SET", "slowlog-log-slower-than", &above],
            vec!["CONFIG", "SET", "slowlog-max-len", "1000000"],
            vec!["SLOWLOG", "RESET"],
        ] {
            self.ask::<()>(&args).await?;
        }
        Ok(())
    }

    /// The number of slow calls since, and the longest.
    pub(crate) async fn slow_calls(&self) -> Result<(u64, Duration)> {
        let count: u64 = self.ask(&["SLOWLOG", "LEN"]).await?;
        let entries: Vec<Vec<redis::Value>> = self.ask(&["SLOWLOG", "GET", "1000"]).await?;
        let longest = entries.iter().filter_map(|entry| match entry.get(2) {
            Some(redis::Value::Int(us)) => u64::try_from(*us).ok(),
            _ => None,
        });
        Ok((count, Duration::from_micros(longest.max().unwrap_or(0))))
    }

    async fn info(&self, section: &str) -> Result<String> {
        self.ask(&["INFO", section]).await
    }

    async fn ask<T: redis::FromRedisValue>(&self, args: &[&str]) -> Result<T> {
        let mut command = redis::Cmd::new();
        command.arg(args);
        let mut connection = self.0.clone();
        let reply = command.query_async(&mut connection).await;
        reply.map_err(error::bare_engine)
    }
}

fn field(text: &str, name: &str) -> f64 {
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value
        .and_then(|value| value.trim().parse().ok())
        .unwrap_or_default()
}

fn command(stats: &str, name: &str, metric: &str) -> f64 {
    let line = stats.lines().find_map(|line| {
        let rest = line.strip_prefix("cmdstat_")?;
        rest.strip_prefix(name)?.strip_prefix(':')
    });
    let value = line.and_then(|line| line.split(',').find_map(|field| field.strip_prefix(metric)));
    real(value.and_then(|value| value.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_full_name() {
        let cpu = "# CPU\r\nused_cpu_sys:1.5\r\nused_cpu_sys_children:9\r\n";
        assert!((field(cpu, "used_cpu_sys") - 1.5).abs() < 1e-9);
        let stats = "cmdstat_eval:calls=2,usec=7\r\ncmdstat_evalsha:calls=5,usec=90,x=1\r\n";
        assert!((command(stats, "evalsha", "calls=") - 5.0).abs() < 1e-9);
        assert!((command(stats, "evalsha", "usec=") - 90.0).abs() < 1e-9);
        assert!((command(stats, "eval", "usec=") - 7.0).abs() < 1e-9);
    }
}
