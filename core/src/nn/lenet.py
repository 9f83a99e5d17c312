
class Network(nn.Module):
    """LeNet-5 as CCL-K released it: tanh and average pools, no activation after the last layer, no classifier."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(ENCODER["channels"], 6, 5)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.conv3 = nn.Conv2d(16, 120, 5)
        self.fc = nn.Linear(120, FEATURES)

    def forward(self, images):
        maps = F.avg_pool2d(torch.tanh(self.conv1(images)), 2)
        maps = F.avg_pool2d(torch.tanh(self.conv2(maps)), 2)
        return self.fc(torch.tanh(self.conv3(maps)).flatten(1))

