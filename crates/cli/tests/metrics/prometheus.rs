//! A real Prometheus accepts the alerts, reads the metrics and answers the queries of the dashboard. `cargo
//! xtask check` installs it into `target/trixie` and runs these tests.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::scrape::{ScrapedWorker, http, try_http, wait_for};
use crate::server::TestServer;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// Runs promtool with text on stdin.
fn promtool(folder: &Path, arguments: &[&str], input: &str) {
    let mut child = Command::new(root().join("target/trixie/promtool"))
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
#[ignore = "needs Prometheus: cargo xtask check runs it"]
fn the_alerts_are_valid_and_fire_when_they_should() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("alerts.yml"), read("deploy/prometheus/alerts.yml")).unwrap();
    let tests = read("crates/cli/tests/metrics/alerts_test.yml");
    std::fs::write(path("alerts_test.yml"), tests).unwrap();

    promtool(folder.path(), &["check", "rules", "alerts.yml"], "");
    promtool(folder.path(), &["test", "rules", "alerts_test.yml"], "");
}

/// A Prometheus that scrapes every second. Killed when dropped.
struct Prometheus {
    child: Child,
    address: String,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    fn start(sandbox: &Sandbox, targets: &[&str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        drop(listener);
        let rules = root().join("deploy/prometheus/alerts.yml");
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\n\
             scrape_configs: [{{job_name: windlass, static_configs: [{{targets: {targets:?}}}]}}]\n",
            rules.canonicalize().unwrap().display()
        );
        std::fs::write(sandbox.path("prometheus.yml"), config).unwrap();
        let log = std::fs::File::create(sandbox.path("prometheus.log")).unwrap();
        let child = Command::new(root().join("target/trixie/prometheus"))
            .arg("--config.file=prometheus.yml")
            .arg(format!("--web.listen-address={address}"))
            .arg("--storage.tsdb.path=data")
            .current_dir(sandbox.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let prometheus = Self { child, address };
        wait_for("Prometheus starts", || {
            try_http(&prometheus.address, "GET /-/ready", "").ok()
        });
        prometheus
    }

    fn api(&self, path: &str, body: &str) -> Value {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let reply = http(&self.address, &format!("{method} /api/v1/{path}"), body);
        let reply: Value = serde_json::from_str(&reply).unwrap();
        assert_eq!(reply["status"], "success", "{path} {body} {reply}");
        reply["data"].clone()
    }

    /// The number of series that a query returns.
    fn query(&self, query: &str) -> usize {
        let encoded = query.bytes().map(|byte| format!("%{byte:02X}"));
        let data = self.api("query", &format!("query={}", encoded.collect::<String>()));
        data["result"].as_array().unwrap().len()
    }
}

/// The queries of the dashboard and of the scaler, with its variables filled in.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read("deploy/grafana/windlass.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let mut queries: Vec<_> = targets
        .map(|target| target["expr"].as_str().unwrap())
        .map(|query| query.replace("$queue", ".*"))
        .map(|query| query.replace("$__rate_interval", "1m"))
        .collect();
    let scaler = read("deploy/keda/scaledobject.yaml");
    let scaler = scaler
        .lines()
        .find_map(|line| line.trim().strip_prefix("query: "));
    queries.push(scaler.unwrap().to_owned());
    queries
}

#[test]
#[ignore = "needs Prometheus: cargo xtask check runs it"]
fn prometheus_reads_the_metrics_and_answers_the_queries_of_the_dashboard() {
    let sandbox = Sandbox::new();
    sandbox.run("enqueue mail x --kind letter").ok();
    sandbox.run("enqueue bulk x").ok();
    let up = TestServer::start(
        &sandbox,
        "up --listen 127.0.0.1:0 --queue mail -- true",
        |_| {},
    );
    let worker = ScrapedWorker::start(&sandbox, "exec --queue bulk --metrics 0 -- true");
    let text = up.request("GET", "/metrics", "");
    promtool(
        &root(),
        &["check", "metrics"],
        &String::from_utf8(text.body).unwrap(),
    );
    promtool(&root(), &["check", "metrics"], &worker.scrape().0);

    let prometheus = Prometheus::start(&sandbox, &[&up.address, &worker.address]);

    wait_for("both are scraped", || {
        (prometheus.query("windlass_build_info") == 2).then_some(())
    });
    for query in queries() {
        // Rates need two scrapes. A share without traffic is 0 / 0: NaN, which is a sample too.
        wait_for(&format!("no series: {query}"), || {
            (prometheus.query(&query) > 0).then_some(())
        });
    }
    let groups = wait_for("the alerts are evaluated", || {
        let groups = prometheus.api("rules", "")["groups"].clone();
        let rules = groups[0]["rules"].as_array().unwrap().clone();
        let is_evaluated = |rule: &Value| rule["health"] != "unknown";
        rules.iter().all(is_evaluated).then_some(rules)
    });
    let alerts = read("deploy/prometheus/alerts.yml")
        .matches("- alert: ")
        .count();
    assert_eq!(groups.len(), alerts);
    for rule in groups {
        assert_eq!(rule["health"], "ok", "{rule}");
    }
    worker.terminate();
}
