//! `#[data]` and `#[derive(Elicit)]` with `#[arg(…)]` on fields.

use expect_test::expect;
use proc_macro2::TokenStream;

use super::{check_tokens, tokens};
use crate::stages;

#[test]
fn options_of_a_field_become_attributes_of_serde_and_schemars() {
    let item = r#"
        struct Ticket<T> {
            /// Urgency
            #[arg(range(1..=5), default = 3)]
            urgency: u8,
            #[arg(name = "who", description = "Person responsible", default)]
            owner: Option<T>,
            other: String,
        }
    "#;
    check_tokens(
        &stages::expand_data(tokens("input"), tokens(item)),
        &expect![[r##"
            #[automatically_derived]
            impl<T> Ticket<T> {
                #[doc(hidden)]
                fn __mcp_default_0() -> u8 {
                    ::mcp_runtime::__private::read_default("3")
                }
                #[doc(hidden)]
                fn __mcp_default_1() -> Option<T> {
                    ::core::default::Default::default()
                }
            }
            #[derive(::mcp_runtime::serde::Deserialize, ::mcp_runtime::schemars::JsonSchema)]
            #[serde(crate = "::mcp_runtime::serde", deny_unknown_fields)]
            #[schemars(crate = "::mcp_runtime::schemars")]
            struct Ticket<T> {
                /// Urgency
                #[serde(default = "Ticket::<T>::__mcp_default_0")]
                #[schemars(
                    transform = |__mcp_schema:&mut::mcp_runtime::schemars::Schema|{use::mcp_runtime::__private
                    as
                    __mcp;__mcp::constrain_field(
                        __mcp_schema,
                        &__mcp::Constraints{minimum:::core::option::Option::Some(
                            __mcp::Bound::Integer(1i128)
                        ),
                        maximum:::core::option::Option::Some(__mcp::Bound::Integer(5i128)),
                        ..__mcp::Constraints::NONE},
                        ::core::option::Option::Some(__mcp::literal_default::<u8>("3"))
                    );}
                )]
                urgency: u8,
                #[serde(rename = "who")]
                #[schemars(description = "Person responsible")]
                #[serde(default = "Ticket::<T>::__mcp_default_1")]
                owner: Option<T>,
                other: String,
            }
        "##]],
    );
}

#[test]
fn options_of_a_field_of_a_form_become_those_of_its_field() {
    let item = r#"
        struct Stay {
            #[arg(range(1..10), title = "Nights", default = 2)]
            nights: u8,
        }
    "#;
    check_tokens(
        &stages::expand_elicit(tokens(item)),
        &expect![[r#"
            const _: () = {
                use ::mcp_runtime::__private as __mcp;
                use __mcp::ProbeFallback as _;
                const __MCP_FIELD_0: __mcp::form::FieldMeta<u8> = __mcp::form::field::<u8>();
                const _: () = __mcp::form::check_range(__MCP_FIELD_0.kind);
                const _: () = __mcp::form::check_excluded_end(__MCP_FIELD_0.kind);
                const _: () = <__mcp::Probe<u8>>::CONSTRAINTS.check_number(1i128);
                const _: () = <__mcp::Probe<u8>>::CONSTRAINTS.check_number(9i128);
                const _: () = __mcp::form::check_default(
                    __MCP_FIELD_0.kind,
                    __mcp::form::Literal::Number,
                );
                #[automatically_derived]
                impl __mcp::Elicit for Stay {
                    fn form() -> __mcp::Form {
                        let __mcp_form = __mcp::Form::new();
                        let __mcp_form = __MCP_FIELD_0
                            .add(
                                __mcp_form,
                                "nights",
                                |__mcp_field| {
                                    __mcp_field
                                        .title("Nights")
                                        .range((__mcp::Included(1f64), __mcp::Excluded(10f64)))
                                        .default(2)
                                },
                            );
                        __mcp_form
                    }
                    fn from_answer(
                        __mcp_answer: &__mcp::Meta,
                    ) -> ::core::result::Result<Self, ::std::string::String> {
                        let _ = __mcp_answer;
                        ::core::result::Result::Ok(Self {
                            nights: __MCP_FIELD_0.take(__mcp_answer, "nights")?,
                        })
                    }
                    fn to_answer(&self) -> __mcp::Meta {
                        let __mcp_answer = __mcp::Meta::new();
                        let __mcp_answer = __MCP_FIELD_0.put(__mcp_answer, "nights", &self.nights);
                        __mcp_answer
                    }
                }
            };
        "#]],
    );
}

#[test]
fn options_of_a_type_that_is_also_a_form_stay_for_its_derive() {
    let item = "#[derive(Elicit)] struct Stay { #[arg(length(1..))] name: String }";
    let expanded = stages::expand_data(TokenStream::new(), tokens(item)).to_string();
    assert!(expanded.contains("# [arg (length (1 ..))]"), "{expanded}");
}
