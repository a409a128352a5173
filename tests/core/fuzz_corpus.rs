//! Plays the inputs of `fuzz/`: the corpus of each target, and the inputs that once broke a property.
//! The properties are those of the fuzzer; see `docs/proof/fuzzing.md`.

#![allow(clippy::disallowed_methods, reason = "a test reads files; the core reads none")]

use crate::support::fuzz::TARGETS;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

#[test]
fn every_input_satisfies_the_property_of_its_target() {
    let failed: Vec<String> = TARGETS
        .iter()
        .flat_map(|(target, property)| {
            let inputs = [inputs("corpus", target), inputs("found", target)].concat();
            inputs.into_iter().filter(|input| {
                let bytes = std::fs::read(input).expect("an input");
                std::panic::catch_unwind(|| property(&bytes)).is_err()
            })
        })
        .map(|input| input.display().to_string())
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let targets: BTreeSet<String> =
        TARGETS.iter().map(|(target, _)| (*target).to_owned()).collect();
    for target in &targets {
        let count = inputs("corpus", target).len();
        assert!(count >= 10, "{target} has {count} inputs: run `make fuzz TARGET={target}`");
    }
    for folder in ["corpus", "found"] {
        let known = names(&folder_of(folder));
        assert!(known.is_subset(&targets), "{folder}: {:?}", &known - &targets);
    }
    let binaries = names(&folder_of("fuzz_targets"));
    let binaries: BTreeSet<String> =
        binaries.iter().map(|name| name.trim_end_matches(".rs").to_owned()).collect();
    assert_eq!(binaries, targets, "each target has a binary in fuzz/fuzz_targets");
}

fn inputs(folder: &str, target: &str) -> Vec<PathBuf> {
    let folder = folder_of(folder).join(target);
    names(&folder).iter().map(|name| folder.join(name)).collect()
}

fn folder_of(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz").join(folder)
}

fn names(folder: &Path) -> BTreeSet<String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return BTreeSet::new();
    };
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    names.map(|name| name.into_string().expect("a name")).collect()
}
