def contex_p(
    view_a,
    view_b,
    labels,
    bias=None,
    temperature=0.1,
    base_temperature=0.07,
    mix=0.5,
    reduction="mean",
    variant="paper",
):
    s, own = cosines(view_a, view_b, temperature)
    margin, positive = margins(s, labels, bias)
    of_class = -(margin.clamp_max(0) * positive).sum(1) / positive.sum(1).clamp_min(1)
    loss = mixed(of_class, without_itself(s).logsumexp(1) - own, mix, reduction)
    return loss * temperature / base_temperature if variant == "released" else loss
