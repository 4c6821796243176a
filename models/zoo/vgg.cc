#include "models/zoo/vgg.h"

namespace dtnn {
namespace {

void AppendNormalisedHead(GraphBuilder& b, const VggOptions& options, int64_t outputs) {
  const FcOptions fc = {.initializer = options.initializer};
  for (int i = 0; i < 2; ++i) b.Dropout(0.5).Fc(options.hidden, fc).BatchNorm().Relu();
  b.Fc(outputs, fc);
}

void AppendHead(GraphBuilder& b, const VggOptions& options, int64_t outputs) {
  const FcOptions fc = {.initializer = options.initializer};
  for (int i = 0; i < 2; ++i) b.Fc(options.hidden, fc).Relu().Dropout(0.5);
  b.Fc(outputs, fc);
}

}  // namespace

void AppendVgg(GraphBuilder& b, const VggOptions& options, int64_t outputs) {
  for (const ConvGroup& group : options.groups) {
    for (int i = 0; i < group.convolutions; ++i) {
      b.Conv2d(group.filters, {.padding = 1, .initializer = options.initializer});
      if (options.batch_norm) b.BatchNorm();
      b.Relu();
    }
    b.MaxPool2d({.stride = 2});
  }
  b.Flatten();
  const bool normalised = options.batch_norm && !options.plain_head;
  normalised ? AppendNormalisedHead(b, options, outputs) : AppendHead(b, options, outputs);
}

void AppendShortVgg(GraphBuilder& b, const ShortVggOptions& options, int64_t outputs) {
  const auto activation = [&] {
    b.Relu();
    if (options.batch_norm) b.BatchNorm();
  };
  const auto dropout = [&](double rate) {
    if (rate > 0) b.Dropout(rate);
  };
  int64_t filters = 32;
  for (double rate : options.dropout_rates) {
    for (int i = 0; i < 2; ++i) {
      b.Conv2d(filters, {.padding = 1, .initializer = InitializerKind::kHeUniform});
      activation();
    }
    b.MaxPool2d({.stride = 2});
    dropout(rate);
    filters *= 2;
  }
  b.Flatten().Fc(options.hidden, {.initializer = InitializerKind::kHeUniform});
  activation();
  dropout(options.head_dropout_rate);
  b.Fc(outputs, {.initializer = options.classifier_initializer});
}

namespace {

AppendModel Append(const VggOptions& options) {
  return [options](GraphBuilder& b, int64_t outputs) { AppendVgg(b, options, outputs); };
}

AppendModel Append(const ShortVggOptions& options) {
  return [options](GraphBuilder& b, int64_t outputs) { AppendShortVgg(b, options, outputs); };
}

using Groups = std::vector<ConvGroup>;

// For photographs; the names without a data set were written with another initializer.
AppendModel Large(const Groups& groups) { return Append(VggOptions{.groups = groups}); }
AppendModel LargeGlorot(const Groups& groups) {
  return Append(VggOptions{.groups = groups, .initializer = InitializerKind::kGlorotUniform});
}
AppendModel LargeBn(const Groups& groups) {
  return Append(VggOptions{.groups = groups, .batch_norm = true});
}

// For small images.
AppendModel Small(const Groups& groups) {
  return Append(VggOptions{.groups = groups, .hidden = 512});
}
AppendModel SmallBn(const Groups& groups) {
  return Append(VggOptions{.groups = groups, .hidden = 512, .batch_norm = true});
}

}  // namespace

std::vector<ModelInfo> VggModels() {
  constexpr ModelData kCifar10 = kCifar10Data, kImageNet = kImageNetData;
  const Groups v11 = {{1, 64}, {1, 128}, {2, 256}, {2, 512}, {2, 512}};
  const Groups v16 = {{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}};
  const Groups v19 = {{2, 64}, {2, 128}, {4, 256}, {4, 512}, {4, 512}};
  const ShortVggOptions v3do = {.dropout_rates = {.2, .2, .2}, .head_dropout_rate = .2};
  const ShortVggOptions v3do2 = {.dropout_rates = {.2, .3, .4}, .head_dropout_rate = .5};
  const ShortVggOptions v3dobn = {.dropout_rates = {.2, .3, .4},
                                  .hidden = 512,
                                  .head_dropout_rate = .5,
                                  .batch_norm = true,
                                  .classifier_initializer = InitializerKind::kHeUniform};
  return {
      Adapting("vgg", kImageNet, LargeGlorot(v16), Small(v16), "another name of vgg16"),
      Adapting("vgg1", kCifar10, Append(ShortVggOptions{.dropout_rates = {0}})),
      Adapting("vgg2", kCifar10, Append(ShortVggOptions{.dropout_rates = {0, 0}})),
      Adapting("vgg3", kCifar10, Append(ShortVggOptions{.dropout_rates = {0, 0, 0}})),
      Adapting("vgg3do", kCifar10, Append(v3do), "vgg3 with dropout"),
      Adapting("vgg3do2", kCifar10, Append(v3do2), "vgg3 with more and more dropout"),
      Adapting("vgg3dobn", kCifar10, Append(v3dobn), "vgg3do2 with batch normalisation"),
      Adapting("vgg11", kImageNet, LargeGlorot(v11), Small(v11)),
      Adapting("vgg11bn", kCifar10, LargeBn(v11), SmallBn(v11)),
      Adapting("vgg16", kImageNet, LargeGlorot(v16), Small(v16)),
      Adapting("vgg16bn", kCifar10, LargeBn(v16), SmallBn(v16)),
      Adapting("vgg16_bn", kImageNet,
               Append(VggOptions{.groups = v16, .batch_norm = true, .plain_head = true}),
               "as in torchvision; vgg16bn has batch normalisation in its head too"),
      Adapting("vgg19", kImageNet, LargeGlorot(v19), Small(v19)),
      Literal("vgg11_cifar10", kCifar10, Small(v11)),
      Literal("vgg11bn_cifar10", kCifar10, SmallBn(v11)),
      Literal("vgg16_cifar10", kCifar10, Small(v16)),
      Literal("vgg16bn_cifar10", kCifar10, SmallBn(v16)),
      Literal("vgg11_imagenet", kImageNet, Large(v11)),
      Literal("vgg16_imagenet", kImageNet, Large(v16)),
      Literal("vgg19_imagenet", kImageNet, Large(v19)),
  };
}

}  // namespace dtnn
