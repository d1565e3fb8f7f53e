//===- OptionClasses.td - What tables of options are made of -------------===//
//
// A tool's Options.td is the table that its command line is parsed by, and that
// --help, the manual page and the shells' completion are printed from. Groups
// are sections of the help; options are sorted by name.
//
//===----------------------------------------------------------------------===//

include "llvm/Option/OptParser.td"

class Section<string title> : OptionGroup<title> { string HelpText = title; }

/// What options are for that have no effect otherwise: `def Timed : Use;` names
/// a bit in the tool's code, which says when it is so (OptionUse).
class Use : OptionVisibility;
class For<Use use> { list<OptionVisibility> Visibility = [use]; }

/// Both -name and --name are taken; the first is shown.
defvar one = ["-", "--"];
defvar two = ["--", "-"];
/// Only --name is taken.
defvar dashes = ["--"];
class Hidden<Option option> : Alias<option>, Flags<[HelpHidden]>;

/// -name=VALUE, also written as two arguments.
multiclass Value<list<string> prefixes, string name, OptionGroup group,
                 string metavar, string help, string values = ""> {
  def _EQ : Joined<prefixes, name#"=">, Group<group>, MetaVarName<metavar>,
            HelpText<help>, Values<values>;
  def "" : Separate<prefixes, name>, Alias<!cast<Option>(NAME#"_EQ")>,
           Flags<[HelpHidden]>, Group<group>;
}

/// What every tool says of itself.
multiclass HelpOptions<list<string> prefixes, OptionGroup group> {
  def help : Flag<prefixes, "help">, Group<group>, HelpText<"Show this help">;
  def h : Flag<["-"], "h">, Hidden<!cast<Option>(NAME#"help")>;
  def help_EQ : Joined<prefixes, "help=">, Group<group>, Flags<[HelpHidden]>,
    MetaVarName<"form">, Values<"text,man,markdown,bash,zsh">,
    HelpText<"Show it as a manual page, or as a shell's completion">;
  def version : Flag<prefixes, "version">, Group<group>,
                HelpText<"Show the version">;
}
