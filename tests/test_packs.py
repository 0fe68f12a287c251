"""Rule packs: what stands in pack.toml, what packs may do to one another, and how they are found."""

from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from schedulog import Tensor, schedule
from schedulog.__main__ import main
from schedulog.cli.new_pack import new_pack
from schedulog.errors import DatabaseError, Place, RuleError, UsageError
from schedulog.lsp.document import Document
from schedulog.rules import pack_names
from schedulog.scheduler.language.load import load_program
from schedulog.scheduler.language.pack_finder import built_in_packs, known_packs
from schedulog.scheduler.language.requirement import read_requirement
from schedulog.scheduler.language.sources import with_required
from schedulog.scheduler.rungs import keep, rungs

RULES = """%! id: {name}/sums    %! kind: realize    %! title: Sums are stored
realize(N) :- is_reduce(N), computed(N).
%? test "a sum"   graph: x=load f32[8,8]; s=sum x axis=1; n=neg s; out n
%?   holds realize(s).
"""
Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Writes a pack into the current folder: its manifest's lines after name and version, and further files."""
    monkeypatch.chdir(tmp_path)

    def write(more: str = "", name: str = "mine", files: dict[str, str] | None = None) -> Path:
        folder = Path(name.replace("-", "_"))
        texts = {
            "pack.toml": f'name = "{name}"\nversion = "1.2"\n{more}',
            "rules/sums.dl": RULES.format(name=name),
        }
        for file, text in (texts | (files or {})).items():
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(text, encoding="utf-8")
        return folder

    return write


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out + captured.err


def sums() -> Tensor:
    return Tensor(np.arange(64.0).reshape(8, 8)).sum(axis=1) * 2


def errors_of(*packs: Any, **more: Any) -> list[str]:
    """What is wrong: code, place and message, each in a line."""
    with pytest.raises(RuleError) as caught:
        load_program(list(packs), **more)
    return [f"{e.code} {e.where}: {e.message}" for e in (caught.value, *caught.value.others)]


def test_a_pack_is_loaded_whole(make: Make) -> None:
    folder = make(files={"top.dl": '.decl mark(n: node)\n% Marked.\nmark(N) :- op(N, "ADD").\n'})
    program = load_program([folder, f"{folder}/", f"./{folder}/rules/sums.dl"])
    assert {"mine/sums", "mine/mark"} <= program.infos.keys()
    assert program.versions == {"core": "0.1.0", "mine": "1.2"}
    assert [rule.place.file for rule in program.rules if rule.id == "mine/sums"] == ["mine/rules/sums.dl"]


MANIFESTS = [
    ("licence = 'MIT'\n", "SL123 mine/pack.toml:3:1: pack.toml: unknown field `licence`"),
    ("version = 2\n", "SL123 mine/pack.toml:3:12: pack.toml: it is not TOML"),
    ("license = 3\n", "SL123 mine/pack.toml:3:1: pack.toml: `license` is no text"),
    ("license = ' '\n", "SL123 mine/pack.toml:3:1: pack.toml: ` ` is no license"),
    ("requires = 'core'\n", "SL123 mine/pack.toml:3:1: pack.toml: `requires` is no list of texts"),
    ("requires = ['core=>1']\n", "SL123 mine/pack.toml:3:1: pack.toml: `core=>1` cannot stand in `requires`"),
    ("disable = ['sums']\n", "SL123 mine/pack.toml:3:1: pack.toml: `sums` cannot stand in `disable`"),
    ("functions = '../f.py'\n", "SL123 mine/pack.toml:3:1: pack.toml: `../f.py` is no functions"),
    ("[tests]\nall = true\n", "SL123 mine/pack.toml:3:2: pack.toml: unknown field `tests`"),
    ("x = [1,\n", "SL123 mine/pack.toml: pack.toml: it is not TOML"),
    ("x = " + "[" * 5000, "SL123 mine/pack.toml: pack.toml: it is not TOML"),
    ("x = " + "9" * 5000, "SL123 mine/pack.toml: pack.toml: it is not TOML"),
    ("requires = ['other']\n", "SL108 mine/pack.toml:3:1: the pack `other` is not loaded"),
    ("requires = ['core>=0.2']\n", "SL124 mine/pack.toml:3:1: the pack `core` does not fit: core>=0.2 is asked for"),
    ("disable = ['clasic/x']\n", "SL119 mine/pack.toml:3:1: no rule has the id `clasic/x`"),
    ("disable = ['core/stored']\n", "SL127 mine/pack.toml:3:1: the pack `mine` cannot leave out `core/stored`"),
    ("disable = ['mine/sums']\n", "SL127 mine/pack.toml:3:1: the pack `mine` cannot leave out `mine/sums`"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "expected"), MANIFESTS, ids=[more.strip()[:40] for more, _ in MANIFESTS])
def test_a_manifest_with_a_mistake(make: Make, more: str, expected: str) -> None:
    assert errors_of(make(more)) == [expected]


def test_all_mistakes_of_a_manifest_are_told(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make()
    (folder / "pack.toml").write_text('name = "My Pack"\nfunktions = 1\n', encoding="utf-8")
    assert run(capsys, "check", "./mine") == (
        1,
        """error[SL123] pack.toml: `version` is missing
  at mine/pack.toml
  help: numbers with dots: version = "0.1.0"

error[SL123] pack.toml: `My Pack` is no name
  at mine/pack.toml:1:1
  name = "My Pack"
  ^^^^
  help: small letters, digits and dashes: name = "my-pack"

error[SL123] pack.toml: unknown field `funktions`
  at mine/pack.toml:2:1
  funktions = 1
  ^^^^^^^^^
  help: did you mean `functions`?

3 errors (schedulog explain CODE says more)
""",
    )
    (folder / "pack.toml").write_bytes(b'name = "\xff"')
    assert errors_of(folder) == ["SL123 mine/pack.toml: pack.toml: it is not UTF-8 text"]


def test_files_that_would_be_passed_over_are_told(make: Make) -> None:
    folder = make(files={"more/x.dl": "", "tests/y.dl": "", "rules/deep/z.dl": "", "graphs/g.json": "{}"})
    told = "a rule file where none is read"
    assert errors_of(folder) == [
        f"SL123 mine/{f}: {told}" for f in ("more/x.dl", "rules/deep/z.dl", "tests/y.dl")
    ]
    for path in ("more", "tests", "rules"):
        shutil.rmtree(folder / path)
    assert errors_of(folder) == ["SL107 mine: a pack without rule files"]
    make()
    assert errors_of(Path("../").resolve() / folder.resolve().parent) == [
        f"SL123 {Path.cwd().as_posix()}: a folder with a pack in it"
    ]


def test_what_is_hidden_is_left_out_and_a_link_that_leads_nowhere_is_told(
    make: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    junk = {"rules/._sums.dl": "junk(", ".venv/p/pack.toml": "", ".venv/p/x.dl": "junk("}
    folder = make(files=junk)
    Path("loose").mkdir()
    for place in (folder / "rules", Path("loose")):
        (place / ".#x.dl").symlink_to("user@host.1")
        os.mkfifo(place / "pipe.dl")
    (Path("loose") / "mine.dl").write_text(RULES.format(name="loose"), encoding="utf-8")
    assert {"mine/sums", "loose/sums"} <= load_program([folder, Path("loose")]).infos.keys()
    assert run(capsys, "fmt", "--check", "mine", "loose") == (
        0,
        "0 files would change, 2 as they should be\n",
    )
    for place in (folder / "rules", Path("loose")):
        (place / "gone.dl").symlink_to("nowhere.dl")
        assert errors_of(place.parent if place.name == "rules" else place) == [
            f"SL107 {place.as_posix()}/gone.dl: a rule file cannot be read"
        ]


def test_graphs_and_tests_that_cannot_be_read(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    test = 'test "it"   graph: file {}\n  kernels == 1.\n'
    folder = make(files={"tests/x_test.dl": test.format("../g.txt"), "graphs/g.json": '{"a":'})
    status, text = run(capsys, "check", "./mine")
    assert status == 1 and text.startswith(
        "error[SL160] ../g.txt is no graph file\n  at mine/tests/x_test.dl:1:25\n"
    )
    (folder / "tests/x_test.dl").write_text(test.format("g.json"), encoding="utf-8")
    status, text = run(capsys, "check", "./mine")
    assert status == 1 and "error[SL230] not JSON: Expecting value\n  at mine/graphs/g.json:1:6\n" in text
    (folder / "graphs/g.json").write_bytes(b'{"\xff')
    status, text = run(capsys, "check", "./mine")
    assert status == 1 and text.startswith("error[SL160] g.json cannot be read: byte 2 is not UTF-8\n")
    Path("loose.dl").write_text(RULES.format(name="loose"), encoding="utf-8")
    Path("loose_test.dl").write_bytes(b"\xff")
    status, text = run(capsys, "check", "./loose.dl")
    assert status == 1 and text.startswith("error[SL107] a rule file is not UTF-8 text\n  at loose_test.dl\n")


def test_names_are_never_shadowed(make: Make) -> None:
    one, two = make(), make(name="classic", files={"rules/sums.dl": RULES.format(name="classic")})
    again = shutil.copytree(one, Path("again"))
    more = RULES.format(name="mine").replace("mine/sums", "mine/more")
    (again / "rules" / "sums.dl").write_text(more, encoding="utf-8")
    assert errors_of(one, again) == ["SL125 mine/pack.toml:1:1: two packs are called `mine`"]
    assert errors_of("classic", two) == ["SL125 classic/pack.toml:1:1: two packs are called `classic`"]
    assert "classic/sums" in load_program([two]).infos
    (again / "pack.toml").write_text('name = "again"\nversion = "1"\n', encoding="utf-8")
    (again / "rules" / "sums.dl").write_text(RULES.format(name="mine"), encoding="utf-8")
    assert errors_of(one, again) == [
        "SL118 again/rules/sums.dl:1:4: `mine/sums` is an id of another pack",
        "SL109 mine/rules/sums.dl:1:4: two rules have the id `mine/sums`",
    ]


def test_a_rule_file_in_capitals_is_not_passed_over(make: Make) -> None:
    folder = make()
    (folder / "rules" / "more.DL").write_text("realize(N) :- is_reduce(N).\n", encoding="utf-8")
    told = "SL107 {}: a rule file whose name ends in .DL"
    assert errors_of(folder) == [told.format("mine/rules/more.DL")]
    loose = Path("loose")
    loose.mkdir()
    (loose / "one.dl").write_text("realize(N) :- is_reduce(N).\n", encoding="utf-8")
    (loose / "two.Dl").write_text("realize(N) :- is_reduce(N).\n", encoding="utf-8")
    assert errors_of(loose) == ["SL107 loose/two.Dl: a rule file whose name ends in .Dl"]


@pytest.mark.parametrize(
    "text", ["%! pack: core\nstored(N) :- op(N, _).\n", "%! pack: mine\nrealize(N) :- op(N, _).\n"]
)
def test_no_file_makes_itself_part_of_a_pack(make: Make, text: str) -> None:
    folder = make()
    assert [error.split(":")[0] for error in errors_of(folder, text)][:1] == ["SL125 <text 1>"]
    path = Path("core.dl")
    path.write_text("stored(N) :- op(N, _).\n", encoding="utf-8")
    assert [error.split(":")[0] for error in errors_of(path)][:1] == ["SL125 core.dl"]


def test_what_is_asked_for(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make("requires = ['classic >= 0.1, < 1']\n")
    assert errors_of(folder) == ["SL108 mine/pack.toml:3:1: the pack `classic` is not loaded"]
    assert load_program(["classic", folder]).versions["classic"] == "0.1.0"
    assert with_required([folder]) == (folder, "classic")
    assert run(capsys, "check", "./mine") == (0, "no findings\n")
    one = RULES.format(name="one")
    assert errors_of(folder, "%! requires: mine>=2\n" + one, "classic") == [
        "SL124 <text 1>:1:4: the pack `mine` does not fit: mine>=2 is asked for"
    ]
    assert errors_of("%! requires: >=2\n" + one) == ["SL118 <text 1>:1:4: `>=2` asks for no pack"]


@pytest.mark.parametrize(
    ("text", "version", "fits"),
    [
        ("a", "1", True), ("a", "", True), ("a>=1", "", False), ("a>=1.0", "1", True), ("a==1.2", "1.2.0", True),
        ("a<1.10", "1.9", True), ("a>1,<=2", "2", True), ("a != 2", "2", False), ("a>=1,<2", "2.0.1", False),
    ],
)  # fmt: skip
def test_versions_are_compared_as_numbers(text: str, version: str, fits: bool) -> None:
    found = read_requirement(text)
    assert found is not None and found.accepts(version) is fits


@pytest.mark.parametrize("text", ["", "A", "a>=", "a>=x", "a>=1.", "a=1", "a 1", "a>=1;b"])
def test_what_is_no_requirement(text: str) -> None:
    assert read_requirement(text) is None


LEFT_OUT = "disable = ['classic/stored-for-itself']\nrequires = ['classic']\n"


def test_a_pack_leaves_out_rules_of_others(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make(LEFT_OUT)
    program = load_program(["classic", folder])
    assert "classic/stored-for-itself" not in program.infos and "classic/forced" in program.infos
    run_ = schedule(sums(), rules=["classic", folder], capture="calls.db")
    run_.save("run.db")
    assert run_.sql("select count(*) from rule where rule_id = 'classic/stored-for-itself'") == [(0,)]
    assert set(run_.sql("select distinct pack, pack_version from rule")) == {
        ("core", "0.1.0"), ("classic", "0.1.0"), ("mine", "1.2"),
    }  # fmt: skip
    status, out = run(capsys, "why", "run.db", "realize(n2)")
    assert status == 0 and "mine/sums#1  mine/rules/sums.dl:2" in out
    # The file is not needed: its text and what it leaves out are captured.
    shutil.rmtree(folder)
    assert run(capsys, "replay", "calls.db") == (0, "1 call: 1 the same\n")


def test_built_in_packs_are_packs() -> None:
    assert tuple(sorted(built_in_packs())) == pack_names()
    for name, pack in built_in_packs().items():
        assert (pack.name, pack.version, pack.license) == (name, "0.1.0", "MIT") and pack.description


# Installed packs


def install(site: Path, pack: Path, distribution: str = "some-pack", **offers: str) -> None:
    """Put a pack where packages are installed, as pip does."""
    package = site / pack.name
    if not package.exists():
        shutil.copytree(pack, package)
        (package / "__init__.py").write_text(
            "from pathlib import Path\nPath('imported').touch()\n", encoding="utf-8"
        )
    info = site / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n", encoding="utf-8"
    )
    lines = [f"{name.replace('_', '-')} = {value}" for name, value in offers.items()]
    (info / "entry_points.txt").write_text(
        "\n".join(["[schedulog.rule_packs]", *lines, ""]), encoding="utf-8"
    )


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages on the path."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_an_installed_pack_is_loaded_when_it_is_named(
    make: Make, site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = make(
        name="pack-one",
        files={
            "tests/sums_test.dl": 'test "none" graph: x=load f32[8]; n=neg x; out n\n count realize == 0.\n'
        },
    )
    install(site, pack, pack_one="pack_one")
    shutil.rmtree(pack)
    monkeypatch.delitem(sys.modules, "pack_one", raising=False)
    assert "pack-one" in known_packs()
    load_program(["classic"])
    assert not Path("imported").exists()
    run_ = schedule(sums(), rules=["classic", "pack-one"], capture="calls.db")
    assert Path("imported").exists() and run_.program.versions["pack-one"] == "1.2"
    assert run(capsys, "test", "pack-one", "--engine", "sqlite")[1].startswith("2 tests, ")
    assert run(capsys, "check", "pack-one") == (0, "no findings\n")
    assert "pack-one/rules/sums.dl:2" in run(capsys, "rules", "pack-one", "--pack", "pack-one")[1]
    assert run(capsys, "doc", "pack-one", "--rules", "pack-one")[1].startswith(
        "## pack-one\n\n### pack-one/rules/sums.dl\n"
    )
    assert run(capsys, "replay", "calls.db") == (0, "1 call: 1 the same\n")


def test_a_pack_in_an_archive(
    make: Make, site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = (
        '{"format": "schedulog-graph", "version": 1, "name": "g", "inputs": {}, "nodes": [], "outputs": []}'
    )
    pack = make("functions = 'functions.py'\n", name="packed", files={
        "functions.py": "def two(n):\n    return n * 2\n",
        "rules/two.dl": ".function two(n: int) -> int\n% Twice.\n.decl twice(n: node, t: int)\n% t is twice the size.\n"
                        "twice(N, T) :- size(N, S), T = @two(S).\n",
        "tests/two_test.dl": 'test "t" graph: x=load f32[8]; e=exp x; out e\n  holds twice(e, 16).\n', "graphs/g.json": graph,
    })  # fmt: skip
    install(site, pack, packed="packed")
    archive = site.parent / "packed.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(site.rglob("*")):
            file.write(path, path.relative_to(site))
    shutil.rmtree(site)
    monkeypatch.syspath_prepend(archive)
    assert run(capsys, "test", "packed", "--engine", "sqlite") == (
        0,
        "2 tests, 6 checks, 0 failures (sqlite)\n",
    )


def test_names_of_installed_packs_that_clash(make: Make, site: Path) -> None:
    pack = make(name="taken")
    install(site, pack, "first", taken="taken", core="taken")
    install(site, pack, "second", taken="taken.")
    assert errors_of("taken") == [
        f"SL125 packs: several packs are called `{name}`" for name in ("core", "taken")
    ]
    with pytest.raises(RuleError) as caught:
        load_program(["classic"])
    assert caught.value.reason == "it comes with schedulog itself and with first; nothing is shadowed"


def test_what_an_entry_point_may_be_wrong_about(make: Make, site: Path) -> None:
    pack = make(name="right")
    install(site, pack, wrong="right", absent="no_such_package", empty="json")
    assert errors_of("wrong") == [
        "SL123 wrong/pack.toml:1:1: pack.toml: the pack is called `right`, its entry point `wrong`"
    ]
    assert errors_of("absent") == [
        "SL123 schedulog.rule_packs: absent: the pack `absent` cannot be loaded: no_such_package of some-pack"
    ]
    assert errors_of("empty") == [
        "SL123 schedulog.rule_packs: empty: the pack `empty` has no pack.toml: json of some-pack"
    ]
    assert errors_of("rigth")[0] == "SL108 packs: unknown rule pack `rigth`"


def test_a_folder_that_lies_there_is_named_as_it_has_to_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "classics").mkdir()
    with pytest.raises(RuleError, match="unknown rule pack `classics`") as caught:
        load_program(["classics"])
    assert caught.value.help == "did you mean `classic`?"
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuleError, match="unknown rule pack `classics`") as caught:
        load_program(["classics"])
    assert caught.value.help == "write ./classics for what lies there"


def test_the_rungs_of_a_pack_are_those_of_its_functions_too(make: Make) -> None:
    functions = "def wide(n: int) -> int:\n    return {}\n"
    rules = (
        RULES.format(name="mine") + ".function wide(n: int) -> int\nrealize(N) :- size(N, S), @wide(S) = 1.\n"
    )
    folder = make(
        'functions = "functions.py"', files={"rules/sums.dl": rules, "functions.py": functions.format(1)}
    )
    program = load_program([folder])
    assert keep(program, {"mine/sums": 2}, {}) == [folder.absolute() / "verified.json"]
    assert rungs(load_program([folder]))["mine/sums"] == 2
    (folder / "functions.py").write_text(functions.format(0), encoding="utf-8")
    assert rungs(load_program([folder]))["mine/sums"] == 0


def test_rungs_of_a_packed_pack_have_no_place(make: Make, tmp_path: Path) -> None:
    program = load_program([make()])
    packed = zipfile.Path(zipfile.ZipFile(tmp_path / "packed.zip", "w"), "mine/")
    with pytest.raises(DatabaseError) as caught, pytest.MonkeyPatch.context() as patch:
        patch.setattr("schedulog.scheduler.rungs._folder", lambda pack, file: packed)
        keep(program, {"mine/sums": 2}, {})
    assert (caught.value.code, caught.value.reason) == ("SL604", "their pack is packed")


# Around packs


def test_listing_by_pack(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    make()
    status, out = run(capsys, "rules", "./mine", "--pack", "mine", "--json")
    (found,) = json.loads(out)
    assert status == 0 and found == {
        "id": "mine/sums", "kind": "realize", "status": "experimental", "title": "Sums are stored", "pack": "mine",
        "version": "1.2", "clauses": 1, "file": "mine/rules/sums.dl", "line": 2, "rung": 0,
    }  # fmt: skip
    assert run(capsys, "rules", "./mine", "--pack", "mien") == (
        1, "error[SL716] no rule here is of the pack `mien`\n  help: did you mean `mine`?\n",
    )  # fmt: skip


@pytest.mark.parametrize("raised", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_pack_that_cannot_be_finished_leaves_nothing(
    raised: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rename(*_: object) -> None:
        raise raised

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises((UsageError, KeyboardInterrupt)):
        new_pack("my-pack", None)
    assert not list(tmp_path.iterdir())


def test_a_new_pack_has_one_test_that_fails(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    status, out = run(capsys, "new", "pack", "my-pack")
    assert status == 0 and out.splitlines()[1] == "  schedulog test ./my_pack"
    assert run(capsys, "check", "./my_pack") == (0, "no findings\n")
    assert run(capsys, "fmt", "--check", "my_pack")[0] == 0
    status, out = run(capsys, "test", "./my_pack", "--engine", "sqlite")
    assert status == 1 and '"say what the test shows" fails' in out and "3 tests, " in out
    assert run(capsys, "new", "pack", "my-pack") == (
        2, "error[SL709] my_pack exists already\n  help: give another name, or -o FOLDER\n",
    )  # fmt: skip


def test_a_file_of_a_pack_means_its_pack(make: Make, capsys: pytest.CaptureFixture[str]) -> None:
    make(
        files={
            "tests/sums_test.dl": 'test "none" graph: x=load f32[8]; n=neg x; out n\n  count realize == 0.\n'
        }
    )
    for path in ("mine/rules/sums.dl", "mine/tests/sums_test.dl", "./mine"):
        assert run(capsys, "test", path, "--engine", "sqlite")[1].startswith("2 tests, ")
    assert run(capsys, "check", Path(__file__).parent.parent / "rules" / "core") == (0, "no findings\n")


def test_an_editor_sees_the_whole_pack(make: Make) -> None:
    folder = make("requires = ['classic']\n", files={
        "rules/mark.dl": ".decl mark(n: node)\n% Marked.\nmark(N) :- op(N, \"ADD\").\n"
    })  # fmt: skip
    text = "realize(N) :- mark(N), base_realize(N).\nstored(N) :- mark(N).\n"
    document = Document((folder / "rules" / "new.dl").resolve(), text)
    found = [(finding.code, finding.where) for finding in document.findings()]
    assert (
        [code for code, _ in found] == ["SL122"] and isinstance(found[0][1], Place) and found[0][1].line == 2
    )
