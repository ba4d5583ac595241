#pragma once

#include <concepts>
#include <minnow/tensor/source_location.h>
#include <minnow/training/metrics.h>

namespace minnow::dist {

namespace detail {
void join(metrics::Metric& metric, SourceLocation where);
}

/// A metric of all data, the same on all ranks, of those that each rank has updated with its part of it, which stay as
/// they are; a rank may have had no batch.  Ranks call it together; it waits.  Goes through the host.  BackendError
/// without a Process; ValueError if the ranks' metrics have different options.
///
///     for (auto& [x, y] : loader) accuracy.update(model(x), y);
///     const double of_all = dist::joined(accuracy).value();
template <std::derived_from<metrics::Metric> M>
[[nodiscard]] M joined(M metric, SourceLocation where = SourceLocation::current()) {
  detail::join(metric, where);
  return metric;
}

}  // namespace minnow::dist
