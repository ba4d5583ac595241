#include <algorithm>
#include <minnow/tensor/cpu/onednn/onednn_plan.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/library.h>

namespace minnow::cpu {
namespace {

constexpr std::string_view kOp = "quantized_linear";
constexpr std::int64_t kTypicalRows = 32;

struct PackedColumns final : library::ByteColumns {
  PackedColumns(const std::int8_t* w, std::int64_t columns, std::int64_t in, const onednn::memory::desc& wanted)
      : layout(wanted), data(wanted.get_size()) {
    const auto plain = onednn::desc_of({in, columns}, {1, in}, DType::int8);
    onednn::reorder(kOp, plain, layout).run(kOp, {w, data.data()});
  }
  onednn::memory::desc layout;
  Buffer data;
};

const PackedColumns& packed(const library::ByteColumns& w) { return static_cast<const PackedColumns&>(w); }

struct Plan final : library::ByteProduct {
  /// `layout`: of the weight; oneDNN chooses one if it is zero.
  Plan(std::int64_t rows, std::int64_t columns, std::int64_t in, const onednn::memory::desc& layout) {
    const auto x = onednn::desc_of({rows, in}, {in, 1}, DType::uint8),
               y = onednn::desc_of({rows, columns}, {columns, 1}, DType::int32);
    const auto free = onednn::any_layout({in, columns}, DType::int8);
    auto p = layout.is_zero() ? dnnl::matmul::primitive_desc()
                              : onednn::matmul_plan(kOp, x, layout, onednn::nothing(), y, {});
    // Another number of rows may want another layout.
    if (!p) p = onednn::matmul_plan(kOp, x, free, onednn::nothing(), y, {}, onednn::WithoutKernel::loops);
    weight = p.weights_desc();
    primitive =
        onednn::executable<dnnl::matmul>(kOp, p, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, weight}, {DNNL_ARG_DST, y}});
  }
  std::size_t own_bytes() const { return (primitive.scratch_bytes() + 63) / 64 * 64; }
  std::size_t scratch_bytes(const library::ByteColumns& w) const override {
    return own_bytes() + (weight == packed(w).layout ? 0 : weight.get_size());
  }
  void run(const std::uint8_t* x, const library::ByteColumns& w, std::int32_t* sums, void* scratch) const override {
    const onednn::OneThread alone;
    const void* columns = packed(w).data.data();
    if (weight != packed(w).layout)
      columns = onednn::Relayout(kOp, packed(w).layout, weight)
                    .run(kOp, columns, static_cast<std::byte*>(scratch) + own_bytes());
    primitive.run(kOp, {x, columns, sums}, scratch);
  }

  onednn::Executable primitive;
  onednn::memory::desc weight;
};

std::shared_ptr<Plan> plan_for(std::int64_t rows, std::int64_t columns, std::int64_t in,
                               const onednn::memory::desc& layout) {
  onednn::PlanKey key;
  key.add(rows, columns, in, layout.is_zero());
  return onednn::plans<Plan>().get(key, [&] { return std::make_shared<Plan>(rows, columns, in, layout); });
}

}  // namespace

std::unique_ptr<const library::ByteColumns> library::pack_bytes(const std::int8_t* w, std::int64_t columns,
                                                                std::int64_t in) {
  const onednn::OneThread alone;
  return std::make_unique<PackedColumns>(w, columns, in, plan_for(kTypicalRows, columns, in, {})->weight);
}

std::shared_ptr<const library::ByteProduct> library::byte_product(std::int64_t rows, std::int64_t columns,
                                                                  std::int64_t in, const ByteColumns& like) {
  const onednn::OneThread alone;
  return plan_for(rows, columns, in, packed(like).layout);
}

}  // namespace minnow::cpu
