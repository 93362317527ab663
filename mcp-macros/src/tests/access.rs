//! Tests for `scopes(…)` and `visible_if = …`.

use expect_test::expect;

use crate::parse::kind::Kind;
use crate::stages;
use crate::tests::{check, check_server, tokens};

#[test]
fn scopes_are_checked_and_passed_on() {
    check(
        Kind::Prompt,
        r#"scopes("notes:read", "notes:write"), visible_if = staff::only"#,
        "fn review() -> String { String::new() }",
        &expect![[r#"
            fn review() -> String {
                String::new()
            }
            #[doc(hidden)]
            const fn __mcp_parameters_of_review() -> &'static [::mcp_runtime::__private::ParameterMeta] {
                use ::mcp_runtime::__private as __mcp;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 0usize] = [];
                &__MCP_PARAMETERS
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                const __MCP_PARAMETERS: &[__mcp::ParameterMeta] = __mcp_parameters_of_review();
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Prompt,
                    name: "review",
                    function: __mcp::type_id_of(&review),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::Scopes(
                            __mcp::Cow::Borrowed(
                                &[
                                    __mcp::Cow::Borrowed("notes:read"),
                                    __mcp::Cow::Borrowed("notes:write"),
                                ],
                            ),
                        ),
                        __mcp::ItemOption::VisibleIf(__mcp::VisibleIf::Declared(staff::only)),
                    ],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        __mcp_call.decode(&mut [])?;
                        ::core::result::Result::Ok(__mcp::prompt::reply::<String>(review()))
                    }),
                };
                __mcp::inventory::submit! {
                    __mcp::Submitted(& __MCP_DEFINITION)
                }
            };
        "#]],
    );
}

#[test]
fn visible_if_of_a_method_can_name_a_function_of_its_type() {
    check_server(
        r#"impl Notes { #[resource("notes:///all", visible_if = Self::open)] fn all(&self) -> String { String::new() } }"#,
        &expect![[r#"
            impl Notes {
                fn all(&self) -> String {
                    String::new()
                }
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 0usize] = [];
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Resource,
                    name: "all",
                    function: __mcp::type_id_of(&<Notes>::all),
                    receiver: ::core::option::Option::Some(__mcp::Owner::of::<Notes>("Notes")),
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::VisibleIf(__mcp::VisibleIf::Declared(Notes::open)),
                        __mcp::ItemOption::Uri("notes:///all"),
                        __mcp::ItemOption::OutputMimeType(
                            <String as __mcp::IntoResourceResult>::MIME_TYPE,
                        ),
                    ],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        __mcp_call.decode(&mut [])?;
                        let __mcp_receiver = __mcp_call.receiver::<Notes>()?;
                        ::core::result::Result::Ok(
                            __mcp::resource::reply::<String>(<Notes>::all(&__mcp_receiver)),
                        )
                    }),
                };
                __mcp::inventory::submit! {
                    __mcp::Submitted(& __MCP_DEFINITION)
                }
            };
        "#]],
    );
}

#[test]
fn scopes_are_strings_in_parentheses_each_once() {
    const FORM: &str = "`scopes` takes strings in parentheses";
    for (options, message) in [
        ("scopes", FORM),
        ("scopes()", FORM),
        (r#"scopes = "a""#, FORM),
        (r#"scopes("a", b)"#, FORM),
        (r#"scopes("a", 1)"#, FORM),
        (
            r#"scopes("a", "b", "a")"#,
            "scope `a` is listed twice; keep one",
        ),
        (
            r#"scopes("a"), scopes("b")"#,
            "option `scopes` is given twice",
        ),
        ("visible_if", "`visible_if` needs a value"),
        (
            r#"visible_if = "staff""#,
            "`visible_if` takes a path, neither a string nor a closure",
        ),
        (
            "visible_if = |_| true",
            "`visible_if` takes a path, neither a string nor a closure",
        ),
    ] {
        let emitted = stages::expand_handler(Kind::Tool, tokens(options), tokens("fn add() {}"));
        let emitted = emitted.to_string();
        assert_eq!(emitted.matches("compile_error").count(), 1, "{emitted}");
        assert!(emitted.contains(message), "{options}: {emitted}");
    }
}
