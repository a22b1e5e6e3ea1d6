//! Mutations of seeds: pieces are copied, removed, replaced and joined.

use fastrand::Rng;

/// Texts and bytes at the edges of what parsers accept.
const TOKENS: [&[u8]; 24] = [
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"\n",
    b"\t",
    b"\0",
    b"\xff",
    b"\x1f",
    b"\\u0000",
    b"null",
    b"-1",
    b"0",
    b"1e400",
    b"9007199254740993",
    b"18446744073709551615",
    b"9223372036854775807",
    b"0.1",
    b"\xc3\xa9",
    b"all",
    b"$token",
];

/// The mutation with this number: the same in every run.
pub(crate) fn mutation(seeds: &[Vec<u8>], number: u64) -> Vec<u8> {
    let mut rng = Rng::with_seed(number);
    let mut input = rng.choice(seeds).cloned().unwrap_or_default();
    for _ in 0..rng.usize(1..=6) {
        change(&mut input, seeds, &mut rng);
    }
    input
}

fn change(input: &mut Vec<u8>, seeds: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.usize(..=input.len());
    let end = (at + rng.usize(..=16)).min(input.len());
    match rng.u8(..8) {
        0 => drop(input.drain(at..end)),
        1 => {
            let token = rng.choice(TOKENS).unwrap_or_default();
            drop(input.splice(at..at, token.iter().copied()));
        }
        2 => {
            let token = rng.choice(TOKENS).unwrap_or_default();
            drop(input.splice(at..end, token.iter().copied()));
        }
        3 => {
            let piece = input[at..end].to_vec();
            let to = rng.usize(..=input.len());
            drop(input.splice(to..to, piece));
        }
        4 => {
            let other = rng.choice(seeds).map_or(&b""[..], |seed| seed);
            let from = rng.usize(..=other.len());
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        5 => {
            let line = rng.choice(seeds).map_or(&b""[..], |seed| seed);
            let lines: Vec<_> = line.split(|byte| *byte == b'\n').collect();
            let line = rng.choice(&lines).copied().unwrap_or_default();
            let line = [b"\n", line, b"\n"].concat();
            drop(input.splice(at..at, line));
        }
        _ => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << rng.u8(..8);
            }
        }
    }
}
