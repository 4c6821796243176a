// A network that is being imported: layers, their parameters, and values between them.
//
// It is made in NCHW, the order of ONNX, and converted when it is complete.

#ifndef DTNN_MODELS_ONNX_IMPORT_NETWORK_MAKER_H_
#define DTNN_MODELS_ONNX_IMPORT_NETWORK_MAKER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/device/context.h"
#include "layers/base/layer.h"
#include "models/graph/graph.h"
#include "models/onnx/shapes/axes.h"
#include "models/parameters/in_format.h"
#include "tensor/shape.h"

namespace dtnn {

// Zeros that stand around an image: an operator before the layer that takes them in.
struct ImagePads {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  friend bool operator==(const ImagePads&, const ImagePads&) = default;
};

// What an operator computed, where that is only a part of a layer.
enum class Unfinished : uint8_t {
  kNothing,
  kNegated,
  kSoftplusOfNegated,  // of log(sigmoid x) = -softplus(-x)
  kIsLarge,            // whether x is so large that softplus x is x
  kOverRootTwo,
  kErf,
  kErfPlusOne,
  kHalfErfPlusOne,
  kTwiceGelu,  // of gelu x = x (erf(x / sqrt 2) + 1) / 2
  kGroups,
  kDealtGroups  // of a channel shuffle: (groups, channels of a group, h, w), and turned round
};

// The output of a layer, and how the operators after it see it.
struct ImportedValue {
  int node = -1;
  Shape shape = {};            // of a sample: (c, h, w) or (features,)
  bool channels_last = false;  // an image that was transposed to (h, w, c)
  bool rows_first = false;     // features that were flattened as (h, w, c)
  ImagePads pads = {};
  Unfinished unfinished = Unfinished::kNothing;
  int64_t groups = 0;  // of kGroups and kDealtGroups
  // Of an image, where operators see it under others than (N, c, h, w) and (N, h, w, c).
  Axes axes = {};
  double factor = 1;  // that the elements are still to be multiplied by

  friend bool operator==(const ImportedValue&, const ImportedValue&) = default;

  bool image() const { return shape.rank() == 3; }
  size_t rank() const { return axes.empty() ? 1 + size_t(shape.rank()) : axes.size(); }
  bool plain() const {
    return pads == ImagePads() && unfinished == Unfinished::kNothing && axes.empty() && factor == 1;
  }
};

// The number that a layer's name begins with, as in "5_FC".
std::optional<int> NumberOf(const std::string& name);

class NetworkMaker {
 public:
  // In the order in which the layer lists its parameters for NCHW, elements in its order.
  using Parameters = std::vector<std::vector<float>>;

  // `name`: wanted for the layer; changed where it is not one that layers may have, or has been
  // given. InvalidArgument where the layer does not take such inputs or parameters.
  absl::StatusOr<ImportedValue> Add(std::shared_ptr<const Layer> layer,
                                    std::span<const ImportedValue> inputs, Parameters parameters,
                                    std::string_view name);
  // Puts another layer in the place of the latest, with a parameter more: a bias.
  absl::Status AddParameterToLatest(std::shared_ptr<const Layer> layer,
                                    std::vector<float> parameter);
  // Puts another layer, with the same parameters, in the place of the latest.
  void ReplaceLatest(std::shared_ptr<const Layer> layer) { nodes_.back().layer = std::move(layer); }
  // A parameter of the latest layer, whose values may be changed, not their number.
  std::span<float> ParameterOfLatest(size_t parameter) { return parameters_.back()[parameter]; }
  // Takes the latest layer, which has one input, away: what it read.
  ImportedValue DropLatest();
  const std::string& NameOf(const ImportedValue& value) const {
    return nodes_[size_t(value.node)].name;
  }
  const Layer& LayerOf(const ImportedValue& value) const {
    return *nodes_[size_t(value.node)].layer;
  }
  const std::string& NameOfInput(const ImportedValue& value) const {
    return nodes_[size_t(value.node)].inputs[0];
  }
  const Shape& InputShapeOf(const ImportedValue& value) const {
    return input_shapes_[size_t(value.node)];
  }
  // Whether no element can be below 0, as after a relu, for all that is known of the layers.
  bool IsNeverNegative(const ImportedValue& value) const {
    return never_negative_[size_t(value.node)] != 0;
  }
  bool IsLatest(const ImportedValue& value) const { return value.node + 1 == int(nodes_.size()); }
  int size() const { return int(nodes_.size()); }
  int64_t elements() const { return elements_; }  // of all parameters

  // The network, in NCHW. Layers whose names begin with their number ("5_FC") have it as their id.
  // InvalidArgument for parameters that are not finite.
  absl::StatusOr<NetworkInFormat> Finish(std::string name, DeviceContext& host);

 private:
  std::string NewName(std::string_view wanted, const Layer& layer);
  absl::Status Check(const Layer& layer, std::span<const Shape> inputs,
                     const Parameters& parameters) const;

  std::vector<NodeSpec> nodes_;
  std::vector<Shape> input_shapes_;      // of the first inputs
  std::vector<uint8_t> never_negative_;  // whether outputs are
  std::vector<Parameters> parameters_;
  std::set<std::string, std::less<>> names_;
  int64_t elements_ = 0;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_ONNX_IMPORT_NETWORK_MAKER_H_
