#include "apps/python/network.h"

#include <pybind11/stl.h>

#include <array>
#include <optional>
#include <utility>

#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "models/graph/table.h"
#include "tensor/errors.h"
#include "tensor/text/nearest.h"
#include "tensor/text/one_line.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

using Two = std::array<int64_t, 2>;
Pair PairOf(const Two& two) { return {two[0], two[1]}; }

// The one of `kinds` that has the name.
template <class Kind, size_t kCount>
Kind KindOf(std::string_view what, std::string_view word, const Kind (&kinds)[kCount],
            std::string_view (*name)(Kind)) {
  std::vector<std::string_view> names;
  for (const Kind kind : kinds) {
    if (name(kind) == word) return kind;
    names.push_back(name(kind));
  }
  throw StatusError{InvalidArgument(what, "=", OneLine(word, 80), ": expected ", JoinOr(names))};
}

InitializerKind InitializerOf(std::string_view word) {
  return KindOf<InitializerKind>("initializer", word, kInitializerKinds, Name);
}

ConvGrouping GroupingOf(std::string_view word) {
  constexpr ConvGrouping kGroupings[] = {ConvGrouping::kStandard, ConvGrouping::kDepthwise,
                                         ConvGrouping::kPointwise};
  return KindOf<ConvGrouping>("grouping", word, kGroupings, [](ConvGrouping grouping) {
    constexpr std::string_view kNames[] = {"standard", "depthwise", "pointwise"};
    return kNames[size_t(grouping)];
  });
}

GraphBuilder::Path Play(const Layers& layers) {
  return [steps = layers.steps](GraphBuilder& builder) {
    for (const GraphBuilder::Path& step : steps) step(builder);
  };
}

std::vector<GraphBuilder::Path> PathsOf(const std::vector<const Layers*>& paths) {
  std::vector<GraphBuilder::Path> steps;
  for (const Layers* path : paths) steps.push_back(Play(*path));
  return steps;
}

}  // namespace

Network Layers::For(const Dataset* data) const {
  Network network(name);
  if (!has_input && data == nullptr) {
    throw StatusError{InvalidArgument(
        "network ", name,
        ": does not say what it takes; begin with input(height, width, channels), or give the "
        "data set as an object, such as dtnn.open_dataset(...)")};
  }
  if (!has_input) network.Input(*data);
  network.Then(Play(*this));
  return network;
}

void BindNetwork(py::module_& module) {
  py::class_<Layers>(module, "Network")
      .def(py::init([](std::string name) { return Layers{.name = std::move(name)}; }))
      .def("name", [](const Layers& self) { return Text(self.name); })
      .def("input",
           [](Layers& self, int64_t height, int64_t width, int64_t channels) {
             if (!self.steps.empty()) {
               throw StatusError{
                   InvalidArgument("network ", self.name, ": input must come first and only once")};
             }
             self.has_input = true;
             const ImageExtents sample = {.height = height, .width = width, .channels = channels};
             self.steps.push_back([=](GraphBuilder& b) { b.Input(sample); });
           })
      .def("conv2d",
           [](Layers& self, int64_t filters, Two kernel, Two stride, Two padding, Two dilation,
              bool bias, std::string_view grouping, std::string_view initializer, int64_t groups) {
             const Conv2dOptions options = {.kernel = PairOf(kernel),
                                            .stride = PairOf(stride),
                                            .padding = PairOf(padding),
                                            .dilation = PairOf(dilation),
                                            .bias = bias,
                                            .grouping = GroupingOf(grouping),
                                            .initializer = InitializerOf(initializer),
                                            .groups = groups};
             self.steps.push_back([=](GraphBuilder& b) { b.Conv2d(filters, options); });
           })
      .def(
          "transposed_conv2d",
          [](Layers& self, int64_t filters, Two kernel, Two stride, Two padding, Two output_padding,
             Two dilation, bool bias, std::string_view initializer, int64_t groups) {
            const TransposedConv2dOptions options = {.kernel = PairOf(kernel),
                                                     .stride = PairOf(stride),
                                                     .padding = PairOf(padding),
                                                     .output_padding = PairOf(output_padding),
                                                     .dilation = PairOf(dilation),
                                                     .bias = bias,
                                                     .initializer = InitializerOf(initializer),
                                                     .groups = groups};
            self.steps.push_back([=](GraphBuilder& b) { b.TransposedConv2d(filters, options); });
          })
      .def("fc",
           [](Layers& self, int64_t outputs, bool bias, std::string_view initializer) {
             const FcOptions options = {.bias = bias, .initializer = InitializerOf(initializer)};
             self.steps.push_back([=](GraphBuilder& b) { b.Fc(outputs, options); });
           })
      .def("pool2d",
           [](Layers& self, bool max, Two window, Two stride, Two padding, Two dilation,
              bool count_padding) {
             const Pool2dOptions options = {.window = PairOf(window),
                                            .stride = PairOf(stride),
                                            .padding = PairOf(padding),
                                            .dilation = PairOf(dilation),
                                            .count_padding = count_padding};
             self.steps.push_back(
                 [=](GraphBuilder& b) { max ? b.MaxPool2d(options) : b.AveragePool2d(options); });
           })
      .def(
          "adaptive_average_pool2d",
          [](Layers& self, Two output) {
            self.steps.push_back([=](GraphBuilder& b) { b.AdaptiveAveragePool2d(PairOf(output)); });
          })
      .def("upsample2d",
           [](Layers& self, Two scale, std::string_view mode, bool align_corners) {
             constexpr ResizeMode kModes[] = {ResizeMode::kNearest, ResizeMode::kLinear};
             const Upsample2dOptions options = {
                 .scale = PairOf(scale),
                 .mode = KindOf<ResizeMode>("mode", mode, kModes, Name),
                 .align_corners = align_corners};
             self.steps.push_back([=](GraphBuilder& b) { b.Upsample2d(options); });
           })
      .def("pad2d",
           [](Layers& self, Two before, Two after, std::string_view mode, double value) {
             constexpr PadMode kModes[] = {PadMode::kConstant, PadMode::kReflect, PadMode::kEdge};
             const Pad2dOptions options = {.before = PairOf(before),
                                           .after = PairOf(after),
                                           .mode = KindOf<PadMode>("mode", mode, kModes, Name),
                                           .value = value};
             self.steps.push_back([=](GraphBuilder& b) { b.Pad2d(options); });
           })
      .def("slice2d",
           [](Layers& self, Two begin, Two count, Two step) {
             const Slice2dOptions options = {
                 .begin = PairOf(begin), .count = PairOf(count), .step = PairOf(step)};
             self.steps.push_back([=](GraphBuilder& b) { b.Slice2d(options); });
           })
      .def("channel_shuffle",
           [](Layers& self, int64_t groups) {
             self.steps.push_back([=](GraphBuilder& b) { b.ChannelShuffle(groups); });
           })
      .def("channel_slice",
           [](Layers& self, int64_t begin, int64_t count) {
             self.steps.push_back([=](GraphBuilder& b) { b.ChannelSlice(begin, count); });
           })
      .def("scale",
           [](Layers& self, double factor) {
             self.steps.push_back([=](GraphBuilder& b) { b.Scale(factor); });
           })
      .def("class_token",
           [](Layers& self) { self.steps.push_back([](GraphBuilder& b) { b.ClassToken(); }); })
      .def("position_embedding",
           [](Layers& self) {
             self.steps.push_back([](GraphBuilder& b) { b.PositionEmbedding(); });
           })
      .def("pixel_slice",
           [](Layers& self, int64_t begin, int64_t count) {
             self.steps.push_back([=](GraphBuilder& b) { b.PixelSlice(begin, count); });
           })
      .def("batch_norm",
           [](Layers& self, double momentum, double epsilon) {
             self.steps.push_back(
                 [=](GraphBuilder& b) { b.BatchNorm({.momentum = momentum, .epsilon = epsilon}); });
           })
      .def("group_norm",
           [](Layers& self, int64_t groups, bool per_pixel, double epsilon) {
             const GroupNormalizationOptions options = {
                 .groups = groups, .per_pixel = per_pixel, .epsilon = epsilon};
             self.steps.push_back([=](GraphBuilder& b) { b.GroupNorm(options); });
           })
      .def("dropout",
           [](Layers& self, double rate) {
             if (!(rate >= 0 && rate <= 1)) {
               throw StatusError{InvalidArgument("dropout: needs a rate in [0, 1], not ", rate)};
             }
             self.steps.push_back([=](GraphBuilder& b) { b.Dropout(rate); });
           })
      .def("flatten",
           [](Layers& self) { self.steps.push_back([](GraphBuilder& b) { b.Flatten(); }); })
      .def("softmax",
           [](Layers& self) { self.steps.push_back([](GraphBuilder& b) { b.Softmax(); }); })
      .def("activation",
           [](Layers& self, std::string_view word, std::optional<double> slope,
              std::optional<double> alpha, std::optional<double> low, std::optional<double> high) {
             const ActivationKind kind =
                 KindOf<ActivationKind>("activation", word, kActivationKinds, Name);
             ActivationNumbers numbers;
             const auto take = [kind](std::string_view name, ActivationKind owner,
                                      std::optional<double> given, double& number) {
               if (!given) return;
               if (kind != owner) {
                 throw StatusError{InvalidArgument(name, ": no such option of ", Name(kind),
                                                   "; it is one of ", Name(owner))};
               }
               number = *given;
             };
             take("slope", ActivationKind::kLeakyRelu, slope, numbers.slope);
             take("alpha", ActivationKind::kElu, alpha, numbers.alpha);
             take("low", ActivationKind::kClip, low, numbers.low);
             take("high", ActivationKind::kClip, high, numbers.high);
             self.steps.push_back([=](GraphBuilder& b) { b.Activation(kind, numbers); });
           })
      .def("prelu",
           [](Layers& self, bool per_channel) {
             self.steps.push_back([=](GraphBuilder& b) { b.PRelu(per_channel); });
           })
      .def("add",
           [](Layers& self, const std::vector<const Layers*>& paths) {
             self.steps.push_back([paths = PathsOf(paths)](GraphBuilder& b) { b.Add(paths); });
           })
      .def("concat",
           [](Layers& self, const std::vector<const Layers*>& paths) {
             self.steps.push_back([paths = PathsOf(paths)](GraphBuilder& b) { b.Concat(paths); });
           })
      .def("multiply",
           [](Layers& self, const std::vector<const Layers*>& paths) {
             self.steps.push_back([paths = PathsOf(paths)](GraphBuilder& b) { b.Multiply(paths); });
           })
      .def("scores",
           [](Layers& self, const std::vector<const Layers*>& paths, int64_t heads, double factor) {
             const ScoresOptions options = {.heads = heads, .factor = factor};
             self.steps.push_back(
                 [=, paths = PathsOf(paths)](GraphBuilder& b) { b.Scores(paths, options); });
           })
      .def("group_softmax",
           [](Layers& self, int64_t groups) {
             self.steps.push_back([=](GraphBuilder& b) { b.GroupSoftmax(groups); });
           })
      .def("weighted_sum",
           [](Layers& self, const std::vector<const Layers*>& paths, int64_t heads) {
             self.steps.push_back(
                 [=, paths = PathsOf(paths)](GraphBuilder& b) { b.WeightedSum(paths, heads); });
           })
      .def("self_attention",
           [](Layers& self, int64_t heads, int64_t key_channels, int64_t value_channels,
              double factor, bool bias) {
             const SelfAttentionOptions options = {.heads = heads,
                                                   .key_channels = key_channels,
                                                   .value_channels = value_channels,
                                                   .factor = factor,
                                                   .bias = bias};
             self.steps.push_back([=](GraphBuilder& b) { b.SelfAttention(options); });
           })
      .def("describe", [](const Layers& self) {
        if (!self.has_input) {
          throw StatusError{InvalidArgument(
              "network ", self.name,
              ": does not say what it takes; begin with input(height, width, channels), or "
              "describe a run, which knows its data: dtnn.Run(network, data).describe()")};
        }
        GraphBuilder builder(self.name, TensorFormat::kNHWC);
        Play(self)(builder);
        return Text(FormatTable(Check(builder.Build()), DType::kFloat32, Device::Cpu()));
      });
}

}  // namespace dtnn::python
