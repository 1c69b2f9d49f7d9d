"""Which live layer a name scope is of, against TensorFlow's way of numbering scopes."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tfvis_nb.analysis.model_layers.description import LiveLayer
from tfvis_nb.analysis.model_layers.put import layers_of


def model_of(spec: dict[str, Any], path: str, weights: list[int]) -> LiveLayer:
    """A model whose every layer has one weight of its own, of a size no other one has."""
    name = path.rpartition("/")[2]
    parts = [model_of(inside, f"{path}/{part}", weights) for part, inside in spec.items()]
    weights.append(1 << len(weights))
    own = {number: size for part in parts for number, size in part.weights.items()}
    return LiveLayer(name, f"Class of {path}", path, own | {len(weights): weights[-1]}, parts)


def scopes_of(layer: LiveLayer, within: str, used: set[str], times: int) -> dict[str, str]:
    """The path of the layer of each scope, as `times` calls of each layer leave them behind."""
    scope = ""
    for _ in range(times):
        scope, number = f"{within}{layer.name}", 0
        while scope in used:
            number += 1
            scope = f"{within}{layer.name}_{number}"
        used.add(scope)
    inside = [scopes_of(part, f"{scope}/", used, times) for part in layer.parts]
    return {scope: layer.path} | {name: path for found in inside for name, path in found.items()}


_NAMES = st.sampled_from(["dense", "dense_1", "dense_2", "block", "block_1", "norm"])
_SPECS: st.SearchStrategy[dict[str, Any]] = st.recursive(
    st.just({}), lambda inner: st.dictionaries(_NAMES, inner, min_size=1, max_size=4), max_leaves=10
)


@given(_SPECS, st.integers(1, 3))
def test_scopes_are_of_their_own_layer_or_of_one_that_has_it(spec: dict[str, Any], times: int) -> None:
    weights: list[int] = []
    net, other = model_of(spec, "net", weights), model_of({"norm": {}}, "net_2", weights)
    expected = scopes_of(net, "", set(), times)
    for scope, facts in layers_of(expected, [net, other]).items():
        assert f"{expected[scope]}/".startswith(f"{facts.path}/")


@given(_SPECS)
def test_scopes_with_the_names_of_layers_are_theirs(spec: dict[str, Any]) -> None:
    net = model_of(spec, "net", [])
    expected = scopes_of(net, "", set(), 1)
    found = layers_of(expected, [net])
    assert {scope: facts.path for scope, facts in found.items()} == expected
    assert sum(facts.parameter_bytes for facts in found.values()) == sum(net.weights.values())


def test_nothing_is_said_of_ambiguous_scopes() -> None:
    first, second = (LiveLayer("net", kind, "net", {number: 4}) for number, kind in enumerate("AB"))
    assert layers_of(["net_1/loss"], [first, second]) == {}
    assert set(layers_of(["net_1/loss"], [first, first])) == {"net_1/loss"}
    two = LiveLayer(
        "net", "Net", "net", {}, [LiveLayer("a", "A", "net/a", {}), LiveLayer("a_1", "B", "net/a_1", {})]
    )
    assert layers_of(["net/a_1"], [two])["net/a_1"].kind == "Net"


def test_scopes_of_loops_and_replicas_are_looked_through() -> None:
    cell = LiveLayer("cell", "Cell", "net/rnn/cell", {1: 8})
    rnn = LiveLayer("rnn", "RNN", "net/rnn", {1: 8, 2: 16}, [cell])
    net = LiveLayer("net", "Net", "net", {1: 8, 2: 16}, [rnn])
    found = layers_of(["replica_1/net/rnn/net/rnn/while/cell", "rnn_1/cell_1", "net/rnn/stack"], [net])
    assert [tuple(facts) for facts in found.values()] == [
        ("net/rnn/cell", "Cell", 8),
        ("net/rnn/cell", "Cell", 8),
        ("net/rnn", "RNN", 16),
    ]
