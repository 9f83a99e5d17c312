
class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, 3, 2, 1)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, maps):
        return F.relu(self.bn(self.conv(maps)))


class Network(nn.Module):
    """The encoder of a variational autoencoder; its features are the means of the codes."""

    def __init__(self):
        super().__init__()
        widths = [ENCODER["channels"], 32, 64, 128, 256]
        self.layers = nn.Sequential(*[Layer(a, b) for a, b in zip(widths, widths[1:])])
        side = SIDE
        for _ in range(4):
            side = (side + 1) // 2
        self.mean = nn.Linear(256 * side * side, FEATURES)
        self.log_variance = nn.Linear(256 * side * side, FEATURES)

    def forward(self, images):
        return self.mean(self.layers(images).flatten(1))

