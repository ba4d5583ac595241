#include <minnow/ops/detail/work_count.h>

#include <utility>

namespace minnow::detail {

constinit thread_local WorkCount* WorkCount::current = nullptr;

WorkCount::WorkCount() : outer_(std::exchange(current, this)) {}
WorkCount::~WorkCount() {
  current = outer_;
  add(multiply_adds_);
}

}  // namespace minnow::detail
