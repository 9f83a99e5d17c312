"""Features of torchvision's residual networks with weights that follow from their names: resnet.json.

Run with torch and torchvision:  python tests/vectors/resnet.py > tests/vectors/resnet.json
Every tensor is noise from a hash of its name and entry, scaled as its kind asks
for, so that the other side makes the same network without a file of 100 MB.
"""

import json
import math

import torch
import torchvision


def noise(count, seed):
    """Numbers from -1 to 1 of a multiplicative hash, the same in any language."""
    hashed = [((i + 1) * 2654435761 + seed * 40503) % 2**32 for i in range(count)]
    hashed = [((h ^ (h >> 15)) * 2246822519) % 2**32 for h in hashed]
    return torch.tensor(hashed, dtype=torch.float64) / 2**31 - 1.0


def value(name, shape):
    values = noise(math.prod(shape), sum(name.encode())).reshape(shape)
    if name.endswith("running_var"):
        values = 1.0 + 0.5 * values
    elif len(shape) == 4:
        values = values * math.sqrt(6.0 / (shape[1] * shape[2] * shape[3]))
    elif name.endswith("weight"):
        values = 1.0 + 0.2 * values
    else:
        values = 0.1 * values
    return values.float()


def features(make, side):
    network = make()
    network.fc = torch.nn.Identity()
    state = network.state_dict()
    for name, tensor in state.items():
        if not name.endswith("num_batches_tracked"):
            tensor.copy_(value(name, tensor.shape))
    network.eval()
    images = noise(2 * 3 * side * side, 0).reshape(2, 3, side, side).float()
    with torch.no_grad():
        return network(images).double()


def main():
    cases = []
    for name in ["resnet18", "resnet34", "resnet50", "resnet101"]:
        found = features(getattr(torchvision.models, name), 64)
        cases.append(
            {
                "encoder": name,
                "input_size": 64,
                "largest": found.abs().max().item(),
                "first": found[:, :8].tolist(),
                "sum": found.sum(1).tolist(),
            }
        )
    print(json.dumps({"torchvision": torchvision.__version__, "cases": cases}, indent=1))


main()
