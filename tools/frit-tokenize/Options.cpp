//===- Options.cpp - Command line of frit-tokenize ------------------------===//

#include "tools/frit-tokenize/Options.h"
#include "frit/runtime.h"
#include "tools/support/Message.h"

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
  help.options = {
      {"Options", "--decode", "", "Read lines of ids and print their text"},
      {"Options", "--stream", "",
       "With --decode, decode token by token as for a user who waits"},
      {"Options", "--no-special", "",
       "Add no tokens at both ends; with --decode, hide no tokens"},
      {"Options", "--json", "",
       "Lines of text are JSON strings, which may have line breaks"},
      {"Options", "--chat", "",
       "Lines are JSON lists of messages, {\"role\", \"content\"}, written "
       "with "
       "the model's template"},
      {"Options", "--info", "",
       "Print the number of tokens, those that begin and end a text, and the "
       "template of conversations"},
      {"Options", "--help", "", "Show this help"},
      {"Options", "--version", "", "Show the version"}};
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
  Parsed parsed = parseArguments(
      count, arguments, helpTable(), [&](const Argument &argument) {
        if (bool *flag = findSetting(kFlags, argument, options))
          return *flag = true;
        if (argument.name == "--no-special") {
          options.hasSpecials = false;
          return true;
        }
        if (!options.tokenizer.empty() || argument.text.empty())
          return wrongArgument("unexpected argument", argument.text);
        options.tokenizer = argument.value;
        return true;
      });
  if (parsed != Parsed::run)
    return parsed;
  if (options.tokenizer.empty()) {
    complain("a tokenizer is missing: a folder, a tokenizer.json or a GGUF "
             "file; see frit-tokenize --help");
    return Parsed::wrong;
  }
  if (options.isChat && options.decodes) {
    complain("--chat and --decode are not used together");
    return Parsed::wrong;
  }
  if (options.streams && !options.decodes) {
    complain("--stream needs --decode");
    return Parsed::wrong;
  }
  return Parsed::run;
}
