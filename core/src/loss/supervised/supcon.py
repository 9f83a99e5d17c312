def supcon(view_a, view_b, labels, temperature=0.1, base_temperature=0.07, reduction="mean", variant="paper"):
    s, _ = cosines(view_a, view_b, temperature)
    label, itself = labels.repeat(2), torch.eye(len(s), dtype=torch.bool, device=s.device)
    positive = (label[:, None] == label) & ~itself
    log_p = s - without_itself(s).logsumexp(1, keepdim=True)
    losses = -(log_p * positive).sum(1) / positive.sum(1)
    loss = losses.sum() if reduction == "sum" else losses.mean()
    return loss * temperature / base_temperature if variant == "released" else loss
