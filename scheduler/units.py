"""Quantities as people read them."""

from __future__ import annotations


def size_text(nbytes: int) -> str:
    """Bytes in the unit people read: 512 B, 3.1 kB, 4.7 MB."""
    value, units = float(nbytes), ["B", "kB", "MB", "GB", "TB"]
    while abs(value) >= 1000 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{nbytes} B" if units[0] == "B" else f"{value:.1f} {units[0]}"
