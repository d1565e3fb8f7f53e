//===- Options.td - frit-reduce's command line ----------------------------===//

include "compiler/support/OptionClasses.td"

def all_Group : Section<"Options">;

def o : JoinedOrSeparate<["-"], "o">, Group<all_Group>, MetaVarName<"file">,
        HelpText<"Write the smallest model to <file> (default: reduced.onnx)">;
def output_EQ : Joined<["--"], "output=">, Alias<o>, Flags<[HelpHidden]>;
def output : Separate<["--"], "output">, Alias<o>, Flags<[HelpHidden]>;
defm test : Value<two, "test", all_Group, "program",
  "Program that gets the model's file as its last argument, and exits with 0 "
  "if the model still fails">;
defm test_arg : Value<two, "test-arg", all_Group, "argument",
  "An argument for the test, before the model">;
defm timeout : Value<two, "timeout", all_Group, "seconds",
  "A run of the test that takes longer counts as not failing (default: no "
  "limit)">;
def v : Flag<["-"], "v">, Group<all_Group>,
        HelpText<"Print each step, and the output of the test">;
defm "" : HelpOptions<two, all_Group>;
