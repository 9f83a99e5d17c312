
class Network(nn.Module):
    """Three layers of 100 features on the pixels, each with ReLU, the last one too."""

    def __init__(self):
        super().__init__()
        widths = [ENCODER["channels"] * SIDE * SIDE, 100, 100, 100]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(widths, widths[1:])])

    def forward(self, images):
        hidden = images.flatten(1)
        for layer in self.layers:
            hidden = F.relu(layer(hidden))
        return hidden

