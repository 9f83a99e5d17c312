def dclw(view_a, view_b, temperature=0.1, sigma=0.5, variant="paper"):
    s, own = cosines(view_a, view_b, temperature)
    b = len(view_a)
    weights = 2 - b * (own[:b] * temperature / sigma).softmax(0)
    loss = (negatives(s, variant) - weights.repeat(2) * own).mean()
    return 2 * loss if variant == "released" else loss
