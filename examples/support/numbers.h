#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <type_traits>

/// Checks that the text of an option is a number from `least` to `most`.
template <class T> CLI::Validator number_in(T least, T most) {
  const auto text_of = [](T value) {
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof text, value).ptr);
  };
  const std::string range = text_of(least) + " to " + text_of(most);
  const auto check = [=](const std::string& text) -> std::string {
    T value = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc() && stop == end && value >= least && value <= most) return "";
    constexpr std::size_t kShown = 30;
    const std::string kind = std::is_integral_v<T> ? "a whole number" : "a number";
    return "'" + (text.size() > kShown ? text.substr(0, kShown) + "..." : text) + "' is not " + kind + " from " + range;
  };
  return {check, "", "number"};
}
