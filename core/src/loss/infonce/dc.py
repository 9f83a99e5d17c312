def dc(view_a, view_b, temperature=0.1, variant="paper"):
    s, own = cosines(view_a, view_b, temperature)
    loss = (negatives(s, variant) - own).mean()
    return 2 * loss if variant == "released" else loss
