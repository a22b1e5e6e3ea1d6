//! Readable compile errors: the messages must match the expected output of each case.

#[test]
fn a_wrong_handler_gets_a_readable_compile_error() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
