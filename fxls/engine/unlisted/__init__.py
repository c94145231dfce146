"""Names that programs import though torch.fx lists them nowhere, so that these run.

`fxls.engine.late_names` says which module has which of them.
"""
