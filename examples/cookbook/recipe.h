#pragma once

#include <functional>
#include <iostream>
#include <minnow/minnow.h>

/// A recipe of the cookbook: a name, and a function that the test of its program runs.
struct Recipe {
  Recipe(const char* name, std::function<void()> run);
};

/// Fails the test unless it holds.
void expect(bool holds, minnow::SourceLocation where = minnow::SourceLocation::current());

/// A small task for recipes: points [n, 2], and whether the first number is the larger one.
struct Points {
  explicit Points(std::int64_t n);
  minnow::Tensor x, y;
};
