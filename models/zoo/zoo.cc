#include "models/zoo/zoo.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "models/zoo/simple.h"
#include "models/zoo/vgg.h"

namespace dtnn {
namespace {

constexpr ImageExtents kMnist = {28, 28, 1};
constexpr ImageExtents kCifar10 = {32, 32, 3};

std::string Text(const ImageExtents& e) {
  return absl::StrCat(e.height, "x", e.width, "x", e.channels);
}

}  // namespace

const std::vector<ModelInfo>& ZooModels() {
  static const std::vector<ModelInfo>& models = *new std::vector<ModelInfo>{
      {"simplemlp", kMnist, 10, true, AppendSimpleMlp},
      {"simplecnn", kMnist, 10, true, AppendSimpleCnn},
      {"simplecnn8", kMnist, 10, true, AppendSimpleCnn8},
      {"vgg16_cifar10", kCifar10, 10, false, AppendVgg16Cifar10},
  };
  return models;
}

absl::StatusOr<Graph> BuildModel(std::string_view name, const ModelOptions& options) {
  const ModelInfo* info = nullptr;
  for (const ModelInfo& model : ZooModels()) {
    if (model.name == name) info = &model;
  }
  if (info == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("unknown model \"", std::string(name), "\"; --model=list shows all"));
  }
  const ImageExtents sample = options.sample.value_or(info->sample);
  const int64_t classes = options.classes.value_or(info->classes);
  if (!info->adapts && (sample != info->sample || classes != info->classes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model ", std::string(name), " takes samples of ", Text(info->sample),
                     " (height x width x channels) and ", info->classes,
                     " classes, but the data set has ", Text(sample), " and ", classes));
  }
  GraphBuilder builder(std::string(name), options.format);
  builder.Input(sample);
  info->append(builder, classes);
  return builder.Build();
}

}  // namespace dtnn
