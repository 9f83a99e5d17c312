def dcl(view_a, view_b, temperature=0.5, tau_plus=0.1):
    s, own = cosines(view_a, view_b, temperature)
    negatives = other_samples(s).exp().sum(1)
    return corrected(own, negatives, len(s) - 2, temperature, tau_plus)
