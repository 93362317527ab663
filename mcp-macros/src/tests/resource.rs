//! Tests for `#[resource]` and `#[resource_template]`.

use expect_test::expect;

use crate::parse::kind::Kind;
use crate::tests::check;

#[test]
fn a_resource_has_its_uri_checked() {
    check(
        Kind::Resource,
        r#""config://app", mime_type = "text/plain", audience(user), priority = 1, ttl = "1h", cache = "public""#,
        "fn config() -> String {}",
        &expect![[r#"
            fn config() -> String {}
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 0usize] = [];
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::Resource,
                    name: "config",
                    function: __mcp::type_id_of(&config),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::Uri("config://app"),
                        __mcp::ItemOption::MimeType(__mcp::Cow::Borrowed("text/plain")),
                        __mcp::ItemOption::Audience(&[__mcp::Role::User]),
                        __mcp::ItemOption::Priority(1f64),
                        __mcp::ItemOption::Ttl(::core::time::Duration::from_millis(3600000u64)),
                        __mcp::ItemOption::Cache(__mcp::CacheScope::Public),
                    ],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        __mcp_call.decode(&mut [])?;
                        ::core::result::Result::Ok(__mcp::resource::reply::<String>(config()))
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
fn a_template_has_its_variables_checked() {
    check(
        Kind::ResourceTemplate,
        r#""notes:///{id}", list = notes"#,
        "fn note(id: u32, ctx: &Context) -> String {}",
        &expect![[r#"
            fn note(id: u32, ctx: &Context) -> String {}
            #[doc(hidden)]
            const fn __mcp_parameters_of_note() -> &'static [::mcp_runtime::__private::ParameterMeta] {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                static __MCP_PARAMETERS: [__mcp::ParameterMeta; 2usize] = [
                    __mcp::source(
                            <__mcp::Probe<u32>>::from_context,
                            <__mcp::Probe<u32>>::async_from_context,
                            <__mcp::Probe<u32>>::deserialize,
                            <__mcp::Probe<u32>>::json_schema,
                        )
                        .kind()
                        .parameter::<u32>("id", ""),
                    __mcp::source(
                            <__mcp::Probe<<Context as __mcp::Lend>::Owned>>::from_context,
                            <__mcp::Probe<<Context as __mcp::Lend>::Owned>>::async_from_context,
                            <__mcp::Probe<<Context as __mcp::Lend>::Owned>>::deserialize,
                            <__mcp::Probe<<Context as __mcp::Lend>::Owned>>::json_schema,
                        )
                        .kind()
                        .parameter::<<Context as __mcp::Lend>::Owned>("ctx", ""),
                ];
                &__MCP_PARAMETERS
            }
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                const __MCP_PARAMETERS: &[__mcp::ParameterMeta] = __mcp_parameters_of_note();
                const _: () = __mcp::rules::check(&<__mcp::Probe<u32>>::SUITABILITY);
                const _: () = __mcp::rules::check(
                    &<__mcp::Probe<<Context as __mcp::Lend>::Owned>>::SUITABILITY,
                );
                const _: () = __mcp::rules::check(
                    &__mcp::rules::template_variable(&__MCP_PARAMETERS[0usize]),
                );
                const _: () = __mcp::rules::check(
                    &__mcp::rules::template_parameter("notes:///{id}", &__MCP_PARAMETERS[1usize]),
                );
                static __MCP_DEFINITION: __mcp::Definition = __mcp::Definition {
                    kind: __mcp::Kind::ResourceTemplate,
                    name: "note",
                    function: __mcp::type_id_of(&note),
                    receiver: ::core::option::Option::None,
                    location: __mcp::Location {
                        file: ::core::file!(),
                        line: ::core::line!(),
                        column: ::core::column!(),
                    },
                    parameters: &__MCP_PARAMETERS,
                    options: &[
                        __mcp::ItemOption::Uri("notes:///{id}"),
                        __mcp::ItemOption::OutputMimeType(
                            <String as __mcp::IntoResourceResult>::MIME_TYPE,
                        ),
                        __mcp::ItemOption::List(|| __mcp::lister(notes)),
                    ],
                    output_schema: ::core::option::Option::None,
                    conforms: false,
                    run: __mcp::Run::Sync(|__mcp_call| {
                        let mut __mcp_slots: (
                            ::core::option::Option<u32>,
                            ::core::option::Option<<Context as __mcp::Lend>::Owned>,
                        ) = (::core::option::Option::None, ::core::option::Option::None);
                        __mcp_call.decode(&mut [&mut __mcp_slots.0, &mut __mcp_slots.1])?;
                        let (
                            ::core::option::Option::Some(__mcp_0),
                            ::core::option::Option::Some(__mcp_1),
                        ) = __mcp_slots else {
                            return ::core::result::Result::Err(__mcp_call.lost());
                        };
                        ::core::result::Result::Ok(
                            __mcp::resource::reply::<
                                String,
                            >(note(__mcp_0, __mcp::referent::<Context>(&__mcp_1))),
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
