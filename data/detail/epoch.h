#pragma once

#include <cstdint>
#include <memory>
#include <vector>
#include <minnow/data/detail/loader_core.h>

namespace minnow::data::detail {

/// The batches of one epoch, in the order of its samples, made by worker threads or by the caller.  Not thread-safe.
/// The destructor stops and joins the workers.
class Epoch {
 public:
  /// Starts at a position; earlier batches are skipped.
  Epoch(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers);
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  /// The tensors of the next batch, valid until the next call; nullptr at the end.  The caller must have dropped the
  /// tensors of the batch before.  Throws the SampleError of a batch that could not be made; the next call continues
  /// after it.
  const std::vector<Tensor>* next();

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// The number of workers for num_workers = kAuto and a dataset that is read sample by sample.
int default_workers();

}  // namespace minnow::data::detail
