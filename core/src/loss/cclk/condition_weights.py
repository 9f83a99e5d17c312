def median_rows(n):
    """Indices of at most a thousand rows: all, or one from each of a thousand blocks, at a position that differs from block to
    block."""
    if n <= 1000:
        return list(range(n))
    starts = [part * n // 1000 for part in range(1001)]
    places = [part * 0.6180339887498949 % 1 for part in range(1000)]
    return [a + int(place * (b - a)) for place, a, b in zip(places, starts, starts[1:])]


def median_distance(z):
    """The median distance of rows that differ, of a thousand rows at most; 1 if all are equal."""
    distances = torch.pdist(z[median_rows(len(z))])
    distances = distances[distances > 0].sort().values
    return distances[len(distances) // 2] if len(distances) else 1


def gram(z, name, sigma=None, temp_z=1, gamma=1, offset=0, degree=3):
    """The Gram matrix of a kernel."""
    sigma = median_distance(z) if sigma == "median" else sigma
    if name == "rbf":
        return (-torch.cdist(z, z).pow(2) / (temp_z if sigma is None else 2 * sigma**2)).exp()
    if name == "laplacian":
        return (-torch.cdist(z, z) / (temp_z if sigma is None else sigma)).exp()
    if name == "laplacian-l1":
        return (-gamma * torch.cdist(z, z, p=1)).exp()
    if name == "exact-match":
        return (z[:, None] == z).all(2).to(z.dtype)
    if name == "cosine":
        x = F.normalize(z, dim=1, eps=1e-8)
        return x @ x.T
    if name == "linear":
        return z @ z.T / temp_z
    if name == "polynomial":
        return (gamma * (z @ z.T) + offset) ** degree / temp_z
    raise ValueError(f"this code has no kernel {name}")


def condition_weights(z, ridge, kernel, has_unit_diagonal=False):
    """`(K + ridge I)^-1 K`, in double precision and without a gradient."""
    k = gram(z.detach().double(), **kernel)
    if has_unit_diagonal:
        k = k.fill_diagonal_(1)
    return torch.linalg.solve(k + ridge * torch.eye(len(k), dtype=k.dtype, device=k.device), k)


