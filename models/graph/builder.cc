#include "models/graph/builder.h"

#include <utility>

#include "layers/adaptive_average_pool2d.h"
#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "layers/channels/group_softmax.h"
#include "layers/channels/prelu.h"
#include "layers/dropout.h"
#include "layers/flatten.h"
#include "layers/input.h"
#include "layers/merging/addition.h"
#include "layers/merging/concatenation.h"
#include "layers/merging/multiplication.h"
#include "layers/merging/weighted_sum.h"
#include "layers/pixels/class_token.h"
#include "layers/pixels/pixel_slice.h"
#include "layers/pixels/position_embedding.h"
#include "layers/pixels/scale.h"
#include "layers/softmax.h"
#include "tensor/errors.h"

namespace dtnn {
GraphBuilder::GraphBuilder(std::string name, TensorFormat format) : layout_(&graph_.layout_) {
  graph_.name_ = std::move(name);
  graph_.format_ = format;
}

GraphBuilder& GraphBuilder::Input(const ImageExtents& sample) {
  if (!graph_.nodes_.empty()) {
    Fail(0, "Input", absl::InvalidArgumentError("must come first and only once"));
    return *this;
  }
  return Append(std::make_shared<InputLayer>(sample));
}

GraphBuilder& GraphBuilder::Conv2d(int64_t filters, const Conv2dOptions& options) {
  return Append(std::make_shared<Conv2dLayer>(filters, options));
}

GraphBuilder& GraphBuilder::TransposedConv2d(int64_t filters,
                                             const TransposedConv2dOptions& options) {
  return Append(std::make_shared<TransposedConv2dLayer>(filters, options));
}

GraphBuilder& GraphBuilder::Fc(int64_t outputs, const FcOptions& options) {
  return Append(std::make_shared<FcLayer>(outputs, options));
}

GraphBuilder& GraphBuilder::MaxPool2d(const Pool2dOptions& options) {
  return Append(std::make_shared<Pool2dLayer>(PoolKind::kMax, options));
}

GraphBuilder& GraphBuilder::AveragePool2d(const Pool2dOptions& options) {
  return Append(std::make_shared<Pool2dLayer>(PoolKind::kAverage, options));
}

GraphBuilder& GraphBuilder::AdaptiveAveragePool2d(const Pair& output) {
  return Append(std::make_shared<AdaptiveAveragePool2dLayer>(output));
}

GraphBuilder& GraphBuilder::Upsample2d(const Upsample2dOptions& options) {
  return Append(std::make_shared<Upsample2dLayer>(options));
}

GraphBuilder& GraphBuilder::Pad2d(const Pad2dOptions& options) {
  return Append(std::make_shared<Pad2dLayer>(options));
}

GraphBuilder& GraphBuilder::Slice2d(const Slice2dOptions& options) {
  return Append(std::make_shared<Slice2dLayer>(options));
}

GraphBuilder& GraphBuilder::ChannelShuffle(int64_t groups) {
  return Append(std::make_shared<ChannelShuffleLayer>(groups));
}

GraphBuilder& GraphBuilder::ChannelSlice(int64_t begin, int64_t count) {
  return Append(std::make_shared<ChannelSliceLayer>(begin, count));
}

GraphBuilder& GraphBuilder::Scale(double factor) {
  return Append(std::make_shared<ScaleLayer>(factor));
}

GraphBuilder& GraphBuilder::ClassToken() { return Append(std::make_shared<ClassTokenLayer>()); }

GraphBuilder& GraphBuilder::PositionEmbedding() {
  return Append(std::make_shared<PositionEmbeddingLayer>());
}

GraphBuilder& GraphBuilder::PixelSlice(int64_t begin, int64_t count) {
  return Append(std::make_shared<PixelSliceLayer>(begin, count));
}

GraphBuilder& GraphBuilder::Dropout(double rate) {
  return Append(std::make_shared<DropoutLayer>(rate));
}

GraphBuilder& GraphBuilder::Flatten() { return Append(std::make_shared<FlattenLayer>()); }

GraphBuilder& GraphBuilder::BatchNorm(const BatchNormalizationOptions& options) {
  return Append(std::make_shared<BatchNormalizationLayer>(options));
}

GraphBuilder& GraphBuilder::GroupNorm(const GroupNormalizationOptions& options) {
  return Append(std::make_shared<GroupNormalizationLayer>(options));
}

GraphBuilder& GraphBuilder::PRelu(bool per_channel) {
  return Append(std::make_shared<PReluLayer>(per_channel));
}

GraphBuilder& GraphBuilder::Activation(ActivationKind kind, const ActivationNumbers& numbers) {
  return Append(std::make_shared<ActivationLayer>(kind, numbers));
}

GraphBuilder& GraphBuilder::Softmax() { return Append(std::make_shared<SoftmaxLayer>()); }

GraphBuilder& GraphBuilder::Add(const std::vector<Path>& paths) {
  return Append(std::make_shared<AdditionLayer>(), paths);
}

GraphBuilder& GraphBuilder::Concat(const std::vector<Path>& paths) {
  return Append(std::make_shared<ConcatenationLayer>(), paths);
}

GraphBuilder& GraphBuilder::Multiply(const std::vector<Path>& paths) {
  return Append(std::make_shared<MultiplicationLayer>(), paths);
}

GraphBuilder& GraphBuilder::Scores(const std::vector<Path>& paths, const ScoresOptions& options) {
  return Append(std::make_shared<ScoresLayer>(options), paths);
}

GraphBuilder& GraphBuilder::GroupSoftmax(int64_t groups) {
  return Append(std::make_shared<GroupSoftmaxLayer>(groups));
}

GraphBuilder& GraphBuilder::WeightedSum(const std::vector<Path>& paths, int64_t heads) {
  return Append(std::make_shared<WeightedSumLayer>(heads), paths);
}

GraphBuilder& GraphBuilder::Append(std::shared_ptr<const Layer> layer) {
  if (!status_.ok()) return *this;
  if (graph_.nodes_.empty() && layer->type_name() != "Input") {
    Fail(0, layer->type_name(), absl::InvalidArgumentError("a network starts with Input"));
    return *this;
  }
  std::vector<int> inputs;
  if (current_ >= 0) inputs.push_back(current_);
  const int node = AddNode(std::move(layer), next_id_++, inputs);
  if (node < 0) return *this;
  current_ = node;
  layout_->push_back({.node = node, .paths = {}});
  return *this;
}

GraphBuilder& GraphBuilder::Append(std::shared_ptr<const Layer> merge,
                                   const std::vector<Path>& paths) {
  if (!status_.ok()) return *this;
  const int id = next_id_++;
  if (current_ < 0) {
    Fail(id, merge->type_name(), absl::InvalidArgumentError("a network starts with Input"));
    return *this;
  }
  const int start = current_;
  LayoutItem item;
  std::vector<int> ends;
  std::vector<LayoutItem>* const outer = layout_;
  for (const Path& path : paths) {
    std::vector<LayoutItem> rows;
    current_ = start;
    layout_ = &rows;
    path(*this);
    ends.push_back(current_);
    item.paths.push_back(std::move(rows));
  }
  layout_ = outer;
  if (!status_.ok()) return *this;
  item.node = AddNode(std::move(merge), id, ends);
  if (item.node < 0) return *this;
  current_ = item.node;
  layout_->push_back(std::move(item));
  return *this;
}

int GraphBuilder::AddNode(std::shared_ptr<const Layer> layer, int id,
                          const std::vector<int>& inputs) {
  const std::string type(layer->type_name());
  const absl::StatusOr<int> node = graph_.AddNode(std::move(layer), id, /*name=*/"", inputs);
  if (node.ok()) return *node;
  Fail(id, type, node.status());
  return -1;
}

void GraphBuilder::Fail(int id, std::string_view type, const absl::Status& status) {
  if (!status_.ok()) return;
  status_ =
      InvalidArgument("model ", graph_.name_, ", layer ", id, " (", type, "): ", status.message());
}

Shape GraphBuilder::current() const {
  return current_ < 0 ? Shape{} : graph_.nodes_[size_t(current_)].output;
}

absl::StatusOr<Graph> GraphBuilder::Build() {
  if (!status_.ok()) return status_;
  if (graph_.nodes_.empty()) {
    return InvalidArgument("model ", graph_.name_, " has no layers");
  }
  return graph_;
}

}  // namespace dtnn
