// expect: std::int64_t size\(\) const
// messages: 4
// The data loader says in one sentence what the dataset lacks.
#include <minnow/data/loader.h>

using namespace minnow;

struct NoSize {
  Tensor get(std::int64_t) const;
};

void load() {
  const auto image = [](std::int64_t) { return Tensor(); };
  (void)image;
  data::DataLoader whole(NoSize{}, {.batch_size = 3});  // must not compile
  data::DataLoader lambda(image, 64);                   // must not compile
}
