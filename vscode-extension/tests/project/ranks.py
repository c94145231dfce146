"""Two ranks that compile different graphs."""

import torch
import torch.distributed as dist


class Gated(torch.nn.Module):
    def __init__(self, rank):
        super().__init__()
        self.rank = rank

    def forward(self, x):
        x = x + 1
        if self.rank == 1:
            x = torch.sigmoid(x)
        return x.relu()


if __name__ == "__main__":
    dist.init_process_group("gloo")
    gated = Gated(dist.get_rank())
    torch.compile(gated, backend="eager")(torch.ones(2))
    dist.barrier()
    dist.destroy_process_group()
