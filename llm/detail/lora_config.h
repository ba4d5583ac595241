#pragma once

#include <string>
#include <minnow/llm/lora.h>

namespace minnow::llm::lora::detail {

/// PEFT's adapter_config.json.  FormatError for what Options do not have; IoError.
Options read_config(const std::string& path, SourceLocation where);
void write_config(const std::string& path, const Options& options, const std::string& base, SourceLocation where);

}  // namespace minnow::llm::lora::detail
