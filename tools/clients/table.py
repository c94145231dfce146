"""Which programs are run, from which sources, and what causes the differences."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CLIENTS", "Client"]


@dataclass(frozen=True, slots=True)
class Client:
    """The tests of one program, and where its sources come from."""

    name: str
    version: str
    source: str
    """``sdist``, ``debian`` for PyTorch's own, or the address of a git repository."""
    digest: str
    """SHA-256 of the archive, or the commit."""
    packages: tuple[str, ...]
    """The packages whose imports are changed, besides the tests."""
    tests: tuple[str, ...]
    """What pytest gets, in the folder of the sources."""
    requires: tuple[str, ...] = ()
    """What has to be installed besides, with its dependencies."""
    cause: str = ""
    """Why tests pass under neither."""


_QUANTIZATION = (
    "torch.ao.quantization",
    "torch.ao.ns",
    "torch.testing._internal.common_quantization",
)
_DEBIAN = "099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff"


def _pytorch(name: str, *tests: str) -> Client:
    return Client(
        f"torch.ao.quantization: {name}",
        "2.6.0+dfsg",
        "debian",
        _DEBIAN,
        _QUANTIZATION,
        ("--noconftest", *tests),
        ("expecttest", "scipy"),
    )


CLIENTS = (
    Client(
        "opt_einsum_fx",
        "0.1.4",
        "https://github.com/Linux-cpp-lisp/opt_einsum_fx",
        "efb81878af7a97e9ac3e22c8615af41ce632006e",
        ("opt_einsum_fx",),
        ("tests",),
        ("opt_einsum",),
    ),
    Client(
        "torch_geometric",
        "2.8.0.post1",
        "https://github.com/pyg-team/pytorch_geometric",
        "d4e1c45689967a614a7f3d873ad4ba83c4a1f3bd",
        ("torch_geometric",),
        (
            "test/nn/test_fx.py",
            "test/nn/test_model_summary.py",
            "test/nn/test_sequential.py",
            "test/nn/test_to_fixed_size_transformer.py",
            "test/nn/test_to_hetero_transformer.py",
            "test/nn/test_to_hetero_with_bases_transformer.py",
        ),
        ("torch_geometric",),
    ),
    Client(
        "brevitas",
        "0.12.1",
        "https://github.com/Xilinx/brevitas",
        "b106358c4169d8a9b68cb2a531aa795417d74887",
        ("brevitas",),
        ("tests/brevitas/fx",),
        ("dependencies==2.0.1", "unfoldNd", "hypothesis", "scipy", "setuptools<81"),
        "Half of them download a model; the others were written for an older torch.fx.",
    ),
    _pytorch("fuse", "quantization/fx/test_quantize_fx.py", "-k", "TestFuseFx"),
    _pytorch("equalize", "quantization/fx/test_equalize_fx.py"),
    _pytorch("report", "quantization/fx/test_model_report_fx.py"),
    _pytorch("rewriter", "quantization/fx/test_subgraph_rewriter.py"),
)
