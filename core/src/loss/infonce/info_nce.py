def info_nce(view_a, view_b, temperature=0.5, symmetric=False):
    logits = directions(view_a, view_b, temperature, symmetric)
    own = torch.arange(len(view_a), device=view_a.device)
    return sum(F.cross_entropy(s, own) for s in logits) / len(logits)
