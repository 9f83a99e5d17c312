def kernel_decoupled_uniformity(
    view_a,
    view_b,
    z,
    *further,
    t=None,
    lambda_=0.01,
    kernel={"name": "rbf", "sigma": 1.0},
    variant="released",
):
    views = [F.normalize(view, dim=1) for view in (view_a, view_b, *further)]
    middle = torch.stack(views).mean(0)
    ridge = len(z) ** -0.5 if lambda_ is None else lambda_
    ridge = len(z) * ridge if variant == "paper" else ridge
    t = t or {"paper": 1, "released": 2}[variant]
    return uniformity(condition_weights(z, ridge, kernel).to(middle.dtype) @ middle, t)
