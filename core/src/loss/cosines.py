import math

import torch
import torch.nn.functional as F


def cosines(view_a, view_b, temperature):
    """The cosines of the 2 b rows of both views over the temperature, and those of each row with its other view."""
    x = F.normalize(torch.cat([view_a, view_b]), dim=1)
    s = x @ x.T / temperature
    other = torch.arange(len(x), device=x.device).roll(len(view_a))
    return s, s.gather(1, other[:, None]).squeeze(1)


def without_itself(s):
    """The rows that each row is compared with."""
    return s.masked_fill(torch.eye(len(s), dtype=torch.bool, device=s.device), -math.inf)


def other_samples(s):
    """The rows of other samples."""
    same = torch.eye(len(s) // 2, dtype=torch.bool, device=s.device).repeat(2, 2)
    return s.masked_fill(same, -math.inf)


