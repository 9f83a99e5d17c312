def hardneg_cclk(
    view_a,
    view_b,
    z_a=None,
    z_b=None,
    temperature=0.5,
    lambda_=0.01,
    kernel={"name": "cosine"},
    clip_threshold=1e-6,
    symmetric=False,
    variant="normalised",
):
    z_a, z_b = (view_a, view_b) if z_a is None else (z_a, z_b)
    settings = (temperature, lambda_, kernel, clip_threshold, symmetric, variant)
    return conditional_negatives(view_a, view_b, z_a, z_b, *settings)
