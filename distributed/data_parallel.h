#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <minnow/nn/module/module.h>

namespace minnow::dist {

/// What a step does with the buffers of the module, such as the running statistics of BatchNorm.  Those that no rank
/// has written since the last time are left as they are.
enum class BufferSync : std::uint8_t {
  none,       ///< each rank has its own
  broadcast,  ///< before each forward in train mode, those of rank 0
  mean,       ///< before each forward in train mode, the mean of the ranks' (integers: those of rank 0)
};

struct DataParallelOptions {
  /// Gradients are sent together in buckets of at most this many MB and a quarter of all, or one by one.
  double bucket_mb = 25;
  BufferSync buffers = BufferSync::broadcast;
};

/// What the exchange of gradients has cost this rank.
struct Report {
  std::int64_t backwards = 0;  ///< that averaged
  std::int64_t bytes = 0;      ///< of gradients
  double seconds = 0;          ///< that buckets were under way, from the first to the last of each backward
  double waited = 0;           ///< of these, after backward had nothing else to do
  /// The share of the exchange that went on while backward did.
  double hidden() const { return seconds > 0 ? 1 - waited / seconds : 1; }
  /// In a line, a backward's mean.
  std::string str() const;
};

/// Training of one module by all ranks, each with batches of its own.  At the start parameters and buffers are those of
/// rank 0; after each backward the gradients are the mean over the ranks, on all of them the same bits, so that equal
/// optimizers keep the parameters equal.  The module is used as before: nothing is wrapped, and state dicts have the
/// same names.
///
///     Net net;
///     dist::DataParallel parallel(net);
///     optim::Adam adam(net.parameters(), {.lr = 1e-3});
///     for (auto& [x, y] : loader) {                     // of a data::DistributedSampler
///       const Tensor loss = nn::cross_entropy(net(x), y);
///       adam.zero_grad();
///       loss.backward();                                // averages the gradients meanwhile
///       adam.step();
///     }
///
/// Buckets are filled in the order in which backward reaches the parameters, from the last layer to the first, and are
/// sent while backward goes on; it returns when all have arrived.  The gradients are then parts of one memory for each
/// bucket, which is used again when nobody has any of them.  Reference: Li et al. 2020, PyTorch Distributed.
///
/// A parameter that got a gradient on some ranks but not on all is an AutogradError on all of them, which names it and
/// the ranks.  One that got none on any rank keeps none.  Ranks whose modules have other parameters get a ValueError
/// from the constructor.  Parameters may be moved, converted and frozen later; a forward in train mode with one that
/// was added, replaced or unfrozen is an AutogradError: it needs a new DataParallel.  Gradients on a GPU
/// are averaged by NCCL (collectives.h), without the host waiting for the GPU, and so are those in a CapturedStep on
/// CUDA; any other captured step is a BackendError.  Not thread-safe; one backward at a time.
class DataParallel {
 public:
  explicit DataParallel(nn::Module& module, const DataParallelOptions& options = {},
                        SourceLocation where = SourceLocation::current());
  ~DataParallel();
  DataParallel(const DataParallel&) = delete;
  DataParallel& operator=(const DataParallel&) = delete;

  /// While it lives, backward does not average: gradients are added up on each rank, and the first backward after it
  /// averages the sums, also those of parameters that it does not reach.  A Checkpoint that is saved in between has the
  /// sums of the rank that saves it: save after the averaging, or let each rank have a folder of its own.
  class NoSync {
   public:
    explicit NoSync(DataParallel& parallel);
    ~NoSync();
    NoSync(const NoSync&) = delete;
    NoSync& operator=(const NoSync&) = delete;

   private:
    DataParallel& parallel_;
  };
  /// const auto guard = parallel.no_sync();
  [[nodiscard]] NoSync no_sync() { return NoSync(*this); }

  /// Since the start.
  Report report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Of all DataParallel of the Process, since its start.  BackendError if there is no Process.
Report report();

}  // namespace minnow::dist
