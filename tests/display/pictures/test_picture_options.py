"""Options of pictures: size and file; and rejected ones."""

import re
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.command import tfvis_nb_here
from tests.display.pictures.test_picture import START, many_lanes, parsed, small_trace, texts
from tests.support.texts import raises_id


@pytest.mark.parametrize(
    ("size", "written", "pixels"),
    [
        ("8.5 cm", "8.5cm", 321.26),
        ("160mm", "160mm", 604.72),
        ("6.3 in", "6.3in", 604.8),
        (700, "700px", 700),
    ],
)
def test_it_has_the_size_that_was_asked_for(size: Any, written: str, pixels: float) -> None:
    root = parsed(small_trace().to_svg(width=size, height="7 cm"))
    assert (root.attrib["width"], root.attrib["height"]) == (written, "7cm")
    wide, high = map(float, root.attrib["viewBox"].split()[2:])
    assert [wide, high] == pytest.approx([pixels, 264.57], abs=0.01)
    # Without a height it is in the same unit, and in proportion.
    free = parsed(small_trace().to_svg(width="8.5 cm"))
    assert free.attrib["height"].endswith("cm")
    ratio = float(free.attrib["height"][:-2]) / 8.5
    _, _, width, height = map(float, free.attrib["viewBox"].split())
    assert ratio == pytest.approx(height / width, rel=1e-3)


@pytest.mark.parametrize("width", [16 / 2.54 * 96, np.float32(604.7244), np.int64(605)])
def test_a_width_is_any_number(width: Any) -> None:
    assert parsed(small_trace().to_svg(width=width)).get("width") == f"{float(width):g}px"


def test_pdf_has_texts_and_its_size_and_png_its_pixels(tmp_path: Path) -> None:
    pdf = small_trace().to_pdf(tmp_path / "a.pdf", width="8.5 cm", height="5 cm").read_bytes()
    assert pdf.startswith(b"%PDF")
    box = re.search(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)", pdf)
    assert box is not None
    assert [float(one) / 72 * 2.54 for one in box.groups()] == pytest.approx([8.5, 5], abs=0.01)
    assert b"/FontFile" in pdf, "fonts are embedded"
    assert b"/ToUnicode" in pdf, "texts can be selected"
    png = small_trace().to_png(width="8.5 cm", height="5 cm", dpi=254)
    assert png.startswith(b"\x89PNG")
    assert struct.unpack(">II", png[16:24]) == (850, 500)
    # Programs place it at its width: 10,000 pixels per metre.
    assert png[33:41] == b"\0\0\0\x09pHYs"
    assert struct.unpack(">IIBI", png[41:54]) == (10_000, 10_000, 1, zlib.crc32(png[37:50]))
    wrong: tuple[Any, ...] = (0, float("nan"), 20_000, "x", True)
    for dpi in wrong:
        with raises_id(ValueError, "no_picture_dpi", dpi=dpi):
            small_trace().to_png(dpi=dpi)


def test_commands_draw(tmp_path: Path) -> None:
    source = small_trace().to_parquet(tmp_path / "step.parquet")
    files = [tmp_path / name for name in ("a.svg", "a.pdf", "a.png")]
    words = [word for file in files for word in ("-o", str(file))]
    looks = ["--width", "9 cm", "--theme", "print", "--lane-filter", "stream", "--title", "ours"]
    assert tfvis_nb_here("export", source, *words, *looks, cwd=tmp_path).returncode == 0
    root = parsed(files[0].read_text("utf-8"))
    assert root.attrib["width"] == "9cm"
    assert {"ours", "stream 13"} <= set(texts(root))
    assert [file.read_bytes()[:4] for file in files[1:]] == [b"%PDF", b"\x89PNG"]
    refused = tfvis_nb_here("export", source, "-o", "a.json", "--theme", "print", cwd=tmp_path)
    assert refused.returncode == 2


def test_a_misspelt_option_and_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="width"):
        small_trace().to_svg(widht="8 cm")  # type: ignore[call-overload]
    with raises_id(ValueError, "no_picture_name"):
        small_trace().to_svg(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("options", "id_"),
    [
        ({"width": "wide"}, "no_picture_size"),
        ({"height": 5}, "no_picture_size"),
        ({"width": 10**400}, "no_picture_size"),
        ({"time_range": (START + 50, START + 50)}, "no_event_in_range"),
        ({"theme": "neon"}, "no_such_value"),
        ({"lanes": "elsewhere"}, "no_lane_has"),
        ({"time_range": (1, 2)}, "range_outside"),
        ({"height": 100}, "picture_too_low"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], id_: str) -> None:
    trace = small_trace() if id_ != "picture_too_low" else many_lanes(40)
    with raises_id(ValueError, id_):
        trace.to_svg(**options)
