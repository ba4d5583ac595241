// benchmarks/start.cpp with all of the library's headers, for records.py.

#include <minnow/minnow.h>

#include "start.cpp"
