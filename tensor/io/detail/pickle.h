#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace minnow::io::detail {

/// A value of a pickle.  Values refer to others by their index in Pickle::values.
struct PickleValue {
  enum class Kind : std::uint8_t { none, boolean, integer, real, string, list, tuple, dict, global, storage, tensor };

  Kind kind = Kind::none;
  std::int64_t number = 0;  ///< boolean, integer; storage: its number of elements; tensor: its first element
  double real = 0;          ///< real
  std::string text = {};    ///< string; global: "torch.FloatStorage"; storage: its key
  std::vector<std::uint32_t> items =
      {};  ///< list, tuple; dict: keys and values in turn; storage: the global of its type;
           ///< tensor: storage, sizes, strides, and perhaps the global of its dtype
};

struct Pickle {
  std::vector<PickleValue> values;
  std::uint32_t root = 0;

  const PickleValue& operator[](std::uint32_t i) const { return values[i]; }
};

/// Reads what torch.save() makes of dictionaries, lists, tuples, strings, numbers and tensors (protocols 2 to 5).
/// Nothing is called: the few functions by which a pickle describes tensors and dictionaries are known by name, all
/// else is refused by name.  The work and the memory are proportional to the pickle's size; containers may contain
/// themselves. Throws Refusal (json_reader.h).
Pickle read_pickle(std::string_view bytes);

}  // namespace minnow::io::detail
