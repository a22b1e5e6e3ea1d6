//! Compile errors that a person can read: the words are held to what is written beside each case.

#[test]
fn a_wrong_handler_is_told_what_is_wrong_with_it() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
