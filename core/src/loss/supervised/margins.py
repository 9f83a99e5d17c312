def margins(s, labels, bias):
    """For each pair, s_ij less the log-sum-exp over the anchor's rows of other classes; and the mask of the positives."""
    label = labels.repeat(2)
    same = label[:, None] == label
    group = bias.repeat(2) if bias is not None else torch.arange(len(s), device=s.device)
    positive = same & (group[:, None] != group)
    margin = s - s.masked_fill(same, -1e30).logsumexp(1, keepdim=True)
    return margin, positive * (~same).any(1, keepdim=True)


def mixed(of_class, of_pair, mix, reduction):
    losses = mix * of_class + (1 - mix) * of_pair
    return losses.sum() if reduction == "sum" else losses.mean()


