// The layout of parameters in weight files of either tensor format, and conversion to the other
// one.
//
// In files of this system's flat dialect two things follow the format: the axes of filters, and the
// order of what a fully connected layer (or a batch normalisation per feature) takes from a
// flattened image. A third layout exists: NHWC files that the original system's GPU code wrote hold
// filters as (out, kh, kw, in).

#ifndef DTNN_MODELS_PARAMETERS_WEIGHTS_LAYOUT_H_
#define DTNN_MODELS_PARAMETERS_WEIGHTS_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "layers/base/layer.h"
#include "models/graph/graph.h"
#include "tensor/format.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

namespace dtnn {

enum class WeightsLayout : uint8_t { kNHWC, kNCHW, kGpuNHWC };

std::string_view Name(WeightsLayout layout);
WeightsLayout LayoutOf(TensorFormat format);

// For every node, which image's elements its output features are, in the order of the graph's
// format: (1, 1, n) where they have no such origin. Nothing where several orders meet in one sum,
// and for nodes whose output is an image.
std::vector<std::optional<ImageExtents>> FeatureOrigins(const Graph& graph);

// The shape in a file of `layout` of a parameter of a graph in `format`.
Shape ShapeInFile(const ParameterSpec& parameter, TensorFormat format, WeightsLayout layout);

// True where ConvertParameter has to know `features`: its order in the file is another.
bool NeedsFeatureOrigin(const ParameterSpec& parameter, TensorFormat format, WeightsLayout layout);

// Copies `from`, of ShapeInFile's size in `layout`, into `to`, of the parameter's shape in
// `format`; both are dense host tensors, of any dtypes. `features` is the origin of the layer's
// input.
void ConvertParameter(const ParameterSpec& parameter, const Tensor& from, WeightsLayout layout,
                      const Tensor& to, TensorFormat format, const ImageExtents& features);

}  // namespace dtnn

#endif  // DTNN_MODELS_PARAMETERS_WEIGHTS_LAYOUT_H_
