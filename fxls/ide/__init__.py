"""Questions about listings and sources: values in, values out, raises for nobody.

May import `text`, `listing`, `entry` and `store`; never the protocol, never torch.
"""
