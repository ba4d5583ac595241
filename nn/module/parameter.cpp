#include <minnow/nn/module/parameter.h>

#include <utility>
#include <minnow/autograd/node.h>
#include <minnow/nn/detail/access.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {

void detail::tie(const Tensor& tensor, const Tensor& to) {
  const auto& slot = to.slot();
  const auto& former = tensor.slot();
  std::vector<std::weak_ptr<minnow::detail::TensorImpl>> all = slot->tied;
  if (all.empty()) all.push_back(to.weak());
  if (former && !former->tied.empty()) all.insert(all.end(), former->tied.begin(), former->tied.end());
  else all.push_back(tensor.weak());
  for (const auto& weak : all)
    if (const auto impl = weak.lock()) {
      const Tensor one(impl);
      one.set_data(to);
      one.set_slot(slot);
    }
  slot->tied = std::move(all);
}

Parameter& Parameter::operator=(const Parameter& other) & {
  const minnow::detail::CallSite site("Parameter::operator=", {});
  if (!defined() || !other.defined())
    throw ValueError(message("a parameter is undefined", {{"this", *this}, {"other", other}},
                             "tie parameters that exist: a layer without bias has an undefined one"));
  if (!(shape() == other.shape()))
    throw ShapeError(message("tied parameters must have one shape", {{"this", *this}, {"other", other}},
                             "an Embedding(n, d) fits a Linear(d, n)"));
  if (!is_floating_point() || !other.is_floating_point())
    throw DTypeError(message("tied parameters must be floating-point", {{"this", *this}, {"other", other}},
                             "tie parameters before what makes integers of them"));
  if (!is_leaf() || !other.is_leaf())
    throw AutogradError(message("a parameter is computed from others", {{"this", *this}, {"other", other}},
                                "tie parameters before weight_norm() or spectral_norm()"));
  if (slot() != other.slot()) detail::tie(*this, other);
  return *this;
}

Parameter& Parameter::operator=(Parameter&& other) & {
  if (defined() || !other.defined()) return *this = std::as_const(other);
  become(other);
  return *this;
}

Buffer& Buffer::operator=(Buffer&& other) & {
  const minnow::detail::CallSite site("Buffer::operator=", {});
  if (defined())
    throw ValueError(message("the buffer exists already", {{"this", *this}, {"other", other}},
                             "give it other values by copy_(), or a tensor of another shape by set_data()"));
  become(other);
  return *this;
}

}  // namespace minnow::nn
