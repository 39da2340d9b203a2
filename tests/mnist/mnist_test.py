#!/usr/bin/env python3
"""Trains 784-256-128-10 on MNIST with the tool's defaults: three seeds reach 97.8 % each, the doctor finds nothing wrong with
a run, and after two epochs the saved file has the same bytes on one and two threads and with every instruction set that the
machine has beside the portable one.

usage: mnist_test.py TOOL
"""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SKIPPED = 77
TARGET = 0.978


def find_data():
    if "LIMPID_DATA" in os.environ:
        candidates = [pathlib.Path(os.environ["LIMPID_DATA"]) / "mnist"]
    else:
        here = pathlib.Path(__file__).resolve()
        candidates = [folder / "shared" / "data" / "mnist" for folder in here.parents]
    return next((c for c in candidates if c.is_dir()), None)


def train(tool, data, out, seed, threads, isa=None, options=()):
    """The accuracy that the log states, and the hash of the saved model."""
    environment = dict(os.environ)
    environment.pop("LIMPID_ISA", None)
    if isa:
        environment["LIMPID_ISA"] = isa
    subprocess.run(
        [tool, "train", "--data", f"idx:{data}", "--seed", str(seed), "--threads", str(threads),
         "--out", out, *options],
        check=True, env=environment, stdout=subprocess.DEVNULL)
    lines = (pathlib.Path(out) / "log.jsonl").read_text().splitlines()
    accuracy = json.loads(lines[-1])["test"]["accuracy"]
    digest = hashlib.sha256((pathlib.Path(out) / "model.safetensors").read_bytes()).hexdigest()
    print(f"seed {seed}, {threads} threads, {isa or 'default'}: {100 * accuracy:.2f} %, {digest[:16]}",
          flush=True)
    return accuracy, digest


def findings(tool, run):
    out = subprocess.run([tool, "doctor", run, "--json"], check=True, capture_output=True, text=True).stdout
    return json.loads(out)["findings"]


def instruction_sets():
    flags = pathlib.Path("/proc/cpuinfo").read_text().split() if os.path.exists("/proc/cpuinfo") else []
    return ["avx2"] if "avx2" in flags and "fma" in flags else []


def main():
    tool = sys.argv[1]
    data = find_data()
    if data is None:
        print("skipped: no data")
        return SKIPPED
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        digests = set()
        for seed in (0, 1, 2):
            accuracy, digest = train(tool, data, f"{folder}/{seed}", seed, 2)
            digests.add(digest)
            if accuracy < TARGET:
                print(f"seed {seed}: {accuracy} is below {TARGET}")
                failures += 1
            for finding in findings(tool, f"{folder}/{seed}"):
                print(f"seed {seed}: the doctor finds {finding}")
                failures += 1
        if len(digests) != 3:
            print("two seeds gave the same model")
            failures += 1
        short = ("--epochs", "2")
        _, expected = train(tool, data, f"{folder}/short", 0, 2, options=short)
        for isa in instruction_sets() or [None]:
            _, digest = train(tool, data, f"{folder}/again", 0, 1, isa, short)
            if digest != expected:
                print(f"one thread, {isa}: another model than on two threads")
                failures += 1
    return 1 if failures else 0


sys.exit(main())
