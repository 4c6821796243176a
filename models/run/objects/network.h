// A network as one writes it down, before a format and a device are chosen:
//
//   Network net = Network("mine").Input(data).Conv2d(8).Relu().Flatten().Fc(10).Softmax();
//   Network deep = Network::Zoo("resnet20", data);
//
// The calls are those of GraphBuilder (models/graph/builder.h), which Build plays back; mistakes
// are found there, and named by layer. Cheap to copy.

#ifndef DTNN_MODELS_RUN_OBJECTS_NETWORK_H_
#define DTNN_MODELS_RUN_OBJECTS_NETWORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/graph/builder.h"
#include "models/graph/graph.h"
#include "optim/losses/loss.h"
#include "tensor/format.h"

namespace dtnn {

class Network {
 public:
  using Path = GraphBuilder::Path;

  explicit Network(std::string name) : name_(std::move(name)) {}
  // A network of the zoo (models/zoo/zoo.h), fitted to a data set's samples and classes.
  static Network Zoo(std::string name, const Dataset& data);

  Network& Input(const ImageExtents& sample) {
    return Then([sample](GraphBuilder& b) { b.Input(sample); });
  }
  Network& Input(const Dataset& data) { return Input(data.sample()); }
  Network& Conv2d(int64_t filters, const Conv2dOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.Conv2d(filters, options); });
  }
  Network& TransposedConv2d(int64_t filters, const TransposedConv2dOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.TransposedConv2d(filters, options); });
  }
  Network& Fc(int64_t outputs, const FcOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.Fc(outputs, options); });
  }
  Network& MaxPool2d(const Pool2dOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.MaxPool2d(options); });
  }
  Network& AveragePool2d(const Pool2dOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.AveragePool2d(options); });
  }
  Network& AdaptiveAveragePool2d(const Pair& output) {
    return Then([=](GraphBuilder& b) { b.AdaptiveAveragePool2d(output); });
  }
  Network& Upsample2d(const Upsample2dOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.Upsample2d(options); });
  }
  Network& Pad2d(const Pad2dOptions& options) {
    return Then([=](GraphBuilder& b) { b.Pad2d(options); });
  }
  Network& Slice2d(const Slice2dOptions& options) {
    return Then([=](GraphBuilder& b) { b.Slice2d(options); });
  }
  Network& ChannelShuffle(int64_t groups) {
    return Then([=](GraphBuilder& b) { b.ChannelShuffle(groups); });
  }
  Network& ChannelSlice(int64_t begin, int64_t count) {
    return Then([=](GraphBuilder& b) { b.ChannelSlice(begin, count); });
  }
  Network& Scale(double factor) {
    return Then([=](GraphBuilder& b) { b.Scale(factor); });
  }
  Network& ClassToken() {
    return Then([](GraphBuilder& b) { b.ClassToken(); });
  }
  Network& PositionEmbedding() {
    return Then([](GraphBuilder& b) { b.PositionEmbedding(); });
  }
  Network& PixelSlice(int64_t begin, int64_t count) {
    return Then([=](GraphBuilder& b) { b.PixelSlice(begin, count); });
  }
  Network& BatchNorm(const BatchNormalizationOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.BatchNorm(options); });
  }
  Network& GroupNorm(const GroupNormalizationOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.GroupNorm(options); });
  }
  Network& Dropout(double rate) {
    return Then([=](GraphBuilder& b) { b.Dropout(rate); });
  }
  Network& Flatten() {
    return Then([](GraphBuilder& b) { b.Flatten(); });
  }
  Network& Activation(ActivationKind kind, const ActivationNumbers& numbers = {}) {
    return Then([=](GraphBuilder& b) { b.Activation(kind, numbers); });
  }
  Network& Relu() { return Activation(ActivationKind::kRelu); }
  Network& Sigmoid() { return Activation(ActivationKind::kSigmoid); }
  Network& Tanh() { return Activation(ActivationKind::kTanh); }
  Network& LeakyRelu(double slope = ActivationNumbers().slope) {
    return Activation(ActivationKind::kLeakyRelu, {.slope = slope});
  }
  Network& Relu6() { return Activation(ActivationKind::kRelu6); }
  Network& Arctanh() { return Activation(ActivationKind::kArctanh); }
  Network& Log() { return Activation(ActivationKind::kLog); }
  Network& HardSigmoid() { return Activation(ActivationKind::kHardSigmoid); }
  Network& Silu() { return Activation(ActivationKind::kSilu); }
  Network& Gelu() { return Activation(ActivationKind::kGelu); }
  Network& HardSwish() { return Activation(ActivationKind::kHardSwish); }
  Network& Elu(double alpha = 1) { return Activation(ActivationKind::kElu, {.alpha = alpha}); }
  Network& Clip(double low, double high) {
    return Activation(ActivationKind::kClip, {.low = low, .high = high});
  }
  Network& Softplus() { return Activation(ActivationKind::kSoftplus); }
  Network& Mish() { return Activation(ActivationKind::kMish); }
  Network& PRelu(bool per_channel = true) {
    return Then([=](GraphBuilder& b) { b.PRelu(per_channel); });
  }
  Network& Softmax() {
    return Then([](GraphBuilder& b) { b.Softmax(); });
  }
  Network& Add(std::vector<Path> paths) {
    return Then([paths = std::move(paths)](GraphBuilder& b) { b.Add(paths); });
  }
  Network& Concat(std::vector<Path> paths) {
    return Then([paths = std::move(paths)](GraphBuilder& b) { b.Concat(paths); });
  }
  Network& Multiply(std::vector<Path> paths) {
    return Then([paths = std::move(paths)](GraphBuilder& b) { b.Multiply(paths); });
  }
  Network& Scores(std::vector<Path> paths, const ScoresOptions& options = {}) {
    return Then([paths = std::move(paths), options](GraphBuilder& b) { b.Scores(paths, options); });
  }
  Network& GroupSoftmax(int64_t groups = 1) {
    return Then([=](GraphBuilder& b) { b.GroupSoftmax(groups); });
  }
  Network& WeightedSum(std::vector<Path> paths, int64_t heads = 1) {
    return Then(
        [paths = std::move(paths), heads](GraphBuilder& b) { b.WeightedSum(paths, heads); });
  }
  Network& SelfAttention(const SelfAttentionOptions& options = {}) {
    return Then([=](GraphBuilder& b) { b.SelfAttention(options); });
  }
  // A layer of your own.
  Network& Append(std::shared_ptr<const Layer> layer) {
    return Then([layer = std::move(layer)](GraphBuilder& b) { b.Append(layer); });
  }
  // A layer of your own that merges paths.
  Network& Append(std::shared_ptr<const Layer> merge, std::vector<Path> paths) {
    return Then([merge = std::move(merge), paths = std::move(paths)](GraphBuilder& b) {
      b.Append(merge, paths);
    });
  }
  // Steps of a builder.
  Network& Then(Path steps);

  const std::string& name() const { return name_; }
  // `loss`: what a network of the zoo ends in follows from it.
  absl::StatusOr<Graph> Build(TensorFormat format, const Loss& loss) const;

 private:
  std::string name_;
  std::vector<Path> steps_;
  // For a network of the zoo.
  std::function<absl::StatusOr<Graph>(TensorFormat format, const Loss& loss)> build_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBJECTS_NETWORK_H_
