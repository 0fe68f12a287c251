"""The simplifier: named rewrites that make a graph smaller before anything is decided about it."""

from __future__ import annotations

from schedulog.facts.simplify.engine import Rewrite
from schedulog.facts.simplify.rule import Preserves, Rule
from schedulog.facts.simplify.run import READ_STORED, RULES, Simplified, simplify
from schedulog.facts.simplify.text import rewrite_rows

__all__ = ["READ_STORED", "RULES", "Preserves", "Rewrite", "Rule", "Simplified", "rewrite_rows", "simplify"]
