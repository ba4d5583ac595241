"""run.py MPIRUN PROGRAM [emulated]: a rank that hangs, throws, is killed or leaves ends all ranks within 30 s, with its
cause.  emulated: each rank has an emulated GPU."""

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

MPIRUN, PROGRAM = sys.argv[1:3]
EMULATED = sys.argv[3:] == ["emulated"]
KILLS = int(os.environ.get("MINNOW_KILLS", "1" if EMULATED else "3"))
LIMIT = 30
TOGETHER = 4  # they mostly wait
CASES = [  # what a rank does, which rank, how many there are, texts that must be printed
    ("hangs", 1, 3, ["all_reduce: ranks that have not called it within 3 s: 1", "program.cpp:"]),
    ("hangs", 0, 2, ["rank 0 has not called it within 3"]),
    ("throws", 1, 3, ["the cause of rank 1", "rank 1 of 3 leaves its Process by an exception"]),
    ("throws", 0, 2, ["the cause of rank 1", "rank 0 of 2 leaves its Process by an exception"]),
    ("killed", 1, 3, ["signal 9"]),
    ("exits", 1, 2, ["Exit code:    3"]),
    ("leaves", 1, 2, ["the ranks do not call the same", "the end of its Process"]),
    ("leaves", 0, 3, ["the ranks do not call the same", "the end of its Process"]),
    ("late", 1, 2, ["within 3 s: 1", "the ranks have lost each other", "rank 1  at its call 2"]),
    ("late", 0, 2, ["rank 0 has not called it within 3 s", "the ranks have lost each other"]),
    ("stops", 1, 2, ["backward of DataParallel  model 1  backward 3  float32[2]", "rank 1  the end of its Process"]),
    ("skips", 1, 2, ["mine", "the ranks do not call the same", "rank 1  backward of DataParallel  model 1  backward 2"]),
    ("throws under way", 1, 2, ["the cause of rank 1", "rank 1 of 2 leaves its Process by an exception"]),
    ("exits under way", 1, 2, ["Exit code:    3"]),
    ("never begins", 1, 2, ["MPI has not started within 18 s"]),
]
if EMULATED:
    CASES = [case for case in CASES if case[0] in ("killed", "throws")]
GPU_CASES = [  # environment variables, what a rank does, whether all goes well in the end, texts that must be printed
    ({"MINNOW_NCCL": "none"}, "nothing", True,
     ["tensors of GPUs go through the host", "rank 0: ", "NCCL, which could not be loaded", "rank 1 has 1"]),
    ({"MINNOW_EMULATOR_SAME_GPUS": "1"}, "nothing", True, ["ranks 0 and 1 use the same GPU", "rank 1 has 1"]),
    ({"MINNOW_EMULATOR_NCCL_FAILS": "4"}, "rests", False,
     ["all_reduce of NCCL on rank", "remote process exited or there was a network error"]),
    ({"MINNOW_EMULATOR_NCCL_FAILS": "4"}, "nothing", False,
     [" of NCCL on rank", "network error"]),  # found by the next call, or at the end
    ({}, "outlives", True, ["it ends before a CapturedStep that uses NCCL"]),
    ({"MINNOW_EMULATOR_NCCL_FAILS": "4"}, "fails captured", False, ["of NCCL on rank"]),
]


@contextmanager
def environment(**variables):
    """With a folder of its own: Open MPI 4 fails where two mpirun make or remove the same one at once."""
    with tempfile.TemporaryDirectory(prefix="ranks", ignore_cleanup_errors=True) as folder:
        yield {**os.environ, "OMPI_MCA_orte_tmpdir_base": folder, **variables}


def start(ranks, *arguments, **variables):
    command = [MPIRUN, "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), PROGRAM, *map(str, arguments)]
    began = time.monotonic()
    with environment(**variables) as variables:
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=2 * LIMIT, env=variables)
        except subprocess.TimeoutExpired as late:
            return None, str(late.output) + str(late.stderr), 2 * LIMIT
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


def interrupt():
    """Ctrl-C, as mpirun gets it; an empty text if all ranks stopped at the same step."""
    command = [MPIRUN, "--oversubscribe", "--allow-run-as-root", "-n", "3", PROGRAM, "stop"]
    with environment() as variables, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                                      errors="replace", env=variables) as ranks:
        begun = ranks.stdout.readline()
        time.sleep(random.uniform(0.0, 0.2))
        ranks.send_signal(signal.SIGINT)
        try:
            output = begun + ranks.communicate(timeout=LIMIT)[0]
        except subprocess.TimeoutExpired:
            ranks.kill()
            return f"Ctrl-C: the ranks go on after {LIMIT} s"
    found = re.search(r"stopped at step (\d+) to (\d+)", output)
    return "" if found and found[1] == found[2] else f"Ctrl-C: the ranks did not stop together\n{output}"


def main():
    faults = [fault for fault in ([] if EMULATED else [interrupt()]) if fault]
    status, output, _ = start(3, "nothing")
    if status != 0:
        faults.append(f"ranks that do nothing wrong: status {status}\n{output}")
    with ThreadPoolExecutor(TOGETHER) as pool:
        ends = pool.map(lambda case: start(case[2], case[0], case[1]), CASES)
    for (how, culprit, ranks, texts), (status, output, seconds) in zip(CASES, ends):
        missing = [text for text in texts if text not in output]
        if status in (None, 0) or seconds > LIMIT or missing or "WRONG" in output:
            faults.append(f"rank {culprit} of {ranks} {how}: status {status}, {seconds:.1f} s, not printed: {missing}\n{output}")
        else:
            print(f"rank {culprit} of {ranks} {how}: all ended after {seconds:.1f} s")
    if not EMULATED:
        status, output, seconds = start(2, "forks")
        if status != 0 or seconds > LIMIT or output.count("was made by fork() from a rank") != 2:
            faults.append(f"copies of ranks: status {status}, {seconds:.1f} s\n{output}")
    for variables, how, ends_well, texts in GPU_CASES if EMULATED else []:
        status, output, seconds = start(2, how, **variables)
        missing = [text for text in texts if text not in output]
        if (status == 0) != ends_well or seconds > LIMIT or missing or "lives while" in output:
            faults.append(f"{how}, {variables}: status {status}, {seconds:.1f} s, not printed: {missing}\n{output}")
    slowest, saved = 0.0, -1
    with tempfile.TemporaryDirectory() as folder:
        for kill in range(KILLS):
            moment, culprit = random.uniform(0.0, 0.5), kill % 3
            status, output, seconds = start(3, "train", moment, culprit, folder)
            slowest = max(slowest, seconds - moment)
            if status in (None, 0) or seconds > LIMIT:
                faults.append(f"rank {culprit} killed after {moment:.3f} s: status {status}, {seconds:.1f} s\n{output}")
            saved = max([saved, *map(int, re.findall(r"^saved (\d+)$", output, re.M))])
            status, output, _ = start(2, "resume", folder)
            found = re.search(r"^resumed (-?\d+) of (-?\d+)$", output, re.M)
            least, most = map(int, found.groups()) if found else (-2, -2)
            if status != 0 or least != most or least < saved:
                faults.append(f"kill {kill}: step {saved} was saved, {least} to {most} found, status {status}\n{output}")
    print(f"{KILLS} kills at random moments of training: all ended, the slowest after {slowest:.1f} s; "
          f"no checkpoint of {saved} steps was lost")
    print("\n".join(faults))
    return 1 if faults else 0


sys.exit(main())
