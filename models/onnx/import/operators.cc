#include "models/onnx/import/operators.h"

#include <functional>
#include <map>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

struct Row {
  ImportOperator plain;
  ImportOperator under_axes = nullptr;  // not read of such
};

// For operators to which axes do not matter.
template <ImportOperator kImport>
Row OfAnyAxes() {
  return {kImport, [](OperatorReader& op) {
            op.TakeAnyAxes();
            return kImport(op);
          }};
}

using Table = std::map<std::string_view, Row, std::less<>>;

const Table& Operators() {
  static const Table& table = *new Table{
      {"Add", {ImportAdd, ImportAddOfAxes}},
      {"Atanh", OfAnyAxes<ImportAtanh>()},
      {"AveragePool", {ImportAveragePool}},
      {"BatchNormalization", {ImportBatchNormalization}},
      {"Cast", {ImportCast}},
      {"Clip", OfAnyAxes<ImportClip>()},
      {"Concat", {ImportConcat, ImportConcat}},
      {"Constant", {ImportConstant}},
      {"ConstantOfShape", {ImportConstantOfShape}},
      {"Conv", {ImportConv}},
      {"ConvTranspose", {ImportConvTranspose}},
      {"DequantizeLinear", {ImportDequantizeLinear}},
      {"Div", {ImportDiv, ImportDivOfAxes}},
      {"Dropout", OfAnyAxes<ImportDropout>()},
      {"Elu", OfAnyAxes<ImportElu>()},
      {"Equal", {ImportArithmetic}},
      {"Erf", {ImportErf, ImportErf}},
      {"Expand", {ImportExpand}},
      {"Flatten", {ImportFlatten}},
      {"Gather", {ImportGather, ImportGatherOfImage}},
      {"Gelu", OfAnyAxes<ImportGelu>()},
      {"Gemm", {ImportGemm, ImportGemmOfAxes}},
      {"GlobalAveragePool", {ImportGlobalAveragePool}},
      {"GlobalMaxPool", {ImportGlobalMaxPool}},
      {"Greater", {ImportGreater}},
      {"GroupNormalization", {ImportGroupNormalization}},
      {"HardSigmoid", OfAnyAxes<ImportHardSigmoid>()},
      {"HardSwish", OfAnyAxes<ImportHardSwish>()},
      {"Identity", {ImportIdentity, ImportIdentity}},
      {"InstanceNormalization", {ImportInstanceNormalization, ImportInstanceNormalizationOfGroups}},
      {"LayerNormalization", {ImportLayerNormalization, ImportLayerNormalizationOfAxes}},
      {"LeakyRelu", OfAnyAxes<ImportLeakyRelu>()},
      {"LogSoftmax", {ImportLogSoftmax}},
      {"MatMul", {ImportMatMul, ImportProductOfAxes}},
      {"MaxPool", {ImportMaxPool}},
      {"Mish", OfAnyAxes<ImportMish>()},
      {"Mod", {ImportArithmetic}},
      {"Mul", {ImportMul, ImportMulOfAxes}},
      {"Neg", {ImportNeg}},
      {"PRelu", {ImportPRelu}},
      {"Pad", {ImportPad}},
      {"Pow", {ImportArithmetic}},
      {"QuantizeLinear", {ImportQuantizeLinear}},
      {"Range", {ImportRange}},
      {"ReduceMean", {ImportReduceMean, ImportReduceMean}},
      {"ReduceProd", {ImportReduceProd}},
      {"Relu", OfAnyAxes<ImportRelu>()},
      {"Reshape", {ImportReshape, ImportReshapeOfAxes}},
      {"Resize", {ImportResize}},
      {"Shape", {ImportShape, ImportShape}},
      {"Sigmoid", OfAnyAxes<ImportSigmoid>()},
      {"Slice", {ImportSlice, ImportSliceOfAxes}},
      {"Softmax", {ImportSoftmax, ImportSoftmaxOfAxes}},
      {"Softplus", OfAnyAxes<ImportSoftplus>()},
      {"Split", {ImportSplit, ImportSplit}},
      {"Sqrt", {ImportSqrt}},
      {"Squeeze", {ImportSqueeze, ImportSqueezeOfAxes}},
      {"Sub", {ImportSub}},
      {"Sum", OfAnyAxes<ImportSum>()},
      {"Tanh", OfAnyAxes<ImportTanh>()},
      {"Transpose", {ImportTranspose, ImportTransposeOfAxes}},
      {"Unsqueeze", {ImportUnsqueeze, ImportUnsqueezeOfAxes}},
      {"Upsample", {ImportResize}},
      {"Where", {ImportWhere}},
  };
  return table;
}

ImportOperator Of(const Row& row, Inputs inputs) {
  return inputs == Inputs::kPlain ? row.plain : row.under_axes;
}

}  // namespace

ImportOperator FindImport(std::string_view op_type, Inputs inputs) {
  const auto found = Operators().find(op_type);
  return found == Operators().end() ? nullptr : Of(found->second, inputs);
}

std::string ImportedOperators(Inputs inputs) {
  std::string names;
  for (const auto& [name, row] : Operators()) {
    if (Of(row, inputs) != nullptr) StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return names;
}

}  // namespace dtnn
