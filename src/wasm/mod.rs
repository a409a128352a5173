//! The boundary to JavaScript: what the npm package is made of. No rules here: these types read the
//! clock, the random numbers and the store, ask the core, and carry out what it says.
