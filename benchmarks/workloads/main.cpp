// The workloads of compare.py on minnow: a line of JSON for each.

#include <minnow/tensor/runtime/cuda_math.h>
#include <minnow/tensor/runtime/deterministic.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/runtime/threads.h>
#include "workloads/workloads.h"

namespace {

void start(bench::Settings& s) {
  minnow::set_num_threads(s.threads);
  minnow::set_deterministic(s.deterministic);
  const minnow::Device device(s.device);
  if (device.is_cpu()) return;
  auto options = minnow::cuda::math_options();
  options.cudnn_benchmark = true;  // as in the PyTorch workloads
  minnow::cuda::set_math_options(options);
  s.synchronize = [device] { minnow::synchronize(device); };
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<bench::Workload> all = bench::operation_workloads();
  for (const auto& family : {bench::row_workloads(), bench::large_workloads(), bench::training_workloads(),
                             bench::network_workloads(), bench::derivative_workloads(), bench::table_workloads(),
                             bench::file_workloads(), bench::image_workloads(), bench::epoch_workloads()})
    all.insert(all.end(), family.begin(), family.end());
  return bench::run(argc, argv, all, start,
                    [](const bench::Settings& s) { minnow::empty_cache(minnow::Device(s.device)); });
}
