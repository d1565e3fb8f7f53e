//===- Chat.h - Write conversations as a model was trained on them --------===//
//
// Files have Jinja templates, programs in a language of their own. The common
// ones are recognized by the tokens that they write; others are refused.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_TOKENIZER_CHAT_H
#define FRIT_TOOLS_TOKENIZER_CHAT_H

#include "tools/tokenizer/Tokenizer.h"

namespace frit::tokenizer {

struct Message {
  std::string role; ///< "system", "user" or "assistant"
  std::string text;
};

class Chat {
public:
  /// Recognizes a tokenizer's template: ChatML (Qwen, SmolLM), Llama 3, Gemma
  /// or Phi 3. Fails if there is none, or another one.
  static tools::Fault recognize(const Tokenizer &tokenizer, Chat &chat);

  /// Sets the text of a conversation up to where the assistant replies, which
  /// is encoded without more special tokens. Fails if a role is unknown, or is
  /// one that the model does not have.
  tools::Fault write(const std::vector<Message> &messages,
                     std::string &text) const;

private:
  enum class Kind { chatMl, llama3, gemma, phi3 };

  tools::Fault check(const std::vector<Message> &messages) const;

  Kind kind = Kind::chatMl;
  std::string begin;         ///< what the whole text begins with
  std::string defaultSystem; ///< where a conversation has no system message
  std::string roleEnd;       ///< after a role: "\n"
  bool joinsSystem = false;  ///< with the first message of the user
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_CHAT_H
