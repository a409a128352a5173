//! The case of letters.

use super::case_tables::{RUNS, SEVERAL};

/// Folds the case of letters, so that texts that differ only in case become equal.
///
/// A letter folds to lower case, upper case and lower case again: some letters have two lower-case forms, or change
/// only in one direction.
pub(crate) fn folded_letters(letters: impl Iterator<Item = char>) -> impl Iterator<Item = char> {
    let letters = letters.flat_map(|letter| {
        let several = several(letter);
        let one = if several.is_empty() { Some(one(letter)) } else { None };
        one.into_iter().chain(several.chars())
    });
    // In lower case, the Turkish letter `İ` becomes `i` and a combining dot. Without the dot, it equals `i`.
    letters.filter(|&letter| letter != '\u{307}')
}

/// Returns what a letter folds to, unless it folds to several letters.
fn one(letter: char) -> char {
    let code = letter as u32;
    // The last run that begins at the letter or before it.
    let Some(before) = RUNS.partition_point(|run| run.0 <= code).checked_sub(1) else {
        return letter;
    };
    let (first, step, count, add) = RUNS[before];
    let is_in_run = (code - first).is_multiple_of(step) && (code - first) / step < count;
    let folded =
        if is_in_run { code.checked_add_signed(add).and_then(char::from_u32) } else { None };
    folded.unwrap_or(letter)
}

/// Returns the letters that a letter folds to, if they are several.
fn several(letter: char) -> &'static str {
    if letter.is_ascii() {
        return "";
    }
    SEVERAL.binary_search_by_key(&letter, |entry| entry.0).map_or("", |found| SEVERAL[found].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Folds a letter by the tables of the standard library.
    fn by_std(letter: char) -> impl Iterator<Item = char> {
        letter.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase)
    }

    #[test]
    fn every_letter_folds_as_in_the_standard_library() {
        for letter in '\0'..=char::MAX {
            let expected = by_std(letter).filter(|&letter| letter != '\u{307}');
            assert!(folded_letters([letter].into_iter()).eq(expected), "{letter:?}");
        }
    }

    #[test]
    fn the_tables_agree_with_the_unicode_data_of_the_standard_library() {
        let mut runs: Vec<(u32, u32, u32, i32)> = Vec::new();
        let mut several = Vec::new();
        for letter in '\0'..=char::MAX {
            let folded: String = by_std(letter).collect();
            let mut letters = folded.chars();
            let (Some(one), None) = (letters.next(), letters.next()) else {
                several.push((letter, folded));
                continue;
            };
            let (code, add) = (letter as u32, one as i32 - letter as i32);
            if add == 0 {
                continue;
            }
            if let Some((first, step, count, added)) = runs.last_mut() {
                let from_last = code - (*first + *step * (*count - 1));
                if *added == add && (*count == 1 && from_last <= 2 || from_last == *step) {
                    (*step, *count) = (from_last, *count + 1);
                    continue;
                }
            }
            runs.push((code, 1, 1, add));
        }
        assert_eq!(runs, RUNS);
        let listed: Vec<_> =
            SEVERAL.iter().map(|&(letter, folded)| (letter, folded.to_owned())).collect();
        assert_eq!(several, listed);
    }
}
