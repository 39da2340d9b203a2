"""The same bits on CPUs that this machine is not: the tool trains under an emulator of x86 without AVX2, and of x86 with AVX2 and
without AVX-512, to the files that it writes here. Without FMA or BMI2, which its AVX2 code uses as well, it does not use AVX2.

usage: other_cpus_test.py LIMPID QEMU
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TEXT = "the same bits on every machine that has a fused multiply-add, and on those that have none\n" * 40
RUNS = [
    "--data moons --layers 2,40,33,2 --epochs 3",
    "--data digits,count=100 --hidden 24 --epochs 1 --optimizer adamw --dropout 0.1 --norm batch",
    "--data text:TEXT --model gpt --context 16 --width 24 --layers 1 --heads 2 --steps 4 --batch 4",
]


def weights(command: list[str], folder: Path, text: Path) -> list[bytes]:
    made = []
    for i, run in enumerate(RUNS):
        out = folder / str(i)
        words = [word.replace("TEXT", str(text)) for word in run.split()]
        done = subprocess.run([*command, "train", *words, "--out", str(out)], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{run}: exit {done.returncode}: {done.stderr}")
        made.append((out / "model.safetensors").read_bytes())
    return made


def check_choice(limpid: str, qemu: str) -> None:
    """A set that no CPU here has is refused with a list of those that may be used."""
    for cpu, isas in (("Haswell", "avx2, exact"), ("Haswell,-fma", "exact"), ("Haswell,-bmi2", "exact")):
        command = [qemu, "-cpu", cpu, limpid, "lab", "collapse"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"LIMPID_ISA": "avx512"})
        if f"available are {isas}\n" not in done.stderr:
            sys.exit(f"{cpu}: expected {isas}, got {done.stderr}")


def main() -> None:
    limpid, qemu = sys.argv[1:]
    check_choice(limpid, qemu)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        text = folder / "text"
        text.write_text(TEXT)
        here = weights([limpid], folder / "here", text)
        for cpu in ("qemu64", "Haswell"):
            emulated = weights([qemu, "-cpu", cpu, limpid], folder / cpu, text)
            for run, a, b in zip(RUNS, here, emulated):
                if a != b:
                    sys.exit(f"{run}: other weights on {cpu} than here")
            print(f"{cpu}: {len(RUNS)} trainings, the same weights")


if __name__ == "__main__":
    main()
