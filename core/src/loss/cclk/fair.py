def fair_cclk(
    view_a,
    view_b,
    z,
    temperature=0.5,
    lambda_=0.01,
    kernel={"name": "cosine"},
    clip_threshold=1e-6,
    symmetric=False,
    variant="normalised",
):
    settings = (temperature, lambda_, kernel, clip_threshold, symmetric, variant)
    return conditional_negatives(view_a, view_b, z, z, *settings)
