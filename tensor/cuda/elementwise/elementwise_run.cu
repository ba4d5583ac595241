#include <optional>
#include <minnow/tensor/cuda/elementwise/elementwise.h>
#include <minnow/tensor/dtype_switch.h>

namespace minnow::cuda {
namespace {

std::int64_t itemsize(DType dtype) { return static_cast<std::int64_t>(size_of(dtype)); }

void* byte_address(const void* data, std::int64_t bytes) { return static_cast<char*>(const_cast<void*>(data)) + bytes; }

/// Whether all elements are one.
bool is_uniform(const Elements& view, const Shape& shape) {
  if (view.data == nullptr) return true;
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] > 1 && view.strides[d] != 0) return false;
  return true;
}

/// To packs of so many elements.
bool is_aligned(const Elements& view, int count) {
  const std::uintptr_t pack =
      std::min<std::uintptr_t>(kPackAlignment, static_cast<std::size_t>(count) * size_of(view.dtype));
  return reinterpret_cast<std::uintptr_t>(view.data) % pack == 0;
}

/// The shape without dimensions of stride 0.
Shape without_repeats(const Elements& view, Shape shape) {
  for (int d = 0; d < shape.rank(); ++d)
    if (view.strides[d] == 0) shape[d] = 1;
  return shape;
}

/// An input in a dtype that the kernel takes, converted to scratch memory if necessary.
class Converted {
 public:
  Converted(const Call& call, const Elements& view, const Shape& shape, DType dtype) : view_(view) {
    const Shape small = without_repeats(view, shape);
    memory_.emplace(call, static_cast<std::size_t>(small.numel()) * size_of(dtype));
    const Elements target(memory_->as<void>(), dtype, small);
    copier(compute_of(view.dtype))(call, small, target, {view});
    view_ = target;
    for (int d = 0; d < shape.rank(); ++d)
      if (small[d] == 1) view_.strides[d] = 0;
  }
  const Elements& view() const { return view_; }

 private:
  Elements view_;
  std::optional<Scratch> memory_;
};

template <int N>
void run_strided(const Call& call, const Run<N>& run, const KernelOperands<N>& operands,
                 const kernels::Layout<N + 1>& layout) {
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<N + 1>& part, const kernels::Base<N + 1>& base) {
    StridedArgs<N> args{operands, part};
    args.operands.out = byte_address(operands.out, base.at[0]);
    for (int k = 0; k < N; ++k)
      if (operands.in[k].data != nullptr) args.operands.in[k].data = byte_address(operands.in[k].data, base.at[k + 1]);
    launch(call, run.loops.strided, blocks_for(part.numel, kThreads * kStridedItems), kThreads, args);
  });
}

/// Runs dense operands: packs, and the remainder at the end.
template <int N>
void run_dense(const Call& call, const Run<N>& run, const KernelOperands<N>& operands, std::int64_t n) {
  const int count = dense_pack_of(run.compute);
  const std::int64_t packs = n / count, rest = n % count;
  launch(call, run.loops.dense, blocks_for(packs), kThreads, DenseArgs<N>{operands, packs});
  if (rest == 0) return;
  kernels::Layout<N + 1> layout;
  layout.rank = 1;
  layout.numel = layout.sizes[0] = rest;
  KernelOperands<N> last = operands;
  last.out = byte_address(operands.out, packs * count * itemsize(operands.out_dtype));
  layout.strides[0][0] = itemsize(operands.out_dtype);
  for (int k = 0; k < N; ++k) {
    const KernelInput& in = operands.in[k];
    if (in.uniform) continue;
    last.in[k].data = byte_address(in.data, packs * count * itemsize(in.dtype));
    layout.strides[k + 1][0] = itemsize(in.dtype);
  }
  run_strided(call, run, last, layout);
}

/// Runs operands whose dtypes the kernels take.
template <int N>
void run_accepted(const Call& call, const Run<N>& run, const Shape& shape, const Elements& out,
                  const Elements* const (&in)[N]) {
  // From this size on, a second launch for the last elements costs less than not using packs.
  constexpr std::int64_t kMinWithTail = 1 << 16;
  const std::int64_t n = shape.numel();
  const int count = dense_pack_of(run.compute);
  KernelOperands<N> operands{out.data, out.dtype, {}, run.p0, run.p1, run.fault};
  bool dense =
      n >= count && (n % count == 0 || n >= kMinWithTail) && is_dense(shape, out.strides) && is_aligned(out, count);
  for (int k = 0; k < N; ++k) {
    const Elements& v = *in[k];
    operands.in[k] = {v.data, v.floating, v.whole, v.dtype, is_uniform(v, shape)};
    dense =
        dense && (operands.in[k].uniform || (same_dense_layout(shape, v.strides, out.strides) && is_aligned(v, count)));
  }
  if (dense) return run_dense(call, run, operands, n);
  if constexpr (N == 1) {
    run_strided(
        call, run, operands,
        kernels::collapse<2>(shape, {{out.strides, itemsize(out.dtype)}, {in[0]->strides, itemsize(in[0]->dtype)}}));
  } else if constexpr (N == 2) {
    run_strided(call, run, operands,
                kernels::collapse<3>(shape, {{out.strides, itemsize(out.dtype)},
                                             {in[0]->strides, itemsize(in[0]->dtype)},
                                             {in[1]->strides, itemsize(in[1]->dtype)}}));
  } else {
    run_strided(call, run, operands,
                kernels::collapse<4>(shape, {{out.strides, itemsize(out.dtype)},
                                             {in[0]->strides, itemsize(in[0]->dtype)},
                                             {in[1]->strides, itemsize(in[1]->dtype)},
                                             {in[2]->strides, itemsize(in[2]->dtype)}}));
  }
}

}  // namespace

Elements::Elements(const View& tensor) : dtype(tensor.dtype()), strides(tensor.strides()) {
  if (!tensor.device().is_cpu()) {
    data = tensor.raw_data();
    return;
  }
  dtype_switch(tensor.dtype(), [&]<class S>() {
    const S value = *static_cast<const S*>(tensor.raw_data());
    floating = static_cast<double>(value);
    if constexpr (std::is_integral_v<S>) whole = value;
  });
}

Elements::Elements(Scalar value, int rank)
    : dtype(value.dtype()), strides(Shape::filled(rank, 0)), floating(value.as_double()), whole(value.as_int()) {}

Elements::Elements(void* memory, DType type, const Shape& shape)
    : data(memory), dtype(type), strides(contiguous_strides(shape)) {}

Run<1> copier(Compute compute) {
  switch (compute) {
    case Compute::kFloat: return {copy_loops<float>(), compute};
    case Compute::kDouble: return {copy_loops<double>(), compute};
    case Compute::kInt64: break;
  }
  return {copy_loops<std::int64_t>(), compute};
}

template <int N>
void Run<N>::operator()(const Call& call, const Shape& shape, const Elements& out, const Elements (&in)[N]) const {
  if (shape.numel() == 0) return;
  std::optional<Converted> converted[N];
  const Elements* views[N];
  for (int k = 0; k < N; ++k) {
    views[k] = &in[k];
    if (in[k].data == nullptr || accepts(loops.in, compute, in[k].dtype)) continue;
    converted[k].emplace(call, in[k], shape, dtype_of(compute));
    views[k] = &converted[k]->view();
  }
  if (accepts(loops.out, compute, out.dtype)) return run_accepted(call, *this, shape, out, views);
  const Scratch memory(call, static_cast<std::size_t>(shape.numel()) * size_of(dtype_of(compute)));
  const Elements result(memory.as<void>(), dtype_of(compute), shape);
  run_accepted(call, *this, shape, result, views);
  copier(compute)(call, shape, out, {result});
}

template struct Run<1>;
template struct Run<2>;
template struct Run<3>;

}  // namespace minnow::cuda
