#!/usr/bin/env python3
"""umbrella.py MINNOW_H -- HEADER...: minnow.h includes each public header, and no internal one."""

import re
import sys

INTERNAL = {
    "autograd/autocast_scope.h", "autograd/backward_observer.h", "autograd/cast_node.h", "autograd/gradient_queue.h", "autograd/gradient_sum.h", "autograd/gradient_watch.h", "autograd/indexed_node.h", "autograd/joint.h", "autograd/leaf_hooks.h", "autograd/node.h",
    "autograd/thread_state.h",
    "tensor/runtime/allocator.h", "tensor/runtime/call_site.h", "tensor/runtime/calling_thread.h",
    "tensor/runtime/capture_rules.h", "tensor/runtime/capture_session.h", "tensor/runtime/copies.h", "tensor/checked.h", "tensor/dtype_switch.h", "tensor/runtime/free_lists.h", "tensor/internal.h",
    "tensor/io/file.h", "tensor/methods.h", "tensor/profile/observers.h", "tensor/runtime/storage_origin.h", "tensor/runtime/system.h", "tensor/profile/tracer.h", "tensor/text.h", "tensor/view.h",
}


def is_internal(header):
    own_namespace = header.startswith("tensor/raw/")
    return header in INTERNAL or own_namespace


def main():
    umbrella, headers = sys.argv[1], sys.argv[3:]
    with open(umbrella) as file:
        included = re.findall(r"#include <minnow/(.+)>", file.read())
    problems = [f"{h} is public (or belongs to INTERNAL in umbrella.py)" for h in headers
                if not is_internal(h) and h not in included]
    problems += [f"{h} is the library's own, and minnow.h includes it" for h in included if is_internal(h)]
    problems += [f"{h} is included, and not there" for h in included if h not in headers]
    problems += [f"{h} is in INTERNAL, and not there" for h in INTERNAL if h not in headers]
    if len(included) < 40:
        problems.append(f"only {len(included)} headers were found in {umbrella}")
    print("\n".join(problems) or f"minnow.h includes the {len(included)} public headers")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
