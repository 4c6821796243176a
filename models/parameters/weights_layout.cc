#include "models/parameters/weights_layout.h"

#include <array>

namespace dtnn {
namespace {

// A parameter as four axes in a canonical order: of filters in, kh, kw, out; of what goes by
// features height, width, channel and, of a matrix, column.
using Extents = std::array<int64_t, 4>;
// The canonical axes in the order in which memory has them.
using Order = std::array<int, 4>;

constexpr Order kAsIs = {0, 1, 2, 3};

Order FilterOrder(WeightsLayout layout, bool pointwise) {
  if (layout == WeightsLayout::kNCHW) return {3, 0, 1, 2};
  // The GPU code's special case is one of cuDNN's filters; matrices are as everywhere.
  return layout == WeightsLayout::kGpuNHWC && !pointwise ? Order{3, 1, 2, 0} : kAsIs;
}

Order FeatureOrder(WeightsLayout layout) {
  return layout == WeightsLayout::kNCHW ? Order{2, 0, 1, 3} : kAsIs;
}

Extents FilterExtents(const Shape& shape, TensorFormat format) {
  const bool nhwc = format == TensorFormat::kNHWC;
  if (shape.rank() == 2) return {shape[nhwc ? 0 : 1], 1, 1, shape[nhwc ? 1 : 0]};
  if (nhwc) return {shape[0], shape[1], shape[2], shape[3]};
  return {shape[1], shape[2], shape[3], shape[0]};
}

template <typename From, typename To>
void Reorder(const From* from, const Order& from_order, To* to, const Order& to_order,
             const Extents& extents) {
  Extents stride;  // of `from`, along the canonical axes
  int64_t next = 1;
  for (int i = 3; i >= 0; --i) {
    stride[size_t(from_order[size_t(i)])] = next;
    next *= extents[size_t(from_order[size_t(i)])];
  }
  Extents size, step;  // along the axes of `to`
  for (size_t i = 0; i < 4; ++i) {
    size[i] = extents[size_t(to_order[i])];
    step[i] = stride[size_t(to_order[i])];
  }
  for (int64_t a = 0; a < size[0]; ++a) {
    for (int64_t b = 0; b < size[1]; ++b) {
      for (int64_t c = 0; c < size[2]; ++c) {
        const From* row = from + a * step[0] + b * step[1] + c * step[2];
        for (int64_t d = 0; d < size[3]; ++d) *to++ = To(row[d * step[3]]);
      }
    }
  }
}

template <typename From>
void Reorder(const Tensor& from, const Order& from_order, const Tensor& to, const Order& to_order,
             const Extents& extents) {
  DispatchFloating(to.dtype(), [&](auto zero) {
    using To = decltype(zero);
    Reorder(from.data<From>(), from_order, to.data<To>(), to_order, extents);
  });
}

std::optional<ImageExtents> OriginOf(const Node& node, TensorFormat format,
                                     const std::vector<std::optional<ImageExtents>>& origins) {
  if (node.output.rank() != 1) return std::nullopt;
  const ImageExtents plain = {1, 1, node.output[0]};
  if (node.inputs.empty()) return plain;
  for (const ParameterSpec& parameter : node.parameters) {
    if (parameter.layout == ParameterLayout::kFeatureRows) return plain;
  }
  const Shape& first = node.input_shapes[0];
  if (first.rank() == 3 && node.inputs.size() == 1) {
    return first.NumElements() == node.output[0] ? ExtentsOf(first, format) : plain;
  }
  for (int input : node.inputs) {
    if (origins[size_t(input)] != origins[size_t(node.inputs[0])]) return std::nullopt;
  }
  return first == node.output ? origins[size_t(node.inputs[0])] : std::nullopt;
}

}  // namespace

std::string_view Name(WeightsLayout layout) {
  switch (layout) {
    case WeightsLayout::kNHWC:
      return "NHWC";
    case WeightsLayout::kNCHW:
      return "NCHW";
    case WeightsLayout::kGpuNHWC:
      return "NHWC as written on GPUs";
  }
  return "";
}

WeightsLayout LayoutOf(TensorFormat format) {
  return format == TensorFormat::kNHWC ? WeightsLayout::kNHWC : WeightsLayout::kNCHW;
}

std::vector<std::optional<ImageExtents>> FeatureOrigins(const Graph& graph) {
  std::vector<std::optional<ImageExtents>> origins;
  for (const Node& node : graph.nodes()) {
    origins.push_back(OriginOf(node, graph.format(), origins));
  }
  return origins;
}

Shape ShapeInFile(const ParameterSpec& parameter, TensorFormat format, WeightsLayout layout) {
  const Shape& shape = parameter.shape;
  if (parameter.layout != ParameterLayout::kFilter) return shape;
  const Extents extents = FilterExtents(shape, format);
  if (shape.rank() == 2) {
    return layout == WeightsLayout::kNCHW ? Shape{extents[3], extents[0]}
                                          : Shape{extents[0], extents[3]};
  }
  const Order order = FilterOrder(layout, /*pointwise=*/false);
  return {extents[size_t(order[0])], extents[size_t(order[1])], extents[size_t(order[2])],
          extents[size_t(order[3])]};
}

bool NeedsFeatureOrigin(const ParameterSpec& parameter, TensorFormat format, WeightsLayout layout) {
  const bool features = parameter.layout == ParameterLayout::kFeatures ||
                        parameter.layout == ParameterLayout::kFeatureRows;
  return features && FeatureOrder(layout) != FeatureOrder(LayoutOf(format));
}

void ConvertParameter(const ParameterSpec& parameter, const Tensor& from, WeightsLayout layout,
                      const Tensor& to, TensorFormat format, const ImageExtents& features) {
  const Shape& shape = parameter.shape;
  Extents extents = {to.num_elements(), 1, 1, 1};
  Order from_order = kAsIs, to_order = kAsIs;
  if (parameter.layout == ParameterLayout::kFilter) {
    extents = FilterExtents(shape, format);
    from_order = FilterOrder(layout, shape.rank() == 2);
    to_order = FilterOrder(LayoutOf(format), shape.rank() == 2);
  } else if (NeedsFeatureOrigin(parameter, format, layout)) {
    const int64_t columns = shape.rank() == 2 ? shape[1] : 1;
    extents = {features.height, features.width, features.channels, columns};
    from_order = FeatureOrder(layout);
    to_order = FeatureOrder(LayoutOf(format));
  }
  switch (from.dtype()) {
    case DType::kFloat32:
      return Reorder<float>(from, from_order, to, to_order, extents);
    case DType::kFloat64:
      return Reorder<double>(from, from_order, to, to_order, extents);
    case DType::kUint8:
      return Reorder<uint8_t>(from, from_order, to, to_order, extents);
    case DType::kInt32:
      return Reorder<int32_t>(from, from_order, to, to_order, extents);
    case DType::kInt64:
      return Reorder<int64_t>(from, from_order, to, to_order, extents);
    case DType::kFloat16:
    case DType::kBfloat16:
      break;  // files of them are read as float32
  }
}

}  // namespace dtnn
