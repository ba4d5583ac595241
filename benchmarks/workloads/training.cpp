#include "workloads/workloads.h"

namespace bench {

std::vector<Workload> training_workloads() { return {}; }

}  // namespace bench
