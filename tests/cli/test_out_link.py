"""A link that leads to itself, named as the file of the answer, is a mistake of one line."""

from __future__ import annotations

from planner.cli.entry import run


def test_out_is_a_link_to_itself(tmp_path, capsys):
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert run(["gpus", "--out", str(loop)]) == 2
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "--out" in complaint
    assert "cannot be written" in complaint
    assert loop.is_symlink()
