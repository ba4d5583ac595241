#include <minnow/tensor/io/detail/selection.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::io::detail {

std::string listed(std::span<const std::string> names) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i) text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return names.empty() ? "none" : text;
}

std::vector<Selected> select(const LoadOptions& options, const std::vector<std::string>& names, const std::string& path,
                             SourceLocation where) {
  std::vector<Selected> selected;
  {
    const CallSite user = CallSite::none();  // .rename may be a function of the user
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].starts_with(options.prefix)) selected.push_back({i, options.rename(names[i])});
  }
  if (selected.empty() && !options.prefix.empty()) {
    throw ValueError("load: no tensor of '" + path + "' has a name that begins with '" + options.prefix +
                         "'\n  there are  " + listed(names) + "\nset .prefix to the beginning of some names",
                     where);
  }
  std::unordered_map<std::string_view, std::size_t> seen;
  for (const Selected& s : selected)
    if (const auto [other, is_new] = seen.emplace(s.name, s.index); !is_new)
      throw ValueError("load: '" + names[other->second] + "' and '" + names[s.index] + "' of '" + path +
                           "' are both renamed to '" + s.name + "'\nset .rename so that names stay different",
                       where);
  return selected;
}

}  // namespace minnow::io::detail
