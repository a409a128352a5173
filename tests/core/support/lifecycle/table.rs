//! Decision tables as text, in which cells are found by words.
//!
//! A table begins with a line of column names; `=>` separates inputs and outputs. In an input column,
//! `*` fits every word, and `a/b` fits either word. The first line that fits counts. A first output
//! `as WORD` means the same as in the state `WORD`; `as in_time` means the same as before the end of its time.

use super::situations::Words;
use std::cell::RefCell;

pub(crate) struct Table {
    inputs: Vec<&'static str>,
    outputs: Vec<&'static str>,
    rows: Vec<Row>,
    used: RefCell<Vec<bool>>,
}

struct Row {
    line: &'static str,
    inputs: Vec<&'static str>,
    outputs: Vec<&'static str>,
}

impl Table {
    pub(crate) fn parse(text: &'static str) -> Self {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let cells = |half: &'static str| half.split('|').map(str::trim).collect::<Vec<_>>();
        let halves = |line: &'static str| {
            let (inputs, outputs) = line.split_once("=>").expect("a line has a =>");
            (cells(inputs), cells(outputs))
        };
        let (inputs, outputs) = halves(lines.next().expect("a table has a head"));
        let rows: Vec<_> = lines
            .map(|line| {
                let (row_inputs, row_outputs) = halves(line);
                assert_eq!(row_inputs.len(), inputs.len(), "{line}");
                assert!(
                    row_outputs.len() == outputs.len() || row_outputs[0].starts_with("as "),
                    "{line}"
                );
                Row { line, inputs: row_inputs, outputs: row_outputs }
            })
            .collect();
        let used = RefCell::new(vec![false; rows.len()]);
        Self { inputs, outputs, rows, used }
    }

    /// Returns the expected outputs for these words.
    pub(crate) fn expect(&self, words: &Words) -> Vec<(&'static str, &'static str)> {
        let fits = |row: &Row| {
            self.inputs.iter().zip(&row.inputs).all(|(column, cell)| {
                let word = words.iter().find(|(name, _)| name == column);
                let word = word.unwrap_or_else(|| panic!("no word for column {column}")).1;
                *cell == "*" || cell.split('/').any(|choice| choice == word)
            })
        };
        let found = self.rows.iter().position(fits);
        let found = found.unwrap_or_else(|| panic!("no line fits {words:?}"));
        self.used.borrow_mut()[found] = true;
        let outputs = &self.rows[found].outputs;
        if let Some(state) = outputs[0].strip_prefix("as ") {
            let mut words = words.clone();
            for (column, word) in &mut words {
                match (*column, state) {
                    ("when", "in_time") => *word = state,
                    (_, "in_time") => {}
                    ("state", _) => *word = state,
                    ("when" | "maybe", "absent") => *word = "-",
                    ("maybe", "unknown") => *word = "yes",
                    _ => {}
                }
            }
            return self.expect(&words);
        }
        self.outputs.iter().copied().zip(outputs.iter().copied()).collect()
    }

    /// Fails if a line was never used, because such a line tests nothing.
    pub(crate) fn assert_every_line_counted(&self) {
        for (row, used) in self.rows.iter().zip(self.used.borrow().iter()) {
            assert!(used, "this line is never used: {}", row.line);
        }
    }
}
