"""plugin_test.py APPLICATION PLUGIN shared|static: what an application and a plugin share that link minnow alike."""

import os
import subprocess
import sys

application, plugin, kind = sys.argv[1:]
# Gradients of two copies meet by chance only: their graph is not asked for.
command = [application, plugin] + ([] if kind == "shared" else ["no-graph"])
environment = {**os.environ, "MINNOW_SIM_DEVICES": "2"}
said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
text = said.stdout + said.stderr
if kind == "shared" and ("apart" in text or "minnow: " in text or "warning" in text or text.count("shared") != 5):
    sys.exit("one library is not one state:\n" + text)
named = ["several copies of minnow", f"\n  {application}\n", f"\n  {plugin}\n", "generator: apart"]
if kind == "static" and not all(name in text for name in named):
    sys.exit("two copies of the library are not named:\n" + text)
print(text)
