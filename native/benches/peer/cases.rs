//! Objectives with a released form in PyTorch.

/// One objective with its settings and inputs.
pub(crate) struct Case {
    /// The name in the table, and for the peer.
    pub(crate) label: &'static str,
    /// The name in the registry.
    pub(crate) objective: &'static str,
    pub(crate) parameters: &'static str,
    /// `name=width` for a tensor of `b` rows, `name=RxC` for another, `name#kinds` for integers, `name@width` for a
    /// condition; a name alone has 128 columns.
    pub(crate) inputs: &'static str,
    /// True if the training recipes use it.
    pub(crate) trains: bool,
}

const VIEWS: &str = "view_a view_b";
const LABELLED: &str = "view_a view_b labels#10";
const BIASED: &str = "view_a view_b labels#10 bias#7";
const CONDITIONED: &str = "view_a view_b z@3";
const SCORES: &str = "logits=10 labels#10";

const fn case(
    label: &'static str,
    objective: &'static str,
    parameters: &'static str,
    inputs: &'static str,
) -> Case {
    Case { label, objective, parameters, inputs, trains: false }
}

const fn trained(
    label: &'static str,
    objective: &'static str,
    parameters: &'static str,
    inputs: &'static str,
) -> Case {
    Case { trains: true, ..case(label, objective, parameters, inputs) }
}

/// In the order of the registry.
pub(crate) const CASES: &[Case] = &[
    trained("nt-xent", "nt-xent", "{}", VIEWS),
    case("weaksup-info-nce", "weaksup-info-nce", r#"{"temperature": 0.5}"#, LABELLED),
    case("dcl", "dcl", "{}", VIEWS),
    case("hcl", "hcl", "{}", VIEWS),
    trained("weaksup-cclk cosine", "weaksup-cclk", r#"{"kernel": {"name": "cosine"}}"#, CONDITIONED),
    trained("fair-cclk cosine", "fair-cclk", r#"{"kernel": {"name": "cosine"}}"#, CONDITIONED),
    case("fair-cclk linear", "fair-cclk", r#"{"kernel": {"name": "linear"}}"#, CONDITIONED),
    trained("fair-cclk rbf", "fair-cclk", r#"{"kernel": {"name": "rbf", "sigma": 20}}"#, CONDITIONED),
    case(
        "hardneg-cclk cosine",
        "hardneg-cclk",
        r#"{"kernel": {"name": "cosine"}, "lambda": 100}"#,
        "view_a view_b z_a@128 z_b@128",
    ),
    case("supcon", "supcon", r#"{"temperature": 0.5}"#, LABELLED),
    case("contex", "contex", r#"{"temperature": 0.5}"#, LABELLED),
    case("contex-p", "contex-p", r#"{"temperature": 0.5}"#, LABELLED),
    case("biascon", "biascon", r#"{"temperature": 0.5}"#, BIASED),
    case(
        "biascon-total",
        "biascon-total",
        r#"{"temperature": 0.5}"#,
        "view_a view_b labels#10 bias#7 logits=10 ce_labels#10",
    ),
    case("softcon", "softcon", r#"{"temperature": 0.5}"#, "view_a view_b labels#10 bias_features@128"),
    case("wcl-triplet", "wcl-triplet", "{}", "view_a_biased view_b_biased"),
    case("wcl-weighted-dcl", "wcl-weighted-dcl", "{}", "view_a view_b view_a_biased view_b_biased"),
    case("decoupled-uniformity", "decoupled-uniformity", "{}", VIEWS),
    case(
        "kernel-decoupled-uniformity rbf",
        "kernel-decoupled-uniformity",
        r#"{"kernel": {"name": "rbf", "sigma": 20}}"#,
        CONDITIONED,
    ),
    case("dc", "dc", r#"{"temperature": 0.5}"#, VIEWS),
    case("dclw", "dclw", r#"{"temperature": 0.5}"#, VIEWS),
    case("align-uniform", "align-uniform", "{}", VIEWS),
    case("byol", "byol", "{}", "view_a view_b target_a target_b"),
    case("barlow-twins", "barlow-twins", "{}", VIEWS),
    case("swav", "swav", "{}", "view_a view_b prototypes=3000x128"),
    case("moco", "moco", "{}", "view_a view_b queue=65536x128"),
    case("biasbal", "biasbal", "{}", "logits=10 labels#10 bias#10 prior@10x10"),
    case("end", "end", "{}", "view_a labels#10 bias#7 logits=10"),
    case(
        "learned-mixin",
        "learned-mixin",
        "{}",
        "f_features f_logits=10 g_logits=10 fc_weight=1x128 fc_bias=1x1 labels#10",
    ),
    case("rubi", "rubi", "{}", "f_logits=10 g_features fc_weight=10x128 fc_bias=1x10 labels#10"),
    case("rebias-hsic", "rebias-hsic", "{}", VIEWS),
    case("gce", "gce", "{}", SCORES),
];
