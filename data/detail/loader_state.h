#pragma once

#include <cstdint>
#include <minnow/data/detail/loader_core.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::data::detail {

/// DataLoader::state_dict() of a loader with `samples` samples in an epoch.
StateDict loader_state(const LoaderCore& core, std::int64_t samples);
/// DataLoader::load_state_dict().
void load_loader_state(LoaderCore& core, std::int64_t samples, const StateDict& values, SourceLocation where);

}  // namespace minnow::data::detail
