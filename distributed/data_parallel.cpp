#include <minnow/distributed/data_parallel.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/detail/engine.h>
#include <minnow/distributed/detail/transfer.h>
#include <minnow/distributed/process.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::dist {
namespace {

using nn::NamedTensor;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Parameters of one dtype whose gradients are sent together: by NCCL those of a GPU, the others from host memory.
struct Bucket {
  std::vector<std::size_t> parameters;
  std::vector<std::int64_t> begins;  // in elements
  Nccl* nccl = nullptr;
  Tensor flat{};     // the gradients
  Tensor present{};  // int32 [parameters]: whether this rank has it
  Tensor counts{};   // int32 [parameters]: how many ranks have it
  std::size_t ready = 0;
  Work work{};
  Clock::time_point sent{};
};

/// A part of a bucket, in the shape of its parameter.
Tensor part_of(const Bucket& bucket, std::size_t place, const Tensor& p) {
  return bucket.flat.narrow(0, bucket.begins[place], p.numel()).reshape(p.shape());
}

/// What differs between modules, compared by all ranks.
Signature signature_of(const NamedTensor& parameter) {
  Signature s;
  s.kind = Signature::Kind::buckets;
  s.dtype = static_cast<std::int32_t>(parameter.tensor.dtype());
  s.rank = parameter.tensor.dim();
  for (int d = 0; d < parameter.tensor.dim(); ++d) s.sizes[d] = parameter.tensor.size(d);
  std::strncpy(s.name, parameter.name.c_str(), sizeof s.name - 1);
  return s;
}

}  // namespace

struct DataParallel::State {
  State(nn::Module& net, const DataParallelOptions& chosen) : module(net), options(chosen) {}

  void make_buckets();
  void on_gradient(std::size_t parameter);
  void send(Bucket& bucket);
  void finish();
  void sync_buffers();
  void require_all(const Bucket& bucket) const;

  nn::Module& module;
  const DataParallelOptions options;
  std::vector<NamedTensor> parameters;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of each parameter: its bucket, and its place there
  std::vector<Bucket> buckets;                              // in the order in which they are sent
  std::size_t next = 0;                                     // the first bucket that was not sent
  bool running = false;                                     // a backward that averages
  int no_sync = 0;
  std::vector<HookHandle> hooks;
  Report report;
};

void DataParallel::State::make_buckets() {
  std::int64_t all = 0;
  for (const NamedTensor& p : parameters) all += p.tensor.nbytes();
  // The last bucket is complete when backward ends, and nothing hides it: it must not be most of a small model.
  const std::int64_t most = std::min(static_cast<std::int64_t>(options.bucket_mb * 1e6), all / 4);
  places.resize(parameters.size());
  std::int64_t bytes = 0;
  // Backward reaches the last parameters first.
  for (std::size_t k = parameters.size(); k-- > 0;) {
    const Tensor& p = parameters[k].tensor;
    const Tensor* const first = buckets.empty() ? nullptr : &parameters[buckets.back().parameters.front()].tensor;
    const bool fits =
        first != nullptr && bytes + p.nbytes() <= most && first->dtype() == p.dtype() && first->device() == p.device();
    if (!fits) {
      buckets.emplace_back();
      bytes = 0;
    }
    Bucket& bucket = buckets.back();
    places[k] = {buckets.size() - 1, bucket.parameters.size()};
    bucket.begins.push_back(bytes / static_cast<std::int64_t>(p.itemsize()));
    bucket.parameters.push_back(k);
    bytes += p.nbytes();
  }
  for (Bucket& bucket : buckets) {
    const Tensor& last = parameters[bucket.parameters.back()].tensor;
    const std::int64_t n = bucket.begins.back() + last.numel();
    if (last.device().is_cuda() && Nccl::has(last.dtype(), true)) bucket.nccl = Engine::current().nccl(last.device());
    bucket.flat = empty({n}, {last.dtype(), bucket.nccl ? last.device() : Device()});
    bucket.present = zeros({static_cast<std::int64_t>(bucket.parameters.size())}, {DType::int32, Device()});
    bucket.counts = zeros_like(bucket.present);
  }
}

void DataParallel::State::on_gradient(std::size_t k) {
  if (no_sync > 0) return;
  const NoGradGuard guard;
  if (CaptureSession::current() != nullptr && buckets[places[k].first].nccl == nullptr)
    throw BackendError(message("the gradients of several ranks cannot be averaged in a captured step without NCCL", {},
                               "run the step directly"));
  if (!running) {
    running = true;
    next = 0;
    for (Bucket& bucket : buckets) {
      bucket.work.wait();  // of a backward that has thrown
      bucket.ready = 0;
      std::fill_n(bucket.present.data<std::int32_t>(), bucket.parameters.size(), 0);
    }
    const std::shared_ptr<void> scope(nullptr, [this](void*) { running = false; });  // also if backward throws
    autograd::call_after_backward([this, scope] { finish(); });
  }
  const auto [b, place] = places[k];
  Bucket& bucket = buckets[b];
  int& present = bucket.present.data<std::int32_t>()[place];
  if (present == 0) ++bucket.ready;
  present = 1;
  const Tensor& p = parameters[k].tensor;
  detail::raw::copy_to(p.grad().detach(), part_of(bucket, place, p));
  // In the order of the buckets, on all ranks the same.
  while (next < buckets.size() && buckets[next].ready == buckets[next].parameters.size()) send(buckets[next++]);
}

void DataParallel::State::send(Bucket& bucket) {
  bucket.sent = Clock::now();
  std::copy_n(bucket.present.data<std::int32_t>(), bucket.parameters.size(), bucket.counts.data<std::int32_t>());
  const auto count = [counts = bucket.counts](Communicator& c) {
    all_reduce_bytes(c, ReduceOp::sum, DType::int32, static_cast<std::byte*>(counts.raw_data()), counts.numel());
  };
  Engine& engine = Engine::current();
  if (bucket.nccl != nullptr) {
    bucket.work =
        engine.start(*bucket.nccl, {Nccl::Call::Kind::all_reduce, bucket.flat, bucket.flat, ReduceOp::mean}, count);
    return;
  }
  bucket.work = engine.start([count, host = bucket.flat](Communicator& c) {
    count(c);
    all_reduce_bytes(c, ReduceOp::mean, host.dtype(), static_cast<std::byte*>(host.raw_data()), host.numel());
  });
}

/// At the end of backward: sends what is left, and takes what has arrived.
void DataParallel::State::finish() {
  const NoGradGuard guard;
  const Clock::time_point start = Clock::now(), first = next > 0 ? buckets.front().sent : start;
  for (; next < buckets.size(); ++next) {
    Bucket& bucket = buckets[next];
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place)
      if (bucket.present.data<std::int32_t>()[place] == 0)
        detail::raw::fill_(part_of(bucket, place, parameters[bucket.parameters[place]].tensor), 0);
    send(bucket);
  }
  for (Bucket& bucket : buckets) bucket.work.wait();
  Report now{.backwards = 1, .waited = seconds_since(start)};
  now.seconds = seconds_since(first);
  for (const Bucket& bucket : buckets) now.bytes += bucket.flat.nbytes();
  add(report, now);
  Engine::current().count(now);
  for (const Bucket& bucket : buckets) require_all(bucket);
  for (const Bucket& bucket : buckets) {
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
      if (bucket.counts.data<std::int32_t>()[place] == 0) continue;
      const Tensor& p = parameters[bucket.parameters[place]].tensor;
      detail::raw::copy_to(part_of(bucket, place, p), p.grad().detach());
    }
  }
}

/// All ranks know the counts, and throw or go on together.
void DataParallel::State::require_all(const Bucket& bucket) const {
  const auto* counts = bucket.counts.data<std::int32_t>();
  for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
    if (counts[place] == 0 || counts[place] == size()) continue;
    const Tensor has = all_gather(bucket.present);
    std::string missing;
    for (int r = 0; r < size(); ++r)
      if (has[r].data<std::int32_t>()[place] == 0) missing += (missing.empty() ? "" : ", ") + std::to_string(r);
    const NamedTensor& p = parameters[bucket.parameters[place]];
    throw AutogradError(message("'" + p.name + "' got a gradient on some ranks only; none on rank " + missing,
                                {{"parameter", p.tensor}},
                                "all ranks use the same parameters in a step; add 0 * sum(parameter) to the loss where "
                                "one is left out"));
  }
}

void DataParallel::State::sync_buffers() {
  const NoGradGuard guard;
  for (const NamedTensor& buffer : module.named_buffers()) {
    if (options.buffers == BufferSync::mean && is_floating_point(buffer.tensor.dtype()))
      all_reduce(buffer.tensor, ReduceOp::mean);
    else broadcast(buffer.tensor);
  }
}

DataParallel::DataParallel(nn::Module& module, const DataParallelOptions& options, SourceLocation where) {
  const CallSite site("dist::DataParallel", where);
  if (!(options.bucket_mb > 0))
    throw ValueError(
        message("bucket_mb must be positive, got " + std::to_string(options.bucket_mb), {}, "the default is 25"));
  Engine& engine = Engine::current();
  state_ = std::make_unique<State>(module, options);
  State& s = *state_;
  for (const NamedTensor& p : module.named_parameters())
    if (p.tensor.requires_grad()) s.parameters.push_back(p);
  engine
      .start([&](Communicator& c) {
        for (const NamedTensor& p : s.parameters) c.agree(signature_of(p));
        c.agree({});
      })
      .wait();
  const NoGradGuard guard;
  for (const NamedTensor& p : module.named_parameters()) broadcast(p.tensor.detach());
  for (const NamedTensor& b : module.named_buffers()) broadcast(b.tensor);
  s.make_buckets();
  for (std::size_t k = 0; k < s.parameters.size(); ++k)
    s.hooks.push_back(
        register_post_accumulate_grad_hook(s.parameters[k].tensor, [&s, k](const Tensor&) { s.on_gradient(k); }));
  if (options.buffers != BufferSync::none && !module.named_buffers().empty())
    s.hooks.push_back(module.register_forward_pre_hook([&s](const nn::ForwardPreCall&) {
      if (s.module.is_training() && s.no_sync == 0) s.sync_buffers();
    }));
}

DataParallel::~DataParallel() = default;

DataParallel::NoSync::NoSync(DataParallel& parallel) : parallel_(parallel) { ++parallel_.state_->no_sync; }
DataParallel::NoSync::~NoSync() { --parallel_.state_->no_sync; }

Report DataParallel::report() const { return state_->report; }

Report report() { return Engine::current().report(); }

std::string Report::str() const {
  const double each = 1.0 / static_cast<double>(std::max<std::int64_t>(backwards, 1));
  char text[160];
  std::snprintf(text, sizeof text, "%.2f MB of gradients in %.2f ms, %.0f %% of it behind backward (%lld backwards)",
                static_cast<double>(bytes) * each / 1e6, seconds * each * 1e3, 100 * hidden(),
                static_cast<long long>(backwards));
  return text;
}

}  // namespace minnow::dist
