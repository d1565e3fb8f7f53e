//===- Options.td - frit-doctor's command line ---------------------------===//

include "compiler/support/OptionClasses.td"

def all_Group : Section<"Options">;

defm need : Value<dashes, "need", all_Group, "part,...",
  "Fail unless these work (cuda: a GPU that runs kernels)",
  "driver,cuda,nvrtc,cublas,cudnn,nccl">;
def json : Flag<dashes, "json">, Group<all_Group>,
  HelpText<"Print the report as JSON">;
defm "" : HelpOptions<dashes, all_Group>;
