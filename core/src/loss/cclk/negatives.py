def conditional_negatives(view_a, view_b, z_a, z_b, temperature, ridge, kernel, clip_threshold, symmetric, variant):
    """The loss whose negatives are weighed by conditions of both views."""
    if variant == "paper":
        ways = [(view_a, view_b, z_a), (view_b, view_a, z_b)] if symmetric else [(view_a, view_b, z_a)]
        losses = []
        for anchors, candidates, z in ways:
            s, estimate, parts = as_printed(anchors, candidates, z, temperature, ridge, kernel)
            own = s.diagonal()
            floor = 1e-7 * torch.stack([own.exp(), *(part.abs() for part in parts)]).amax(0)
            denominator = torch.maximum(own.exp() + (len(s) - 1) * estimate, floor)
            losses.append((denominator.log() - own).mean())
        return sum(losses) / len(losses)
    s, own = cosines(view_a, view_b, temperature)
    w = torch.cat([weights(z, ridge, kernel, clip_threshold, variant) for z in (z_a, z_b)]).repeat(1, 2)
    mass = (len(view_a) - 1) * (1 if variant == "released" else 0.5)
    denominator = own.exp() + mass * (w.to(s.dtype) * s.exp()).sum(1)
    if variant == "released":
        denominator = denominator.clamp(1e-7, 1e20)
    return (denominator.log() - own).mean()


