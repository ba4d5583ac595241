#pragma once

#include <cstdint>
#include <memory>
#include <vector>
#include <minnow/data/detail/loader_core.h>

namespace minnow::data::detail {

/// One pass over an order of samples: batches in that order, made by worker threads or by the caller.  Used
/// by one thread; the destructor stops and joins the workers wherever they are.
class Epoch {
 public:
  /// Starts at a position; the batches before it are not made.
  Epoch(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers);
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  /// The tensors of the next batch, until the next call; nullptr at the end.  The caller has dropped the
  /// tensors of the batch before.  Throws what the dataset threw (SampleError); the call after that goes on
  /// with the next batch.
  const std::vector<Tensor>* next();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The worker threads of a loader that was not told a number, and whose samples are read one by one.
int default_workers();

}  // namespace minnow::data::detail
