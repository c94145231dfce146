"""A program whose data comes from a process of its own."""

import torch
from torch.utils.data import DataLoader, Dataset


class Data(Dataset):
    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((2,), index + 1)


if __name__ == "__main__":
    print(next(iter(DataLoader(Data(), num_workers=1))))
