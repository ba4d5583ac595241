#include "ranks.h"

using namespace minnow;

struct Ranks::State {};

Ranks::Ranks(bool several) {
  if (several)
    throw ValueError(
        "--distributed: minnow was built without MPI\ninstall it (apt-get install libopenmpi-dev), and build again");
}
Ranks::~Ranks() = default;

int Ranks::rank() const { return 0; }
int Ranks::size() const { return 1; }
std::int64_t Ranks::share_of(const char*, std::int64_t n) const { return n; }
Device Ranks::device() const { return best_device(); }
void Ranks::average_gradients(nn::Module&) {}
int Ranks::interrupted() const { return minnow::interrupted(); }
std::string Ranks::report() const { return ""; }
