def align_uniform(view_a, view_b, alpha=2.0, t=2.0, align_w=1.0, unif_w=1.0):
    a, b = F.normalize(view_a, dim=1), F.normalize(view_b, dim=1)
    align = (a - b).norm(dim=1).pow(alpha).mean()
    return align_w * align + unif_w * (uniformity(a, t) + uniformity(b, t)) / 2
