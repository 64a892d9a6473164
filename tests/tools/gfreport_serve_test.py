"""gfreport --serve shows runs on this machine alone and refreshes; in a browser, if there is one,
the page's own scripts work."""
import html
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

sys.dont_write_bytecode = True
sys.path.insert(0, "tools/gfreport")
import page  # noqa: E402
import runs  # noqa: E402
import serve  # noqa: E402

GFREPORT = "tools/gfreport/gfreport"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def line(**record):
    return json.dumps(record) + "\n"


def write_run(folder, losses):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "log.jsonl"), "w", encoding="utf-8") as out:
        out.write(line(kind="start", settings={"ranks": "1 on 1 host"}))
        for epoch, loss in enumerate(losses, 1):
            out.write(line(kind="train", epoch=epoch, loss=loss))


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=20) as answer:
        return answer.read().decode()


def status(url, **headers):
    try:
        get(url, **headers)
        return 200
    except urllib.error.HTTPError as error:
        return error.code


class Served:
    """A gfreport --serve that has said where it listens."""

    def __init__(self, *words):
        self.process = subprocess.Popen([sys.executable, GFREPORT, *words], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self.process.stdout.readline().split(" ")[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class ServeTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.run_dir = os.path.join(self.folder, "run")
        write_run(self.run_dir, [3, 2])

    def test_the_page_follows_the_log(self):
        with Served(self.run_dir, "--serve=0") as served:
            self.assertRegex(served.url, r"^http://127\.0\.0\.1:\d+/$")
            first, state = get(served.url), get(served.url + "state")
            self.assertIn("Training loss", first)
            self.assertIn('data-state="%s"' % state, first)
            self.assertEqual(get(served.url + "state"), state)
            write_run(self.run_dir, [3, 2, 1.25])
            self.assertNotEqual(get(served.url + "state"), state)
            self.assertIn("epoch 3: 1.25", get(served.url))

    def test_a_log_that_cannot_be_read_is_a_message_until_it_can(self):
        with Served(self.run_dir, "--serve=0") as served:
            log = os.path.join(self.run_dir, "log.jsonl")
            os.rename(log, log + ".away")
            self.assertIn("has no .jsonl file", get(served.url))
            os.rename(log + ".away", log)
            self.assertIn("Training loss", get(served.url))

    def test_nothing_but_the_page_is_served_and_to_this_machine_only(self):
        with Served(self.run_dir, "--serve=0") as served:
            for path in ("log.jsonl", "../etc/passwd", "index.html", "state/", "hover.js"):
                self.assertEqual(status(served.url + path), 404, path)
            # A name that another site lets point to this machine.
            self.assertEqual(status(served.url, Host="example.org"), 403)
            port = int(served.url.rstrip("/").rpartition(":")[2])
            self.assertEqual(status("http://localhost:%d/" % port), 200)
            request = urllib.request.Request(served.url, data=b"x")
            with self.assertRaises(urllib.error.HTTPError) as error:
                urllib.request.urlopen(request, timeout=20)
            self.assertEqual(error.exception.code, 501)
            with socket.socket() as other:
                other.settimeout(5)
                self.assertNotEqual(other.connect_ex(("127.0.0.2", port)), 0)

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Served(self.run_dir, "--serve=0") as served:
                # A browser that keeps its connection does not keep it.
                port = int(served.url.rstrip("/").rpartition(":")[2])
                with socket.create_connection(("127.0.0.1", port)):
                    served.process.send_signal(number)
                    _, errors = served.process.communicate(timeout=20)
                self.assertEqual((served.process.returncode, errors), (0, ""))

    def test_mistakes(self):
        def refused(pattern, *words):
            done = subprocess.run([sys.executable, GFREPORT, *words], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=20, check=False)
            self.assertEqual(done.returncode, 2, words)
            self.assertRegex(done.stderr, pattern)
            self.assertNotIn("Traceback", done.stderr)

        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            refused("--serve=%d: Address already in use: name another port" % port, self.run_dir,
                    "--serve=%d" % port)
        refused("--serve=70000: not a port", self.run_dir, "--serve=70000")
        refused("--serve=x: not a port", self.run_dir, "--serve=x")
        refused("--serve writes no file", self.run_dir, "--serve=0", "--out=x.html")
        refused("No such file", os.path.join(self.folder, "nowhere"), "--serve=0")


@unittest.skipUnless(BROWSER, "no browser: apt-get install chromium, and the page's own scripts "
                              "are tested")
class BrowserTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def document(self, url, *options):
        """What the page has become after its scripts have run."""
        done = subprocess.run(
            [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--user-data-dir=" + os.path.join(self.folder, "profile"), "--dump-dom", *options,
             url], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False,
            env=dict(os.environ, HOME=self.folder))
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return done.stdout.decode()

    def test_a_pointer_over_a_curve_shows_its_values(self):
        run_dir = os.path.join(self.folder, "run <i>")
        write_run(run_dir, [4, 3, 2])
        content = page.render(runs.read(run_dir))
        pointer = """<script>
          const svg = document.querySelector("svg[data-points]"), box = svg.getBoundingClientRect();
          svg.dispatchEvent(new PointerEvent("pointermove", {
            clientX: box.left + 0.65 * box.width, clientY: box.top + 0.5 * box.height}));
        </script></body>"""
        path = os.path.join(self.folder, "page.html")
        with open(path, "w", encoding="utf-8") as out:
            out.write(content.replace("</body>", pointer))
        shown = re.search(r'<div id="values".*?</div></div>', self.document("file://" + path))
        self.assertIn("run <i> \u2013 epoch 2: 3", html.unescape(shown.group(0)))
        self.assertNotIn("hidden", shown.group(0))

    def test_the_page_is_loaded_again_when_the_state_changes(self):
        pages = iter(["first", "second", "third"])
        states = {"first": "1", "second": "2"}

        def render():
            name = next(pages)
            return page.problem("page " + name, states[name])

        class Handler(serve.Handler):
            pass

        Handler.render, Handler.state = staticmethod(render), staticmethod(lambda: "2")
        with serve.Server((serve.ADDRESS, 0), Handler) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            url = "http://127.0.0.1:%d/" % server.server_address[1]
            # Long enough for two looks at the state; the second finds nothing new.
            text = self.document(url, "--virtual-time-budget=8000")
            server.shutdown()
        self.assertIn("<p>page second</p>", text)


if __name__ == "__main__":
    unittest.main()
