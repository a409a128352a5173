//! The random choices of a run. The list of choices determines the run completely.
//!
//! A seed draws a new list and records it. A recorded list can be played again, which is how a failing run is made
//! smaller. The choice 0 always means the plain case: no fault, no delay, the simplest setting.

/// The choices of one run.
pub(super) struct Choices {
    state: u64,
    /// The list to play again. `None` draws a new list.
    given: Option<Vec<u16>>,
    made: Vec<u16>,
}

impl Choices {
    /// Draws the choices from a seed.
    pub(super) fn of_seed(seed: u64) -> Self {
        Self { state: seed, given: None, made: Vec::with_capacity(1024) }
    }

    /// Plays these choices, and 0 for every choice after them.
    pub(super) fn given(list: &[u16]) -> Self {
        Self { state: 0, given: Some(list.to_vec()), made: Vec::with_capacity(list.len()) }
    }

    /// Returns the choices that were made.
    pub(super) fn made(self) -> Vec<u16> {
        self.made
    }

    /// Returns one of `count` choices, from 0.
    pub(super) fn below(&mut self, count: u16) -> u16 {
        let drawn = (self.draw() >> 32) as u32;
        let fresh = ((u64::from(drawn) * u64::from(count)) >> 32) as u16;
        self.make(fresh, count)
    }

    /// Returns true `per_mille` times in a thousand. An event that cannot happen uses up no choice.
    pub(super) fn chance(&mut self, per_mille: u16) -> bool {
        if per_mille == 0 {
            return false;
        }
        let happens = self.draw() >> 32 < (u64::from(per_mille) << 32) / 1000;
        self.make(u16::from(happens), 2) == 1
    }

    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.below(of.len() as u16))]
    }

    fn make(&mut self, fresh: u16, count: u16) -> u16 {
        let choice = match &self.given {
            None => fresh,
            Some(given) => given.get(self.made.len()).copied().unwrap_or(0).min(count - 1),
        };
        self.made.push(choice);
        choice
    }

    /// SplitMix64: small, fast, and the same on every platform.
    fn draw(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
