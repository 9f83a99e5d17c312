"""The training step of training.rs."""

import torch
import torch.nn.functional as F
from torch import nn

from objectives import nt_xent

NAME = "training step of LeNet-5"


def network():
    encoder = [
        nn.Conv2d(3, 6, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Conv2d(16, 120, 5), nn.Tanh(), nn.Flatten(), nn.Linear(120, 84),
    ]
    head = [
        nn.Linear(84, 84, bias=False), nn.BatchNorm1d(84), nn.ReLU(),
        nn.Linear(84, 128, bias=False), nn.BatchNorm1d(128, affine=False),
    ]
    return nn.Sequential(*encoder, *head)


def trainer(b):
    torch.manual_seed(0)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    views = torch.rand(2 * b, 3, 32, 32) - 0.5

    def step():
        optimizer.zero_grad()
        projections = model(views)
        loss = nt_xent({"view_a": projections[:b], "view_b": projections[b:]})
        loss.backward()
        optimizer.step()
        return loss.item()

    return step
