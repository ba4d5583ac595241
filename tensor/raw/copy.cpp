#include <minnow/tensor/raw/copy.h>

#include <utility>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::detail::raw {
namespace {

void copy_within(const Tensor& from, const Tensor& to) {
  if (!to.numel()) return;
  to.storage()->wait_ready();
  from.storage()->wait_ready();
  if (CaptureSession* session = CaptureSession::current()) {
    session->use(from);
    session->use(to);
  }
  backend_of(to.device()).run(calls::Copy{from, to});
}

/// The bytes of the storage from a tensor's first element to past its last one.  x has elements and no negative stride.
std::pair<std::int64_t, std::int64_t> extent(const Tensor& x) {
  std::int64_t last = x.storage_offset();
  for (int d = 0; d < x.dim(); ++d) last += (x.shape()[d] - 1) * x.strides()[d];
  const auto size = static_cast<std::int64_t>(x.itemsize());
  return {x.storage_offset() * size, (last + 1) * size};
}

}  // namespace

bool overlaps(const Tensor& out, const Tensor& x) {
  if (out.storage() != x.storage() || !out.numel() || !x.numel()) return false;
  const auto [out_begin, out_end] = extent(out);
  const auto [begin, end] = extent(x);
  if (out_end <= begin || end <= out_begin) return false;
  return out_begin != begin || out.shape() != x.shape() || out.strides() != x.strides() || out.dtype() != x.dtype();
}

Tensor contiguous(const In& x, MemoryFormat format) {
  x->require_defined();
  if (format == MemoryFormat::contiguous) {
    if (x->is_contiguous()) return *x;
  } else {
    if (x->dim() != 4)
      throw ShapeError(
          message("channels_last needs four dimensions", {{"self", *x}}, "shape an image batch as [N, C, H, W]"));
    if (x->is_contiguous(MemoryFormat::channels_last)) return *x;
  }
  const Strides strides =
      format == MemoryFormat::contiguous ? contiguous_strides(x->shape()) : channels_last_strides(x->shape());
  const Tensor out = new_result(x->shape(), strides, x->dtype(), x->device());
  copy_within(*x, out);
  return out;
}

Tensor clone(const In& x) {
  x->require_defined();
  const Tensor out = new_result(x->shape(), x->strides(), x->dtype(), x->device());
  copy_within(*x, out);
  return out;
}

Tensor cast(const In& x, DType dtype) {
  x->require_defined();
  if (x->dtype() == dtype) return *x;
  const Tensor out = new_result(x->shape(), x->strides(), dtype, x->device());
  copy_within(*x, out);
  return out;
}

Tensor copy_to(const Tensor& from, const Tensor& to, SourceLocation where) {
  const CallSite site("copy_", where);
  from.require_defined();
  require_writable(to);
  if (from.device() == to.device()) {
    copy_within(expand(overlaps(to, from) ? clone(from) : from, to.shape()), to);
  } else if (from.dtype() == to.dtype() && from.shape() == to.shape() && from.strides() == to.strides() &&
             is_dense(to.shape(), to.strides())) {
    transfer_to(from, to);
  } else {
    // Transferred at its own size, then broadcast and converted on the target device.
    copy_within(expand(to_device(from, to.device(), false), to.shape()), to);
  }
  to.storage()->bump_version();
  return to;
}

void wait_for(const Tensor& to, const Tensor& from) {
  to.storage()->wait_ready();
  from.storage()->wait_ready();
  if (!to.device().is_cpu()) current_stream(to.device()).synchronize();
}

void overwrite(const Tensor& from, const Tensor& to) {
  copy_within(from, to);
  to.storage()->bump_version();
}

void fill_(const In& x, Scalar value) {
  require_writable(x);
  require_representable(value, x->dtype());
  x->storage()->wait_ready();
  CaptureSession::note(*x);
  if (x->numel()) backend_of(x->device()).run(calls::Fill{*x, value.storable()});
  x->storage()->bump_version();
}

void require_writable(const In& x) {
  x->require_defined();
  for (int d = 0; d < x->dim(); ++d)
    if (x->strides()[d] == 0 && x->shape()[d] > 1 && x->numel() > 0)
      throw ShapeError(message("several elements share memory", {{"self", *x}},
                               "an expanded tensor cannot be written to; call .contiguous() first"));
}

}  // namespace minnow::detail::raw
