def weaksup_cclk(
    view_a,
    view_b,
    z,
    temperature=0.5,
    lambda_=0.01,
    kernel={"name": "cosine"},
    clip_threshold=1e-6,
    symmetric=False,
    variant="normalised",
):
    if variant == "paper":
        ways = [(view_a, view_b), (view_b, view_a)] if symmetric else [(view_a, view_b)]
        losses = []
        for anchors, candidates in ways:
            s, estimate, (own, above, _) = as_printed(anchors, candidates, z, temperature, lambda_, kernel)
            others = s.exp().sum(1) - s.diagonal().exp()
            largest = torch.maximum(own, above)
            # An anchor without positives has a finite loss.
            largest = largest.where(largest > 0, (others.log() - 60).exp())
            positives = torch.maximum(estimate, 1e-7 * largest)
            losses.append(((positives + others).log() - positives.log()).mean())
        return sum(losses) / len(losses)
    s, own = cosines(view_a, view_b, temperature)
    e, w = s.exp(), weights(z, lambda_, kernel, clip_threshold, variant, keeps_own=True).to(s.dtype)
    near = ((w - torch.diag(w.diagonal())).repeat(2, 2) * e).sum(1)
    others = e.sum(1) - e.diagonal()
    if variant == "released":
        positives = near.clamp(1e-7, 1e20)
        return ((positives + others).clamp(1e-7, 1e20).log() - positives.log()).mean()
    positives = w.diagonal().repeat(2) * own.exp() + near / 2
    return ((positives + others).log() - positives.log()).mean()
