def negatives(s, variant):
    """The log-sum-exp over the rows of other samples; `released` keeps the anchor and its other view, times 1e-45."""
    others = other_samples(s)
    if variant == "released":
        others = others.where(others > -math.inf, s + math.log(1e-45))
    return others.logsumexp(1)


