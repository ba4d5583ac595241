#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <minnow/minnow.h>

/// The ranks that mpirun has started, or this program alone.
class Ranks {
 public:
  /// `several`: --distributed was given; then rank 0 alone prints.  ValueError if minnow was built without MPI.
  explicit Ranks(bool several);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const;
  int size() const;
  /// What each rank takes of n; ValueError, which names the option, if n cannot be divided.
  std::int64_t share_of(const char* option, std::int64_t n) const;
  /// The GPU of this rank, or the CPU.
  minnow::Device device() const;
  /// From now on backward averages the gradients of the model over the ranks.  The model must outlive this.
  void average_gradients(minnow::nn::Module& model);
  /// The signal that any rank has received, or 0: all ask together.
  int interrupted() const;
  /// What the exchange of gradients has cost; empty without --distributed.
  std::string report() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};
