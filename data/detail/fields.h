#pragma once

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <minnow/tensor/tensor.h>

// The fields of a sample: a tensor, a number, a tuple, pair or array, or a plain struct of up to six fields.
namespace minnow::data::detail {

/// Converts to any type: counts the fields of a struct.
struct AnyField {
  template <class T> operator T() const;
};

template <class T, std::size_t... I> constexpr bool constructible_from(std::index_sequence<I...>) {
  return requires { T{((void)I, AnyField{})...}; };
}

template <class T, std::size_t N = 6> constexpr std::size_t count_fields() {
  if constexpr (N == 0 || constructible_from<T>(std::make_index_sequence<N>())) return N;
  else return count_fields<T, N - 1>();
}

/// Converts to the types that a field may have: counts the fields up to the first of another type.
struct ValidField {
  operator Tensor() const;
  template <class N>
  requires std::is_arithmetic_v<N>
  operator N() const;
};
template <class T, std::size_t... I> constexpr bool constructible_from_valid(std::index_sequence<I...>) {
  return requires { T{((void)I, ValidField{})...}; };
}
template <class T, std::size_t N = 6> constexpr std::size_t count_valid_fields() {
  if constexpr (N == 0 || constructible_from_valid<T>(std::make_index_sequence<N>())) return N;
  else return count_valid_fields<T, N - 1>();
}
template <class T> constexpr bool has_valid_fields() {
  return count_fields<T>() > 0 && count_valid_fields<T>() == count_fields<T>();
}

template <class T>
concept TupleLike = requires {
  std::tuple_size<T>::value;
};
template <class T>
concept Number = std::is_arithmetic_v<T>;

/// A tuple of references to the fields.
template <class T> auto tie_fields(T& value) {
  using Plain = std::remove_cv_t<T>;
  if constexpr (std::is_base_of_v<Tensor, Plain> || Number<Plain>) {
    return std::tie(value);
  } else if constexpr (TupleLike<Plain>) {
    return std::apply([](auto&... field) { return std::tie(field...); }, value);
  } else {
    static_assert(std::is_aggregate_v<Plain>,
                  "a sample must be a Tensor, a tuple, pair or array, or a plain struct without constructors");
    constexpr std::size_t kCount = count_fields<Plain>();
    static_assert(kCount > 0, "a sample needs at least one field");
    if constexpr (kCount == 1) {
      auto& [a] = value;
      return std::tie(a);
    } else if constexpr (kCount == 2) {
      auto& [a, b] = value;
      return std::tie(a, b);
    } else if constexpr (kCount == 3) {
      auto& [a, b, c] = value;
      return std::tie(a, b, c);
    } else if constexpr (kCount == 4) {
      auto& [a, b, c, d] = value;
      return std::tie(a, b, c, d);
    } else if constexpr (kCount == 5) {
      auto& [a, b, c, d, e] = value;
      return std::tie(a, b, c, d, e);
    } else {
      auto& [a, b, c, d, e, f] = value;
      return std::tie(a, b, c, d, e, f);
    }
  }
}

template <class Tuple, std::size_t... I> constexpr bool all_valid(std::index_sequence<I...>) {
  return ((std::is_same_v<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>, Tensor> ||
           Number<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>>)&&...);
}
/// Whether a dataset may have samples of this type.
template <class T> constexpr bool is_sample() {
  if constexpr (std::is_same_v<T, Tensor> || Number<T>) return true;
  else if constexpr (TupleLike<T>) return all_valid<T>(std::make_index_sequence<std::tuple_size_v<T>>());
  else if constexpr (!std::is_aggregate_v<T> || std::is_array_v<T>) return false;
  else return has_valid_fields<T>();
}

template <class T> using Fields = decltype(tie_fields(std::declval<T&>()));
template <class T> inline constexpr std::size_t kFieldCount = std::tuple_size_v<Fields<T>>;

template <class Tuple, std::size_t... I> constexpr bool all_tensors(std::index_sequence<I...>) {
  return (std::is_same_v<std::remove_cvref_t<std::tuple_element_t<I, Tuple>>, Tensor> && ...);
}

template <std::size_t> using TensorAt = Tensor;
template <std::size_t... I> std::tuple<TensorAt<I>...> tensor_tuple(std::index_sequence<I...>);

template <class Sample> struct BatchType {
  using type = std::conditional_t<all_tensors<Fields<Sample>>(std::make_index_sequence<kFieldCount<Sample>>()), Sample,
                                  decltype(tensor_tuple(std::make_index_sequence<kFieldCount<Sample>>()))>;
};
template <class Sample>
requires std::is_base_of_v<Tensor, Sample>  // a Selection
struct BatchType<Sample> {
  using type = Tensor;
};
template <class Sample>
requires requires { typename Sample::Batch; }
struct BatchType<Sample> {
  using type = typename Sample::Batch;
  static_assert(kFieldCount<type> == kFieldCount<Sample> &&
                    all_tensors<Fields<type>>(std::make_index_sequence<kFieldCount<type>>()),
                "the Batch of a sample has a Tensor for each field of the sample");
};

/// The batch type of a sample type: the Batch that it names, the same type where all fields are tensors, else a tuple
/// of tensors.
template <class Sample> using BatchOf = typename BatchType<Sample>::type;

}  // namespace minnow::data::detail
