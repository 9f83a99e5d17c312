"""PyTorch's side of `cargo bench --bench peer`: one loss with its gradient, timed on request.

Reads one JSON request a line, {"case": name, "b": samples, "d": width, "repeats": n}, and answers with
{"milliseconds": [...]}. Every loss is written as its released code computes it: dense matrices, autograd. Similarities
are formed by a matrix product of unit rows, which is never slower than the broadcast cosine of some releases.
"""

import json
import sys
import time

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(2)
TAU = 0.5


def stacked(u, v):
    z = torch.cat([F.normalize(u), F.normalize(v)])
    return z, z @ z.T / TAU


def without_self(s):
    return s.masked_fill(torch.eye(len(s), dtype=torch.bool), float("-inf"))


def partner_logits(s, b):
    return torch.cat([s.diagonal(b), s.diagonal(-b)])


def nt_xent(u, v, _):
    b = len(u)
    _, s = stacked(u, v)
    target = torch.arange(2 * b).roll(b)
    return F.cross_entropy(without_self(s), target)


def supcon(u, v, batch):
    _, s = stacked(u, v)
    labels = batch["labels"].repeat(2)
    others = 1 - torch.eye(len(s))
    positives = (labels[:, None] == labels[None, :]).float() * others
    s = s - s.max(1, keepdim=True).values.detach()
    log_prob = s - (s.exp() * others).sum(1, keepdim=True).log()
    return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


def dcl(u, v, _):
    b, prior = len(u), 0.1
    _, s = stacked(u, v)
    e = s.exp()
    keep = ~torch.eye(b, dtype=torch.bool).repeat(2, 2)
    negatives = e.masked_select(keep).view(2 * b, -1)
    positive = partner_logits(s, b).exp()
    n = 2 * b - 2
    total = (-prior * n * positive + negatives.sum(1)) / (1 - prior)
    return -(positive / (positive + total.clamp(min=n * np.exp(-1 / TAU)))).log().mean()


def contex(u, v, batch):
    b = len(u)
    _, s = stacked(u, v)
    labels = batch["labels"].repeat(2)
    others = 1 - torch.eye(2 * b)
    same = (labels[:, None] == labels[None, :]).float()
    positives = same * others
    s = s - s.max(1, keepdim=True).values.detach()
    e = s.exp()
    a_term = s - (e * (1 - same)).sum(1, keepdim=True).log()
    a_term = (positives * a_term).sum(1) / positives.sum(1)
    b_term = partner_logits(s, b) - (e * others).sum(1).log()
    return -(a_term + b_term).mean() / 2


def decoupled_uniformity(u, v, _):
    centroids = (F.normalize(u) + F.normalize(v)) / 2
    return torch.pdist(centroids).pow(2).mul(-2).exp().mean().log()


def released_weights(z, kernel, ridge=0.01):
    """Explicit inverse in NumPy float64, moved over as float32; diagonal and small entries set to 0."""
    if kernel == "cosine":
        z = F.normalize(z)
        gram = z @ z.T
    else:
        gram = (-torch.cdist(z, z).pow(2) / 800).exp()
    gram.fill_diagonal_(1)
    inverse = np.linalg.inv(gram.numpy() + ridge * np.eye(len(z)))
    weights = torch.from_numpy(inverse.astype(np.float32)) @ gram
    weights.fill_diagonal_(0)
    return weights.masked_fill(weights < 1e-6, 0)


def fair_cclk(kernel):
    def loss(u, v, batch):
        b = len(u)
        u, v = F.normalize(u), F.normalize(v)
        cross, same_u, same_v = u @ v.T / TAU, u @ u.T / TAU, v @ v.T / TAU
        total = 0
        for across, within, z in ((cross, same_u, batch["z"]), (cross.T, same_v, batch["z"])):
            weights = released_weights(z, kernel)
            positive = across.diagonal()
            negatives = ((across.exp() + within.exp()) * weights.T).sum(1)
            denominator = (positive.exp() + (b - 1) * negatives).clamp(1e-7, 1e20)
            total = total - (positive - denominator.log()).mean()
        return total / 2

    return loss


CASES = {
    "nt-xent": nt_xent,
    "supcon": supcon,
    "dcl": dcl,
    "contex": contex,
    "decoupled-uniformity": decoupled_uniformity,
    "fair-cclk cosine": fair_cclk("cosine"),
    "fair-cclk rbf": fair_cclk("rbf"),
}


def answer(request):
    torch.manual_seed(0)
    b, d = request["b"], request["d"]
    u = torch.randn(b, d, requires_grad=True)
    v = torch.randn(b, d, requires_grad=True)
    batch = {"labels": torch.arange(b) % 10, "z": torch.rand(b, 3) * 255}
    loss = CASES[request["case"]]
    times = []
    for _ in range(request["repeats"]):
        u.grad = v.grad = None
        start = time.perf_counter()
        loss(u, v, batch).backward()
        times.append((time.perf_counter() - start) * 1e3)
    return {"milliseconds": times}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
