#!/bin/bash
# model.sh on a model whose second dimension is opened too, as "seq":
#   sequence.sh BIN PYTHON MODEL.onnx RTOL [fritc flags]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=$1 python=$2 model=$3 tolerance=$4
shift 4
opened=$(mktemp -d)
trap 'rm -rf "$opened"' EXIT
"$python" - "$model" "$opened/model.onnx" <<'END'
import sys

import onnx

model = onnx.load(sys.argv[1])
for value in (*model.graph.input, *model.graph.output):
    value.type.tensor_type.shape.dim[1].dim_param = "seq"
del model.graph.value_info[:]
onnx.save(model, sys.argv[2])
END
"$here/model.sh" "$bin" "$python" "$opened/model.onnx" "$tolerance" "$@"
