#!/usr/bin/env python3
"""Writes unicode_table.h: the ranges of letters (categories L*) and numbers (N*) of Python's Unicode.  Run by hand.

Each range is two numbers in base 128 (the last byte of a number has the high bit): twice the distance from the end of the range
before, plus one for numbers, and its length."""
import pathlib
import unicodedata


def main():
    ranges = []
    for code in range(0x110000):
        kind = {"L": 0, "N": 1}.get(unicodedata.category(chr(code))[0])
        if kind is None:
            continue
        if ranges and ranges[-1][1] == code and ranges[-1][2] == kind:
            ranges[-1][1] = code + 1
        else:
            ranges.append([code, code + 1, kind])
    out, end = [], 0
    for first, last, kind in ranges:
        for value in ((first - end) * 2 + kind, last - first):
            digits = [value & 127]
            while value := value >> 7:
                digits.insert(0, value & 127)
            digits[-1] |= 128
            out += digits
        end = last
    lines = ["#pragma once", "", "#include <cstdint>", "", "namespace minnow::data::detail {", "",
             f"// Letters and numbers of Unicode {unicodedata.unidata_version}, by make_unicode.py.", "// clang-format off",
             "inline constexpr std::uint8_t kUnicodeTable[] = {"]
    for i in range(0, len(out), 24):
        lines.append(", ".join(map(str, out[i : i + 24])) + ",")
    lines += ["};", "// clang-format on", "", "}  // namespace minnow::data::detail"]
    path = pathlib.Path(__file__).parent / "unicode_table.h"
    path.write_text("\n".join(lines) + "\n")
    print(len(ranges), "ranges,", len(out), "bytes")


if __name__ == "__main__":
    main()
