//===- Options.td - frit-train's command line ----------------------------===//

include "tools/support/RunOptions.td"

def Training : Use;
def Traced : Use;
def Evaluations : Use;
def Kept : Use;
def Loaded : Use;
def Ranked : Use;

def data_Group : Section<"Data">;
def training_Group : Section<"Training">;
def results_Group : Section<"Results">;
def printing_Group : Section<"What it prints">;
def running_Group : Section<"Where it runs">;
def other_Group : Section<"Other">;

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

defm data : Value<dashes, "data", data_Group, "source",
  "Tensors called as the step's inputs, with the samples along their first "
  "dimension: a .safetensors or .npz file, a folder of .npy files, or "
  "name=file.npy; may be given several times. Or a folder with a folder of .jpg"
  " and .png images for each class">, For<Training>;
defm tokens : Value<dashes, "tokens", data_Group, "file[,type=u16][,skip=bytes][,end=token]",
  "A raw file of tokens instead; labels are the tokens that follow. With end=, "
  "rows have whole documents that end with this token, of any length, packed">, For<Training>;
defm eval : Value<dashes, "eval", data_Group, "source",
  "Data to evaluate on, as --data">;
defm eval_tokens : Value<dashes, "eval-tokens", data_Group, "file[,type=u16][,skip=bytes][,end=token]",
  "Tokens to evaluate on">;
defm seed : Value<dashes, "seed", data_Group, "n",
  "Seed of the order of samples and of the model's dropout (default: 0, or the "
  "checkpoint's)">, For<Training>;
def no_shuffle : Flag<dashes, "no-shuffle">, Group<data_Group>, HelpText<
  "Take the samples in the order of the data">, For<Training>;
defm workers : Value<dashes, "workers", data_Group, "n",
  "Threads that assemble batches ahead of their use (default: 2)">;
defm ignore_index : Value<dashes, "ignore-index", data_Group, "n",
  "Label that stands for none, as in the loss (default: -100)">;

//===----------------------------------------------------------------------===//
// Training
//===----------------------------------------------------------------------===//

defm load : Value<dashes, "load", training_Group, "file.safetensors",
  "Begin with these weights: of an export, a checkpoint or another program, "
  "found by their names">;
def partial : Flag<dashes, "partial">, Group<training_Group>, HelpText<
  "Take the weights that the file has, and ignore its others">, For<Loaded>;
def evaluate : Flag<dashes, "evaluate">, Group<training_Group>, HelpText<
  "Evaluate the weights on --eval, and do not train">;
defm epochs : Value<dashes, "epochs", training_Group, "n",
  "Passes over the data (default: 1)">, For<Training>;
defm steps : Value<dashes, "steps", training_Group, "n",
  "Number of steps, instead of epochs">, For<Training>;
defm batch : Value<dashes, "batch", training_Group, "n",
  "Samples of a step of all ranks, of those that it was compiled for, or auto: "
  "the most that fit into the GPU's memory (default: the most)">;
defm lr : Value<dashes, "lr", training_Group, "schedule",
  "Learning rate: constant:r, linear:r, cosine:r, polynomial:r[,power=1], "
  "step:r,every=n[,gamma=0.1] or onecycle:r[,div=25,final_div=1e4], each with "
  ",warmup=n (30% of onecycle), all but constant and onecycle with ,min=r; n "
  "counts steps, or is 5ep (epochs) or 10% (of all steps) (default: the "
  "compiled rate)">, For<Training>;
def allow_nan : Flag<dashes, "allow-nan">, Group<training_Group>, HelpText<
  "Go on when the loss is not finite">, For<Training>;
def trace_overflow : Flag<dashes, "trace-overflow">, Group<training_Group>, HelpText<
  "When gradients overflow, too, name the first tensor that is not finite: the "
  "step runs again, kernel by kernel, from a copy of the state, which is made "
  "before each step">, For<Training>;
defm trace_limit : Value<dashes, "trace-limit", training_Group, "s",
  "When the loss is not finite, train again from the newest checkpoint or the "
  "start, if that took less than <s> seconds, to name the first tensor that is "
  "not (default: 300; 0: never)">, For<Traced>;
defm eval_every : Value<dashes, "eval-every", training_Group, "n",
  "Steps between evaluations (default: an epoch)">, For<Evaluations>;
defm best : Value<dashes, "best", training_Group, "metric[:min|max]",
  "Metric of the evaluations, such as eval_accuracy, whose best value "
  "best.safetensors keeps beside the checkpoints, and --export writes">, For<Evaluations>;
defm patience : Value<dashes, "patience", training_Group, "n",
  "End after <n> evaluations without a better --best, or eval_loss">, For<Evaluations>;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

defm checkpoint : Value<dashes, "checkpoint", results_Group, "folder",
  "Write all state to step-<n>.safetensors files in <folder>">, For<Training>;
defm checkpoint_every : Value<dashes, "checkpoint-every", results_Group, "n",
  "Steps between checkpoints (default: an epoch)">, For<Kept>;
defm keep : Value<dashes, "keep", results_Group, "n",
  "Newest checkpoints to keep (default: 3)">, For<Kept>;
def resume : Flag<dashes, "resume">, Group<results_Group>, HelpText<
  "Go on from the newest whole checkpoint, if there is one">, For<Kept>;
defm export : Value<dashes, "export", results_Group, "file",
  "Write the trained weights at the end, to .safetensors, or to .onnx with "
  "--from">, For<Training>;
defm from : Value<dashes, "from", results_Group, "model.onnx",
  "The model whose weights --export=file.onnx replaces">, For<Training>;

//===----------------------------------------------------------------------===//
// What it prints
//===----------------------------------------------------------------------===//

defm log : Value<dashes, "log", printing_Group, "file.jsonl",
  "Append a line of JSON per report">;
defm tensorboard : Value<dashes, "tensorboard", printing_Group, "folder",
  "Write the same numbers to an event file of TensorBoard, a new one for each "
  "run">, For<Training>;
defm log_every : Value<dashes, "log-every", printing_Group, "n",
  "Steps between reports (default: a hundredth of all, 100 at most)">, For<Training>;
def json : Flag<dashes, "json">, Group<printing_Group>, HelpText<
  "Print the summary as JSON, and nothing else">;
def v : Flag<["-"], "v">, Group<printing_Group>, HelpText<
  "Print more details">;

//===----------------------------------------------------------------------===//
// Where it runs
//===----------------------------------------------------------------------===//

defm devices : Value<dashes, "devices", running_Group, "list",
  "Train on several GPUs of this host, 0-3 or 0,2: a step compiled with "
  "-fdata-parallel gets a part of each batch on every one; with --device=cpu, "
  "as many processes">, For<Training>;
defm join_timeout : Value<dashes, "join-timeout", running_Group, "s",
  "Seconds to wait for the other ranks (default: 60)">, For<Ranked>;
defm "" : RunOptions<running_Group>;

//===----------------------------------------------------------------------===//
// Other
//===----------------------------------------------------------------------===//

defm "" : HelpOptions<dashes, other_Group>;
