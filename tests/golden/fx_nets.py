"""The small nets of tests/fx_nets.c in torch, written line by line alike."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 4)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return F.softmax(self.fc3(x), dim=-1)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1)))
        self.dropout, self.classifier = nn.Dropout(), nn.Linear(16, 10)

    def forward(self, x):
        x = self.features(x)
        x = x.flatten(start_dim=1)
        return self.classifier(self.dropout(x))


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + x)


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.layers = nn.Conv2d(3, 4, 3), nn.Sequential(Block(4), Block(4))

    def forward(self, x):
        return self.layers(self.stem(x)) * 0.5


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.query, self.key, self.value, self.proj = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        y = self.norm(x)
        q = self.query(y).view([2, 5, 2, 4]).transpose(1, 2)
        k = self.key(y).view([2, 5, 2, 4]).transpose(1, 2)
        v = self.value(y).view([2, 5, 2, 4]).transpose(1, 2)
        weights = torch.matmul(q, k.transpose(-2, -1)) / 2.0
        weights = weights.softmax(dim=-1)
        y = torch.matmul(weights, v).transpose(1, 2).reshape([2, 5, 8])
        return x + self.proj(y)


class LstmCell(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight_ih, self.weight_hh = nn.Parameter(torch.zeros(16, 3)), nn.Parameter(torch.zeros(16, 4))
        self.bias = nn.Parameter(torch.zeros(16))

    def forward(self, x, h, c):
        gates = F.linear(x, self.weight_ih, bias=self.bias) + F.linear(h, self.weight_hh)
        parts = gates.chunk(4, dim=1)
        i, f, g, o = parts[0], parts[1], parts[2], parts[3]
        i = torch.sigmoid(i)
        f = torch.sigmoid(f)
        g = torch.tanh(g)
        o = torch.sigmoid(o)
        c = f * c + i * g
        return [o * torch.tanh(c), c]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.up = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(12, 4, 3, padding=1)
        self.pool, self.act, self.out = nn.MaxPool2d(2), nn.SiLU(), nn.Conv2d(4, 1, 1)

    def forward(self, x):
        first = self.act(self.down1(x))
        second = self.act(self.down2(self.pool(first)))
        wide = second.unsqueeze(3).unsqueeze(5).expand([1, 8, 4, 2, 4, 2]).reshape([1, 8, 8, 8])
        both = torch.cat([wide, first], dim=1)
        return self.out(self.act(self.up(both)))


class Lists(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 3)])

    def forward(self, x):
        halves = x.chunk(2, dim=1)
        low, high = halves[0], halves[1]
        outputs = [head(part) for head, part in zip(self.heads, [low, high])]
        return [outputs[0], outputs[1], torch.stack([low, high]), -x]


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder, self.tail = nn.Linear(4, 4), nn.Sequential(nn.GELU(), nn.Identity())
        self.tail.add_module("again", self.encoder)

    def forward(self, x):
        x = self.encoder(x)
        x = self.encoder(torch.relu(x))
        return self.tail(x) - x


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        y = x * 2
        y = y.add_(1)
        y = torch.relu_(y)
        y = self.relu(y.mul_(self.count))
        return y


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(20, 6), nn.LayerNorm(6), nn.Linear(6, 2, bias=False)
        self.positions = nn.Parameter(torch.zeros(5, 6))

    def forward(self, tokens):
        x = self.norm(self.words(tokens) + self.positions)
        return self.out(x.mean(dim=[1]))


NETS = {"mlp": Mlp, "conv_net": ConvNet, "residual": Residual, "attention": Attention, "lstm_cell": LstmCell, "unet": UNet,
        "lists": Lists, "shared": Shared, "in_place": InPlace, "embedding": Embed}
