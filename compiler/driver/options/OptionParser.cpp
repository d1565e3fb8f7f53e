//===- OptionParser.cpp - Command lines from tables -----------------------===//

#include "compiler/driver/options/OptionParser.h"

#include "compiler/support/InputFile.h"
#include "compiler/support/OutputFile.h"

#include "frit/printable.h"

#include "llvm/Option/Option.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "llvm/Support/WithColor.h"

using namespace frit;
using namespace llvm::opt;
using llvm::StringRef;
using llvm::Twine;
namespace cl = llvm::cl;

void frit::setUpColors() {
  llvm::WithColor::setAutoDetectFunction([](const llvm::raw_ostream &out) {
    const char *refused = getenv("NO_COLOR");
    return !(refused && *refused) && out.has_colors();
  });
}

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

namespace {
/// Records the response files that are read.
class ResponseFiles final : public llvm::vfs::ProxyFileSystem {
public:
  ResponseFiles() : ProxyFileSystem(llvm::vfs::getRealFileSystem()) {}
  llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>>
  openFileForRead(const Twine &path) override {
    if (std::error_code error = checkInput(path.str()))
      return error;
    protectInput(path.str());
    return ProxyFileSystem::openFileForRead(path);
  }
};
} // namespace

std::optional<InputArgList> OptionParser::parse(int argc, char **argv) {
  llvm::SmallVector<const char *> arguments(argv + 1, argv + argc);
  ResponseFiles files;
  cl::ExpansionContext expansion(memory, cl::TokenizeGNUCommandLine);
  expansion.setVFS(&files);
  if (llvm::Error error = expansion.expandResponseFiles(arguments)) {
    wrong(llvm::toString(std::move(error)));
    return std::nullopt;
  }
  // The returned list refers to these.
  auto kept = llvm::ArrayRef<const char *>(arguments).copy(memory);
  unsigned missingIndex, missingCount;
  InputArgList args = ParseArgs(kept, missingIndex, missingCount);
  if (missingCount) {
    wrong("a value is missing behind '" +
          Twine(args.getArgString(missingIndex)) + "'");
    return std::nullopt;
  }
  for (const Arg *arg : args.filtered(unknown)) {
    std::string nearest = nearestOption(arg->getSpelling());
    wrong("unknown option '" + arg->getSpelling() + "'" +
          (nearest.empty() ? "; see " + tool + " --help"
                           : "; did you mean '" + nearest + "'?"));
    return std::nullopt;
  }
  return args;
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void OptionParser::wrong(const Twine &message) const {
  llvm::WithColor::error(llvm::errs(), tool)
      << printable(message.str()) << "\n";
}

void OptionParser::wrongValue(unsigned option, StringRef value) const {
  std::vector<std::string> values = valuesOf(option);
  std::string nearest = nearestTo(value, values);
  wrong(getOption(option).getPrefixedName().rtrim('=') + " takes " +
        listOf(values) + ", not '" + value + "'" +
        (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

std::vector<std::string>
OptionParser::findUnused(const InputArgList &args,
                         llvm::ArrayRef<frit::options::OptionUse> uses) const {
  std::vector<std::string> messages;
  for (const Arg *arg : args)
    for (const frit::options::OptionUse &use : uses)
      if (arg->getOption().hasVisibilityFlag(use.use)) {
        options::GivenOption given{arg->getSpelling().rtrim('=').str(),
                                   use.use};
        std::string message = options::findUnused({&given, 1}, {&use, 1});
        if (!message.empty() && !llvm::is_contained(messages, message))
          messages.push_back(message);
      }
  return messages;
}

std::string OptionParser::nearestOption(StringRef argument) const {
  std::vector<std::string> names;
  for (unsigned id = 1; id <= getNumOptions(); ++id)
    if (isShown(id)) {
      llvm::SmallVector<StringRef> prefixes;
      appendOptionPrefixes(id, prefixes);
      for (StringRef prefix : prefixes)
        names.push_back((prefix + getOptionName(id)).str());
    }
  // A value may be anything.
  StringRef name = argument.take_front(argument.find('=') + 1);
  return nearestTo(name.empty() ? argument : name, names);
}

//===----------------------------------------------------------------------===//
// Help
//===----------------------------------------------------------------------===//

std::optional<HelpForm> OptionParser::helpForm(const Arg &arg) const {
  if (!arg.getNumValues())
    return HelpForm::text;
  std::optional<HelpForm> form = parseHelpForm(arg.getValue());
  if (!form)
    wrong("unknown form of help '" + Twine(arg.getValue()) +
          "': it is text, man, markdown, bash or zsh");
  return form;
}

std::vector<std::string> OptionParser::valuesOf(unsigned option) const {
  return suggestValueCompletions(getOptionPrefixedName(option), "");
}

bool OptionParser::isShown(unsigned id) const {
  Option option = getOption(id);
  return option.getKind() != Option::GroupClass &&
         !option.hasFlag(HelpHidden) && getOptionHelpText(id);
}

void OptionParser::addOptions(HelpTable &help,
                              llvm::ArrayRef<unsigned> sections) const {
  for (unsigned section : sections)
    for (unsigned id = 1; id <= getNumOptions(); ++id) {
      if (getOptionGroupID(id) != section || !isShown(id))
        continue;
      HelpOption row;
      row.section = getOptionHelpText(section);
      row.name = getOptionPrefixedName(id).str();
      if (getOptionKind(id) == Option::JoinedOrSeparateClass)
        row.name += " ";
      if (const char *metavar = getOptionMetaVar(id))
        row.metavar = metavar;
      row.text = getOptionHelpText(id);
      row.values = valuesOf(id);
      help.options.push_back(std::move(row));
    }
}
