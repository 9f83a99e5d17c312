def weights(z, ridge, kernel, clip_threshold, variant, keeps_own=False):
    """The weights of the other samples: as released, or in rows of sum 1."""
    if variant == "released":
        w = condition_weights(z, ridge, kernel, has_unit_diagonal=True)
        return w.where(w >= clip_threshold, 0).fill_diagonal_(0)
    w = condition_weights(z, ridge, kernel).clamp_min(0)
    if keeps_own:
        # A sample like no other, itself included, has its own other view.
        w = w + torch.diag((w.sum(1) == 0).to(w.dtype))
    else:
        w = w.fill_diagonal_(0)
    return w / w.sum(1, keepdim=True).clamp_min(1e-300)


def as_printed(view_a, view_b, z, temperature, ridge, kernel):
    """Cosines from one view to the other over the temperature, sums of terms of either sign, and their own, positive and
    negative parts."""
    s = F.normalize(view_a, dim=1) @ F.normalize(view_b, dim=1).T / temperature
    terms = condition_weights(z, ridge, kernel).to(s.dtype) * s.exp()
    rest = terms - torch.diag(terms.diagonal())
    return s, terms.sum(1), (terms.diagonal(), rest.clamp_min(0).sum(1), rest.clamp_max(0).sum(1))


