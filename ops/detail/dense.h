#pragma once

#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/view.h>

// Operands of calls that take contiguous memory.
namespace minnow::detail {

/// A contiguous tensor; undefined for an undefined one.
inline Tensor dense(const Tensor& t) { return t.defined() ? raw::contiguous(t) : t; }
/// The elements of a contiguous tensor in one dimension; undefined for an undefined one.
inline View flat(const Tensor& t) {
  return t.defined() ? View(t.storage(), t.dtype(), t.numel(), 1, t.storage_offset()) : View();
}
/// A contiguous result of the same shape, dtype and device.
inline Tensor result_like(const Tensor& t) { return raw::new_result(t.shape(), t.dtype(), t.device()); }

}  // namespace minnow::detail
