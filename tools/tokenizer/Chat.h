//===- Chat.h - Write conversations as a model was trained on them --------===//
//
// Files have Jinja templates, programs in a language of their own, which the
// folder `jinja` runs.
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
  /// Reads a tokenizer's template. Fails if there is none, or if it has what is
  /// not supported.
  static tools::Fault read(const Tokenizer &tokenizer, Chat &chat);

  /// Sets the text of a conversation up to where the assistant replies, which
  /// is encoded without more special tokens. Fails if the template refuses it.
  tools::Fault write(const std::vector<Message> &messages,
                     std::string &text) const;

  /// The same of JSON: a list of messages, or an object with "messages" and
  /// other names for the template, such as "tools" and "enable_thinking". With
  /// "add_generation_prompt": false the text ends after the last message.
  tools::Fault write(std::string_view json, std::string &text) const;

private:
  struct Template;
  std::shared_ptr<const Template> parsed;
};

} // namespace frit::tokenizer

#endif // FRIT_TOOLS_TOKENIZER_CHAT_H
