"""The rule checked by `make lint` finds rows numbered without `number_rows`."""

import pytest

from tests.row_numbers import places


@pytest.mark.parametrize(
    "code",
    [
        "code = pd.MultiIndex.from_frame(table).factorize()[0]",
        "code, names = pd.factorize(pd.MultiIndex.from_arrays([a, b]))",
        "keys = pd.MultiIndex.from_frame(table)\n    code, names = pd.factorize(keys, sort=True)",
        "code = table.groupby(['a', 'b'], observed=True).ngroup().to_numpy()",
        "groups = table.groupby(['a', 'b'])\n    code = groups.ngroup()",
    ],
)
def test_numbering_by_several_columns_is_found(code: str) -> None:
    assert places(f"import pandas as pd\ndef f():\n    {code}\n") == [code.count("\n") + 3]


@pytest.mark.parametrize(
    "code",
    [
        "code, names = pd.factorize(column)",
        "keys = pd.MultiIndex.from_frame(table).isin(other)",
        "groups = table.groupby(['a', 'b'])\n    code, sizes = groups.ngroup(), groups.size()",
    ],
)
def test_other_uses_are_allowed(code: str) -> None:
    assert places(f"import pandas as pd\ndef f():\n    {code}\n") == []
