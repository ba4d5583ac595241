#pragma once

namespace minnow {

/// Whether a program gives the same bits each time that it runs, on one machine with the same versions of libraries.
///
/// On the CPU and on sim it always does, for any number of threads (tensor/runtime/threads.h), workers of a loader and
/// streams: this costs nothing and cannot be turned off.  On CUDA, minnow's own kernels and the products do too;
/// cuDNN's convolutions only if this is on.  Then they use deterministic algorithms alone, which may be slower, and
/// measure none (MathOptions::cudnn_benchmark has no effect); a convolution for which cuDNN has none is a BackendError.
///
/// Random numbers are the seed's (manual_seed) in any case.
void set_deterministic(bool on);
/// What set_deterministic() set, or cuda::MathOptions::deterministic.
bool is_deterministic();

}  // namespace minnow
