//! Draws random sessions of coding agents, with text lengths like those of recorded ones.

/// Quantiles of text lengths in characters, at the shares in [`SHARES`]. They come from 34 recorded sessions
/// of terminal agents with 737 calls and 540 messages, and are cut at 99%.
struct Lengths([f64; 10]);

const SHARES: [f64; 10] = [0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0];

const OF_OUTPUTS: Lengths = Lengths([0.0, 0.0, 0.0, 45.0, 310.0, 1677.0, 4144.0, 9422.0, 16540.0, 16540.0]);
const OF_COMMANDS: Lengths = Lengths([2.0, 17.0, 32.0, 51.0, 63.0, 116.0, 579.0, 1574.0, 5928.0, 5928.0]);
const OF_MESSAGES: Lengths = Lengths([2.0, 33.0, 55.0, 103.0, 242.0, 405.0, 817.0, 1538.0, 4414.0, 4414.0]);

/// An event of a session.
pub(crate) enum Event {
    /// A message.
    Said { by: Speaker, text: String },
    /// A call of a shell, with its answer.
    Called(Call),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaker {
    Agent,
    User,
}

impl Speaker {
    /// The role in a chat.
    pub(crate) fn role(self) -> &'static str {
        match self {
            Self::Agent => "assistant",
            Self::User => "user",
        }
    }
}

pub(crate) struct Call {
    /// The id of the call.
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) output: String,
    pub(crate) failed: bool,
}

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits")]
    fn share(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.draw().is_multiple_of(count)
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small length")]
    fn length(&mut self, Lengths(lengths): &Lengths) -> usize {
        let share = self.share();
        let steps = SHARES.windows(2).zip(lengths.windows(2));
        let length = steps.into_iter().find_map(|(shares, lengths)| match (shares, lengths) {
            ([low, high], [least, most]) if share < *high => {
                Some(least + (most - least) * (share - low) / (high - low))
            }
            _ => None,
        });
        length.unwrap_or_default() as usize
    }

    /// Returns a command line with about this many characters. Two thirds of the recorded commands above 300 characters
    /// hold a script, and so do all of these.
    fn command(&mut self, length: usize) -> String {
        let text = self.text(length);
        if length > 300 { format!("python3 - <<'EOF'\n{text}\nEOF") } else { text.replace('\n', " ") }
    }

    /// Returns words in lines, some indented and some quoted, with this many characters in all.
    fn text(&mut self, length: usize) -> String {
        const WORDS: [&str; 16] = [
            "src/main.rs",
            "error",
            "the",
            "return",
            "self.value",
            "0x7f3a",
            "test_parser",
            "line",
            "=",
            "if",
            "not",
            "expected",
            "café",
            "\"name\"",
            "\tlet",
            "2026-07-01",
        ];
        let mut text = String::new();
        let mut left = length;
        while left > 0 {
            let word =
                usize::try_from(self.draw() % 16).ok().and_then(|word| WORDS.get(word)).unwrap_or(&"x");
            text.extend(word.chars().take(left));
            left = left.saturating_sub(word.chars().count());
            if left > 0 {
                text.push(if self.one_in(6) { '\n' } else { ' ' });
                left -= 1;
            }
        }
        text
    }
}

/// Returns a session whose texts after the first have at least this many bytes.
pub(crate) fn session(seed: u64, bytes: usize) -> Vec<Event> {
    let mut random = Random(seed);
    let mut events = vec![Event::Said { by: Speaker::User, text: random.text(600) }];
    let mut written = 0;
    while written < bytes {
        if random.share() < 0.42 {
            let length = random.length(&OF_MESSAGES);
            let text = random.text(length);
            written += text.len();
            let by = if random.one_in(12) { Speaker::User } else { Speaker::Agent };
            events.push(Event::Said { by, text });
        } else {
            let (command, output) = (random.length(&OF_COMMANDS), random.length(&OF_OUTPUTS));
            let call = Call {
                id: format!("call_{:016x}{:08x}", random.draw(), events.len()),
                command: random.command(command),
                output: random.text(output),
                failed: random.one_in(8),
            };
            written += call.command.len() + call.output.len();
            events.push(Event::Called(call));
        }
    }
    events
}
