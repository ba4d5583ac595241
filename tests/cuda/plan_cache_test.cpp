#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>
#include <vector>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/cuda/runtime/handle.h>

namespace minnow::cuda {
namespace {

struct Key {
  int number = 0;
  friend bool operator==(const Key&, const Key&) = default;
  std::size_t hash() const { return static_cast<std::size_t>(number % 2); }  // collides on purpose
};

struct Counted {
  int made = 0;
  auto maker(int value) {
    return [this, value] {
      ++made;
      return std::make_shared<int>(value);
    };
  }
};

TEST(PlanCache, MakesEachPlanOnce) {
  PlanCache<Key, int> cache(8);
  Counted counted;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 6; ++i) EXPECT_EQ(*cache.get({i}, counted.maker(i * 10)), i * 10);
  EXPECT_EQ(counted.made, 6);
  EXPECT_EQ(cache.size(), 6u);
}

TEST(PlanCache, EvictsTheLeastRecentlyUsed) {
  PlanCache<Key, int> cache(2);
  Counted counted;
  const auto first = cache.get({1}, counted.maker(1));
  cache.get({2}, counted.maker(2));
  cache.get({1}, counted.maker(1));
  cache.get({3}, counted.maker(3));  // evicts 2
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_EQ(counted.made, 3);
  cache.get({1}, counted.maker(1));
  EXPECT_EQ(counted.made, 3);
  cache.get({2}, counted.maker(2));  // evicts 3
  cache.get({3}, counted.maker(3));  // evicts 1, which is still held here
  EXPECT_EQ(counted.made, 5);
  EXPECT_EQ(*first, 1);
}

TEST(PlanCache, FailuresAreNotCached) {
  PlanCache<Key, int> cache(2);
  EXPECT_THROW(cache.get({1}, []() -> std::shared_ptr<int> { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(cache.size(), 0u);
  EXPECT_EQ(*cache.get({1}, [] { return std::make_shared<int>(7); }), 7);
}

TEST(PlanCache, ThreadsShareIt) {
  PlanCache<Key, int> cache(16);
  std::atomic<int> made = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const auto plan = cache.get({i % 8}, [&] {
          ++made;
          return std::make_shared<int>(i % 8);
        });
        EXPECT_EQ(*plan, i % 8);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made, 8);
}

int destroyed = 0;
int destroy(int* object) {
  destroyed += *object;
  return 0;
}

TEST(Handle, DestroysOnceAndMoves) {
  int one = 1, ten = 10;
  destroyed = 0;
  {
    Handle<int*, int> a(&one, destroy);
    Handle<int*, int> b(std::move(a));
    EXPECT_EQ(b.get(), &one);
    Handle<int*, int> c(&ten, destroy);
    c = std::move(b);
    EXPECT_EQ(c.get(), &one);
    const Handle<int*, int> none;
    EXPECT_FALSE(none);
  }
  EXPECT_EQ(destroyed, 11);
}

}  // namespace
}  // namespace minnow::cuda
