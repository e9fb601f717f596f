"""Running the Python of a reference page: all its blocks, in order, as one module of a site."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from agentweb.catalog.registry import registry
from tests.docs.pages import DOCS, blocks


@contextmanager
def running(page: str, **given: Any) -> Iterator[ModuleType]:
    """The page's module, and a catalog of nothing but what it declares, without faults.

    ``given`` are names that the page takes as known. A block that is a file of its own is left out.
    """
    module = ModuleType("docs_" + page.rpartition("/")[2].removesuffix(".md").replace("-", "_"))
    module.__dict__.update(given)
    sys.modules[module.__name__] = module
    try:
        with registry.only():
            for block in blocks(page, "python"):
                if block.path is None:
                    exec(compile(block.text, str(DOCS / page), "exec"), module.__dict__)  # noqa: S102
            assert [(fault.id, fault.message) for fault in registry.faults()] == []
            yield module
    finally:
        del sys.modules[module.__name__]
