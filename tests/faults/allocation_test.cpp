// Makes the nth allocation of a task fail, for every n: the task ends in a typed error or succeeds, and afterwards the
// same task gives the same bits.

#include <atomic>
#include <cstdio>
#include <functional>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>
#include <minnow/minnow.h>
#include "faults/failing_heap.h"

namespace minnow {
namespace {

using test::FailingHeap;
using test::Shortage;
using Numbers = std::vector<double>;

constexpr std::size_t kMostFaults = 5000;

/// Whether an exception, or one nested in it, is about memory.
bool is_shortage(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const OutOfMemoryError*>(&error)) return true;
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) { return is_shortage(inner); } catch (...) {
  }
  return false;
}

void empty_caches() {
  empty_cache(Device());
  empty_cache("sim:0");
}

/// Runs the task with its nth allocation failing; returns whether it reached that allocation.
template <class Work> bool fails_well(std::size_t n, Shortage shortage, const Work& work) {
  std::string wrong;
  bool failed = false;
  empty_caches();
  {
    const FailingHeap heap(n, shortage);
    try {
      work();
    } catch (const std::exception& error) {
      if (!is_shortage(error)) wrong = error.what();
    }
    failed = heap.has_failed();
  }
  EXPECT_EQ(wrong, "") << "allocation " << n;
  return failed;
}

/// Calls after(n) after each n-th fault of the work, as long as there is an n-th allocation.
template <class Work, class After> void with_each_fault(Shortage shortage, const Work& work, const After& after) {
  std::size_t n = 0;
  while (n < kMostFaults && fails_well(n, shortage, work)) {
    after(n);
    if (::testing::Test::HasFailure()) return;
    ++n;
  }
  EXPECT_GT(n, 0u);
  EXPECT_LT(n, kMostFaults) << "it does not end";
}

struct Piece {
  const char* name;
  std::function<Numbers()> work;
};
void PrintTo(const Piece& piece, std::ostream* out) { *out << piece.name; }

nn::Sequential small_net() {
  manual_seed(5);
  return nn::Sequential(nn::Linear(6, 8), nn::ReLU(), nn::Dropout(0.2), nn::Linear(8, 3));
}

Numbers values_of(const nn::Module& net) {
  Numbers all;
  for (const Tensor& p : net.parameters())
    for (const double v : p.to_vector<double>()) all.push_back(v);
  return all;
}

Tensor classes(std::int64_t n) {
  const Tensor t = empty({n}, {DType::int64});
  for (std::int64_t i = 0; i < n; ++i) t.data<std::int64_t>()[i] = i % 3;
  return t;
}

template <class Optimizer> Numbers train(Device device) {
  nn::Sequential net = small_net();
  net.to(device);
  Optimizer optimizer(net.parameters());
  for (int i = 0; i < 2; ++i) {
    const Tensor loss = nn::cross_entropy(net(full({4, 6}, 0.5 + i, {.device = device})), classes(4).to(device));
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
  }
  return values_of(net);
}

Numbers train_images() {
  manual_seed(5);
  nn::Sequential net(nn::Conv2d(1, 2, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(8, 3));
  sum(net(full({2, 1, 6, 6}, 0.5))).backward();
  return net.parameters()[0].grad().to_vector<double>();
}

Numbers run_captured(Device device) {
  nn::Sequential net = small_net();
  net.to(device);
  optim::Adam adam(net.parameters());
  CapturedStep step(
      [&](const Tensor& x) {
        const Tensor loss = sum(net(x));
        adam.zero_grad();
        loss.backward();
        adam.step();
        return loss;
      },
      {.device = device, .warm_up = 1});
  for (int i = 0; i < 4; ++i) {
    if (i == 2) net.train(false);  // captures again
    step(full({4, 6}, 0.5 + i));
  }
  return values_of(net);
}

Numbers save_and_load() {
  const std::string path =
      std::string(::testing::TempDir()) + "minnow_faults_" + std::to_string(::getpid()) + ".safetensors";
  nn::Sequential net = small_net();
  save(net.state_dict(), path);
  nn::Sequential other(nn::Linear(6, 8), nn::ReLU(), nn::Dropout(0.2), nn::Linear(8, 3));
  other.load_state_dict(load(path));
  std::remove(path.c_str());
  return values_of(other);
}

/// One batch is made ahead, so that workers wait for the loop.
Numbers an_epoch(int workers, Device device) {
  Numbers sums;
  const data::TensorDataset rows(arange(0, 24).reshape({12, 2}).to(DType::float32), classes(12));
  data::DataLoader loader{rows,
                          {.batch_size = 2,
                           .shuffle = true,
                           .num_workers = workers,
                           .prefetch = workers > 0 ? 1 : 0,
                           .device = device,
                           .seed = 3}};
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  for (auto& [x, y] : progress(loader, {.out = &out, .interval = 0.0})) sums.push_back(sum(x).item());
  return sums;
}

/// A dataset that is read sample by sample, as a user's.
struct Squares {
  std::int64_t size() const { return 6; }
  std::pair<Tensor, double> get(std::int64_t i) const {
    return {full({2}, static_cast<double>(i * i)), static_cast<double>(i)};
  }
};

Numbers print() {
  std::ostringstream out;  // it catches what its buffer throws
  nn::Sequential net = small_net();
  out << full({40, 3}, 0.123) << net << Shape{1, 2, 3} << Device("cpu") << DType::float32;
  const std::string text = out.str() + nn::summary(net, {1, 6}) + to_string(net.parameters()[0]);
  return {static_cast<double>(text.size())};
}

Numbers indices_and_views() {
  const Tensor x = arange(0, 24).reshape({2, 3, 4}).to(DType::float64);
  const Tensor y = cat(std::vector<Tensor>{x(0, all, slice(1, 3)), x(1, all, slice(0, 2))}, 1);
  return index_select(matmul(y, y.t()), 0, classes(5)).to_vector<double>();
}

const Piece kPieces[] = {
    {"Adam", [] { return train<optim::Adam>(Device()); }},
    {"AdamOnSim", [] { return train<optim::Adam>("sim:0"); }},
    {"Sgd", [] { return train<optim::SGD>(Device()); }},
    {"Images", train_images},
    {"Captured", [] { return run_captured(Device()); }},
    {"CapturedOnSim", [] { return run_captured("sim:0"); }},
    {"Files", save_and_load},
    {"Loader", [] { return an_epoch(0, Device()); }},
    {"LoaderWorkers", [] { return an_epoch(2, Device()); }},
    {"LoaderToSim", [] { return an_epoch(2, "sim:0"); }},
    {"LoaderOfSamples",
     [] {
       Numbers sums;
       data::DataLoader loader{Squares(), {.batch_size = 4, .num_workers = 1}};
       for (auto& [x, y] : loader) sums.push_back(sum(x).item() + sum(y).item());
       return sums;
     }},
    {"Printing", print},
    {"IndicesAndViews", indices_and_views},
    {"Clone",
     [] {
       const nn::Sequential net = small_net();
       return values_of(nn::clone(net));
     }},
};

class AllocationFault : public ::testing::TestWithParam<Piece> {};
INSTANTIATE_TEST_SUITE_P(, AllocationFault, ::testing::ValuesIn(kPieces),
                         [](const auto& piece) { return piece.param.name; });

void expect_the_same_afterwards(const Piece& piece, Shortage shortage) {
  const Numbers want = piece.work();
  EXPECT_EQ(piece.work(), want);
  const std::int64_t storages = live_storages();
  Numbers got;
  with_each_fault(
      shortage,
      [&] {
        got.clear();
        got = piece.work();
      },
      [&](std::size_t n) {
        EXPECT_TRUE(got.empty() || got == want) << "without a word, when allocation " << n << " failed";
        EXPECT_EQ(piece.work(), want) << "after allocation " << n << " failed";
        EXPECT_EQ(live_storages(), storages) << "a leak, after allocation " << n << " failed";
      });
  EXPECT_EQ(got, want);
}

TEST_P(AllocationFault, AnyOneAllocationFailsWithATypedError) {
  expect_the_same_afterwards(GetParam(), Shortage::once);
}

TEST_P(AllocationFault, AllAllocationsFailWithATypedError) {
  expect_the_same_afterwards(GetParam(), Shortage::lasting);
}

}  // namespace
}  // namespace minnow
