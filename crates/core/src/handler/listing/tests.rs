//! Tests that every form of listing function is accepted.

use super::*;

fn plain() -> Vec<Resource> {
    Vec::new()
}

async fn later(_: Context) -> Vec<Resource> {
    Vec::new()
}

async fn paged(_: Option<Context>, page: ListCursor) -> Result<Page<Resource>, HandlerError> {
    Ok(Page::new([]).with_next(page.0.unwrap_or_default()))
}

fn fallible(_: ListCursor, _: Context, _: Option<Context>) -> Result<Vec<Resource>, String> {
    Err("no".to_owned())
}

fn lent(_: &Context, page: &ListCursor) -> Vec<Resource> {
    page.0
        .iter()
        .map(|name| Resource::new("a:b", name))
        .collect()
}

async fn lent_later(
    context: &Context,
    _: ListCursor,
    _: Option<Context>,
) -> Result<Page<Resource>, HandlerError> {
    std::future::ready(()).await;
    let _ = context;
    Ok(Page::new([]))
}

#[test]
fn every_form_of_listing_function_is_accepted() {
    let _: [Box<dyn Lister>; 6] = [
        lister(plain),
        lister(later),
        lister(paged),
        lister(fallible),
        lister(lent),
        lister(lent_later),
    ];
    assert!(format!("{:?}", lister(plain)).ends_with("plain"));
}
