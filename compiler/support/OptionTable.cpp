//===- OptionTable.cpp - A tool's options, from its Options.td ------------===//

#include "compiler/support/OptionTable.h"

using namespace frit;
using namespace frit::options;

/// Splits "cuda,cudnn"; empty if there is no list.
static std::vector<std::string> split(const char *list) {
  std::vector<std::string> values;
  std::string_view rest = list ? list : "";
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    values.emplace_back(rest.substr(0, comma));
    rest = comma == rest.npos ? std::string_view() : rest.substr(comma + 1);
  }
  return values;
}

void frit::options::addOptions(HelpTable &help, std::span<const OptionRow> rows,
                               std::span<const unsigned> sections) {
  for (unsigned section : sections)
    for (const OptionRow &row : rows) {
      if (row.section != section || row.kind == OptionKind::Group ||
          row.isHidden || !row.help)
        continue;
      bool takesBlank = row.kind == OptionKind::JoinedOrSeparate;
      help.options.push_back({rows[section - 1].help,
                              std::string(row.name) + (takesBlank ? " " : ""),
                              row.metavar ? row.metavar : "", row.help,
                              split(row.values),
                              row.use == DefaultVis ? 0 : row.use});
    }
}

std::string frit::options::findUnused(std::span<const GivenOption> given,
                                      std::span<const OptionUse> uses) {
  for (const GivenOption &option : given)
    for (const OptionUse &use : uses)
      if (option.use == use.use && !use.isOn)
        return option.name + " has no effect " + use.without;
  return "";
}
