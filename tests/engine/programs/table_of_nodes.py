# A graph is printed as a table: an input, an attribute, a module, a method, functions.
import torch
from torch import nn

from fxls import engine as fx


class Ballot(nn.Module):
    def __init__(self, options):
        super().__init__()
        self.judges = nn.Bilinear(2, 2, options)

    def forward(self, votes):
        points = self.judges(votes, votes).square() * self.judges.bias
        return torch.kthvalue(torch.mean(points, dim=0), k=4)


ballot = fx.symbolic_trace(Ballot(options=6))
ballot.graph.print_tabular()
