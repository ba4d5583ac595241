#include <minnow/data/tensor_dataset.h>

#include <minnow/data/detail/host.h>
#include <minnow/data/detail/stream_copy.h>
#include <minnow/tensor/internal.h>

namespace minnow::data::detail {

std::int64_t prepare_rows(std::span<Tensor> tensors, SourceLocation where) {
  std::string operands;
  for (std::size_t k = 0; k < tensors.size(); ++k) operands += "\n  " + std::to_string(k) + "  " + describe(tensors[k]);
  for (auto& tensor : tensors) {
    if (!tensor.defined())
      throw ValueError("TensorDataset: a tensor is undefined" + operands +
                           "\nit was default-constructed, moved from, or is a gradient that was never computed",
                       where);
    if (!tensor.device().is_cpu())
      throw DeviceError("TensorDataset: tensors must be on the cpu" + operands +
                            "\ncall .cpu(), and let the loader move batches: {.device = ...}",
                        where);
    if (tensor.dim() == 0)
      throw ShapeError("TensorDataset: tensors must have at least one dimension" + operands +
                           "\nthe first dimension is that of the samples",
                       where);
    if (tensor.shape()[0] != tensors[0].shape()[0])
      throw ShapeError(
          "TensorDataset: the first sizes of the tensors must be equal" + operands + "\nthey are the number of samples",
          where);
    tensor.storage()->wait_ready();
    if (tensor.is_contiguous()) continue;
    const Tensor copy = host_tensor(tensor.dtype(), tensor.shape(), where);
    copy_host(tensor, copy);
    tensor = copy;
  }
  return tensors.empty() ? 0 : tensors[0].shape()[0];
}

Tensor row_of(const Tensor& tensor, std::int64_t i) {
  const Shape shape = row_shape(tensor.shape());
  return Tensor(tensor.storage(), tensor.dtype(), shape, contiguous_strides(shape),
                tensor.storage_offset() + i * shape.numel());
}

void gather_rows(const Tensor& tensor, std::span<const std::int64_t> indices, BatchBuffer& buffer, int field,
                 SourceLocation where) {
  Shape shape = tensor.shape();
  shape[0] = static_cast<std::int64_t>(indices.size());
  const Tensor batch = buffer.make(field, tensor.dtype(), shape, where);
  if (batch.numel() == 0) return;
  const auto bytes = static_cast<std::size_t>(batch.nbytes()) / indices.size();
  auto* out = static_cast<char*>(batch.raw_data());
  const auto* rows = static_cast<const char*>(tensor.raw_data());
  const auto row = [&](std::size_t k) { return rows + static_cast<std::size_t>(indices[k]) * bytes; };
  for (std::size_t k = 0; k < indices.size(); ++k, out += bytes) {
    if (k + kRowsAhead < indices.size()) prefetch_row(row(k + kRowsAhead), bytes);
    copy_past_cache(row(k), out, bytes);
  }
  finish_copies();
}

}  // namespace minnow::data::detail
