"""torchvision's models are ordinary users of the API: our graphs are those of torch.fx."""

from __future__ import annotations

import copy
import importlib
import inspect
import warnings
from typing import Any

import pytest
import torch
import torch.fx

from fxls import engine as fx
from tools import torchvision_operators

_torch: Any = torch
_fx: Any = torch.fx

TRACED = [
    *("alexnet", "convnext_tiny", "deeplabv3_mobilenet_v3_large", "densenet121"),
    *("efficientnet_b0", "efficientnet_v2_s", "fcn_resnet50", "googlenet"),
    *("inception_v3", "lraspp_mobilenet_v3_large", "maxvit_t", "mc3_18", "mnasnet1_0"),
    *("mobilenet_v2", "mobilenet_v3_small", "mvit_v2_s", "regnet_y_400mf", "resnet18"),
    *("resnext50_32x4d", "shufflenet_v2_x1_0", "squeezenet1_1", "swin_t", "swin_v2_t"),
    *("swin3d_t", "vgg11_bn", "vit_b_16", "wide_resnet50_2"),
]
"""One model, the smallest, of each family that torch.fx traces."""

REFUSED = [
    "fasterrcnn_mobilenet_v3_large_fpn",
    "retinanet_resnet50_fpn",
    "ssd300_vgg16",
]


@pytest.fixture(scope="module")
def models() -> Any:
    torchvision_operators.declare()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("torchvision.models")


def model_of(models: Any, name: str) -> torch.nn.Module:
    """The model without weights: on no device where its constructor allows it."""
    settings: dict[str, Any] = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        settings["init_weights"] = False
    builder = inspect.unwrap(models.get_model_builder(name))
    if "weights_backbone" in inspect.signature(builder).parameters:
        settings["weights_backbone"] = None
    device = "cpu" if name.startswith("regnet") else "meta"
    with torch.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models.get_model(name, **settings).eval()


@pytest.mark.slow
@pytest.mark.parametrize("name", TRACED)
def test_a_model_is_traced_as_by_torch_fx(models: Any, name: str) -> None:
    model = model_of(models, name)
    theirs = _fx.symbolic_trace(copy.deepcopy(model))
    ours = fx.symbolic_trace(model)

    assert str(ours.graph) == str(theirs.graph)
    expected = theirs.code.replace("torch.fx._symbolic_trace.wrap", "fxls.engine.wrap")
    assert ours.code == expected
    ours.graph.lint()
    here = [node for node in ours.graph.nodes if node.origin is None]
    assert here == []


@pytest.mark.slow
@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_torch_fx_refuses_is_refused(models: Any, name: str) -> None:
    model = model_of(models, name)
    with pytest.raises(Exception) as theirs:  # noqa: PT011 - of whatever type it is
        _fx.symbolic_trace(copy.deepcopy(model))
    with pytest.raises(type(theirs.value).__mro__[1]):
        fx.symbolic_trace(model)
