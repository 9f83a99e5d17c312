def decoupled_uniformity(view_a, view_b, *further, t=None, variant="released"):
    views = [F.normalize(view, dim=1) for view in (view_a, view_b, *further)]
    t = t or {"paper": 1, "released": 2}[variant]
    return uniformity(torch.stack(views).mean(0), t)
