
class Layer(nn.Module):
    def __init__(self, inputs, outputs, kernel):
        super().__init__()
        self.conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, maps):
        return F.relu(self.bn(self.conv(maps)))


class Network(nn.Module):
    """The network of BiasedMNIST: four convolutions at full resolution and a global average."""

    def __init__(self):
        super().__init__()
        kernel = 1 if ENCODER["name"] == "simple-conv-1x1" else 7
        widths = [ENCODER["channels"], 16, 32, 64, 128]
        self.layers = nn.Sequential(*[Layer(a, b, kernel) for a, b in zip(widths, widths[1:])])

    def forward(self, images):
        return self.layers(images).mean((2, 3))

