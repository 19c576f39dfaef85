# SPDX-License-Identifier: BSD-2-Clause
"""Case tables and generated inputs, shared by make_oracle.py and check_oracle.py."""
import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
GOLDEN = os.path.dirname(HERE)

COLUMNS = ("name", "width", "height", "format", "bits", "frames", "ref", "dist", "md5_ref", "md5_dist", "jobset")


def read_cases(path):
    cases = []
    with open(path) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                fields = line.rstrip("\n").split("\t")
                if len(fields) != len(COLUMNS):
                    sys.exit("%s: %d columns in: %s" % (path, len(fields), line))
                c = dict(zip(COLUMNS, fields))
                for k in COLUMNS[1:6]:
                    c[k] = int(c[k])
                cases.append(c)
    return cases


def md5(path):
    h = hashlib.md5()
    with open(path, "rb") as f:
        for part in iter(lambda: f.read(1 << 20), b""):
            h.update(part)
    return h.hexdigest()


class Inputs:
    """Makes the raw files of cases in a temporary folder; `gen`: path of the generator, None: compile it; `ffmpeg`: decodes clips."""

    def __init__(self, gen=None, ffmpeg=None):
        self.ffmpeg = ffmpeg
        self.folder = tempfile.TemporaryDirectory(prefix="exactvq-golden-")
        self.gen = gen
        if not gen:
            self.gen = os.path.join(self.folder.name, "gen")
            subprocess.check_call([os.environ.get("CXX", "c++"), "-O2", "-std=c++11", os.path.join(GOLDEN, "gen.cpp"), "-o", self.gen])

    def make(self, table, case, check_md5=True):
        """(reference path, distorted path); remove() them after use."""
        paths = [os.path.join(self.folder.name, "%s.%s.yuv" % (case["name"], which)) for which in ("ref", "dist")]
        if case["ref"].startswith("file:"):
            for path, which in zip(paths, ("ref", "dist")):
                clip = os.path.join(os.path.dirname(table), case[which][5:])
                subprocess.check_call([self.ffmpeg, "-v", "error", "-i", clip, "-map", "0:v:0", "-fps_mode", "passthrough", "-f", "rawvideo", "-y", path])
        else:
            subprocess.check_call([self.gen, table, case["name"], self.folder.name])
        for path, want in zip(paths, (case["md5_ref"], case["md5_dist"])):
            got = md5(path)
            if check_md5 and got != want:
                sys.exit("%s: md5 %s, expected %s: another input" % (os.path.basename(path), got, want))
        return paths

    @staticmethod
    def remove(paths):
        for p in paths:
            os.unlink(p)
