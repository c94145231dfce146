"""The worker: runs the user's code, traces it and materializes the listing.

`python -m fxls.worker` is started by `fxls.host` with the user's interpreter. One
process, the supervisor, imports torch once and runs nothing of the user's; each trace
is served by a child of it, which ends with the trace.

- The supervisor runs no operation of torch, so it has one thread and may fork.
- Whatever user code does to its process (exit, crash, hang, print, fork, eat memory),
  the supervisor lives on and answers.

May import `runtime`, `store`, `engine` and `wire`.
"""
