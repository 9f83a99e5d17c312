
class Layer(nn.Module):
    """A convolution without bias; the first one has no batch norm."""

    def __init__(self, inputs, outputs, normed):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(outputs, inputs, 4, 4))
        self.bn = nn.BatchNorm2d(outputs) if normed else None

    def forward(self, maps):
        maps = F.conv2d(maps, self.weight, stride=2, padding=1)
        return F.leaky_relu(maps if self.bn is None else self.bn(maps), 0.2)


class Network(nn.Module):
    """The discriminator of a DCGAN without its score: maps of 4 x 4, flattened."""

    def __init__(self):
        super().__init__()
        layers, inputs, outputs, side = [], ENCODER["channels"], 64, SIDE
        while side > 4:
            layers.append(Layer(inputs, outputs, bool(layers)))
            inputs, outputs, side = outputs, 2 * outputs, side // 2
        self.layers = nn.Sequential(*layers)

    def forward(self, images):
        return self.layers(images).flatten(1)

