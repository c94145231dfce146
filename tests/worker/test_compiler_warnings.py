"""A compilation that the program did not ask for warns nobody; the program does."""

from __future__ import annotations

import warnings

from fxls.worker.produce import ignore_compilers


def test_torchs_compilers_warn_nobody_and_a_program_does() -> None:
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        ignore_compilers()
        for module in (
            *("torch._dynamo.guards", "torch._inductor.compile_fx", "torch"),
            *("net", "my_torch._dynamo"),
        ):
            said = f"{module} is slow"
            warnings.warn_explicit(said, RuntimeWarning, "file.py", 1, module=module)
    assert [str(one.message) for one in shown] == [
        "torch is slow",
        "net is slow",
        "my_torch._dynamo is slow",
    ]
