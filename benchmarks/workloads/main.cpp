// The workloads of compare.py on minnow: a line of JSON for each.

#include <minnow/tensor/memory.h>
#include <minnow/tensor/threads.h>
#include "workloads/workloads.h"

int main(int argc, char** argv) {
  std::vector<bench::Workload> all = bench::operation_workloads();
  for (const bench::Workload& w : bench::training_workloads()) all.push_back(w);
  return bench::run(
      argc, argv, all, [](const bench::Settings& s) { minnow::set_num_threads(s.threads); },
      [] { minnow::empty_cache(minnow::Device("cpu")); });
}
