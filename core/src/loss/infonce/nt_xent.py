def nt_xent(view_a, view_b, temperature=0.5):
    s, own = cosines(view_a, view_b, temperature)
    return (without_itself(s).logsumexp(1) - own).mean()
