#include <optional>
#include <minnow/distributed/distributed.h>

#include "ranks.h"

using namespace minnow;

struct Ranks::State {
  std::optional<dist::Process> process;
  std::optional<dist::DataParallel> parallel;
};

Ranks::Ranks(bool several) : state_(std::make_unique<State>()) {
  if (several) state_->process.emplace();
}
Ranks::~Ranks() = default;

int Ranks::rank() const { return dist::rank(); }
int Ranks::size() const { return dist::size(); }
Device Ranks::device() const { return state_->process ? state_->process->device() : best_device(); }

void Ranks::average_gradients(nn::Module& model) {
  if (state_->process) state_->parallel.emplace(model);
}

int Ranks::interrupted() const { return state_->process ? dist::interrupted() : minnow::interrupted(); }
std::string Ranks::report() const { return state_->process ? dist::report().str() : ""; }
