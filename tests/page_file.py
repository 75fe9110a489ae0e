"""The numbers of a page as its file holds them, read again by the rules that the page's script follows."""

from __future__ import annotations

import html
import json
import re
import zlib
from base64 import b64decode
from typing import Any

import numpy as np
from numpy.typing import NDArray


def shown_page(cell: str) -> str:
    """The page in the frame of a notebook's cell, with the numbers that stand beside the frame."""
    source = re.search(r'srcdoc="(.*?)" style', cell, re.S)
    assert source is not None
    return html.unescape(source[1]) + cell.partition("</iframe>")[2]


class PageFile:
    """The text of a page: `data`, and the stages by site and name."""

    def __init__(self, text: str) -> None:
        found = re.search(r'id="data">(.*?)</script>', text, re.S)
        assert found is not None
        self.data: dict[str, Any] = json.loads(found[1])
        blocks = re.findall(
            r'<script type="application/octet-stream" data-block="(\d+)">(.*?)</script>', text
        )
        self.blocks = {int(number): zlib.decompress(b64decode(block)) for number, block in blocks}
        self.first = [
            int(number) for number, _block in blocks if f'data-block="{number}"' in text.split("<script>")[0]
        ]

    def names(self, site: int = 0) -> list[str]:
        """The stages of a site."""
        return [stage["id"] for stage in self.data["sites"][site]["stages"]]

    def stage(self, name: str, site: int = 0) -> NDArray[Any]:
        """A stage in its public shape."""
        row = self._row(name, site)
        if "repeats" not in row:
            return np.stack([self._block(one, row["type"]) for one in row["blocks"]]).reshape(row["shape"])
        before = self.stage(row["repeats"], site)
        found = (before * before.dtype.type(row["factor"])).reshape(row["shape"])
        if row["blocked"] is not None:
            hidden = self.hidden(site)
            found[..., hidden] = float(row["blocked"].replace("Infinity", "inf"))
        return found

    def hidden(self, site: int = 0) -> NDArray[np.bool_]:
        """The blocked cells of a site."""
        one = self.data["sites"][site]
        shape = len(one["queries"]), len(one["keys"])
        bits = np.unpackbits(np.frombuffer(self.blocks[one["hidden"]], np.uint8), count=shape[0] * shape[1])
        return bits.reshape(shape).astype(bool)

    def _row(self, name: str, site: int) -> dict[str, Any]:
        (row,) = [stage for stage in self.data["sites"][site]["stages"] if stage["id"] == name]
        return row

    def _block(self, number: int, kind: str) -> NDArray[Any]:
        width = int(kind[1])
        planes = np.frombuffer(self.blocks[number], np.uint8).reshape(width, -1)
        return np.ascontiguousarray(planes.T).view(f"<{kind}").ravel()
