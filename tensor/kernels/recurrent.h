#pragma once

#include <minnow/tensor/kernels/unary_activation.h>
#include <minnow/tensor/kernels/unary_math.h>

// A step of a recurrent layer at one place of the state: values and derivatives.
namespace minnow::detail::kernels {

template <class T> struct LstmValues { T i, f, g, o, cell, hidden; };

/// From the maps of x and h, added, and the cell before.
template <class T> MINNOW_HD LstmValues<T> lstm_step(T i, T f, T g, T o, T cell) {
  LstmValues<T> y{math::sigmoid(i), math::sigmoid(f), math::tanh(g), math::sigmoid(o), T(0), T(0)};
  y.cell = y.f * cell + y.i * y.g;
  y.hidden = y.o * math::tanh(y.cell);
  return y;
}

/// `y`: the values, but for y.hidden, with the cell after the step; cell: before it; dh, dc: gradients of h and of the
/// cell after it.  Gradients of the maps, and in `cell` of the cell before.
template <class T> MINNOW_HD LstmValues<T> lstm_slopes(const LstmValues<T>& y, T cell, T dh, T dc) {
  const T c = math::tanh(y.cell);
  dc += dh * y.o * Tanh::slope(c);
  return {dc * y.g * Sigmoid::slope(y.i),
          dc * cell * Sigmoid::slope(y.f),
          dc * y.i * Tanh::slope(y.g),
          dh * c * Sigmoid::slope(y.o),
          dc * y.f,
          T(0)};
}

template <class T> struct GruValues { T r, z, n, hidden; };

/// From the maps of x and of h, and h.
template <class T> MINNOW_HD GruValues<T> gru_step(const GruValues<T>& x, const GruValues<T>& h) {
  GruValues<T> y{math::sigmoid(x.r + h.r), math::sigmoid(x.z + h.z), T(0), T(0)};
  y.n = math::tanh(x.n + y.r * h.n);
  y.hidden = y.n + y.z * (h.hidden - y.n);
  return y;
}

/// `y`: the values; mapped: the map of h that the reset gate multiplies; h: before the step; dh: the gradient of h
/// after it.  Gradients of the maps of x; `hidden` is the part of h before the step that does not go through the maps.
template <class T> MINNOW_HD GruValues<T> gru_slopes(const GruValues<T>& y, T mapped, T h, T dh) {
  const T d = (dh - dh * y.z) * Tanh::slope(y.n);
  return {d * mapped * Sigmoid::slope(y.r), dh * (h - y.n) * Sigmoid::slope(y.z), d, dh * y.z};
}

}  // namespace minnow::detail::kernels
