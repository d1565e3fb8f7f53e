//===- Passes.td - The passes over nn, in the pipeline's order ------------===//
//
// Simplify also runs after several others.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_PASSES_TD
#define FRIT_COMPILER_TRANSFORM_PASSES_TD

include "compiler/transform/PassBase.td"

def UnrollScans : NNPass<"unroll-scans"> {
  let summary = "Copy the block of each nn.scan once for each row";
}

def SplitPrefixSums : NNPass<"split-prefix-sums"> {
  let summary = "Compute prefix sums of long dimensions by blocks";
}

def Simplify : NNPass<"simplify"> {
  let summary = "Canonicalise, fold small constants, merge equal operators";
  let options = [Option<"sliceRows", "slice-rows", "bool", "true",
                        "Move slices above operators that work row by row">];
}

def Compose : NNPass<"compose"> {
  let summary = "Recognise composites and fold operators into contractions";
}

def Precision : NNPass<"precision"> {
  let summary = "Make the graph compute in a narrower float type";
  let options = [Option<"mode", "mode", "std::string", "\"fp32\"",
                        "fp32, tf32, fp16, bf16, amp-fp16, amp-bf16 or amp-fp8">,
                 ListOption<"keep", "keep", "std::string",
                            "globs of names of nodes that stay f32">];
}

def InterfaceTypes : NNPass<"interface-types"> {
  let summary = "Give inputs and outputs the types that the caller wants";
  let options = [ListOption<"types", "types", "std::string",
                            "NAME:TYPE, as x:f16">];
}

def BindStates : NNPass<"bind-states"> {
  let summary = "Keep inputs in memory that outputs replace";
  let options = [ListOption<"states", "states", "std::string",
                            "IN:OUT, as past:present">];
}

def AddSampler : NNPass<"add-sampler"> {
  let summary = "Make a model of diffusion one step of its sampler";
  let options = [Option<"sampler", "sampler", "std::string", "\"\"",
                        "METHOD:SETTINGS, as ddim:steps=20">];
}

def QuantizeWeights : NNPass<"quantize-weights"> {
  let summary = "Round weights of products to few bits";
  let options = [Option<"format", "format", "std::string", "\"int8\"",
                        "int8, int4:64, fp8:128, mxfp4">,
                 Option<"fewest", "fewest", "int64_t", "16384",
                        "Weights with fewer elements stay as they are">];
  let constructor = "made in quantize/RoundedWeights.h";
}

def SparseWeights : NNPass<"sparse-weights"> {
  let summary = "Keep two of four neighbours of the weights of products";
  let options = [Option<"prune", "prune", "bool", "false",
                        "Zero the smaller ones; otherwise they must be 0">,
                 Option<"fewest", "fewest", "int64_t", "16384",
                        "Weights with fewer elements stay as they are">];
  let constructor = "made in sparse/Sparsity.h";
}

def QuantizedConvs : TargetPass<"quantized-convs"> {
  let summary = "Recognise convolutions and products of quantized tensors";
  let options = [Option<"narrowsFloats", "narrows-floats", "bool", "false",
                        "Multiply bf16 where the target has no products of "
                        "8-bit floats, not f32">];
}

def Layout : TargetPass<"layout"> {
  let summary = "Put channels last where the target's convolutions are faster";
  let options = [Option<"groupNorms", "group-norms", "bool", "false",
                        "Compute norms as group norms, channels last">];
}

def Float8Products : TargetPass<"float8-products"> {
  let summary = "Multiply weights that train in floats of 8 bits";
  let options = [Option<"gradients", "gradients", "std::string", "\"e5m2\"",
                        "Format of gradients by inputs: e5m2, e4m3 or bf16">];
}

def GateProducts : TargetPass<"gate-products"> {
  let summary = "Gate the halves of a matrix product's columns in its kernel";
}

def FoldProducts : TargetPass<"fold-products"> {
  let summary = "Multiply the weights of a product and of the next one";
}

def FoldUpsampling : TargetPass<"fold-upsampling"> {
  let summary = "Convolve images instead of their doubles";
}

def FoldNorms : TargetPass<"fold-norms"> {
  let summary = "Fold layer norms into the matrix products around them";
}

def Decompose : TargetPass<"decompose"> {
  let summary = "Decompose composites for which the target has no kernel";
}

def SplitReductions : TargetPass<"split-reductions"> {
  let summary = "Split reductions with few results into two kernels";
}

def ByteTables : TargetPass<"byte-tables"> {
  let summary = "Read functions of one byte from tables";
}

def TileWeights : TargetPass<"tile-weights"> {
  let summary = "Put quantized weights in the order of the target's kernels";
}

def CompressWeights : TargetPass<"compress-weights"> {
  let summary = "Store sparse weights without their zeros";
  let options = [Option<"fewest", "fewest", "int64_t", "2097152",
                        "Matrices with fewer elements stay as they are: their "
                        "kernels take as long">,
                 Option<"fewestCodes", "fewest-codes", "int64_t", "50331648",
                        "The same for matrices of codes">];
}

def TransposeWeights : TargetPass<"transpose-weights"> {
  let summary = "Store weights in the order in which products of few rows read "
                "them";
}

def HoistPrepare : NNPass<"hoist-prepare"> {
  let summary = "Move operators that depend only on weights to @prepare";
}

def Guard : TargetPass<"guard"> {
  let summary = "Put operators that only one value of a condition needs "
                "into nn.guard";
}

def Fusion : TargetPass<"fusion"> {
  let summary = "Group operators into kernels";
  let options = [Option<"fuse", "fuse", "bool", "true",
                        "Group operators; otherwise one per kernel">];
}

def SideOutputs : TargetPass<"side-outputs"> {
  let summary = "Compute in a kernel what others would read its result for";
  let options = [Option<"activations", "activations", "bool", "true",
                        "Store activations beside their operands">];
}

def JoinAppends : TargetPass<"join-appends"> {
  let summary = "Let attention append to the caches that it reads";
}

def JoinMaps : TargetPass<"join-maps"> {
  let summary = "Join small kernels that do not depend on each other";
}

def ShareKernels : NNPass<"share-kernels"> {
  let summary = "Make kernels of very large graphs equal but for what they read";
  let options = [Option<"mostLoops", "most-loops", "size_t", "512",
                        "Loops of all kernels up to which nothing changes">];
}

def Schedule : TargetPass<"schedule"> {
  let summary = "Set the target's schedule on every fusion";
}

def RunBeside : TargetPass<"run-beside"> {
  let summary = "Give products that need not hurry a part of the device";
}

def RepeatSteps : NNPass<"repeat-steps"> {
  let summary = "Run kernels that have values for several steps so often";
}

#endif // FRIT_COMPILER_TRANSFORM_PASSES_TD
