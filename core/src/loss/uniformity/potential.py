import torch
import torch.nn.functional as F


def uniformity(x, t):
    return torch.pdist(x).pow(2).mul(-t).exp().mean().log()


