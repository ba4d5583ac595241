#include <minnow/llm/detail/lora_config.h>

#include <fmt/format.h>
#include <span>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/detail/json_reader.h>
#include <minnow/tensor/io/file.h>

namespace minnow::llm::lora::detail {
namespace {

using io::detail::JsonReader;
using io::detail::Refusal;

/// Whether a value is none, or an empty text, array or object, or false.
bool read_is_none(JsonReader& json) {
  if (json.accept_null()) return true;
  switch (json.peek()) {
    case '"': return json.string("a text").empty();
    case 'f': return !json.boolean("false");
    case '[': return json.expect('[', "["), json.accept(']');
    case '{': return json.expect('{', "{"), json.accept('}');
    default: return false;
  }
}

Options parse(const std::string& text) {
  Options o{.alpha = 8, .targets = {}};  // PEFT's defaults
  std::string type, bias = "none";
  JsonReader json(text);
  json.object("an object", [&](const std::string& name) {
    if (name == "peft_type") type = json.string("a text");
    else if (name == "r") o.rank = json.integer("a rank");
    else if (name == "lora_alpha") o.alpha = json.number("a number");
    else if (name == "lora_dropout") o.dropout = json.number("a number");
    else if (name == "use_rslora") o.rank_stabilized = json.boolean("true or false");
    else if (name == "bias") bias = json.string("a text");
    else if (name == "target_modules")
      json.array("a list of names", [&] { o.targets.push_back(json.string("a name")); });
    else if (name == "use_dora" || name == "use_qalora" || name == "use_bdlora" || name == "rank_pattern" ||
             name == "alpha_pattern" || name == "modules_to_save" || name == "fan_in_fan_out" ||
             name == "layers_to_transform" || name == "layer_replication" || name == "target_parameters" ||
             name == "exclude_modules" || name == "lora_bias" || name == "trainable_token_indices" ||
             name == "alora_invocation_tokens") {
      if (!read_is_none(json)) throw Refusal{"'" + name + "'", "none: adapters of plain LoRA"};
    } else json.skip_value();
  });
  json.end();
  if (type != "LORA") throw Refusal{"the peft_type '" + type + "'", "'LORA'"};
  if (bias != "none") throw Refusal{"bias '" + bias + "'", "'none'"};
  if (o.targets.empty()) throw Refusal{"no target_modules", "names of layers"};
  return o;
}

}  // namespace

Options read_config(const std::string& path, SourceLocation where) {
  const io::InputFile file("lora::load", path, where);
  try {
    constexpr std::uint64_t kMost = 1 << 20;
    if (file.size() > kMost) throw Refusal{fmt::format("{} bytes", file.size()), "at most 1 MiB"};
    std::string text(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(text)));
    if (!io::detail::is_utf8(text)) throw Refusal{"bytes that are not UTF-8", "JSON"};
    return parse(text);
  } catch (const Refusal& refusal) {
    throw FormatError(fmt::format("lora::load: '{}': found {}\n  expected  {}", path, refusal.found, refusal.expected),
                      where);
  }
}

void write_config(const std::string& path, const Options& o, const std::string& base, SourceLocation where) {
  using io::detail::json_quoted;
  std::string targets;
  for (const std::string& target : o.targets) targets += (targets.empty() ? "" : ", ") + json_quoted(target);
  const std::string text = fmt::format(
      "{{\n  \"base_model_name_or_path\": {},\n  \"bias\": \"none\",\n  \"fan_in_fan_out\": false,\n"
      "  \"inference_mode\": true,\n  \"lora_alpha\": {},\n  \"lora_dropout\": {},\n  \"peft_type\": \"LORA\",\n"
      "  \"r\": {},\n  \"target_modules\": [{}],\n  \"task_type\": \"CAUSAL_LM\",\n  \"use_dora\": false,\n"
      "  \"use_rslora\": {}\n}}\n",
      json_quoted(base), o.alpha, o.dropout, o.rank, targets, o.rank_stabilized);
  io::AtomicFile file("lora::Adapter::save", path, where);
  file.write(std::as_bytes(std::span(text)));
  file.commit();
}

}  // namespace minnow::llm::lora::detail
