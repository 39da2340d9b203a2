"""The page of a run in a headless Chromium, over the WebDriver protocol.

  browser_test.py <limpid> <chromedriver> <folder for screenshots>
"""

import base64
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

TOOL, DRIVER, SCREENSHOTS = sys.argv[1:4]
del sys.argv[1:4]


class Driver:
    """One browser; its profile is a folder of the test's own."""

    def __init__(self, folder):
        self.process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if match := re.search(r"started successfully on port (\d+)", line):
                self.base = f"http://127.0.0.1:{match[1]}"
                break
        # Chromium's own sandbox needs privileges that a container has not.
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     f"--user-data-dir={folder}/profile"]
        session = self.send("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"}}}})
        self.base += f"/session/{session['sessionId']}"

    def send(self, method, path, body=None):
        data = json.dumps(body or {}).encode() if method == "POST" else None
        request = urllib.request.Request(self.base + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def devtools(self, command, **params):
        return self.send("POST", "/goog/cdp/execute", {"cmd": command, "params": params})

    def run(self, script):
        return self.send("POST", "/execute/sync", {"script": script, "args": []})

    def log(self, kind):
        return self.send("POST", "/se/log", {"type": kind})

    def resize(self, width, height, dark=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=width < 600)
        self.devtools("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def screenshot(self, name):
        height = self.run("return document.documentElement.scrollHeight")
        shot = self.devtools("Page.captureScreenshot", captureBeyondViewport=True,
                             clip={"x": 0, "y": 0, "scale": 1, "height": height,
                                   "width": self.run("return window.innerWidth")})
        (pathlib.Path(SCREENSHOTS) / name).write_bytes(base64.b64decode(shot["data"]))

    def close(self):
        self.send("DELETE", "")
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="limpid-report-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.run_folder = os.path.join(cls.folder.name, "run <b>&amp;")
        subprocess.run([TOOL, "train", "--data", "digits:1,count=2000", "--epochs", "4", "--hidden",
                        "64,32", "--out", cls.run_folder], check=True, stdout=subprocess.DEVNULL)
        cls.driver = Driver(cls.folder.name)
        cls.addClassCleanup(cls.driver.close)

    def open(self, path):
        self.driver.log("performance")
        self.driver.log("browser")
        self.driver.send("POST", "/url", {"url": pathlib.Path(path).as_uri()})

    def open_report(self):
        self.open(os.path.join(self.run_folder, "report.html"))

    def test_curves_are_drawn(self):
        self.driver.resize(1280, 900)
        self.open_report()
        charts = self.driver.run("""
            return [...document.querySelectorAll('figure.chart')].map(figure => ({
              title: figure.querySelector('figcaption').textContent,
              lines: [...figure.querySelectorAll('path')].map(p => p.getBoundingClientRect().width),
              titles: figure.querySelectorAll('circle title').length}))""")
        self.assertGreaterEqual(len(charts), 10)
        for chart in charts:
            self.assertTrue(chart["lines"], chart)
            self.assertGreater(max(chart["lines"]), 200, chart)
            self.assertGreater(chart["titles"], 2, chart)
        self.assertIn("Loss", [c["title"] for c in charts])
        # This run has no validation part.
        self.assertIn("Metrics on the test set", [c["title"] for c in charts])

    def test_confusion_matrix_mistakes_and_what_repeats_the_run(self):
        self.open_report()
        cells = self.driver.run("return [...document.querySelectorAll('.confusion td')]"
                                ".map(td => Number(td.textContent))")
        self.assertEqual(len(cells), 100)
        self.assertEqual(sum(cells), 2000)
        images = self.driver.run("return [...document.querySelectorAll('.mistakes img')]"
                                 ".map(i => [i.complete, i.naturalWidth, i.naturalHeight])")
        self.assertGreater(len(images), 4)
        self.assertEqual({tuple(i) for i in images}, {(True, 28, 28)})
        text = self.driver.run("return document.body.innerText")
        self.assertIn("--data digits:1,count=2000", text)
        self.assertIn("'%s'" % self.run_folder, text)

    def test_it_asks_for_nothing_and_complains_of_nothing(self):
        self.open_report()
        wanted = [json.loads(entry["message"])["message"] for entry in self.driver.log("performance")]
        urls = [m["params"]["request"]["url"] for m in wanted
                if m["method"] == "Network.requestWillBeSent"]
        self.assertTrue(any(url.endswith("report.html") for url in urls), urls)
        self.assertEqual([u for u in urls if not u.startswith(("file:", "data:"))], [])
        self.assertEqual(sum(u.startswith("file:") for u in urls), 1)
        self.assertEqual(self.driver.log("browser"), [])

    def test_it_fits_desks_and_phones_by_day_and_night(self):
        for name, width, dark in (("desk", 1280, False), ("phone", 390, False),
                                  ("desk-dark", 1280, True), ("phone-dark", 390, True)):
            self.driver.resize(width, 844, dark)
            self.open_report()
            self.assertEqual(self.driver.run("return window.innerWidth"), width)
            self.assertLessEqual(
                self.driver.run("return document.documentElement.scrollWidth"), width, name)
            background = self.driver.run("return getComputedStyle(document.body).backgroundColor")
            self.assertEqual(background, "rgb(20, 23, 27)" if dark else "rgb(255, 255, 255)")
            # Text in charts is scaled with them.
            smallest = self.driver.run(
                "return Math.min(...[...document.querySelectorAll('svg text')].map(t =>"
                " parseFloat(getComputedStyle(t).fontSize)"
                " * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b)))")
            self.assertGreater(smallest, 8, name)
            self.driver.screenshot(f"report-{name}.png")

    def test_text_of_a_log_is_only_text(self):
        bad = "<img src=x onerror=alert(1)></title><script>document.title='broken'</script>\"'&"
        lines = pathlib.Path(self.run_folder, "log.jsonl").read_text().splitlines()
        run = json.loads(lines[0])
        run["data"].update(name=bad, class_names=[bad] * 10)
        run["environment"]["cpu"] = run["version"] = run["task"] = bad
        run["command"] = run["config"] = [bad]
        finding = dict(event="finding", rule=bad, severity="error", layer=bad, symptom=bad, cause=bad,
                       fix=bad, step=1)
        other = pathlib.Path(self.folder.name, "hostile")
        other.mkdir()
        other.joinpath("log.jsonl").write_text(
            "\n".join([json.dumps(run), *lines[1:], json.dumps(finding)]) + "\n")
        subprocess.run([TOOL, "report", other], check=True, stdout=subprocess.DEVNULL)
        self.open(other / "report.html")
        self.assertEqual(self.driver.run("return document.querySelectorAll('script, img').length"), 0)
        self.assertIn(bad, self.driver.run("return document.querySelector('h1').textContent"))
        self.assertEqual(self.driver.log("browser"), [])


if __name__ == "__main__":
    unittest.main()
