//===- RunOptions.td - Options to run a model ----------------------------===//

include "compiler/support/OptionClasses.td"

def OfWeights : Use;
def OnCpu : Use;
def OnGpu : Use;

/// Options of every tool that runs a model, except -v.
multiclass RunOptions<OptionGroup group> {
  defm device : Value<dashes, "device", group, "cuda[:n]|uuid|cpu",
    "Where to run: cuda:1, GPU-1b2e4f or cpu (default: a GPU if the model "
    "supports it)">;
  defm memory_limit : Value<dashes, "memory-limit", group, "size",
    "Fail rather than take more of the device's memory, as 2GiB">;
  defm threads : Value<dashes, "threads", group, "n",
    "Number of threads of the cpu target">, For<OnCpu>;
  def no_cuda_graph : Flag<dashes, "no-cuda-graph">, Group<group>, HelpText<
    "Launch each step by itself; errors then name the model's node">, For<OnGpu>;
  def no_programmatic_launch : Flag<dashes, "no-programmatic-launch">, Group<group>, HelpText<
    "Start each kernel after the preceding one has ended">, For<OnGpu>;
  def no_cublas : Flag<dashes, "no-cublas">, Group<group>, HelpText<
    "Use frit's kernels for matrix products">, For<OnGpu>;
  def no_cudnn : Flag<dashes, "no-cudnn">, Group<group>, HelpText<
    "Use frit's kernels for convolutions and attention">, For<OnGpu>;
  def deterministic : Flag<dashes, "deterministic">, Group<group>, HelpText<
    "Use only algorithms of libraries that give the same bits each time; fritc "
    "-fdeterministic compiles attention's gradients so">;
  defm weights : Value<dashes, "weights", group, "folder",
    "Folder of external weights">, For<OfWeights>;
}
