//===- Options.td - frit-opt's command line ------------------------------===//

include "compiler/support/OptionClasses.td"

// MLIR parses the command line. These are the options that it has for every tool
// and that frit-opt's pages describe; passes are listed by their registry.

def files_Group : Section<"Files">;
def printing_Group : Section<"Printing">;
def other_Group : Section<"Other">;

def o : JoinedOrSeparate<["-"], "o">, Group<files_Group>, MetaVarName<"file">,
        HelpText<"Write the result to <file> (default: -)">;
def split_input_file : Flag<two, "split-input-file">, Group<files_Group>,
  HelpText<"Run on each part of the input, divided by lines of // -----">;
def verify_diagnostics : Flag<two, "verify-diagnostics">, Group<files_Group>,
  HelpText<
  "Check that messages are those which the input's comments expect">;
def print_ir_after_all : Flag<two, "mlir-print-ir-after-all">,
  Group<printing_Group>, HelpText<"Print the module after each pass">;
def print_debuginfo : Flag<two, "mlir-print-debuginfo">, Group<printing_Group>,
  HelpText<
  "Print the locations, which have the names of the model's nodes">;
def pass_pipeline_EQ : Joined<two, "pass-pipeline=">, Group<other_Group>,
  MetaVarName<"text">,
  HelpText<"Run the passes of <text>, as builtin.module(layout,fusion)">;
def help : Flag<two, "help">, Group<other_Group>,
  HelpText<"Show all options, with those of passes and of MLIR">;
def help_EQ : Joined<two, "help=">, Group<other_Group>, MetaVarName<"form">,
  Values<"text,man,markdown,bash,zsh">,
  HelpText<"Show it as a manual page, or as a shell's completion">;
def version : Flag<two, "version">, Group<other_Group>,
  HelpText<"Show the version">;
