"""What a node calls."""

from __future__ import annotations

from msgspec.structs import replace

from fxls.ide.declaration import declaration
from fxls.ide.listing.document import Document
from fxls.listing import Scope, Target
from tests.ide.nets import BLOCK_PATH, NET, at, source_text
from tests.support.cards import jump_text


def test_a_declaration_is_what_is_called() -> None:
    nodes = list(NET.listing.nodes)
    nodes[1] = replace(nodes[1], opcode="call_module", target="block", scope=2)
    nodes[2] = replace(nodes[2], call=0)
    document = Document(
        NET.path,
        replace(
            NET.listing,
            nodes=tuple(nodes),
            scopes=(*NET.listing.scopes[:2], Scope("block", "block.Block")),
            targets=(Target("double", "(x)", BLOCK_PATH, 5),),
        ),
    )

    def there(marked: str) -> list[str]:
        return jump_text(declaration(document, at(marked), source_text))

    assert there("    co$0nv = self.conv(x);  x = None") == ["block.py:1:8-1:15"]
    assert there("    re$0lu = torch.relu(conv);  conv = None") == ["block.py:5:0-5:0"]
    assert there("    relu = torch.relu(co$0nv);  conv = None") == [
        "Net_0123456789ab.py:3:4-3:8"
    ]
    assert there("    vi$0ew = relu.view(-1);  relu = None") == ["net.py:8:31-10:9"]
