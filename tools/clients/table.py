"""Which programs are run, from which sources, and what causes the differences."""

from __future__ import annotations

from dataclasses import dataclass

from tools.clients.families import timm_tests

__all__ = ["CAUSES", "CLIENTS", "Cause", "Client"]


@dataclass(frozen=True, slots=True)
class Client:
    """The tests of one program, and where its sources come from."""

    name: str
    version: str
    source: str
    """``sdist``, ``wheel``, ``debian:`` with the name of a source package, or the address
    of a git repository."""
    digest: str
    """SHA-256 of the archive, or the commit."""
    packages: tuple[str, ...]
    """The packages whose imports are changed, besides the tests."""
    tests: tuple[str, ...]
    """What pytest gets, in the folder of the sources, or in `trials` for a file there."""
    requires: tuple[str, ...] = ()
    """What has to be installed besides, with its dependencies."""
    cause: str = ""
    """Why tests pass under neither."""
    archive: str = ""
    """The name of the archive, where it is another one than name and version say."""
    folder: str = ""
    """The folder in the archive in which the tests run, where it is a part of it."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that the runs get."""


@dataclass(frozen=True, slots=True)
class Cause:
    """Why some tests pass under torch.fx alone."""

    client: str
    test: str
    """A part of the names of the tests."""
    why: str


_TYPES = "not AnnotationsTest and not TypeCheckerTest"
"""What the documents leave out."""

_QUANTIZATION = (
    "torch.ao.quantization",
    "torch.ao.ns",
    "torch.testing._internal.common_quantization",
)
_PYTORCH = "099a9601bc40d67656e75735c44abedb0fbe92d08817852ab7472eebb7e6ddff"
_VISION = "0a4a967bbb7f9810f792cd0289a07fb98c8fb5d1303fae8b63e3a6b05d720058"


def _pytorch(
    name: str, packages: tuple[str, ...], *tests: str, why: str = ""
) -> Client:
    return Client(
        name,
        "2.6.0+dfsg",
        "debian:pytorch",
        _PYTORCH,
        packages,
        ("--noconftest", *tests),
        ("expecttest", "scipy"),
        why,
        archive="pytorch_2.6.0+dfsg.orig.tar.xz",
        folder="pytorch-v2.6.0/test",
    )


def _vision(name: str, *tests: str, why: str = "") -> Client:
    return Client(
        name,
        "0.21.0",
        "debian:pytorch-vision",
        _VISION,
        ("torchvision",),
        ("--noconftest", *tests),
        ("expecttest", "torchvision"),
        why,
        archive="pytorch-vision_0.21.0.orig.tar.gz",
        folder="vision-0.21.0/test",
    )


def _wheel(
    name: str, version: str, digest: str, requires: tuple[str, ...], package: str = ""
) -> Client:
    """A release without tests, on which a trial of ours is run."""
    archive = f"{name}-{version}-py3-none-any.whl"
    trial = (f"test_{name}.py",)
    return Client(
        name,
        version,
        "wheel",
        digest,
        (package or name,),
        trial,
        requires,
        archive=archive,
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
        "They need packages with operators of their own.",
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
    _pytorch(
        "torch.ao.quantization: fuse",
        _QUANTIZATION,
        *("quantization/fx/test_quantize_fx.py", "-k", "TestFuseFx"),
    ),
    _pytorch(
        "torch.ao.quantization: equalize",
        _QUANTIZATION,
        "quantization/fx/test_equalize_fx.py",
    ),
    _pytorch(
        "torch.ao.quantization: report",
        _QUANTIZATION,
        "quantization/fx/test_model_report_fx.py",
    ),
    _pytorch(
        "torch.ao.quantization: rewriter",
        _QUANTIZATION,
        "quantization/fx/test_subgraph_rewriter.py",
    ),
    _vision("torchvision: feature extraction", "test_backbone_utils.py"),
    Client(
        "e3nn",
        "0.6.0",
        "sdist",
        "5c2b414e9527aad27d755ae9546596e3f7706f45a21dae71c7deedb6c048e4de",
        ("e3nn", "opt_einsum_fx"),
        (
            "tests/o3/linear_test.py",
            "tests/o3/tensor_product_sub_test.py",
            "tests/nn/extract_test.py",
            "tests/nn/fc_test.py",
            "tests/nn/gate_test.py",
            "tests/util/test_jit.py",
        ),
        ("e3nn==0.6.0",),
        environment=(("TORCHDYNAMO_DISABLE", "1"),),  # inductor takes an hour
    ),
    Client(
        "timm",
        "1.0.31",
        "sdist",
        "baa0b333339c46d3d6d4965d99b69f5053afed71210e8f433d7ea5ee6a18f0ec",
        ("timm", "torchvision"),
        timm_tests(),
        ("timm==1.0.31", "pytest-timeout"),
    ),
    _pytorch(
        "PyTorch: FX, core",
        (),
        *("test_fx.py", "-k", f"{_TYPES} and not TestOperatorSignatures"),
    ),
    _pytorch("PyTorch: FX, signatures", (), "test_fx.py", "-k", "Signatures"),
    _pytorch(
        "PyTorch: FX, passes",
        (),
        *("test_fx_passes.py", "test_fx_reinplace_pass.py", "fx"),
        *("--ignore=fx/test_shape_inference.py", "--ignore=fx/test_gradual_type.py"),
        "--ignore=fx/test_z3_gradual_types.py",
        why="They expect what torch 2.6 wrote.",
    ),
    _pytorch("PyTorch: FX, experimental", (), "test_fx_experimental.py"),
    _wheel(
        "captum",
        "0.9.0",
        "cda38e1d42c37591d71560bb2f5813ac4cae8d8543afac45279c7efd5945997e",
        (),
    ),
    _wheel(
        "hls4ml",
        "1.3.0",
        "01bf1de2cd9bca56699b9fe3385cb1735026b022f9580fe1d73faf192dfb90f2",
        (),
    ),
    _wheel(
        "nirtorch",
        "2.6",
        "c114565ce42a95c0b2763f0db1107f2c5de452a4eec593e12cac37e9716838ab",
        ("nir",),
    ),
    _wheel(
        "onnx2torch",
        "1.5.15",
        "123258e0f147e07b259cf845c8113c5634b8260e52c5fb26b7d507226732d9e5",
        ("onnx",),
    ),
    _wheel(
        "optimum",
        "2.3.0",
        "3e9b217b4ab21fd4cf894a987002ee7d3626114e009592babf084c2f1a0f3b5f",
        ("transformers",),
    ),
    _wheel(
        "spikingjelly",
        "2.0.0",
        "dee753bade33e8dca62e88fd4ba6e3c89e6bc56c6fdd9c8c151d5680222edac1",
        ("h5py", "loguru", "matplotlib", "tensorboard", "scipy"),
    ),
    _wheel(
        "nvidia_modelopt",
        "0.47.0",
        "db13e62d7efe4a1512e8b8c3f479e28d64022306f94a194f13234e7dca1d3120",
        ("ninja", "nvidia-ml-py", "omegaconf", "pulp"),
        "modelopt",
    ),
    _wheel(
        "torchpippy",
        "0.2.0",
        "1908beff329a3d9af99e9fa8e1aecbaa110d16cba2d337bebbafee23c8ffc7c8",
        (),
        "pippy",
    ),
    _wheel(
        "torch_dag",
        "0.1.3",
        "e2cb531cbf46f346de62f3ad160e22639632d498b4f20e2a2cc9fbe006bf2195",
        ("timm==1.0.31", "fvcore", "graphviz"),
    ),
    _wheel(
        "model_compression_toolkit",
        "2.6.1",
        "82f51f4c4006729688c7af0e1b516dae8cbb2641b82e4494e357df6c739c2ba5",
        ("networkx", "scikit-learn", "mct-quantizers", "edge-mdt-cl", "matplotlib"),
    ),
    Client(
        "colossalai",
        "0.5.0",
        "sdist",
        "883913dfd1165937f444f2673752475efdc63506c4bc3d00af33c7c8fac6d39d",
        ("colossalai",),
        ("test_colossalai.py",),
        ("psutil",),
    ),
)

_FOREIGN = "The graph is that of torch.export, which is of torch.fx."
_PARTITIONER = "The documents leave accelerator_partitioner out."
CAUSES = (
    Cause("PyTorch: FX, core", "test_legalize_slice", _FOREIGN),
    Cause("PyTorch: FX, passes", "test_legalize_slice", _FOREIGN),
    Cause("PyTorch: FX, passes", "TestSplitOutputType", _FOREIGN),
    *(
        Cause("PyTorch: FX, experimental", test, _PARTITIONER)
        for test in (
            *("_based_partition", "test_cost_aware_partition", "test_saturate_host"),
            *("test_find_single_partition", "test_partition_", "test_sparse_nn"),
        )
    ),
    Cause(
        "PyTorch: FX, experimental",
        "test_meta_tracer",
        "The documents leave experimental.meta_tracer out.",
    ),
)
