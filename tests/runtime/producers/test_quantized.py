"""What torch.ao makes of a graph is listings, one for each step, and runs from them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.ao.quantization as quantization
from torch.ao.quantization import quantize_fx

from fxls.runtime import finish
from fxls.store import Store
from tests.runtime.producers.looking import MODULE, listing_in, path_of, sources
from tests.runtime.producers.torch_nets import Net

ao: Any = quantize_fx
settings: Any = quantization


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:torch.ao:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Please use quant_min:UserWarning")
@pytest.mark.filterwarnings("ignore:.*quantized tensor creation:UserWarning")
@pytest.mark.filterwarnings("ignore:TypedStorage:UserWarning")
def test_each_step_of_quantization_is_a_revision(store: Store) -> None:
    x = torch.ones(2, 4)
    mapping = settings.get_default_qconfig_mapping("x86")
    prepared = ao.prepare_fx(Net().eval(), mapping, (x,))
    prepared(x)
    converted = ao.convert_fx(prepared)
    assert converted(x).shape == (2,)
    finish()

    (identity,) = store.identities()
    assert (identity.module, identity.qualname) == (MODULE, "Net")
    paths = [revision.path for revision in store.revisions(identity)]
    assert path_of(prepared) in paths
    assert paths[-1] == path_of(converted)
    observed = listing_in(store, prepared)
    assert "activation_post_process_0 = self.activation_post_process_0(x)" in (
        observed.text
    )
    assert sources(observed)["linear"] == "self.linear(x)"
    quantized = listing_in(store, converted)
    assert "torch.quantize_per_tensor(x, " in quantized.text
    assert sources(quantized)["linear"] == "self.linear(x)"
