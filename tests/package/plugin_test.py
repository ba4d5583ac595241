"""plugin_test.py APPLICATION PLUGIN shared|static: what an application and a plugin share that link minnow alike."""

import os
import subprocess
import sys

application, plugin, kind = sys.argv[1:]
# Gradients of two copies meet by chance only: their graph is not asked for.
command = [application, plugin] + ([] if kind == "shared" else ["no-graph"])
said = subprocess.run(command, env={**os.environ, "MINNOW_SIM_DEVICES": "2"}, capture_output=True, text=True, check=True)
text = said.stdout + said.stderr
if kind == "shared" and ("apart" in text or "minnow: " in text or "warning" in text or text.count("shared") != 5):
    sys.exit("one library is not one state:\n" + text)
if kind == "static" and not ("several copies of minnow" in text and f"\n  {application}\n" in text and f"\n  {plugin}\n" in text
                             and "generator: apart" in text):
    sys.exit("two copies of the library are not named:\n" + text)
print(text)
