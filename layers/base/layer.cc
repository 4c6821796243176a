#include "layers/base/layer.h"

namespace dtnn {

std::string Layer::WeightsCell(std::span<const Shape> inputs, TensorFormat format) const {
  for (const ParameterSpec& parameter : Parameters(inputs, format)) {
    if (parameter.name == "weights") return parameter.shape.ToString();
  }
  return "";
}

}  // namespace dtnn
