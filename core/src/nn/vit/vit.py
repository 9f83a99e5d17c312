
class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)

    def forward(self, tokens):
        n, count, width = tokens.shape
        query, key, value = self.qkv(tokens).reshape(n, count, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(2, 3) * query.shape[3] ** -0.5
        return self.proj((scores.softmax(3) @ value).transpose(1, 2).reshape(n, count, width))


class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)

    def forward(self, tokens):
        return self.fc2(F.gelu(self.fc1(tokens)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=1e-6)
        self.attn = Attention(width, heads)
        self.norm2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = Mlp(width)

    def forward(self, tokens):
        tokens = tokens + self.attn(self.norm1(tokens))
        return tokens + self.mlp(self.norm2(tokens))


class Patches(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Conv2d(ENCODER["channels"], width, 16, 16)


class Network(nn.Module):
    """A vision transformer with the layers and names of timm and DINO, without the classifier."""

    def __init__(self):
        super().__init__()
        width = {"vit-s16": 384, "vit-b16": 768}[ENCODER["name"]]
        self.cls_token = nn.Parameter(torch.empty(1, 1, width))
        self.pos_embed = nn.Parameter(torch.empty(1, 1 + (SIDE // 16) ** 2, width))
        self.patch_embed = Patches(width)
        self.blocks = nn.Sequential(*[Block(width, width // 64) for _ in range(12)])
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, images):
        patches = self.patch_embed.proj(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), patches], 1) + self.pos_embed
        return self.norm(self.blocks(tokens)[:, 0])
