"""Runs the blocks of code in a folder of documents under torch.fx and under fxls.engine."""
