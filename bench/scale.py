"""Measures training on several processes, and models its cost. SCALE.md has the figures and defines the letters of the model.

`python3 bench/scale.py speed <limpid> [rounds [ranks]]`: compares 2 ranks, or as many, with as many threads, with as many processes that
exchange nothing, and with PyTorch's DistributedDataParallel if installed, in turns. Prints medians of the rounds.
`python3 bench/scale.py exchanges <limpid> <timed_mpi> [rounds]`: the share of a step that each of 2 ranks spends in exchanges;
timed_mpi is the folder with the module of timed_mpi.cc. Prints medians.
`python3 bench/scale.py memory <limpid>`: the memory of each of 2 ranks for every kind of data: the peak, and during training.
`python3 bench/scale.py ranks <limpid> <programs> [rounds]`: compares the model with 1 to 16 ranks of Open MPI on this machine. The times
of one rank with 8 and 16 shards give g and u, a sum on two ranks gives w and l; the model predicts the rest. Each time is the best of all
rounds.
`python3 bench/scale.py network <gbit> <ranks> <program> [arguments]`: starts a program as ranks of Open MPI over TCP, each in its own
network namespace, connected by Ethernet of this many Gbit/s. Requires root and iproute2.
`python3 bench/scale.py paper <programs>`: the model's prediction for 64 to 4,096 hosts.
<programs> is the folder with scale_bench and draw; `ranks` and `paper` also draw plots/ranks.svg and plots/hosts.svg."""

import contextlib
import csv
import dataclasses
import json
import math
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
OPEN_MPI = ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n"]
MPICH = ["mpirun.mpich", "-n"]
# The one with PyTorch, as in foreign.cc.
PYTHON = os.environ.get("LIMPID_BENCH_PYTHON") or "/usr/bin/python3"
OPEN_BLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"


# ---- runs

def command(tool, launcher, options, folder):
    threads = ["--threads", "1"] if launcher else []
    return [*launcher, tool, "train", *map(str, options), *threads, "--out", folder, "--overwrite"]


def of_log(folder):
    """Examples per second in the median epoch, and the number of trained parameters."""
    events = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    speed = statistics.median(e["samples_per_second"] for e in events if e["event"] == "epoch")
    return speed, next(e["parameters"] for e in events if e["event"] == "run")


def trained(tool, launcher, options, folder, **environment):
    """The result of of_log() for a training run, and its output."""
    said = subprocess.run(command(tool, launcher, options, folder), check=True, stdout=subprocess.PIPE, text=True,
                          env=ENVIRONMENT | environment).stdout
    return *of_log(folder), said


@dataclasses.dataclass
class Training:
    title: str
    options: list
    batch: int
    steps: int
    pytorch: str  # its name in peer_ddp.py

    def cut(self, batch, shards, steps):
        return [*self.options, "--batch", batch, "--shards", shards, "--steps", steps]


def trainings(folder, gpt_batch):
    sentence = "the quick brown fox jumps over the lazy dog. "
    text = folder / "text.txt"
    text.write_text(sentence * 4000)
    return [Training("MLP 784-256-128-10", ["--data", "digits", "--dropout", "0", "--probe-every", "0"], 512, 400, "mlp"),
            Training("GPT of 4 blocks, width 128, context 64",
                     ["--data", f"text:{text}", "--model", "gpt", "--layers", "4", "--heads", "4", "--width", "128", "--context", "64",
                      "--sample-every", "0", "--probe-every", "0"], gpt_batch, 100, f"gpt:{len(set(sentence))}")]


# ---- speed

def by_limpid(launcher, ranks):
    def run(tool, training, folder):
        threads = [] if launcher else ["--threads", ranks]
        speed, parameters, _ = trained(tool, launcher, [*training.cut(training.batch, ranks, training.steps), *threads], folder)
        return speed, parameters
    return run


def by_limpid_alone(ranks):
    """Processes at the same time, each on its part of the batch, independent of each other."""
    def run(tool, training, folder):
        part = training.cut(training.batch // ranks, 1, training.steps)
        outs = [folder / str(i) for i in range(ranks)]
        processes = [subprocess.Popen(command(tool, ["taskset", "-c", str(i)], part, out), stdout=subprocess.DEVNULL)
                     for i, out in enumerate(outs)]
        if any(process.wait() for process in processes):
            sys.exit("a training failed")
        logs = [of_log(out) for out in outs]
        return ranks * min(speed for speed, _ in logs), logs[0][1]
    return run


def by_pytorch(way, ranks):
    def run(_, training, folder):
        meeting = folder / "meeting"
        meeting.unlink(missing_ok=True)
        # Without this variable OpenBLAS detects the CPU itself.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
        environment |= {"OMP_NUM_THREADS": "1", "LD_LIBRARY_PATH": f"{OPEN_BLAS}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
            environment["ATEN_CPU_CAPABILITY"] = "avx512"  # as in peers.cc
        processes = [subprocess.Popen([PYTHON, HERE / "peer_ddp.py", way, str(rank), str(ranks), meeting, training.pytorch,
                                       str(training.batch), str(training.steps)], stdout=subprocess.PIPE, text=True, env=environment)
                     for rank in range(ranks)]
        said = [process.communicate()[0] for process in processes]
        if any(process.returncode for process in processes):
            sys.exit("PyTorch failed")
        seconds, parameters, blas = said[0].split(maxsplit=2)
        if not blas.startswith(("OpenBLAS for", "Intel")):
            sys.exit("PyTorch has neither OpenBLAS (packages-bench.txt) nor MKL")
        return training.batch / float(seconds), int(parameters)
    return run


def has_gloo():
    script = "import torch.distributed as d; raise SystemExit(not (d.is_available() and d.is_gloo_available()))"
    return subprocess.run([PYTHON, "-c", script], stderr=subprocess.DEVNULL).returncode == 0


def compare_speed(tool, rounds, folder, ranks=2):
    cpus = len(os.sched_getaffinity(0))
    if ranks not in (2, 4, 8, 16) or ranks > cpus:
        sys.exit(f"scale.py: expected 2, 4, 8 or 16 ranks, at most one for each of {cpus} CPUs, got {ranks}")
    ours = f"{ranks} ranks of 1 thread, Open MPI"
    ways = {
        ours: by_limpid([*OPEN_MPI, str(ranks)], ranks),
        f"{ranks} ranks of 1 thread, MPICH": by_limpid([*MPICH, str(ranks)], ranks),
        f"1 rank of {ranks} threads": by_limpid([], ranks),
        f"{ranks} processes alone, a part of the batch each": by_limpid_alone(ranks),
    }
    if has_gloo():
        ways |= {f"PyTorch DDP, Gloo, {ranks} processes": by_pytorch("ddp", ranks),
                 f"PyTorch, {ranks} processes alone": by_pytorch("alone", ranks)}
    else:
        print("PyTorch is left out: no torch.distributed with Gloo\n")
    for training in trainings(folder, 12 if 12 % ranks == 0 else 16):
        found = {way: [] for way in ways}
        parameters = set()
        for _ in range(rounds):
            for way, run in ways.items():
                speed, trains = run(tool, training, folder)
                found[way].append(speed)
                parameters.add(trains)
        if len(parameters) != 1:
            sys.exit(f"{training.title}: the networks have {parameters} parameters")
        print(f"{training.title}, batch {training.batch}, {rounds} rounds:\n\n"
              f"| way | examples/s | {ours} against it |\n|---|---|---|")
        for way, speeds in found.items():
            ratios = [a / b for a, b in zip(found[ours], speeds)]
            print(f"| {way} | {statistics.median(speeds):,.0f} | {statistics.median(ratios):.2f} "
                  f"({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)
        print()


# ---- exchanges

def show_exchanges(tool, timed_mpi, rounds, folder):
    environment = {"LIMPID_MPI_MODULES": str(pathlib.Path(timed_mpi).resolve()),
                   "LIMPID_TIMED_MODULE": str(pathlib.Path(tool).resolve().parent / "limpid-mpi-openmpi.so")}
    print("| training | a step, ms | in exchanges: the rank that waits less, ms | the other one, ms |\n|---|---|---|---|")
    for training in trainings(folder, 12):
        steps, less, more = [], [], []
        few = training.steps // 4
        for _ in range(rounds):
            seconds = {}
            for count in (few, training.steps):
                speed, _, said = trained(tool, [*OPEN_MPI, "2"], training.cut(training.batch, 2, count), folder, **environment)
                lines = [line.split() for line in said.splitlines() if line.startswith("timed_mpi: rank")]
                seconds[count] = [float(words[-2]) for words in sorted(lines)]
            # Without the exchanges at the start, at the end and in the last evaluation.
            spent = sorted((b - a) / (training.steps - few) for a, b in zip(seconds[few], seconds[training.steps]))
            steps.append(training.batch / speed)
            less.append(spent[0])
            more.append(spent[1])
        print(f"| {training.title}, batch {training.batch} | " +
              " | ".join(f"{1000 * statistics.median(t):.2f} ({1000 * min(t):.2f} to {1000 * max(t):.2f})" for t in (steps, less, more)) +
              " |", flush=True)


# ---- memory

ROWS, PIXELS = 60000, 784


def write_idx(folder):
    folder.mkdir()
    for part, rows in (("train", ROWS), ("t10k", ROWS // 6)):
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">iiii", 2051, rows, 28, 28) + random.randbytes(rows * PIXELS))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">ii", 2049, rows) + bytes(i % 10 for i in range(rows)))


def write_npy(file, dtype, shape, content):
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + content)


def kinds_of_data(folder):
    """Title, --data, the count of numbers in all its parts, further options."""
    columns, lines = 100, 100000
    write_idx(folder / "idx")
    numbers = [i % 251 / 251 for i in range(ROWS * 100)]
    write_npy(folder / "x.npy", "<f4", (ROWS, 100), struct.pack(f"<{len(numbers)}f", *numbers))
    write_npy(folder / "y.npy", "<i4", (ROWS,), struct.pack(f"<{ROWS}i", *(i % 10 for i in range(ROWS))))
    with open(folder / "table.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(f"c{i}" for i in range(columns)), "y"])
        table.writerows([*((i * 7 + j) % 997 for j in range(columns)), "ab"[i % 2]] for i in range(lines))
    with open(folder / "categories.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*(f"c{i}" for i in range(10)), "y"])
        table.writerows([*(f"k{(i * 7 + j * j) % 100}" for j in range(10)), i % 89] for i in range(lines))
    sentence = "the quick brown fox jumps over the lazy dog. "
    (folder / "short.txt").write_text(sentence * 1_000_000)
    (folder / "accents.txt").write_text(sentence.replace("jumps", "sprang \u00fcber") * 870_000, encoding="utf-8")
    (folder / "long.txt").write_text(sentence * 4_000_000)
    write_npy(folder / "wide.npy", "|u1", (ROWS, 4 * PIXELS), random.randbytes(ROWS * 4 * PIXELS))
    npy = f"npy:{folder / 'x.npy'},targets={folder / 'y.npy'}"
    wide = f"npy:{folder / 'wide.npy'},targets={folder / 'y.npy'}"
    gpt = ["--model", "gpt", "--layers", "1", "--heads", "1", "--width", "8", "--context", "16", "--sample-every", "0"]
    return [("moons: next to nothing", "moons", 0, []),
            ("idx: MNIST's size", f"idx:{folder / 'idx'}", ROWS * 7 // 6 * PIXELS, []),
            ("idx, split=80/20", f"idx:{folder / 'idx'},split=80/20", ROWS * 7 // 6 * PIXELS, []),
            (f"npy: f32 [{ROWS:,}, 100]", npy, ROWS * 100, []),
            (f"npy: u8 [{ROWS:,}, {4 * PIXELS:,}]", wide, ROWS * 4 * PIXELS, []),
            (f"csv: {lines:,} rows of {columns} numbers", f"csv:{folder / 'table.csv'},target=y", lines * columns, []),
            (f"csv: {lines:,} rows of 10 columns with 100 categories", f"csv:{folder / 'categories.csv'},target=y", lines * 1000, []),
            ("text: 45 million characters", f"text:{folder / 'short.txt'}", 45_000_000, gpt),
            ("text: 45 million, some not of ASCII", f"text:{folder / 'accents.txt'}", 45_000_000, gpt),
            ("text: 180 million characters", f"text:{folder / 'long.txt'}", 180_000_000, gpt)]


def memory_of(process):
    """VmHWM, VmRSS and RssAnon in bytes of the descendants of a process, by id."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines())
        except OSError:
            continue
        if int(status["PPid"]) == process.pid and "VmRSS" in status:
            found[int(entry.name)] = [1024 * int(status[key].split()[0]) for key in ("VmHWM", "VmRSS", "RssAnon")]
    return found


def has_trained(log):
    return log.exists() and '"event":"step"' in log.read_text()


def show_memory(tool, folder):
    print("| data | its files, MB | its numbers, 4 bytes each, MB | a rank at most, MB | of that its own, MB | while it trains, MB | "
          "of that its own, MB |\n|" + "---|" * 7)
    for at, (title, data, numbers, options) in enumerate(kinds_of_data(folder)):
        out = folder / str(at)
        process = subprocess.Popen(command(tool, [*OPEN_MPI, "2"], ["--data", data, *(options or ["--hidden", "8"]), "--shards", "2",
                                                                    "--epochs", "1000000", "--probe-every", "0"], out),
                                   stdout=subprocess.DEVNULL, env=ENVIRONMENT)
        own = 0
        while process.poll() is None and not has_trained(out / "log.jsonl"):
            time.sleep(0.02)
            own = max([own, *(memory[2] for memory in memory_of(process).values())])
        ranks = memory_of(process)
        process.terminate()
        process.wait()
        sources = [pathlib.Path(part.split("=")[-1].split(":")[-1]) for part in data.split(",")]
        files = [f for s in sources if s.exists() for f in ([s] if s.is_file() else s.iterdir())]
        most, now, now_own = (max(memory[i] for memory in ranks.values()) for i in range(3))
        print(f"| {title} | {sum(f.stat().st_size for f in files) / 1e6:.0f} | {4 * numbers / 1e6:.0f} | " +
              " | ".join(f"{bytes / 1e6:.0f}" for bytes in (most, own, now, now_own)) + " |", flush=True)


# ---- plots

def draw(programs, name, title, y, curves):
    """Draws curves over the number of ranks, by name."""
    plot = {"title": title, "x": "ranks", "y": y, "curves": curves}
    with open(HERE / "plots" / name, "w") as file:
        subprocess.run([pathlib.Path(programs) / "draw"], input=json.dumps(plot), check=True, stdout=file, text=True)


# ---- over a network

@contextlib.contextmanager
def network(hosts, gbit):
    """Network namespaces connected by one switch; every link carries `gbit` Gbit/s in each direction. Yields Open MPI's launcher, which
    starts a rank in each namespace."""
    names = [f"limpid{os.getpid()}n{i}" for i in range(hosts)]
    switch = f"limpid{os.getpid()}s"

    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def limit(name, device):
        subprocess.run(["tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{gbit}gbit", "burst", "128kb",
                        "latency", "20ms"], check=True)

    try:
        ip("netns", "add", switch)
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        for i, name in enumerate(names):
            ip("netns", "add", name)
            ip("link", "add", "eth", "netns", name, "type", "veth", "peer", "name", f"port{i}", "netns", switch)
            ip("-n", switch, "link", "set", f"port{i}", "master", "bridge", "up")
            ip("-n", name, "addr", "add", f"10.79.0.{i + 1}/24", "dev", "eth")
            for device in ("lo", "eth"):
                ip("-n", name, "link", "set", device, "up")
            limit(name, "eth")
            limit(switch, f"port{i}")
        with tempfile.TemporaryDirectory() as folder:
            shell = pathlib.Path(folder) / "remote_shell"  # called like ssh: options, an address, a command line
            shell.write_text(f"""#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$((${{1##*.}} - 1))
shift
exec ip netns exec limpid{os.getpid()}n$host unshare --uts sh -c "hostname host$host; $*"
""")
            shell.chmod(0o755)
            yield ["ip", "netns", "exec", names[0], *OPEN_MPI[:-1], "--mca", "plm_rsh_agent", shell, "--mca", "pml", "ob1", "--mca", "btl",
                   "tcp,self", "--mca", "btl_tcp_if_include", "10.79.0.0/24", "--mca", "oob_tcp_if_include", "10.79.0.0/24", "--host",
                   ",".join(f"10.79.0.{i + 1}:1" for i in range(hosts)), "-n", str(hosts)]
    finally:
        for name in (*names, switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def run_over_network(gbit, ranks, *program):
    folder = pathlib.Path(program[0]).resolve().parent
    modules = folder if list(folder.glob("limpid-mpi-*.so")) else folder.parent
    with network(int(ranks), gbit) as launcher:
        subprocess.run([*launcher, "-x", "LIMPID_MPI_MODULES", *program], check=True, env=ENVIRONMENT | {"LIMPID_MPI_MODULES": str(modules)})


# ---- the model

PAUSE = 0.0005  # the longest pause of a rank that waits for one without a core (limpid/distribute/launched_ranks.cc)


@dataclasses.dataclass
class Cost:
    """In seconds and bytes; SCALE.md defines the letters."""
    shards: int       # S
    g: float          # a shard's gradient
    u: float          # the update of all parameters
    gradient: float   # B
    w: float          # bytes a second
    l: float          # seconds of a message
    cores: float = math.inf  # cores shared by all ranks; None: each rank has its own

    def parts(self, ranks):
        """Seconds for gradients, the update, bytes, messages and pauses."""
        crowd = max(1.0, ranks / self.cores)
        gradients = self.g * max(math.ceil(self.shards / ranks), self.shards / min(self.cores, self.shards))
        sent = 2 * self.gradient / self.w * (ranks - 1) / ranks
        return (gradients, crowd * self.u / ranks, crowd * sent, crowd * 3 * (ranks - 1) * self.l, 3 * PAUSE if crowd > 1 else 0)

    def step(self, ranks):
        return sum(self.parts(ranks))

    def hidden(self, ranks):
        """The most that overlap could save in a step: half of the bytes are gradients, which could travel during a rank's last backward
        pass, and half are parameters, which could travel during its next forward pass."""
        sent = self.parts(ranks)[2] / 2
        return min(sent, 2 / 3 * self.g) + min(sent, 1 / 3 * self.g)


def tree_seconds(tool, programs, elements, rounds):
    """Seconds of a sum on two ranks, by number of elements. The MPI module is in the folder of the tool."""
    best = {}
    for _ in range(rounds):
        said = subprocess.run([*OPEN_MPI, "2", pathlib.Path(programs) / "scale_bench", *map(str, elements)], check=True,
                              capture_output=True, text=True,
                              env=ENVIRONMENT | {"LIMPID_MPI_MODULES": str(pathlib.Path(tool).resolve().parent)}).stdout
        for line in said.splitlines()[2:]:
            cells = line.split("|")
            best[int(cells[1])] = min(best.get(int(cells[1]), math.inf), float(cells[3]) / 1000)
    return [best[e] for e in elements]


def compare_with_model(tool, programs, rounds, folder):
    cores = len(os.sched_getaffinity(0))
    few, many = 1000, 4_000_000
    small, large = tree_seconds(tool, programs, (few, many), rounds)
    w, l = 4 * (many - few) / (large - small), small / 2
    print(f"{cores} cores; w = {w / 1e9:.2f} GB/s, l = {1e6 * l:.0f} microseconds\n")
    all_shards, curves = 16, {}
    for training in trainings(folder, all_shards):
        ways = [(shards, 1) for shards in (all_shards // 2, all_shards)] + [(all_shards, n) for n in (2, 4, 8, 16)]
        best, parameters = {}, 0
        for _ in range(rounds):
            for shards, ranks in ways:
                of_step = training.batch * shards // all_shards  # the same number of examples per shard
                launcher = [] if ranks == 1 else [*OPEN_MPI, str(ranks)]
                options = training.cut(of_step, shards, 60) + ([] if launcher else ["--threads", "1"])
                speed, parameters, _ = trained(tool, launcher, options, folder)
                best[shards, ranks] = min(best.get((shards, ranks), math.inf), of_step / speed)
        half, whole = best[all_shards // 2, 1], best[all_shards, 1]
        u = max(0.0, 2 * half - whole)
        cost = Cost(all_shards, (whole - u) / all_shards, u, 4 * parameters, w, l, cores)
        print(f"{training.title}, batch {training.batch}, {all_shards} shards: g = {1000 * cost.g:.3f} ms, u = {1000 * cost.u:.3f} ms, "
              f"B = {cost.gradient:,}\n")
        print("| ranks | gradients | update | bytes | messages | pauses | model, ms | measured, ms | measured / model |\n|" +
              "---|" * 9)
        model, real = (curves.setdefault(f"{training.title}: {what}", []) for what in ("model", "measured"))
        for ranks in (1, 2, 4, 8, 16):
            took, parts = best[all_shards, ranks], cost.parts(ranks)
            model.append((ranks, 1000 * sum(parts)))
            real.append((ranks, 1000 * took))
            print(f"| {ranks} | " + " | ".join(f"{1000 * part:.2f}" for part in parts) +
                  f" | {1000 * sum(parts):.2f} | {1000 * took:.2f} | {took / sum(parts):.2f} |", flush=True)
        print()
    draw(programs, "ranks.svg", f"A step of {all_shards} shards on {cores} cores", "milliseconds", curves)


def on_paper(programs):
    """A GPT-2 of 124 million parameters, 4,096 sequences of 1,024 tokens a step, on hosts of 2 TFLOP/s at 25 Gb/s."""
    cost = Cost(shards=4096, g=0.38, u=0.04, gradient=498e6, w=3e9, l=20e-6)
    print("| ranks | gradient, s | bytes, s | messages, s | step, s | with overlap, s | speed against one rank | share of N |\n|" +
          "---|" * 8)
    counts = (1, 64, 256, 1024, 2048, 4096)
    for ranks in counts:
        gradients, _, sent, messages, _ = cost.parts(ranks)
        speed = cost.step(1) / cost.step(ranks)
        print(f"| {ranks:,} | {gradients:.2f} | {sent:.2f} | {messages:.2f} | {cost.step(ranks):.2f} | "
              f"{cost.step(ranks) - cost.hidden(ranks):.2f} | {speed:,.0f} | {100 * speed / ranks:.1f} % |")
    draw(programs, "hosts.svg", "124 million parameters in 4,096 shards, on paper", "speed against one rank", {
        "as many times as ranks": [(n, n) for n in counts],
        "with overlap": [(n, cost.step(1) / (cost.step(n) - cost.hidden(n))) for n in counts],
        "as it is": [(n, cost.step(1) / cost.step(n)) for n in counts]})


def main():
    what, *arguments = sys.argv[1:] or ["--help"]
    modes = {"speed": (compare_speed, 1, 2), "exchanges": (show_exchanges, 2, 1), "ranks": (compare_with_model, 2, 1)}
    with tempfile.TemporaryDirectory(prefix="limpid-scale-") as name:
        folder = pathlib.Path(name)
        if what in modes and modes[what][1] <= len(arguments) <= modes[what][1] + modes[what][2]:
            show, programs, _ = modes[what]
            rounds, *ranks = map(int, arguments[programs:] or [5])
            show(*arguments[:programs], rounds, folder, *ranks)
        elif what == "memory" and len(arguments) == 1:
            show_memory(*arguments, folder)
        elif what == "network" and len(arguments) >= 3:
            run_over_network(*arguments)
        elif what == "paper" and len(arguments) == 1:
            on_paper(*arguments)
        else:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
