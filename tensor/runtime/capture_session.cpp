#include <minnow/tensor/runtime/capture_session.h>

#include <cstring>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow::detail {

void forbid_in_capture(std::string_view op, SourceLocation where) {
  throw BackendError(std::string(CallSite::op_or(op)) +
                         ": cannot be captured, because it waits for the device or uses host memory\n"
                         "move it out of the captured step",
                     where);
}

CaptureSession::CaptureSession(Tensor numbers)
    : numbers_(std::move(numbers)), rebindings_(Storage::all_rebindings()), rules_{numbers_.device()} {}

CaptureSession::~CaptureSession() { end(); }

CaptureSession* CaptureSession::current() { return calling_thread.capture; }

void CaptureSession::begin() {
  calling_thread.capture = this;
  scope_.emplace(&rules_);
}

void CaptureSession::end() {
  if (calling_thread.capture != this) return;
  calling_thread.capture = nullptr;
  scope_.reset();
  for (const auto& generator_use : generators_)
    generator_use->taken = generator_use->generator->state().offset - generator_use->base;
  for (const auto& action : at_end_) action();
  at_end_.clear();
  seen_.clear();
  std::erase_if(uses_, [](const auto& use) { return use.second.storage.expired(); });
}

void CaptureSession::note_writes(std::span<const Tensor> results) {
  for (const Tensor& result : results)
    if (result.defined()) overwritten_.push_back(result.storage());
  for (const auto& [address, use] : uses_)
    if (const auto storage = use.storage.lock(); storage && storage->version() != use.version)
      overwritten_.push_back(storage);
}

void CaptureSession::use(const View& tensor) {
  if (!tensor.defined()) return;
  const auto& storage = tensor.storage();
  const Use now{storage, storage->rebindings(), storage->version()};
  const auto [entry, is_new] = uses_.try_emplace(storage.get(), now);
  // The storage was destroyed, and this is another one at its address.
  if (!is_new && entry->second.storage.expired()) entry->second = now;
}

bool CaptureSession::uses_are_current() {
  const std::uint64_t now = Storage::all_rebindings();
  for (const auto& [address, use] : uses_)
    if (const auto storage = use.storage.lock(); storage && storage->rebindings() != use.rebindings) return false;
  rebindings_ = now;
  return true;
}

const double* CaptureSession::dynamic(std::size_t count, Fill fill) {
  if (used_ + count > kNumbers)
    throw BackendError("CapturedStep: the step has more than " + std::to_string(kNumbers) +
                       " numbers that change from run to run\nuse fewer parameter groups or optimizers in one step");
  blocks_.push_back({used_, count, std::move(fill)});
  used_ += count;
  return static_cast<const double*>(numbers_.raw_data()) + blocks_.back().begin;
}

const std::uint64_t* CaptureSession::random(RandomGenerator& generator, const PhiloxState& state) {
  for (const auto& generator_use : generators_)
    if (generator_use->generator == &generator) return generator_use->device_state;
  generators_.push_back(std::make_unique<GeneratorUse>(GeneratorUse{&generator, state.offset, 0, nullptr}));
  GeneratorUse& generator_use = *generators_.back();
  on_failure([&generator_use] {
    PhiloxState now = generator_use.generator->state();
    now.offset -= generator_use.taken;
    generator_use.generator->set_state(now);
  });
  const double* place = dynamic(2, [this, &generator_use](std::span<double> numbers, bool again) {
    write_generator(generator_use, numbers, again);
  });
  return generator_use.device_state = reinterpret_cast<const std::uint64_t*>(place);
}

void CaptureSession::write_generator(const GeneratorUse& generator_use, std::span<double> numbers, bool again) const {
  PhiloxState state = generator_use.generator->state();
  std::uint64_t words[2] = {state.seed, 0};
  if (again) {
    words[1] = state.offset - generator_use.base;
    state.offset += generator_use.taken;
    generator_use.generator->set_state(state);
  }
  std::memcpy(numbers.data(), words, sizeof words);
}

void CaptureSession::undo_run() noexcept {
  end();
  for (const auto& undo : undo_) undo();
  if (again_) return;
  for (const auto& undo : undo_once_) undo();
}

void CaptureSession::count_writes() {
  for (const auto& written : overwritten_)
    if (const auto storage = written.lock()) storage->bump_version();
}

void CaptureSession::fill(std::span<double> numbers) {
  for (const Numbers& block : blocks_) block.fill(numbers.subspan(block.begin, block.count), again_);
  again_ = true;
}

}  // namespace minnow::detail
