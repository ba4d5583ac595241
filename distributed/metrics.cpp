#include <minnow/distributed/metrics.h>

#include <algorithm>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributed/collectives.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

namespace minnow::dist {

void detail::join(metrics::Metric& metric, SourceLocation where) {
  const NoGradGuard no_grad;
  // Counts are whole numbers below 2^53.
  const Tensor own = metric.state(), sent = own.defined() ? own.cpu().to(DType::float64) : zeros({0}, DType::float64);
  const Tensor sizes = all_gather({tensor(sent.numel()), where});
  const std::int64_t most = amax(sizes).item<std::int64_t>(), rest = most - sent.numel();
  const Tensor all = all_gather({cat({sent, zeros({rest}, DType::float64)}), where});
  metric.reset();
  for (std::int64_t r = 0; r < all.size(0); ++r) {
    const auto size = sizes.select(0, r).item<std::int64_t>();
    if (size > 0) metric.merge(all.select(0, r).narrow(0, 0, size), where);
  }
}

}  // namespace minnow::dist
