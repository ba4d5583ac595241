#pragma once

#include <cstdio>
#include <iostream>

/// Marks what a tutorial prints from here on: docs/make_site.py puts it below the code of that name.
inline void section(const char* name) { std::cout << "--- " << name << '\n' << std::flush; }
/// What is measured: check.py compares no more than that there is something.
inline void measured_section(const char* name) {
  std::cout << "--- " << name << " ~\n" << std::flush;
}
