def negatives(s, variant):
    """The log-sum-exp over the rows of other samples; as released the others are masked, not left out."""
    others = other_samples(s)
    if variant == "released":
        others = others.where(others > -math.inf, s + math.log(1e-45))
    return others.logsumexp(1)


