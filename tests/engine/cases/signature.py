"""Annotations, defaults and stars of the parameters are those of the source."""

from typing import Optional

import torch
from torch import nn


class Signature(nn.Module):
    def forward(
        self,
        x: torch.Tensor,
        scale: float = 0.5,
        mask: Optional[torch.Tensor] = None,
        *rest,
    ) -> list[torch.Tensor]:
        return [x * scale, rest[0]]


INPUTS = (torch.ones(2), 0.5, None, torch.zeros(2))


# listing
def forward(self, x : torch.Tensor, scale : float = 0.5, mask : typing_Union[torch.Tensor,NoneType] = None, *rest):
    _rest = rest
    mul = x * scale;  x = scale = None
    getitem = _rest[0];  _rest = None
    return [mul, getitem]
