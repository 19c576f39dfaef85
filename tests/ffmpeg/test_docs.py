# SPDX-License-Identifier: BSD-2-Clause
"""The documents are true: the commands of README.md ("Use") and docs/user-guide.md run as they are written, every message is explained, links lead on.

Commands run one after the other in a scratch folder that looks like the checkout after scripts/quickstart, with a clip of 12 frames in place of the demo's 48
and small models in place of libvmaf's.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent.parent
GUIDE = (PROJECT / "docs/user-guide.md").read_text()
README = (PROJECT / "README.md").read_text()
CLIP = "big_buck_bunny_640x360.mp4"
MODELS = {"vmaf_v0.6.1": "small", "vmaf_v0.6.1neg": "small", "vmaf_4k_v0.6.1": "small", "vmaf_b_v0.6.3": "small_collection"}

SHOWN = re.compile(r"psnr mean: |frame:0 ")  # blocks that show what is printed
SKIPPED = (
    (r"-hwaccel |backend=(cuda|hip)", "needs a GPU"),
    (r"scripts/fetch-", "needs the network"),
    (r"scripts/build-library", "builds the library for other GPUs"),
)


def blocks(text):
    """The indented blocks of a document."""
    return [re.sub("(?m)^    ", "", b) for b in re.findall(r"(?m)(?<=\n\n)(?:    .*\n)+", text)]


COMMANDS = [b for b in blocks(README[README.index("\n## Use\n"):README.index("\n## Build by hand\n")]) + blocks(GUIDE) if not SHOWN.match(b)]


class Scratch:
    def __init__(self, ff, folder):
        self.folder, self.done = folder, {}
        for name in ("build/ffmpeg-7.1/bin", "build/demo", "build/models", "tests/data"):
            (folder / name).mkdir(parents=True)
        (folder / "build/ffmpeg-7.1/bin/ffmpeg").symlink_to(ff.ffmpeg)
        (folder / "build/ffmpeg-7.1/bin/ffprobe").symlink_to(ff.ffprobe)
        (folder / "scripts").symlink_to(PROJECT / "scripts")
        for name, stand_in in MODELS.items():
            (folder / f"build/models/{name}.json").symlink_to(PROJECT / f"tests/data/models/{stand_in}.json")
        clip = folder / "tests/data" / CLIP
        ff.run("-loglevel", "error", "-i", PROJECT / "tests/data" / CLIP, "-frames:v", "12", "-c:v", "libx264", "-preset", "ultrafast", "-qp", "10", clip)
        ff.run("-loglevel", "error", "-i", clip, "-c:v", "libx264", "-crf", "34", folder / "build/demo/encode.mp4")

    def reason(self, ff, command):
        """Why a command is not run, or None."""
        if " -dec " in command and ff.version < (7, 0):
            return f"FFmpeg {ff.version[0]}.{ff.version[1]} has no loopback decoder (-dec): from 7.0 on"
        return next((reason for pattern, reason in SKIPPED if re.search(pattern, command)), None)

    def run(self, ff, index):
        """Runs a block, after those before it that were not run yet."""
        for i in range(index + 1):
            if i in self.done or self.reason(ff, COMMANDS[i]):
                continue
            exports = [line for command in COMMANDS[:i] for line in command.splitlines() if line.startswith("export ")]
            self.done[i] = subprocess.run(["bash", "-e", "-c", "\n".join([*exports, COMMANDS[i]])], cwd=self.folder, stdin=subprocess.DEVNULL,
                                          capture_output=True, text=True, timeout=600, env={**os.environ, "AV_LOG_FORCE_NOCOLOR": "1"})
        return self.done[index]


@pytest.fixture(scope="module")
def scratch(ff, tmp_path_factory):
    return Scratch(ff, tmp_path_factory.mktemp("docs"))


@pytest.mark.xdist_group("docs")  # commands use what those before them made
@pytest.mark.parametrize("index", range(len(COMMANDS)), ids=lambda i: f"{i}-{Path(COMMANDS[i].split()[0]).name}")
def test_command(ff, scratch, index):
    command = COMMANDS[index]
    reason = scratch.reason(ff, command)
    if reason:
        pytest.skip(reason)
    done = scratch.run(ff, index)
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    if "exactvq" in command and "-loglevel error" not in command and "ffprobe" not in command:
        assert re.search(r"\] paired: [1-9]\d*, main without partner: \d+, reference unused: \d+", done.stderr), done.stderr
    if "model=" in command or "vmaf" in command and "exactvq" in command:
        assert done.stderr.count("VMAF score: ") == 1, done.stderr
    # What the command names as a result is there, with something in it.
    for name in re.findall(r"(?:log_path=|file=|-o |-update 1 )([\w.]+\.\w+)", command):
        assert (scratch.folder / name).stat().st_size > 0 or name == "low.txt", name


def test_commands_are_found():
    """The search for commands does not come to nothing."""
    assert len(COMMANDS) >= 30 and sum("exactvq" in c for c in COMMANDS) >= 25
    for command in COMMANDS:
        assert re.match(r"(export|cp|ffmpeg|ffprobe|scripts/|build/ffmpeg-7\.1/bin/ffmpeg|EXACTVQ_MODEL_PATH=)", command), f"not in SHOWN: {command}"


def test_pictures_are_small():
    for name in ("scores.svg", "drawgraph.png"):
        assert 1000 < (PROJECT / "docs/images" / name).stat().st_size < 150_000


# ---- links ---------------------------------------------------------------------------------------------------------


def anchors(path):
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"(?m)^#+ (.*)$", path.read_text())
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in headings}


@pytest.mark.parametrize("path", [PROJECT / "README.md", *sorted(PROJECT.glob("docs/*.md")), *sorted(PROJECT.glob("tests/**/*.md"))],
                         ids=lambda p: f"{p.parent.name}-{p.name}")
def test_links(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        if re.match(r"[a-z]+://", target):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), f"{path.name} leads to {target}"
        assert not anchor or anchor in anchors(file), f"{path.name} leads to {target}, which is no heading"


# ---- messages ------------------------------------------------------------------------------------------------------

CALLS = {  # statements that make a message
    ".c": r"av_log\((?:\w+), AV_LOG_(?:ERROR|WARNING),(.*?)\);|(?:return|what =|\*reason =) *(\"[^;]*?);|av_bprintf\(&text,(.*?)\);",
    ".cpp": r"(?:throw Error|\bfail\b|fail_must_be|require|log\(EXACTVQ_LOG_WARNING|report\(EXACTVQ_ERROR_ARGUMENT)(.*?);\n|(?:unavailable|too_deep) = (.*?);",
}
CALLS[".h"] = CALLS[".cpp"]


def messages():
    """(file, the longest constant part) of every error and warning in the sources."""
    for path in sorted(path for pattern in ("filter/*.c", "host/*.cpp", "host/*.h", "kernels/*/*.cpp", "kernels/*/*.h") for path in PROJECT.glob(pattern)):
        text = re.sub(r"(?m)^\s*//.*$", "", path.read_text())
        text = re.sub(r'"\s*\n\s*"', "", text)  # literals on neighbouring lines are one
        for match in re.finditer(CALLS[path.suffix], text, re.S):
            literals = re.findall(r'"((?:[^"\\]|\\.)*)"', next(group for group in match.groups() if group is not None))
            parts = [part.replace('\\"', '"').replace("\\n", "") for literal in literals for part in re.split(r"%(?:[-+.\d]*(?:zu|[a-z])|$)", literal)]
            longest = max(parts, key=len, default="").strip(" ;:,.()'")
            if len(longest) >= 8 and " " in longest:
                yield path.relative_to(PROJECT), longest


def test_every_message_is_explained():
    """A message that is not in the guide's last part is one that nobody can look up."""
    known = re.sub(r"\s+", " ", GUIDE[GUIDE.index("## Troubleshooting by message"):]).replace("\\|", "|")
    found = list(messages())
    assert len(found) > 120
    assert not [f"{path}: {text}" for path, text in found if re.sub(r"\s+", " ", text) not in known]
