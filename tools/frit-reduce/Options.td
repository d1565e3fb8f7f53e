//===- Options.td - frit-reduce's command line ----------------------------===//

include "llvm/Option/OptParser.td"

def all_Group : OptionGroup<"all"> { string HelpText = "Options"; }

/// Accepts both -name and --name; help shows the first.
defvar two = ["--", "-"];

multiclass Value<string name, string metavar, string help> {
  def _EQ : Joined<two, name#"=">, Group<all_Group>, MetaVarName<metavar>,
            HelpText<help>;
  def "" : Separate<two, name>, Alias<!cast<Option>(NAME#"_EQ")>,
           Flags<[HelpHidden]>, Group<all_Group>;
}

def o : JoinedOrSeparate<["-"], "o">, Group<all_Group>, MetaVarName<"file">,
        HelpText<"Write the smallest model to <file> (default: reduced.onnx)">;
def output_EQ : Joined<["--"], "output=">, Alias<o>, Flags<[HelpHidden]>;
def output : Separate<["--"], "output">, Alias<o>, Flags<[HelpHidden]>;
defm test : Value<"test", "program",
  "Program that gets the model's file as its last argument, and exits with 0 "
  "if the model still fails">;
defm test_arg : Value<"test-arg", "argument",
  "An argument for the test, before the model">;
defm timeout : Value<"timeout", "seconds",
  "A run of the test that takes longer counts as not failing (default: no "
  "limit)">;
def v : Flag<["-"], "v">, Group<all_Group>,
        HelpText<"Print each step, and the output of the test">;
def help : Flag<two, "help">, Group<all_Group>, HelpText<"Show this help">;
def h : Flag<["-"], "h">, Alias<help>, Flags<[HelpHidden]>;
def help_EQ : Joined<two, "help=">, Group<all_Group>, Flags<[HelpHidden]>,
  MetaVarName<"form">, Values<"text,man,markdown,bash,zsh">,
  HelpText<"Show it as a manual page, or as a shell's completion">;
def version : Flag<two, "version">, Group<all_Group>,
              HelpText<"Show the version">;
