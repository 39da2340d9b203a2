#!/usr/bin/env python3
"""What mutate makes of a test that skips: it passes, and proves nothing. Which breakages it tries, how a signal ends it, and where it
puts what it breaks of the Python package and of the page."""

import argparse
import concurrent.futures
import contextlib
import io
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import mutate  # noqa: E402

PROGRAM = """
import unittest
class Tests(unittest.TestCase):
    def test_a(self): self.skipTest("not here")
    def test_b(self): {}
unittest.main()
"""


def command(body: str) -> mutate.Command:
    """A program of unittest with two tests, the first of which skips."""
    return mutate.Command([sys.executable, "-c", PROGRAM.format(body)])


class Skips(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        patch = mock.patch.object(mutate, "WORK", pathlib.Path(folder.name))
        patch.start()
        self.addCleanup(patch.stop)

    def unbroken(self, body: str) -> float:
        with mock.patch.object(mutate, "commands_of", lambda folder, test: [command(body)]):
            return mutate.seconds_unbroken.__wrapped__(None, ("ctest", body))

    def test_a_program_that_skips_all_of_its_tests_is_skipped(self):
        with self.assertRaises(mutate.Skipped):
            self.unbroken("self.skipTest('nor here')")

    def test_a_program_that_skips_some_says_how_many(self):
        self.assertGreater(self.unbroken("pass"), 0)
        outcome = mutate.run(command("pass"), 60)
        self.assertTrue(outcome.passed)
        self.assertEqual(outcome.how, "1 of its 2 tests are skipped here")

    def test_one_that_fails_as_well_has_failed(self):
        outcome = mutate.run(command("self.fail()"), 60)
        self.assertFalse(outcome.passed)
        self.assertEqual(outcome.how, "a failed check: test_b")

    def test_one_of_its_tests_runs_by_its_name(self):
        def unbroken(name: str) -> float:
            one = mutate.only(mutate.replace(command("pass"), arguments=[*command("pass").arguments, "--failfast"]), name)
            with mock.patch.object(mutate, "commands_of", lambda folder, test: [one]):
                return mutate.seconds_unbroken.__wrapped__(None, ("ctest", "^a$", name))

        self.assertGreater(unbroken("test_b"), 0)
        with self.assertRaises(mutate.Skipped):
            unbroken("test_a")
        with self.assertRaisesRegex(mutate.Failed, "no test has that name"):
            unbroken("test_c")

    def test_nothing_is_said_of_one_that_skips_none(self):
        self.assertIsNone(mutate.skips_of_unittest("...\n---\nRan 3 tests in 0.1s\n\nOK\n"))

    def test_a_skip_of_googletest_counts_alone(self):
        self.assertTrue(mutate.Outcome(True, "", 1, "[  SKIPPED ] 1 test.\n").skipped_all)
        self.assertFalse(mutate.Outcome(True, "", 1, "[  PASSED  ] 1 test.\n").skipped_all)


class Shared(unittest.TestCase):
    def test_one_of_those_that_share_a_folder_runs_at_a_time(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(mutate, "WORK", pathlib.Path(folder)):
            script = f"import os, time; os.mkdir({folder + '/one'!r}); time.sleep(0.2); os.rmdir({folder + '/one'!r})"
            command = mutate.Command([sys.executable, "-c", script], locks=("folder",))
            with concurrent.futures.ThreadPoolExecutor(3) as workers:
                outcomes = list(workers.map(lambda _: mutate.run(command, 60), range(3)))
        self.assertEqual([o.passed for o in outcomes], [True] * 3, outcomes)

    def test_ctest_says_what_they_share(self):
        properties = [{"name": "RESOURCE_LOCK", "value": ["folder"]}, {"name": "ENVIRONMENT", "value": ["A=b=c"]}]
        command = mutate.command_of({"command": ["cmake"], "properties": properties})
        self.assertEqual(command, mutate.Command(["cmake"], {"A": "b=c"}, None, ("folder",)))
        self.assertEqual(mutate.command_of({"command": ["tests/cli/data_test.py"]}).arguments[1:], ["--failfast"])


class Listed(unittest.TestCase):
    def test_a_name_that_no_test_has_is_a_mistake(self):
        mutation = mutate.Mutation("one", "README.md", "# Limpid", "", [], [], ("ctest", "^cli$", "test_of_nothing"))
        with mock.patch.object(mutate, "LEAST", 0), self.assertRaisesRegex(mutate.Failed, "one: no test is named 'test_of_nothing'"):
            mutate.check([mutation])


class Chosen(unittest.TestCase):
    def test_the_parts_are_the_whole_list(self):
        def chosen(part: str) -> list[int]:
            arguments = argparse.Namespace(some=None, names=[], part=mutate.part_of(part))
            with contextlib.redirect_stdout(io.StringIO()):
                return mutate.choose(list(range(10)), None, arguments)

        self.assertEqual(sorted(chosen("1/3") + chosen("2/3") + chosen("3/3")), list(range(10)))
        self.assertEqual(chosen("1/1"), list(range(10)))
        for text in ("0/3", "4/3", "3", "a/3", "1/0"):
            with self.assertRaisesRegex(argparse.ArgumentTypeError, f"got '{text}'"):
                mutate.part_of(text)


class Together(unittest.TestCase):
    def test_one_that_lives_as_a_choice_is_tried_by_itself(self):
        def outcome(passed: bool) -> mutate.Outcome:
            return mutate.Outcome(passed, "" if passed else "a failed check", 1)

        mutations = [mutate.Mutation(name, "", "", "", [], [], ("ctest", "^a$")) for name in ("one", "two", "three")]
        together = mock.Mock(kills=lambda m: {"one": outcome(False)}.get(m.name))
        alone = {"two": outcome(False), "three": outcome(True)}
        with (mock.patch.object(mutate, "Together", lambda chosen: together), contextlib.redirect_stdout(io.StringIO()) as out,
              mock.patch.object(mutate, "try_out", lambda build, m: alone[m.name])):  # fmt: skip
            self.assertEqual(mutate.judge_all(None, mutations, 1), 1)
        lines = [line.split()[:2] for line in out.getvalue().splitlines()]
        self.assertEqual(lines[:3], [["killed", "one"], ["killed", "two"], ["SURVIVED", "three"]])

    def test_a_choice_is_made_by_the_environment(self):
        test, program = ("ctest", "^a$"), "import os, sys; sys.exit(os.environ.get('LIMPID_CHOICE') == '2')"
        together = mutate.Together([])
        together.numbers, together.seconds = {"one": 1, "two": 2}, {test: 1.0}
        with (tempfile.TemporaryDirectory() as folder, mock.patch.object(mutate, "WORK", pathlib.Path(folder)),
              mock.patch.object(mutate, "commands_of", lambda *all: [mutate.Command([sys.executable, "-c", program])])):  # fmt: skip
            killed = {n: together.kills(mutate.Mutation(n, "", "", "", [], [], test)) for n in ("one", "two", "none")}
        self.assertEqual((killed["one"], killed["none"]), (None, None))
        self.assertEqual(killed["two"].how, "a failed check, as a choice")

    def test_a_few_are_not_compiled_together(self):
        with mock.patch.object(mutate.choices, "build") as build:
            self.assertEqual(mutate.Together([mock.Mock()] * (mutate.MANY - 1)).numbers, {})
        build.assert_not_called()

    def test_sources_can_have_choices(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for file in ("limpid/a.cc", "limpid/a.h", "limpid/emit/parts/a.cc", "bench/a.cc"):
                (root / file).parent.mkdir(parents=True, exist_ok=True)
                (root / file).write_text("int f(int a) { return a + 1; }\n")

            def change(file: str, flags=()) -> mutate.choices.Change | None:
                return mutate.Mutation("one", file, "return a + 1", "return a - 1", flags, [], ("ctest", "^a$")).change()

            with mock.patch.object(mutate, "ROOT", root):
                self.assertEqual(change("limpid/a.cc"), mutate.choices.Change("limpid/a.cc", 14, 29, "block", "return a - 1;"))
                self.assertIsNone(change("limpid/a.cc", ["-O0"]))
                for file in ("limpid/a.h", "limpid/emit/parts/a.cc", "bench/a.cc"):
                    self.assertIsNone(change(file))


class Stopped(unittest.TestCase):
    """A signal while the first of two is tried, in a program of its own."""

    PROGRAM = """
import pathlib, sys, types
sys.path.insert(0, {here!r})
import mutate
mutate.WORK = pathlib.Path.cwd()
test = mutate.Command([sys.executable, "-c", "import os, time; print(os.getpid(), file=open({pid!r}, 'w'), flush=True); time.sleep(600)"])
mutate.try_out = lambda build, mutation: mutate.run(test, 600)
mutate.Build, mutate.choose = object, lambda *all: [types.SimpleNamespace(name=n, test=("ctest", "^a$")) for n in ("first", "second")]
sys.argv = ["mutate", "--jobs", "1"]
sys.exit(mutate.main())
"""

    def test_a_signal_ends_the_test_that_runs_and_begins_no_other(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number.name), tempfile.TemporaryDirectory() as folder:
                pid = pathlib.Path(folder) / "pid"
                program = self.PROGRAM.format(here=str(pathlib.Path(mutate.__file__).parent), pid=str(pid))
                arguments = [sys.executable, "-B", "-c", program]
                with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
                    while not (pid.exists() and pid.read_text()):
                        self.assertIsNone(process.poll())
                        time.sleep(0.01)
                    process.send_signal(number)
                    output, _ = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(output, r"^0 of 0 killed, in \d+ s\nstopped: 2 more were to be tried\n$")
                with self.assertRaises(ProcessLookupError):
                    os.kill(int(pid.read_text()), 0)
                self.assertEqual(os.listdir(folder), ["pid"])


class Project(unittest.TestCase):
    """A folder with files, and the build of one program of one source."""

    FILES: dict[str, str] = {}
    SOURCE = PROGRAM = ""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = pathlib.Path(holder.name)
        self.commands = []
        for path, text in self.FILES.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        build = self.root / "build"
        places = {"ROOT": self.root, "BUILD": build, "PAGE": build / "page_files.cc"}
        for name, value in (places | {"output_of": self.commands.append}).items():
            patch = mock.patch.object(mutate, name, value)
            patch.start()
            self.addCleanup(patch.stop)
        self.build = mock.Mock()
        self.build.path.return_value = self.PROGRAM
        self.build.objects.return_value = ["source.o"]
        self.build.compilers = {"source.o": ["c++", "-o", "source.o", "-c", str(self.root / self.SOURCE)]}
        self.build.linker.return_value = ["c++", "-shared", "-o", self.PROGRAM, "source.o"]
        self.folder = self.root / "mutated"


class Package(Project):
    """One source of the bindings with its header, one file of Python's, and the module."""

    SOURCE = "python/bindings/array.cc"
    PROGRAM = MODULE = "python/limpid/_core.so"
    FILES = {
        SOURCE: '#include "array.h"\nint zero = 0;\n', "python/bindings/array.h": "// of array.cc\n",
        "python/limpid/nn.py": "ZERO = 0\n", "build/python/limpid/nn.py": "ZERO = 0\n", f"build/{MODULE}": "the module\n",
    }  # fmt: skip

    def mutated(self, file: str) -> dict[str, str]:
        mutation = mutate.Mutation("one", file, " 0", " 1", [], ["limpid_python"], ("ctest", "^python"))
        return mutate.mutated_programs(self.build, mutation, self.folder)

    def test_a_file_of_the_package_is_replaced_in_a_copy_of_it(self):
        places = self.mutated("python/limpid/nn.py")
        self.assertEqual(places, {str(self.root / "build/python"): str(self.folder / "python")})
        self.assertEqual((self.folder / "python/limpid/nn.py").read_text(), "ZERO = 1\n")
        self.assertEqual((self.folder / self.MODULE).read_text(), "the module\n")
        self.assertEqual(self.commands, [])

    def test_a_source_of_the_module_is_compiled_beside_its_headers_and_linked_into_a_copy_of_the_package(self):
        places = self.mutated("python/bindings/array.cc")
        self.assertEqual(places, {str(self.root / "build/python"): str(self.folder / "python")})
        over = self.folder / "over/python/bindings"
        self.assertEqual((over / "array.cc").read_text(), '#include "array.h"\nint zero = 1;\n')
        self.assertEqual((over / "array.h").read_text(), "// of array.cc\n")
        compiled = str(self.folder / "0.o")
        self.assertEqual([c for c in self.commands[0] if c.endswith((".cc", ".o"))], [compiled, str(over / "array.cc")])
        self.assertEqual(self.commands[1][:5], ["c++", "-shared", "-o", str(self.folder / self.MODULE), compiled])
        self.assertEqual((self.folder / "python/limpid/nn.py").read_text(), "ZERO = 0\n")


class Page(Project):
    """A file of the page, what is beside it, and the source that embeds the page in the tool."""

    SOURCE = "build/page_files.cc"
    PROGRAM = "limpid"
    FILES = {
        "web/src/number.ts": "const zero = 0;\n", "web/index.html": "page\n", "web/dist/index.html": "built\n",
        "web/node_modules/.bin/vite": "vite\n", "docs/lab.md": "lab\n", SOURCE: "built\n",
    }  # fmt: skip

    def mutated(self, programs: list[str]) -> dict[str, str]:
        mutation = mutate.Mutation("one", "web/src/number.ts", " 0", " 1", [], programs, ("ctest", "^view_page"))
        self.folder.mkdir()
        return mutate.mutated_programs(self.build, mutation, self.folder)

    def test_the_page_is_built_in_a_copy_of_web_and_embedded_in_a_copy_of_the_tool(self):
        places = self.mutated(["limpid_tool"])
        web, tool = self.folder / "web", self.folder / "programs/limpid"
        self.assertEqual(places, {str(self.root / "web"): str(web), str(self.root / "build/limpid"): str(tool)})
        self.assertEqual((web / "src/number.ts").read_text(), "const zero = 1;\n")
        self.assertEqual((self.root / "web/src/number.ts").read_text(), "const zero = 0;\n")
        self.assertEqual((web / "index.html").read_text(), "page\n")
        self.assertFalse((web / "dist").exists())
        self.assertEqual((web / "node_modules").readlink(), self.root / "web/node_modules")
        self.assertEqual((self.folder / "docs").readlink(), self.root / "docs")
        checked, built, embedded, compiled, linked = self.commands
        vite = str(web / "node_modules/.bin/vite")
        self.assertEqual((checked[1:3], built), (["--project", str(web)], [vite, "build", str(web)]))
        source, made = str(self.folder / "page_files.cc"), str(self.folder / "0.o")
        self.assertTrue({f"FOLDER={web}/dist", f"OUT={source}"} < set(embedded))
        self.build.objects.assert_called_once_with("limpid", "build/page_files.cc")
        self.assertEqual([c for c in compiled if c.endswith((".cc", ".o"))], [made, source])
        self.assertEqual(linked[:5], ["c++", "-shared", "-o", str(tool), made])

    def test_a_test_that_runs_no_program_builds_what_it_needs_of_the_copy(self):
        self.assertEqual(self.mutated([]), {str(self.root / "web"): str(self.folder / "web")})
        self.assertEqual((self.folder / "web/src/number.ts").read_text(), "const zero = 1;\n")
        self.assertEqual(len(self.commands), 1)


if __name__ == "__main__":
    unittest.main()
