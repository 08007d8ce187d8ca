"""`chancela gates score`: shares from lines that people labelled, and every line that was judged otherwise."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from deploy.cli import app
from deploy.gates_score import kind_of

SAMPLES = Path(__file__).parents[1] / "samples"


def score(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["gates", "score", *map(str, arguments)])


def a_file(place: Path, *lines: dict[str, Any] | str) -> Path:
    place.write_text("\n".join(each if isinstance(each, str) else json.dumps(each) for each in lines), encoding="utf-8")
    return place


def document(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.mark.parametrize("kind", ["leak", "optout", "promise"])
def test_our_own_samples_are_judged_as_labelled(kind: str) -> None:
    found = document(score(SAMPLES / f"{kind}.jsonl", "--json"))
    assert found["kind"] == kind
    assert (found["precision"], found["recall"], found["f1"]) == (1.0, 1.0, 1.0)
    assert found["false_positives"] == found["false_negatives"] == []


def test_every_line_judged_otherwise_is_told_with_why_and_what_was_found(tmp_path: Path) -> None:
    file = a_file(
        tmp_path / "leak.jsonl",
        {"text": "O webhook falhou.", "lang": "pt", "label": True},
        {"text": "O endpoint falhou.", "lang": "pt", "label": False, "why": "wrongly labelled"},
        "",
        {"text": "Bom dia!", "lang": "pt", "label": True, "why": "wrongly labelled too"},
        {"text": "Boa noite!", "lang": "pt", "label": False},
    )
    found = document(score(file, "--json"))
    assert (found["lines"], found["labelled"]) == (4, 2)
    assert (found["precision"], found["recall"], found["f1"]) == (0.5, 0.5, 0.5)
    (excess,), (missed,) = found["false_positives"], found["false_negatives"]
    assert (excess["line"], excess["why"], excess["found"]) == (2, "wrongly labelled", ["architecture: endpoint"])
    assert (missed["line"], missed["text"], missed["found"]) == (4, "Bom dia!", [])
    told = score(file).stdout
    assert "2: 'O endpoint falhou.'" in told
    assert "found: architecture: endpoint" in told


def test_a_share_of_nothing_is_null_and_not_a_perfect_one(tmp_path: Path) -> None:
    found = document(score(a_file(tmp_path / "leak.jsonl", {"text": "Bom dia!", "label": False}), "--json"))
    assert (found["precision"], found["recall"], found["f1"]) == (None, None, None)


def test_the_profile_of_a_line_says_whose_allow_list_applies(tmp_path: Path) -> None:
    line = {"text": "O webhook recebe um JSON.", "label": False}
    assert document(score(a_file(tmp_path / "leak.jsonl", line), "--json"))["false_positives"]
    shop = a_file(tmp_path / "leak.jsonl", {**line, "profile": "dev_support"})
    assert document(score(shop, "--json"))["false_positives"] == []


@pytest.mark.parametrize(
    ("text", "context", "found"),
    [
        ("CANCEL", "last outbound = campaign", "opt_out"),
        ("CANCEL", "last outbound = our CONFIRM / CANCEL question", "handoff"),
        ("VOLTAR", "contact is opted out", "opt_in"),
        ("VOLTAR", "contact is not opted out", "none"),
    ],
)
def test_the_context_of_a_line_is_part_of_what_is_judged(tmp_path: Path, text: str, context: str, found: str) -> None:
    line = {"text": text, "context": context, "label": found != "opt_out"}
    result = document(score(a_file(tmp_path / "optout.jsonl", line), "--json"))
    assert [each["found"] for each in result["false_positives"] + result["false_negatives"]] == [[found]]


def test_counting_on_a_person_has_a_kind_of_its_own(tmp_path: Path) -> None:
    line = {"text": "Vou verificar com o time e te aviso.", "label": True}
    assert document(score(a_file(tmp_path / "human-return.dev.jsonl", line), "--json"))["recall"] == 1.0


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("leak.jsonl", "leak"),
        ("optout.2026-09.jsonl", "optout"),
        ("my-human-return.jsonl", "human_return"),
        ("a.jsonl", ""),
        ("leak-and-promise.jsonl", ""),
    ],
)
def test_the_kind_stands_in_the_files_name(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


def test_an_unknown_kind_is_told_with_what_is_possible(tmp_path: Path) -> None:
    file = a_file(tmp_path / "lines.jsonl", {"text": "Bom dia!", "label": False})
    for arguments in ([file], [file, "--kind", "leaks"]):
        result = score(*arguments)
        assert result.exit_code == 2
        assert "leak, optout, promise, human_return" in result.stderr
    assert score(file, "--kind", "leak").exit_code == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"text": "a"}', "label"),
        ('{"text": 1, "label": true}', "text"),
        ("not json", "malformed"),
        ('{"text": "a", "label": true, "profile": "shop"}', "default, dev_support"),
    ],
)
def test_a_bad_line_is_told_by_its_number_and_nothing_is_measured(tmp_path: Path, line: str, told: str) -> None:
    result = score(a_file(tmp_path / "leak.jsonl", {"text": "a", "label": False}, "", line), "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "line 3: " in result.stderr
    assert told in result.stderr


def test_many_bad_lines_are_told_in_part_and_an_empty_file_is_told(tmp_path: Path) -> None:
    many = score(a_file(tmp_path / "leak.jsonl", *["{}"] * 50))
    assert len(many.stderr.splitlines()) == 21
    assert "30 more" in many.stderr
    empty = score(a_file(tmp_path / "leak.jsonl", ""))
    assert (empty.exit_code, "no line to measure" in empty.stderr) == (2, True)


def test_under_what_was_asked_for_the_exit_code_says_so(tmp_path: Path) -> None:
    file = a_file(
        tmp_path / "leak.jsonl", {"text": "O webhook falhou.", "label": True}, {"text": "Bom dia!", "label": True}
    )
    assert score(file, "--at-least", "0.5").exit_code == 0
    assert score(file, "--at-least", "0.97").exit_code == 1
