#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/copy_unit.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/strided.h>

namespace minnow::cuda {
namespace {

std::int64_t itemsize(const View& t) { return static_cast<std::int64_t>(t.itemsize()); }
std::int64_t stride_of(const View& t, int dim) { return t.dim() == 0 ? 0 : t.strides()[dim]; }
std::int64_t size_at(const View& t, int dim) { return t.dim() == 0 ? 1 : t.shape()[dim]; }

/// The arguments of a gather; the layout has out, x without its indexed dimension, and the index.
struct Gather {
  kernels::Narrow<3> layout;
  char* out;
  const char* x;
  const char* index;
  std::int64_t stride;  ///< of x along the indexed dimension, in bytes
  std::int64_t limit;
  std::uint32_t* fault;
};

template <class Unit> __global__ void gather_kernel(Gather g) {
  const std::uint32_t step = gridDim.x * blockDim.x;
  for (std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < g.layout.numel; i += step) {
    const kernels::Offsets<3> at = g.layout.offsets(i);
    const std::int64_t k = *reinterpret_cast<const std::int64_t*>(g.index + at.at[2]);
    if (k < 0 || k >= g.limit) *g.fault = 1;
    else *reinterpret_cast<Unit*>(g.out + at.at[0]) = *reinterpret_cast<const Unit*>(g.x + at.at[1] + k * g.stride);
  }
}

/// out = x[index] along dim; `along` are the index's strides over out's dimensions.
void gather_by(const Call& call, const View& x, int dim, const View& index, const Strides& along, const View& out) {
  Strides other_strides = x.strides();
  if (out.dim() > 0) other_strides[dim] = 0;
  const std::int64_t size = itemsize(out);
  kernels::Layout<3> layout =
      kernels::collapse<3>(out.shape(), {{out.strides(), size}, {other_strides, size}, {along, sizeof(std::int64_t)}});
  Gather g{};
  g.out = static_cast<char*>(out.raw_data());
  g.x = static_cast<const char*>(x.raw_data());
  g.index = static_cast<const char*>(index.raw_data());
  g.stride = stride_of(x, dim) * size;
  g.limit = size_at(x, dim);
  g.fault = call.fault_flag(Fault::index_out_of_range);
  // The stride of the indexed dimension must keep wide elements aligned too.
  kernels::Layout<3> wide_layout = layout;
  std::int64_t unit = kernels::widen<3, 2>(wide_layout, size, {g.out, g.x});
  if (g.stride % unit == 0) layout = wide_layout;
  else unit = size;
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<3>& part, const kernels::Base<3>& base) {
    Gather piece = g;
    piece.layout = part;
    piece.out += base.at[0];
    piece.x += base.at[1];
    piece.index += base.at[2];
    visit_unit(unit,
               [&]<class Unit>(Unit) { launch(call, gather_kernel<Unit>, blocks_for(part.numel), kThreads, piece); });
  });
}

}  // namespace

template <> Outcome execute(const calls::Gather& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (out.numel() == 0) return Outcome::ok;
  const Call call(args);
  gather_by(call, x, dim, index, index.strides(), out);
  return Outcome::ok;
}

template <> Outcome execute(const calls::IndexSelect& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (out.numel() == 0) return Outcome::ok;
  const Call call(args);
  Strides along = Shape::filled(out.dim(), 0);
  if (out.dim() > 0) along[dim] = stride_of(index, 0);
  gather_by(call, x, dim, index, along, out);
  return Outcome::ok;
}

}  // namespace minnow::cuda
