#include <minnow/text/chat.h>

#include <algorithm>
#include <fmt/format.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/text/detail/vocabulary.h>

namespace minnow::text {
namespace {

std::int64_t token_of(const BpeTokenizer& tokenizer, std::string_view text, SourceLocation where) {
  const std::int64_t token = tokenizer.added(text);
  if (token < 0)
    throw ValueError(fmt::format("ChatForm: the tokenizer has no token '{}'\ngive the form of the model, which was "
                                 "trained on conversations",
                                 text),
                     where);
  return token;
}

Chat read_chat(std::string_view line) {
  using io::detail::Refusal;
  if (!io::detail::is_utf8(line)) throw Refusal{"bytes that are not UTF-8", "JSON"};
  Chat chat;
  io::detail::JsonReader json(line);
  json.object("an object with messages", [&](const std::string& member) {
    if (member != "messages") return json.skip_value();
    json.array("an array of messages", [&] {
      ChatMessage m;
      json.object("a message", [&](const std::string& name) {
        if (name == "role") m.role = json.string("a text");
        else if (name == "content") m.content = json.string("a text");
        else json.skip_value();
      });
      if (m.role.empty()) throw Refusal{"a message without a role", "a role and a content"};
      chat.push_back(std::move(m));
    });
  });
  json.end();
  if (chat.empty()) throw Refusal{"no messages", "one or more"};
  return chat;
}

}  // namespace

std::vector<Chat> read_chats(const std::string& path, SourceLocation where) {
  const CallSite site("read_chats", where);
  const std::string text = detail::read_file("read_chats", path, where);
  std::vector<Chat> chats;
  std::size_t number = 0;
  for (const std::string_view line : detail::lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    try {
      chats.push_back(read_chat(line));
    } catch (const io::detail::Refusal& refusal) {
      throw FormatError(fmt::format("read_chats: '{}': found {} in line {}\n  expected  {}", path, refusal.found,
                                    number, refusal.expected),
                        where);
    }
  }
  return chats;
}

ChatForm ChatForm::of_template(std::string_view chat_template, SourceLocation where) {
  const auto has = [&](std::string_view text) { return chat_template.find(text) != std::string_view::npos; };
  if (has("<|start_header_id|>")) return {Kind::llama3};
  if (!has("<|im_start|>"))
    throw ValueError(fmt::format("ChatForm: the chat template '{}...' is of another form\nthose of <|im_start|> and "
                                 "<|start_header_id|> are known",
                                 chat_template.substr(0, 60)),
                     where);
  for (const std::string_view system :
       {"You are a helpful AI assistant named SmolLM, trained by Hugging Face",
        "You are Qwen, created by Alibaba Cloud. You are a helpful assistant.", "You are a helpful assistant"})
    if (has(system)) return {Kind::chatml, std::string(system)};
  return {};
}

ChatTokens ChatForm::encode(const BpeTokenizer& tokenizer, std::span<const ChatMessage> messages, bool answer,
                            SourceLocation where) const {
  const bool lines = kind == Kind::chatml;
  const std::int64_t begin = token_of(tokenizer, lines ? "<|im_start|>" : "<|start_header_id|>", where);
  const std::int64_t header = lines ? -1 : token_of(tokenizer, "<|end_header_id|>", where),
                     last = end(tokenizer, where);
  ChatTokens result;
  const auto put = [&](std::int64_t token, bool of_answer = false) {
    result.tokens.push_back(token);
    result.answers.push_back(of_answer);
  };
  const auto write = [&](const std::string& text, bool of_answer = false) {
    for (const std::int64_t token : tokenizer.encode(text, false)) put(token, of_answer);
  };
  const auto message = [&](const ChatMessage& m) {
    if (m.role.empty() || m.role.find('\n') != std::string::npos)
      throw ValueError("ChatForm: the role of a message is empty or has a line break\ngive system, user or assistant",
                       where);
    const bool written = m.role == "assistant";
    put(begin);
    write(lines ? m.role + "\n" + (written ? "" : m.content) : m.role);
    if (!lines) put(header), write(written ? "\n\n" : "\n\n" + m.content);
    if (written) write(m.content, true);
    put(last, written);
    if (lines) write("\n");
  };
  if (tokenizer.bos() >= 0) put(tokenizer.bos());
  if (!system.empty() && (messages.empty() || messages[0].role != "system")) message({"system", system});
  for (const ChatMessage& m : messages) message(m);
  if (answer) {
    put(begin);
    write(lines ? "assistant\n" : "assistant");
    if (!lines) put(header), write("\n\n");
  }
  return result;
}

std::int64_t ChatForm::end(const BpeTokenizer& tokenizer, SourceLocation where) const {
  return token_of(tokenizer, kind == Kind::chatml ? "<|im_end|>" : "<|eot_id|>", where);
}

}  // namespace minnow::text
