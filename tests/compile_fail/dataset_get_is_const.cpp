// expect: get\(\) of a dataset is const
// messages: 4
// The threads of a data loader call get() concurrently.
#include <minnow/data/loader.h>

using namespace minnow;

struct Changing {
  std::int64_t size() const;
  Tensor get(std::int64_t);
};

void load() {
  data::DataLoader loader(Changing{}, 64);  // must not compile
}
