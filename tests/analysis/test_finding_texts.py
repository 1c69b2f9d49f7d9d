"""The texts of findings and measurements: one golden file has them all, rendered from figures."""

import json
from typing import Any

import pytest

from tests.real_traces import DATA
from tfvis_nb.analysis.findings.rules import RULES

GOLDEN: dict[str, list[dict[str, Any]]] = json.loads(
    (DATA / "texts" / "findings.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", GOLDEN["findings"], ids=lambda case: str(case["id"]))
def test_a_finding(case: dict[str, Any]) -> None:
    rule = RULES[case["id"].partition(".")[0]]
    assert rule.word(case["id"], case["figures"])._asdict() == case["texts"]


@pytest.mark.parametrize("case", GOLDEN["measurements"], ids=lambda case: str(case["id"]))
def test_a_measurement(case: dict[str, Any]) -> None:
    assert RULES[case["id"]].sentence(case["figures"]) == case["text"]


def test_every_rule_has_texts() -> None:
    assert {case["id"].partition(".")[0] for case in GOLDEN["findings"]} == set(RULES)
    assert {case["id"] for case in GOLDEN["measurements"]} == set(RULES)
