//! Parts that every page has: tables that scroll, and the data of scripts.

use maud::{Markup, PreEscaped, html};

/// A table that may be wider than the page: it can be scrolled by key and by hand, and shows at its edge that there is
/// more. A screen reader lists it by its name, which no other table of the page has.
pub(super) fn wide(name: &str, table: &Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label=(name) { (table) } }
}

/// A [`wide`] table, from the cells of its head and the rows of its body.
pub(crate) fn table(name: &str, head: &Markup, body: &Markup) -> Markup {
    wide(name, &html! { table { thead { tr { (head) } } tbody { (body) } } })
}

/// Data for a script of the page. They are escaped, so that a name in them cannot end the script element.
pub(super) fn json_script(data: &serde_json::Value) -> Markup {
    let text = data.to_string().replace('<', "\\u003c");
    html! { script type="application/json" { (PreEscaped(text)) } }
}
