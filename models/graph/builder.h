// Builds networks with one call per layer:
//
//   GraphBuilder b("resnet_head", TensorFormat::kNHWC);
//   b.Input({32, 32, 3}).Conv2d(16, {.padding = 1}).Relu();
//   const GraphBuilder::Path conv = [](GraphBuilder& p) { p.Conv2d(16, {.padding = 1}); };
//   b.Add({conv, GraphBuilder::Identity()}).Relu();
//   b.Flatten().Fc(10).Softmax();
//   absl::StatusOr<Graph> graph = b.Build();
//
// Each call appends a layer to the current path. The first mistake (a kernel larger than its image,
// paths that do not match) is kept and returned by Build, naming the layer by id and type.

#ifndef DTNN_MODELS_GRAPH_BUILDER_H_
#define DTNN_MODELS_GRAPH_BUILDER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "layers/activation.h"
#include "layers/base/layer.h"
#include "layers/conv2d.h"
#include "layers/fc.h"
#include "layers/merging/scores.h"
#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "layers/pad2d.h"
#include "layers/pool2d.h"
#include "layers/slice2d.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "layers/upsampling/upsample2d.h"
#include "models/graph/graph.h"

namespace dtnn {

// Convolutions of 1x1 make queries, keys and values of an image, and one more makes a residual of
// what attention gives.
struct SelfAttentionOptions {
  int64_t heads = 1;  // each has channels of its own; they are divided evenly
  // Of queries and keys together, and of the values; 0: those of the image.
  int64_t key_channels = 0, value_channels = 0;
  double factor = 0;  // of the scores; 0: 1 / sqrt(channels of a head)
  bool bias = true;   // of the convolutions
};

class GraphBuilder {
 public:
  // A path of a block: appends layers to the builder it is given; Identity() appends none.
  using Path = std::function<void(GraphBuilder&)>;
  static Path Identity() {
    return [](GraphBuilder&) {};
  }

  GraphBuilder(std::string name, TensorFormat format);
  GraphBuilder(const GraphBuilder&) = delete;
  GraphBuilder& operator=(const GraphBuilder&) = delete;

  // Exactly once, first.
  GraphBuilder& Input(const ImageExtents& sample);
  GraphBuilder& Conv2d(int64_t filters, const Conv2dOptions& options = {});
  GraphBuilder& TransposedConv2d(int64_t filters, const TransposedConv2dOptions& options = {});
  GraphBuilder& Fc(int64_t outputs, const FcOptions& options = {});
  GraphBuilder& MaxPool2d(const Pool2dOptions& options = {});
  GraphBuilder& AveragePool2d(const Pool2dOptions& options = {});
  GraphBuilder& AdaptiveAveragePool2d(const Pair& output);
  GraphBuilder& Upsample2d(const Upsample2dOptions& options = {});
  GraphBuilder& Pad2d(const Pad2dOptions& options);
  // Some rows and columns.
  GraphBuilder& Slice2d(const Slice2dOptions& options);
  GraphBuilder& ChannelShuffle(int64_t groups);
  // Channels begin .. begin + count - 1.
  GraphBuilder& ChannelSlice(int64_t begin, int64_t count);
  // Times one number, which training does not change.
  GraphBuilder& Scale(double factor);
  // A learned pixel before all others, which stand in one row then.
  GraphBuilder& ClassToken();
  // A learned number for each element.
  GraphBuilder& PositionEmbedding();
  // Pixels begin .. begin + count - 1, row by row.
  GraphBuilder& PixelSlice(int64_t begin, int64_t count);
  GraphBuilder& Dropout(double rate);
  GraphBuilder& Flatten();
  GraphBuilder& BatchNorm(const BatchNormalizationOptions& options = {});
  GraphBuilder& GroupNorm(const GroupNormalizationOptions& options = {});
  GraphBuilder& Relu() { return Activation(ActivationKind::kRelu); }
  GraphBuilder& Sigmoid() { return Activation(ActivationKind::kSigmoid); }
  GraphBuilder& Tanh() { return Activation(ActivationKind::kTanh); }
  GraphBuilder& LeakyRelu(double slope = ActivationNumbers().slope) {
    return Activation(ActivationKind::kLeakyRelu, {.slope = slope});
  }
  GraphBuilder& Relu6() { return Activation(ActivationKind::kRelu6); }
  GraphBuilder& Arctanh() { return Activation(ActivationKind::kArctanh); }
  GraphBuilder& Log() { return Activation(ActivationKind::kLog); }
  GraphBuilder& HardSigmoid() { return Activation(ActivationKind::kHardSigmoid); }
  GraphBuilder& Silu() { return Activation(ActivationKind::kSilu); }
  GraphBuilder& Gelu() { return Activation(ActivationKind::kGelu); }
  GraphBuilder& HardSwish() { return Activation(ActivationKind::kHardSwish); }
  GraphBuilder& Elu(double alpha = 1) { return Activation(ActivationKind::kElu, {.alpha = alpha}); }
  GraphBuilder& Clip(double low, double high) {
    return Activation(ActivationKind::kClip, {.low = low, .high = high});
  }
  GraphBuilder& Softplus() { return Activation(ActivationKind::kSoftplus); }
  GraphBuilder& Mish() { return Activation(ActivationKind::kMish); }
  // A relu whose slope below 0 is trained: one for each channel or feature, or one for all.
  GraphBuilder& PRelu(bool per_channel = true);
  GraphBuilder& Activation(ActivationKind kind, const ActivationNumbers& numbers = {});
  GraphBuilder& Softmax();
  GraphBuilder& Add(const std::vector<Path>& paths);
  GraphBuilder& Concat(const std::vector<Path>& paths);
  // An image times a factor for each channel: what the second path makes of it, as one pixel.
  GraphBuilder& Multiply(const std::vector<Path>& paths);
  // What attention is made of: queries and keys; groups of channels; weights and values.
  GraphBuilder& Scores(const std::vector<Path>& paths, const ScoresOptions& options = {});
  GraphBuilder& GroupSoftmax(int64_t groups = 1);
  GraphBuilder& WeightedSum(const std::vector<Path>& paths, int64_t heads = 1);
  // The image, and what each of its pixels gathers from all of them, added (Vaswani et al., 2017;
  // for images Zhang et al., "Self-Attention Generative Adversarial Networks", 2019). Memory grows
  // with the square of the pixels.
  GraphBuilder& SelfAttention(const SelfAttentionOptions& options = {});
  // A layer of the user's own.
  GraphBuilder& Append(std::shared_ptr<const Layer> layer);
  // The same for one that makes one value of several paths.
  GraphBuilder& Append(std::shared_ptr<const Layer> merge, const std::vector<Path>& paths);

  // Shape of one sample where the next layer would be appended.
  Shape current() const;

  absl::StatusOr<Graph> Build();

 private:
  // Appends a node at the current place; -1 and a kept error where it does not fit.
  int AddNode(std::shared_ptr<const Layer> layer, int id, const std::vector<int>& inputs);
  void Fail(int id, std::string_view type, const absl::Status& status);

  Graph graph_;
  absl::Status status_;
  int next_id_ = 0;
  int current_ = -1;                 // node whose output the next layer takes
  std::vector<LayoutItem>* layout_;  // rows of the current path
};

}  // namespace dtnn

#endif  // DTNN_MODELS_GRAPH_BUILDER_H_
