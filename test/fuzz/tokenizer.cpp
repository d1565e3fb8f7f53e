//===- tokenizer.cpp - Fuzz the readers of tokenizers ---------------------===//
//
// The bytes are a tokenizer.json or a GGUF file. A tokenizer that was read must
// encode text, and decode what it encoded and other ids.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Target.h"
#include "tools/tokenizer/Chat.h"
#include "tools/tokenizer/Text.h"

using namespace frit;
using namespace frit::tokenizer;

static void checkText(std::string_view text) {
  if (findInvalid(text) != text.npos)
    fuzz::broken("decoded text is UTF-8");
}

static void decode(const Tokenizer &tokenizer,
                   const std::vector<TokenId> &ids) {
  for (Shown shown : {Shown::text, Shown::everything}) {
    std::string text, streamed;
    if (!tokenizer.decode(ids, shown, text))
      checkText(text);
    TextStream stream(tokenizer, shown);
    for (TokenId id : ids) {
      if (stream.push(id, streamed))
        return;
      checkText(streamed);
    }
    if (!stream.finish(streamed))
      checkText(streamed);
  }
}

static void encode(const Tokenizer &tokenizer, std::string_view text) {
  for (Specials specials : {Specials::add, Specials::omit}) {
    std::vector<TokenId> ids{-1};
    tools::Fault fault = tokenizer.encode(text, specials, ids);
    if (ids[0] != -1 || (fault && (ids.size() > 1 || fault.message().empty())))
      fuzz::broken("a text that fails leaves no tokens, but says why");
    decode(tokenizer, ids);
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Tokenizer tokenizer;
  tools::Bytes bytes(data, size);
  std::string_view text = tools::asText(bytes);
  tools::Fault fault = text.starts_with("GGUF")
                           ? Tokenizer::readGguf(bytes, tokenizer)
                           : Tokenizer::readJson(bytes, tokenizer);
  if (fault) {
    if (fault.message().empty())
      fuzz::broken("a tokenizer is refused only with an error");
    return 0;
  }
  encode(tokenizer, "");
  encode(tokenizer,
         "Hello  world, it's 123\n\t\u00e4\u0301\u4f60 \U0001f600<s>");
  encode(tokenizer,
         replaceInvalid(text.substr(size - std::min<size_t>(size, 99))));
  std::vector<TokenId> ids;
  for (TokenId id = 0; id < TokenId(std::min<size_t>(tokenizer.size(), 300));
       ++id)
    ids.push_back(id);
  decode(tokenizer, ids);
  Chat chat;
  if (Chat::read(tokenizer, chat))
    return 0;
  const std::vector<Message> messages = {{"system", "Be."}, {"user", "Hello"}};
  if (std::string written; !chat.write(messages, written))
    encode(tokenizer, written);
  return 0;
}
