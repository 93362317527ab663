//! `--trusted-proxies`: proxies that are trusted in addition to those of the program.

use super::run;

#[test]
fn a_trusted_proxy_is_an_address_or_a_network() {
    let proxies = "10.0.0.0/8,127.0.0.1,proxy";
    let refused = run(
        "guide",
        &["--http", "127.0.0.1:0", "--trusted-proxies", proxies],
    )
    .bad();
    let expected = "the trusted proxy `proxy` is neither an IP address nor a network";
    assert!(refused.contains(expected), "{refused}");
    assert_eq!(refused.matches("trusted proxy").count(), 1, "{refused}");
}
