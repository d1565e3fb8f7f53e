//===- Options.td - frit-run's command line ------------------------------===//

include "tools/support/RunOptions.td"

def Calls : Use;
def Compared : Use;
def Tolerance : Use;
def Language : Use;
def Foreseen : Use;
def Continued : Use;
def Chosen : Use;
def Guessed : Use;
def Timed : Use;
def TimedLong : Use;
def Drawn : Use;
def Shadowed : Use;
def RunOnce : Use;
def Function : Use;

def io_Group : Section<"Inputs and outputs">;
def checking_Group : Section<"Checking">;
def language_Group : Section<"Language models">;
def timing_Group : Section<"Timing">;
def running_Group : Section<"What runs, and where">;
def other_Group : Section<"Other">;

//===----------------------------------------------------------------------===//
// Inputs and outputs
//===----------------------------------------------------------------------===//

defm input : Value<dashes, "input", io_Group, "[name=]source",
  "Read an input from a file, @image.npy, .npz, .safetensors or .pb; an archive "
  "gives every input whose name it contains. Or generate one, as "
  "1x3x224x224xf32=random:7, seed 7, or random:7:0..9: floats are normally "
  "distributed, integers 0 or 1, or else in [0, 9). After name= the type may be "
  "left out, for the model's, and one value stands for all elements, a number "
  "or, for strings, a text. Inputs that are not given are generated">, For<Calls>;
defm shape : Value<dashes, "shape", io_Group, "symbol=size,...",
  "Sizes of the model's dynamic dimensions, as batch=3, for generated inputs "
  "(default: the largest); inputs from files have their own">, For<Calls>;
defm output : Value<dashes, "output", io_Group, "@file",
  "Write the outputs to .npz, or a single one to .npy">;

//===----------------------------------------------------------------------===//
// Checking
//===----------------------------------------------------------------------===//

defm compare : Value<dashes, "compare", checking_Group, "file",
  "Compare the outputs with those in <file>">;
defm rtol : Value<dashes, "rtol", checking_Group, "x",
  "|got - expected| <= atol + rtol |expected| for each element (default: 1e-4)">, For<Tolerance>;
defm atol : Value<dashes, "atol", checking_Group, "x",
  "See --rtol (default: 1e-5)">, For<Tolerance>;
defm l2 : Value<dashes, "l2", checking_Group, "x",
  "Instead: |got - expected| <= x |expected|, as vectors">, For<Compared>;

//===----------------------------------------------------------------------===//
// Language models
//===----------------------------------------------------------------------===//

defm prompt : Value<dashes, "prompt", language_Group, "text",
  "Continue a text; @<file> reads it from a file">;
def chat : Flag<dashes, "chat">, Group<language_Group>, HelpText<
  "Reply to the prompt, or to each line of the standard input, by the "
  "tokenizer's template">;
defm tokenizer : Value<dashes, "tokenizer", language_Group, "path",
  "Folder with tokenizer.json, such a file, or a .gguf file">, For<Language>;
defm tokens : Value<dashes, "tokens", language_Group, "id,...",
  "The prompt as tokens; without a tokenizer those that follow are printed as "
  "such">;
def perplexity : Flag<dashes, "perplexity">, Group<language_Group>, HelpText<
  "Print how well the model foresees the prompt, in windows of as many tokens "
  "as its caches hold, and make none">, For<Foreseen>;
defm max_tokens : Value<dashes, "max-tokens", language_Group, "n",
  "Most tokens to make (default: 256)">, For<Continued>;
defm temperature : Value<dashes, "temperature", language_Group, "x",
  "Divides the logits; 0 takes the most likely token (default: as the "
  "tokenizer's genai_config.json says, or 0)">, For<Continued>;
defm top_k : Value<dashes, "top-k", language_Group, "n",
  "Choose among the n most likely tokens">, For<Chosen>;
defm top_p : Value<dashes, "top-p", language_Group, "x",
  "Choose among the fewest tokens whose probabilities sum to x">, For<Chosen>;
defm min_p : Value<dashes, "min-p", language_Group, "x",
  "Choose among tokens of at least x times the highest probability">, For<Chosen>;
defm repetition_penalty : Value<dashes, "repetition-penalty", language_Group, "x",
  "Divide positive logits of tokens of the text by x, and multiply negative "
  "ones">, For<Continued>;
defm seed : Value<dashes, "seed", language_Group, "n",
  "Equal seeds choose equal tokens (default: 0)">, For<Chosen>;
defm speculate : Value<dashes, "speculate", language_Group, "lookup",
  "Guess what followed the last tokens before, and check several guesses at a "
  "time; the tokens stay the same. The model is compiled with fritc --verify">, For<Continued>;
defm draft : Value<dashes, "draft", language_Group, "small.so",
  "Let a smaller model with the same tokens guess instead">, For<Continued>;
defm guesses : Value<dashes, "guesses", language_Group, "n",
  "Guess that many tokens at a time (default: as many as fritc --verify allows)">, For<Guessed>;
defm source : Value<dashes, "source", language_Group, "text",
  "What a model with an encoder reads before the prompt: a text, tokens without"
  " a tokenizer, or @<file> with the log-mel spectrum of a sound">, For<Language>;
defm lora : Value<dashes, "lora", language_Group, "folder",
  "Use an adapter of low rank as PEFT saves it. The model is compiled with "
  "fritc --lora-rank">, For<Language>;

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

def bench : Flag<dashes, "bench">, Group<timing_Group>, HelpText<
  "Time calls after a warm-up, and print the median">;
defm warmup : Value<dashes, "warmup", timing_Group, "time",
  "Duration of the warm-up (default: 200ms)">, For<Timed>;
defm duration : Value<dashes, "duration", timing_Group, "time",
  "Duration of the timed calls (default: 3s)">, For<TimedLong>;
defm iterations : Value<dashes, "iterations", timing_Group, "n",
  "Number of timed calls, instead of a duration">, For<Timed>;
def no_transfers : Flag<dashes, "no-transfers">, Group<timing_Group>, HelpText<
  "Keep inputs and outputs on the device">, For<Timed>;
def profile : Flag<dashes, "profile">, Group<timing_Group>, HelpText<
  "Print the time of each step">;
def profile_EQ : Joined<dashes, "profile=">, Group<timing_Group>,
  MetaVarName<"file">, HelpText<
  "Also write a trace for Perfetto or Chrome, trace.json, or a page with "
  "pictures, page.html: timeline, rates beside the device's peaks">;
defm report : Value<dashes, "report", timing_Group, "model.html",
  "With --profile=page.html: the page of fritc --report that the times are "
  "added to">, For<Drawn>;
defm precision_report : Value<dashes, "precision-report", timing_Group, "shadow.so",
  "Compare what each step stores in 16 bits, and inputs and weights that it "
  "reads so, with the same model compiled in f32, worst first; both best with "
  "-O0">;
defm keep : Value<dashes, "keep", timing_Group, "file",
  "With --precision-report: write the names of the nodes whose numbers 16 bits "
  "do not hold, for fritc -fkeep-fp32=file">, For<Shadowed>;
def time_report : Flag<dashes, "time-report">, Group<timing_Group>, HelpText<
  "Print the time of each phase from the start to the results">, For<RunOnce>;

//===----------------------------------------------------------------------===//
// What runs, and where
//===----------------------------------------------------------------------===//

defm function : Value<dashes, "function", running_Group, "name",
  "Function of the model, such as eval_step (default: its first); --info lists "
  "them">, For<Function>;
defm "" : RunOptions<running_Group>;

//===----------------------------------------------------------------------===//
// Other
//===----------------------------------------------------------------------===//

def info : Flag<dashes, "info">, Group<other_Group>, HelpText<
  "Describe the model; --json does so for programs">;
def json : Flag<dashes, "json">, Group<other_Group>, HelpText<
  "Print results as JSON">;
def v : Flag<["-"], "v">, Group<other_Group>, HelpText<
  "Print more details">;
def verbose : Flag<dashes, "verbose">, Group<other_Group>, HelpText<
  "The same as -v">;
defm "" : HelpOptions<dashes, other_Group>;
