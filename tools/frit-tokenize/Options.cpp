//===- Options.cpp - Command line of frit-tokenize ------------------------===//

#include "tools/frit-tokenize/Options.h"
#include "compiler/support/OptionTable.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

namespace frit::options {
/// Modes in which options have an effect, named as in Options.td.
enum : unsigned { Lines = DefaultVis + 1, Streams, Texts };
} // namespace frit::options

#define FRIT_OPTIONS "tools/frit-tokenize/Options.inc"
#include "compiler/support/OptionTable.inc"

#include <array>

using namespace frit;
using namespace frit::tokenize;
using namespace frit::tools;

static HelpTable helpTable() {
  HelpTable help;
  help.tool = "frit-tokenize";
  help.version = frit_version();
  help.purpose = "turns lines of text into the tokens of a language model, "
                 "or back";
  help.synopsis = "folder|tokenizer.json|model.gguf [options]";
  help.inputs = {".json", ".gguf"};
  using namespace frit::options;
  addOptions(help, kOptions, std::array<unsigned, 1>{OPT_all_Group});
  help.examples = {
      {"echo 'A first line' | frit-tokenize model.gguf",
       "prints the line's tokens"},
      {"echo 'A first line' | frit-tokenize model | frit-tokenize model "
       "--decode",
       "prints the line again"}};
  help.statuses = {{0, "done"},
                   {1, "the tokenizer or a line is at fault"},
                   {2, "wrong usage"},
                   {4, "out of memory, or the output cannot be written"}};
  return help;
}

static constexpr Setting<Options, bool> kFlags[] = {
    {"--decode", &Options::decodes},
    {"--stream", &Options::streams},
    {"--json", &Options::isJson},
    {"--chat", &Options::isChat},
    {"--info", &Options::showsInfo}};

Parsed frit::tokenize::parseOptions(int count, char **arguments,
                                    Options &options) {
  std::vector<frit::options::GivenOption> given;
  Parsed parsed = parseArguments(
      count, arguments, helpTable(),
      [&](const Argument &argument) {
        if (bool *flag = findSetting(kFlags, argument, options))
          return *flag = true;
        if (argument.name == "--no-special") {
          options.hasSpecials = false;
          return true;
        }
        if (!argument.name.empty())
          return unhandledOption(argument);
        if (!options.tokenizer.empty() || argument.text.empty())
          return wrongArgument("unexpected argument", argument.text);
        options.tokenizer = argument.value;
        return true;
      },
      &given);
  if (parsed != Parsed::run)
    return parsed;
  if (options.tokenizer.empty()) {
    complain("a tokenizer is missing: a folder, a tokenizer.json or a GGUF "
             "file; see frit-tokenize --help");
    return Parsed::wrong;
  }
  const frit::options::OptionUse uses[] = {
      {frit::options::Lines, !options.showsInfo, "with --info"},
      {frit::options::Streams, options.decodes && !options.showsInfo,
       options.showsInfo ? "with --info" : "without --decode"},
      {frit::options::Texts, !options.showsInfo && !options.isChat,
       options.showsInfo ? "with --info" : "with --chat"}};
  if (!checkUses(given, uses))
    return Parsed::wrong;
  if (options.isChat && options.decodes) {
    complain("--chat and --decode are not used together");
    return Parsed::wrong;
  }
  return Parsed::run;
}
