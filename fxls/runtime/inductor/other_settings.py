"""Settings of torch under which a part of it is left out, or another one computes.

Nothing here is needed by torch: the command line reads the names without it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from typing import Any

from fxls.attempt import Raised, attempt

__all__ = ["OTHER_SETTINGS", "put_in_force"]

OTHER_SETTINGS: Mapping[str, Any] = {
    # What the program adds.
    **dict.fromkeys(
        (
            "torch._inductor.config.pre_grad_custom_pass",
            "torch._inductor.config.joint_custom_pre_pass",
            "torch._inductor.config.joint_custom_post_pass",
            "torch._inductor.config.post_grad_custom_pre_pass",
            "torch._inductor.config.post_grad_custom_post_pass",
            "torch._inductor.config._pre_fusion_custom_pass",
            "torch._inductor.config._post_fusion_custom_pass",
            "torch._inductor.config.custom_partitioner_fn",
            "torch._functorch.config.joint_custom_pass",
            "torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY",
            "torch._inductor.config.cpp.inject_log1p_bug_TESTING_ONLY",
            "torch._inductor.config.triton.inject_relu_bug_TESTING_ONLY",
        )
    ),
    "torch._inductor.config.pre_grad_fusion_options": {},
    "torch._inductor.config.post_grad_fusion_options": {},
    # Passes of torch's.
    **dict.fromkeys(
        (
            "torch._inductor.config.pattern_matcher",
            "torch._inductor.config.use_joint_graph_passes",
            "torch._inductor.config.joint_graph_constant_folding",
            "torch._inductor.config.split_cat_fx_passes",
            "torch._inductor.config.batch_fusion",
            "torch._inductor.config.reorder_for_locality",
            "torch._inductor.config.freezing",
            "torch._inductor.config.layout_optimization",
            "torch._inductor.config.comprehensive_padding",
            "torch._inductor.config.shape_padding",
            "torch._functorch.config.cse",
            "torch._dynamo.config.automatic_dynamic_shapes",
            "torch._dynamo.config.use_graph_deduplication",
            # How code is written.
            "torch._inductor.config.epilogue_fusion",
            "torch._inductor.config.prologue_fusion",
            "torch._inductor.config.loop_ordering_after_fusion",
            "torch._inductor.config.combo_kernels",
            "torch._inductor.config.inplace_buffers",
            "torch._inductor.config.allow_buffer_reuse",
            "torch._inductor.config.reorder_for_peak_memory",
            "torch._inductor.config.constant_and_index_propagation",
            "torch._inductor.config.split_reductions",
            "torch._inductor.config.pick_loop_orders",
            "torch._inductor.config.coordinate_descent_tuning",
            "torch._inductor.config.triton.cudagraphs",
            "torch._inductor.config.cpp.weight_prepack",
            "torch._inductor.config.cpp.enable_tiling_heuristics",
            "torch._inductor.config.cpp.enable_loop_tail_vec",
            "torch._inductor.config.cpp.enable_unsafe_math_opt_flag",
            "torch._inductor.config.cpp_wrapper",
        ),
        False,
    ),
    "torch._inductor.config.max_fusion_size": 1,
    "torch._inductor.config.cpp.simdlen": 1,
    "torch._inductor.config.cpp.enable_floating_point_contract_flag": "off",
    "torch._inductor.config.emulate_precision_casts": True,
    "torch._inductor.config.fallback_random": True,
}
"""By the name of the setting, its value without that part; the likely ones first."""


def put_in_force(settings: Mapping[str, Any]) -> None:
    """Let torch have these values, as far as it has such settings."""
    for name, value in settings.items():
        path, _, last = name.rpartition(".")
        holder = attempt(lambda path=path: pkgutil.resolve_name(path))
        if not isinstance(holder, Raised) and hasattr(holder, last):
            setattr(holder, last, value)
