#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/products/matmul_operands.h>
#include <minnow/tensor/internal.h>

// What the rooms ask of a library for dense products and convolutions.  oneDNN answers (onednn/), or loops of our own
// (own/) in a build without it; CMake takes the files of one of the two (MINNOW_ONEDNN).  Either gives the same bits
// for any number of threads: work is divided by sizes only.

namespace minnow::cpu::library {

/// Whether there are instructions for products of a half dtype.  Without, halves are computed in float32.
bool has_half(DType dtype);
/// Whether the machine's products of bfloat16 are much faster than those of float32.
bool has_tiles();
/// Whether products of uint8 and int8 are added as 32 bits.  oneDNN adds pairs of them as 16 bits, and cuts them off,
/// on processors without instructions for it; bytes up to 127 are exact there too.
bool adds_bytes_exactly();

/// out = alpha a b + bias + beta out, with dense rows of `out`; false if it has no kernel for these operands.
bool multiply(const MatmulParams& params, const MatmulOperands& o, MatmulDTypes dtypes);

// Convolutions of dense channels-last activations and row-major weights, of one dtype.  They return false if there is
// no kernel.

/// float32 results are activated.
bool conv_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                  Activation activation);
bool conv_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// `shape`: that of the weights.  grad_w may have fewer input channels, the first ones, and another dtype.  grad_bias
/// may be undefined.
bool conv_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const Shape& shape,
                          const View& grad_w, const View& grad_bias);
/// The names of what computes the parts; none if there is no kernel.
std::vector<std::string> conv_names(ConvDirection direction, DType dtype, const Conv2dParams& params, const Shape& x,
                                    const Shape& w, const Shape& y);

/// Some columns of an int8 weight, in a layout for products.
struct ByteColumns {
  virtual ~ByteColumns() = default;
};
/// w: [columns, in]
std::unique_ptr<const ByteColumns> pack_bytes(const std::int8_t* w, std::int64_t columns, std::int64_t in);

/// Products of rows of bytes with such columns.  Threads may run one at the same time.
class ByteProduct {
 public:
  virtual ~ByteProduct() = default;
  virtual std::size_t scratch_bytes(const ByteColumns& w) const = 0;
  /// sums = x w, exactly.  x: [rows, in]  sums: [rows, columns]
  virtual void run(const std::uint8_t* x, const ByteColumns& w, std::int32_t* sums, void* scratch) const = 0;
};
std::shared_ptr<const ByteProduct> byte_product(std::int64_t rows, std::int64_t columns, std::int64_t in,
                                                const ByteColumns& like);

}  // namespace minnow::cpu::library
