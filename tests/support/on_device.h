#pragma once

#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/tensor.h>

namespace minnow::test {

/// The same view, of a copy of its whole storage on another device: strides and offset stay as they are.
inline Tensor on_device(const Tensor& t, Device device) {
  if (!t.defined()) return t;
  const auto elements = static_cast<std::int64_t>(t.storage()->bytes() / t.itemsize());
  const Tensor memory(t.storage(), t.dtype(), {elements}, {1});
  ToOptions options;
  options.copy = true;
  return Tensor(memory.to(device, options).storage(), t.dtype(), t.shape(), t.strides(), t.storage_offset());
}

/// Copies such a view back to the host.
inline Tensor on_host(const Tensor& t) { return on_device(t, Device()); }

}  // namespace minnow::test
