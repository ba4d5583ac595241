#include <minnow/data/random.h>

#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/normal.h>

namespace minnow::data {

// Here, because a user's compiler may join a product and a sum: the numbers would differ between machines.

double Random::uniform(double low, double high) { return kernels::mul_add(high - low, uniform(), low); }

double Random::normal() {
  const double u = uniform();
  return kernels::box_muller(u, uniform()).first;
}

}  // namespace minnow::data
