#include <vector>
#include <minnow/tensor/io/detail/integers.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/random.h>

namespace minnow {

StateDict RandomGenerator::state_dict() const {
  const PhiloxState now = state();
  return io::detail::integers(
      {{"seed", static_cast<std::int64_t>(now.seed)}, {"offset", static_cast<std::int64_t>(now.offset)}});
}

void RandomGenerator::load_state_dict(const StateDict& values, SourceLocation where) {
  const std::vector<std::int64_t> read =
      io::detail::read_integers("RandomGenerator", values, {"seed", "offset"}, where);
  set_state({static_cast<std::uint64_t>(read[0]), static_cast<std::uint64_t>(read[1])});
}

}  // namespace minnow
