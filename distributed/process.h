#pragma once

#include <memory>
#include <minnow/tensor/device.h>
#include <minnow/tensor/source_location.h>

/// Training by several processes, the ranks, which MPI starts: `mpirun -n 4 ./train`.  A library of its own,
/// minnow::distributed, so that other programs link no MPI.
namespace minnow::dist {

struct ProcessOptions {
  /// Seconds that a collective waits for a rank that has not called it, before it throws and names that rank.
  double timeout = 300;
};

/// This program as one rank of several.  Made first in main(); there is one at a time, and one in the life of a
/// program.
///
///     int main() {
///       const dist::Process process;
///       Net net;
///       net.to(process.device());
///       dist::DataParallel parallel(net);
///       ...
///     }
///
/// The default generator is the same on all ranks: manual_seed(seed + process.rank()) gives them different dropout
/// masks. A Checkpoint that rank 0 writes holds that of rank 0: after resume() the ranks seed theirs again, if they are
/// to differ.
///
/// Unless OMP_NUM_THREADS is set, the ranks of a machine share its processors.  Without mpirun there is one rank, and
/// all works as with several.  When an exception leaves the scope of a Process, the others are not waited for: the
/// program should end, and mpirun then ends the others.
class Process {
 public:
  /// Starts MPI.  BackendError if it cannot be started, or was before.
  explicit Process(const ProcessOptions& options = {}, SourceLocation where = SourceLocation::current());
  /// Waits for the other ranks, and ends MPI.  If they are elsewhere, it ends all ranks with a message.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  int rank() const;        ///< 0 ... size() - 1
  int size() const;        ///< the number of ranks
  int local_rank() const;  ///< among the ranks of this machine
  int local_size() const;
  /// The GPU of this rank, or the CPU where there is none.
  Device device() const;

 private:
  int exceptions_;
};

/// Of the Process that lives; 0 and 1 if there is none.
int rank();
int size();

/// minnow::interrupted() of any rank: the same answer on all of them, so that they stop at the same step.  Called by
/// all ranks together, as a collective is.
int interrupted(SourceLocation where = SourceLocation::current());

}  // namespace minnow::dist
