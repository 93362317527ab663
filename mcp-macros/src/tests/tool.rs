//! Tests for `#[tool]`.

use expect_test::expect;

use crate::parse::kind::Kind;
use crate::tests::check;

#[test]
fn a_function_is_described_and_registered() {
    check(
        Kind::Tool,
        "",
        "/// Adds.\nfn add(/** Left */ a: i64, #[arg(range(0..=5), default = 1)] b: i64) -> i64 { a + b }",
        &expect![[r#"
            /// Adds.
            fn add(a: i64, b: i64) -> i64 {
                a + b
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 2usize] = [
                    __mcp::source(
                            <__mcp::Probe<i64>>::from_context,
                            <__mcp::Probe<i64>>::async_from_context,
                            <__mcp::Probe<i64>>::deserialize,
                            <__mcp::Probe<i64>>::json_schema,
                        )
                        .kind()
                        .parameter::<i64>("a", "Left"),
                    __mcp::source(
                            <__mcp::Probe<i64>>::from_context,
                            <__mcp::Probe<i64>>::async_from_context,
                            <__mcp::Probe<i64>>::deserialize,
                            <__mcp::Probe<i64>>::json_schema,
                        )
                        .kind()
                        .parameter::<i64>("b", "")
                        .constraints(
                            &__mcp::Constraints {
                                minimum: ::core::option::Option::Some(__mcp::Bound::Integer(0i128)),
                                maximum: ::core::option::Option::Some(__mcp::Bound::Integer(5i128)),
                                ..__mcp::Constraints::NONE
                            },
                        )
                        .default_json("1"),
                ];
                const _: () = __mcp::rules::check(&<__mcp::Probe<i64>>::SUITABILITY);
                const _: () = <__mcp::Probe<i64>>::CONSTRAINTS.check_range();
                const _: () = <__mcp::Probe<i64>>::CONSTRAINTS.check_number(0i128);
                const _: () = <__mcp::Probe<i64>>::CONSTRAINTS.check_number(5i128);
                const _: () = __mcp::rules::check(&<__mcp::Probe<i64>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &__mcp::rules::is_argument(&__MCP_PARAMETERS[1usize]),
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Tool,
                    name: "add",
                    function: __mcp::type_id_of(&add),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[__mcp::ItemOption::Description(__mcp::Cow::Borrowed("Adds."))],
                    output_schema: ::core::option::Option::Some(
                        <i64 as __mcp::IntoToolResult>::output_schema,
                    ),
                    conforms: <i64 as __mcp::IntoToolResult>::CONFORMS,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        let mut __mcp_slots: (
                            ::core::option::Option<i64>,
                            ::core::option::Option<i64>,
                        ) = (::core::option::Option::None, ::core::option::Option::None);
                        __mcp_call.decode(&mut [&mut __mcp_slots.0, &mut __mcp_slots.1])?;
                        let (
                            ::core::option::Option::Some(__mcp_0),
                            ::core::option::Option::Some(__mcp_1),
                        ) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(__mcp::tool::reply::<i64>(add(__mcp_0, __mcp_1)))
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
fn options_are_a_list_and_strings_are_checked() {
    check(
        Kind::Tool,
        r#"name = "notes.add", title = "Add", read_only, destructive = false, timeout = "5s", rate = "10/min", concurrency = 4, max_output = "64KiB", requires(sampling), icons = ["https://example.com/a.png"], strict"#,
        "async fn add() {}",
        &expect![[r#"
            async fn add() {}
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 0usize] = [];
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Tool,
                    name: "notes.add",
                    function: __mcp::type_id_of(&add),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::Title(__mcp::Cow::Borrowed("Add")),
                        __mcp::ItemOption::Icons(
                            __mcp::Made::By(|| {
                                ::std::vec![__mcp::Icon::new("https://example.com/a.png")]
                            }),
                        ),
                        __mcp::ItemOption::Timeout(::core::time::Duration::from_millis(5000u64)),
                        __mcp::ItemOption::Rate(__mcp::Cow::Borrowed("10/min")),
                        __mcp::ItemOption::Concurrency(4),
                        __mcp::ItemOption::MaxOutput(65536usize),
                        __mcp::ItemOption::ReadOnly(true),
                        __mcp::ItemOption::Destructive(false),
                        __mcp::ItemOption::Requires(&[__mcp::ClientFeature::Sampling]),
                        __mcp::ItemOption::Strict(true),
                    ],
                    output_schema: ::core::option::Option::Some(
                        <() as __mcp::IntoToolResult>::output_schema,
                    ),
                    conforms: <() as __mcp::IntoToolResult>::CONFORMS,
                    run: __mcp::Run::Async(|__mcp_call| {
                        __mcp_call.decode(&mut [])?;
                        ::core::result::Result::Ok(
                            __mcp::boxed::<(), _>(add(), __mcp::tool::reply::<()>),
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
fn the_future_owns_values_that_the_function_borrows() {
    check(
        Kind::Tool,
        "",
        "async fn add<'a>(text: &'a str, other: Cow<'a, str>) -> Result<Cow<'a, str>> { Ok(other) }",
        &expect![[r#"
            async fn add<'a>(text: &'a str, other: Cow<'a, str>) -> Result<Cow<'a, str>> {
                Ok(other)
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 2usize] = [
                    __mcp::source(
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::async_from_context,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::deserialize,
                            <__mcp::Probe<<str as __mcp::Lend>::Owned>>::json_schema,
                        )
                        .kind()
                        .parameter::<<str as __mcp::Lend>::Owned>("text", ""),
                    __mcp::source(
                            <__mcp::Probe<Cow<'static, str>>>::from_context,
                            <__mcp::Probe<Cow<'static, str>>>::async_from_context,
                            <__mcp::Probe<Cow<'static, str>>>::deserialize,
                            <__mcp::Probe<Cow<'static, str>>>::json_schema,
                        )
                        .kind()
                        .parameter::<Cow<'static, str>>("other", ""),
                ];
                const _: () = __mcp::rules::check(
                    &<__mcp::Probe<<str as __mcp::Lend>::Owned>>::SUITABILITY,
                );
                const _: () = __mcp::rules::check(&<__mcp::Probe<Cow<'static, str>>>::SUITABILITY);
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Tool,
                    name: "add",
                    function: __mcp::type_id_of(&add),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[],
                    output_schema: ::core::option::Option::Some(
                        <Result<Cow<'_, str>> as __mcp::IntoToolResult>::output_schema,
                    ),
                    conforms: <Result<Cow<'_, str>> as __mcp::IntoToolResult>::CONFORMS,
                    run: __mcp::Run::Async(|__mcp_call| {
                        let mut __mcp_slots: (
                            ::core::option::Option<<str as __mcp::Lend>::Owned>,
                            ::core::option::Option<Cow<'static, str>>,
                        ) = (::core::option::Option::None, ::core::option::Option::None);
                        __mcp_call.decode(&mut [&mut __mcp_slots.0, &mut __mcp_slots.1])?;
                        let (
                            ::core::option::Option::Some(__mcp_0),
                            ::core::option::Option::Some(__mcp_1),
                        ) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::running(async move {
                                __mcp::tool::reply::<
                                    Result<Cow<'_, str>>,
                                >(add(__mcp::referent::<str>(&__mcp_0), __mcp_1).await)
                            }),
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
fn a_half_typed_body_still_expands() {
    let emitted = crate::stages::expand_handler(
        Kind::Tool,
        crate::tests::tokens(""),
        crate::tests::tokens("fn add(a: i64) -> i64 { a. }"),
    )
    .to_string();
    assert!(
        emitted.starts_with("fn add (a : i64) -> i64 { a . }"),
        "{emitted}"
    );
    assert!(emitted.contains("submit !"), "{emitted}");
}

#[test]
fn a_default_in_rust_occurs_once() {
    check(
        Kind::Tool,
        "blocking, crate = ::mcp",
        "#[cfg(unix)] fn add(#[arg(default = Some(limit()))] r#type: Option<u8>) {}",
        &expect![[r#"
            #[cfg(unix)]
            fn add(r#type: Option<u8>) {}
            #[cfg(unix)]
            const _: () = {
                use ::mcp::__private as __mcp;
                use __mcp::ProbeFallback as _;
                fn __mcp_default_0() -> Option<u8> {
                    Some(limit())
                }
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 1usize] = [
                    __mcp::source(
                            <__mcp::Probe<Option<u8>>>::from_context,
                            <__mcp::Probe<Option<u8>>>::async_from_context,
                            <__mcp::Probe<Option<u8>>>::deserialize,
                            <__mcp::Probe<Option<u8>>>::json_schema,
                        )
                        .kind()
                        .parameter::<Option<u8>>("type", "")
                        .default_value(__mcp::DefaultValue::Rust {
                            fill: |__mcp_slot| __mcp::fill(__mcp_slot, __mcp_default_0()),
                            json: || __mcp::to_json(&__mcp_default_0()),
                        }),
                ];
                const _: () = __mcp::rules::check(&<__mcp::Probe<Option<u8>>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &__mcp::rules::is_argument(&__MCP_PARAMETERS[0usize]),
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Tool,
                    name: "add",
                    function: __mcp::type_id_of(&add),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[],
                    output_schema: ::core::option::Option::Some(
                        <() as __mcp::IntoToolResult>::output_schema,
                    ),
                    conforms: <() as __mcp::IntoToolResult>::CONFORMS,
                    run: __mcp::Run::Blocking(|__mcp_call| {
                        let mut __mcp_slots: (::core::option::Option<Option<u8>>,) = (
                            ::core::option::Option::None,
                        );
                        __mcp_call.decode(&mut [&mut __mcp_slots.0])?;
                        let (::core::option::Option::Some(__mcp_0),) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::blocking(move || __mcp::tool::reply::<()>(add(__mcp_0))),
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
fn an_error_leaves_the_function_without_markers() {
    check(
        Kind::Tool,
        "titel = \"Add\"",
        "fn add(/** Left */ #[arg(rang(1..))] a: i64, (b, c): (u8, u8)) {}",
        &expect![[r#"
            fn add(a: i64, (b, c): (u8, u8)) {}
            ::core::compile_error! {
                "unknown option `titel`; did you mean `title`?"
            }
            ::core::compile_error! {
                "unknown option `rang`; did you mean `range`?"
            }
            ::core::compile_error! {
                "a tool argument needs a plain name, because the name becomes a JSON property"
            }
        "#]],
    );
}

#[test]
fn rename_all_renames_every_parameter() {
    let text = crate::stages::expand_handler(
        Kind::Tool,
        "rename_all = \"camelCase\"".parse().unwrap(),
        "fn add(first_number: i64, #[arg(name = \"other\")] second_number: i64) -> i64 { 0 }"
            .parse()
            .unwrap(),
    )
    .to_string();
    assert!(text.contains("(\"firstNumber\" , \"\")"), "{text}");
    assert!(text.contains("(\"other\" , \"\")"), "{text}");
}

#[test]
fn more_than_seven_parameters_allow_the_clippy_lint() {
    let expand = |function: &str| {
        let function = function.parse().unwrap();
        crate::stages::expand_handler(Kind::Tool, proc_macro2::TokenStream::new(), function)
            .to_string()
    };
    let allow = "# [allow (clippy :: too_many_arguments)]";
    let eight = expand("fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8) {}");
    assert!(eight.starts_with(allow), "{eight}");
    let seven = expand("fn f(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8) {}");
    assert!(!seven.contains(allow), "{seven}");
    let method =
        "impl Notes { #[tool] fn f(&self, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8) {} }";
    let method =
        crate::stages::expand_server(proc_macro2::TokenStream::new(), method.parse().unwrap())
            .to_string();
    assert!(method.contains(allow), "{method}");
}
