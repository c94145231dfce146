"""The folder where listings are materialized: identity, path, URI; write, read, watch.

Imported by the runtime in the user's process and by the server in its own. It must
never import torch, the engine or the protocol.
"""

from fxls.store.errors import Damaged, NotAListing, StoreError, Unreadable, Unwritable
from fxls.store.log import Revision
from fxls.store.names import (
    class_name_of,
    digest_of,
    identity_uri,
    is_url,
    locate,
    real_path,
)
from fxls.store.pruning import Pruned, prune, prune_seldom
from fxls.store.store import Bookmark, Changes, Store

__all__ = [
    "Bookmark",
    "Changes",
    "Damaged",
    "NotAListing",
    "Pruned",
    "Revision",
    "Store",
    "StoreError",
    "Unreadable",
    "Unwritable",
    "class_name_of",
    "digest_of",
    "identity_uri",
    "is_url",
    "locate",
    "prune",
    "prune_seldom",
    "real_path",
]
