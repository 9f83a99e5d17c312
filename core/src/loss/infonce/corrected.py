def corrected(own, negatives, n, temperature, tau_plus):
    """The loss with a sum over n negatives that is corrected for the positives among them."""
    estimate = (negatives - tau_plus * n * own.exp()) / (1 - tau_plus)
    estimate = estimate.clamp_min(n * math.exp(-1 / temperature))
    return ((own.exp() + estimate).log() - own).mean()


