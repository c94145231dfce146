"""The border to torch.fx, which no other room names (but for `tracing.torch_wraps`)."""
