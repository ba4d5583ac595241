#include <minnow/data/detail/loader_state.h>

#include <string>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/integers.h>

namespace minnow::data::detail {

StateDict loader_state(const LoaderCore& core, std::int64_t samples) {
  const LoaderPosition position = core.position();
  const DataLoaderOptions& options = core.options();
  return io::detail::integers({{"seed", static_cast<std::int64_t>(core.seed())},
                               {"epoch", position.epoch},
                               {"batch", position.batch},
                               {"samples", samples},
                               {"batch_size", options.batch_size},
                               {"drop_last", options.drop_last},
                               {"shuffle", options.shuffle}});
}

void load_loader_state(LoaderCore& core, std::int64_t samples, const StateDict& values, SourceLocation where) {
  const std::vector<std::int64_t> read = io::detail::read_integers(
      "DataLoader", values, {"seed", "epoch", "batch", "samples", "batch_size", "drop_last", "shuffle"}, where);
  const DataLoaderOptions& options = core.options();
  std::string problems;
  const auto check = [&](const char* name, std::int64_t value, std::int64_t own) {
    if (value == own) return;
    problems +=
        std::string("\n  ") + name + "  saved " + std::to_string(value) + ", this loader " + std::to_string(own);
  };
  check("samples", read[3], samples);
  check("batch_size", read[4], options.batch_size);
  check("drop_last", read[5], options.drop_last);
  check("shuffle", read[6], options.shuffle);
  if (read[1] < 0 || read[1] == kNoEpoch || read[2] < 0)
    problems += "\n  there is no epoch " + std::to_string(read[1]) + " with batch " + std::to_string(read[2]);
  if (!problems.empty())
    throw ValueError("DataLoader::load_state_dict: the state is of a loader with other batches" + problems +
                         "\nmake the loader with the dataset and the options that it was saved with",
                     where);
  core.set_seed(static_cast<std::uint64_t>(read[0]));
  core.set_position({read[1], read[2]});
}

}  // namespace minnow::data::detail
