#include <minnow/distributed/data_parallel.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/detail/engine.h>
#include <minnow/distributed/detail/transfer.h>
#include <minnow/distributed/process.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/capture_rules.h>

namespace minnow::dist {
namespace {

using nn::NamedTensor;
using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Parameters of one dtype whose gradients are sent together: by NCCL those of a GPU, the others from host memory.
struct Bucket {
  std::vector<std::size_t> parameters;
  std::vector<std::int64_t> begins, sizes;  // in elements
  std::int64_t size = 0;                    // of all
  DType dtype{};
  Device device{};  // of the parameters
  Nccl* nccl = nullptr;
  Signature mine{};
  Tensor flat{};                   // the gradients; those of the parameters are parts of it afterwards
  std::weak_ptr<Storage> given{};  // the memory of which they are parts
  Tensor present{};                // int32 [parameters]: whether this rank has it
  Tensor counts{};                 // int32 [parameters]: how many ranks have it
  std::size_t ready = 0;
  Work work{};
  Clock::time_point sent{};
};

/// A part of a bucket, in the shape of its parameter.
Tensor part_of(const Bucket& bucket, std::size_t place, const Tensor& p) {
  return bucket.flat.narrow(0, bucket.begins[place], p.numel()).reshape(p.shape());
}

/// Its memory, and how often that was written.
std::pair<const Storage*, std::uint32_t> state_of(const Tensor& buffer) {
  return {buffer.storage().get(), buffer.storage()->version()};
}

/// What differs between modules, compared by all ranks.
Signature signature_of(const NamedTensor& parameter) {
  Signature s;
  s.kind = Signature::Kind::parameter;
  s.dtype = static_cast<std::int32_t>(parameter.tensor.dtype());
  s.rank = parameter.tensor.dim();
  for (int d = 0; d < parameter.tensor.dim(); ++d) s.sizes[d] = parameter.tensor.size(d);
  s.set_name(parameter.name);
  return s;
}

/// Waits for all buckets; throws what the first that has failed has thrown.
void wait_for_all(std::vector<Bucket>& buckets) {
  std::exception_ptr error;
  for (Bucket& bucket : buckets) {
    try {
      bucket.work.wait();
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

struct DataParallel::State {
  State(const DataParallelOptions& chosen, SourceLocation line) : options(chosen), where(line) {}

  void make_buckets();
  bool buckets_fit() const;
  void begin();
  void on_gradient(std::size_t parameter);
  void put(std::size_t parameter);
  void send(Bucket& bucket);
  void finish();
  void require_same_parameters(const nn::Module& module) const;
  void sync_buffers(const nn::Module& module);
  void note_buffers(const nn::Module& module);
  void require_all(const Bucket& bucket) const;

  const DataParallelOptions options;
  const SourceLocation where;  // it was made
  int number = 0;              // of the DataParallel of this process, from 1
  std::vector<NamedTensor> parameters;
  std::vector<std::pair<std::size_t, std::size_t>> places;  // of each parameter: its bucket, and its place there
  std::vector<char> waiting;                                // of each parameter: it has gradients of no_sync()
  std::vector<Bucket> buckets;                              // in the order in which they are sent
  std::size_t next = 0;                                     // the first bucket that was not sent
  std::int64_t turn = 1;                                    // of the next backward that averages
  bool running = false;                                     // a backward that averages
  int no_sync = 0;
  std::vector<std::pair<const Storage*, std::uint32_t>> buffers;  // as they were after the last sync
  bool captured = false;                                          // buffers change by replays, which nothing counts
  std::vector<HookHandle> hooks;
  Report report;
};

void DataParallel::State::make_buckets() {
  std::int64_t all = 0;
  for (const NamedTensor& p : parameters) all += p.tensor.nbytes();
  // The last bucket is complete when backward ends, and nothing hides it: it must not be most of a small model.
  const std::int64_t most = std::min(static_cast<std::int64_t>(options.bucket_mb * 1e6), all / 4);
  buckets.clear();
  places.assign(parameters.size(), {});
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
    bucket.parameters.push_back(k);
    bucket.sizes.push_back(p.numel());
    bytes += p.nbytes();
  }
  for (Bucket& bucket : buckets) {
    const NamedTensor& first = parameters[bucket.parameters.front()];
    const Tensor& last = parameters[bucket.parameters.back()].tensor;
    // Sizes that would leave those behind them at odd addresses come last.
    constexpr std::int64_t kEven = 32;
    bucket.begins.resize(bucket.sizes.size());
    bucket.size = 0;
    for (const bool even : {true, false})
      for (std::size_t place = 0; place < bucket.sizes.size(); ++place)
        if ((bucket.sizes[place] % kEven == 0) == even)
          bucket.begins[place] = std::exchange(bucket.size, bucket.size + bucket.sizes[place]);
    bucket.dtype = last.dtype();
    bucket.device = last.device();
    bucket.nccl = nullptr;
    if (last.device().is_cuda() && Nccl::has(last.dtype(), true)) bucket.nccl = Engine::current().nccl(last.device());
    bucket.present = zeros({static_cast<std::int64_t>(bucket.parameters.size())}, {DType::int32, Device()});
    bucket.counts = zeros_like(bucket.present);
    bucket.mine.kind = Signature::Kind::bucket;
    bucket.mine.dtype = static_cast<std::int32_t>(last.dtype());
    bucket.mine.model = number;
    bucket.mine.on_gpu = bucket.nccl != nullptr ? 1 : 0;
    bucket.mine.rank = 1;
    bucket.mine.sizes[0] = bucket.size;
    bucket.mine.set_name(first.name);
  }
}

/// False after Module::to().
bool DataParallel::State::buckets_fit() const {
  for (const Bucket& bucket : buckets)
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
      const Tensor& p = parameters[bucket.parameters[place]].tensor;
      if (p.dtype() != bucket.dtype || p.device() != bucket.device || p.numel() != bucket.sizes[place]) return false;
    }
  return true;
}

/// At the first gradient of a backward.
void DataParallel::State::begin() {
  for (Bucket& bucket : buckets) bucket.work = Work();  // of a backward that has thrown
  if (!buckets_fit()) make_buckets();
  for (Bucket& bucket : buckets) {
    bucket.ready = 0;
    // New where somebody still has gradients of the last backward.
    if (!bucket.flat.defined() || bucket.flat.storage().use_count() > 1)
      bucket.flat = empty({bucket.size}, {bucket.dtype, bucket.nccl ? bucket.device : Device()});
    std::fill_n(bucket.present.data<std::int32_t>(), bucket.parameters.size(), 0);
  }
  next = 0;
  running = true;
  const std::shared_ptr<void> scope(nullptr, [this](void*) { running = false; });  // also if backward throws
  autograd::call_after_backward([this, scope] { finish(); });
}

void DataParallel::State::on_gradient(std::size_t k) {
  if (no_sync > 0) {
    waiting[k] = 1;
    return;
  }
  const NoGradGuard guard;
  if (!running) begin();
  if (CaptureRules::current() != nullptr && buckets[places[k].first].nccl == nullptr)
    throw BackendError(message("the gradients of several ranks cannot be averaged in a captured step without NCCL", {},
                               "run the step directly"));
  put(k);
  // In the order of the buckets, on all ranks the same.
  while (next < buckets.size() && buckets[next].ready == buckets[next].parameters.size()) send(buckets[next++]);
}

/// Puts a gradient into its bucket.
void DataParallel::State::put(std::size_t k) {
  const auto [b, place] = places[k];
  Bucket& bucket = buckets[b];
  int& present = bucket.present.data<std::int32_t>()[place];
  if (present == 0) ++bucket.ready;
  present = 1;
  const Tensor& p = parameters[k].tensor;
  detail::raw::copy_to(p.grad().detach(), part_of(bucket, place, p));
}

void DataParallel::State::send(Bucket& bucket) {
  bucket.sent = Clock::now();
  const auto* const present = bucket.present.data<std::int32_t>();
  bucket.mine.turn = turn;
  bucket.mine.detail = hash_of(present, bucket.parameters.size() * sizeof *present);
  std::copy_n(present, bucket.parameters.size(), bucket.counts.data<std::int32_t>());
  // Ranks that have the same gradients know how many have each.
  const auto agree = [counts = bucket.counts, mine = bucket.mine](Communicator& c) {
    auto* const data = counts.data<std::int32_t>();
    if (c.agree(mine))
      std::transform(data, data + counts.numel(), data, [&](std::int32_t has) { return has * c.size(); });
    else all_reduce_bytes(c, ReduceOp::sum, DType::int32, reinterpret_cast<std::byte*>(data), counts.numel());
  };
  Engine& engine = Engine::current();
  if (bucket.nccl != nullptr) {
    bucket.work =
        engine.start(*bucket.nccl, {Nccl::Call::Kind::all_reduce, bucket.flat, bucket.flat, ReduceOp::mean}, agree);
    return;
  }
  bucket.work = engine.start([agree, host = bucket.flat](Communicator& c) {
    agree(c);
    all_reduce_bytes(c, ReduceOp::mean, host.dtype(), static_cast<std::byte*>(host.raw_data()), host.numel());
  });
}

/// At the end of backward: sends what is left, and takes what has arrived.
void DataParallel::State::finish() {
  const NoGradGuard guard;
  const Clock::time_point start = Clock::now(), first = next > 0 ? buckets.front().sent : start;
  for (; next < buckets.size(); ++next) {
    Bucket& bucket = buckets[next];
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
      if (bucket.present.data<std::int32_t>()[place] != 0) continue;
      const std::size_t k = bucket.parameters[place];
      const Tensor& p = parameters[k].tensor;
      if (waiting[k] != 0 && p.grad().defined()) put(k);
      else detail::raw::fill_(part_of(bucket, place, p), 0);
    }
    send(bucket);
  }
  wait_for_all(buckets);
  ++turn;
  Report now{.backwards = 1, .waited = seconds_since(start)};
  now.seconds = seconds_since(first);
  for (const Bucket& bucket : buckets) now.bytes += bucket.flat.nbytes();
  add(report, now);
  Engine::current().count(now);
  for (const Bucket& bucket : buckets) require_all(bucket);
  std::fill(waiting.begin(), waiting.end(), char{0});
  for (Bucket& bucket : buckets) {
    bool gives = false;
    for (std::size_t place = 0; place < bucket.parameters.size(); ++place) {
      if (bucket.counts.data<std::int32_t>()[place] == 0) continue;
      const Tensor& p = parameters[bucket.parameters[place]].tensor;
      const Tensor mean = part_of(bucket, place, p);
      // A gradient stays the same tensor where it is a part already, since captured steps know it, and where it is
      // recorded.
      const Tensor grad = p.grad();
      const bool stays = grad.requires_grad() || grad.storage() == bucket.given.lock();
      if (!stays && mean.device() == p.device() && p.is_contiguous()) {
        p.set_grad(mean);
        gives = true;
      } else if (detail::is_expanded(p.grad().shape(), p.grad().strides())) p.set_grad(mean.to(p.device()));
      else detail::raw::copy_to(mean, p.grad().detach());
    }
    if (gives) bucket.given = bucket.flat.storage();
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

/// Parameters that came later would be averaged by nobody.
void DataParallel::State::require_same_parameters(const nn::Module& module) const {
  std::size_t k = 0;
  for (const NamedTensor& p : module.named_parameters()) {
    if (k < parameters.size() && p.tensor.slot() == parameters[k].tensor.slot()) {
      ++k;
    } else if (p.tensor.requires_grad()) {
      throw AutogradError(message("'" + p.name + "' requires a gradient, and did not when the DataParallel was made",
                                  {{"parameter", p.tensor}},
                                  "make the DataParallel after parameters are added, replaced or unfrozen"));
    }
  }
}

void DataParallel::State::sync_buffers(const nn::Module& module) {
  const NoGradGuard guard;
  const std::vector<NamedTensor> all = module.named_buffers();
  // A buffer that is written is one that backward may refuse, so that those are left alone that nobody has changed.
  std::vector<char> changed(all.size(), 1);
  captured = captured || CaptureRules::current() != nullptr;
  if (!captured) {
    for (std::size_t i = 0; i < all.size() && all.size() == buffers.size(); ++i)
      changed[i] = buffers[i] != state_of(all[i].tensor) ? 1 : 0;
    Signature mine;
    mine.kind = Signature::Kind::buffers;
    mine.model = number;
    mine.detail = hash_of(changed.data(), changed.size());
    bool same = true;
    Engine::current().start([&](Communicator& c) { same = c.agree(mine); }).wait();
    if (!same) std::fill(changed.begin(), changed.end(), char{1});
  }
  std::vector<Work> works;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (changed[i] == 0) continue;
    const Tensor& buffer = all[i].tensor;
    works.push_back(options.buffers == BufferSync::mean && is_floating_point(buffer.dtype())
                        ? all_reduce_async(buffer, ReduceOp::mean)
                        : broadcast_async(buffer));
  }
  for (Work& work : works) work.wait();
  note_buffers(module);
}

void DataParallel::State::note_buffers(const nn::Module& module) {
  buffers.clear();
  for (const NamedTensor& buffer : module.named_buffers()) buffers.push_back(state_of(buffer.tensor));
}

DataParallel::DataParallel(nn::Module& module, const DataParallelOptions& options, SourceLocation where) {
  const CallSite site("dist::DataParallel", where);
  if (!(options.bucket_mb > 0))
    throw ValueError(
        message("bucket_mb must be positive, got " + std::to_string(options.bucket_mb), {}, "the default is 25"));
  Engine& engine = Engine::current();
  state_ = std::make_unique<State>(options, where);
  State& s = *state_;
  static std::atomic<int> made = 0;
  s.number = ++made;
  for (const NamedTensor& p : module.named_parameters())
    if (p.tensor.requires_grad()) s.parameters.push_back(p);
  s.waiting.assign(s.parameters.size(), 0);
  engine
      .start([&](Communicator& c) {
        for (const NamedTensor& p : s.parameters) c.agree(signature_of(p));
        Signature end;
        end.kind = Signature::Kind::parameter;
        char text[64] = "";
        std::snprintf(text, sizeof text, "no more; bucket_mb %g, buffers %s", options.bucket_mb,
                      options.buffers == BufferSync::none        ? "none"
                      : options.buffers == BufferSync::broadcast ? "broadcast"
                                                                 : "mean");
        end.set_name(text);
        c.agree(end);
      })
      .wait();
  const NoGradGuard guard;
  for (const NamedTensor& p : module.named_parameters()) broadcast(p.tensor.detach());
  for (const NamedTensor& b : module.named_buffers()) broadcast(b.tensor);
  s.note_buffers(module);
  s.make_buckets();
  for (std::size_t k = 0; k < s.parameters.size(); ++k)
    s.hooks.push_back(
        register_post_accumulate_grad_hook(s.parameters[k].tensor, [&s, k](const Tensor&) { s.on_gradient(k); }));
  s.hooks.push_back(module.register_forward_pre_hook([&s](const nn::ForwardPreCall& call) {
    if (!call.module.is_training()) return;
    const CallSite forward("dist::DataParallel", s.where);
    if (is_grad_enabled()) s.require_same_parameters(call.module);
    if (s.options.buffers != BufferSync::none && s.no_sync == 0 && !call.module.named_buffers().empty())
      s.sync_buffers(call.module);
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
