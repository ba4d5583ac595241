#include <minnow/onnx/detail/recorder.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/nn/detail/call.h>
#include <minnow/onnx/detail/rules.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/text.h>

namespace minnow::onnx::detail {

std::string place_of(const Record& record) {
  std::string place = record.function;
  if (record.where.line != 0) place += " at " + minnow::detail::file_and_line(record.where);
  if (!record.module.empty()) place += fmt::format(" in the module '{}'", record.module);
  return place;
}

Recorder::Recorder(std::span<const Tensor> inputs) {
  for (const Tensor& x : inputs) {
    if (find(x) != kNone) throw ValueError("onnx::save: an input is given twice\ngive each a tensor of its own");
    const std::size_t n = add(x);
    values_[n].is_input = values_[n].depends = true;
    memory_[x.storage().get()].depends = true;
  }
}

Recorder::Key Recorder::key_of(const Tensor& x) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(x.dim()));
  for (int d = 0; d < x.dim(); ++d) strides[static_cast<std::size_t>(d)] = x.size(d) == 1 ? 0 : x.stride(d);
  return {x.storage_offset(), x.dtype(), minnow::detail::list_of(x.shape()), std::move(strides)};
}

std::size_t Recorder::find(const Tensor& x) const {
  const auto memory = memory_.find(x.storage().get());
  if (memory == memory_.end()) return kNone;
  const auto at = memory->second.values.find(key_of(x));
  return at == memory->second.values.end() ? kNone : at->second;
}

std::size_t Recorder::add(const Tensor& x) {
  values_.push_back({x, x.storage()->version()});
  memory_[x.storage().get()].values[key_of(x)] = values_.size() - 1;
  return values_.size() - 1;
}

std::size_t Recorder::number_of(const Tensor& x) {
  std::size_t n = find(x);
  const bool known = n != kNone;
  if (!known) n = add(x);
  Value& value = values_[n];
  if (value.version != x.storage()->version()) value.fault = "its memory was overwritten";
  else if (!known && memory_[x.storage().get()].depends)
    value.fault = "it is a part of a tensor, or was overwritten in another shape";
  if (!value.fault.empty()) value.depends = true;
  return n;
}

void Recorder::end(const char* function) {
  if (open_.empty()) return;
  const Open open = open_.back();
  open_.pop_back();
  // A module checks its inputs by an operation of its own name, which computes nothing.
  const bool is_check = function[0] >= 'A' && function[0] <= 'Z';
  if (!open.computes || is_check || told_ != open.told || !untold_.function.empty()) return;
  untold_ = {function, {}, {}, {}, minnow::detail::CallSite::where(), nn::detail::Call::path()};
}

void Recorder::operands(const minnow::detail::Operands& operands) {
  if (open_.empty()) return;
  for (const minnow::detail::Operand& o : operands) {
    if (!o.tensor.defined()) continue;
    const auto memory = memory_.find(o.tensor.storage().get());
    open_.back().computes = open_.back().computes || (memory != memory_.end() && memory->second.depends);
  }
}

void Recording::begin(const minnow::detail::CallSite& site) noexcept {
  recorder_.begin();
  CallObserver::begin(site);
}
void Recording::end(const minnow::detail::CallSite& site) noexcept {
  recorder_.end(site.name());
  CallObserver::end(site);
}
void Recording::operands(const minnow::detail::Operands& operands) {
  recorder_.operands(operands);
  CallObserver::operands(operands);
}
void Recording::told(const minnow::detail::Told& told) {
  recorder_.told(told);
  CallObserver::told(told);
}

void Recording::read(const char* op, const Tensor& x) noexcept {
  recorder_.read(op, x);
  CallObserver::read(op, x);
}

void Recorder::read(const char* op, const Tensor& x) {
  const auto memory = memory_.find(x.storage().get());
  if (!reading_.function.empty() || memory == memory_.end() || !memory->second.depends) return;
  const bool inside = minnow::detail::CallSite::is_open();
  reading_ = {inside ? std::string(minnow::detail::CallSite::op()) : op,
              {},
              {},
              {},
              minnow::detail::CallSite::where(),
              nn::detail::Call::path()};
}

void Recorder::require_told(SourceLocation where) const {
  if (!reading_.function.empty())
    throw ValueError(fmt::format("onnx::save: {} reads numbers that depend on the inputs, which a graph cannot follow\n"
                                 "compute with tensors, e.g. by where",
                                 place_of(reading_)),
                     where);
  if (!untold_.function.empty())
    throw ValueError(fmt::format("onnx::save: {} cannot be exported\ncompute it by other functions, or outside of the "
                                 "model",
                                 place_of(untold_)),
                     where);
}

void Recorder::told(const minnow::detail::Told& told) {
  ++told_;
  std::string function = told.function;
  const bool in_place = function.back() == '_';
  if (in_place) function.pop_back();
  const auto known = [&](const Tensor& y) { return !y.defined() || find(y) != kNone; };
  if (!has_rule(function) && !in_place && std::all_of(told.results.begin(), told.results.end(), known))
    return;  // its parts have told
  Record record{function, {}, {}, {}, minnow::detail::CallSite::where(), nn::detail::Call::path()};
  for (const minnow::detail::Operand& o : told.operands)
    record.operands.push_back(o.tensor.defined() ? find(o.tensor) : kNone);
  for (const minnow::detail::Argument& a : told.arguments)
    record.arguments[a.name] = std::visit(
        [](const auto& v) -> Argument {
          if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string_view>) return std::string(v);
          else return v;
        },
        a.value);
  define(std::move(record), told, in_place);
}

void Recorder::define(Record record, const minnow::detail::Told& told, bool in_place) {
  const auto is_operand = [&](const Tensor& y, bool (*same)(const Tensor&, const Tensor&)) {
    return std::any_of(told.operands.begin(), told.operands.end(),
                       [&](const auto& o) { return o.tensor.defined() && same(o.tensor, y); });
  };
  const auto same_elements = [](const Tensor& a, const Tensor& b) {
    return a.storage() == b.storage() && key_of(a) == key_of(b);
  };
  const auto same_memory = [](const Tensor& a, const Tensor& b) { return a.storage() == b.storage(); };
  if (!in_place && is_operand(told.results[0], same_elements)) return;  // x itself
  bool depends = false;
  for (std::size_t i = 0; i < told.operands.size(); ++i) {
    const Tensor& x = told.operands[i].tensor;
    if (!x.defined()) continue;
    const bool written = in_place && i == 0;  // its version is one of after the write
    std::size_t& n = record.operands[i];
    if (!written) n = number_of(x);
    else if (n == kNone) {
      n = number_of(x);
      if (memory_[x.storage().get()].values.size() > 1)
        values_[n].fault = "it is a part of a tensor that is overwritten";
    }
    depends = depends || values_[n].depends;
  }
  for (const Tensor& y : told.results) {
    if (!y.defined()) {
      record.results.push_back(kNone);
      continue;
    }
    Memory& memory = memory_[y.storage().get()];
    if (in_place || !is_operand(y, same_memory)) memory.values.clear();  // other parts have other elements now
    record.results.push_back(add(y));
    values_.back().record = records_.size();
    values_.back().depends = depends;
    memory.depends = memory.depends || depends;
  }
  records_.push_back(std::move(record));
}

}  // namespace minnow::onnx::detail
