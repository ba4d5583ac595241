#pragma once

#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/source_location.h>

namespace minnow::training::detail {

/// What a program runs on and was built with, as rows of a table: command line, processor, threads, device, memory,
/// versions.  What the system does not tell is left out.
std::vector<std::pair<std::string, std::string>> machine_facts(Device device, SourceLocation where);

}  // namespace minnow::training::detail
