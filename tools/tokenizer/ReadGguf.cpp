//===- ReadGguf.cpp - Read the tokenizer of a GGUF file -------------------===//

#include "compiler/support/Gguf.h"
#include "compiler/support/Help.h"
#include "tools/tokenizer/Parts.h"
#include "tools/tokenizer/Precompiled.h"
#include "tools/tokenizer/model/Bpe.h"
#include "tools/tokenizer/model/ScoredPairs.h"
#include "tools/tokenizer/model/Unigram.h"

#include <cmath>

using namespace frit;
using namespace frit::tokenizer;
using tools::Bytes;
using tools::Fault;

/// Kinds of tokens, by their number in files.
static constexpr int kUnknown = 2, kControl = 3, kUserDefined = 4;

#define FRIT_CONTRACTIONS R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|)"
#define FRIT_WORDS                                                             \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
#define FRIT_CAPITALS                                                          \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
#define FRIT_SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define FRIT_END R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|)"

// What tokenizer.json has in the place of the names of pre-tokenizers.
static constexpr const char *kLlama3 =
    FRIT_CONTRACTIONS R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|)"
                      R"( ?[^\s\p{L}\p{N}]+[\r\n]*|)" FRIT_SPACES;
static constexpr const char *kQwen2 =
    FRIT_CONTRACTIONS R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|)"
                      R"( ?[^\s\p{L}\p{N}]+[\r\n]*|)" FRIT_SPACES;
static constexpr const char *kGpt4o = FRIT_WORDS FRIT_END FRIT_CAPITALS FRIT_END
    R"(\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" FRIT_SPACES;
static constexpr const char *kTekken = FRIT_WORDS
    "|" FRIT_CAPITALS R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" FRIT_SPACES;

namespace {

/// A way to split text, by its names in "tokenizer.ggml.pre".
struct SplitKind {
  std::vector<std::string_view> names;
  const char *expression; ///< null for GPT-2's
  bool splitsDigits = false;
  bool composes = false; ///< text is in NFC first
  bool takesWholePieces = false;
};

} // namespace

static const std::vector<SplitKind> &splitKinds() {
  static const std::vector<SplitKind> kinds = {
      {{"gpt-2", "default", "olmo", "phi-2", "mpt", "jais", "trillion",
        "granite-docling", "jina-es", "jina-de", "roberta-bpe", "gigachat",
        "modern-bert"},
       nullptr},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone",
        "minerva-7b"},
       nullptr,
       true},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral",
        "midm-2.0", "lfm2"},
       kLlama3,
       false,
       false,
       true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, kLlama3},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "stablelm2", "hunyuan", "megrez"},
       kQwen2,
       false,
       true},
      {{"gpt-4o", "llama4", "kanana2"}, kGpt4o},
      {{"tekken"}, kTekken, false, false, true}};
  return kinds;
}

static Fault addSplit(const SplitKind &kind, Parts &parts) {
  if (kind.composes)
    parts.normalizer.push_back([](std::string &text) {
      normalizeForm(text, Form::nfc);
      return Fault();
    });
  if (kind.splitsDigits)
    parts.splitter.push_back(splitAt(isNumeric, OnMatch::isolate));
  if (kind.expression) {
    Regex regex;
    if (Fault fault = Regex::compile(kind.expression, regex))
      return fault;
    parts.splitter.push_back(splitAt(regex, OnMatch::isolate));
  } else if (Fault fault = addGpt2Split(parts.splitter))
    return fault;
  parts.splitter.push_back(mapBytes());
  return {};
}

/// What SentencePiece writes for a space.
static constexpr std::string_view kWrittenSpace = "\u2581";

/// Writes spaces as SentencePiece does. Where they merge, each word has one in
/// front; otherwise one is added to the first word.
static std::string escapeSpaces(std::string_view text, bool addsSpace,
                                bool merges) {
  std::string escaped;
  bool isFirst = true, isInWord = false;
  for (char c : text) {
    if (c == ' ') {
      if (!merges)
        escaped += kWrittenSpace;
    } else {
      if (!isInWord && (merges || (addsSpace && isFirst)))
        escaped += kWrittenSpace;
      isFirst = false;
      escaped += c;
    }
    isInWord = c != ' ';
  }
  return escaped;
}

namespace {

class GgufTokens {
public:
  GgufTokens(const GgufFile &file, Parts &parts) : file(file), parts(parts) {}

  Fault read() {
    std::optional<std::string_view> model = file.text("tokenizer.ggml.model");
    if (!model)
      return Fault("it has no tokenizer: there is no tokenizer.ggml.model");
    tokens = file.texts("tokenizer.ggml.tokens");
    if (!tokens)
      return Fault("it has no tokenizer.ggml.tokens");
    if (tokens->size() > Vocabulary::kMostTokens)
      return Fault(std::to_string(tokens->size()) + " tokens; " +
                   std::to_string(Vocabulary::kMostTokens) + " at most");
    if (Fault fault = readTokens())
      return fault;
    if (Fault fault =
            *model == "gpt2"    ? readMerges()
            : *model == "llama" ? readScores()
            : *model == "t5"
                ? readUnigram()
                : Fault("tokenizer.ggml.model '" + std::string(*model) +
                        "' is not supported; gpt2, llama and t5 are"))
      return fault;
    if (Fault fault = parts.added.finish(parts.normalizer))
      return fault;
    return readSpecials(/*addsBegin=*/*model == "llama",
                        /*addsEnd=*/*model == "t5");
  }

private:
  Fault readTokens() {
    const std::vector<double> *kinds =
        file.numbers("tokenizer.ggml.token_type");
    if (kinds && kinds->size() != tokens->size())
      return Fault("tokenizer.ggml.token_type has " +
                   std::to_string(kinds->size()) + " elements for " +
                   std::to_string(tokens->size()) + " tokens");
    for (size_t id = 0; id < tokens->size(); ++id) {
      std::string text((*tokens)[id]);
      if (size_t place = findInvalid(text); place != text.npos)
        return Fault("token " + std::to_string(id) + " is no UTF-8");
      double kind = kinds ? (*kinds)[id] : 0;
      if (kind == kUnknown && !unknown)
        unknown = TokenId(id);
      if (kind == kControl || kind == kUserDefined || kind == kUnknown) {
        AddedToken token;
        token.text = text;
        token.id = TokenId(id);
        token.isSpecial = kind != kUserDefined;
        if (Fault fault = parts.added.add(std::move(token)))
          return fault;
      }
      if (Fault fault = parts.vocabulary.add(std::move(text), id))
        return fault;
    }
    return {};
  }

  Fault readMerges() {
    std::string_view name = file.text("tokenizer.ggml.pre").value_or("default");
    const SplitKind *kind = nullptr;
    std::vector<std::string> known;
    for (const SplitKind &one : splitKinds())
      for (std::string_view alias : one.names) {
        known.emplace_back(alias);
        if (alias == name)
          kind = &one;
      }
    if (!kind)
      return Fault("tokenizer.ggml.pre '" + std::string(name) +
                   "' is not supported; " + listOf(known) + " are");
    if (Fault fault = addSplit(*kind, parts))
      return fault;

    const std::vector<std::string_view> *merges =
        file.texts("tokenizer.ggml.merges");
    if (!merges)
      return Fault("it has no tokenizer.ggml.merges");
    Bpe::Options options;
    options.takesWholePieces = kind->takesWholePieces;
    auto bpe = std::make_unique<Bpe>(parts.vocabulary, std::move(options));
    for (std::string_view merge : *merges) {
      // A part may begin with a space.
      size_t space = merge.find(' ', 1);
      if (space == merge.npos)
        return Fault("tokenizer.ggml.merges has '" + std::string(merge) +
                     "', which is no pair");
      if (Fault fault =
              bpe->addMerge(merge.substr(0, space), merge.substr(space + 1)))
        return fault.within("tokenizer.ggml.merges");
    }
    parts.model = std::move(bpe);
    parts.decoder.bytes = Decoder::Bytes::byteLevel;
    parts.decoder.steps.push_back(decodeByteLevel());
    return {};
  }

  /// Finds the tokens' scores, and the token of what has none.
  Fault findScores(const std::vector<double> *&scores) {
    scores = file.numbers("tokenizer.ggml.scores");
    if (!scores || scores->size() != tokens->size())
      return Fault("tokenizer.ggml.scores has not one number for each of " +
                   std::to_string(tokens->size()) + " tokens");
    std::optional<uint64_t> id = file.count("tokenizer.ggml.unknown_token_id");
    if (id && *id < tokens->size())
      unknown = TokenId(*id);
    return {};
  }

  /// SentencePiece's models of likely tokens, as of T5.
  Fault readUnigram() {
    const std::vector<double> *scores = nullptr;
    if (Fault fault = findScores(scores))
      return fault;
    for (double score : *scores)
      if (!std::isfinite(score))
        return Fault("tokenizer.ggml.scores has a number that is not finite");
    parts.model = std::make_unique<Unigram>(parts.vocabulary, *scores, unknown,
                                            /*fallsBackToBytes=*/false);
    if (file.find("tokenizer.ggml.precompiled_charsmap")) {
      const std::vector<double> *bytes =
          file.numbers("tokenizer.ggml.precompiled_charsmap");
      if (!bytes)
        return Fault("tokenizer.ggml.precompiled_charsmap is no list of bytes");
      std::string text;
      for (double byte : *bytes) {
        if (!(byte >= -128 && byte <= 255))
          return Fault("tokenizer.ggml.precompiled_charsmap has a number that "
                       "is no byte");
        text += char(int(byte));
      }
      auto map = std::make_shared<Precompiled>();
      if (Fault fault = map->read(text))
        return fault.within("tokenizer.ggml.precompiled_charsmap");
      parts.normalizer.push_back([map](std::string &text) {
        map->apply(text);
        return Fault();
      });
    }
    bool addsSpace =
        file.flag("tokenizer.ggml.add_space_prefix").value_or(false);
    bool merges =
        file.flag("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
    parts.normalizer.push_back([=](std::string &text) {
      text = escapeSpaces(text, addsSpace, merges);
      return Fault();
    });
    parts.decoder.steps = {decodeReplace(Regex::literal("\u2581"), " "),
                           decodeFuse()};
    if (addsSpace || merges)
      parts.decoder.steps.push_back(decodeStrip(" ", 1, 0));
    return {};
  }

  Fault readScores() {
    const std::vector<double> *scores = nullptr;
    if (Fault fault = findScores(scores))
      return fault;
    parts.model = std::make_unique<ScoredPairs>(
        parts.vocabulary, std::vector<float>(scores->begin(), scores->end()),
        unknown);
    bool addsSpace =
        file.flag("tokenizer.ggml.add_space_prefix").value_or(true);
    bool merges =
        file.flag("tokenizer.ggml.remove_extra_whitespaces").value_or(false);
    parts.normalizer.push_back([=](std::string &text) {
      if (merges) {
        text = escapeSpaces(text, addsSpace, merges);
        if (!addsSpace && !text.empty())
          text.erase(0, kWrittenSpace.size());
        return Fault();
      }
      if (addsSpace && !text.empty())
        text.insert(0, " ");
      return Regex::literal(" ").replaceAll(text, kWrittenSpace);
    });
    parts.decoder.bytes = Decoder::Bytes::byteTokens;
    parts.decoder.steps = {decodeReplace(Regex::literal("\u2581"), " "),
                           decodeByteTokens(), decodeFuse()};
    if (addsSpace)
      parts.decoder.steps.push_back(decodeStrip(" ", 1, 0));
    return {};
  }

  /// Sets the token of a key that must lie in the vocabulary.
  Fault readSpecial(std::string_view key, std::optional<TokenId> &token) {
    if (!file.find(key))
      return {};
    std::optional<uint64_t> id = file.count(key);
    if (!id || *id >= tokens->size())
      return Fault(std::string(key) + " is none of the " +
                   std::to_string(tokens->size()) + " tokens");
    token = TokenId(*id);
    return {};
  }

  Fault readSpecials(bool addsBegin, bool addsEnd) {
    std::optional<TokenId> end;
    if (Fault fault = readSpecial("tokenizer.ggml.bos_token_id", parts.begin))
      return fault;
    for (const char *key :
         {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
          "tokenizer.ggml.eom_token_id"}) {
      std::optional<TokenId> id;
      if (Fault fault = readSpecial(key, id))
        return fault;
      if (id && std::ranges::find(parts.ends, *id) == parts.ends.end())
        parts.ends.push_back(*id);
      if (!end)
        end = id;
    }
    if (parts.begin &&
        file.flag("tokenizer.ggml.add_bos_token").value_or(addsBegin))
      parts.before.push_back(*parts.begin);
    if (end && file.flag("tokenizer.ggml.add_eos_token").value_or(addsEnd))
      parts.after.push_back(*end);
    parts.chatTemplate =
        file.text("tokenizer.chat_template").value_or(std::string_view());
    for (auto [key, name] :
         {std::pair("tokenizer.ggml.bos_token_id", "bos_token"),
          {"tokenizer.ggml.eos_token_id", "eos_token"},
          {"tokenizer.ggml.unknown_token_id", "unk_token"},
          {"tokenizer.ggml.padding_token_id", "pad_token"}})
      if (auto id = file.count(key); id && *id < tokens->size())
        parts.namedTokens.emplace_back(name, (*tokens)[*id]);
    return {};
  }

  const GgufFile &file;
  Parts &parts;
  const std::vector<std::string_view> *tokens = nullptr;
  std::optional<TokenId> unknown;
};

} // namespace

Fault frit::tokenizer::readGgufParts(Bytes bytes, Parts &parts) {
  GgufFile file;
  std::string error;
  if (!frit::readGguf(bytes, file, error))
    return Fault(error);
  return GgufTokens(file, parts).read();
}
