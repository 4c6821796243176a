// The networks that come with DTNN, by name.
//
// A name with a data set's suffix (vgg16_cifar10) is literal: its input and classes are part of the
// definition, and so are its oddities. A name without one (vgg16) adapts to the data set's sample
// and classes, and keeps its own where none are given. On images of up to 64x64 it is the network
// of the _cifar10 name, on larger ones that of the _imagenet name, with these differences:
//   - densenet*, googlenet and inceptionv3 end in a global average pool, whatever the image;
//   - resnet44 has the 44 layers of its name, resnet44_cifar10 56;
//   - inceptionv3 pads as published, and keeps the resolution of small images, which its stem would
//     leave nothing of;
//   - vgg11, vgg16 and vgg19 begin with smaller weights (Glorot's) on larger images.
// It ends in the activation that the loss wants; a literal network always ends in a softmax.

#ifndef DTNN_MODELS_ZOO_ZOO_H_
#define DTNN_MODELS_ZOO_ZOO_H_

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "models/graph/graph.h"
#include "models/zoo/model_info.h"
#include "optim/losses/loss.h"
#include "tensor/format.h"

namespace dtnn {

struct ModelOptions {
  TensorFormat format = TensorFormat::kNHWC;
  // What the data set offers; nothing: the model's own. `classes`: or values per sample.
  std::optional<ImageExtents> sample = {};
  std::optional<int64_t> classes = {};
  // Loss::final_activation; kOther: none.
  FinalActivation final_activation = FinalActivation::kSoftmax;
};

// All networks, in the order of `--model=list`.
const std::vector<ModelInfo>& ZooModels();

// NotFound for an unknown name; InvalidArgument where a literal model and the data set differ,
// naming both, or where the network does not fit the sample.
absl::StatusOr<Graph> BuildModel(std::string_view name, const ModelOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_ZOO_ZOO_H_
