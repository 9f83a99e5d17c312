"""Features of timm's ViT-S/16 with weights that follow from their names, and positions brought to other sides: vit.json.

Run with torch and timm:  python tests/vectors/vit.py > tests/vectors/vit.json
"""

import json
import math

import timm
import torch
from timm.layers import resample_abs_pos_embed


def noise(count, seed):
    """Numbers from -1 to 1 of a multiplicative hash, the same in any language."""
    hashed = [((i + 1) * 2654435761 + seed * 40503) % 2**32 for i in range(count)]
    hashed = [((h ^ (h >> 15)) * 2246822519) % 2**32 for h in hashed]
    return torch.tensor(hashed, dtype=torch.float64) / 2**31 - 1.0


def value(name, shape):
    values = noise(math.prod(shape), sum(name.encode())).reshape(shape)
    if "norm" in name and name.endswith("weight"):
        values = 1.0 + 0.2 * values
    elif name.endswith("weight"):
        values = values * math.sqrt(6.0 / math.prod(shape[1:]))
    else:
        values = 0.5 * values
    return values.float()


def features(side):
    network = timm.create_model("vit_small_patch16_224", img_size=side, num_classes=0).eval()
    for name, tensor in network.state_dict().items():
        tensor.copy_(value(name, tensor.shape))
    with torch.no_grad():
        return network(noise(2 * 3 * side * side, 0).reshape(2, 3, side, side).float()).double()


def positions(theirs, ours):
    values = noise(2 * (1 + theirs**2), 1).reshape(1, -1, 2).float()
    found = resample_abs_pos_embed(values, [ours, ours], verbose=False)
    return {"from": theirs, "to": ours, "values": found.flatten().tolist()}


def main():
    found = features(48)
    answer = {
        "timm": timm.__version__,
        "side": 48,
        "largest": found.abs().max().item(),
        "first": found[:, :8].tolist(),
        "sum": found.sum(1).tolist(),
        "positions": [positions(7, 3), positions(2, 5)],
    }
    print(json.dumps(answer, indent=1))


main()
