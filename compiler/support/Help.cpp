//===- Help.cpp - --help, the manual page and completion of a tool --------===//

#include "compiler/support/Help.h"

#include <algorithm>
#include <numeric>

using namespace frit;

static constexpr size_t kWidth = 80;
/// Column in which options' texts begin.
static constexpr size_t kColumn = 28;

std::optional<HelpForm> frit::parseHelpForm(std::string_view name) {
  static constexpr std::pair<std::string_view, HelpForm> forms[] = {
      {"text", HelpForm::text},
      {"man", HelpForm::man},
      {"markdown", HelpForm::markdown},
      {"bash", HelpForm::bash},
      {"zsh", HelpForm::zsh}};
  for (auto [known, form] : forms)
    if (known == name)
      return form;
  return std::nullopt;
}

std::string frit::listOf(const std::vector<std::string> &items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i == 0 ? "" : i + 1 == items.size() ? " or " : ", ") + items[i];
  return text;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

static std::string spelling(const HelpOption &option) {
  return option.metavar.empty() ? option.name
                                : option.name + "<" + option.metavar + ">";
}

/// Returns the text of one of the table's options, with its values. A long list
/// of values that an earlier option has is not repeated.
static std::string describe(const HelpOption &option, const HelpTable &table) {
  if (option.values.empty())
    return option.text;
  for (const HelpOption &earlier : table.options) {
    if (&earlier == &option)
      break;
    if (option.values.size() > 4 && option.values == earlier.values)
      return option.text + "; values as for " + earlier.name;
  }
  return option.text + ": " + listOf(option.values);
}

/// Appends `words` to `out`, whose last line has `used` columns. Further lines
/// are indented by `indent`.
static void wrap(std::string &out, std::string_view words, size_t indent,
                 size_t used) {
  bool isFirst = true;
  while (!words.empty()) {
    size_t end = std::min(words.find(' '), words.size());
    if (!isFirst && used + 1 + end > kWidth) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      isFirst = true;
    }
    out += (isFirst ? "" : " ") + std::string(words.substr(0, end));
    used += end + !isFirst;
    isFirst = false;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  out += "\n";
}

static std::string printText(const HelpTable &table) {
  std::string out = "usage: " + table.tool + " " + table.synopsis + "\n\n";
  wrap(out, table.tool + " " + table.purpose + ".", 0, 0);
  std::string section;
  for (const HelpOption &option : table.options) {
    if (option.section != section)
      out += "\n" + option.section + "\n";
    section = option.section;
    std::string name = "  " + spelling(option);
    out += name;
    size_t gap = name.size() + 2 > kColumn ? 0 : kColumn - name.size();
    out += gap ? std::string(gap, ' ') : "\n" + std::string(kColumn, ' ');
    wrap(out, describe(option, table), kColumn, kColumn);
  }
  if (!table.examples.empty())
    out += "\nExamples\n";
  for (const auto &[command, what] : table.examples)
    out += "  " + command + "\n      " + what + "\n";
  std::string statuses = "Exit status: ";
  for (size_t i = 0; i < table.statuses.size(); ++i)
    statuses += (i ? ", " : "") + std::to_string(table.statuses[i].first) +
                " " + table.statuses[i].second;
  out += "\n";
  wrap(out, statuses + ".", 0, 0);
  return out;
}

/// Escapes a text for a manual page, so that nothing in it is a roff command.
static std::string roff(std::string_view text) {
  std::string out;
  if (text.starts_with(".") || text.starts_with("'"))
    out += "\\&";
  for (char c : text)
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  return out;
}

static std::string printMan(const HelpTable &table) {
  std::string upper = table.tool;
  for (char &c : upper)
    c = char(toupper(c));
  std::string out = ".TH " + roff(upper) + " 1 \"\" \"frit " + table.version +
                    "\" \"User Commands\"\n.SH NAME\n" + roff(table.tool) +
                    " \\- " + roff(table.purpose) + "\n.SH SYNOPSIS\n.B " +
                    roff(table.tool) + "\n" + roff(table.synopsis) +
                    "\n.SH OPTIONS\n";
  std::string section;
  for (const HelpOption &option : table.options) {
    if (option.section != section)
      out += ".SS \"" + roff(option.section) + "\"\n";
    section = option.section;
    out += ".TP\n\\fB" + roff(option.name) + "\\fR";
    if (!option.metavar.empty())
      out += "\\fI" + roff(option.metavar) + "\\fR";
    out += "\n" + roff(describe(option, table)) + ".\n";
  }
  if (!table.examples.empty())
    out += ".SH EXAMPLES\n";
  for (const auto &[command, what] : table.examples)
    out += ".TP\n\\fB" + roff(command) + "\\fR\n" + roff(what) + "\n";
  out += ".SH EXIT STATUS\n";
  for (const auto &[status, why] : table.statuses)
    out += ".TP\n.B " + std::to_string(status) + "\n" + roff(why) + "\n";
  return out;
}

/// Escapes a text for Markdown, so that nothing in it is markup.
static std::string markdown(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c == '<' || c == '&') // Python-Markdown takes no backslash before them
      out += c == '<' ? "&lt;" : "&amp;";
    else if (std::string_view("\\`*_[]|").find(c) != std::string_view::npos)
      out += {'\\', c};
    else
      out += c;
  return out;
}

static std::string printMarkdown(const HelpTable &table) {
  std::string out = "# " + table.tool + "\n\n" + markdown(table.tool) + " " +
                    markdown(table.purpose) + ".\n\n```\n" + table.tool + " " +
                    table.synopsis + "\n```\n";
  std::string section;
  for (const HelpOption &option : table.options) {
    if (option.section != section)
      out += "\n## " + option.section + "\n\n| option | |\n|---|---|\n";
    section = option.section;
    out += "| `" + spelling(option) + "` | " +
           markdown(describe(option, table)) + " |\n";
  }
  if (!table.examples.empty())
    out += "\n## Examples\n\n| command | |\n|---|---|\n";
  for (const auto &[command, what] : table.examples)
    out += "| `" + command + "` | " + markdown(what) + " |\n";
  out += "\n## Exit status\n\n| status | |\n|---|---|\n";
  for (const auto &[status, why] : table.statuses)
    out += "| " + std::to_string(status) + " | " + markdown(why) + " |\n";
  return out;
}

//===----------------------------------------------------------------------===//
// For shells
//===----------------------------------------------------------------------===//

static std::string join(const std::vector<std::string> &items,
                        std::string_view between) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i)
    text += (i ? std::string(between) : "") + items[i];
  return text;
}

/// Merges options that are described in several rows; to a shell they are one.
static std::vector<HelpOption> withoutRepeats(const HelpTable &table) {
  std::vector<HelpOption> options;
  for (const HelpOption &option : table.options) {
    auto isSame = [&](const HelpOption &o) { return o.name == option.name; };
    if (std::none_of(options.begin(), options.end(), isSame))
      options.push_back(option);
  }
  return options;
}

/// Returns the name without the blank after it.
static std::string flagOf(const HelpOption &option) {
  std::string flag = option.name;
  while (flag.ends_with(" "))
    flag.pop_back();
  return flag;
}

/// Names of shell functions have no "-".
static std::string functionOf(const HelpTable &table) {
  std::string name = "_" + table.tool;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

static std::string printBash(const HelpTable &table) {
  std::string flags, cases;
  for (const HelpOption &option : withoutRepeats(table)) {
    std::string flag = flagOf(option);
    // Values that are joined without a "=" are words of their own.
    bool isList = !option.values.empty() && !flag.ends_with("=");
    if (isList && !option.name.ends_with(" "))
      for (const std::string &value : option.values)
        flags += " " + flag + value;
    else
      flags += " " + flag;
    if (option.values.empty())
      continue;
    std::string pattern = flag.ends_with("=") ? flag + "*" : "";
    if (!pattern.empty())
      cases +=
          "  " + pattern + ") values='" + join(option.values, " ") + "' ;;\n";
  }
  std::string files;
  for (const std::string &ending : table.inputs)
    files +=
        "    COMPREPLY+=($(compgen -f -X '!*" + ending + "' -- \"$word\"))\n";
  return "# bash completion of " + table.tool + "\n" + functionOf(table) +
         "() {\n"
         "  local word=${COMP_LINE:0:COMP_POINT} values= head=\n"
         "  word=${word##*[[:space:]]}\n"
         "  COMPREPLY=()\n"
         "  case $word in\n" +
         cases +
         "  *=*) COMPREPLY=($(compgen -f -- \"${word#*=}\")); return ;;\n"
         "  -*) COMPREPLY=($(compgen -W '" +
         flags.substr(1) +
         "' -- \"$word\"))\n"
         "    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
         "    return ;;\n"
         "  *) compopt -o filenames 2>/dev/null\n"
         "    COMPREPLY=($(compgen -d -- \"$word\"))\n" +
         files +
         "    return ;;\n"
         "  esac\n"
         "  word=${word#*=}\n"
         "  # A list: what stands before the last comma stays.\n"
         "  [[ $word == *,* ]] && head=${word%,*},\n"
         "  COMPREPLY=($(compgen -P \"$head\" -W \"$values\" -- "
         "\"${word##*,}\"))\n"
         "}\n"
         "complete -F " +
         functionOf(table) + " " + table.tool + "\n";
}

/// Escapes a text inside a specification of _arguments, which is in single
/// quotes.
static std::string zshText(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += '\\';
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out;
}

static std::string printZsh(const HelpTable &table) {
  std::string out = "#compdef " + table.tool + "\n_arguments \\\n";
  for (const HelpOption &option : withoutRepeats(table)) {
    std::string flag = flagOf(option);
    // Says how the value follows: in the same word, or in either.
    std::string name = option.metavar.empty()       ? flag
                       : flag.ends_with("=")        ? flag + "-"
                       : option.name.ends_with(" ") ? flag + "+"
                                                    : flag + "-";
    out += "  '*" + zshText(name) + "[" + zshText(option.text) + "]";
    if (!option.metavar.empty())
      out += ":" + zshText(option.metavar) + ":" +
             (option.values.empty() ? "_files"
                                    : "(" + join(option.values, " ") + ")");
    out += "' \\\n";
  }
  return out + "  '*:file:_files -g \"*(" + join(table.inputs, "|") + ")\"'\n";
}

std::string frit::printHelp(const HelpTable &table, HelpForm form) {
  switch (form) {
  case HelpForm::text:
    return printText(table);
  case HelpForm::man:
    return printMan(table);
  case HelpForm::markdown:
    return printMarkdown(table);
  case HelpForm::bash:
    return printBash(table);
  case HelpForm::zsh:
    return printZsh(table);
  }
  return "";
}

//===----------------------------------------------------------------------===//
// Suggestions
//===----------------------------------------------------------------------===//

/// Returns the Levenshtein distance of two words.
static size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

std::string frit::nearestTo(std::string_view text,
                            const std::vector<std::string> &known) {
  // Up to a third of the characters may be wrong; beyond that, any word is as
  // near. Flags of one letter, alone or with a value, resemble each other.
  bool isShort = text.starts_with('-') && text.size() <= 3;
  size_t least = isShort ? 1 : std::max<size_t>(1, text.size() / 3) + 1;
  std::string nearest;
  for (const std::string &word : known) {
    size_t wrong = distance(text, word);
    if (wrong < least && wrong < word.size()) {
      least = wrong;
      nearest = word;
    }
  }
  return nearest;
}
