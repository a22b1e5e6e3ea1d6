//! Removes from an error message what differs between occurrences of the same error.

/// The maximum length of a normalized message in characters.
pub const NORMALIZED_CHARS_MAX: usize = 200;

/// What a number, an id or a quoted text becomes.
const PLACEHOLDER: char = '#';

/// Marks between two numbers that make them one: those of a fraction, an address, a date or a time.
const JOINTS: [char; 4] = ['.', ',', ':', '-'];

/// Normalizes an error message: its first line, with `#` instead of numbers, ids and what is between quotes. What is
/// normalized stays as it is.
///
/// ```
/// use windlass_core::error_group::normalize;
///
/// let message = "user 42 of 'Ann': no route to 10.0.0.1:6379 after 1.5s\nstack trace";
/// assert_eq!(normalize(message), "user # of '#': no route to # after #s");
/// assert_eq!(normalize("order 7f9c2ba4e88f827d not found"), "order # not found");
/// ```
pub fn normalize(message: &str) -> String {
    let line = message.trim_start().split(['\n', '\r']).next();
    let mut rest = line.unwrap_or_default();
    let mut out = Normalized::default();
    while out.chars < NORMALIZED_CHARS_MAX
        && let Some(first) = rest.chars().next()
    {
        let word = &rest[..word_end(rest)];
        let length = if !word.is_empty() {
            let id = uuid_end(rest);
            match id {
                Some(_) => out.placeholder(),
                None => out.word(word),
            }
            id.unwrap_or(word.len())
        } else if let Some(length) = quoted_end(first, rest).filter(|_| !out.ends_in_word()) {
            for char in [first, PLACEHOLDER, first] {
                out.push(char);
            }
            length
        } else {
            out.mark(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    out.finish()
}

/// Whether a character is part of a word. A placeholder is: it stands for one.
fn is_word(char: char) -> bool {
    char.is_alphanumeric() || char == PLACEHOLDER
}

fn word_end(text: &str) -> usize {
    text.find(|char| !is_word(char)).unwrap_or(text.len())
}

/// The end of the quoted text that begins here.
fn quoted_end(quote: char, text: &str) -> Option<usize> {
    let inside = text.strip_prefix(['\'', '"', '`'])?;
    Some(inside.find(quote)? + 2)
}

/// The end of the UUID that begins here.
fn uuid_end(text: &str) -> Option<usize> {
    const LENGTH: usize = 36;
    let id = text.get(..LENGTH)?;
    let is_id = id.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let is_whole = !text[LENGTH..].starts_with(is_word);
    (is_id && is_whole && has_digit(id)).then_some(LENGTH)
}

fn has_digit(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether a word with a digit is a hexadecimal number, or mixes letters and digits as generated ids do.
fn is_id(word: &str) -> bool {
    let is_hex = word.len() >= 8 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let digits = word.split(|char: char| !char.is_ascii_digit());
    is_hex || digits.filter(|run| !run.is_empty()).count() > 1
}

/// A normalized message so far.
#[derive(Debug, Default)]
struct Normalized {
    text: String,
    chars: usize,
}

impl Normalized {
    fn push(&mut self, char: char) {
        self.text.push(char);
        self.chars += 1;
    }

    fn ends_in_word(&self) -> bool {
        self.text.ends_with(is_word)
    }

    /// Adds a placeholder. Adjacent ones become one, also those with a joint between them.
    fn placeholder(&mut self) {
        let joint = self.text.strip_suffix(JOINTS);
        if joint.is_some_and(|before| before.ends_with(PLACEHOLDER)) {
            self.text.pop();
            self.chars -= 1;
        }
        if !self.text.ends_with(PLACEHOLDER) {
            self.push(PLACEHOLDER);
        }
    }

    fn word(&mut self, word: &str) {
        if has_digit(word) && is_id(word) {
            return self.placeholder();
        }
        for char in word.chars() {
            if char.is_ascii_digit() || char == PLACEHOLDER {
                self.placeholder();
            } else {
                self.push(char);
            }
        }
    }

    /// Adds a character between words: one space for any white space and control characters.
    fn mark(&mut self, char: char) {
        if !char.is_whitespace() && !char.is_control() {
            self.push(char);
        } else if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.push(' ');
        }
    }

    fn finish(mut self) -> String {
        let end = self.text.char_indices().nth(NORMALIZED_CHARS_MAX);
        self.text
            .truncate(end.map_or(self.text.len(), |(at, _)| at));
        self.text.truncate(self.text.trim_end().len());
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ids_and_quoted_texts_are_removed() {
        for (message, expected) in [
            ("", ""),
            ("  \n\nno stamp\n at line 7", "no stamp"),
            ("HTTP 503", "HTTP #"),
            ("took 1,024.5ms", "took #ms"),
            ("10.0.0.1:6379 refused", "# refused"),
            ("550e8400-e29b-41d4-a716-446655440000 is gone", "# is gone"),
            ("job 01KA8XJ5T3V9Q8ZC4R2M7N6P0B", "job #"),
            ("at 0x7ffee4b2c1a0", "at #"),
            ("/users/42/files/a1b2c3", "/users/#/files/#"),
            ("pod api-7f9c8b6d5-x2k4p", "pod api-#"),
            ("can't open \"a b.txt\"", "can't open \"#\""),
            ("sha256 of user42", "sha# of user#"),
            ("a\tb\u{0}c", "a b c"),
            ("deadbeef facade", "deadbeef facade"),
            ("naïve café 7", "naïve café #"),
        ] {
            assert_eq!(normalize(message), expected, "{message:?}");
        }
    }

    #[test]
    fn a_timestamp_is_the_same_at_any_time() {
        let earlier = normalize("late at 2026-01-02T03:04:05Z");
        assert_eq!(earlier, normalize("late at 2027-11-18T15:44:55Z"));
    }

    #[test]
    fn a_long_message_is_cut_at_a_character() {
        assert_eq!(
            normalize(&"é".repeat(500)),
            "é".repeat(NORMALIZED_CHARS_MAX)
        );
    }

    #[test]
    fn what_is_normalized_stays_as_it_is() {
        let alphabet: Vec<char> = "ab1 2#.,:-'\"`\n\t\u{0}éf0x/_ٻ".chars().collect();
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let length = random.usize(..if seed % 50 == 0 { 600 } else { 60 });
            let message: String = (0..length)
                .map(|_| alphabet[random.usize(..alphabet.len())])
                .collect();
            let once = normalize(&message);
            assert_eq!(normalize(&once), once, "seed {seed}: {message:?}");
            assert!(once.chars().count() <= NORMALIZED_CHARS_MAX);
            assert!(!once.contains(char::is_control) && !has_digit(&once));
        }
    }
}
