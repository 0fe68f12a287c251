"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from threading import Thread

import pytest

from schedulog.facts.new_file import new_file


def write(path: Path | str, *, replace: bool = True) -> None:
    with new_file(path, replace=replace) as file:
        file.write(b"new")


def test_an_error_leaves_the_old_file_and_nothing_beside(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with pytest.raises(KeyError), new_file(path) as file:
        file.write(b"new")
        raise KeyError
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["x"]


def test_a_link_stays_and_what_it_points_to_keeps_its_rights(tmp_path: Path) -> None:
    path, link = tmp_path / "x", tmp_path / "link"
    path.touch()
    path.chmod(0o640)
    link.symlink_to(path)
    write(link)
    assert link.is_symlink() and path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_to_nothing_makes_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "x")
    write(tmp_path / "link")
    assert (tmp_path / "x").read_bytes() == b"new"


@pytest.mark.parametrize("replace", [True, False])
def test_links_in_a_circle_are_no_place(replace: bool, tmp_path: Path) -> None:
    link = tmp_path / "circle"
    link.symlink_to(link)
    with pytest.raises(OSError, match="Too many levels"):
        write(link, replace=replace)
    assert link.is_symlink()


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileExistsError):
        write(pipe, replace=False)
    writer = Thread(target=write, args=(pipe,))
    writer.start()
    assert pipe.read_bytes() == b"new"
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_an_open_file_without_a_name_is_written_to() -> None:
    """As for `-o /dev/stdout`, where that is a pipe."""
    reader, writer = os.pipe()
    write(f"/dev/fd/{writer}")
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        assert file.read() == b"new"


def test_any_name_that_a_file_can_have(tmp_path: Path) -> None:
    for name in ("x" * 255, "\N{GRINNING FACE}" * 63):
        write(tmp_path / name)
        assert (tmp_path / name).read_bytes() == b"new"


@pytest.mark.parametrize("name", ["a\0b", "x" * 256, "none/x", "."])
def test_what_is_no_place_is_an_error_of_the_system(name: str, tmp_path: Path) -> None:
    with pytest.raises(OSError):
        write(f"{tmp_path}/{name}")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
def test_what_must_not_be_written_to_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        write(path)
    assert path.read_bytes() == b"old"
