// The networks that come with DTNN, by name.
//
// A name with a data set's suffix (vgg16_cifar10) is literal: its input and classes are part of the
// definition. A name without one (simplecnn) adapts to the data set's sample and classes, and keeps
// its own where none are given.

#ifndef DTNN_MODELS_ZOO_ZOO_H_
#define DTNN_MODELS_ZOO_ZOO_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/builder.h"
#include "models/graph.h"
#include "tensor/format.h"

namespace dtnn {

struct ModelOptions {
  TensorFormat format = TensorFormat::kNHWC;
  // What the data set offers; nothing: the model's own.
  std::optional<ImageExtents> sample = {};
  std::optional<int64_t> classes = {};
};

struct ModelInfo {
  std::string_view name;
  ImageExtents sample;  // its own
  int64_t classes;
  bool adapts;                                     // to ModelOptions::sample and classes
  void (*append)(GraphBuilder&, int64_t classes);  // everything after the input
};

// All networks, in the order of `--model=list`.
const std::vector<ModelInfo>& ZooModels();

// NotFound for an unknown name; InvalidArgument where a literal model and the data set differ,
// naming both, or where the network does not fit the sample.
absl::StatusOr<Graph> BuildModel(std::string_view name, const ModelOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_ZOO_H_
