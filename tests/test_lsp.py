"""The language server: documents as editors ask about them, and the whole of it over pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schedulog.lsp.document import Document
from schedulog.lsp.files import place_of, shown_name

ROOT = Path(__file__).parent.parent
TEXT = """%! requires: classic
.decl far(n: node, size: int)
% Two steps away: "ä𝄞".
%! id: my/far    %! kind: realize    %! title: Two steps    %! why: "{N} is far"
far(N, S) :- edge(N, U, _), op(U, "EXP"), size(N, S), @view_size(V) > 1, whole(N, V).
realize(N) :- owner(N, _), far(N, _).
"""


def document(text: str = TEXT, path: str = "/project/mine.dl") -> Document:
    return Document(Path(path), text)


def test_a_right_file_has_no_findings() -> None:
    assert document().findings() == []


def test_findings_are_those_of_this_file_with_tests_and_lint() -> None:
    text = TEXT + (
        '%? test "one"  graph: x=load f32[8]; out x   hold far(x, 8).\n'
        'far(N, S) :- edge(N, U, _), op(U, "EXPP"), size(N, S).\n'
    )
    found = [(f.code, str(f.where)) for f in document(text).findings()]
    assert found == [("SL160", "/project/mine.dl:7:46"), ("SL156", "/project/mine.dl:8:35")] or found == [
        ("SL156", "/project/mine.dl:8:35"), ("SL160", "/project/mine.dl:7:46"),
    ]  # fmt: skip
    broken = document(TEXT.replace("size(N, S)", "siez(N, S)"))
    assert next((f.code, f.help) for f in broken.findings()) == (
        "SL101",
        "did you mean `size`? It is declared at core/model.dl:37:7",
    )


def test_hover() -> None:
    found = document()
    assert found.hover(4, 14) == (
        "```prolog\n.decl edge(n: node, user: node, v: view)\n```\n"
        "The node `user` (no VIEW, not the SINK) reads `n` (no VIEW) through view v.\n\n"
        f"From the graph; declared at {found.relations['edge'].place}."
    )
    assert "From `my/far`; declared at /project/mine.dl:2:7." in found.hover(4, 0)
    assert found.hover(4, 56).startswith(
        "```prolog\n.function view_size(v: view) -> int\n```\nElements that a view"
    )
    assert found.hover(3, 8) == '**my/far** (realize, experimental)\n\nTwo steps\n\nwhy: "{N} is far"'
    assert found.hover(1, 2).startswith("Declares a relation")
    assert found.hover(4, 33) == "" and found.hover(99, 0) == ""


def test_definitions_and_references() -> None:
    found = document()
    place = found.definition(4, 14)
    assert place is not None and place.file == "core/model.dl"
    assert place_of(place.file) == ROOT / "rules" / "core" / "model.dl"
    line = place_of(place.file).read_text(encoding="utf-8").splitlines()[place.line - 1]
    assert line[place.column - 1 :].startswith("edge(")
    assert str(found.definition(5, 28)) == "/project/mine.dl:2:7"
    assert found.definition(4, 33) is None
    assert [str(place) for place in found.references(1, 6)] == [
        "/project/mine.dl:5:1",
        "/project/mine.dl:6:28",
    ]


def test_completion() -> None:
    def labels(line: str) -> list[str]:
        found = document(TEXT + line)
        return [proposal.label for proposal in found.completions(6, len(line))]

    assert {"far", "edge", "owner"} <= set(labels("p(X) :- "))
    edge = next(p for p in document(TEXT + "p").completions(6, 1) if p.label == "edge")
    assert (edge.detail, edge.kind) == (".decl edge(n: node, user: node, v: view)", "relation")
    assert "view_size" in labels("p(X) :- @vi") and "edge" not in labels("p(X) :- @vi")
    assert labels(".de") == [".decl", ".function", ".input", ".open", ".type"]
    assert labels("%! id: a/b    %! ki")[:3] == ["id", "pack", "requires"]
    assert labels("%! kind: re") == ["realize", "fuse", "forbid", "order", "check", "helper"]
    assert labels("%! title: x") == [] and labels("% a comment ") == []


def test_a_file_of_a_shipped_pack_stands_in_its_place() -> None:
    path = ROOT / "rules" / "core" / "kernel.dl"
    text = path.read_text(encoding="utf-8")
    assert shown_name(path) == "core/kernel.dl"
    assert Document(path, text).findings() == []
    (found,) = Document(path, text.replace("cut(N).", "cutt(N).")).findings()
    assert (found.code, found.message) == ("SL101", "unknown relation `cutt`")


def test_a_folder_of_rules_is_one_pack(tmp_path: Path) -> None:
    folder = tmp_path / "schedulog_rules" / "deep"
    folder.mkdir(parents=True)
    (folder / "one.dl").write_text(".decl shared(n: node)\nshared(N) :- is_reduce(N).\n", encoding="utf-8")
    (folder / "bad.dl").write_bytes(b"\xff")
    two = tmp_path / "schedulog_rules" / "two.dl"
    assert Document(two, "realize(N) :- shared(N).\n").findings() == []
    assert [f.code for f in Document(tmp_path / "two.dl", "realize(N) :- shared(N).\n").findings()] == [
        "SL101"
    ]


class Client:
    """Speaks the protocol with a server in another process."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.number = 0
        self.told: list[dict[str, Any]] = []

    def send(self, method: str, params: Any, number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        body = json.dumps(message if number is None else message | {"id": number}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the server has ended"
        found: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return found

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request; what the server tells meanwhile is kept."""
        self.number += 1
        self.send(method, params, self.number)
        while (message := self.read()).get("id") != self.number or "method" in message:
            self.told.append(message)
        assert "error" not in message, message
        return message["result"]

    def diagnostics(self) -> list[dict[str, Any]]:
        """The next diagnostics that the server tells."""
        while True:
            message = self.told.pop(0) if self.told else self.read()
            if message.get("method") == "textDocument/publishDiagnostics":
                found: list[dict[str, Any]] = message["params"]["diagnostics"]
                return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-m", "schedulog", "lsp"], cwd=tmp_path, env=environment,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        found = Client(process)
        result = found.ask(
            "initialize", {"processId": None, "rootUri": tmp_path.as_uri(), "capabilities": {}}
        )
        assert result["serverInfo"]["name"] == "schedulog"
        for what in ("hover", "definition", "references", "completion", "documentFormatting"):
            assert result["capabilities"][f"{what}Provider"]
        found.send("initialized", {})
        yield found
        found.ask("shutdown", None)
        found.send("exit", None)
        assert process.wait(10) == 0


def test_a_session(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "mine.dl").as_uri()
    asked = {"textDocument": {"uri": uri}}
    wrong = TEXT.replace("owner(N, _)", "ownr(N, _)")
    client.send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "schedulog", "version": 1, "text": wrong}})  # fmt: skip
    (found,) = client.diagnostics()
    assert (found["code"], found["severity"], found["source"]) == ("SL101", 1, "schedulog")
    assert found["range"] == {"start": {"line": 5, "character": 14}, "end": {"line": 5, "character": 18}}
    assert found["message"].startswith("unknown relation `ownr`\nhelp: did you mean `owner`?")
    change = {
        "range": {"start": {"line": 5, "character": 14}, "end": {"line": 5, "character": 18}},
        "text": "owner",
    }
    client.send(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 2}, "contentChanges": [change]}
    )
    assert client.diagnostics() == []
    hover = client.ask("textDocument/hover", asked | {"position": {"line": 4, "character": 15}})
    assert "reads `n` (no VIEW) through view v" in hover["contents"]["value"]
    place = client.ask("textDocument/definition", asked | {"position": {"line": 4, "character": 15}})
    assert place["uri"] == (ROOT / "rules" / "core" / "model.dl").as_uri()
    names = client.ask("textDocument/completion", asked | {"position": {"line": 4, "character": 13}})
    assert {"edge", "far"} <= {item["label"] for item in names}
    uses = client.ask("textDocument/references", asked | {"position": {"line": 1, "character": 7}, "context": {"includeDeclaration": False}})  # fmt: skip
    assert [use["range"]["start"]["line"] for use in uses] == [4, 5]
    form = asked | {"options": {"tabSize": 4, "insertSpaces": True}}
    assert client.ask("textDocument/formatting", form) == []
    change = {
        "range": {"start": {"line": 5, "character": 25}, "end": {"line": 5, "character": 26}},
        "text": " , ",
    }
    client.send(
        "textDocument/didChange", {"textDocument": {"uri": uri, "version": 3}, "contentChanges": [change]}
    )
    (edit,) = client.ask("textDocument/formatting", form)
    assert edit["newText"] == TEXT
    assert edit["range"] == {"start": {"line": 0, "character": 0}, "end": {"line": 6, "character": 0}}


def test_columns_are_counted_as_the_client_does(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "mine.dl").as_uri()
    # The clef takes two units of UTF-16, in which clients count unless they say otherwise.
    text = '.decl p(n: str)\np("𝄞"). q(1).\n'
    client.send("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "schedulog", "version": 1, "text": text}})  # fmt: skip
    (found,) = client.diagnostics()
    assert found["range"] == {"start": {"line": 1, "character": 9}, "end": {"line": 1, "character": 10}}
    client.send("textDocument/didClose", {"textDocument": {"uri": uri}})
    assert client.diagnostics() == []


def test_without_pygls(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from schedulog.__main__ import main

    monkeypatch.setitem(sys.modules, "pygls", None)
    monkeypatch.delitem(sys.modules, "schedulog.lsp.server", raising=False)
    monkeypatch.setitem(sys.modules, "lsprotocol", None)
    assert main(["lsp"]) == 1
    assert "error[SL717] the language server needs the package pygls" in capsys.readouterr().err
