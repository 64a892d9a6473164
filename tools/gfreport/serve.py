"""Serves the page on this machine while a job runs."""
import http.server
import signal
import threading

from runs import UserError

ADDRESS = "127.0.0.1"
DEFAULT_PORT = 8600


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers "/" with the page, "/state" with the state of its files, and nothing else."""
    render = state = None  # set by serve()
    server_version, sys_version = "gfreport", ""

    def do_GET(self):
        self.answer(body=True)

    def do_HEAD(self):
        self.answer(body=False)

    def answer(self, body):
        # A page of another site that calls this machine by a name of its own gets nothing.
        host = self.headers.get("Host", "").partition(":")[0]
        if host not in (ADDRESS, "localhost"):
            self.send_error(403)
        elif self.path == "/":
            self.send("text/html; charset=utf-8", type(self).render(), body)
        elif self.path == "/state":
            self.send("text/plain; charset=utf-8", type(self).state(), body)
        else:
            self.send_error(404)

    def send(self, kind, words, body):
        content = words.encode("utf-8", "replace")
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if body:
            self.wfile.write(content)

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass  # the browser has left

    def log_message(self, format, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True  # a browser that keeps its connection does not keep the server


def parse_port(value):
    if not value.isdecimal() or len(value) > 5 or int(value) > 65535:
        raise UserError("--serve=%s: not a port, expected 0 (any free one) to 65535" % value)
    return int(value)


def serve(port, render, state):
    """Until Ctrl-C or SIGTERM. render(): the page; state(): a text that changes when it does."""
    handler = type("ReportHandler", (Handler,),
                   {"render": staticmethod(render), "state": staticmethod(state)})
    try:
        server = Server((ADDRESS, port), handler)
    except OSError as error:
        raise UserError("--serve=%d: %s: name another port, --serve=%d, or 0 for any free one" %
                        (port, error.strerror, port + 1 if port < 65535 else 8600)) from error

    def stop(*_):
        # Not from this thread, which would wait for itself.
        threading.Thread(target=server.shutdown, daemon=True).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    print("http://%s:%d/ (Ctrl-C ends it)" % (ADDRESS, server.server_address[1]), flush=True)
    with server:
        server.serve_forever(poll_interval=0.2)
