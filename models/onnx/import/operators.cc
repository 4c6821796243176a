#include "models/onnx/import/operators.h"

#include <functional>
#include <map>

#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using Table = std::map<std::string_view, ImportOperator, std::less<>>;

const Table& Operators() {
  static const Table& table = *new Table{
      {"Add", ImportAdd},
      {"Atanh", ImportAtanh},
      {"AveragePool", ImportAveragePool},
      {"BatchNormalization", ImportBatchNormalization},
      {"Cast", ImportCast},
      {"Clip", ImportClip},
      {"Concat", ImportConcat},
      {"Constant", ImportConstant},
      {"ConstantOfShape", ImportConstantOfShape},
      {"Conv", ImportConv},
      {"ConvTranspose", ImportConvTranspose},
      {"DequantizeLinear", ImportDequantizeLinear},
      {"Div", ImportDiv},
      {"Dropout", ImportDropout},
      {"Elu", ImportElu},
      {"Equal", ImportArithmetic},
      {"Erf", ImportErf},
      {"Expand", ImportExpand},
      {"Flatten", ImportFlatten},
      {"Gather", ImportGather},
      {"Gelu", ImportGelu},
      {"Gemm", ImportGemm},
      {"GlobalAveragePool", ImportGlobalAveragePool},
      {"GlobalMaxPool", ImportGlobalMaxPool},
      {"Greater", ImportGreater},
      {"GroupNormalization", ImportGroupNormalization},
      {"HardSigmoid", ImportHardSigmoid},
      {"HardSwish", ImportHardSwish},
      {"Identity", ImportIdentity},
      {"InstanceNormalization", ImportInstanceNormalization},
      {"LayerNormalization", ImportLayerNormalization},
      {"LeakyRelu", ImportLeakyRelu},
      {"LogSoftmax", ImportLogSoftmax},
      {"MatMul", ImportMatMul},
      {"MaxPool", ImportMaxPool},
      {"Mish", ImportMish},
      {"Mod", ImportArithmetic},
      {"Mul", ImportMul},
      {"Neg", ImportNeg},
      {"PRelu", ImportPRelu},
      {"Pad", ImportPad},
      {"Pow", ImportArithmetic},
      {"QuantizeLinear", ImportQuantizeLinear},
      {"Range", ImportRange},
      {"ReduceMean", ImportReduceMean},
      {"ReduceProd", ImportReduceProd},
      {"Relu", ImportRelu},
      {"Reshape", ImportReshape},
      {"Resize", ImportResize},
      {"Shape", ImportShape},
      {"Sigmoid", ImportSigmoid},
      {"Slice", ImportSlice},
      {"Softmax", ImportSoftmax},
      {"Softplus", ImportSoftplus},
      {"Split", ImportSplit},
      {"Sqrt", ImportSqrt},
      {"Squeeze", ImportSqueeze},
      {"Sub", ImportSub},
      {"Sum", ImportSum},
      {"Tanh", ImportTanh},
      {"Transpose", ImportTranspose},
      {"Unsqueeze", ImportUnsqueeze},
      {"Upsample", ImportResize},
      {"Where", ImportWhere},
  };
  return table;
}

}  // namespace

ImportOperator FindImport(std::string_view op_type) {
  const auto found = Operators().find(op_type);
  return found == Operators().end() ? nullptr : found->second;
}

std::string ImportedOperators() {
  std::string names;
  for (const auto& [name, function] : Operators()) {
    StrAppend(&names, names.empty() ? "" : ", ", name);
  }
  return names;
}

}  // namespace dtnn
