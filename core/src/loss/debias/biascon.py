def biascon(view_a, view_b, labels, bias, temperature=0.07, variant="paper"):
    s, _ = cosines(view_a, view_b, temperature)
    label, kind = labels.repeat(2), bias.repeat(2)
    positive = (label[:, None] == label) & (kind[:, None] != kind)
    others = without_itself(s).logsumexp(1, keepdim=True)
    if variant == "released":
        largest = (s.diagonal() * temperature > 0.5)[:, None] / temperature
        others = torch.logaddexp(others, largest + math.log(1e-9))
    return (((others - s) * positive).sum(1) / positive.sum(1).clamp_min(1)).mean()
