#include <minnow/autograd/autocast.h>

#include <unordered_map>
#include <utility>
#include <minnow/autograd/autocast_scope.h>
#include <minnow/autograd/cast_node.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow {
namespace autograd {

/// The casts of parameters.  Those of a captured step are made in it, and are of no use outside.
class AutocastCache {
 public:
  Tensor find(const Tensor& parameter, DType dtype) const {
    const auto found = casts_.find(parameter.id());
    if (found == casts_.end() || session_ != CaptureSession::current()) return {};
    const Cast& cast = found->second;
    const auto storage = cast.storage.lock();
    const bool valid = cast.value.dtype() == dtype && cast.parameter.lock() == parameter.handle() &&
                       storage == parameter.storage() && cast.version == storage->version() &&
                       cast.value_version == cast.value.storage()->version();
    if (!valid || (is_grad_enabled() && !needs_grad(cast.value))) return {};
    return cast.value;
  }
  void keep(const Tensor& parameter, const Tensor& value) {
    if (session_ != CaptureSession::current()) return;
    casts_[parameter.id()] = {parameter.weak(), parameter.storage(), parameter.storage()->version(), value,
                              value.storage()->version()};
  }
  void clear() { casts_.clear(); }

 private:
  struct Cast {
    std::weak_ptr<detail::TensorImpl> parameter;
    std::weak_ptr<Storage> storage;
    std::uint32_t version;
    Tensor value;
    std::uint32_t value_version;  // some operations, such as einsum("ij->ji"), give views of their operand
  };
  std::unordered_map<const void*, Cast> casts_;
  const CaptureSession* session_ = CaptureSession::current();
};

namespace {

constinit thread_local AutocastScope* innermost = nullptr;
constinit thread_local AutocastCache* cache = nullptr;

Tensor recorded_cast(const Tensor& x, DType dtype, SourceLocation where) {
  Tensor y = raw::cast(x, dtype);
  if (!records(x)) return y;
  const Input input(x, where);
  attach(make_node<CastNode>("to", where), y, {&input, 1});
  return y;
}

}  // namespace

AutocastScope::AutocastScope(const AutocastMode& mode, bool keeps_cache)
    : mode_(calling_thread.autocast), outer_(innermost), outer_cache_(cache) {
  if (!keeps_cache || (!cache && mode.enabled)) own_ = std::make_unique<AutocastCache>();
  if (own_) cache = own_.get();
  calling_thread.autocast = mode;
  innermost = this;
}

AutocastScope::~AutocastScope() {
  if (innermost == this) {
    calling_thread.autocast = mode_;
    cache = outer_cache_;
    innermost = outer_;
    return;
  }
  // A guard inside of it, on the heap, lives on: it gets what this one would have restored, and its casts.
  AutocastScope* inner = innermost;
  while (inner && inner->outer_ != this) inner = inner->outer_;
  if (!inner) return;
  inner->mode_ = mode_;
  inner->outer_ = outer_;
  inner->outer_cache_ = outer_cache_;
  if (!inner->own_) inner->own_ = std::move(own_);
}

Tensor autocast_to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const AutocastMode& mode = calling_thread.autocast;
  const bool is_parameter = x.dtype() == DType::float32 && x.slot() && x.slot()->requires_grad;
  if (!is_parameter || dtype != mode.dtype || !mode.caches || !cache)
    return is_half(dtype) ? recorded_cast(x, dtype, CallSite::where()) : x.to(dtype);
  Tensor y = cache->find(x, dtype);
  if (y.defined()) return y;
  y = recorded_cast(x, dtype, CallSite::where());
  cache->keep(x, y);
  return y;
}

}  // namespace autograd

Autocast::Autocast(DType dtype, AutocastOptions options, SourceLocation where) {
  if (!is_half(dtype))
    throw DTypeError("Autocast: " + std::string(name_of(dtype)) +
                         " is not a lower precision than float32\ngive bfloat16, or float16 with an optim::GradScaler",
                     where);
  scope_ = std::make_unique<autograd::AutocastScope>(
      AutocastMode{options.enabled, options.cache_enabled, options.force, dtype}, true);
}

Autocast::~Autocast() = default;

bool is_autocast_enabled() { return calling_thread.autocast.enabled; }
DType get_autocast_dtype() { return calling_thread.autocast.dtype; }
void clear_autocast_cache() {
  if (autograd::cache) autograd::cache->clear();
}

}  // namespace minnow
