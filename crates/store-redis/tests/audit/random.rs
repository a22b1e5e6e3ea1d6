//! Damage by chance: whatever a hand does to the keys, one audit makes the queue sound.

use windlass_core::Result;
use windlass_testkit::redis::Reply;

use crate::all_faults::fill;
use crate::fixture::{Site, key};

/// How many queues are damaged; `WINDLASS_SEEDS` asks for more.
const SEEDS: u64 = 20;

const KEYS: [(&str, char); 37] = [
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

/// A hand that does damage.
struct Hand<'a> {
    site: &'a Site,
    chance: fastrand::Rng,
    /// What stands somewhere and may be written elsewhere.
    texts: Vec<String>,
}

impl Hand<'_> {
    fn new(site: &Site, seed: u64) -> Hand<'_> {
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
                'h' => site.hand("HGETALL", name, &[]),
                'z' => site.hand("ZRANGE", name, &["0", "-1"]),
                'l' => site.hand("LRANGE", name, &["0", "-1"]),
                _ => continue,
            };
            texts.extend(found.array().iter().map(Reply::text));
        }
        Hand {
            site,
            chance: fastrand::Rng::with_seed(seed),
            texts,
        }
    }

    fn text(&mut self) -> String {
        let text = self
            .chance
            .choice(&self.texts)
            .expect("there is some")
            .clone();
        match self.chance.u8(0..8) {
            0 => text.chars().take(text.len() / 2).collect(),
            1 => format!("{text}x"),
            _ => text,
        }
    }

    /// Something that stands in a key, or anything at all.
    fn member(&mut self, found: &Reply) -> String {
        match found.array() {
            [] => self.text(),
            found => self.chance.choice(found).expect("there is one").text(),
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
        (*self.chance.choice(&scores).expect("there are some")).to_owned()
    }

    fn damage(&mut self) -> String {
        let (name, kind) = *self.chance.choice(&KEYS).expect("there are some");
        let is_lost = self.chance.u8(0..12) == 0;
        if is_lost {
            self.site.hand("DEL", name, &[]);
            return format!("DEL {name}");
        }
        let words = match kind {
            'h' => self.damage_hash(name),
            'z' => self.damage_zset(name),
            'l' => self.damage_list(name),
            _ => return self.damage_figure(),
        };
        let key = key(name);
        let mut all = vec![words[0].as_str(), &key];
        all.extend(words[1..].iter().map(String::as_str));
        self.site.server.command(&all).ok();
        format!("{name} {words:?}")
    }

    fn damage_hash(&mut self, name: &str) -> Vec<String> {
        let fields = self.site.hand("HKEYS", name, &[]);
        let field = self.member(&fields);
        match self.chance.u8(0..3) {
            0 => vec!["HDEL".to_owned(), field],
            1 => vec!["HSET".to_owned(), field, self.text()],
            _ => vec!["HSET".to_owned(), self.text(), self.text()],
        }
    }

    fn damage_zset(&mut self, name: &str) -> Vec<String> {
        let members = self.site.hand("ZRANGE", name, &["0", "-1"]);
        let member = self.member(&members);
        match self.chance.u8(0..3) {
            0 => vec!["ZREM".to_owned(), member],
            1 => vec!["ZADD".to_owned(), self.score(), member],
            _ => vec!["ZADD".to_owned(), self.score(), self.text()],
        }
    }

    fn damage_list(&mut self, name: &str) -> Vec<String> {
        let entries = self.site.hand("LRANGE", name, &["0", "-1"]);
        let entry = self.member(&entries);
        match self.chance.u8(0..4) {
            0 => vec!["LREM".to_owned(), "1".to_owned(), entry],
            1 => vec!["LPUSH".to_owned(), entry],
            2 => vec!["RPUSH".to_owned(), self.text()],
            _ => vec!["LTRIM".to_owned(), "1".to_owned(), "-1".to_owned()],
        }
    }

    fn damage_figure(&mut self) -> String {
        if self.site.hand("HEXISTS", "state", &["figures"]).integer() == 0 {
            return "nothing".to_owned();
        }
        let at = self.chance.usize(2..46);
        let number = *self
            .chance
            .choice(&[0.0, -1.0, 0.5, f64::NAN, 7.0, 1e6])
            .expect("there are some");
        self.site.set_figure(at, number);
        format!("figure {at} {number}")
    }
}

#[tokio::test]
async fn any_damage_is_mended_in_one_audit() -> Result<()> {
    let seeds = std::env::var("WINDLASS_SEEDS")
        .ok()
        .and_then(|seeds| seeds.parse().ok());
    for seed in 1..=seeds.unwrap_or(SEEDS) {
        let site = Site::open().await;
        fill(&site).await?;
        let mut hand = Hand::new(&site, seed);
        let count = 1 + hand.chance.usize(0..40);
        let done: Vec<String> = (0..count).map(|_| hand.damage()).collect();
        println!("seed {seed}: {}", done.join("\n    "));

        site.mend().await?;

        let mut ids = site.drain().await?;
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count, "nothing is handed out twice");
        site.assert_sound().await?;
    }
    Ok(())
}
