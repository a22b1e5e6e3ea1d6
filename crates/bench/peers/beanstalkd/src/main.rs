//! The benchmark on beanstalkd, with a minimal client: blocking sockets, one thread per worker.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use windlass_bench_contract::{Asked, Clock, GAP, GLANCE, Pickups};

/// Seconds after which a reserved job is ready again, which makes it survive a crash.
const TTR: u32 = 60;

fn main() -> io::Result<()> {
    let asked = Asked::read();
    match asked.scenario.as_str() {
        "enqueue-one" => enqueue(&asked, 1),
        // It has no bulk call, but answers pipelined requests in order.
        "enqueue-bulk" => enqueue(&asked, windlass_bench_contract::BULK),
        "process" => process(&asked),
        "pickup" => pickup(&asked),
        other => Err(io::Error::other(format!("no such scenario: {other}"))),
    }
}

/// A connection: lines out, lines and bodies in.
struct Link {
    writer: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Link {
    fn open(url: &str) -> io::Result<Self> {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let address = rest.split('/').next().unwrap_or(rest);
        let writer = TcpStream::connect(address)?;
        writer.set_nodelay(true)?;
        let reader = BufReader::new(writer.try_clone()?);
        Ok(Self { writer, reader })
    }

    fn line(&mut self, wanted: &str) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        if line.starts_with(wanted) {
            return Ok(line);
        }
        Err(io::Error::other(format!("{wanted} was expected: {line}")))
    }

    fn put(&mut self, asked: &Asked, count: usize) -> io::Result<()> {
        let mut sent = String::new();
        for _ in 0..count {
            let body = asked.stamped();
            sent += &format!("put 100 0 {TTR} {}\r\n{body}\r\n", body.len());
        }
        self.writer.write_all(sent.as_bytes())?;
        (0..count).try_for_each(|_| self.line("INSERTED").map(drop))
    }

    /// Waits for the next job: its id and its body.
    fn reserved(&mut self) -> io::Result<(u64, Vec<u8>)> {
        let line = self.line("RESERVED")?;
        let mut words = line.split_whitespace().skip(1).map(str::parse::<u64>);
        let (Some(Ok(id)), Some(Ok(size))) = (words.next(), words.next()) else {
            return Err(io::Error::other(format!("not understood: {line}")));
        };
        let mut body = vec![0; usize::try_from(size).unwrap_or_default() + 2];
        self.reader.read_exact(&mut body)?;
        Ok((id, body))
    }
}

fn enqueue(asked: &Asked, at_once: usize) -> io::Result<()> {
    let mut link = Link::open(&asked.url)?;
    let began = Instant::now();
    let mut left = asked.jobs;
    while left > 0 {
        let count = left.min(at_once);
        link.put(asked, count)?;
        left -= count;
    }
    asked.tell_rate(began.elapsed());
    Ok(())
}

/// Threads that reserve, work and delete; the delete and the next reserve are sent together.
fn start(asked: &Asked, act: impl Fn(&str) + Clone + Send + 'static) -> io::Result<()> {
    for _ in 0..asked.concurrency {
        let mut link = Link::open(&asked.url)?;
        let act = act.clone();
        thread::spawn(move || -> io::Result<()> {
            link.writer.write_all(b"reserve\r\n")?;
            loop {
                let (id, body) = link.reserved()?;
                act(&String::from_utf8_lossy(&body));
                link.writer
                    .write_all(format!("delete {id}\r\nreserve\r\n").as_bytes())?;
                link.line("DELETED")?;
            }
        });
    }
    Ok(())
}

fn process(asked: &Asked) -> io::Result<()> {
    let clock = Arc::new(Clock::new(asked.jobs));
    let ticking = Arc::clone(&clock);
    start(asked, move |_| ticking.tick())?;
    let took = loop {
        match clock.took() {
            Some(took) => break took,
            None => thread::sleep(GLANCE),
        }
    };
    thread::sleep(GAP);
    asked.tell_rate(took);
    Ok(())
}

fn pickup(asked: &Asked) -> io::Result<()> {
    static PICKUPS: Pickups = Pickups::new();
    start(asked, |body| PICKUPS.note(body))?;
    let mut link = Link::open(&asked.url)?;
    for sent in 1..=asked.jobs {
        thread::sleep(GAP);
        link.put(asked, 1)?;
        while PICKUPS.count() < sent {
            thread::sleep(GLANCE);
        }
    }
    PICKUPS.tell();
    Ok(())
}
