#include <algorithm>
#include <numeric>

#include "runtime.h"

namespace emulator {
namespace {

thread_local cudaStreamCaptureMode thread_mode = cudaStreamCaptureModeGlobal;
unsigned long long captures_begun = 0;

/// Whether the calling thread must not do anything that could disturb this capture.
bool forbids(const Capture& capture) {
  if (thread_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id() && capture.mode != cudaStreamCaptureModeRelaxed) return true;
  return thread_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

void add_leaves(std::vector<std::size_t>& to, const std::vector<std::size_t>& more) {
  for (const std::size_t leaf : more)
    if (std::find(to.begin(), to.end(), leaf) == to.end()) to.push_back(leaf);
}

/// Whether all captured work is before the last work of the stream on which the capture began.
bool all_joined(const Capture& capture) {
  std::vector<bool> seen(capture.nodes.size(), false);
  std::vector<std::size_t> open = capture.streams[0]->leaves;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    open.insert(open.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::all_of(seen.begin(), seen.end(), [](bool node) { return node; });
}

void end(const CapturePtr& capture) {
  for (const StreamPtr& stream : capture->streams) {
    stream->capture = nullptr;
    stream->leaves.clear();
  }
  std::erase(runtime().captures, capture);
}

std::shared_ptr<Graph> graph_of(const void* handle) {
  const auto found = runtime().graphs.find(handle);
  require(found != runtime().graphs.end());
  return found->second;
}

template <class Handle> void keep(Handle* handle, const std::shared_ptr<Graph>& graph) {
  *handle = reinterpret_cast<Handle>(graph.get());
  runtime().graphs[graph.get()] = graph;
}

}  // namespace

void invalidate(const CapturePtr& capture) { capture->invalid = true; }

void refuse_in_capture() {
  bool refused = false;
  for (const CapturePtr& capture : runtime().captures)
    if (forbids(*capture)) {
      invalidate(capture);
      refused = true;
    }
  require(!refused, cudaErrorStreamCaptureUnsupported);
}

void refuse_in_capture(const StreamPtr& stream) {
  if (stream->capture) {
    invalidate(stream->capture);
    throw Status{cudaErrorStreamCaptureUnsupported};
  }
  refuse_in_capture();
}

void refuse_in_capture(int device) {
  bool refused = false;
  for (const CapturePtr& capture : runtime().captures)
    for (const StreamPtr& stream : capture->streams)
      if (stream->device == device) {
        invalidate(capture);
        refused = true;
      }
  require(!refused, cudaErrorStreamCaptureUnsupported);
  refuse_in_capture();
}

void follow(const StreamPtr& stream, const Event& event) {
  if (!event.capture) {  // The event was recorded outside of the capture.
    if (!event.recorded) return;
    invalidate(stream->capture);
    throw Status{cudaErrorStreamCaptureIsolation};
  }
  const bool under_way =
      std::find(runtime().captures.begin(), runtime().captures.end(), event.capture) != runtime().captures.end();
  require(under_way, cudaErrorCapturedEvent);
  require(!event.capture->invalid, cudaErrorStreamCaptureInvalidated);
  if (stream->capture && stream->capture != event.capture) {
    invalidate(stream->capture);
    invalidate(event.capture);
    throw Status{cudaErrorStreamCaptureMerge};
  }
  require(stream != device_of(*stream).legacy, cudaErrorStreamCaptureImplicit);
  if (!stream->capture) {
    stream->capture = event.capture;
    stream->capture->streams.push_back(stream);
  }
  add_leaves(stream->leaves, event.leaves);
}

}  // namespace emulator

using namespace emulator;

extern "C" {

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return api("cudaThreadExchangeStreamCaptureMode", [&] { std::swap(*mode, thread_mode); });
}

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return api("cudaStreamBeginCapture", [&] {
    const StreamPtr stream = stream_of(handle);
    require(stream != device_of(*stream).legacy, cudaErrorStreamCaptureUnsupported);
    require(!stream->capture, cudaErrorIllegalState);
    stream->capture = std::make_shared<Capture>();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->id = ++captures_begun;
    stream->capture->streams.push_back(stream);
    runtime().captures.push_back(stream->capture);
  });
}

cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  return api("cudaStreamEndCapture", [&] {
    *graph = nullptr;
    const CapturePtr capture = stream_of(handle)->capture;
    require(capture != nullptr, cudaErrorIllegalState);
    require(capture->streams[0] == stream_of(handle), cudaErrorStreamCaptureUnmatched);
    require(capture->mode == cudaStreamCaptureModeRelaxed || capture->thread == std::this_thread::get_id(),
            cudaErrorStreamCaptureWrongThread);
    const bool joined = all_joined(*capture);
    end(capture);
    require(!capture->invalid, cudaErrorStreamCaptureInvalidated);
    require(joined, cudaErrorStreamCaptureUnjoined);
    const auto made = std::make_shared<Graph>();
    for (Capture::Node& node : capture->nodes) made->work.push_back(std::move(node.work));
    keep(graph, made);
  });
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return api("cudaStreamIsCapturing", [&] {
    const CapturePtr capture = stream_of(handle)->capture;
    *status = !capture           ? cudaStreamCaptureStatusNone
              : capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive;
  });
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  return api("cudaGraphInstantiate", [&] { keep(executable, std::make_shared<Graph>(*graph_of(graph))); });
}

cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return api("cudaGraphUpload", [&] {
    graph_of(executable);
    stream_of(stream);
  });
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t handle) {
  return api("cudaGraphLaunch", [&] {
    const auto graph = graph_of(executable);
    const StreamPtr stream = stream_of(handle);
    push(stream, [graph] {
      for (const Work& work : graph->work) {
        if (!work) continue;
        std::string fault = work();
        if (!fault.empty()) return fault;
      }
      return std::string();
    });
  });
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  return api("cudaGraphGetNodes", [&] {
    require(nodes == nullptr, cudaErrorNotSupported);
    *count = graph_of(graph)->work.size();
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return api("cudaGraphDestroy", [&] {
    graph_of(graph);
    runtime().graphs.erase(graph);
  });
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return api("cudaGraphExecDestroy", [&] {
    graph_of(executable);
    runtime().graphs.erase(executable);
  });
}

}  // extern "C"
