//! Makes a failing run smaller. A run is a function of its list of choices, so parts of the list are left out or
//! replaced by 0 for as long as the same property breaks.

use super::{ScheduleResult, play};
use crate::rules::Rules;

/// Returns a smaller list that breaks the same property.
pub(super) fn shrink(rules: Rules, list: Vec<u16>, property: &str, most: u32) -> Vec<u16> {
    let mut search = Search { rules, property, best: list, left: most };
    loop {
        let before = search.best.clone();
        search.cut();
        search.leave_out();
        search.make_plain();
        search.make_smaller();
        if search.best == before || search.left == 0 {
            return search.best;
        }
    }
}

struct Search<'a> {
    rules: Rules,
    property: &'a str,
    best: Vec<u16>,
    left: u32,
}

impl Search<'_> {
    fn still_breaks(&mut self, list: &[u16]) -> bool {
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        let ScheduleResult { broken, made, .. } = play(self.rules, list, false);
        let is_it = broken.is_some_and(|broken| broken.property == self.property);
        if is_it {
            // Choices that the run did not draw can be removed.
            self.best = list[..list.len().min(made.len())].to_vec();
            while self.best.last() == Some(&0) {
                self.best.pop();
            }
        }
        is_it
    }

    /// Replaces everything after a point by 0.
    fn cut(&mut self) {
        let mut step = self.best.len() / 2;
        while step > 0 {
            while self.best.len() > step {
                let list = self.best[..self.best.len() - step].to_vec();
                if !self.still_breaks(&list) {
                    break;
                }
            }
            step /= 2;
        }
    }

    fn leave_out(&mut self) {
        for size in [64, 16, 8, 4, 3, 2, 1] {
            let mut at = self.best.len();
            while at > 0 && self.left > 0 {
                at = at.saturating_sub(size).min(self.best.len());
                let mut list = self.best.clone();
                list.drain(at..(at + size).min(list.len()));
                self.still_breaks(&list);
            }
        }
    }

    fn make_plain(&mut self) {
        for size in [64, 16, 4, 1] {
            let mut at = 0;
            while at < self.best.len() && self.left > 0 {
                let end = (at + size).min(self.best.len());
                if self.best[at..end].iter().any(|choice| *choice != 0) {
                    let mut list = self.best.clone();
                    list[at..end].fill(0);
                    self.still_breaks(&list);
                }
                at += size;
            }
        }
    }

    fn make_smaller(&mut self) {
        let mut at = 0;
        while at < self.best.len() && self.left > 0 {
            for smaller in [1, self.best[at] / 2, self.best[at].saturating_sub(1)] {
                if at < self.best.len() && smaller < self.best[at] {
                    let mut list = self.best.clone();
                    list[at] = smaller;
                    self.still_breaks(&list);
                }
            }
            at += 1;
        }
    }
}
