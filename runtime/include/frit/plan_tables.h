//===- plan_tables.h - The tables of a plan -------------------------------===//
//
// The only list of them. The header (artifact.h), what the compiler fills
// (codegen/artifact/Entries.h) and the check of their places
// (runtime/plan/PlanCheck.cpp) expand it. A new table is a line here, its
// entry's struct in artifact.h, an accessor of PlanView and a check of what its
// entries hold.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_PLAN_TABLES_H
#define FRIT_PLAN_TABLES_H

/// TABLE(name, Entry, words): the table's name, the type of its entries, and
/// what errors call it. The order is part of the artifact's format.
#define FRIT_PLAN_TABLES(TABLE)                                                \
  /* dimensions of all shapes, and scalars of kernels */                       \
  TABLE(dims, int64_t, "dims")                                                 \
  /* at least one */                                                           \
  TABLE(functions, Function, "functions")                                      \
  TABLE(states, State, "states")                                               \
  /* by offset */                                                              \
  TABLE(shards, ShardedState, "shards")                                        \
  TABLE(derived, DerivedState, "derived states")                               \
  TABLE(symbols, Symbol, "symbols")                                            \
  TABLE(extents, Extent, "extents")                                            \
  TABLE(indices, IndexRange, "indices")                                        \
  TABLE(variants, Variant, "variants")                                         \
  TABLE(inputs, Tensor, "inputs")                                              \
  TABLE(outputs, Tensor, "outputs")                                            \
  TABLE(constants, Constant, "constants")                                      \
  TABLE(buffers, Buffer, "buffers")                                            \
  TABLE(modules, DeviceModule, "modules")                                      \
  TABLE(kernels, Kernel, "kernels")                                            \
  TABLE(tensorMaps, TensorMap, "tensor maps")                                  \
  TABLE(gemms, Gemm, "gemms")                                                  \
  TABLE(convs, Conv, "convs")                                                  \
  TABLE(attentions, Attention, "attentions")                                   \
  TABLE(guards, Guard, "guards")                                               \
  TABLE(steps, Step, "steps")                                                  \
  /* numbers of steps, relative to the first one of the list */                \
  TABLE(follows, uint32_t, "follows")                                          \
  TABLE(programs, Program, "programs")                                         \
  /* at least one */                                                           \
  TABLE(targets, Target, "targets")                                            \
  /* strings by number */                                                      \
  TABLE(vocabulary, Text, "vocabulary")                                        \
  /* one per function, or none at all */                                       \
  TABLE(stringPrograms, StringProgram, "string programs")                      \
  TABLE(stringSteps, StringStep, "string steps")                               \
  TABLE(stringOperands, StringOperand, "string operands")

#endif // FRIT_PLAN_TABLES_H
