#pragma once

#include <string>
#include <vector>
#include <minnow/data/csv.h>

namespace minnow::data::detail {

/// "'a', 'b', ..." for errors.
std::string list_of(const std::vector<std::string>& names);

/// Makes a column of categories one of times; returns a text that is none, and stays as it was then.
const std::string* make_times(Table::Column& column, SourceLocation where);

/// A time as make_times() reads it, without 00:00:00.
std::string time_text(std::int64_t seconds);

}  // namespace minnow::data::detail
