"""A client hears of runs that begin and go on, whatever their records hold."""

from __future__ import annotations

import os
from pathlib import Path

from fxls.record import Made, Pass, RevisionName
from tests.store.test_runs import FIRST, lines, run, write
from tests.support.listings import NET
from tests.support.lsp_client import started


def test_runs_that_begin_or_say_more_are_news_and_hostile_ones_do_no_harm(
    project: Path, listing: Path
) -> None:
    root = project / ".fxls"
    old, new, odd, later, link = (
        f"20260102T03040{number}Z-host-{number or os.getpid()}-0123abcd"
        for number in range(5)
    )
    write(root, lines(run(old), FIRST), old)
    capabilities = {"experimental": {"fxlsRuns": True}}
    with started() as client:
        client.initialize(project, capabilities=capabilities)

        def told() -> list[str]:
            return client.notification("fxls/runsChanged")["runs"]

        path = write(root, lines(run(new), FIRST), new)
        assert told() == [new]
        with path.open("ab") as file:
            file.write(b'{"half')
        assert told() == [new]
        # Neither is taken for what it says that it is.
        write(root, b"\0" * 20_000 + b"\n[[[[", odd)
        assert told() == [odd]
        passed = Pass("p", changed=True, after=RevisionName(NET, "../../secret.py"))
        of_later = lines(run(later), passed).replace(b'"schema":1', b'"schema":99')
        write(root, of_later, later)
        assert told() == [later]
        (root / "runs" / f"{link}.jsonl").symlink_to(project / "net.py")
        assert told() == [link]

        # A record of this very process names the listing, and passes that are nowhere.
        name = RevisionName(NET, listing.name)
        odd_pass = Pass("\x1b[2J", changed=True, before=passed.after, after=name)
        mine = old.replace(f"-{os.getpid()}-", f"-{os.getpid()}-f")[:-1]
        write(root, lines(run(mine), odd_pass, Made(name)), mine)
        assert told() == [mine]
        hover = client.ask("hover", listing, 3, 4)
        assert hover["contents"]["value"].startswith("relu: call_function")
        arguments = [listing.as_uri(), "gone", "relu"]
        asked = {"command": "fxls.firstPass", "arguments": arguments}
        answer = client.request("workspace/executeCommand", asked)
        assert answer == {
            "unread": 1,
            "problem": "No graph of this step has relu. 1 pass changed a graph that "
            "is not in the store any more.",
        }
        message = client.notification("window/showMessage")["message"]
        assert message == f"fxls: {answer['problem']}"
        client.end()
