#!/usr/bin/env python3
"""What not_proved makes of a log of CTest."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import not_proved  # noqa: E402

LOG = """Start testing: Nov 23 20:00 UTC
1/6 Testing: Suite.Passes
1/6 Test: Suite.Passes
Output:
[  PASSED  ] 1 test.
Test Passed.
2/6 Test: Suite.Skips
Output:
/tests/large_test.cc:55: Skipped
skipped: less than 6 GiB of free memory
[  SKIPPED ] 1 test.
Test Skipped.
3/6 Test: not_proved.view_page
Output:
skipped: Node is missing
Test Skipped.
4/6 Test: cli.commands
Output:
test_data (__main__.Data.test_data) ... ok
test_man (__main__.Pages.test_man) ... skipped 'there is no groff'
test_zsh (__main__.Shells.test_zsh)
What zsh makes of a line. ... skipped "there is no 'zsh'"
setUpClass (__main__.Far) ... skipped 'no network'
----------------------------------------------------------------------
Ran 2 tests in 1.2s

OK (skipped=3)
Test Passed.
5/6 Test: serve.docs
Output:
..ss.
FAILED (failures=1, skipped=2)
Test Failed.
6/6 Test: python.quiet
Output:
it printed ... skipped 'a line'
OK
Test Passed.
"""


class NotProved(unittest.TestCase):
    def test_skips_have_their_reasons(self):
        self.assertEqual(not_proved.skipped(LOG), [
            ("Suite.Skips", "less than 6 GiB of free memory"),
            ("cli.commands setUpClass", "no network"),
            ("cli.commands test_man", "there is no groff"),
            ("cli.commands test_zsh", "there is no 'zsh'"),
            ("not_proved.view_page", "Node is missing"),
            ("serve.docs", "2 of its tests; it says no reason"),
        ])  # fmt: skip


if __name__ == "__main__":
    unittest.main()
