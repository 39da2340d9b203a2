"""Training on several processes, and a model of its cost (SCALE.md says what it gave, and what the letters of the model are).

`python3 bench/scale.py threads <limpid> [rounds]`: ranks against threads. Trains in turns with one process of two threads and two
processes of one, and writes examples a second and the CPU time of a step over all processes, without start and end.
`python3 bench/scale.py ranks <limpid> <scale_bench> [rounds]`: the model against 1 to 16 ranks of Open MPI on this machine. What one
rank takes for 8 and 16 shards gives g and u, a sum on two ranks (scale_bench) gives w and l; all else is foretold.
`python3 bench/scale.py paper`: what the model says of 64 to 4,096 hosts.
Every time is the best of all rounds."""

import dataclasses
import json
import math
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n"]
WAYS = {
    "1 rank of 2 threads": ["--threads", "2"],
    "2 ranks of 1 thread": [*OPEN_MPI, "2"],
    "2 ranks of 1 thread, MPICH": ["mpirun.mpich", "-n", "2"],
}


# ---- runs

def trained(tool, way, recipe, batch, shards, steps, folder):
    """Examples a second and trained numbers, as the log has them, and seconds of CPU time of all processes."""
    launcher = way if way[0].startswith("mpirun") else []
    threads = ["--threads", "1"] if launcher else way
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*launcher, tool, "train", *recipe, "--batch", str(batch), "--shards", str(shards), "--steps", str(steps), *threads,
                    "--out", folder, "--overwrite"], check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    speed = [e["samples_per_second"] for e in events if e["event"] == "epoch"][-1]
    parameters = next(e["parameters"] for e in events if e["event"] == "run")
    return speed, parameters, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def recipes(folder):
    """Title, options, batch."""
    text = folder / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog. " * 4000)
    return [("MLP 784-256-128-10", ["--data", "digits", "--probe-every", "0"], 512),
            ("GPT of 4 blocks, width 128, context 64",
             ["--data", f"text:{text}", "--model", "gpt", "--layers", "4", "--heads", "4", "--width", "128", "--context", "64",
              "--sample-every", "0", "--probe-every", "0"], 16)]


# ---- ranks against threads

def measured(tool, way, recipe, batch, folder):
    """Examples a second, and milliseconds of CPU time a step."""
    few, many = 20, 100
    *_, start = trained(tool, way, recipe, batch, 2, few, folder)
    speed, _, all_of_it = trained(tool, way, recipe, batch, 2, many, folder)
    return speed, 1000 * (all_of_it - start) / (many - few)


def compare_with_threads(tool, rounds, folder):
    print("| training | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    for title, recipe, batch in recipes(folder):
        found = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way, how in WAYS.items():
                found[way].append(measured(tool, how, recipe, batch, folder / "run"))
        cells = [f"{max(s for s, _ in found[way]):.0f}/s, {min(c for _, c in found[way]):.1f} ms" for way in WAYS]
        print(f"| {title}, batch {batch} | " + " | ".join(cells) + " |", flush=True)


# ---- the model

PAUSE = 0.0005  # at most, of a rank that waits for one that has no core (limpid/distribute/launched_ranks.cc)


@dataclasses.dataclass
class Cost:
    """Seconds and bytes; the letters are SCALE.md's."""
    shards: int       # S
    g: float          # a shard's gradient
    u: float          # the update of all parameters
    gradient: float   # B
    w: float          # bytes a second
    l: float          # a message
    cores: float = math.inf  # that all ranks share; without, each has its own

    def parts(self, ranks):
        """Seconds for gradients, the update, bytes, messages and pauses."""
        crowd = max(1.0, ranks / self.cores)
        gradients = self.g * max(math.ceil(self.shards / ranks), self.shards / min(self.cores, self.shards))
        sent = 2 * self.gradient / self.w * (ranks - 1) / ranks
        return (gradients, crowd * self.u / ranks, crowd * sent, crowd * 3 * (ranks - 1) * self.l, 3 * PAUSE if crowd > 1 else 0)

    def step(self, ranks):
        return sum(self.parts(ranks))


def tree_seconds(tool, scale_bench, elements, rounds):
    """Of a sum on two ranks, by elements. The module for MPI is beside the tool."""
    best = {}
    for _ in range(rounds):
        said = subprocess.run([*OPEN_MPI, "2", scale_bench, *map(str, elements)], check=True, capture_output=True, text=True,
                              env=ENVIRONMENT | {"LIMPID_MPI_MODULES": str(pathlib.Path(tool).resolve().parent)}).stdout
        for line in said.splitlines()[2:]:
            cells = line.split("|")
            best[int(cells[1])] = min(best.get(int(cells[1]), math.inf), float(cells[3]) / 1000)
    return [best[e] for e in elements]


def compare_with_model(tool, scale_bench, rounds, folder):
    cores = len(os.sched_getaffinity(0))
    few, many = 1000, 4_000_000
    small, large = tree_seconds(tool, scale_bench, (few, many), rounds)
    w, l = 4 * (many - few) / (large - small), small / 2
    print(f"{cores} cores; w = {w / 1e9:.2f} GB/s, l = {1e6 * l:.0f} microseconds\n")
    all_shards = 16
    for title, recipe, batch in recipes(folder):
        ways = [(shards, 1) for shards in (all_shards // 2, all_shards)] + [(all_shards, n) for n in (2, 4, 8, 16)]
        best, parameters = {}, 0
        for _ in range(rounds):
            for shards, ranks in ways:
                of_step = batch * shards // all_shards  # as many examples a shard
                how = ["--threads", "1"] if ranks == 1 else [*OPEN_MPI, str(ranks)]
                speed, parameters, _ = trained(tool, how, recipe, of_step, shards, 60, folder / "run")
                best[shards, ranks] = min(best.get((shards, ranks), math.inf), of_step / speed)
        half, whole = best[all_shards // 2, 1], best[all_shards, 1]
        u = max(0.0, 2 * half - whole)
        cost = Cost(all_shards, (whole - u) / all_shards, u, 4 * parameters, w, l, cores)
        print(f"{title}, batch {batch}, {all_shards} shards: g = {1000 * cost.g:.3f} ms, u = {1000 * cost.u:.3f} ms, B = {cost.gradient:,}\n")
        print("| ranks | gradients | update | bytes | messages | pauses | model, ms | measured, ms | measured / model |\n|" + "---|" * 9)
        for ranks in (1, 2, 4, 8, 16):
            took, parts = best[all_shards, ranks], cost.parts(ranks)
            print(f"| {ranks} | " + " | ".join(f"{1000 * part:.2f}" for part in parts) +
                  f" | {1000 * sum(parts):.2f} | {1000 * took:.2f} | {took / sum(parts):.2f} |", flush=True)
        print()


def on_paper():
    """A GPT-2 of 124 million parameters, 4,096 sequences of 1,024 tokens a step, on hosts of 2 TFLOP/s at 25 Gb/s."""
    cost = Cost(shards=4096, g=0.38, u=0.04, gradient=498e6, w=3e9, l=20e-6)
    print("| ranks | gradient, s | bytes, s | messages, s | step, s | speed against one rank | share of N |\n|" + "---|" * 7)
    for ranks in (1, 64, 256, 1024, 2048, 4096):
        gradients, _, sent, messages, _ = cost.parts(ranks)
        speed = cost.step(1) / cost.step(ranks)
        print(f"| {ranks:,} | {gradients:.2f} | {sent:.2f} | {messages:.2f} | {cost.step(ranks):.2f} | {speed:,.0f} | "
              f"{100 * speed / ranks:.1f} % |")


def main():
    what, *arguments = sys.argv[1:] or ["--help"]
    programs = {"threads": 1, "ranks": 2, "paper": 0}.get(what)
    if programs is None or not programs <= len(arguments) <= programs + 1:
        sys.exit(__doc__)
    rounds = int(arguments[programs]) if len(arguments) > programs else 5
    with tempfile.TemporaryDirectory(prefix="limpid-scale-") as name:
        folder = pathlib.Path(name)
        if what == "threads":
            compare_with_threads(arguments[0], rounds, folder)
        elif what == "ranks":
            compare_with_model(arguments[0], arguments[1], rounds, folder)
        else:
            on_paper()


if __name__ == "__main__":
    main()
