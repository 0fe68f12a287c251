"""The language server: what editors ask, in the words of the Language Server Protocol, answered by documents."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from lsprotocol import types
from pygls import uris
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from schedulog.errors import Place, RuleError
from schedulog.lsp.document import Document, Proposal
from schedulog.lsp.files import place_of
from schedulog.scheduler.language.diagnostic import RuleWarning
from schedulog.scheduler.language.spelling import format_file

_KINDS = {
    "relation": types.CompletionItemKind.Function,
    "function": types.CompletionItemKind.Method,
    "directive": types.CompletionItemKind.Keyword,
    "key": types.CompletionItemKind.Property,
    "value": types.CompletionItemKind.EnumMember,
}


def make_server(version: str) -> LanguageServer:
    """A server with all its answers; `start_io` makes it serve standard input and output."""
    server = LanguageServer("schedulog", version)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    server.feature(types.TEXT_DOCUMENT_DEFINITION)(_definition)
    server.feature(types.TEXT_DOCUMENT_REFERENCES)(_references)
    server.feature(types.TEXT_DOCUMENT_FORMATTING)(_formatting)
    options = types.CompletionOptions(trigger_characters=["@", ".", "!", " "])
    server.feature(types.TEXT_DOCUMENT_COMPLETION, options)(_completion)
    return server


@lru_cache(maxsize=16)
def _document(path: str, text: str) -> Document:
    """Several questions about one text are answered from one reading."""
    return Document(Path(path), text)


def _asked(server: LanguageServer, uri: str) -> tuple[Document, TextDocument]:
    source = server.workspace.get_text_document(uri)
    return _document(source.path or uri, source.source), source


def _opened(server: LanguageServer, params: types.DidOpenTextDocumentParams) -> None:
    _publish(server, params.text_document.uri)


def _changed(server: LanguageServer, params: types.DidChangeTextDocumentParams) -> None:
    _publish(server, params.text_document.uri)


def _closed(server: LanguageServer, params: types.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))


def _publish(server: LanguageServer, uri: str) -> None:
    document, source = _asked(server, uri)
    # A file of tests has no rules; what is wrong in it is told with the rule file.
    findings = [] if uri.endswith("_test.dl") else document.findings()
    found = [_diagnostic(finding, source) for finding in findings]
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, source.version))


def _diagnostic(finding: RuleError, source: TextDocument) -> types.Diagnostic:
    assert isinstance(finding.where, Place)
    severity = types.DiagnosticSeverity
    parts = (
        finding.message,
        finding.reason and f"why: {finding.reason}",
        finding.help and f"help: {finding.help}",
    )
    return types.Diagnostic(
        _range(finding.where, source),
        "\n".join(part for part in parts if part),
        severity=severity.Warning if isinstance(finding, RuleWarning) else severity.Error,
        code=finding.code,
        source="schedulog",
    )


def _range(place: Place, source: TextDocument | None) -> types.Range:
    """A place as the client counts: lines from 0, columns in the units it asked for."""
    begin = types.Position(place.line - 1, place.column - 1)
    end = types.Position(place.line - 1, place.column - 1 + place.width)
    found = types.Range(begin, end)
    return found if source is None else source.position_codec.range_to_client_units(source.lines, found)


def _position(position: types.Position, source: TextDocument) -> tuple[int, int]:
    found = source.position_codec.position_from_client_units(source.lines, position)
    return found.line, found.character


def _hover(server: LanguageServer, params: types.HoverParams) -> types.Hover | None:
    document, source = _asked(server, params.text_document.uri)
    text = document.hover(*_position(params.position, source))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


def _definition(server: LanguageServer, params: types.DefinitionParams) -> types.Location | None:
    document, source = _asked(server, params.text_document.uri)
    place = document.definition(*_position(params.position, source))
    return None if place is None else _location(place, document, source)


def _references(server: LanguageServer, params: types.ReferenceParams) -> list[types.Location]:
    document, source = _asked(server, params.text_document.uri)
    return [
        _location(place, document, source)
        for place in document.references(*_position(params.position, source))
    ]


def _location(place: Place, document: Document, source: TextDocument) -> types.Location:
    if place.file == document.name:
        return types.Location(source.uri, _range(place, source))
    uri = uris.from_fs_path(str(place_of(place.file).resolve()))
    assert uri is not None
    return types.Location(uri, _range(place, None))


def _completion(server: LanguageServer, params: types.CompletionParams) -> list[types.CompletionItem]:
    document, source = _asked(server, params.text_document.uri)
    return [_item(proposal) for proposal in document.completions(*_position(params.position, source))]


def _item(proposal: Proposal) -> types.CompletionItem:
    return types.CompletionItem(
        proposal.label,
        kind=_KINDS[proposal.kind],
        detail=proposal.detail or None,
        documentation=proposal.sentence or None,
    )


def _formatting(
    server: LanguageServer, params: types.DocumentFormattingParams
) -> list[types.TextEdit] | None:
    source = server.workspace.get_text_document(params.text_document.uri)
    try:
        text = format_file(source.source, source.path)
    except RuleError:
        # The diagnostics say what is wrong; the text stays as it is.
        return None
    end = types.Position(len(source.lines), 0)
    return [types.TextEdit(types.Range(types.Position(0, 0), end), text)] if text != source.source else []
