#include <optional>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/cuda/runtime/stream.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {
namespace {

cudaStream_t handle_of(const Stream& stream) {
  return static_cast<cudaStream_t>(static_cast<const CudaStream&>(*stream.state()).handle());
}

/// A CUDA graph, captured on its own stream and in its own memory.  The capture is thread-local, so loaders can
/// continue.
class Graph final : public CapturedWork {
 public:
  Graph(CudaBackend& backend, int index)
      : backend_(backend),
        index_(index),
        driver_(context(index).driver),
        stream_(backend.new_stream(index)),
        pool_(context(index).memory) {
    select(index);
    capturing_.emplace(*this);  // first, so that allocations of other threads do not wait for the device from now on
    driver_.begin_capture(handle_of(stream_));
  }

  ~Graph() override {
    if (capturing_) {
      cudaGraph_t captured = nullptr;
      if (cudaStreamEndCapture(handle_of(stream_), &captured) == cudaSuccess && captured) cudaGraphDestroy(captured);
      cudaGetLastError();  // clears the error of an invalidated capture
      driver_.end_capture();
      capturing_.reset();
    }
    if (graph_) cudaGraphExecDestroy(graph_);
  }

  void finish() override {
    cudaGraph_t captured = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(handle_of(stream_), &captured);
    driver_.end_capture();
    capturing_.reset();  // after the end, since memory that was freed in between may need events of the stream
    check(ended, "cudaStreamEndCapture");
    const cudaError_t status = cudaGraphInstantiate(&graph_, captured, 0);
    cudaGraphDestroy(captured);
    check(status, "cudaGraphInstantiate");
  }

  void replay() override {
    const Stream stream = backend_.current_stream(index_);
    // Replays use the same memory: one on another stream waits for the last one.
    if (last_ && last_->state() != stream.state()) stream.wait(last_->record(EventUse::ordering));
    select(index_);
    check(cudaGraphLaunch(graph_, handle_of(stream)), "cudaGraphLaunch");
    last_ = stream;
  }

 private:
  /// During the capture, this thread uses the graph's stream and allocates from its pool.
  struct Capturing {
    explicit Capturing(Graph& graph) : pool(graph.pool_), stream(graph.stream_) {}
    PoolGuard pool;
    StreamGuard stream;
  };

  CudaBackend& backend_;
  const int index_;
  RuntimeDriver& driver_;
  const Stream stream_;
  MemoryPool pool_;
  std::optional<Capturing> capturing_;
  std::optional<Stream> last_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<CapturedWork> CudaBackend::begin_capture(int index) { return std::make_unique<Graph>(*this, index); }

}  // namespace minnow::cuda
