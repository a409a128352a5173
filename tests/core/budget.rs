//! Which bodies get memory of an isolate, and which lose it.

use oncekey::budget::{Budget, Ceilings, FORGOTTEN, NoRoom, PROGRESS, SMALL, Slot, TINY};
use oncekey::{Millis, UnixMillis};

const PATIENCE: Millis = Millis::from_seconds(2);

/// Four large bodies, then small ones, then tiny ones.
const LARGE: u64 = 4 * (1 << 20);
const CEILINGS: Ceilings =
    Ceilings { large: LARGE, small: LARGE + 8 * SMALL, tiny: LARGE + 8 * SMALL + 8 * TINY };

fn at(millis: u64) -> UnixMillis {
    UnixMillis::new(1_000_000 + millis)
}

/// Adds a body of `length` bytes that has not arrived completely.
fn unfinished(budget: &mut Budget, length: u64, now: u64) -> Result<Slot, NoRoom> {
    let slot = budget.open(at(now));
    budget.append(slot, &vec![7; length as usize], CEILINGS, at(now)).map(|()| slot)
}

/// Adds a body of `length` bytes that has arrived and is in use.
fn whole(budget: &mut Budget, length: u64, now: u64) -> Result<Slot, NoRoom> {
    let slot = unfinished(budget, length, now)?;
    budget.take(slot).map(|_| slot).ok_or(NoRoom)
}

#[test]
fn a_small_body_has_up_to_64_kb_and_a_tiny_body_up_to_4_kb() {
    assert_eq!([SMALL, TINY, PROGRESS], [65_536, 4096, 4096]);
}

#[test]
fn large_bodies_leave_memory_for_small_bodies_and_small_bodies_for_tiny_ones() {
    let mut budget = Budget::new(PATIENCE);
    for _ in 0..4 {
        whole(&mut budget, 1 << 20, 0).unwrap();
    }
    assert_eq!(whole(&mut budget, SMALL + 1, 0), Err(NoRoom));
    for _ in 0..8 {
        whole(&mut budget, SMALL, 0).unwrap();
    }
    assert_eq!(whole(&mut budget, TINY + 1, 0), Err(NoRoom));
    for _ in 0..8 {
        whole(&mut budget, TINY, 0).unwrap();
    }
    assert_eq!(whole(&mut budget, 1, 0), Err(NoRoom));
    assert_eq!(budget.held(), CEILINGS.tiny);
}

#[test]
fn a_closed_body_frees_its_memory() {
    let mut budget = Budget::new(PATIENCE);
    let slot = whole(&mut budget, LARGE, 0).unwrap();
    assert_eq!(unfinished(&mut budget, 1 << 20, 0), Err(NoRoom));
    budget.close(slot);
    budget.close(slot);
    // The refused body still has its slot, and no bytes.
    assert_eq!(budget.held(), 0);
    unfinished(&mut budget, LARGE, 0).unwrap();
}

#[test]
fn a_large_body_takes_the_memory_of_a_stalled_body() {
    let mut budget = Budget::new(PATIENCE);
    let first = unfinished(&mut budget, LARGE / 2, 0).unwrap();
    let second = unfinished(&mut budget, LARGE / 2, 100).unwrap();
    assert_eq!(unfinished(&mut budget, 1 << 20, 1999), Err(NoRoom));
    unfinished(&mut budget, 1 << 20, 2000).unwrap();
    assert!(!budget.has(first) && budget.has(second));
    assert_eq!(budget.take(first), None);
    assert_eq!(budget.append(first, b"more", CEILINGS, at(2001)), Err(NoRoom));
    assert_eq!(budget.held(), LARGE / 2 + (1 << 20));
    budget.close(first);
    assert_eq!(budget.held(), LARGE / 2 + (1 << 20));
}

#[test]
fn a_small_body_takes_the_memory_of_small_bodies_that_have_stalled() {
    let mut budget = Budget::new(PATIENCE);
    whole(&mut budget, LARGE, 0).unwrap();
    let stalled: Vec<_> =
        (0..8).map(|number| unfinished(&mut budget, SMALL, number).unwrap()).collect();
    unfinished(&mut budget, SMALL, 10).unwrap();
    assert!(!budget.has(stalled[0]));
    assert!(stalled[1..].iter().all(|slot| budget.has(*slot)), "no more bodies than necessary");
}

#[test]
fn any_number_of_stalled_bodies_leaves_memory_for_a_payment() {
    for length in [300, TINY, TINY + 1, SMALL, SMALL + 1, 1 << 20] {
        let mut budget = Budget::new(PATIENCE);
        let mut taken = 0;
        // Each body has 300 bytes. The test adds a tenth more bodies than fit.
        while taken < CEILINGS.tiny + CEILINGS.tiny / 10 {
            let _ = unfinished(&mut budget, length, taken);
            taken += length;
        }
        assert!(whole(&mut budget, 300, taken).is_ok(), "{length}");
        assert!(budget.held() <= CEILINGS.tiny);
    }
}

#[test]
fn a_small_body_does_not_end_an_upload_that_makes_progress() {
    let mut budget = Budget::new(PATIENCE);
    let upload = unfinished(&mut budget, LARGE, 0).unwrap();
    for _ in 0..8 {
        whole(&mut budget, SMALL, 0).unwrap();
    }
    assert_eq!(whole(&mut budget, SMALL, 1000), Err(NoRoom));
    assert!(budget.has(upload));
}

#[test]
fn a_few_bytes_now_and_then_do_not_count_as_progress() {
    let mut budget = Budget::new(PATIENCE);
    let trickles = unfinished(&mut budget, LARGE / 2 - PROGRESS, 0).unwrap();
    let moves = unfinished(&mut budget, LARGE / 2 - PROGRESS, 0).unwrap();
    for second in 1..=3 {
        budget.append(trickles, &[1; 100], CEILINGS, at(second * 900)).unwrap();
    }
    budget.append(moves, &vec![1; PROGRESS as usize], CEILINGS, at(2700)).unwrap();
    unfinished(&mut budget, 1 << 20, 2800).unwrap();
    assert!(!budget.has(trickles) && budget.has(moves));
}

#[test]
fn a_complete_body_keeps_its_memory_until_it_is_forgotten() {
    let mut budget = Budget::new(PATIENCE);
    let taken = whole(&mut budget, LARGE / 2, 0).unwrap();
    let whole = unfinished(&mut budget, LARGE / 2, 0).unwrap();
    budget.is_whole(whole);
    let almost = FORGOTTEN.as_u64() - 1;
    assert_eq!(unfinished(&mut budget, 1 << 20, almost), Err(NoRoom));
    unfinished(&mut budget, 1 << 20, almost + 1).unwrap();
    assert!(!budget.has(taken) && budget.has(whole));
    assert_eq!(budget.take(whole).map(|bytes| bytes.len() as u64), Some(LARGE / 2));
}

#[test]
fn no_body_loses_its_memory_unless_that_is_enough() {
    let mut budget = Budget::new(PATIENCE);
    whole(&mut budget, LARGE - SMALL, 0).unwrap();
    let stalled = unfinished(&mut budget, SMALL, 0).unwrap();
    assert_eq!(unfinished(&mut budget, 1 << 20, 5000), Err(NoRoom));
    assert_eq!(unfinished(&mut budget, CEILINGS.large + 1, 5000), Err(NoRoom));
    assert!(budget.has(stalled));
}

#[test]
fn a_body_without_bytes_keeps_its_slot() {
    let mut budget = Budget::new(PATIENCE);
    let empty = unfinished(&mut budget, 0, 0).unwrap();
    let stalled = unfinished(&mut budget, LARGE, 1).unwrap();
    unfinished(&mut budget, LARGE, 5000).unwrap();
    assert!(budget.has(empty) && !budget.has(stalled));
}

#[test]
fn a_response_is_sent_in_pieces_and_dropped_if_its_reader_does_not_read() {
    let mut budget = Budget::new(PATIENCE);
    let mut put = |can_ask_again, now| {
        let slot = budget.open(at(now));
        budget.count(slot, LARGE / 2, CEILINGS, at(now)).unwrap();
        budget.put(slot, vec![9; LARGE as usize / 2], can_ask_again, at(now));
        slot
    };
    let (again, once) = (put(true, 0), put(false, 0));
    assert_eq!(budget.held(), LARGE, "bytes that were counted are counted once");
    assert_eq!(budget.piece(again, 0, 10), Some(&[9; 10][..]));
    assert_eq!(budget.piece(again, LARGE as usize / 2 - 3, 10), Some(&[9; 3][..]));
    assert_eq!(budget.piece(again, LARGE as usize, 10), None);
    budget.has_read(again, PROGRESS, at(1000));
    assert_eq!(unfinished(&mut budget, 1 << 20, 2999), Err(NoRoom));
    unfinished(&mut budget, 1 << 20, 3000).unwrap();
    assert_eq!(budget.piece(again, 0, 10), None);
    assert!(budget.has(once), "a response that cannot be sent again is not dropped");
}

#[test]
fn the_response_of_an_execution_is_not_refused() {
    let mut budget = Budget::new(PATIENCE);
    whole(&mut budget, LARGE, 0).unwrap();
    let slot = budget.open(at(0));
    assert_eq!(budget.count(slot, 1 << 20, CEILINGS, at(0)), Err(NoRoom));
    budget.count_anyway(slot, 1 << 20, CEILINGS, at(0));
    assert_eq!(budget.held(), LARGE + (1 << 20));
    assert_eq!(unfinished(&mut budget, SMALL, 0), Err(NoRoom));
    budget.close(slot);
    assert_eq!(budget.held(), LARGE);
    // The same is true if its slot was forgotten meanwhile.
    budget.put(slot, vec![1; 10], true, at(0));
    assert_eq!((budget.held(), budget.piece(slot, 0, 10)), (LARGE + 10, Some(&[1; 10][..])));
}
