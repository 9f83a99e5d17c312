import math

import torch
import torch.nn.functional as F


def directions(view_a, view_b, temperature, symmetric):
    """The cosines of each row with those of the other view over the temperature: from a to b, and also back."""
    s = F.normalize(view_a, dim=1) @ F.normalize(view_b, dim=1).T / temperature
    return [s, s.T] if symmetric else [s]


