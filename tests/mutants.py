"""Which changes of a rule does no test notice? python tests/mutants.py [PACK_OR_FILE...] [--all]

Drops every clause and every condition in turn and runs the rules' tests. Prints the survivors; with --all also which
test noticed each of the others. Exit status 1 when there are survivors.
"""

from __future__ import annotations

import argparse
import sys

from schedulog.rules import pack_names
from schedulog.scheduler.mutants import Verdict, judge
from schedulog.scheduler.rule_tests import suites


def shown(verdict: Verdict) -> str:
    mutant = verdict.mutant
    what = f"without `{mutant.condition}`" if mutant.condition else "dropped"
    killer = verdict.killer
    end = f'noticed by {killer.place} "{killer.title}"' if killer else "SURVIVED"
    return f"{mutant.rule.place}: {mutant.name} {what}: {end}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packs", nargs="*", default=["core", "classic"])
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    survivors = total = 0
    for suite in suites(options.packs):
        for verdict in judge(suite, suite.name if suite.name in pack_names() else ""):
            total += 1
            survivors += verdict.killer is None
            if options.all or verdict.killer is None:
                print(shown(verdict), flush=True)
            elif sys.stderr.isatty():
                print(f"\r{total} mutants, {survivors} survived", end="", file=sys.stderr, flush=True)
    print(f"{total} mutants, {survivors} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
