"""The debug adapter that editors start: debugpy's, which is told what fxls adds to it.

``python -m fxls.adapter`` stands between an editor and debugpy's adapter, in both
directions, and passes on as it came what is not its own: `configuration` translates
launch and attach, `exception_filters` offers the rules of `break_on` as filters.
"""
