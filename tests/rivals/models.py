"""LeNet-5 and ResNet-18 with the same random weights for everybody: `python models.py FOLDER`.

Needs torch, torchvision and onnx. Each network is written as NAME.onnx, as NAME-means.onnx for a reader that knows means
and no pools, and as a state dict, NAME.pt, that `simile import` takes.
"""

import sys
from pathlib import Path

import torch
import torchvision
from torch import nn


class Means(nn.Module):
    """nn.AvgPool2d(2) as a mean."""

    def forward(self, x):
        _, channels, height, width = x.shape
        return x.reshape(-1, channels, height // 2, 2, width // 2, 2).mean((3, 5))


class WholeMean(nn.Module):
    """nn.AdaptiveAvgPool2d(1) as a mean."""

    def forward(self, x):
        return x.mean((2, 3), keepdim=True)


class LeNet5(nn.Module):
    """The network that the page trains: names and shapes as in its checkpoints."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(3, 6, 5), nn.Conv2d(6, 16, 5), nn.Conv2d(16, 120, 5)
        self.fc = nn.Linear(120, 84)
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        x = self.pool(self.conv1(x).tanh())
        x = self.pool(self.conv2(x).tanh())
        return self.fc(self.conv3(x).tanh().flatten(1))


def resnet18():
    network = torchvision.models.resnet18(weights=None)
    network.fc = nn.Identity()
    return network


def write(network, file, side):
    torch.onnx.export(
        network.eval(),
        torch.zeros(1, 3, side, side),
        file,
        dynamo=False,
        input_names=["pixel_values"],
        output_names=["embedding"],
        dynamic_axes={"pixel_values": {0: "n"}, "embedding": {0: "n"}},
    )


folder = Path(sys.argv[1])
torch.manual_seed(0)
for name, network, side in [("lenet5", LeNet5(), 32), ("resnet18", resnet18(), 224)]:
    torch.save(network.state_dict(), folder / f"{name}.pt")
    write(network, folder / f"{name}.onnx", side)
    if name == "lenet5":
        network.pool = Means()
    else:
        network.avgpool = WholeMean()
    write(network, folder / f"{name}-means.onnx", side)
