//===- NN.td - The whole dialect, for its reference documentation ----------===//

include "dialects/nn/Structure.td"
include "dialects/nn/Elementwise.td"
include "dialects/nn/Activation.td"
include "dialects/nn/Movement.td"
include "dialects/nn/Contraction.td"
include "dialects/nn/Reduction.td"
include "dialects/nn/Window.td"
include "dialects/nn/Selection.td"
include "dialects/nn/Suppression.td"
include "dialects/nn/Normalization.td"
include "dialects/nn/Attention.td"
