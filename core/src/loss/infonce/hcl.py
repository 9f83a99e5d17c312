def hcl(view_a, view_b, temperature=0.5, beta=1.0, tau_plus=0.1):
    s, own = cosines(view_a, view_b, temperature)
    n, apart = len(s) - 2, other_samples(s) > -math.inf
    negatives = n * (((1 + beta) * s).exp() * apart).sum(1) / ((beta * s).exp() * apart).sum(1)
    return corrected(own, negatives, n, temperature, tau_plus)
