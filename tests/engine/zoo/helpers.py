# pyright: basic
"""Functions that models of the zoo call from another file."""

import contextlib
import functools

import torch


def scaled(x, by=2.0):
    return x * by


def normalized(x, dim=-1):
    centred = x - x.mean(dim=dim, keepdim=True)
    return scaled(centred, by=0.5)


def logged(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


@logged
def decorated(x, y):
    return torch.maximum(x, y)


@contextlib.contextmanager
def scope():
    yield


def opaque(x, count):
    for _ in range(int(x.shape[0] * count) - 1):
        x = x + 1
    return x
