"""Which targets a question about the first pass means."""

import pytest

from fxls.record.first_pass import _is_called  # pyright: ignore[reportPrivateUsage]  # the rule


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        (
            "add",
            ["torch.ops.aten.add.Tensor", "torch.ops.aten.add.Scalar", "_operator.add"],
        ),
        ("add.Tensor", ["torch.ops.aten.add.Tensor"]),
        ("aten.add", ["torch.ops.aten.add.Tensor", "torch.ops.aten.add.Scalar"]),
        ("torch.relu", ["torch.relu"]),
        ("torch", []),
        ("dd", []),
        ("Tensor", ["torch.ops.aten.add.Tensor"]),
    ],
)
def test_a_target_is_given_by_its_end(wanted: str, meant: list[str]) -> None:
    targets = (
        "torch.ops.aten.add.Tensor",
        "torch.ops.aten.add.Scalar",
        "_operator.add",
        "torch.relu",
    )

    assert [one for one in targets if _is_called(one, wanted)] == meant
