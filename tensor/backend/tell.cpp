#include <minnow/tensor/backend/tell.h>

#include <minnow/tensor/profile/observers.h>

namespace minnow::detail {

void tell(const char* function, std::initializer_list<Tensor> results, Operands operands,
          std::initializer_list<Argument> arguments) {
  calling_thread.observer->told(
      {function, {results.begin(), results.size()}, operands, {arguments.begin(), arguments.size()}});
}

void tell(const char* function, const Tensor& result, const char* each, std::span<const Tensor> operands,
          std::initializer_list<Argument> arguments) {
  std::vector<Operand> named;
  for (const Tensor& t : operands) named.push_back({each, t});
  Operands all;
  static_cast<std::span<const Operand>&>(all) = named;
  calling_thread.observer->told({function, {&result, 1}, all, {arguments.begin(), arguments.size()}});
}

}  // namespace minnow::detail
