#!/usr/bin/env python3
"""Ill runs of training, made by the tool itself: the doctor names what was done to them first, and its first remedy cures them.
Healthy runs: the doctor finds nothing. The results are the table of docs/diagnosis.md, which a test compares with that page.

usage: illnesses.py TOOL            as a test
       illnesses.py TOOL --write    write the table into docs/diagnosis.md
"""

import dataclasses
import gzip
import json
import math
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).parents[2] / "docs/diagnosis.md"
KEYS = PAGE.parent / "reference/train.md"
BEGIN, END = "<!-- by tests/doctor/illnesses.py --write -->\n", "<!-- end -->\n"


# ---- data

def find_mnist():
    if "LIMPID_DATA" in os.environ:
        candidates = [pathlib.Path(os.environ["LIMPID_DATA"]) / "mnist"]
    else:
        candidates = [folder / "shared" / "data" / "mnist" for folder in pathlib.Path(__file__).resolve().parents]
    return next((c for c in candidates if c.is_dir()), None)


def write_images(mnist, folder, rows, labels=None):
    """The first images of MNIST: `rows` to train on, 500 to test; `labels` changes those to train on."""
    folder.mkdir()
    for part, count in (("train", rows), ("t10k", 500)):
        for kind in ("images-idx3", "labels-idx1"):
            name = f"{part}-{kind}-ubyte"
            plain = mnist / name
            content = plain.read_bytes() if plain.exists() else gzip.open(mnist / f"{name}.gz").read()
            rank = content[3]
            shape = struct.unpack(f">{rank}I", content[4:4 + 4 * rank])
            body = content[4 + 4 * rank:][:count * math.prod(shape[1:])]
            if labels and part == "train" and rank == 1:
                body = bytes(labels(list(body)))
            (folder / name).write_bytes(struct.pack(f">I{rank}I", 0x800 + rank, count, *shape[1:]) + body)


def shuffled(values):
    random.Random(1).shuffle(values)
    return values


def flowers(rows, seed=1):
    """Four measurements of three kinds."""
    chance = random.Random(seed)
    middles = {"a": (5.0, 3.4, 1.5, 0.2), "b": (5.9, 2.8, 4.3, 1.3), "c": (6.6, 3.0, 5.5, 2.0)}
    kinds = [chance.choice("abc") for _ in range(rows)]
    return [[*(chance.gauss(m, s) for m, s in zip(middles[k], (0.4, 0.3, 0.3, 0.2))), k] for k in kinds]


def houses(rows, scale=1.0):
    """Three measurements and a price."""
    chance = random.Random(2)
    table = []
    for _ in range(rows):
        a, b, c = (chance.uniform(-1, 1) for _ in range(3))
        table.append([a, b, c, scale * (2 * a - b * c + math.sin(3 * b) + chance.gauss(0, 0.05))])
    return table


def write_table(path, columns, rows):
    number = lambda value: f"{value:.6g}" if isinstance(value, float) else str(value)
    path.write_text("\n".join(",".join(map(number, row)) for row in [columns.split(), *rows]) + "\n")


def write_npy(path, rows, kind):
    width = f"({len(rows)}, {len(rows[0])})" if isinstance(rows[0], list) else f"({len(rows)},)"
    header = f"{{'descr': '<{'f4' if kind == 'f' else 'i4'}', 'fortran_order': False, 'shape': {width}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    values = [v for row in rows for v in row] if isinstance(rows[0], list) else rows
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}{kind}", *values))


def write_data(folder, mnist):
    if mnist:
        write_images(mnist, folder / "mnist", 2000)
        write_images(mnist, folder / "shuffled", 2000, shuffled)
        write_images(mnist, folder / "ten", 10)
    rows = flowers(300)
    scaled = lambda *factors: [[*(f * v for f, v in zip(factors, row)), row[-1]] for row in rows]
    names = "length width petal_length petal_width"
    write_table(folder / "flowers.csv", f"{names} kind", rows)
    write_table(folder / "units.csv", f"{names} kind", scaled(1e-3, 1, 1e3, 1e6))
    write_table(folder / "large.csv", f"{names} kind", scaled(1e4, 1e4, 1e4, 1e4))
    write_table(folder / "code.csv", f"{names} code kind", [[*row[:-1], 2 * "abc".index(row[-1]), row[-1]] for row in rows])
    write_table(folder / "year.csv", f"{names} year kind", [[*row[:-1], 2026, row[-1]] for row in rows])
    write_table(folder / "twice.csv", f"{names} kind", rows + rows[:60])
    write_table(folder / "train.csv", f"{names} kind", rows[:200])
    write_table(folder / "test.csv", f"{names} kind", rows[200:])
    write_table(folder / "inches.csv", f"{names} kind", [[*(v / 0.254 for v in row[:-1]), row[-1]] for row in rows[200:]])
    write_table(folder / "markers.csv", f"{names} kind", [[row[0] if number % 20 else -9999, *row[1:]] for number, row in enumerate(rows)])
    homes, chance = houses(400), random.Random(3)
    write_table(folder / "taxed.csv", "a b c tax price", [[*row[:-1], 0.1 * row[-1] + chance.gauss(0, 0.02), row[-1]] for row in homes])
    write_table(folder / "typo.csv", "a b c price", [*homes[:40], [*homes[40][:-1], 1e7], *homes[41:]])
    write_table(folder / "houses.csv", "a b c price", houses(400))
    write_table(folder / "prices.csv", "a b c price", houses(400, 1e4))
    inputs = [[(v - m) for v, m in zip(row, (5.8, 3.1, 3.8, 1.2))] for row in rows]
    write_npy(folder / "whole.npy", inputs, "f")
    inputs[17][2] = math.nan
    write_npy(folder / "hole.npy", inputs, "f")
    write_npy(folder / "kinds.npy", ["abc".index(row[-1]) for row in rows], "i")
    write_npy(folder / "twos.npy", [2] * len(rows), "i")


# ---- runs

@dataclasses.dataclass
class Illness:
    name: str
    rule: str  # of the first finding
    flags: str
    metric: str
    bound: float  # at least; for an rmse, at most. The ill run misses it and the cured one does not
    cure: str = ""  # flags, if the remedy is in words: the healthy data
    words: str = ""  # then these are part of the remedy
    harmless: bool = False  # the illness does not worsen the score: cured when there is no finding


IMAGES = "--data idx:mnist --epochs 10"
KINDS = "--data csv:{}.csv,target=kind"
SGD = "--optimizer sgd --momentum 0.9"
SIGMOIDS = f"--activation sigmoid --hidden {','.join(['64'] * 20)}"

ILLNESSES = [
    Illness("values that are NaN", "data_not_finite",
            "--data npy:hole.npy,targets=kinds.npy,standardize=none --epochs 20", "accuracy", 0.9,
            "--data npy:whole.npy,targets=kinds.npy,standardize=none --epochs 20", "remove these rows"),
    Illness("columns of different units", "inputs_not_normalized", KINDS.format("units") + ",standardize=none", "accuracy", 0.9),
    Illness("columns of different units, plain SGD", "inputs_not_normalized",
            KINDS.format("units") + f",standardize=none {SGD}", "accuracy", 0.9),
    Illness("inputs of 10,000", "inputs_not_normalized", KINDS.format("large") + f",standardize=none {SGD}", "accuracy", 0.9),
    Illness("targets of 10,000", "targets_not_normalized", "--data csv:prices.csv,target=price,standardize=none", "r2", 0.9),
    Illness("labels shuffled", "no_better_than_chance", "--data idx:shuffled --epochs 30", "accuracy", 0.85,
            IMAGES, "each target belongs to its row"),
    Illness("ten rows", "few_rows", "--data idx:ten", "accuracy", 0.85, IMAGES, "more rows"),
    Illness("one class", "one_answer", "--data npy:whole.npy,targets=twos.npy", "accuracy", 0.9,
            "--data npy:whole.npy,targets=kinds.npy --epochs 20", "add rows with other targets", harmless=True),
    Illness("a column that is the label", "target_leakage", KINDS.format("code"), "accuracy", 0.9, harmless=True),
    Illness("a constant column", "constant_column", KINDS.format("year") + " --epochs 20", "accuracy", 0.9, harmless=True),
    Illness("rows that come twice", "leaked_rows", KINDS.format("twice"), "accuracy", 0.9, KINDS.format("flowers"),
            "remove duplicate rows", harmless=True),
    Illness("a column that almost is the target", "likely_leakage", "--data csv:taxed.csv,target=price", "r2", 0.9, harmless=True),
    Illness("a test file in other units", "sets_differ", KINDS.format("train") + ",test=inches.csv --epochs 20", "accuracy", 0.9,
            KINDS.format("train") + ",test=test.csv --epochs 20", "units of the training set"),
    Illness("one target of 10,000,000", "far_value", "--data csv:typo.csv,target=price", "r2", 0.9,
            "--data csv:houses.csv,target=price", "correct or remove"),
    Illness("missing values written as -9999", "far_value", KINDS.format("markers") + " --epochs 20", "accuracy", 0.9, harmless=True),
    Illness("an eps of 0", "loss_not_finite", f"{IMAGES} --eps 0", "accuracy", 0.85),
    Illness("first weights of 0", "poor_initialization", f"{IMAGES} --init zeros", "accuracy", 0.85),
    Illness("learning rate 10", "loss_exploding", f"{IMAGES} --lr 10", "accuracy", 0.85),
    Illness("learning rate 10, plain SGD", "loss_exploding", f"{IMAGES} {SGD} --lr 10", "accuracy", 0.85),
    Illness("learning rate 100", "loss_exploding", f"{IMAGES} --lr 100", "accuracy", 0.85),
    Illness("learning rate 100, plain SGD", "loss_not_finite", f"{IMAGES} {SGD} --hidden 256,128 --batch 128 --lr 100", "accuracy", 0.8),
    Illness("learning rate 1e-7", "update_ratio", f"{IMAGES} --lr 1e-7", "accuracy", 0.85),
    Illness("learning rate 1e-7, plain SGD", "update_ratio", f"{IMAGES} {SGD} --lr 1e-7", "accuracy", 0.85),
    Illness("gradients clipped to 1e-6", "update_ratio", f"{IMAGES} {SGD} --lr 0.05 --clip-norm 1e-6", "accuracy", 0.85),
    Illness("20 layers of sigmoids", "vanishing_gradient", f"{IMAGES} {SIGMOIDS} --dropout 0.2", "accuracy", 0.7),
    Illness("one hidden unit", "underfitting", f"{IMAGES} --hidden 1 --activation tanh", "accuracy", 0.85),
    Illness("one short epoch", "underfitting", f"--data idx:mnist {SGD} --epochs 1 --lr 0.005", "accuracy", 0.8),
    Illness("dropout 0.99", "too_much_dropout", f"{IMAGES} --dropout 0.99", "accuracy", 0.85),
    Illness("weight decay 10", "too_much_decay", f"{IMAGES} --weight-decay 10", "accuracy", 0.85),
]

HEALTHY = [
    IMAGES,
    f"{IMAGES} {SGD} --lr 0.05 --dropout 0.2",
    f"{IMAGES} --optimizer adamw --activation gelu --norm layer",
    f"{IMAGES} --activation tanh --init xavier --hidden 64",
    f"{IMAGES} --hidden 256,128 --batch 64 --dropout 0.3 --lr 0.001",
    KINDS.format("flowers") + " --epochs 20",
    "--data csv:houses.csv,target=price",
    "--data moons", "--data spiral", "--data circles", "--data sine", "--data abs", "--data xor",
    "--data digits --steps 200",
]


class Run:
    """One training run: its findings, its score."""

    def __init__(self, tool, folder, name, flags):
        self.path = folder / name
        command = [tool, "train", *flags, "--threads", "1", "--out", self.path]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
        # A run with a loss that is not finite exits with 1.
        if done.returncode not in (0, 1) or not (self.path / "log.jsonl").exists():
            raise SystemExit(f"{name}: {done.stderr}")
        log = [json.loads(line) for line in (self.path / "log.jsonl").read_text().splitlines()]
        self.end = log[-1]
        out = subprocess.run([tool, "doctor", self.path, "--json"], cwd=folder, check=True, capture_output=True, text=True)
        said = json.loads(out.stdout)
        self.findings = said["findings"]
        told = {finding["rule"] for finding in said["findings"] + said["earlier"]}
        # Findings that training printed on the way.
        self.unsaid = [e["rule"] for e in log if e["event"] == "finding" and e["rule"] not in told]
        self.config = json.loads((self.path / "config.json").read_text())

    def score(self, metric):
        return self.end.get("test", {}).get(metric, -math.inf)


def value_at(config, path):
    for key in path.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return config


def remedied(flags, remedy):
    """The flags of a command, changed as the remedy says."""
    words = flags.split()
    chosen = dict(zip(words[::2], words[1::2]))
    names = dict(re.findall(r"^\| `([a-z_.]+)` \| `(--[a-z-]+)` \|", KEYS.read_text(), re.M))
    for setting in remedy["settings"]:
        value = setting["value"]
        chosen[names[setting["key"]]] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        if setting["key"] == "model.layers":
            chosen.pop("--hidden", None)
    return [word for pair in chosen.items() for word in pair]


def faults_of(findings, config):
    """What no list of findings may contain."""
    keys = {}
    for finding in findings:
        settings = [s for remedy in finding.get("remedies", []) for s in remedy.get("settings", [])]
        if settings and "follows_from" in finding:
            yield f"{finding['rule']} follows from another and has a remedy of its own"
        for setting in settings:
            if keys.setdefault(setting["key"], finding["rule"]) != finding["rule"]:
                yield f"{setting['key']} is moved by {keys[setting['key']]} and by {finding['rule']}"
            if value_at(config, setting["key"]) == setting["value"]:
                yield f"{finding['rule']} recommends {setting}, which is in force"


def score_text(score):
    return "none" if score == -math.inf else f"{score:.3g}"


def examine(tool, folder, illness):
    """The row of the table, and the errors in it."""
    name = illness.name.replace(" ", "-").replace(",", "")
    # A new folder for each, without earlier attempts.
    run = Run(tool, folder, f"{name}/ill", illness.flags.split())
    found = [finding["rule"] for finding in run.findings]
    if found[:1] != [illness.rule]:
        return None, [f"found {found}, {illness.rule} is expected first"]
    first = run.findings[0]
    faults = list(faults_of(run.findings, run.config))
    if run.unsaid:
        faults.append(f"training warned of {run.unsaid}, and the doctor says nothing of it")
    if "settings" not in first["remedies"][0]:
        if not illness.cure or illness.words not in first["fix"]:
            return None, [f"the remedy is {first['fix']!r}"]
        cured = Run(tool, folder, f"{name}/cured", illness.cure.split())
    else:
        cured = Run(tool, folder, f"{name}/cured", remedied(illness.flags, first["remedies"][0]))
    before, after = run.score(illness.metric), cured.score(illness.metric)
    if not illness.harmless and before >= illness.bound:
        faults.append(f"it is not ill: {illness.metric} {before:.3g}")
    if after < illness.bound:
        faults.append(f"not cured by {first['fix']!r}: {illness.metric} {after:.3g}")
    if illness.rule in [finding["rule"] for finding in cured.findings]:
        faults.append(f"{illness.rule} is found again: {cured.findings}")
    if others := [f["rule"] for f in run.findings[1:] if "follows_from" not in f and f["severity"] == "error"]:
        faults.append(f"{others} do not follow from {illness.rule}")
    symptom = f"{first['rule']}: {first['symptom']}".replace("|", "\\|")
    remedy = first["remedies"][0].get("words") or re.split(r", or |, (?=-)", first["fix"])[0]
    scores = f"{illness.metric} {score_text(before)}, then {score_text(after)}"
    return f"| {illness.name} | {symptom} | {remedy} | {scores} |\n", faults


RULE_OF_TRYING_AGAIN = "loss_exploding"


def faults_of_trying_again(tool, folder):
    """A remedy that an earlier run of the folder used in vain is not recommended again, however often the illness returns."""
    flags = f"--data moons {SGD} --lr 100 --epochs 20"
    rates = []
    for number in range(3):
        remedies = Run(tool, folder, f"again/{2 * number}", flags.split()).findings[0].get("remedies", [])
        rates.append([s["value"] for r in remedies for s in r.get("settings", []) if s["key"] == "optimizer.lr"])
        settings = [r for r in remedies if "settings" in r]
        if settings:
            tried = Run(tool, folder, f"again/{2 * number + 1}", remedied(flags, settings[0]))
            with open(tried.path / "log.jsonl", "a") as log:  # as if it had not helped
                log.write(f'{{"event":"finding","rule":"{RULE_OF_TRYING_AGAIN}"}}\n')
    if not rates[0] or any(rate in rates[0] for later in rates[1:] for rate in later):
        yield f"tried again and again: {rates}"


def main():
    tool = pathlib.Path(sys.argv[1]).resolve()
    mnist = find_mnist()
    page = PAGE.read_text()
    table = "| illness | what the doctor said first | what to try | score before, and with the remedy |\n|---|---|---|---|\n"
    failures = 0
    with tempfile.TemporaryDirectory(prefix="limpid-doctor-") as name:
        folder = pathlib.Path(name)
        write_data(folder, mnist)
        for illness in ILLNESSES:
            if "idx:" in illness.flags and not mnist:
                print(f"{illness.name}: skipped: no data")
                continue
            row, faults = examine(tool, folder, illness)
            table += row or ""
            if row and row not in page and "--write" not in sys.argv:
                faults.append(f"docs/diagnosis.md has another row: {row}")
            for fault in faults:
                print(f"{illness.name}: {fault}")
            failures += len(faults)
        for fault in faults_of_trying_again(tool, folder):
            print(fault)
            failures += 1
        for number, flags in enumerate(HEALTHY):
            if "idx:" in flags and not mnist:
                print(f"{flags}: skipped: no data")
                continue
            run = Run(tool, folder, f"healthy/{number}", flags.split())
            for finding in run.findings:
                print(f"{flags}: a healthy run, but the doctor finds {finding['rule']}: {finding['symptom']}")
                failures += 1
            if run.unsaid:
                print(f"{flags}: training warned of {run.unsaid}, and the doctor says nothing of it")
                failures += 1
    if "--write" in sys.argv:
        before, rest = page.split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1])
    return 1 if failures else 0


sys.exit(main())
