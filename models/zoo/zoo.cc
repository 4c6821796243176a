#include "models/zoo/zoo.h"

#include <string>
#include <utility>

#include "models/zoo/alexnet.h"
#include "models/zoo/convnext.h"
#include "models/zoo/densenet.h"
#include "models/zoo/googlenet.h"
#include "models/zoo/inception.h"
#include "models/zoo/inverted_residual.h"
#include "models/zoo/mobilenet.h"
#include "models/zoo/regnet.h"
#include "models/zoo/resnet.h"
#include "models/zoo/shufflenet.h"
#include "models/zoo/simple.h"
#include "models/zoo/squeezenet.h"
#include "models/zoo/unet.h"
#include "models/zoo/vgg.h"
#include "tensor/errors.h"
#include "tensor/named_table.h"

namespace dtnn {
namespace {

std::vector<ModelInfo> AllFamilies() {
  std::vector<ModelInfo> models;
  for (const auto& family :
       {SimpleModels, AlexNetModels, VggModels, GoogLeNetModels, InceptionModels, ResNetModels,
        DenseNetModels, MobileNetModels, InvertedResidualModels, SqueezeNetModels, RegNetModels,
        ConvNextModels, ShuffleNetModels, UNetModels}) {
    const std::vector<ModelInfo> members = family();
    models.insert(models.end(), members.begin(), members.end());
  }
  return models;
}

void AppendActivation(GraphBuilder& b, FinalActivation activation) {
  switch (activation) {
    case FinalActivation::kSoftmax:
      b.Softmax();
      break;
    case FinalActivation::kSigmoid:
      b.Sigmoid();
      break;
    case FinalActivation::kOther:
      break;
  }
}

absl::Status CheckSides(const ModelInfo& info, const ImageExtents& sample) {
  for (const auto& [name, side] : {std::pair("height", sample.height), {"width", sample.width}}) {
    if (side % info.side_multiple == 0) continue;
    return InvalidArgument("model ", info.name, " takes images whose sides are multiples of ",
                           info.side_multiple, ", but the ", name, " of ", ToString(sample),
                           " (height x width x channels) is ", side,
                           "; pad, crop or resize the images");
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<ModelInfo>& ZooModels() {
  static const std::vector<ModelInfo>& models = *new std::vector<ModelInfo>(AllFamilies());
  return models;
}

absl::StatusOr<Graph> BuildModel(std::string_view name, const ModelOptions& options) {
  DTNN_ASSIGN_OR_RETURN(const ModelInfo* info, FindNamed(ZooModels(), "model", name));
  const ModelData& own = info->data;
  const ImageExtents sample = options.sample.value_or(own.sample);
  const int64_t classes = options.classes.value_or(own.classes);
  if (!info->adapts && (sample != own.sample || classes != own.classes)) {
    return InvalidArgument(
        "model ", name, " takes samples of ", ToString(own.sample),
        " (height x width x channels) and ", own.classes, " classes, but the data set has ",
        ToString(sample), " and ", classes,
        "; networks without a data set in their names, such as resnet20, adapt to the data");
  }
  DTNN_RETURN_IF_ERROR(CheckSides(*info, sample));
  GraphBuilder builder(std::string(name), options.format);
  builder.Input(sample);
  const bool small = IsSmall(sample) && info->append_small != nullptr;
  (small ? info->append_small : info->append)(builder, classes);
  AppendActivation(builder, info->adapts ? options.final_activation : FinalActivation::kSoftmax);
  return builder.Build();
}

}  // namespace dtnn
