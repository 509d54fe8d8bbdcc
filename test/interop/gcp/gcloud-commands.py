"""Runs gcloud commands, one after the other, in one process (a start of gcloud takes seconds).

Standard input: a JSON list of argument lists. Standard output: a JSON list of {code, out, err}, in their order.
The first argument is the folder of the SDK.
"""

import contextlib
import io
import json
import os
import sys

root = sys.argv[1]
sys.path[:0] = [os.path.join(root, "lib"), os.path.join(root, "lib", "third_party")]

from googlecloudsdk import gcloud_main  # noqa: E402
from googlecloudsdk.core import log  # noqa: E402

cli = gcloud_main.CreateCLI([])
results = []
for command in json.load(sys.stdin):
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        log.Reset(out, err)
        try:
            cli.Execute(command)
        except SystemExit as stop:
            code = stop.code or 0
    results.append({"code": code, "out": out.getvalue(), "err": err.getvalue()})
json.dump(results, sys.stdout)
