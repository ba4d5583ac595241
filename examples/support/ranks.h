#pragma once

#include <memory>
#include <string>
#include <minnow/minnow.h>

/// The ranks that mpirun has started, or this program alone.
class Ranks {
 public:
  /// `several`: --distributed was given.  ValueError if minnow was built without MPI.
  explicit Ranks(bool several);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  int rank() const;
  int size() const;
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
