"""What is said of the value that a node's meta holds."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch._subclasses import fake_tensor

from fxls.listing import Tensor
from fxls.runtime.listings.value_facts import value_of


def test_a_fake_tensor_is_on_its_device_while_another_thread_computes_with_its_mode() -> (
    None
):
    any_fake: Any = fake_tensor
    mode = any_fake.FakeTensorMode()
    with mode:
        value = torch.ones(2, 3)

    with any_fake.in_kernel_invocation_manager(mode), ThreadPoolExecutor() as threads:
        said = value.device.type
        facts = threads.submit(value_of, {"val": value}).result()

    assert said == "meta"
    assert facts == Tensor((2, 3), "float32", "cpu", (3, 1), 24, requires_grad=False)
