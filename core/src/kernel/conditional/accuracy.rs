//! The accuracy of `W`.

/// The bound of the error `|W - W_exact|_2`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Accuracy {
    /// No error but rounding in `f64`.
    Exact,
    /// The error is at most this.
    Within(f64),
    /// There is no bound.
    Unknown,
}

impl Accuracy {
    /// The accuracy of two together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Exact, only) | (only, Self::Exact) => only,
            (Self::Within(first), Self::Within(second)) => Self::Within(first.max(second)),
        }
    }

    /// The bound, if it is known and `W` is not exact.
    pub(crate) fn bound(self) -> Option<f64> {
        match self {
            Self::Within(error) => Some(error),
            Self::Exact | Self::Unknown => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_are_as_accurate_as_the_less_accurate() {
        let (exact, unknown) = (Accuracy::Exact, Accuracy::Unknown);
        let within = Accuracy::Within;
        assert_eq!(exact.and(within(1e-7)).bound(), Some(1e-7));
        assert_eq!(within(1e-9).and(exact).bound(), Some(1e-9));
        assert_eq!(within(1e-7).and(within(1e-9)).bound(), Some(1e-7));
        assert_eq!(exact.and(exact).bound(), None);
        assert_eq!(unknown.and(within(1e-7)).and(exact).bound(), None);
    }
}
