"""The encoders of encoders.rs, as torchvision has them."""

import torch
from torch import nn

CASES = {
    "resnet18 forward": ("resnet18", False),
    "resnet18 forward + backward": ("resnet18", True),
    "resnet50 forward": ("resnet50", False),
    "resnet50 forward + backward": ("resnet50", True),
}


def network(name):
    from torchvision import models  # here, so that the other rows need no torchvision

    model = getattr(models, name)()
    model.fc = nn.Identity()
    if name == "resnet18":
        model.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
        model.maxpool = nn.Identity()
    return model


def encoder(case, b):
    name, backward = CASES[case]
    torch.manual_seed(0)
    side = 32 if name == "resnet18" else 224
    model, images = network(name).train(backward), torch.rand(b, 3, side, side) - 0.5

    def forward():
        with torch.no_grad():
            model(images)

    def forward_and_backward():
        model.zero_grad()
        model(images).sum().backward()

    return forward_and_backward if backward else forward
