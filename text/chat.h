#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/text/bpe_tokenizer.h>

namespace minnow::text {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

using Chat = std::vector<ChatMessage>;

/// Reads a file of conversations, one a line: {"messages": [{"role": "user", "content": "..."}, ...]}.  Other members
/// are skipped.  FormatError, with the line, for what is no such object or has no messages; IoError.
std::vector<Chat> read_chats(const std::string& path, SourceLocation where = SourceLocation::current());

/// A conversation as tokens, and which of them an assistant writes: its answers, with the token that ends each.
struct ChatTokens {
  std::vector<std::int64_t> tokens;
  std::vector<bool> answers;
};

/// How a model is told a conversation.  chatml: <|im_start|>role, a line, content, <|im_end|> (Qwen2, SmolLM2).
/// llama3: <|start_header_id|>role<|end_header_id|>, two lines, content, <|eot_id|>.  What users write is text, also
/// where it looks like one of these tokens.
struct ChatForm {
  enum class Kind : std::uint8_t { chatml, llama3 };

  Kind kind = Kind::chatml;
  std::string system{};  ///< the first message of conversations that begin with none of the system

  /// The form of a chat template of Hugging Face's, known by its tokens; with the system message of SmolLM2 and Qwen2.
  /// ValueError for one of another form.
  static ChatForm of_template(std::string_view chat_template, SourceLocation where = SourceLocation::current());

  /// answer: the beginning of an answer comes last.  ValueError for a role that is empty or has a line break, and where
  /// the tokenizer has no tokens of this form.
  ChatTokens encode(const BpeTokenizer& tokenizer, std::span<const ChatMessage> messages, bool answer,
                    SourceLocation where = SourceLocation::current()) const;
  /// The token that ends a message.  ValueError if the tokenizer has none.
  std::int64_t end(const BpeTokenizer& tokenizer, SourceLocation where = SourceLocation::current()) const;
};

}  // namespace minnow::text
