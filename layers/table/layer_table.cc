#include "layers/table/layer_table.h"

#include "layers/activation.h"
#include "layers/adaptive_average_pool2d.h"
#include "layers/channels/channel_shuffle.h"
#include "layers/channels/channel_slice.h"
#include "layers/channels/group_softmax.h"
#include "layers/channels/prelu.h"
#include "layers/conv2d.h"
#include "layers/dropout.h"
#include "layers/fc.h"
#include "layers/flatten.h"
#include "layers/image_fc.h"
#include "layers/input.h"
#include "layers/merging/addition.h"
#include "layers/merging/concatenation.h"
#include "layers/merging/multiplication.h"
#include "layers/merging/scores.h"
#include "layers/merging/weighted_sum.h"
#include "layers/normalization/batch_normalization.h"
#include "layers/normalization/group_normalization.h"
#include "layers/pad2d.h"
#include "layers/pixels/class_token.h"
#include "layers/pixels/pixel_slice.h"
#include "layers/pixels/position_embedding.h"
#include "layers/pixels/scale.h"
#include "layers/pool2d.h"
#include "layers/slice2d.h"
#include "layers/softmax.h"
#include "layers/upsampling/transposed_conv2d.h"
#include "layers/upsampling/upsample2d.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

template <typename L>
std::shared_ptr<const Layer> WithoutAttributes(AttributeReader&) {
  return std::make_shared<L>();
}

template <ActivationKind kKind>
std::shared_ptr<const Layer> MakeActivation(AttributeReader& read) {
  return ActivationLayer::FromAttributes(kKind, read);
}

template <PoolKind kKind>
std::shared_ptr<const Layer> MakePool(AttributeReader& read) {
  return Pool2dLayer::FromAttributes(kKind, read);
}

std::shared_ptr<const Layer> MakeFc(AttributeReader& read) {
  return read.Switch("image") ? FcLayer::FromAttributes<ImageFcLayer>(read)
                              : FcLayer::FromAttributes<FcLayer>(read);
}

LayerTable MakeTable() {
  return {
      {"Input", InputLayer::FromAttributes},
      {"Conv2D", Conv2dLayer::FromAttributes},
      {"TransposedConv2D", TransposedConv2dLayer::FromAttributes},
      {"FC", MakeFc},
      {"MaxPool2D", MakePool<PoolKind::kMax>},
      {"AveragePool2D", MakePool<PoolKind::kAverage>},
      {"AdaptiveAveragePool2D", AdaptiveAveragePool2dLayer::FromAttributes},
      {"Upsample2D", Upsample2dLayer::FromAttributes},
      {"Pad2D", Pad2dLayer::FromAttributes},
      {"Slice2D", Slice2dLayer::FromAttributes},
      {"ClassToken", ClassTokenLayer::FromAttributes},
      {"PositionEmbedding", WithoutAttributes<PositionEmbeddingLayer>},
      {"PixelSlice", PixelSliceLayer::FromAttributes},
      {"Scale", ScaleLayer::FromAttributes},
      {"ChannelShuffle", ChannelShuffleLayer::FromAttributes},
      {"ChannelSlice", ChannelSliceLayer::FromAttributes},
      {"GroupSoftmax", GroupSoftmaxLayer::FromAttributes},
      {"BatchNormalization", BatchNormalizationLayer::FromAttributes},
      {"GroupNormalization", GroupNormalizationLayer::FromAttributes},
      {"Dropout", DropoutLayer::FromAttributes},
      {"Flatten", WithoutAttributes<FlattenLayer>},
      {"Softmax", WithoutAttributes<SoftmaxLayer>},
      {"AdditionBlock", WithoutAttributes<AdditionLayer>},
      {"ConcatenationBlock", WithoutAttributes<ConcatenationLayer>},
      {"MultiplicationBlock", WithoutAttributes<MultiplicationLayer>},
      {"ScoresBlock", ScoresLayer::FromAttributes},
      {"WeightedSumBlock", WeightedSumLayer::FromAttributes},
      {"PRelu", PReluLayer::FromAttributes},
      {"Relu", MakeActivation<ActivationKind::kRelu>},
      {"Sigmoid", MakeActivation<ActivationKind::kSigmoid>},
      {"Tanh", MakeActivation<ActivationKind::kTanh>},
      {"LeakyRelu", MakeActivation<ActivationKind::kLeakyRelu>},
      {"Relu6", MakeActivation<ActivationKind::kRelu6>},
      {"Arctanh", MakeActivation<ActivationKind::kArctanh>},
      {"Log", MakeActivation<ActivationKind::kLog>},
      {"HardSigmoid", MakeActivation<ActivationKind::kHardSigmoid>},
      {"SiLU", MakeActivation<ActivationKind::kSilu>},
      {"GELU", MakeActivation<ActivationKind::kGelu>},
      {"HardSwish", MakeActivation<ActivationKind::kHardSwish>},
      {"ELU", MakeActivation<ActivationKind::kElu>},
      {"Clip", MakeActivation<ActivationKind::kClip>},
      {"Softplus", MakeActivation<ActivationKind::kSoftplus>},
      {"Mish", MakeActivation<ActivationKind::kMish>},
  };
}

}  // namespace

const LayerTable& BuiltInLayers() {
  static const LayerTable& table = *new LayerTable(MakeTable());
  return table;
}

absl::StatusOr<std::shared_ptr<const Layer>> MakeLayer(std::string_view type,
                                                       const Attributes& attributes,
                                                       const LayerTable& table) {
  const auto found = table.find(type);
  if (found == table.end()) {
    return InvalidArgument("has type ", Quoted(type),
                           ", which is not a layer that this program knows");
  }
  AttributeReader read(attributes);
  std::shared_ptr<const Layer> layer = found->second(read);
  DTNN_RETURN_IF_ERROR(read.Done());
  return layer;
}

}  // namespace dtnn
