#include <minnow/distributed/detail/nccl.h>

#include <cstring>
#include <unistd.h>
#include <vector>
#include <minnow/tensor/backend/cuda_native.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/backend/library.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/warning.h>

#ifndef MINNOW_NCCL_FOLDERS
#define MINNOW_NCCL_FOLDERS ""
#endif

namespace minnow::dist {
namespace {

constexpr const char* kTitle = "NCCL";

// What nccl.h declares, of version 2.28: enumerations are int, handles are pointers.
using Status = int;
enum : int { kSuccess = 0, kInProgress = 7 };
enum : int { kSum = 0, kMax = 2, kMin = 3, kAvg = 4 };
enum : int {
  kInt8 = 0,
  kUint8 = 1,
  kInt32 = 2,
  kInt64 = 4,
  kFloat16 = 6,
  kFloat32 = 7,
  kFloat64 = 8,
  kBfloat16 = 9,
  kNone = -1
};
struct UniqueId {
  char internal[128];
};

struct Functions {
  Status (*get_version)(int*);
  Status (*get_unique_id)(UniqueId*);
  Status (*init_rank)(void** comm, int ranks, UniqueId id, int rank);
  Status (*destroy)(void* comm);
  Status (*abort)(void* comm);
  Status (*async_error)(void* comm, Status*);
  const char* (*error_string)(Status);
  const char* (*last_error)(void* comm);
  Status (*all_reduce)(const void* from, void* to, std::size_t n, int dtype, int op, void* comm, void* stream);
  Status (*broadcast)(const void* from, void* to, std::size_t n, int dtype, int root, void* comm, void* stream);
  Status (*all_gather)(const void* from, void* to, std::size_t n, int dtype, void* comm, void* stream);
  Status (*reduce_scatter)(const void* from, void* to, std::size_t n, int dtype, int op, void* comm, void* stream);
  Status (*send)(const void* from, std::size_t n, int dtype, int peer, void* comm, void* stream);
  Status (*recv)(void* to, std::size_t n, int dtype, int peer, void* comm, void* stream);
};

Functions load() {
  static const cuda::Library library({kTitle,
                                      "MINNOW_NCCL",
                                      {"libnccl.so.2", "libnccl.so"},
                                      "install it with pip install nvidia-nccl-cu13, whose folder nvidia/nccl/lib then "
                                      "goes into LD_LIBRARY_PATH, or with NVIDIA's Debian repository: apt install "
                                      "libnccl2",
                                      MINNOW_NCCL_FOLDERS});
  Functions f{};
  library.bind(f.get_version, "ncclGetVersion");
  library.bind(f.get_unique_id, "ncclGetUniqueId");
  library.bind(f.init_rank, "ncclCommInitRank");
  library.bind(f.destroy, "ncclCommDestroy");
  library.bind(f.abort, "ncclCommAbort");
  library.bind(f.async_error, "ncclCommGetAsyncError");
  library.bind(f.error_string, "ncclGetErrorString");
  library.bind(f.last_error, "ncclGetLastError");
  library.bind(f.all_reduce, "ncclAllReduce");
  library.bind(f.broadcast, "ncclBroadcast");
  library.bind(f.all_gather, "ncclAllGather");
  library.bind(f.reduce_scatter, "ncclReduceScatter");
  library.bind(f.send, "ncclSend");
  library.bind(f.recv, "ncclRecv");
  return f;
}

/// Loads the library at the first call.  BackendError if it cannot be loaded.
const Functions& functions() {
  static const Functions table = load();
  return table;
}

/// NCCL has no bool, whose sum and maximum are both "or", and no int16.
int type_of(DType dtype) {
  switch (dtype) {
    case DType::float32: return kFloat32;
    case DType::float64: return kFloat64;
    case DType::float16: return kFloat16;
    case DType::bfloat16: return kBfloat16;
    case DType::int64: return kInt64;
    case DType::int32: return kInt32;
    case DType::int8: return kInt8;
    case DType::uint8:
    case DType::bool_: return kUint8;
    default: return kNone;
  }
}

int op_of(ReduceOp op, DType dtype) {
  switch (op) {
    case ReduceOp::sum: return dtype == DType::bool_ ? kMax : kSum;
    case ReduceOp::mean: return kAvg;
    case ReduceOp::max: return kMax;
    case ReduceOp::min: break;
  }
  return kMin;
}

const char* function_of(Nccl::Call::Kind kind) {
  constexpr const char* kNames[] = {"ncclAllReduce",     "ncclBroadcast", "ncclAllGather",
                                    "ncclReduceScatter", "ncclSend",      "ncclRecv"};
  return kNames[static_cast<int>(kind)];
}

std::string error_text(Status status, void* comm) {
  const std::string last = functions().last_error(comm);
  return functions().error_string(status) + (last.empty() ? "" : ": " + last);
}

std::string of_ranks(int rank, int ranks) {
  return " of NCCL on rank " + std::to_string(rank) + " of " + std::to_string(ranks);
}

/// What each rank tells the others before NCCL starts.
struct Introduction {
  char host[64] = "", gpu[32] = "", problem[928] = "";
  std::int32_t version = 0;
};

template <std::size_t N> void put(char (&to)[N], const std::string& text) { to[text.copy(to, N - 1)] = '\0'; }

/// The same on all ranks.
template <class T> std::vector<T> of_all(Communicator& c, const T& mine) {
  std::vector<T> all(static_cast<std::size_t>(c.size()), mine);
  c.gather(reinterpret_cast<std::byte*>(all.data()), sizeof(T));
  return all;
}

/// Why NCCL cannot be used; empty if it can.
std::string obstacle(const std::vector<Introduction>& all) {
  for (std::size_t r = 0; r < all.size(); ++r) {
    const std::string name = "rank " + std::to_string(r);
    if (all[r].problem[0] != '\0') return name + ": " + all[r].problem;
    if (all[r].version != all[0].version)
      return name + " has version " + std::to_string(all[r].version) + " of NCCL, and rank 0 " +
             std::to_string(all[0].version);
    for (std::size_t s = 0; s < r; ++s)
      if (std::strcmp(all[s].host, all[r].host) == 0 && std::strcmp(all[s].gpu, all[r].gpu) == 0)
        return "ranks " + std::to_string(s) + " and " + std::to_string(r) + " use the same GPU, " + all[r].gpu +
               " of " + all[r].host + ": start as many ranks as there are GPUs";
  }
  return "";
}

}  // namespace

bool Nccl::has(DType dtype, bool reduces) { return !reduces || type_of(dtype) != kNone; }

std::unique_ptr<Nccl> Nccl::start(Communicator& c, Device device, std::string& why_not) {
  Introduction mine;
  char host[sizeof mine.host] = "";
  gethostname(host, sizeof host - 1);
  put(mine.host, host);
  try {
    put(mine.gpu, cuda::bus_id(device.index()));
    functions().get_version(&mine.version);
  } catch (const Error& error) { put(mine.problem, error.what()); }
  why_not = obstacle(of_all(c, mine));
  if (!why_not.empty()) return nullptr;

  const Functions& f = functions();
  struct Start {
    Status status = kSuccess;
    UniqueId id = {};
    char problem[380] = "";
  } first;
  if (c.rank() == 0) first.status = f.get_unique_id(&first.id);
  if (first.status != kSuccess) put(first.problem, error_text(first.status, nullptr));
  c.broadcast(reinterpret_cast<std::byte*>(&first), sizeof first, 0);
  if (first.status != kSuccess)
    throw BackendError(message("ncclGetUniqueId" + of_ranks(0, c.size()) + " failed: " + first.problem, {},
                               "NCCL_DEBUG=INFO makes NCCL say more"));
  const Tensor token = empty({1}, {DType::uint8, device});
  cuda::native_stream(token, token);  // selects the device
  void* comm = nullptr;
  first.status = f.init_rank(&comm, c.size(), first.id, c.rank());
  if (first.status != kSuccess) put(first.problem, error_text(first.status, nullptr));
  const std::vector<Start> all = of_all(c, first);
  for (std::size_t r = 0; r < all.size(); ++r) {
    if (all[r].status == kSuccess) continue;
    if (comm != nullptr) f.abort(comm);
    throw BackendError(
        message("ncclCommInitRank" + of_ranks(static_cast<int>(r), c.size()) + " failed: " + all[r].problem, {},
                "NCCL_DEBUG=INFO makes NCCL say more; MINNOW_NCCL=none does without NCCL"));
  }
  std::unique_ptr<Nccl> nccl(new Nccl(comm, c.rank(), c.size(), device));
  // Connects the ranks, which a captured step could not.
  const Tensor number = zeros({1}, {.device = device});
  nccl->submit({Call::Kind::all_reduce, number, number, ReduceOp::max, 0},
               current_stream(device).record(EventUse::ordering));
  return nccl;
}

Nccl::Nccl(void* comm, int rank, int ranks, Device device)
    : comm_(comm),
      rank_(rank),
      ranks_(ranks),
      stream_(device),
      captured_stream_(device),
      token_(empty({1}, {DType::uint8, device})) {}

Nccl::~Nccl() = default;

void Nccl::check(int status, const char* function) const {
  if (status == kSuccess || status == kInProgress) return;
  throw BackendError(message(function + of_ranks(rank_, ranks_) + " failed: " + error_text(status, comm_), {},
                             "NCCL_DEBUG=INFO makes NCCL say more"));
}

/// `mutex_` is held.
Event Nccl::run(const Call& call, const Stream& stream) {
  if (comm_ == nullptr) throw BackendError(message("NCCL has ended", {}, "start the program again"));
  const Functions& f = functions();
  const StreamGuard guard(stream);
  void* const to_stream = cuda::native_stream(call.from, call.to);
  const void* const from = call.from.raw_data();
  void* const to = call.to.raw_data();
  const DType dtype = call.to.dtype();
  const int type = type_of(dtype), op = op_of(call.op, dtype);
  const auto bytes = static_cast<std::size_t>(call.from.nbytes());
  const auto n = static_cast<std::size_t>(call.to.numel());
  using enum Call::Kind;
  Status status = kSuccess;
  const cuda::NativeScope scope;  // the first call of a kind connects ranks, and may allocate
  switch (call.kind) {
    case all_reduce: status = f.all_reduce(from, to, n, type, op, comm_, to_stream); break;
    case broadcast: status = f.broadcast(from, to, bytes, kUint8, call.root, comm_, to_stream); break;
    case all_gather: status = f.all_gather(from, to, bytes, kUint8, comm_, to_stream); break;
    case reduce_scatter: status = f.reduce_scatter(from, to, n, type, op, comm_, to_stream); break;
    case send: status = f.send(from, bytes, kUint8, call.root, comm_, to_stream); break;
    case recv: status = f.recv(to, bytes, kUint8, call.root, comm_, to_stream); break;
  }
  check(status, function_of(call.kind));
  return stream.record(EventUse::ordering);
}

Event Nccl::submit(const Call& call, const Event& before) {
  const std::lock_guard lock(mutex_);
  stream_.wait(before);
  const Event after = run(call, stream_);
  constexpr std::size_t kMany = 256;
  if (pending_.size() > kMany) drop_finished();
  if (pending_.empty()) front_since_ = Clock::now();
  const std::string_view op = CallSite::op_or(function_of(call.kind));
  pending_.push_back({after, std::string(op)});
  return after;
}

Event Nccl::submit_captured(const Call& call) {
  const std::lock_guard lock(mutex_);
  captured_stream_.wait(current_stream(stream_.device()).record(EventUse::ordering));
  cuda::native_stream(token_, token_);
  return run(call, captured_stream_);
}

/// `mutex_` is held.
void Nccl::drop_finished() {
  try {
    while (!pending_.empty() && pending_.front().after.is_ready()) {
      pending_.pop_front();
      front_since_ = Clock::now();
    }
  } catch (const Error&) {  // the device has failed, as its next use says
    pending_.clear();
  }
}

std::string Nccl::trouble(double timeout) {
  const std::lock_guard lock(mutex_);
  if (comm_ == nullptr) return "";
  Status status = kSuccess;
  const Status asked = functions().async_error(comm_, &status);
  if (asked != kSuccess) status = asked;
  const std::string what = pending_.empty() ? "a collective" : pending_.front().what;
  if (status != kSuccess && status != kInProgress)
    return what + of_ranks(rank_, ranks_) + " failed: " + error_text(status, comm_);
  drop_finished();
  if (!pending_.empty() && std::chrono::duration<double>(Clock::now() - front_since_).count() > timeout)
    return what + of_ranks(rank_, ranks_) + " has not ended within " + std::to_string(timeout) +
           " s: a rank or the network hangs";
  return "";
}

void Nccl::finish() {
  stream_.synchronize();
  const std::lock_guard lock(mutex_);
  pending_.clear();
  if (comm_ == nullptr) return;
  if (token_.storage().use_count() >
      1) {  // both ncclCommDestroy and ncclCommAbort would wait for it: NCCL is left as it is
    warn(
        "dist::Process: it ends before a CapturedStep that uses NCCL\ndeclare the Process first, so that it ends last");
    comm_ = nullptr;
    return;
  }
  cuda::native_stream(token_, token_);  // selects the device
  Status status = kSuccess;
  check(functions().async_error(comm_, &status), "ncclCommGetAsyncError");
  check(status, "a collective");
  check(functions().destroy(comm_), "ncclCommDestroy");
  comm_ = nullptr;
}

}  // namespace minnow::dist
