"""A small model of each family of timm, which are too many to try them all."""

from __future__ import annotations

__all__ = ["timm_names", "timm_tests"]

_TIMM = """
    caformer_s18 cait_xxs24_224 coat_tiny convit_tiny convmixer_768_32 cpubone_nano
    crossvit_tiny_240 cs3darknet_focus_s csatv2 cspnext_tiny davit_tiny
    deit_tiny_patch16_224 densenet121 dla34 dpn68 edgenext_xx_small
    efficientformer_l1 efficientformerv2_s0 efficientvim_m1 efficientvit_b0
    efficientvit_m0 eva02_tiny_patch14_224 fasternet_t0 fastvit_t8 focalnet_tiny_srf
    gcvit_xtiny ghostnet_050 gmlp_s16_224 halonet_h1 hardcorenas_b hgnetv2_b0
    hrnet_w18_small iformer_t inception_next_atto inception_v3
    inception_v4 lcnet_035 lcnetv2_small legacy_seresnet18 levit_128 lowformer_b0
    mobilevit_xxs mvitv2_tiny nest_tiny nextvit_small pit_xs_224 pvt_v2_b0
    rdnet_tiny regnetx_002 repghostnet_050 repvit_m0_9 res2next50 resnest14d
    resnetv2_18 rexnet_100 sam2_hiera_tiny selecsls42 sequencer2d_s shvit_s1
    skresnet18 starnet_s050 swiftformer_xs swin_s3_tiny_224 swinv2_cr_tiny_384
    swinv2_tiny_window8_256 test_byobnet test_convnext test_efficientnet
    test_mambaout test_maxvit test_nfnet test_resnet test_vit test_vit_relpos
    tiny_vit_5m_224 tnt_s_patch16_224 tresnet_m twins_svt_small visformer_tiny
    vit_tiny_r_s16_p8_224 vitamin_small_224
"""


def timm_tests() -> tuple[str, ...]:
    """The tests that trace these models and compare what they compute."""
    test = "tests/test_models.py::test_model_forward_fx"
    return tuple(f"{test}[1-{name}]" for name in timm_names())


def timm_names() -> tuple[str, ...]:
    """The names of these models."""
    return tuple(_TIMM.split())
