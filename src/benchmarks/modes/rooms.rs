//! Rooms and exits in the observations of text games, and directions in actions.

use std::collections::BTreeSet;

use super::super::text::norm;

/// A direction's full name.
pub(super) type Direction = &'static str;

/// Full and short names.
const DIRECTIONS: [(Direction, &str); 10] = [
    ("down", "d"),
    ("east", "e"),
    ("north", "n"),
    ("northeast", "ne"),
    ("northwest", "nw"),
    ("south", "s"),
    ("southeast", "se"),
    ("southwest", "sw"),
    ("up", "u"),
    ("west", "w"),
];

const VERBS_OF_MOTION: [&str; 7] = ["go", "walk", "move", "run", "travel", "head", "proceed"];

/// Words for exits, whose direction may follow: "a path leads north".
const WAYS: [&str; 10] =
    ["door", "passage", "path", "corridor", "tunnel", "opening", "exit", "stair", "stairs", "stairway"];

/// Returns the room in the heading of an observation: `** Room **`, else `<<Room>>`, else a line of words
/// that begins with a capital letter. Names have 4 to 59 characters.
pub(super) fn room(obs: &str) -> Option<&str> {
    let sound = |name: &&str| (4..=59).contains(&name.chars().count());
    let starred = || obs.lines().flat_map(|line| framed(line, "**", "**")).find(sound);
    let angled = || obs.lines().flat_map(|line| framed(line, "<<", ">>")).find(sound);
    let titled = || obs.lines().filter(|line| is_title(line)).map(str::trim).find(sound);
    starred().or_else(angled).or_else(titled)
}

/// Returns the text between pairs of these marks on a line, trimmed.
fn framed<'l>(line: &'l str, open: &'l str, close: &'l str) -> impl Iterator<Item = &'l str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let (_, opened) = rest.split_once(open)?;
        let (name, after) = opened.split_once(close)?;
        rest = after;
        Some(name.trim())
    })
}

fn is_title(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_uppercase())
        && line.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, ' ' | '\'' | '-'))
}

fn direction(word: &str) -> Option<Direction> {
    DIRECTIONS.into_iter().find(|(name, short)| *name == word || *short == word).map(|(name, _)| name)
}

/// Returns the direction of an action, with or without a verb of motion.
pub(super) fn direction_of_action(action: &str) -> Option<Direction> {
    let action = norm(Some(action));
    direction(&action).or_else(|| {
        let (verb, rest) = action.split_once(char::is_whitespace)?;
        VERBS_OF_MOTION.contains(&verb).then(|| direction(rest.trim_start()))?
    })
}

/// The token for a full stop or the end of a line.
const END: &str = ".";

/// Splits an observation into words, lower-cased, and marks: [`END`], commas, and an empty token for any other.
fn tokens(obs: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    for c in obs.chars() {
        if c.is_alphanumeric() || matches!(c, '\'' | '’' | '_') {
            word.extend(c.to_lowercase());
            continue;
        }
        if !word.is_empty() {
            tokens.push(std::mem::take(&mut word));
        }
        match c {
            '.' | '\n' => tokens.push(END.to_owned()),
            ',' => tokens.push(",".to_owned()),
            c if c.is_whitespace() => {}
            _ => tokens.push(String::new()),
        }
    }
    tokens.extend((!word.is_empty()).then_some(word));
    tokens
}

pub(super) fn exits(obs: &str) -> BTreeSet<Direction> {
    let tokens = tokens(obs);
    let mut exits = BTreeSet::new();
    let mut rest = tokens.as_slice();
    // Whether this sentence has announced a list of exits: its later directions are all exits.
    let mut announced = false;
    while let Some((token, after)) = rest.split_first() {
        if announced {
            exits.extend(direction(token));
        }
        announced =
            token != END && (announced || token == "exit" || token == "exits" || announces_ways(rest));
        if token == "go" {
            exits.extend(listed(after));
        }
        if is_way(token) {
            exits.extend(led_to(after));
        }
        rest = after;
    }
    exits
}

/// Returns true if a text begins with "you can go" or "you can also go".
fn announces_ways(tokens: &[String]) -> bool {
    let begins = |words: &[&str]| tokens.get(..words.len()).is_some_and(|begin| begin == words);
    begins(&["you", "can", "go"]) || begins(&["you", "can", "also", "go"])
}

/// Returns the directions at the start of a text, in a list with commas and "or".
fn listed(tokens: &[String]) -> impl Iterator<Item = Direction> {
    tokens
        .iter()
        .take_while(|token| direction(token).is_some() || *token == "," || *token == "or")
        .filter_map(|token| direction(token))
}

fn is_way(word: &str) -> bool {
    let singular = word.strip_suffix('s').unwrap_or(word);
    WAYS.contains(&word) || WAYS.contains(&singular)
}

/// Returns the direction of an exit, given the text after its name: "leads north", "leading to the north",
/// "to the north".
fn led_to(tokens: &[String]) -> Option<Direction> {
    const LEADS: [&str; 4] = ["lead", "leads", "leading", "led"];
    towards(tokens).or_else(|| {
        let sentence = tokens.iter().take_while(|token| *token != END);
        // If another exit comes first, the verb belongs to it.
        let leads =
            sentence.take_while(|token| !is_way(token)).position(|token| LEADS.contains(&token.as_str()))?;
        let after = tokens.get(leads + 1..)?;
        (0..=2).find_map(|adverbs| {
            let after = after.get(adverbs..)?;
            direction(after.first()?).or_else(|| towards(after))
        })
    })
}

/// Returns the direction after "to" or "to the" at the start of a text.
fn towards(tokens: &[String]) -> Option<Direction> {
    match tokens {
        [to, the, way, ..] if to == "to" && the == "the" => direction(way),
        [to, way, ..] if to == "to" => direction(way),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_headed_in_three_ways() {
        let (long, fits) = ("X".repeat(60), "Y".repeat(59));
        for (obs, found) in [
            ("** Kitchen **\nA table.", Some("Kitchen")),
            ("Hall Way\n<<Boiler Room>>\n** Kitchen **", Some("Kitchen")),
            ("Hall Way\n<< Boiler Room >>", Some("Boiler Room")),
            ("You walk.\nWest of House\nYou stand here.", Some("West of House")),
            ("** Pit **\nOak Hall", Some("Oak Hall")),
            (&format!("** {long} **\n** {fits} **"), Some(fits.as_str())),
            ("Captain's Cabin  \nx.", Some("Captain's Cabin")),
            ("kitchen\n Kitchen\nRoom 5\nDust.", None),
            ("** Kit\nchen **", None),
            ("", None),
        ] {
            assert_eq!(room(obs), found, "{obs}");
        }
    }

    #[test]
    fn exits_stand_in_known_phrases() {
        for (obs, found) in [
            ("Obvious exits: north, SOUTH. East of here.", vec!["north", "south"]),
            ("Exits: ne/down\nwest", vec!["down", "northeast"]),
            ("The only exit is u.", vec!["up"]),
            ("You can also go west, up", vec!["up", "west"]),
            ("You can go n and, if brave, d.", vec!["down", "north"]),
            ("You may go east or se from here, not west.", vec!["east", "southeast"]),
            ("A passage leading to the north looks dark.", vec!["north"]),
            ("There is a door to the west. A path leads off to east.", vec!["east", "west"]),
            ("Stairs lead up; a door, closed, leads to the s.", vec!["south", "up"]),
            ("A stairway leading down is here.", vec!["down"]),
            ("The door is shut. East of it a path ends; it leads west", vec!["west"]),
            ("The captain's chair stands to the north.", vec![]),
            ("Going north is not possible.", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(exits(obs).into_iter().collect::<Vec<_>>(), found, "{obs}");
        }
    }

    #[test]
    fn actions_name_directions_with_one_verb_at_most() {
        for (action, found) in [
            ("n", Some("north")),
            (" SouthWest ", Some("southwest")),
            ("head  nw", Some("northwest")),
            ("go go up", None),
            ("go to the north", None),
            ("take north", None),
            ("", None),
        ] {
            assert_eq!(direction_of_action(action), found, "{action}");
        }
    }
}
