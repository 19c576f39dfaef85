# SPDX-License-Identifier: BSD-2-Clause
"""Every frame has all its scores, wherever they are read: what case A10 (test_acceptance.py) does not say."""

import pytest

from harness import PREFIX, complete, graph_escape, parse_records

ALL = "metrics=psnr+float_psnr+psnr_hvs:options=enable_mse=1"
NAMES = ["psnr_y", "mse_y", "psnr_cb", "mse_cb", "psnr_cr", "mse_cr", "float_psnr", "psnr_hvs_y", "psnr_hvs_cb", "psnr_hvs_cr", "psnr_hvs"]
LABEL = "a123456789_123456789_123456789_z"
assert len(LABEL) == 32


def test_lines_are_short(ff, coded):
    """metadata=print of older releases cuts lines above 127 bytes, or worse."""
    result = ff.score(*coded, f"metrics=psnr@{LABEL}+float_psnr@{LABEL}+psnr_hvs@{LABEL}:options={LABEL}.enable_mse=1")
    complete(result, 25, [f"{LABEL}.{n}" for n in NAMES])
    for line in result.out.decode().splitlines():
        assert len(line.encode()) < 127, line
    plain = ff.score(*coded, ALL)
    assert plain.out.replace(PREFIX.encode(), PREFIX.encode() + LABEL.encode() + b".") == result.out


def test_print_to_file(ff, coded, tmp_path):
    target = tmp_path / "scores.txt"
    ff.run(*coded[0], *coded[1], "-lavfi", f"[0:v][1:v]exactvq={ALL},metadata=print:file={graph_escape(target)}", "-f", "null", "-")
    assert target.read_bytes() == ff.score(*coded, ALL).out


def test_print_of_one_key(ff, coded):
    result = ff.score(*coded, ALL, after="metadata=delete:key=nothing,metadata=print:key=lavfi.exactvq.psnr_y:file=/dev/stderr")
    lines = [line for line in result.err.splitlines() if line.startswith("lavfi.exactvq.")]
    assert [line.split("=")[1] for line in lines] == [r.tags[PREFIX + "psnr_y"] for r in result.records]


def test_drawgraph(ff, coded):
    """drawgraph reads every key: the picture is not that of an unknown key."""
    def draw(key):
        return ff.run(*coded[0], *coded[1], "-lavfi", f"[0:v][1:v]exactvq={ALL},drawgraph=m1={key}:fg1=0xFFFF0000:min=0:max=100:size=64x48",
                      "-f", "framemd5", "-").out

    nothing, *graphs = ff.many([lambda k=k: draw(k) for k in ["lavfi.exactvq.no_such_score"] + [PREFIX + n for n in NAMES]])
    for name, graph in zip(NAMES, graphs):
        assert graph.count(b"\n") == nothing.count(b"\n") and graph != nothing, name


def test_select(ff, coded):
    """metadata=select finds the frames that score below a bound."""
    values = [r.value("psnr_y") for r in ff.score(*coded, ALL).records]
    bound = sum(sorted(values)[11:13]) / 2  # metadata compares in single precision
    result = ff.score(*coded, ALL, after=f"metadata=select:key={PREFIX}psnr_y:value={bound}:function=less")
    assert [r.value("psnr_y") for r in result.records] == [v for v in values if v < bound]


def test_metadata_of_the_main_video_stays(ff, coded):
    """Other keys of the main frames stay, those of the reference do not come over."""
    result = ff.score(*coded, ALL, before_main="metadata=add:key=lavfi.mine:value=1", before_ref="metadata=add:key=lavfi.theirs:value=2")
    for record in result.records:
        assert record.tags["lavfi.mine"] == "1" and "lavfi.theirs" not in record.tags
    assert len(result.records) == 25


def test_two_filters_in_a_row(ff, coded):
    """Scores of one instance pass through the next."""
    graph = ("[1:v]split[r1][r2];[0:v][r1]exactvq=metrics=psnr+float_psnr:options=enable_mse=1[m];[m][r2]exactvq=metrics=psnr_hvs,metadata=print:file=-")
    result = ff.run(*coded[0], *coded[1], "-lavfi", graph, "-f", "null", "-")
    complete(result, 25, NAMES)
    assert [r.tags for r in result.records] == [r.tags for r in ff.score(*coded, ALL).records]


def test_records_are_in_order_and_timed(ff, coded):
    records = ff.score(*coded, ALL).records
    assert [float(r.pts_time) for r in records] == pytest.approx([n / 25 for n in range(25)])
    assert parse_records("") == []
