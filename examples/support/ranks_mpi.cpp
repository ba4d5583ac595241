#include <cstdio>
#include <optional>
#include <string>
#include <minnow/distributed/distributed.h>

#include "ranks.h"

using namespace minnow;

struct Ranks::State {
  std::optional<dist::Process> process;
  std::optional<dist::DataParallel> parallel;
};

Ranks::Ranks(bool several) : state_(std::make_unique<State>()) {
  if (!several) return;
  state_->process.emplace();
  if (rank() > 0 && !std::freopen("/dev/null", "w", stdout)) throw IoError("/dev/null cannot be opened");
}
Ranks::~Ranks() = default;

int Ranks::rank() const { return dist::rank(); }
int Ranks::size() const { return dist::size(); }
std::int64_t Ranks::share_of(const char* option, std::int64_t n) const {
  if (n % size() == 0) return n / size();
  throw ValueError(std::string(option) + ": " + std::to_string(n) + " images cannot be divided among " +
                   std::to_string(size()) + " ranks\ngive a multiple of the number of ranks");
}
Device Ranks::device() const { return state_->process ? state_->process->device() : best_device(); }

void Ranks::average_gradients(nn::Module& model) {
  if (state_->process) state_->parallel.emplace(model);
}

int Ranks::interrupted() const { return state_->process ? dist::interrupted() : minnow::interrupted(); }
std::string Ranks::report() const { return state_->process ? dist::report().str() : ""; }
