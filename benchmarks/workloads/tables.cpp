// Large tables of which a step reads few rows.
#include <memory>
#include <minnow/nn/layers/embedding.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/optim/optimizers.h>
#include "workloads/models.h"

namespace bench {
namespace {

using namespace minnow;

/// The same thousand rows over and over: quick to make.
void fill(const Settings& s, const Tensor& table, std::uint32_t seed) {
  const std::int64_t rows = table.size(0), d = table.size(1);
  copy_(table, formula(s, seed, {1000, d}).unsqueeze(0).expand({rows / 1000, 1000, d}).reshape({rows, d}));
}

Tensor places(const Settings& s, std::uint32_t seed, const Shape& shape, double rows) {
  return ((formula(s, seed, shape) + 1.0) * (rows / 2)).to(int64).clamp_max(rows - 1);
}

/// Users by the items that they saw, and items: the pairs of a batch are to be nearest (two towers).
Ready two_tower(const Settings& s) {
  const std::int64_t rows = s.quick ? 1000 : 1000000, batch = s.quick ? 8 : 256;
  nn::EmbeddingBag seen(rows, 64, {.sparse = true});
  nn::Embedding items(rows, 64, {.sparse = true});
  nn::Sequential dense(nn::Linear(64, 64));
  place(s, dense);
  for (nn::Module* m : {static_cast<nn::Module*>(&seen), static_cast<nn::Module*>(&items)}) m->to(Device(s.device));
  {
    const NoGradGuard no_grad;
    fill(s, seen.weight, 1), fill(s, items.weight, 2);
  }
  const auto adam = std::make_shared<optim::Adam>(dense.parameters());
  const auto sparse_adam =
      std::make_shared<optim::SparseAdam>(std::vector<Tensor>{seen.weight, items.weight}, optim::SparseAdamOptions{});
  const Tensor bags = places(s, 3, {batch, 20}, static_cast<double>(rows)),
               chosen = places(s, 4, {batch}, static_cast<double>(rows));
  const Tensor target = arange(batch, Device(s.device));
  const auto step = [=] {
    const Tensor loss = nn::cross_entropy(matmul(dense(seen(bags)), items(chosen).t()), target);
    adam->zero_grad(), sparse_adam->zero_grad();
    loss.backward();
    adam->step(), sparse_adam->step();
    return loss;
  };
  Ready ready{{{"", [step] { (void)step(); }}}, {}};
  for (int i = 0; i < 3; ++i) ready.values.push_back(step().item());
  return ready;
}

}  // namespace

std::vector<Workload> table_workloads() { return {{"two_tower_sparse", two_tower}}; }

}  // namespace bench
