#include <minnow/data/detail/table.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <string_view>
#include <minnow/data/detail/host.h>

namespace minnow::data {
namespace {

/// A number of exactly `digits` digits, which it takes off the text.
std::optional<int> digits_of(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return {};
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, number);
  if (error != std::errc() || end != text.data() + digits || text[0] == '-') return {};
  text.remove_prefix(digits);
  return number;
}

bool skip(std::string_view& text, char c) {
  if (text.empty() || text[0] != c) return false;
  text.remove_prefix(1);
  return true;
}

/// "12:30" or "12:30:15.25", or as an offset also "12" and "1230".
std::optional<std::int64_t> clock_of(std::string_view& text, bool is_offset) {
  const auto hours = digits_of(text, 2);
  if (!hours || *hours > 23) return {};
  const bool colon = skip(text, ':');
  if (is_offset && !colon && text.empty()) return *hours * 3600;
  const auto minutes = colon || is_offset ? digits_of(text, 2) : std::nullopt;
  if (!minutes || *minutes > 59) return {};
  std::int64_t seconds = *hours * 3600 + *minutes * 60;
  if (is_offset || !skip(text, ':')) return seconds;
  const auto rest = digits_of(text, 2);
  if (!rest || *rest > 59) return {};
  if (skip(text, '.')) {
    const std::size_t fraction = std::min(text.find_first_not_of("0123456789"), text.size());
    if (fraction == 0) return {};
    text.remove_prefix(fraction);
  }
  return seconds + *rest;
}

/// Seconds since 1970 UTC of a date, or a date and a time, of ISO 8601.
std::optional<std::int64_t> time_of(std::string_view text) {
  const auto year = digits_of(text, 4);
  if (!year || !skip(text, '-')) return {};
  const auto month = digits_of(text, 2);
  if (!month || !skip(text, '-')) return {};
  const auto day = digits_of(text, 2);
  if (!day) return {};
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return {};
  std::int64_t seconds = std::int64_t{std::chrono::sys_days(date).time_since_epoch().count()} * 86400;
  if (text.empty()) return seconds;
  if (!skip(text, 'T') && !skip(text, ' ')) return {};
  const auto clock = clock_of(text, false);
  if (!clock) return {};
  seconds += *clock;
  if (text.empty() || text == "Z") return seconds;
  const int sign = text[0] == '+' ? -1 : 1;  // 12:00+02:00 is 10:00 UTC
  if (!skip(text, '+') && !skip(text, '-')) return {};
  const auto offset = clock_of(text, true);
  if (!offset || !text.empty()) return {};
  return seconds + sign * *offset;
}

}  // namespace

std::string detail::list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMax); ++i) text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > kMax ? text + ", ..." : text;
}

const std::string* detail::make_times(Table::Column& column, SourceLocation where) {
  std::vector<std::int64_t> times;
  for (const std::string& text : column.vocabulary) {
    const auto time = time_of(text);
    if (!time) return &text;
    times.push_back(*time);
  }
  const std::int64_t rows = column.values.numel();
  const Tensor values = detail::host_tensor(column.missing > 0 ? DType::float64 : DType::int64, {rows}, where);
  const auto* numbers = column.values.data<std::int64_t>();
  for (std::int64_t i = 0; i < rows; ++i) {
    const std::int64_t time = numbers[i] < 0 ? 0 : times[static_cast<std::size_t>(numbers[i])];
    if (column.missing == 0) values.data<std::int64_t>()[i] = time;
    else values.data<double>()[i] = numbers[i] < 0 ? std::nan("") : static_cast<double>(time);
  }
  column = {.values = values, .missing = column.missing, .category = false, .vocabulary = {}, .time = true};
  return nullptr;
}

std::string detail::time_text(std::int64_t seconds) {
  const auto days = std::chrono::floor<std::chrono::days>(std::chrono::sys_seconds(std::chrono::seconds(seconds)));
  const std::chrono::year_month_day date(days);
  const std::int64_t clock = seconds - std::int64_t{days.time_since_epoch().count()} * 86400;
  const std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                                       static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  if (clock == 0) return text;
  return fmt::format("{}T{:02}:{:02}:{:02}", text, clock / 3600, clock / 60 % 60, clock % 60);
}

}  // namespace minnow::data
