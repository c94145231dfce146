"""Running a program on proxies and recording what it does.

Never imports passes, graph modules or torch.fx (but for `torch_wraps`).
"""
