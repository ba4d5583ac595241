#include <algorithm>
#include <cstdint>
#include <minnow/ops/detail/blocks.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/work_count.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail {
namespace {

constexpr std::int64_t kPart = 1 << 22;  // numbers that are dequantized at a time

/// x: [N, I], or [N, O] if transposed, contiguous.
Tensor in_parts(const Tensor& x, const Tensor& blocks, BlockFormat format, std::int64_t in, bool transposed) {
  const std::int64_t n = x.size(0), out = blocks.size(0), each = std::max<std::int64_t>(1, kPart / in);
  const Tensor y = raw::new_result({n, transposed ? in : out}, DType::float32, x.device());
  Backend& backend = dispatch({{"x", x}});
  const auto as_batch = [](const Tensor& t) { return raw::unsqueeze(t, 0); };
  const bool aligned =
      blocks.storage_offset() % 2 == 0 && reinterpret_cast<std::uintptr_t>(blocks.layout().raw_data()) % 2 == 0;
  if (n > calls::BlockProduct::kMostBlockRows && format == BlockFormat::bf16 && aligned &&
      backend.computes_half(DType::bfloat16)) {  // the blocks are an ordinary matrix
    const Shape shape{out, in};
    const Tensor w(blocks.storage(), DType::bfloat16, shape, contiguous_strides(shape), blocks.storage_offset() / 2);
    WorkCount::add(n * out * in);
    backend.run(calls::Matmul{as_batch(raw::cast(x, DType::bfloat16)),
                              as_batch(transposed ? w : raw::transpose(w, 0, 1)),
                              View(),
                              as_batch(y),
                              {}});
    return y;
  }
  for (std::int64_t first = 0; first < out; first += each) {
    const std::int64_t rows = std::min(each, out - first);
    const Tensor w = dequantized(blocks, format, first, rows);
    WorkCount::add(n * rows * in);
    if (transposed)
      backend.run(calls::Matmul{
          as_batch(x.narrow(1, first, rows)), as_batch(w), View(), as_batch(y), {.beta = first == 0 ? 0.0 : 1.0}});
    else
      backend.run(calls::Matmul{
          as_batch(x), as_batch(raw::transpose(w, 0, 1)), View(), as_batch(y.narrow(1, first, rows)), {}});
  }
  return y;
}

}  // namespace

Tensor dequantized(const Tensor& blocks, BlockFormat format, std::int64_t first, std::int64_t rows) {
  const Operand operands[] = {{"blocks", blocks}};
  Backend& backend = dispatch(operands);
  const std::int64_t in = blocks.size(1) / block_bytes(format) * 32;
  const Tensor y = raw::new_result({rows, in}, DType::float32, blocks.device());
  if (y.numel() > 0) backend.run(calls::Dequantize{blocks.narrow(0, first, rows), y, format});
  return y;
}

Tensor block_product(const In& x_, const Tensor& blocks_, BlockFormat format, bool transposed) {
  const Operation op("linear", x_.where, {{"x", *x_}, {"weight", blocks_}});
  const Tensor &x = op[0], &blocks = op[1];
  const std::int64_t in = blocks.size(1) / block_bytes(format) * 32, out = blocks.size(0);
  const std::int64_t from = transposed ? out : in, to = transposed ? in : out;
  if (x.dim() == 0 || x.size(-1) != from)
    throw ShapeError(message("the sizes do not match", op, "x: [..., " + std::to_string(from) + "]"));
  if (x.dtype() != DType::float32)
    throw DTypeError(message("a weight in blocks takes float32", op, "convert: .to(float32)"));
  Shape shape = x.shape();
  shape[-1] = to;
  const std::int64_t rows = x.numel() / std::max<std::int64_t>(1, from);
  const Tensor flat = raw::reshape(raw::contiguous(x.detach()), {rows, from});
  Tensor y;
  if (rows == 0) {
    y = raw::new_result({0, to}, DType::float32, x.device());
  } else if (!transposed && rows <= calls::BlockProduct::kMostBlockRows) {
    WorkCount::add(rows * in * out);
    y = raw::new_result({rows, out}, DType::float32, x.device());
    op.run(calls::BlockProduct{flat, blocks, y, format});
  } else {
    y = in_parts(flat, blocks, format, in, transposed);
  }
  return op.record(raw::reshape(y, shape), {x}, [blocks, format, transposed](const Tensor& g) {
    return block_product(g, blocks, format, !transposed);
  });
}

}  // namespace minnow::detail
