"""Losses as their released code computes them: dense matrices, autograd. Each takes the named inputs of a batch.

Similarities are formed by a matrix product of unit rows, which is never slower than the broadcast cosine of some
releases.
"""

import math

import numpy as np
import torch
import torch.nn.functional as F

TAU = 0.5


def views(batch, suffix=""):
    return F.normalize(batch["view_a" + suffix]), F.normalize(batch["view_b" + suffix])


def stacked(batch, suffix=""):
    z = torch.cat(views(batch, suffix))
    return z, z @ z.T / TAU


def not_self(n):
    return 1 - torch.eye(n)


def other_samples(s):
    """The 2b x (2b - 2) entries that are neither the anchor nor its other view."""
    n = len(s)
    keep = ~torch.eye(n // 2, dtype=torch.bool).repeat(2, 2)
    return s.masked_select(keep).view(n, -1)


def partner(s):
    b = len(s) // 2
    return torch.cat([s.diagonal(b), s.diagonal(-b)])


# Two views


def nt_xent(batch):
    b = len(batch["view_a"])
    _, s = stacked(batch)
    s = s.masked_fill(torch.eye(2 * b, dtype=torch.bool), float("-inf"))
    return F.cross_entropy(s, torch.arange(2 * b).roll(b))


def debiased(negatives, positive, count, prior=0.1):
    corrected = (negatives - prior * count * positive) / (1 - prior)
    total = corrected.clamp(min=count * math.exp(-1 / TAU))
    return -(positive / (positive + total)).log().mean()


def dcl(batch):
    _, s = stacked(batch)
    e = s.exp()
    return debiased(other_samples(e).sum(1), partner(e), len(s) - 2)


def hcl(batch):
    _, s = stacked(batch)
    e = s.exp()
    negatives = other_samples(e)
    importance = negatives.log().exp()  # to the power of beta = 1
    reweighted = (importance * negatives).sum(1) / importance.mean(1)
    return debiased(reweighted, partner(e), len(s) - 2)


def decoupled_uniformity(batch):
    u, v = views(batch)
    return torch.pdist((u + v) / 2).pow(2).mul(-2).exp().mean().log()


def kernel_decoupled_uniformity(batch):
    u, v = views(batch)
    z = batch["z"]
    gram = (-torch.cdist(z, z).pow(2) / 800).exp()
    weights = torch.linalg.solve(gram + 0.01 * torch.eye(len(z)), gram)
    return torch.pdist(weights @ ((u + v) / 2)).pow(2).mul(-2).exp().mean().log()


def dc_one_way(u, v, weights):
    cross = u @ v.T / TAU
    positive = -cross.diagonal() * weights
    both = torch.cat([u @ u.T / TAU, cross], 1)
    masked = both + (torch.eye(len(u)) * 1e-45 + not_self(len(u))).log().repeat(1, 2).clamp(min=-103.6)
    return (positive + masked.logsumexp(1)).mean()


def dc(batch):
    u, v = views(batch)
    return dc_one_way(u, v, 1) + dc_one_way(v, u, 1)


def dclw(batch):
    u, v = views(batch)
    weights = 2 - len(u) * F.softmax((u * v).sum(1) / 0.5, dim=0)
    return dc_one_way(u, v, weights) + dc_one_way(v, u, weights)


def align_uniform(batch):
    u, v = views(batch)
    uniform = [torch.pdist(x).pow(2).mul(-2).exp().mean().log() for x in (u, v)]
    return (u - v).norm(dim=1).pow(2).mean() + sum(uniform) / 2


def byol(batch):
    u, v = views(batch)
    a, b = F.normalize(batch["target_a"]), F.normalize(batch["target_b"])
    return ((2 - 2 * (u * b).sum(1)) + (2 - 2 * (v * a).sum(1))).mean()


def barlow_twins(batch):
    normalise = lambda x: F.batch_norm(x, None, None, training=True)
    u, v = normalise(batch["view_a"]), normalise(batch["view_b"])
    c = u.T @ v / len(u)
    on = c.diagonal().add(-1).pow(2).sum()
    n = len(c)
    off = c.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten().pow(2).sum()
    return on + 0.0051 * off


@torch.no_grad()
def sinkhorn(scores):
    q = (scores / 0.05).exp().T
    q /= q.sum()
    k, b = q.shape
    for _ in range(3):
        q /= q.sum(1, keepdim=True) * k
        q /= q.sum(0, keepdim=True) * b
    return (q * b).T


def swav(batch):
    prototypes = F.normalize(batch["prototypes"])
    scores = [z @ prototypes.T for z in views(batch)]
    codes = [sinkhorn(s.detach()) for s in scores]
    swapped = [(codes[i] * F.log_softmax(scores[1 - i] / 0.1, dim=1)).sum(1).mean() for i in (0, 1)]
    return -sum(swapped) / 2


def moco(batch):
    q, k = views(batch)
    k, queue = k.detach(), F.normalize(batch["queue"])
    logits = torch.cat([(q * k).sum(1, keepdim=True), q @ queue.T], 1) / 0.07
    return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


# Labels and bias labels


def shifted(s):
    return s - s.max(1, keepdim=True).values.detach()


def same_label(batch):
    labels = batch["labels"].repeat(2)
    return (labels[:, None] == labels[None, :]).float()


def supcon(batch):
    _, s = stacked(batch)
    others = not_self(len(s))
    positives = same_label(batch) * others
    s = shifted(s)
    log_prob = s - (s.exp() * others).sum(1, keepdim=True).log()
    return -TAU / 0.07 * ((positives * log_prob).sum(1) / positives.sum(1)).mean()


def contex_mixed(clipped):
    def loss(batch):
        _, s = stacked(batch)
        others, same = not_self(len(s)), same_label(batch)
        positives = same * others
        s = shifted(s)
        e = s.exp()
        ratio = s - (e * (1 - same)).sum(1, keepdim=True).log()
        ratio = ratio.clamp(max=0) if clipped else ratio
        by_label = (positives * ratio).sum(1) / positives.sum(1)
        by_view = partner(s) - (e * others).sum(1).log()
        return -TAU / 0.07 * (by_label + by_view).mean() / 2

    return loss


def weighted_positives(batch, positives):
    _, s = stacked(batch)
    s = shifted(s)
    log_prob = s - ((s.exp() * not_self(len(s))).sum(1, keepdim=True) + 1e-9).log()
    mass = positives.sum(1)
    mass = torch.where(mass == 0, torch.ones_like(mass), mass)
    return -((positives * log_prob).sum(1) / mass).mean()


def biascon(batch):
    labels, bias = batch["labels"], batch["bias"]
    mask = (labels[:, None] == labels[None, :]) & (bias[:, None] != bias[None, :])
    return weighted_positives(batch, mask.float().repeat(2, 2))


def biascon_total(batch):
    return 0.01 * F.cross_entropy(batch["logits"], batch["ce_labels"]) + biascon(batch)


def softcon(batch):
    labels, features = batch["labels"], F.normalize(batch["bias_features"].detach())
    mask = (labels[:, None] == labels[None, :]).float() * (1 - features @ features.T)
    return weighted_positives(batch, mask.repeat(2, 2))


# A condition


def released_weights(z, kernel, ridge):
    """Explicit inverse in NumPy float64, moved over as float32; diagonal and small entries set to 0."""
    if kernel == "cosine":
        z = F.normalize(z)
    gram = (-torch.cdist(z, z).pow(2) / 800).exp() if kernel == "rbf" else z @ z.T
    gram.fill_diagonal_(1)
    inverse = np.linalg.inv(gram.numpy() + ridge * np.eye(len(z)))
    weights = torch.from_numpy(inverse.astype(np.float32)) @ gram
    weights.fill_diagonal_(0)
    return weights.masked_fill(weights < 1e-6, 0)


def directions(batch):
    """Cross-view and same-view similarities of both directions, with the condition of each."""
    u, v = views(batch)
    cross = u @ v.T / TAU
    z_u, z_v = (batch.get(name, batch.get("z")) for name in ("z_a", "z_b"))
    return (cross, u @ u.T / TAU, z_u), (cross.T, v @ v.T / TAU, z_v)


def conditional_negatives(kernel, ridge=0.01):
    def loss(batch):
        total = 0
        for across, within, z in directions(batch):
            weights = released_weights(z, kernel, ridge)
            positive = across.diagonal()
            negatives = ((across.exp() + within.exp()) * weights.T).sum(1)
            denominator = (positive.exp() + (len(z) - 1) * negatives).clamp(1e-7, 1e20)
            total = total - (positive - denominator.log()).mean()
        return total / 2

    return loss


def conditional_positives(kernel, ridge=0.01):
    def loss(batch):
        total = 0
        for across, within, z in directions(batch):
            weights = released_weights(z, kernel, ridge)
            across, within = across.exp(), within.exp()
            positive = ((across + within) * weights.T).sum(1).clamp(1e-7, 1e20)
            negatives = across.sum(1) + (within * not_self(len(z))).sum(1)
            total = total - (positive.log() - (positive + negatives).clamp(1e-7, 1e20).log()).mean()
        return total / 2

    return loss


# A biased network


def wcl_triplet(batch):
    z = torch.cat(views(batch, "_biased"))
    distances = 2 - 2 * z @ z.T
    count, prior = len(z) - 2, 0.1
    positive = partner(distances)
    negative = (other_samples(distances).sum(1) - prior * count * positive) / (1 - prior)
    return (positive - negative).mean()


def wcl_weighted_dcl(batch):
    (_, s), (_, s_biased) = stacked(batch), stacked(batch, "_biased")
    e = s.exp()
    negatives = other_samples(e)
    q, q_biased = (F.normalize(x.detach()) for x in (negatives, other_samples(s_biased.exp())))
    weights = 1 + q / (q + q_biased + 1e-6)
    return debiased((weights * negatives).sum(1), partner(e), len(s) - 2)


def learned_mixin(batch):
    factor = F.softplus(F.linear(batch["f_features"], batch["fc_weight"], batch["fc_bias"][0]))
    scaled = batch["g_logits"] * factor
    log_bias = F.log_softmax(scaled, dim=1)
    entropy = -(log_bias.exp() * log_bias).sum(1).mean()
    return F.cross_entropy(batch["f_logits"] + scaled, batch["labels"]) + 0.36 * entropy


def rubi(batch):
    question = F.linear(batch["g_features"].detach(), batch["fc_weight"], batch["fc_bias"][0])
    masked = batch["f_logits"] * question.sigmoid()
    return F.cross_entropy(masked, batch["labels"]) + F.cross_entropy(question, batch["labels"])


def rebias_hsic(batch):
    kernels = []
    for x in (batch["view_a"], batch["view_b"]):
        k = (-torch.cdist(x, x).pow(2) / 2).exp()
        kernels.append(k - torch.diag(k.diagonal()))
    k, l = kernels
    n = len(k)
    trace = (k @ l).diagonal().sum()
    product = k.sum() * l.sum() / ((n - 1) * (n - 2))
    rows = 2 * (k.sum(0) * l.sum(0)).sum() / (n - 2)
    return (trace + product - rows) / (n * (n - 3))


# Class scores


def biasbal(batch):
    shift = (batch["prior"] + 1e-9).log()[batch["bias"]]
    return F.cross_entropy(batch["logits"] + shift, batch["labels"])


def gce(batch):
    p = F.softmax(batch["logits"], dim=1).gather(1, batch["labels"][:, None])[:, 0]
    return (F.cross_entropy(batch["logits"], batch["labels"], reduction="none") * p.detach() ** 0.7 * 0.7).mean()


def end(batch):
    x, labels, bias = F.normalize(batch["view_a"]), batch["labels"], batch["bias"]
    gram = (x @ x.T).clamp(-1, 1)
    lower = torch.ones(len(x), len(x), dtype=torch.bool).tril(-1)
    same_bias = (bias[:, None] == bias[None, :]) & lower
    members = F.one_hot(bias).float()
    by_bias = ((gram * same_bias) @ members).T @ members
    orthogonal = by_bias.diagonal().abs().sum() / same_bias.sum()
    pairs = (labels[:, None] == labels[None, :]) & (bias[:, None] < bias[None, :]) & lower
    parallel = 1 - ((1 + gram) / 2 * pairs).sum() / pairs.sum()
    return F.cross_entropy(batch["logits"], labels) + orthogonal + parallel


CASES = {
    "nt-xent": nt_xent,
    "weaksup-info-nce": supcon,
    "dcl": dcl,
    "hcl": hcl,
    "weaksup-cclk cosine": conditional_positives("cosine"),
    "fair-cclk cosine": conditional_negatives("cosine"),
    "fair-cclk linear": conditional_negatives("linear"),
    "fair-cclk rbf": conditional_negatives("rbf"),
    "hardneg-cclk cosine": conditional_negatives("cosine", 100),
    "supcon": supcon,
    "contex": contex_mixed(False),
    "contex-p": contex_mixed(True),
    "biascon": biascon,
    "biascon-total": biascon_total,
    "softcon": softcon,
    "wcl-triplet": wcl_triplet,
    "wcl-weighted-dcl": wcl_weighted_dcl,
    "decoupled-uniformity": decoupled_uniformity,
    "kernel-decoupled-uniformity rbf": kernel_decoupled_uniformity,
    "dc": dc,
    "dclw": dclw,
    "align-uniform": align_uniform,
    "byol": byol,
    "barlow-twins": barlow_twins,
    "swav": swav,
    "moco": moco,
    "biasbal": biasbal,
    "end": end,
    "learned-mixin": learned_mixin,
    "rubi": rubi,
    "rebias-hsic": rebias_hsic,
    "gce": gce,
}
