//! Rules for the options of a resource or resource template.

use crate::errors::Errors;
use crate::parse::kind::Kind;
use crate::parse::resource::ResourceOptions;

/// Checks that `size` is not set on a template, and that `list` is set only on a template.
pub(crate) fn check_resource_options(kind: Kind, options: &ResourceOptions, errors: &mut Errors) {
    match (kind, &options.size, &options.list) {
        (Kind::ResourceTemplate, Some(size), _) => errors.push(syn::Error::new(
            size.key,
            "a resource template has no `size`; set it on the resources that `list` returns",
        )),
        (Kind::Resource, _, Some(list)) => errors.push(syn::Error::new(
            list.key,
            "`list` is for `resource_template`, because a resource is listed directly; remove it",
        )),
        _ => {}
    }
}
