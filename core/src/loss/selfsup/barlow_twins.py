import torch


def barlow_twins(view_a, view_b, lambd=0.0051, bn_eps=1e-5):
    a, b = [(x - x.mean(0)) / (x.var(0, correction=0) + bn_eps).sqrt() for x in (view_a, view_b)]
    c = a.T @ b / len(a)
    off = c - torch.diag(c.diagonal())
    return (1 - c.diagonal()).pow(2).sum() + lambd * off.pow(2).sum()
