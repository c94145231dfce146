# What one function writes is found in a graph and becomes what another one writes.
import torch
from torch import nn

from fxls import engine as fx


class Scores(nn.Module):
    def forward(self, home, away, bonus):
        lead = torch.stack([home, away], dim=0).std(dim=0).log1p()
        swapped = torch.stack([away, bonus], dim=0).std(dim=0).log1p()
        return lead * 2 + torch.sqrt(swapped)


def distance(here, there):
    return torch.stack([here, there], dim=0).std(dim=0).log1p()


def rounded(here, there):
    return torch.dist(here, there).round()


scores = fx.symbolic_trace(Scores())
for match in fx.replace_pattern(scores, distance, rounded):
    inside = {str(key): str(value) for key, value in match.nodes_map.items()}
    print(match.anchor, inside)
print(scores.code)
print(scores(torch.tensor([5.0]), torch.tensor([1.0]), torch.tensor([10.0])))
