"""Ranks against threads: `python3 bench/scale.py <limpid> [rounds]` trains in turns with one process of two threads and two processes of
one. Of each it writes examples a second and the CPU time of a step over all processes, without start and end, the best of all rounds.
SCALE.md says what it gave."""

import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
WAYS = {
    "1 rank of 2 threads": ["--threads", "2"],
    "2 ranks of 1 thread": ["mpirun.openmpi", "-n", "2", "--oversubscribe", "--bind-to", "none"],
    "2 ranks of 1 thread, MPICH": ["mpirun.mpich", "-n", "2"],
}
RECIPES = {
    "MLP 784-256-128-10, batch 512": ["--data", "digits", "--batch", "512", "--probe-every", "0"],
    "GPT of 4 blocks, width 128, context 64, batch 12": [
        "--model", "gpt", "--layers", "4", "--heads", "4", "--width", "128", "--context", "64", "--batch", "12",
        "--sample-every", "0", "--probe-every", "0"],
}


def trained(tool, way, recipe, steps, folder):
    """Examples a second, as the log has them, and seconds of CPU time of all processes."""
    launcher = way if way[0].startswith("mpirun") else []
    threads = ["--threads", "1"] if launcher else way
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*launcher, tool, "train", *recipe, "--shards", "2", "--steps", str(steps), *threads, "--out", folder, "--overwrite"],
                   check=True, stdout=subprocess.DEVNULL, env=ENVIRONMENT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    speed = [e["samples_per_second"] for e in events if e["event"] == "epoch"][-1]
    return speed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(tool, way, recipe, folder):
    """Examples a second, and milliseconds of CPU time a step."""
    few, many = 20, 100
    _, start = trained(tool, way, recipe, few, folder)
    speed, all_of_it = trained(tool, way, recipe, many, folder)
    return speed, 1000 * (all_of_it - start) / (many - few)


def main():
    tool, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    print("| training | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    with tempfile.TemporaryDirectory(prefix="limpid-scale-") as name:
        folder = pathlib.Path(name)
        text = folder / "text.txt"
        text.write_text("the quick brown fox jumps over the lazy dog. " * 4000)
        for title, recipe in RECIPES.items():
            if "--data" not in recipe:
                recipe = ["--data", f"text:{text}", *recipe]
            found = {way: [] for way in WAYS}
            for _ in range(rounds):
                for way, how in WAYS.items():
                    found[way].append(measured(tool, how, recipe, folder / "run"))
            cells = [f"{max(s for s, _ in found[way]):.0f}/s, {min(c for _, c in found[way]):.1f} ms" for way in WAYS]
            print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
