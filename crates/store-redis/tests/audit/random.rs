//! Random damage: whatever happens to the keys, one audit makes the queue sound.

use windlass_core::Result;
use windlass_testkit::redis::Reply;

use crate::all_damage::fill;
use crate::fixture::{AuditFixture, key};
use crate::groups::fill_groups;
use crate::schedules::fill_schedules;

/// Number of queues to damage (override: `WINDLASS_SEEDS`).
const SEEDS: u64 = 20;

const KEYS: [(&str, char); 50] = [
    ("state", 'f'),
    ("jobs", 'h'),
    ("opts", 'h'),
    ("errors", 'h'),
    ("results", 'h'),
    ("ghosts", 'h'),
    ("unique", 'h'),
    ("running", 'h'),
    ("open", 'h'),
    ("claims", 'h'),
    ("left", 'h'),
    ("owners", 'h'),
    ("progress", 'h'),
    ("final", 'h'),
    ("tombstones", 'h'),
    ("settings", 'h'),
    ("schedules", 'h'),
    ("plans", 'h'),
    ("firing", 'z'),
    ("refilling", 'z'),
    ("names", 'z'),
    ("suspects", 'z'),
    ("scheduled", 'z'),
    ("expiring", 'z'),
    ("tokens", 'z'),
    ("holds", 'z'),
    ("leases", 'z'),
    ("stopping", 'z'),
    ("succeeded", 'z'),
    ("dead", 'z'),
    ("cancelled", 'z'),
    ("forgetting", 'z'),
    ("lined", 'z'),
    ("working", 'z'),
    ("turns", 'z'),
    ("resting", 'z'),
    ("recheck", 'z'),
    ("groups", 'h'),
    ("group_names", 'z'),
    ("state", 'n'),
    ("ready:0", 'l'),
    ("ready:1", 'l'),
    ("ready:2", 'l'),
    ("ready:3", 'l'),
    ("ready:4", 'l'),
    ("ready:5", 'l'),
    ("ready:6", 'l'),
    ("ready:7", 'l'),
    ("ready:8", 'l'),
    ("ready:9", 'l'),
];

/// Damages keys at random.
struct Damage<'a> {
    test: &'a AuditFixture,
    rng: fastrand::Rng,
    /// Values found in some key, to be written to others.
    texts: Vec<String>,
}

impl Damage<'_> {
    fn new(test: &AuditFixture, seed: u64) -> Damage<'_> {
        let mut texts: Vec<String> = [
            "",
            "x",
            "-1",
            "1\t1\tb:one",
            "nan",
            "\t1\tj007",
            "dead\t5\t\tpoison",
        ]
        .map(str::to_owned)
        .to_vec();
        for (name, kind) in KEYS {
            let found = match kind {
                'h' => test.command("HGETALL", name, &[]),
                'z' => test.command("ZRANGE", name, &["0", "-1"]),
                'l' => test.command("LRANGE", name, &["0", "-1"]),
                _ => continue,
            };
            texts.extend(found.array().iter().map(Reply::text));
        }
        Damage {
            test,
            rng: fastrand::Rng::with_seed(seed),
            texts,
        }
    }

    fn text(&mut self) -> String {
        let text = self.rng.choice(&self.texts).expect("not empty").clone();
        match self.rng.u8(0..8) {
            0 => text.chars().take(text.len() / 2).collect(),
            1 => format!("{text}x"),
            _ => text,
        }
    }

    /// Returns an element of a key, or any text if the key is empty.
    fn member(&mut self, found: &Reply) -> String {
        match found.array() {
            [] => self.text(),
            found => self.rng.choice(found).expect("not empty").text(),
        }
    }

    fn score(&mut self) -> String {
        let scores = [
            "0",
            "-5",
            "inf",
            "-inf",
            "0.5",
            "1700000000000",
            "99999999999999",
            "6047313952768",
        ];
        (*self.rng.choice(&scores).expect("not empty")).to_owned()
    }

    fn damage(&mut self) -> String {
        let (name, kind) = *self.rng.choice(&KEYS).expect("not empty");
        let is_deleted = self.rng.u8(0..12) == 0;
        if is_deleted {
            self.test.command("DEL", name, &[]);
            return format!("DEL {name}");
        }
        let command = match kind {
            'h' => self.damage_hash(name),
            'z' => self.damage_zset(name),
            'l' => self.damage_list(name),
            'n' => return self.damage_group_number(),
            _ => return self.damage_stat(),
        };
        let key = key(name);
        let mut all = vec![command[0].as_str(), &key];
        all.extend(command[1..].iter().map(String::as_str));
        self.test.server.command(&all).ok();
        format!("{name} {command:?}")
    }

    fn damage_hash(&mut self, name: &str) -> Vec<String> {
        let fields = self.test.command("HKEYS", name, &[]);
        let field = self.member(&fields);
        match self.rng.u8(0..3) {
            0 => vec!["HDEL".to_owned(), field],
            1 => vec!["HSET".to_owned(), field, self.text()],
            _ => vec!["HSET".to_owned(), self.text(), self.text()],
        }
    }

    fn damage_zset(&mut self, name: &str) -> Vec<String> {
        let members = self.test.command("ZRANGE", name, &["0", "-1"]);
        let member = self.member(&members);
        match self.rng.u8(0..3) {
            0 => vec!["ZREM".to_owned(), member],
            1 => vec!["ZADD".to_owned(), self.score(), member],
            _ => vec!["ZADD".to_owned(), self.score(), self.text()],
        }
    }

    fn damage_list(&mut self, name: &str) -> Vec<String> {
        let entries = self.test.command("LRANGE", name, &["0", "-1"]);
        let entry = self.member(&entries);
        match self.rng.u8(0..4) {
            0 => vec!["LREM".to_owned(), "1".to_owned(), entry],
            1 => vec!["LPUSH".to_owned(), entry],
            2 => vec!["RPUSH".to_owned(), self.text()],
            _ => vec!["LTRIM".to_owned(), "1".to_owned(), "-1".to_owned()],
        }
    }

    fn damage_group_number(&mut self) -> String {
        let found = self.test.command("HGET", "state", &["groups"]);
        let numbers = if found == Reply::Nil {
            self.text()
        } else {
            found.text()
        };
        let mut numbers: Vec<&str> = numbers.split(' ').collect();
        let at = self.rng.usize(..numbers.len());
        let wrong = ["0", "-1", "x", "7", "", "1000000"];
        numbers[at] = self.rng.choice(&wrong).expect("not empty");
        let numbers = numbers.join(" ");
        self.test.command("HSET", "state", &["groups", &numbers]);
        format!("groups {numbers}")
    }

    fn damage_stat(&mut self) -> String {
        if self
            .test
            .command("HEXISTS", "state", &["figures"])
            .integer()
            == 0
        {
            return "nothing".to_owned();
        }
        let at = self.rng.usize(2..46);
        let number = *self
            .rng
            .choice(&[0.0, -1.0, 0.5, f64::NAN, 7.0, 1e6])
            .expect("not empty");
        self.test.set_stat(at, number);
        format!("stat {at} {number}")
    }
}

#[tokio::test]
async fn any_damage_is_repaired_in_one_audit() -> Result<()> {
    let seeds = std::env::var("WINDLASS_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    for seed in 1..=seeds.unwrap_or(SEEDS) {
        let test = AuditFixture::open().await;
        fill(&test).await?;
        fill_schedules(&test).await?;
        if seed % 2 == 0 {
            fill_groups(&test).await?;
        }
        let mut damage = Damage::new(&test, seed);
        let count = 1 + damage.rng.usize(0..40);
        let done: Vec<String> = (0..count).map(|_| damage.damage()).collect();
        println!("seed {seed}: {}", done.join("\n    "));

        test.repair().await?;

        let mut ids = test.drain().await?;
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "no job is claimed twice");
        test.assert_sound().await?;
    }
    Ok(())
}
