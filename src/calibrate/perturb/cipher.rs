//! Substitutes letters in names.

use crate::detect::is_known_tool;
use crate::stats::Rng;

/// A substitution of ASCII letters that replaces every letter, in the same way in upper and lower case. Equal names
/// stay equal and different names stay different, also when trimmed and lower-cased.
pub(super) struct Cipher([u8; 26]);

impl Cipher {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let mut cycle: Vec<u8> = (b'a'..=b'z').collect();
        rng.shuffle(&mut cycle);
        let mut table = [0; 26];
        for (from, to) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
            if let Some(slot) = table.get_mut(usize::from(from - b'a')) {
                *slot = *to;
            }
        }
        Self(table)
    }

    /// Renames a tool unless detectors know its name.
    pub(super) fn rename(&self, tool: &str) -> String {
        if is_known_tool(tool) { tool.to_owned() } else { self.apply(tool) }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let letter = |c: char| {
            let lower = c.to_ascii_lowercase();
            let index = u32::from(lower).checked_sub(u32::from('a')).and_then(|i| usize::try_from(i).ok())?;
            let substitute = char::from(*self.0.get(index)?);
            Some(if c.is_ascii_uppercase() { substitute.to_ascii_uppercase() } else { substitute })
        };
        text.chars().map(|c| letter(c).unwrap_or(c)).collect()
    }
}
