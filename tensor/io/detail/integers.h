#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::io::detail {

/// Numbers as 0-dim int64 tensors, for a state_dict().
StateDict integers(std::initializer_list<std::pair<const char*, std::int64_t>> numbers);

/// The numbers of these names, for a load_state_dict() of `whose`.  ValueError, which lists all names that are missing,
/// unexpected or not one int64.
std::vector<std::int64_t> read_integers(const char* whose, const StateDict& values,
                                        std::initializer_list<const char*> names, SourceLocation where);

}  // namespace minnow::io::detail
