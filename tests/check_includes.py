#!/usr/bin/env python3
"""Checks that a source includes, itself or by one of ours, a header of what it uses of the standard library: precompiled headers,
and others that are compiled with it, hide one that is missing.

check_includes.py [TREE]        checks a source tree; prints each fault, exit status 1 if there is one
check_includes.py --self-test   sees that a fault is found
"""

import re
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

FOLDERS = ("tensor", "autograd", "ops", "nn", "optim", "data", "distributions", "vision", "text", "tensorboard", "onnx", "llm", "capi", "training", "distributed", "interop", "examples",
           "tools",
           "benchmarks")
SUFFIXES = {".h", ".cpp", ".cu", ".cuh"}
NAMES = {  # of the standard library, by header; those that every other header declares are left out
    "algorithm": "all_of any_of clamp copy_n count count_if equal_range fill find find_if find_if_not for_each lower_bound "
                 "max_element min_element minmax none_of nth_element partial_sort reverse rotate sort stable_sort transform unique "
                 "upper_bound",
    "array": "array",
    "atomic": "atomic",
    "cctype": "isalnum isalpha isdigit isspace tolower toupper",
    "chrono": "chrono",
    "cmath": "acos asin atan atan2 cbrt ceil cos cosh erf exp exp2 expm1 fabs floor fma fmod hypot ilogb isfinite isinf isnan lgamma "
             "log log10 log1p log2 lround nearbyint pow round sin sinh sqrt tan tanh trunc",
    "condition_variable": "condition_variable",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t intptr_t uintptr_t",
    "cstdio": "FILE fclose fflush fopen fprintf fputs fread fwrite printf puts remove snprintf",
    "cstdlib": "abort exit getenv strtod strtol",
    "cstring": "memchr memcmp memcpy memmove memset strcmp strerror strlen",
    "deque": "deque",
    "exception": "current_exception exception exception_ptr rethrow_exception uncaught_exceptions",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream",
    "functional": "function greater hash less plus",
    "future": "async future promise",
    "initializer_list": "initializer_list",
    "iostream": "cerr cout",
    "iterator": "back_inserter make_move_iterator",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "mutex": "call_once lock_guard mutex once_flag recursive_mutex scoped_lock unique_lock",
    "new": "bad_alloc launder",
    "numeric": "accumulate gcd inner_product iota lcm partial_sum",
    "optional": "nullopt optional",
    "random": "mt19937 mt19937_64 random_device uniform_int_distribution",
    "set": "multiset set",
    "shared_mutex": "shared_lock shared_mutex",
    "span": "span",
    "sstream": "istringstream ostringstream stringstream",
    "string": "string to_string stoi stol",
    "string_view": "string_view",
    "thread": "this_thread thread",
    "tuple": "make_tuple tie tuple",
    "type_traits": "is_floating_point_v is_integral_v is_same_v is_signed_v is_unsigned_v",
    "typeindex": "type_index",
    "unordered_map": "unordered_map",
    "unordered_set": "unordered_set",
    "utility": "exchange pair",
    "variant": "get_if holds_alternative variant visit",
    "vector": "vector",
}
# What the standard says that a header also declares, and what all implementations that we know do.
ALSO = {
    "algorithm": {"utility"}, "array": {"initializer_list", "utility", "type_traits"}, "chrono": {"cstdint", "limits"},
    "deque": {"initializer_list"}, "filesystem": {"string", "chrono", "memory"}, "fstream": {"string"}, "functional": {"memory", "utility"},
    "future": {"exception", "memory", "thread", "mutex"}, "iostream": {"string"}, "map": {"initializer_list", "utility"},
    "memory": {"exception", "utility", "type_traits", "new"}, "mutex": {"chrono"}, "optional": {"utility", "type_traits", "new"},
    "set": {"initializer_list"}, "span": {"array"}, "sstream": {"string"}, "string": {"string_view", "initializer_list", "utility"},
    "thread": {"chrono"}, "tuple": {"utility", "type_traits"}, "type_traits": set(), "unordered_map": {"initializer_list", "utility"},
    "unordered_set": {"initializer_list"}, "utility": {"initializer_list", "type_traits"},
    "variant": {"utility", "type_traits"}, "vector": {"initializer_list", "utility", "type_traits"}, "random": {"vector", "string"},
    "condition_variable": {"chrono", "mutex"}, "fmt/format.h": {"string", "string_view", "memory", "limits"},
}
HEADER_OF = {name: header for header, names in NAMES.items() for name in names.split()}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|R"\((?:.|\n)*?\)"', re.S)
USED = re.compile(r"\bstd::(?:ranges::)?(\w+)")


def check(tree):
    """The faults of a tree, and how many files it has."""
    tree = Path(tree)

    @lru_cache(maxsize=None)
    def known(path):
        """The standard headers that a file includes, itself or by ours."""
        found = set()
        for mark, target in INCLUDE.findall(path.read_text()):
            places = [tree / target.removeprefix("minnow/"), tree / "include" / target]
            if mark == '"':
                places = [path.parent / target, tree / path.relative_to(tree).parts[0] / target]
            inner = next((place for place in places if place.is_file()), None)
            if inner is None:
                found |= {target} | ALSO.get(target, set())
            elif inner.resolve() != path.resolve():
                found |= known(inner)
        return frozenset(found)

    faults, count = [], 0
    for folder in FOLDERS:
        for path in sorted((tree / folder).rglob("*")):
            if path.suffix not in SUFFIXES or "libtorch" in path.parts:
                continue
            count += 1
            wanted = {}
            for name in USED.findall(NOT_CODE.sub("", path.read_text())):
                if name in HEADER_OF:
                    wanted.setdefault(HEADER_OF[name], name)
            faults += [f"{path.relative_to(tree)}: std::{name}, but no header includes <{header}>"
                       for header, name in sorted(wanted.items()) if header not in known(path)]
    return faults, count


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder)
        (tree / "tensor").mkdir()
        (tree / "tensor/a.h").write_text("#include <vector>\n")
        (tree / "tensor/a.cpp").write_text('#include <minnow/tensor/a.h>\n// std::map\nstd::vector<int> a; std::string b;\n')
        faults, count = check(tree)
        assert count == 2 and faults == ["tensor/a.cpp: std::string, but no header includes <string>"], faults
        (tree / "tensor/a.h").write_text("#include <vector>\n#include <string>\n")
        assert check(tree) == ([], 2)
    print("self-test passed")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    faults, count = check(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent)
    print("\n".join(faults) or f"{count} files include what they use of the standard library")
    return 1 if faults or not count else 0


sys.exit(main())
