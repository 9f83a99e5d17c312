def contex(
    view_a,
    view_b,
    labels,
    bias=None,
    temperature=0.1,
    base_temperature=0.07,
    mix=None,
    reduction="mean",
    variant="released",
):
    s, own = cosines(view_a, view_b, temperature)
    margin, positive = margins(s, labels, bias)
    of_class = -(margin * positive).sum(1) / positive.sum(1).clamp_min(1)
    if variant == "paper":
        of_pair = -F.softplus(own - other_samples(s).logsumexp(1))
        return mixed(of_class, of_pair, 0.7 if mix is None else mix, reduction)
    of_pair = without_itself(s).logsumexp(1) - own
    return mixed(of_class, of_pair, 0.5 if mix is None else mix, reduction) * temperature / base_temperature
