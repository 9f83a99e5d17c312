//! The recipes inside the binary.

/// A recipe that ships.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shipped {
    pub(crate) name: &'static str,
    /// The file, its header comment first.
    pub(crate) text: &'static str,
}

/// The keys in the comment of each recipe.
const KEYS: [&str; 4] = ["Paper", "Command", "Time", "Result"];

/// All shipped recipes; the first is the one to try first.
pub(crate) const SHIPPED: [Shipped; 18] = [
    Shipped { name: "fair-digits", text: include_str!("../../recipes/fair-digits.toml") },
    Shipped { name: "colour-mnist", text: include_str!("../../recipes/colour-mnist.toml") },
    Shipped { name: "colour-mnist-paper", text: include_str!("../../recipes/colour-mnist-paper.toml") },
    Shipped { name: "colour-mnist-released", text: include_str!("../../recipes/colour-mnist-released.toml") },
    Shipped { name: "attribute-mnist", text: include_str!("../../recipes/attribute-mnist.toml") },
    Shipped { name: "vae-digits", text: include_str!("../../recipes/vae-digits.toml") },
    Shipped { name: "du-vae-digits", text: include_str!("../../recipes/du-vae-digits.toml") },
    Shipped { name: "dcgan-digits", text: include_str!("../../recipes/dcgan-digits.toml") },
    Shipped { name: "du-dcgan-digits", text: include_str!("../../recipes/du-dcgan-digits.toml") },
    Shipped { name: "biased-mnist", text: include_str!("../../recipes/biased-mnist.toml") },
    Shipped { name: "cifar-10", text: include_str!("../../recipes/cifar-10.toml") },
    Shipped { name: "ut-zappos", text: include_str!("../../recipes/ut-zappos.toml") },
    Shipped { name: "cub", text: include_str!("../../recipes/cub.toml") },
    Shipped { name: "utkface", text: include_str!("../../recipes/utkface.toml") },
    Shipped { name: "celeba", text: include_str!("../../recipes/celeba.toml") },
    Shipped { name: "waterbirds", text: include_str!("../../recipes/waterbirds.toml") },
    Shipped { name: "imagenet-100", text: include_str!("../../recipes/imagenet-100.toml") },
    Shipped { name: "chexpert", text: include_str!("../../recipes/chexpert.toml") },
];

impl Shipped {
    /// Finds a recipe by its name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        SHIPPED.into_iter().find(|recipe| recipe.name == name)
    }

    /// The comment at the top of the file, without its marks.
    pub(crate) fn header(&self) -> impl Iterator<Item = &'static str> {
        self.text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim)
    }

    /// The text of the comment after one of its keys: `Paper`, `Command`, `Time`, `Result`.
    pub(crate) fn says(&self, key: &str) -> String {
        let mut lines = self.header().skip_while(|line| !line.starts_with(key));
        let first = lines.next().and_then(|line| line.strip_prefix(key)).map(str::trim);
        let rest = lines.take_while(|line| !KEYS.iter().any(|key| line.starts_with(key)));
        first.into_iter().chain(rest).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// The title of the recipe, a sentence.
    pub(crate) fn title(&self) -> &'static str {
        self.header().next().unwrap_or_default()
    }
}
