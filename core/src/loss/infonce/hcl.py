def hcl(view_a, view_b, temperature=0.5, beta=1.0, tau_plus=0.1):
    s, own = cosines(view_a, view_b, temperature)
    n = len(s) - 2
    # The quotient by logarithms: alone, the sums are beyond single precision at a low temperature.
    nearer, weights = (other_samples(power * s).logsumexp(1) for power in (1 + beta, beta))
    return corrected(own, n * (nearer - weights).exp(), n, temperature, tau_plus)
