"""Training on several processes under Open MPI and MPICH: the same files, and what happens to ranks that differ, die or hang.

Each MPI is left out, with a line, where its launcher or its module is missing. LIMPID_KILLS=50 kills that many ranks."""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import textwrap
import time
import unittest

import hosts
import tool

BUILD = pathlib.Path(tool.TOOL).resolve().parent
KILLS = int(os.environ.get("LIMPID_KILLS", 4))
LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none"],
    "mpich": ["mpirun.mpich"],
}
# An input without an end: MPICH's launcher fails, and loses what the ranks say, if a rank ends before it got the input's end.
SILENCE = os.pipe()
# Open MPI wants to be asked twice by root.
ENVIRONMENT = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# How each MPI starts a rank on each host through a program that acts as ssh, over TCP only. Otherwise ranks of one machine would share its
# memory.
OVER_A_NETWORK = {
    "openmpi": lambda shell, addresses: (
        ["--mca", "plm_rsh_agent", shell, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
         "10.78.0.0/24", "--mca", "oob_tcp_if_include", "10.78.0.0/24", "--host", ",".join(f"{a}:1" for a in addresses)], {}),
    "mpich": lambda shell, addresses: (
        ["-launcher", "rsh", "-launcher-exec", shell, "-hosts", ",".join(addresses)], {"UCX_TLS": "tcp,self"}),
}  # fmt: skip


class Ranks(tool.ToolTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        tool.write_idx_folder(self.data, [i % 3 for i in range(60)], [i % 3 for i in range(20)])
        self.whole = self.folder / "whole"

    def arguments(self, *more, out, hidden="110,150"):
        """With more than 64 KiB of parameters, so that each rank updates a part of them, and sends complete subtrees early."""
        return ["train", "--data", f"idx:{self.data},split=80/20", "--hidden", hidden, "--dropout", "0.2", "--optimizer", "adamw",
                "--batch", "8", "--accumulate", "2", "--shards", "5", "--clip-norm", "1", "--threads", "1", "--epochs", "12",
                "--out", str(out), *map(str, more)]

    def command(self, kind, ranks, *arguments):
        return [*LAUNCHERS[kind], "-n", str(ranks), *arguments]

    def start(self, kind, ranks, *arguments, **environment):
        return subprocess.Popen(self.command(kind, ranks, tool.TOOL, *map(str, arguments)), stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, stdin=SILENCE[0], env=ENVIRONMENT | environment)

    def launched(self, kind, ranks, *arguments, **environment):
        """The output of several ranks, and how they end."""
        process = self.start(kind, ranks, *arguments, **environment)
        said, _ = process.communicate(timeout=120)
        return process.returncode, said.decode()

    def log(self, out):
        """The log's events without fields that differ from run to run."""
        events = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
        for event in events:
            for key in ("samples_per_second", "seconds", "command", "environment"):
                event.pop(key, None)
        return [event for event in events if event["event"] != "resume"]

    def expect_same_run(self, out, other):
        self.assertEqual((out / "model.safetensors").read_bytes(), (other / "model.safetensors").read_bytes())
        self.assertEqual(self.log(out), self.log(other))

    def wait_for(self, process, file):
        for _ in range(3000):
            self.assertIsNone(process.poll(), "it ended too early")
            if file.exists():
                return
            time.sleep(0.01)
        self.fail(f"no {file}")

    def ranks_of(self, out):
        """The ids of the processes that train into a folder, launchers aside."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[0] == os.fsencode(tool.TOOL) and os.fsencode(out) in words:
                found.append(int(entry.name))
        return sorted(found)


class WithoutMpi(Ranks):
    def test_a_launcher_without_its_module_is_an_error(self):
        for variables in ({"OMPI_COMM_WORLD_SIZE": "8"}, {"PMI_SIZE": "8"}, {"LIMPID_MPI": "mpich"}):
            run = subprocess.run([tool.TOOL, "train", "--data", "moons"], capture_output=True, timeout=60,
                                 env=ENVIRONMENT | variables | {"LIMPID_MPI_MODULES": str(self.folder)})
            self.assertEqual((run.returncode, run.stdout), (1, b""))
            self.says(run.stderr.decode())

    def test_srun_without_mpi_is_an_error(self):
        run = subprocess.run([tool.TOOL, "train", "--data", "moons"], capture_output=True, timeout=60,
                             env=ENVIRONMENT | {"SLURM_STEP_NUM_TASKS": "4"})
        self.assertEqual(run.returncode, 1)
        self.says(run.stderr.decode())

    def test_one_process_needs_none(self):
        run = subprocess.run([tool.TOOL, "train", "--data", "moons", "--epochs", "1"], capture_output=True, timeout=60,
                             env=ENVIRONMENT | {"OMPI_COMM_WORLD_SIZE": "1", "LIMPID_MPI_MODULES": str(self.folder)})
        self.assertEqual((run.returncode, run.stderr), (0, b""))


class Slurm(Ranks):
    """The job of docs/scale.md, with an srun that starts one process."""

    def setUp(self):
        super().setUp()
        guide = (pathlib.Path(__file__).parents[2] / "docs/scale.md").read_text()
        self.job = textwrap.dedent(re.search(r"(    #!/bin/bash\n(?:    .*\n)+)", guide)[1])
        self.assertIn("srun", self.job)
        (self.folder / "corpus.txt").write_text("the quick brown fox jumps over the lazy dog. " * 400)
        for name, does in (("srun", f'shift 2; exec {tool.TOOL} "$@"'), ("scontrol", 'echo "scontrol $*"')):
            (self.folder / name).write_text(f"#!/bin/bash\n{does}\n")
            (self.folder / name).chmod(0o755)

    def submit(self):
        environment = os.environ | {"HOME": str(self.folder), "PATH": f"{self.folder}:{os.environ['PATH']}", "SLURM_JOB_ID": "7"}
        return subprocess.Popen(["bash", "-c", self.job], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, env=environment)

    def test_what_was_stopped_is_queued_again_and_goes_on(self):
        run = self.folder / "runs/gpt"
        for resumed, said_before in ((0, b""), (1, b"resum")):
            process = self.submit()
            self.wait_for(process, run / "checkpoint.safetensors")
            while (run / "log.jsonl").read_text().count('"event":"resume"') < resumed:
                self.assertIsNone(process.poll(), "it ended too early")
                time.sleep(0.01)
            os.kill(self.ranks_of("runs/gpt")[0], signal.SIGTERM)
            said, _ = process.communicate(timeout=60)
            self.assertIn(said_before, said)
            self.assertTrue(said.endswith(b"scontrol requeue 7\n"), said)

    def test_what_failed_is_not(self):
        (self.folder / "corpus.txt").write_text("")
        said, _ = self.submit().communicate(timeout=60)
        self.assertIn(b"limpid: text ", said)
        self.assertNotIn(b"scontrol", said)


class VerifyStep(Ranks):
    def test_each_shard_is_as_logged(self):
        out = self.folder / "run"
        self.output(*self.arguments("--log-shards", "--log-every", "2", out=out))
        steps = [e for e in self.log(out) if e["event"] == "step"]
        self.assertTrue(all(len(e["shards"]) == 5 for e in steps))
        for shard in range(5):
            self.assertEqual(self.output("verify-step", out, "--step", 4, "--shard", shard),
                             f"step 4, shard {shard}: {steps[2]['shards'][shard]}, as logged\n")
        self.assertIn("not in the log", self.output("verify-step", out, "--step", 5, "--shard", 0))
        self.assertNotIn("logged", self.document("verify-step", out, "--step", 5, "--shard", 0))
        # The check starts from a stored checkpoint.
        long = self.folder / "long"
        self.output(*self.arguments("--log-shards", "--log-every", "2", "--steps", "3", out=long)[:-2])
        found = self.document("verify-step", out, "--step", 4, "--shard", 2)
        self.assertEqual((found["from"], found["hash"]), (0, found["logged"]))
        self.assertEqual((found["step"], found["shard"]), (4, 2))
        self.refuses(1, "verify-step run --step 4 --shard 0 --checkpoint run/checkpoint.safetensors")
        # A log with another hash.
        log = out / "log.jsonl"
        log.write_text(log.read_text().replace(steps[2]["shards"][1], "0" * 16))
        run = self.run_tool("verify-step", out, "--step", 4, "--shard", 1)
        self.assertEqual(run.returncode, 1)
        self.says(run.stderr.decode())
        self.refuses(1, "verify-step run --step 4 --shard 5; verify-step run --step 4000 --shard 0")

    def test_steps_before_an_extension_have_the_first_configuration(self):
        out = self.folder / "run"
        self.output(*self.arguments("--log-shards", "--log-every", "2", "--schedule", "cosine", out=out))
        before = {step: self.document("verify-step", out, "--step", step, "--shard", 1)["hash"] for step in (4, 36)}
        self.output("train", "--resume", out, "--epochs", "13")
        for step, found in before.items():
            self.assertEqual(self.output("verify-step", out, "--step", step, "--shard", 1), f"step {step}, shard 1: {found}, as logged\n")
        self.refuses(1, "verify-step run --step 38 --shard 1")
        self.output("train", "--resume", out, "--epochs", "14")
        self.refuses(1, "verify-step run --step 38 --shard 1")

    def test_runs_without_shards_have_none(self):
        out = self.folder / "run"
        self.output("train", "--data", "moons", "--epochs", "1", "--out", out)
        self.refuses(1, "verify-step run --step 1 --shard 0")
        self.refuses(2, "train --data moons --log-shards")


class UnderMpi:
    """The tests of one MPI, self.kind."""

    kind = ""

    @classmethod
    def setUpClass(cls):
        if "LIMPID_SANITIZED" in os.environ:
            raise unittest.SkipTest("the tool is sanitized, and MPI keeps memory to the end")
        if not shutil.which(LAUNCHERS[cls.kind][0]):
            raise unittest.SkipTest(f"{LAUNCHERS[cls.kind][0]} is not installed (packages-scale.txt)")
        if not (BUILD / f"limpid-mpi-{cls.kind}.so").exists():
            raise unittest.SkipTest(f"limpid-mpi-{cls.kind}.so was not built")

    def setUp(self):
        super().setUp()
        self.output(*self.arguments(out=self.whole))

    def test_any_number_of_ranks_gives_the_same_file_and_log(self):
        small = self.folder / "small"
        self.output(*self.arguments(out=small, hidden="6,5"))
        for ranks in (2, 3, 5):
            for hidden, whole in (("110,150", self.whole), ("6,5", small)):
                out = self.folder / f"of{ranks}"
                code, said = self.launched(self.kind, ranks, *self.arguments("--overwrite", out=out, hidden=hidden))
                self.assertEqual(code, 0, said)
                self.assertIn(f"on {ranks} ranks of 1 thread", said)
                self.assertEqual(said.count("saved "), 1, "the first rank alone prints")
                self.expect_same_run(out, whole)

    def test_ranks_evaluate_a_text_as_one_process_does(self):
        text = self.folder / "text.txt"
        text.write_text("the quick brown fox jumps over the lazy dog. " * 40)
        arguments = ["train", "--data", f"text:{text}", "--model", "gpt", "--layers", "1", "--heads", "2", "--width", "8", "--context", "6",
                     "--batch", "20", "--shards", "3", "--threads", "1", "--epochs", "2", "--out"]
        whole = self.folder / "whole_text"
        self.output(*arguments, whole)
        for ranks in (2, 3):
            out = self.folder / f"text{ranks}"
            code, said = self.launched(self.kind, ranks, *arguments, out)
            self.assertEqual(code, 0, said)
            self.expect_same_run(out, whole)

    def test_a_killed_rank_ends_all_and_the_run_goes_on_with_others(self):
        chance = random.Random(7)
        kills = 0
        while kills < KILLS:
            out = self.folder / f"killed{kills}"
            command = self.arguments("--checkpoint-every", "1", "--epochs", "80", out=out)
            whole = self.folder / "whole80"
            if not whole.exists():
                self.output(*self.arguments("--checkpoint-every", "1", "--epochs", "80", out=whole))
            for _ in range(3):
                ranks = chance.choice((2, 3, 4))
                process = self.start(self.kind, ranks, *command)
                self.wait_for(process, out / "checkpoint.safetensors")
                time.sleep(chance.uniform(0, 0.4))
                ids = self.ranks_of(out)
                while not ids and process.poll() is None:
                    ids = self.ranks_of(out)
                # One rank, all of them, or the launcher.
                victims = chance.choice(([chance.choice(ids)] if ids else [], ids, [process.pid]))
                for victim in victims:
                    try:
                        os.kill(victim, signal.SIGKILL)
                        kills += 1
                    except ProcessLookupError:
                        pass
                try:
                    process.communicate(timeout=120)
                except subprocess.TimeoutExpired:
                    # Open MPI 4.1's launcher may wait for a lock of its own (in PMIx_server_finalize) when no rank is left.
                    self.assertEqual(self.kind, "openmpi", "the launcher outlives the job")
                for _ in range(1000):
                    if not self.ranks_of(out):
                        break
                    time.sleep(0.02)
                self.assertFalse(self.ranks_of(out), "ranks outlive the job")
                process.kill()
                process.communicate()
                command = ["train", "--resume", str(out), "--threads", "1"]
            if not (out / "model.safetensors").exists():
                code, said = self.launched(self.kind, chance.choice((1, 2, 5)), *command)
                self.assertEqual(code, 0, said)
            self.expect_same_run(out, whole)

    def test_sigterm_to_the_launcher_writes_a_checkpoint(self):
        out = self.folder / "stopped"
        process = self.start(self.kind, 3, *self.arguments("--epochs", "100000", out=out))
        self.wait_for(process, out / "checkpoint.safetensors")
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertEqual(self.log(out)[-1]["reason"], "interrupted", said)
        self.assertRegex(said.decode(), r"(?m)^limpid: train: interrupted after step \d+ of \d+; `limpid train --resume ")

    def test_ranks_of_a_host_have_cpus_of_their_own(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("one CPU")
        out = self.folder / "beside"
        process = self.start(self.kind, 2, *self.arguments("--epochs", "100000", out=out))
        self.wait_for(process, out / "checkpoint.safetensors")
        one, other = (os.sched_getaffinity(rank) for rank in self.ranks_of(out))
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertTrue(one and other and one | other == cpus and not one & other, (one, other))

    def test_ranks_of_a_host_divide_its_cpus(self):
        """Where there are more of them than CPUs, each has a thread."""
        ranks = min(len(os.sched_getaffinity(0)) + 1, 5)
        arguments = self.arguments(out=self.folder / "dividing", hidden="6,5")
        threads = arguments.index("--threads")
        code, said = self.launched(self.kind, ranks, *arguments[:threads], *arguments[threads + 2:])
        self.assertEqual(code, 0, said)
        each = max(1, len(os.sched_getaffinity(0)) // ranks)
        self.assertIn(f"on {ranks} ranks of {each} thread{'s' if each > 1 else ''}\n", said)

    def test_the_timeout_of_the_first_rank_is_that_of_all(self):
        out = self.folder / "patient"
        script = 'RANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; LIMPID_RANK_TIMEOUT=$((RANK == 0 ? 600 : 2)) exec "$@"'
        process = subprocess.Popen(
            self.command(self.kind, 2, "sh", "-c", script, "sh", tool.TOOL, *self.arguments("--epochs", "100000", out=out)),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=SILENCE[0], env=ENVIRONMENT)
        self.wait_for(process, out / "checkpoint.safetensors")
        time.sleep(4)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
        self.assertNotIn("no sign of life", said.decode())
        self.assertEqual(self.log(out)[-1]["reason"], "interrupted", said)

    def test_a_rank_that_hangs_ends_the_job_and_is_named(self):
        out = self.folder / "hung"
        process = self.start(self.kind, 3, *self.arguments("--epochs", "100000", out=out), LIMPID_RANK_TIMEOUT="3")
        self.wait_for(process, out / "checkpoint.safetensors")
        time.sleep(4)
        self.assertIsNone(process.poll(), "the job ended though every rank gave signs of life")
        hung = self.ranks_of(out)[1]
        variables = pathlib.Path(f"/proc/{hung}/environ").read_bytes().split(b"\0")
        number = next(v.split(b"=")[1].decode() for v in variables if v.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK=")))
        os.kill(hung, signal.SIGSTOP)
        said, _ = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(said.decode(), rf"limpid: rank {number} on \S+ has given no sign of life for 3 s; the job ends")

    def test_a_timeout_of_one_second_is_one(self):
        out = self.folder / "hung"
        process = self.start(self.kind, 2, *self.arguments("--epochs", "100000", out=out), LIMPID_RANK_TIMEOUT="1")
        # Where others keep a rank from the CPU for a second, the job ends by itself.
        while process.poll() is None and not (out / "checkpoint.safetensors").exists():
            time.sleep(0.01)
        for rank in self.ranks_of(out)[1:]:
            os.kill(rank, signal.SIGSTOP)
        said, _ = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        self.assertRegex(said.decode(), r"limpid: rank \d on \S+ has given no sign of life for 1 s; the job ends")

    def start_on(self, network, *arguments, **environment):
        """A rank on each host, the launcher on the first one."""
        options, settings = OVER_A_NETWORK[self.kind](str(network.remote_shell(self.folder)), network.addresses)
        command = [*LAUNCHERS[self.kind], *options, "-n", str(len(network.addresses)), tool.TOOL, *map(str, arguments)]
        return subprocess.Popen(network.command(0, *command), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                stdin=subprocess.DEVNULL, env=ENVIRONMENT | settings | environment)

    def test_a_network_that_delays_and_loses_changes_nothing(self):
        if hosts.missing():
            self.skipTest(hosts.missing())
        out = self.folder / "far"
        with hosts.Hosts(3, delay=0.001, loss=0.01) as network:
            process = self.start_on(network, *self.arguments(out=out))
            said, _ = process.communicate(timeout=300)
        # MPICH's launcher reports a rank as lost if its MPI does not end.
        if self.kind != "mpich" or b"is done, but its MPI has not ended" not in said:
            self.assertEqual(process.returncode, 0, said.decode())
        self.assertIn("on 3 ranks of 1 thread", said.decode())
        self.assertGreater(network.carried, 1000, "they did not speak over this network")
        self.assertGreater(network.lost, 0)
        self.expect_same_run(out, self.whole)

    def test_a_host_that_the_network_loses_ends_the_job_and_is_named(self):
        if hosts.missing():
            self.skipTest(hosts.missing())
        out = self.folder / "cut"
        with hosts.Hosts(3, delay=0, loss=0) as network:
            process = self.start_on(network, *self.arguments("--epochs", "100000", out=out), LIMPID_RANK_TIMEOUT="2")
            self.wait_for(process, out / "checkpoint.safetensors")
            network.cut_off.add(2)
            for _ in range(300):
                if not self.ranks_of(out):
                    break
                time.sleep(0.1)
            self.assertEqual(self.ranks_of(out), [], "ranks go on")
        # Open MPI's launcher would wait for the host that is gone.
        process.kill()
        said, _ = process.communicate(timeout=60)
        self.assertRegex(said.decode(), r"limpid: rank 2 on host2 has given no sign of life for 2 s; the job ends")

    def differing(self, script):
        """What ranks say whose arguments a shell script chooses, rank 0 being $RANK 0."""
        shell = 'RANK=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}; ' + script
        run = subprocess.run(self.command(self.kind, 3, "sh", "-c", shell, "sh", tool.TOOL), stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=ENVIRONMENT, timeout=60)
        self.assertNotEqual(run.returncode, 0)
        lines = [line for line in run.stdout.decode().splitlines() if line.startswith("limpid:")]
        self.assertEqual(len(lines), 1, run.stdout.decode())
        return lines[0]

    def test_the_other_mpi_is_refused(self):
        other = {"openmpi": "mpich", "mpich": "openmpi"}[self.kind]
        if not (BUILD / f"limpid-mpi-{other}.so").exists():
            self.skipTest(f"limpid-mpi-{other}.so was not built")
        code, said = self.launched(self.kind, 2, *self.arguments(out=self.folder / "never"), LIMPID_MPI=other)
        self.assertNotEqual(code, 0)
        self.assertIn(f"limpid: the launcher started 2 processes, but {other} finds only this one; expected the launcher's own MPI", said)
        self.assertFalse((self.folder / "never").exists(), "it trained")

    def test_ranks_that_differ_are_named(self):
        other = self.folder / "other"
        tool.write_idx_folder(other, [i % 3 for i in range(60)], [(i + 1) % 3 for i in range(20)])
        moved = self.folder / "moved"
        moved.mkdir()
        for rank in range(3):
            (moved / str(rank)).symlink_to(other if rank == 2 else self.data)
        arguments = "--shards 4 --epochs 1 --threads 1 --hidden 4"
        self.assertRegex(self.differing(f'cd {moved}/$RANK && exec "$1" train --data idx:. {arguments}'),
                         r"rank 2 on \S+ has other data: hash \w+, not \w+ as rank 0 on")
        self.assertRegex(
            self.differing(f'exec "$1" train --data idx:{self.data} {arguments} --seed $((RANK % 2))'),
            r"rank 1 on \S+ has another configuration: \"seed\": 1, not \"seed\": 0 as rank 0 on")
        # A fault of one rank alone.
        (moved / "3").mkdir()
        self.assertRegex(
            self.differing(f'cd {moved}/$((RANK == 1 ? 3 : 0)) && exec "$1" train --data idx:. {arguments}'),
            r"limpid: rank 1 on \S+: .*idx")

    def test_a_full_disk_ends_the_job_with_one_line(self):
        out = self.folder / "full"
        process = self.start(self.kind, 3, *self.arguments("--checkpoint-every", "1", "--epochs", "100000", out=out))
        self.wait_for(process, out / "checkpoint.safetensors")
        for rank in self.ranks_of(out):  # only the first one writes
            resource.prlimit(rank, resource.RLIMIT_FSIZE, (1000, 1000))
        said, _ = process.communicate(timeout=60)
        self.assertNotEqual(process.returncode, 0)
        lines = [line for line in said.decode().splitlines() if line.startswith("limpid:")]
        self.assertEqual(len(lines), 1, said.decode())
        self.assertIn("File too large", lines[0])
        self.assertFalse((out / "model.safetensors").exists())


class UnderOpenMpi(UnderMpi, Ranks):
    kind = "openmpi"


class UnderMpich(UnderMpi, Ranks):
    kind = "mpich"


if __name__ == "__main__":
    unittest.main()
