//===- Options.td - fritc's command line ----------------------------------===//
//
// Sections of the help come in the order of OptionTable.cpp.
//
//===----------------------------------------------------------------------===//

include "compiler/support/OptionClasses.td"

def output_Group : Section<"Output">;
def target_Group : Section<"Targets">;
def model_Group : Section<"Model">;
def code_Group : Section<"Code">;
def tuning_Group : Section<"Tuning">;
def warning_Group : Section<"Warnings and remarks">;
def other_Group : Section<"Other">;

def Targets : Use;
def Gpus : Use;
def Artifact : Use;
def HostCode : Use;
def OneFile : Use;

/// -fname and -fno-name; the last one counts.
multiclass Switch<string name, string on, string off> {
  def f#NAME : Flag<one, "f"#name>, Group<code_Group>, HelpText<on>;
  def fno_#NAME : Flag<one, "fno-"#name>, Group<code_Group>, HelpText<off>;
}

//===----------------------------------------------------------------------===//
// Output
//===----------------------------------------------------------------------===//

def o : JoinedOrSeparate<["-"], "o">, Group<output_Group>, MetaVarName<"file">,
        HelpText<"Write to <file>; - is standard output">;
def output_EQ : Joined<["--"], "output=">, Hidden<o>;
def output : Separate<["--"], "output">, Hidden<o>;
def c : Flag<["-"], "c">, Group<output_Group>,
        HelpText<"Write an object file to link into a program, and its header">;
def S : Flag<["-"], "S">, Group<output_Group>,
        HelpText<"Write the CUDA C++ that would be compiled">;
def shared : Flag<one, "shared">, Group<output_Group>,
             HelpText<"Write a shared library (default)">;
defm emit : Value<two, "emit", output_Group, "stage",
  "Write a stage: the model as JSON (json), the compiler's IR (nn, fused, "
  "plan), the plan for Graphviz (dot), or code (cuda, ptx, cubin, obj, shared)",
  "json,nn,fused,plan,dot,cuda,ptx,cubin,obj,shared">;
defm report : Value<two, "report", output_Group, "file.html",
  "Also write a page with pictures: what became one kernel and why, the arena, "
  "the kernels' schedules and source">;
defm header : Value<two, "header", output_Group, "file",
  "Where -c writes the C header (default: beside the object)">;
defm name : Value<two, "name", output_Group, "name",
  "The model's name in C: -c defines <name>_image (default: after the output)">, For<Artifact>;
def fexternal_weights : Flag<one, "fexternal-weights">, Group<output_Group>,
  HelpText<"Write the weights to a file beside the artifact, named after it">, For<Artifact>;
def fexternal_weights_EQ : Joined<one, "fexternal-weights=">,
  Group<output_Group>, MetaVarName<"file.safetensors">,
  HelpText<"Write the weights to this file">, For<Artifact>;
def save_temps : Flag<one, "save-temps">, Group<output_Group>,
                 HelpText<"Keep every stage beside the output">;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

defm march : Value<one, "march", target_Group, "arch,...",
  "Targets of the artifact; native is this machine's CPU and its GPU if it has "
  "one, whose own sizes then decide its schedules (default: x86-64-v3 and the "
  "GPU present, or sm_90a)",
  "sm_75,sm_80,sm_86,sm_87,sm_88,sm_89,sm_90,sm_90a,sm_100,sm_100f,sm_100a,sm_103,"
  "sm_103f,sm_103a,sm_110,sm_110f,sm_110a,sm_120,sm_120f,sm_120a,sm_121,sm_121f,"
  "sm_121a,x86-64,x86-64-v2,x86-64-v3,x86-64-v4,aarch64,neoverse-n1,neoverse-v1,"
  "neoverse-v2,native">, For<Targets>;

defm os : Value<two, "os", target_Group, "system",
  "Operating system that the artifact is for (default: linux)",
  "linux,windows">, For<HostCode>;

//===----------------------------------------------------------------------===//
// Model
//===----------------------------------------------------------------------===//

def x : JoinedOrSeparate<["-"], "x">, Group<model_Group>, MetaVarName<"format">,
        Values<"onnx,json">,
        HelpText<"The input's format (default: json for *.json, else onnx)">, For<OneFile>;
defm fprecision : Value<one, "fprecision", model_Group, "precision",
  "Precision of computation; amp-fp16 and amp-bf16 train in 16 bits with f32 "
  "weights, and amp-fp8 as amp-bf16 with products of weights in 8 bits",
  "fp32,tf32,fp16,bf16,amp-fp16,amp-bf16,amp-fp8">;
defm ffp8_gradients : Value<one, "ffp8-gradients", model_Group, "format",
  "With -fprecision=amp-fp8: what gradients are rounded to before they are "
  "multiplied by weights and, in e5m2, by inputs (default: e5m2)",
  "e5m2,e4m3,bf16">;
defm fweights : Value<one, "fweights", model_Group, "format",
  "Round the weights of products to int8, int4, fp8 (e4m3) or mxfp4; int4:64 "
  "has a scale for 64 weights. The last product has int8">;
defm fsparse : Value<one, "fsparse", model_Group, "pattern",
  "Weights of products of which two of four neighbours are 0: 2:4 if they are so, "
  "2:4:magnitude to keep the two largest. Training keeps the zeros">;
defm fquantize : Value<one, "fquantize", model_Group, "format",
  "Compute convolutions and products with weights in 8 bits, by scales of "
  "--calibrate or --scales: integers, or floats (e4m3), whose products of "
  "matrices also have scales found in each call","int8,fp8">;
defm calibrate : Value<two, "calibrate", model_Group, "data",
  "With -fquantize: run the model over inputs on this machine's processor for "
  "scales; a file of tensors as frit-run takes it, or a folder of such files. "
  "Tensors may hold many calls, along the first dimension. With -fweights: round "
  "weights by what their products read (GPTQ)">;
defm calibrator : Value<two, "calibrator", model_Group, "kind",
  "With --calibrate: the last code is for the largest number (default), for all "
  "but one in 10,000, or for what changes the distribution least","max,percentile,entropy">;
defm max_error : Value<two, "max-error", model_Group, "number",
  "With --calibrate: keep the products wide that lose most, until the results' "
  "relative error is at most <number>, as 1e-2">;
defm smooth : Value<two, "smooth", model_Group, "number",
  "With --calibrate: how much of the magnitude of columns moves from the results "
  "of norms into the weights of products that read them, 0 to 1 (default: 0.5)">;
defm scales : Value<two, "scales", model_Group, "file",
  "The table of -fquantize: written with --calibrate, with the error of each "
  "product, else read; it may be edited">;
defm fkeep_fp32 : Value<one, "fkeep-fp32", model_Group, "file",
  "Compute the nodes that <file> names, a name or pattern per line, in f32; "
  "\\ before *, ?, [ or # makes it literal">;
defm ftype : Value<one, "ftype", model_Group, "name:type",
  "Take an input or give an output in another type, image:u8 or logits:f16">;
defm fentry : Value<one, "fentry", model_Group, "name=model",
  "A function of the artifact and the model that it computes: one artifact with "
  "several functions over one set of weights. -fshape, -ftype, -fstate, -fbound, "
  "-felements and -fconst-input mean one function after name@">;
defm fstate : Value<one, "fstate", model_Group, "input:output",
  "Keep <input> on the device from call to call; <output> is its next value. "
  "Both leave the function's signature; programs read and write it as state">;
defm fshape : Value<one, "fshape", model_Group, "spec",
  "Fix an input's shape, input:1x3x224x224, or a symbolic dimension, batch=8; "
  "or compile for several of its sizes, batch=1..64, batch=1,8,64, "
  "batch=1..16,64 or, for multiples of 32, height=64..512/32; x.0=batch names the first dimension of input x, and "
  "dimensions of one name have one size; y.0=2*batch is twice as long">;
defm batch : Value<two, "batch", model_Group, "number",
  "Sequences that a language model is compiled for (default: 1)">;
defm context : Value<two, "context", model_Group, "number",
  "Tokens that the caches of a language model hold (default for a folder or a "
  "GGUF file: what the model is for, up to 4096). An ONNX model with caches "
  "becomes prefill and decode by it">;
defm source : Value<two, "source", model_Group, "number",
  "Tokens of a source that the caches of a language model with an encoder hold "
  "(default: what the model is for)">;
defm verify : Value<two, "verify", model_Group, "number",
  "Add the function verify to a language model, for speculative decoding: a call "
  "checks <number> tokens at once, one of them known and the others guessed">;
defm fcache : Value<one, "fcache", model_Group, "format",
  "Keep the keys and values of a language model in 8 bits, int8 or fp8 (e4m3), "
  "with a scale for each token and head","int8,fp8">;
defm lora_rank : Value<two, "lora-rank", model_Group, "number",
  "Let sessions of a language model load LoRA adapters of up to this rank">;
defm sampler : Value<two, "sampler", model_Group, "method:settings",
  "Make a model of diffusion its whole sampler, from noise to a sample: "
  "ddim:steps=20, flow:steps=28 or diffusers' scheduler_config.json:steps=20; "
  ",guidance=7.5 calls it with and without the condition">;
defm fbound : Value<one, "fbound", model_Group, "node:number",
  "Upper bound of a node's number of results where that depends on data, "
  "boxes/NonZero:4096; a call with more fails">;
defm felements : Value<one, "felements", model_Group, "input:number",
  "Number of tensors in the sequence <input>, which become the inputs "
  "<input>.0, <input>.1, ...; 0 also for an optional input without a value">;
defm fconst_input : Value<one, "fconst-input", model_Group, "name=@file",
  "Treat an input as the constant in a file, .npy or a TensorProto">;
defm custom_op : Value<two, "custom-op", model_Group, "file",
  "Compute an operator by a kernel of your own; <file> is JSON that names the "
  "operator, its tensors and the kernel. May be given several times">;
defm train : Value<two, "train", model_Group, "file",
  "Compile the functions train_step and eval_step; <file> is JSON with the "
  "loss and the optimizer">;
def fdata_parallel : Flag<one, "fdata-parallel">, Group<model_Group>,
        HelpText<"Train on several GPUs, each with a part of the batch: average "
                 "the gradients over them">;
def fsync_batch_norm : Flag<one, "fsync-batch-norm">, Group<model_Group>,
        HelpText<"With -fdata-parallel: batch norm's statistics are those of "
                 "the whole batch, not of each GPU's part">;
def fshard_optimizer : Flag<one, "fshard-optimizer">, Group<model_Group>,
        HelpText<"With -fdata-parallel: each GPU has a part of the optimizer's "
                 "state and updates that part of the weights (ZeRO-1)">;
def fcompress_gradients : Flag<one, "fcompress-gradients">, Group<model_Group>,
        HelpText<"With -fdata-parallel: average gradients as bf16, which halves "
                 "what GPUs exchange and rounds it to 8 significant bits">;
defm fmemory_limit : Value<one, "fmemory-limit", model_Group, "size",
  "Fit state, prepared weights and scratch memory into <size>, as 8GiB or 500M; "
  "a training step computes values again where that saves memory">, For<Targets>;
def fcheck_indices : Flag<one, "fcheck-indices">, Group<model_Group>,
        HelpText<"Make calls fail if an index that the model computes, or one in "
                 "device memory, is out of range; the error names the node. "
                 "Otherwise such indices are clamped">;
def check_indices : Flag<["--"], "check-indices">, Hidden<fcheck_indices>;
defm frandom_weights : Value<one, "frandom-weights", model_Group, "seed",
  "Draw random weights for missing files">;

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

def O : Joined<["-"], "O">, Group<code_Group>, MetaVarName<"level">,
        Values<"0,1,2,3">,
        HelpText<"Level of optimization (default: 2); 1 and 3 are as 2, and 0 "
                 "is one kernel per operator">, For<Targets>;
defm fuse : Switch<"fuse", "Fuse operators (default)", "One operator per kernel">, For<Targets>;
defm guard : Switch<"guard",
  "Run only the branch that a data-dependent condition takes (default)",
  "Run both branches and select a result">, For<Targets>;
defm fork : Switch<"fork",
  "Run kernels concurrently where they leave the GPU partly idle (default)",
  "Run one kernel after another">, For<Gpus>;
defm cublas : Switch<"cublas", "Plan matrix products for cuBLASLt (default)",
                     "Use frit's own matrix products">, For<Gpus>;
defm cudnn : Switch<"cudnn",
  "Plan convolutions, attention and their gradients for cuDNN (default)",
  "Use frit's own convolutions and attention">, For<Gpus>;
def fdeterministic : Flag<one, "fdeterministic">, Group<code_Group>,
        HelpText<"Leave out algorithms whose results differ from call to call; "
                 "gradients of attention then take more time and memory. For "
                 "training, also pass frit-train --deterministic">, For<Gpus>;
def fbatch_invariant : Flag<one, "fbatch-invariant">, Group<code_Group>,
        HelpText<"Give a row the same bits whatever the batch or chunk that it "
                 "is computed in, as on the CPU; products of many rows, and "
                 "prefill, then take longer">, For<Gpus>;
def fPIC : Flag<["-"], "fPIC">, Group<code_Group>,
           HelpText<"Position-independent code, which is always made; also "
                    "-fpic, -fPIE, -fpie">;
def fpic : Flag<["-"], "fpic">, Hidden<fPIC>;
def fPIE : Flag<["-"], "fPIE">, Hidden<fPIC>;
def fpie : Flag<["-"], "fpie">, Hidden<fPIC>;

//===----------------------------------------------------------------------===//
// Tuning
//===----------------------------------------------------------------------===//

defm ftune_generate : Value<one, "ftune-generate", tuning_Group, "file",
  "Time the schedules of matrix products, convolutions and attention on this "
  "machine's GPU, add the best to <file> and use them">, For<Gpus>;
defm ftune_use : Value<one, "ftune-use", tuning_Group, "file",
  "Use the schedules that <file> says are best">, For<Gpus>;
def ftuned : Flag<one, "ftuned">, Group<tuning_Group>,
  HelpText<"Use the schedules that frit comes with, timed on an H200 (default)">, For<Gpus>;
def fno_tuned : Flag<one, "fno-tuned">, Group<tuning_Group>,
                HelpText<"Do not use the schedules that frit comes with">, For<Gpus>;
defm tune_budget : Value<two, "tune-budget", tuning_Group, "time",
  "How long -ftune-generate may time (default: 60s)">;

//===----------------------------------------------------------------------===//
// Warnings and remarks
//===----------------------------------------------------------------------===//

def Wall : Flag<["-"], "Wall">, Group<warning_Group>,
           HelpText<"All warnings (default)">;
def Wextra : Flag<["-"], "Wextra">, Hidden<Wall>;
def w : Flag<["-"], "w">, Group<warning_Group>, HelpText<"No warnings">;
def Werror : Flag<["-"], "Werror">, Group<warning_Group>,
             HelpText<"Warnings are errors">;
def Wno_error : Flag<["-"], "Wno-error">, Group<warning_Group>,
                HelpText<"Warnings are no errors (default)">;
def Werror_EQ : Joined<["-"], "Werror=">, Group<warning_Group>,
                MetaVarName<"warning">, HelpText<"This warning is an error">;
def Wno_error_EQ : Joined<["-"], "Wno-error=">, Group<warning_Group>,
                   MetaVarName<"warning">, HelpText<"This warning is no error">;
def Wno_ : Joined<["-"], "Wno-">, Group<warning_Group>,
           MetaVarName<"warning">, HelpText<"Leave this warning out">;
def W_ : Joined<["-"], "W">, Group<warning_Group>, MetaVarName<"warning">,
         HelpText<"Show this warning (default)">;
def Rpass_EQ : Joined<["-"], "Rpass=">, Group<warning_Group>,
               MetaVarName<"regex">,
               HelpText<"Report what was done: fusion, fork, guard, quantization or sparse">;
def Rpass : Flag<["-"], "Rpass">, Alias<Rpass_EQ>, AliasArgs<[".*"]>,
            Flags<[HelpHidden]>;
def Rpass_missed_EQ : Joined<["-"], "Rpass-missed=">, Group<warning_Group>,
                      MetaVarName<"regex">, HelpText<"Report what was not done, and why: also schedule, layout, shape, plan "
                                "or weights">;
def Rpass_missed : Flag<["-"], "Rpass-missed">, Alias<Rpass_missed_EQ>,
                   AliasArgs<[".*"]>, Flags<[HelpHidden]>;

//===----------------------------------------------------------------------===//
// Other
//===----------------------------------------------------------------------===//

def v : Flag<["-"], "v">, Group<other_Group>,
        HelpText<"Print each step, and the versions of tools">;
def dry_run : Flag<["-"], "###">, Group<other_Group>,
              HelpText<"Print the steps, but do nothing">;
def ftime_report : Flag<one, "ftime-report">, Group<other_Group>,
                   HelpText<"Print where the time went">;
def memory_report : Flag<two, "memory-report">, Group<other_Group>,
                    HelpText<"Print what a call's memory is made of">;
def help_ops : Flag<two, "help-ops">, Group<other_Group>,
               HelpText<"List the operators">;
def help_targets : Flag<two, "help-targets">, Group<other_Group>,
                   HelpText<"List the targets, and what each uses">;
defm "" : HelpOptions<two, other_Group>;
