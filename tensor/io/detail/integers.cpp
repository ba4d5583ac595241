#include <minnow/tensor/io/detail/integers.h>

#include <algorithm>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::io::detail {

StateDict integers(std::initializer_list<std::pair<const char*, std::int64_t>> numbers) {
  StateDict dict;
  for (const auto& [name, number] : numbers) dict.set(name, full({}, number, {.dtype = DType::int64}));
  return dict;
}

std::vector<std::int64_t> read_integers(const char* whose, const StateDict& values,
                                        std::initializer_list<const char*> names, SourceLocation where) {
  std::vector<std::int64_t> numbers;
  std::string problems;
  for (const char* name : names) {
    const Tensor* value = values.find(name);
    const bool fits = value && value->defined() && value->dtype() == DType::int64 && value->numel() == 1;
    if (!fits) problems += std::string("\n  '") + name + (value ? "' is not one int64 number" : "' is missing");
    numbers.push_back(fits ? value->item<std::int64_t>() : 0);
  }
  for (const auto& [name, value] : values)
    if (std::find(names.begin(), names.end(), name) == names.end())
      problems += "\n  '" + name + "' is not one of its names";
  if (!problems.empty())
    throw ValueError(std::string(whose) + "::load_state_dict: the values do not fit" + problems +
                         "\nload what its state_dict() gave",
                     where);
  return numbers;
}

}  // namespace minnow::io::detail
