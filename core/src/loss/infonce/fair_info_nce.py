def fair_info_nce(view_a, view_b, labels, temperature=0.5, symmetric=False):
    logits = directions(view_a, view_b, temperature, symmetric)
    own = torch.arange(len(view_a), device=view_a.device)
    apart = labels[:, None] != labels
    return sum(F.cross_entropy(s.masked_fill(apart, -math.inf), own) for s in logits) / len(logits)
