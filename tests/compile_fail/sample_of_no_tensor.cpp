// expect: a sample is a tensor or number
// messages: 4
// Samples that a data loader cannot put into a batch.
#include <string>
#include <vector>
#include <minnow/data/loader.h>

using namespace minnow;

template <class Sample> struct Of {
  std::int64_t size() const;
  Sample get(std::int64_t) const;
};
struct Named {
  Tensor image;
  std::string name;
};
struct Many {
  std::vector<Tensor> images;
};

void load() {
  data::DataLoader good(Of<std::pair<Tensor, int>>{}, 64);
  data::DataLoader named(Of<Named>{});                                 // must not compile
  data::DataLoader many(Of<Many>{});                                   // must not compile
  data::DataLoader list(Of<std::vector<Tensor>>{});                    // must not compile
  data::DataLoader labeled(Of<std::pair<Tensor, std::string>>{}, 64);  // must not compile
}
