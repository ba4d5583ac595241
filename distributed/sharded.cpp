#include <minnow/distributed/sharded.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/process.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::dist {
namespace {

constexpr std::string_view kState = "state.";

/// "state.12.exp_avg": 12 and "exp_avg".
struct StateKey {
  std::size_t number = 0;
  std::string name;

  static std::optional<StateKey> read(const std::string& key) {
    if (!key.starts_with(kState)) return std::nullopt;
    StateKey out;
    const char *begin = key.data() + kState.size(), *end = key.data() + key.size();
    const auto [dot, error] = std::from_chars(begin, end, out.number);
    if (error != std::errc() || dot == end || *dot != '.') return std::nullopt;
    out.name.assign(dot + 1, end);
    return out;
  }
  std::string with(std::size_t other) const { return std::string(kState) + std::to_string(other) + "." + name; }
};

/// The text of rank `root`, on all ranks.
std::string broadcast_text(std::string text, int root) {
  const Tensor length = full({}, static_cast<std::int64_t>(text.size()), {.dtype = DType::int64});
  broadcast(length, root);
  text.resize(static_cast<std::size_t>(length.item<std::int64_t>()));
  const Tensor bytes = empty({static_cast<std::int64_t>(text.size())}, {.dtype = DType::uint8});
  std::memcpy(bytes.raw_data(), text.data(), text.size());
  broadcast(bytes, root);
  std::memcpy(text.data(), bytes.raw_data(), text.size());
  return text;
}

/// Names, dtypes and shapes, one a line.
std::string contents_of(const StateDict& dict) {
  std::ostringstream text;
  for (const auto& [name, tensor] : dict) {
    text << name << ' ' << static_cast<int>(tensor.dtype()) << ' ' << tensor.dim();
    for (int d = 0; d < tensor.dim(); ++d) text << ' ' << tensor.size(d);
    text << '\n';
  }
  return text.str();
}

/// The tensors of rank `root`, on all ranks.
StateDict broadcast_dict(const StateDict& mine, int root) {
  std::istringstream text(broadcast_text(root == rank() ? contents_of(mine) : "", root));
  StateDict all;
  std::string name;
  int dtype = 0, dims = 0;
  while (text >> name >> dtype >> dims) {
    Shape shape;
    for (int d = 0; d < dims; ++d) {
      std::int64_t size = 0;
      text >> size;
      shape.push_back(size);
    }
    const Tensor value = root == rank() ? mine.at(name).cpu() : empty(shape, {.dtype = static_cast<DType>(dtype)});
    broadcast(value, root);
    all.set(name, value);
  }
  return all;
}

}  // namespace

Shards::Shards(std::vector<Tensor> parameters, SourceLocation where) : parameters_(std::move(parameters)) {
  const CallSite site("dist::Sharded", where);
  const auto ranks = static_cast<std::size_t>(size());
  if (parameters_.size() < ranks)
    throw ValueError(message(
        "there are " + std::to_string(ranks) + " ranks and " + std::to_string(parameters_.size()) + " parameters", {},
        "each rank updates at least one: use fewer ranks, or the optimizer itself"));
  for (const Tensor& p : parameters_) p.require_defined();
  std::vector<std::size_t> order(parameters_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return parameters_[a].nbytes() > parameters_[b].nbytes(); });
  owners_.resize(parameters_.size());
  numbers_.resize(parameters_.size());
  std::vector<std::int64_t> bytes(ranks, 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    // The first ones one to each, so that none is left without.
    const std::size_t least =
        i < ranks ? i : static_cast<std::size_t>(std::min_element(bytes.begin(), bytes.end()) - bytes.begin());
    owners_[order[i]] = static_cast<int>(least);
    bytes[least] += parameters_[order[i]].nbytes();
  }
  std::vector<std::size_t> counts(ranks, 0);
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    numbers_[k] = counts[static_cast<std::size_t>(owners_[k])]++;
    if (owners_[k] == rank()) own_.push_back(parameters_[k]);
  }
}

void Shards::share() const {
  const NoGradGuard guard;
  std::vector<Work> works;
  works.reserve(parameters_.size());
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    works.push_back(broadcast_async(parameters_[k].detach(), owners_[k]));
  for (Work& work : works) work.wait();
}

StateDict Shards::gathered(const StateDict& own, SourceLocation where) const {
  const CallSite site("dist::Sharded::state_dict", where);
  for (const auto& [key, tensor] : own)
    if (const auto part = StateKey::read(key); part && part->number >= own_.size())
      throw ValueError(message("optimizer() has parameters that this does not know", {},
                               "give all parameters to the constructor: there is one group of them"));
  std::vector<StateDict> of_ranks;
  of_ranks.reserve(static_cast<std::size_t>(size()));
  for (int r = 0; r < size(); ++r) of_ranks.push_back(broadcast_dict(own, r));
  StateDict all;
  for (std::size_t k = 0; k < parameters_.size(); ++k)
    for (const auto& [key, tensor] : of_ranks[static_cast<std::size_t>(owners_[k])])
      if (const auto part = StateKey::read(key); part && part->number == numbers_[k]) all.set(part->with(k), tensor);
  for (const auto& [key, tensor] : of_ranks.front())
    if (!StateKey::read(key)) all.set(key, tensor);
  return all;
}

StateDict Shards::own_part(const StateDict& all) const {
  StateDict own;
  for (const auto& [key, tensor] : all) {
    const auto part = StateKey::read(key);
    if (!part || part->number >= parameters_.size()) own.set(key, tensor);  // of all, or for the optimizer to refuse
    else if (owners_[part->number] == rank()) own.set(part->with(numbers_[part->number]), tensor);
  }
  return own;
}

}  // namespace minnow::dist
