#pragma once

#include <minnow/tensor/source_location.h>
#include <minnow/training/metrics.h>

namespace minnow::dist {

/// Makes a metric, of which each rank has updated its own with its part of the data, that of all data, the same on all
/// ranks; a rank may have had no batch.  Ranks call it together, after the last update; it waits.  Goes through the
/// host.  BackendError without a Process.
///
///     for (auto& [x, y] : loader) accuracy.update(model(x), y);
///     dist::join(accuracy);
void join(metrics::Metric& metric, SourceLocation where = SourceLocation::current());

}  // namespace minnow::dist
