
class Block(nn.Module):
    """Two 3x3 convolutions, or 1x1, 3x3 and 1x1, of which the middle one has the stride."""

    def __init__(self, inputs, width, stride, bottleneck):
        super().__init__()
        outputs = 4 * width if bottleneck else width
        if bottleneck:
            self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.conv3 = nn.Conv2d(width, outputs, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(outputs)
        else:
            self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
            self.conv3 = None
        self.bn1 = nn.BatchNorm2d(width)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
            )

    def forward(self, maps):
        identity = maps if self.downsample is None else self.downsample(maps)
        hidden = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(maps)))))
        if self.conv3 is not None:
            hidden = self.bn3(self.conv3(F.relu(hidden)))
        return F.relu(hidden + identity)


# Whether blocks have three convolutions, and how many blocks each stage has.
DEPTHS = {
    "resnet18": (False, [2, 2, 2, 2]),
    "resnet34": (False, [3, 4, 6, 3]),
    "resnet50": (True, [3, 4, 6, 3]),
    "resnet101": (True, [3, 4, 23, 3]),
}


class Network(nn.Module):
    """A residual network with torchvision's layers and names, without the classifier."""

    def __init__(self):
        super().__init__()
        bottleneck, stages = DEPTHS[ENCODER["name"]]
        stem, first, output = ENCODER.get("stem", "imagenet"), ENCODER.get("width", 64), ENCODER.get("output")
        kernel, stride, padding = {"imagenet": (7, 2, 3), "cifar": (3, 1, 1), "cifar-padded": (3, 1, 2)}[stem]
        self.pool = stem == "imagenet"
        self.conv1 = nn.Conv2d(ENCODER["channels"], first, kernel, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        inputs = first
        for stage, blocks in enumerate(stages):
            width, layers = first << stage, []
            for block in range(blocks):
                layers.append(Block(inputs, width, 2 if block == 0 and stage > 0 else 1, bottleneck))
                inputs = 4 * width if bottleneck else width
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = None if output is None else nn.Linear(inputs, output)

    def forward(self, images):
        maps = F.relu(self.bn1(self.conv1(images)))
        if self.pool:
            maps = F.max_pool2d(maps, 3, 2, 1)
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        features = maps.mean((2, 3))
        return features if self.fc is None else self.fc(features)

