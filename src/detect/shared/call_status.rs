//! Which commands of a command line decide its status, and which of them failed.

use super::call::is_path;
use super::{Call, Does, Part, is_search};

impl Call {
    /// Returns the parts that decide the status of a command line, last first: those that `&&` joins to the last one.
    fn deciding(&self) -> impl Iterator<Item = &Part> {
        let mut is_over = false;
        let joined = self.parts.iter().rev();
        joined.take_while(move |part| !std::mem::replace(&mut is_over, part.apart)).filter(|part| !part.feeds)
    }

    /// Returns true if a failure without output may be a negative answer: the last part reads, or a part that decides
    /// the status searches or reads with its errors discarded. False if any other deciding part has its errors
    /// discarded, because its failure prints nothing either.
    pub(crate) fn may_say_no(&self) -> bool {
        let looks = |part: &Part| is_search(&part.program) || part.does == Does::Read && part.silenced;
        let last_reads = self.parts.last().is_some_and(|last| last.does == Does::Read);
        (last_reads || self.deciding().any(looks))
            && !self.deciding().any(|part| part.silenced && !looks(part))
    }

    /// Returns true if the parts that decide the status only look or stop a process. Earlier parts of the line do not
    /// affect the status.
    pub(crate) fn ends_asking(&self) -> bool {
        let asks = |part: &Part| {
            part.does == Does::Read
                || is_search(&part.program)
                || matches!(part.name(), "fuser" | "kill" | "killall" | "pkill")
        };
        !self.parts.is_empty() && self.deciding().all(asks)
    }

    /// Returns the part that failed, if that is known: the one that the error line names, or the first that can
    /// fail silently.
    pub(crate) fn failed_part(&self, line: &str) -> Option<&Part> {
        // `javac: no source files`, `/bin/bash: line 3: javac: command not found`
        let blames = |part: &Part| line.rsplit(": ").skip(1).any(|name| name == part.name());
        let is_silent = |part: &&Part| line.is_empty() && (part.silenced || part.does == Does::Run);
        let mut deciding: Vec<&Part> = self.deciding().collect();
        deciding.reverse();
        let candidates = deciding.into_iter().chain(self.parts.iter().rev());
        let named: Vec<&Part> = candidates.filter(|part| blames(part)).collect();
        // In `make clean && make`, the check is more likely to have failed.
        let named = named.iter().find(|part| part.check.is_some()).or(named.first()).copied();
        // A shell runs the lines before the one that it cannot parse, so only an error in line 1 means that nothing
        // ran.
        let is_first = || is_unparsed(line) && line.contains(" line 1: ");
        let named = named.or_else(|| self.parts.first().filter(|_| is_first()));
        // `Main.java:3: error: …` of `javac Main.java; java Main`
        let file = line.split([':', '(']).next().filter(|file| is_path(file)).map(str::to_lowercase);
        let compiles = |part: &&Part| {
            part.check.is_some() && file.as_deref().is_some_and(|file| self.text_of(part).ends_with(file))
        };
        let named = named.or_else(|| self.parts.iter().find(compiles));
        named.or_else(|| self.deciding().filter(is_silent).last()).filter(|_| self.is_shell)
    }
}

/// Returns true if a shell says that it could not parse a line, and so ran none of it.
pub(super) fn is_unparsed(line: &str) -> bool {
    let says = |said: &str| line.contains(said);
    let is_known =
        ["syntax error near unexpected", "syntax error: unexpected", "Syntax error: "].into_iter().any(says);
    // PowerShell
    is_known && says("sh: ") || says("is not a valid statement separator")
}
