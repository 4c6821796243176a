#include "models/zoo/inception.h"

namespace dtnn {
namespace {

using Path = GraphBuilder::Path;

constexpr Pair kRow = {1, 7}, kColumn = {7, 1};
constexpr Pool2dOptions kHalve = {.window = 3, .stride = 2};

struct Conv {
  int64_t filters;
  Pair kernel, padding = 0, stride = 1;
};

// Blocks A see images of an eighth of the input's size, B and D halve them, C stand between B and
// D, E at the end. `Either` chooses paddings: as published, or swapped.
class InceptionMaker {
 public:
  InceptionMaker(GraphBuilder& b, const InceptionOptions& options) : b_(b), options_(options) {}

  void AppendStem() {
    const bool small = options_.small_images;
    const Pair padding = small ? 1 : 0;
    AppendConvs(b_, {{32, 3, padding, small ? 1 : 2}, {32, 3, padding}, {64, 3, 1}});
    if (!small) b_.MaxPool2d(kHalve);
    AppendConvs(b_, {{80, 1}, {192, 3, padding}});
    if (!small) b_.MaxPool2d(kHalve);
  }

  void AppendBlockA(int64_t pool_filters) {
    b_.Concat({Convs({{64, 1}}), Convs({{48, 1}, {64, 5, 2}}),
               Convs({{64, 1}, {96, 3, 1}, {96, 3, 1}}), PoolAndConv(1, {pool_filters, 1})});
  }

  void AppendBlockB() {
    b_.Concat({Convs({{384, 3, 0, 2}}),
               Convs({{64, 1}, {96, 3, Either(1, 0)}, {96, 3, Either(0, 1), 2}}), Halved()});
  }

  void AppendBlockC(int64_t middle) {
    const Pair row = Either({0, 3}, {3, 0}), column = Either({3, 0}, {0, 3});
    b_.Concat({Convs({{192, 1}}), Convs({{middle, 1}, {middle, kRow, row}, {192, kColumn, column}}),
               Convs({{middle, 1},
                      {middle, kColumn, column},
                      {middle, kRow, row},
                      {middle, kColumn, column},
                      {192, kRow, row}}),
               PoolAndConv(1, {192, 1})});
  }

  void AppendBlockD() {
    b_.Concat({Convs({{192, 1}, {320, 3, 0, 2}}),
               Convs({{192, 1, Either(0, 1)},
                      {192, kRow, Either({0, 3}, 1)},
                      {192, kColumn, Either({3, 0}, 1)},
                      {192, 3, 0, 2}}),
               Halved()});
  }

  void AppendBlockE() {
    const std::vector<Path> row_and_column = {Convs({{384, {1, 3}, {0, 1}}}),
                                              Convs({{384, {3, 1}, {1, 0}}})};
    b_.Concat({Convs({{320, 1}}),
               [&](GraphBuilder& p) {
                 AppendConvs(p, {{384, 1}});
                 p.Concat(row_and_column);
               },
               [&](GraphBuilder& p) {
                 AppendConvs(p, {{448, 1}, {384, 3, 1}});
                 p.Concat(row_and_column);
               },
               PoolAndConv(Either(1, 0), {192, 1, Either(0, 1)})});
  }

 private:
  Pair Either(Pair published, Pair swapped) const {
    return options_.swapped_padding ? swapped : published;
  }

  void AppendConvs(GraphBuilder& b, const std::vector<Conv>& convs) const {
    for (const Conv& conv : convs) {
      b.Conv2d(conv.filters / options_.width_divisor, {.kernel = conv.kernel,
                                                       .stride = conv.stride,
                                                       .padding = conv.padding,
                                                       .initializer = InitializerKind::kHeUniform});
      if (options_.normalised) b.BatchNorm().Relu();
    }
  }

  Path Convs(std::vector<Conv> convs) const {
    return [this, convs](GraphBuilder& p) { AppendConvs(p, convs); };
  }
  Path PoolAndConv(Pair pool_padding, Conv conv) const {
    return [=, this](GraphBuilder& p) {
      p.AveragePool2d({.window = 3, .padding = pool_padding});
      AppendConvs(p, {conv});
    };
  }
  static Path Halved() {
    return [](GraphBuilder& p) { p.MaxPool2d(kHalve); };
  }

  GraphBuilder& b_;
  const InceptionOptions& options_;
};

}  // namespace

void AppendInceptionV3(GraphBuilder& b, const InceptionOptions& options, int64_t outputs) {
  InceptionMaker maker(b, options);
  maker.AppendStem();
  for (int64_t pool_filters : {32, 64, 64}) maker.AppendBlockA(pool_filters);
  maker.AppendBlockB();
  for (int64_t middle : {128, 160, 160, 192}) maker.AppendBlockC(middle);
  maker.AppendBlockD();
  for (int i = 0; i < 2; ++i) maker.AppendBlockE();
  b.AveragePool2d({.window = options.final_window}).Flatten();
  b.Fc(1024 / options.width_divisor).BatchNorm().Relu();
  b.Fc(outputs);
}

std::vector<ModelInfo> InceptionModels() {
  const auto append = [](const InceptionOptions& options) -> AppendModel {
    return [options](GraphBuilder& b, int64_t outputs) { AppendInceptionV3(b, options, outputs); };
  };
  constexpr ImageExtents kSample = {299, 299, 3};
  constexpr ModelData kPhotographs = {kSample, 1000};
  constexpr std::string_view kLinear =
      "no activations between its convolutions; see inceptionv3_bn";
  return {
      Adapting("inceptionv3", kPhotographs, append({}), append({.small_images = true}), kLinear),
      Adapting("inceptionv3_bn", kPhotographs, append({.normalised = true}),
               append({.small_images = true, .normalised = true}),
               "with batch normalisation and relu after every convolution"),
      Literal("inceptionv3_cifar10", {kSample, 10},
              append({.swapped_padding = true, .final_window = 8}),
              "takes images of 299x299; inceptionv3 takes any"),
      Literal("inceptionv3_imagenet", kImageNetData, append({.swapped_padding = true}), kLinear),
  };
}

}  // namespace dtnn
