"""Act 3: the generated code under a real debugger."""

from __future__ import annotations

from pathlib import Path

from fxls.store import Store
from tests.support.dap import Frame, Session
from tools.demo import screen
from tools.demo.expect import expect, expect_some
from tools.demo.places import EXAMPLES, PROGRAM, STORE, short

__all__ = ["show"]

NODE = "softmax"
"""The node that gets a breakpoint: the attention's weights in the first block."""
CALL = "blocks_0_attention_out"
"""A node that calls a submodule."""

# Stepping into a submodule lands in its forward; torch's machinery for calling
# modules is stepped over. An editor passes these on from its launch configuration.
RULES = [
    {"path": "**/torch/nn/modules/module.py", "include": False},
    {"path": "**/torch/nn/**", "include": True},
]


def show(listing: Path) -> None:
    """Runs the example program with a breakpoint in a listing made before the run."""
    lines = {
        name: expect_some(_line_of(listing, name), f"the listing has a node {name}")
        for name in (NODE, CALL)
    }
    call = _line_holding(PROGRAM, "= gm(")
    with Session.spawn(cwd=EXAMPLES) as session:
        answers = session.launch(
            PROGRAM,
            breakpoints={PROGRAM: [call], listing: [lines[NODE]]},
            env={"FXLS_STORE": str(STORE)},
            settings={"rules": RULES},
        )
        (bound,) = answers[listing]
        expect(bound.verified, f"the debugger takes the breakpoint: {bound.message}")
        expect(bound.line == lines[NODE], "the breakpoint stays on its line")
        screen.say(
            f"breakpoint on node `{NODE}`, {short(listing)}:{bound.line}, "
            "before the program runs: verified"
        )
        print()
        _step_into_the_listing(session, listing, call)
        _stop_at_the_node(session, listing, lines[NODE])
        _step_into_a_submodule(session, listing, lines[CALL])
        session.set_breakpoints(listing, [])
        session.resume()
        expect(session.wait_ended() == 0, "the program ends well")
        expect("logits (1, 16, 256)" in session.output("stdout"), "it printed")


def _step_into_the_listing(session: Session, listing: Path, call: int) -> None:
    stop = session.wait_stopped()
    expect(session.top().line == call, f"stopped at gm(x): {stop}")
    screen.say("stopped where the program calls the traced model; one step in:")
    session.step_in()
    top = session.top()
    expect(_is(top, listing), f"one step in is in the listing, not {session.where()}")
    screen.under([_at(top)])


def _stop_at_the_node(session: Session, listing: Path, line: int) -> None:
    session.resume()
    session.wait_stopped()
    top = session.top()
    expect(_is(top, listing) and top.line == line, f"stopped at {session.where()}")
    screen.say(f"continue: stopped at node `{NODE}`; next:")
    session.next()
    after = session.top()
    expect(after.line == line + 1, "next goes to the next node")
    screen.under([_at(top, arrow=False), _at(after)])

    shape = session.evaluate(f"tuple({NODE}.shape)")
    expect(shape == "(1, 4, 16, 16)", f"the shape is that of the weights, not {shape}")
    row_sums = session.evaluate(f"bool(({NODE}.sum(-1) - 1).abs().max() < 1e-5)")
    expect(row_sums == "True", "the weights of a row add up to one")
    screen.say("the value, in the frame that is stopped:")
    screen.under(
        [
            f"{NODE}.shape                                  {shape}",
            f"({NODE}.sum(-1) - 1).abs().max() < 1e-5       {row_sums}",
        ]
    )
    stack = session.stack()
    expect(
        [frame.name for frame in stack] == ["forward", "<module>"]
        and _is(stack[1], PROGRAM),
        f"the listing was called from the program: {stack}",
    )
    screen.say("the stack:")
    screen.under(_frame(frame) for frame in stack)


def _step_into_a_submodule(session: Session, listing: Path, line: int) -> None:
    session.set_breakpoints(listing, [line])
    session.resume()
    session.wait_stopped()
    top = session.top()
    expect(_is(top, listing) and top.line == line, f"stopped at {session.where()}")
    screen.say(f"continue to `{CALL}`, which calls a submodule; step in:")
    session.step_in()
    inside = session.top()
    expect(
        inside.source.path.endswith("nn/modules/linear.py")
        and inside.name.endswith("forward"),
        f"stepped into the submodule's forward, not {session.where()}",
    )
    screen.under(
        [_at(top, arrow=False), _at(inside), "", *map(_frame, session.stack())]
    )


def _line_of(path: Path, node: str) -> int | None:
    listing = Store(path.parent).read(path)
    for index, facts in enumerate(listing.nodes):
        if facts.name == node and (mark := listing.binding(index)):
            return mark.line + 1
    return None


def _line_holding(path: Path, text: str) -> int:
    (line,) = (n for n, row in enumerate(_rows(path), 1) if text in row)
    return line


def _rows(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def _is(frame: Frame, path: Path) -> bool:
    return Path(frame.source.path) == path and frame.source.source_reference == 0


def _at(frame: Frame, *, arrow: bool = True) -> str:
    row = _rows(Path(frame.source.path))[frame.line - 1].strip()
    return screen.line(frame.line, row, arrow=arrow)


def _frame(frame: Frame) -> str:
    return f"{frame.name:<16} {short(frame.source.path)}:{frame.line}"
