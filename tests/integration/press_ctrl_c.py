"""press_ctrl_c.py PATTERN COMMAND: runs a shell command on a terminal of its own, presses Ctrl-C
when its output matches the pattern, and prints what the terminal shows until all have ended."""
import os
import pty
import re
import signal
import sys
import time

pattern, command = sys.argv[1].encode(), sys.argv[2]
process, terminal = pty.fork()
if process == 0:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it
    os.execvp("bash", ["bash", "-c", command])
output, pressed = b"", False
while True:
    try:
        data = os.read(terminal, 65536)
    except OSError:  # nobody has it open any more
        break
    if not data:
        break
    output += data
    if not pressed and re.search(pattern, output):
        pressed = True
        time.sleep(0.1)
        os.write(terminal, b"\x03")
sys.stdout.write(output.decode(errors="replace").replace("\r\n", "\n"))
