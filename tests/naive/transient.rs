//! Transient failures.

use wrongturn::{Status, TransientRules};

use super::run::{Call, Done};

pub(crate) fn is_transient(call: &Call, rules: &TransientRules) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-', ' '], "");
    let by_type = |kind: &str| rules.error_types.iter().any(|known| plain(kind).contains(&plain(known)));
    let by_text = |text: &str| {
        let head: Vec<char> = text.chars().take(300).collect();
        let lower = head.iter().collect::<String>().to_lowercase();
        rules.phrases.iter().any(|phrase| lower.contains(&phrase.to_lowercase()))
            || rules.codes.iter().any(|code| holds_number(&head, &code.to_string()))
    };
    call.status == Status::Error
        && (call.error_type.is_some_and(by_type)
            || call.observation.as_deref().filter(|_| !call.left_out.1).is_some_and(by_text))
}

/// Whether `number` stands in the text with no digit, `.digit` or `,digit` adjoining, on either side.
fn holds_number(text: &[char], number: &str) -> bool {
    let number: Vec<char> = number.chars().collect();
    let digit = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(char::is_ascii_digit);
    let point = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(|c| matches!(c, '.' | ','));
    (0..text.len()).any(|start| {
        let end = start + number.len();
        let before = start.checked_sub(1);
        let goes_on_before = digit(before) || point(before) && digit(start.checked_sub(2));
        let goes_on_behind = digit(Some(end)) || point(Some(end)) && digit(Some(end + 1));
        text[start..].starts_with(&number) && !goes_on_before && !goes_on_behind
    })
}

pub(super) fn is_passed_over(rules: Option<&TransientRules>, action: &Done<'_>) -> bool {
    rules.is_some_and(|rules| is_transient(action.call, rules))
}
