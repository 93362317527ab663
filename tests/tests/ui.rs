//! Compile errors of the attributes, one fixture for each mistake, and functions that the attributes accept.

#[test]
fn mistakes_are_explained() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*/*.rs");
}
