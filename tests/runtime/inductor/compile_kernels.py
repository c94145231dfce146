"""A program that compiles a model: with fxls, or with what torch itself notes of kernels.

`python -m tests.runtime.inductor.compile_kernels MODEL fxls STORE` makes listings, and
with `torch FILE` in their place it writes what torch's provenance says of each graph.
"""

from __future__ import annotations

import sys

from tests.runtime.inductor.kernel_models import MODELS
from tools.kernels.compiling import with_fxls, with_provenance

if __name__ == "__main__":
    _, asked, how, where = sys.argv
    {"fxls": with_fxls, "torch": with_provenance}[how](MODELS[asked], where)
