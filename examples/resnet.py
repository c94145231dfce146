"""ResNet-18: an image classifier whose blocks add their input to what they compute."""

import torch
from torch import nn
from torch.nn import functional as F


class BasicBlock(nn.Module):
    """Two 3x3 convolutions, and the input added to what they make of it."""

    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                nn.BatchNorm2d(outputs),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        out = F.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        return F.relu(out + shortcut)


class ResNet18(nn.Module):
    """A stem, four stages of two blocks, and a linear layer over the mean."""

    def __init__(self, classes: int = 1000, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(3, stride=2, padding=1),
        )
        self.stage1 = self._stage(width, width, stride=1)
        self.stage2 = self._stage(width, 2 * width, stride=2)
        self.stage3 = self._stage(2 * width, 4 * width, stride=2)
        self.stage4 = self._stage(4 * width, 8 * width, stride=2)
        self.head = nn.Linear(8 * width, classes)

    @staticmethod
    def _stage(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        return nn.Sequential(
            BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs)
        )

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = self.stem(images)
        x = self.stage1(x)
        x = self.stage2(x)
        x = self.stage3(x)
        x = self.stage4(x)
        x = F.adaptive_avg_pool2d(x, 1)
        return self.head(torch.flatten(x, 1))


# fxls: ResNet18(classes=10)(torch.randn(1, 3, 64, 64))
