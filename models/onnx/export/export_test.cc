#include "models/onnx/export/export.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ExportTest : public ::testing::Test {
 protected:
  absl::StatusOr<onnx::ModelProto> Export(SavedModel model, const ExportOptions& options = {}) {
    auto store = *ParameterStore::Create(model.graph, *host_, model.dtype, /*seed=*/3);
    return ExportModel(model, *store, *host_, options);
  }
  static std::vector<std::string> Operators(const onnx::ModelProto& model) {
    std::vector<std::string> operators;
    for (const onnx::NodeProto& node : model.graph().node()) operators.push_back(node.op_type());
    return operators;
  }
  static std::vector<int64_t> Dims(const onnx::ModelProto& model, std::string_view tensor) {
    for (const onnx::TensorProto& found : model.graph().initializer()) {
      if (found.name() == tensor) return {found.dims().begin(), found.dims().end()};
    }
    return {};
  }
  static std::vector<int64_t> Extents(const onnx::ValueInfoProto& value) {
    std::vector<int64_t> extents;
    for (const auto& dim : value.type().tensor_type().shape().dim()) {
      extents.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
    return extents;
  }

  std::unique_ptr<DeviceContext> host_ = *DeviceContext::Create(Device::Cpu());
};

Graph Small(TensorFormat format) {
  GraphBuilder b("small", format);
  b.Input({5, 7, 3}).Conv2d(4, {.kernel = {1, 3}}).BatchNorm().Relu6();
  return *b.MaxPool2d({.window = 0}).Flatten().Fc(2).Softmax().Build();
}

TEST_F(ExportTest, LayersKeepTheirNames) {
  for (const TensorFormat format : {TensorFormat::kNHWC, TensorFormat::kNCHW}) {
    const auto model = *Export({.graph = Small(format)});
    EXPECT_THAT(Operators(model), ElementsAre("Conv", "BatchNormalization", "Clip", "GlobalMaxPool",
                                              "Flatten", "Gemm", "Softmax"));
    ASSERT_EQ(model.opset_import_size(), 1);
    EXPECT_EQ(model.opset_import(0).domain(), "");
    EXPECT_EQ(model.opset_import(0).version(), 17);
    EXPECT_EQ(model.graph().node(0).name(), "1_Conv2D");
    EXPECT_EQ(model.graph().node(5).name(), "6_FC");
    EXPECT_THAT(Dims(model, "1_Conv2D_weights"), ElementsAre(4, 3, 1, 3));
    EXPECT_THAT(Dims(model, "6_FC_weights"), ElementsAre(4, 2));
    EXPECT_THAT(Extents(model.graph().input(0)), ElementsAre(-1, 3, 5, 7));
    EXPECT_THAT(Extents(model.graph().output(0)), ElementsAre(-1, 2));
  }
}

TEST_F(ExportTest, ImagesMayComeChannelsLast) {
  const auto model =
      *Export({.graph = Small(TensorFormat::kNHWC)}, {.format = TensorFormat::kNHWC});
  EXPECT_THAT(Extents(model.graph().input(0)), ElementsAre(-1, 5, 7, 3));
  EXPECT_EQ(Operators(model)[0], "Transpose");
}

TEST_F(ExportTest, MetadataSayWhatImagesAreShownAs) {
  SavedModel saved = {.graph = Small(TensorFormat::kNHWC)};
  saved.preprocessing.normalization = {{-0.5, -0.25, 0}, {4, 2, 1}};
  saved.description.class_names = {"cat", "dog"};
  const auto model = *Export(saved);
  std::map<std::string, std::string> metadata;
  for (const auto& entry : model.metadata_props()) metadata[entry.key()] = entry.value();
  EXPECT_EQ(metadata["classes"], "cat\ndog");
  EXPECT_EQ(metadata["mean"], "0.5, 0.25, 0");
  EXPECT_EQ(metadata["std"], "0.25, 0.5, 1");
  EXPECT_EQ(metadata["channel_order"], "RGB");
  EXPECT_EQ(metadata["__preprocessing__"], ToJson(saved.preprocessing));
}

// The order of a flattened image is the file's: a layer that reads it is converted, an output
// cannot be.
TEST_F(ExportTest, OutputsInTheOrderOfNhwcAreRefused) {
  GraphBuilder nhwc("flat", TensorFormat::kNHWC), nchw("flat", TensorFormat::kNCHW);
  nhwc.Input({2, 2, 3}).Conv2d(2, {.kernel = 1}).Flatten();
  nchw.Input({2, 2, 3}).Conv2d(2, {.kernel = 1}).Flatten();
  EXPECT_THAT(std::string(Export({.graph = *nhwc.Build()}).status().message()),
              HasSubstr("in the order of NHWC"));
  EXPECT_TRUE(Export({.graph = *nchw.Build()}).ok());
}

TEST_F(ExportTest, WhatOnnxCannotSayIsNamed) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({5, 7, 3}).AdaptiveAveragePool2d({2, 3});
  EXPECT_EQ(Export({.graph = *b.Build()}).status().message(),
            "layer 1 (AdaptiveAveragePool2D): an adaptive pooling of 5 x 7 to 2 x 3, whose windows "
            "differ in size, which no operator of ONNX can say; images whose size is a multiple of "
            "the output's can be exported");
  EXPECT_THAT(
      std::string(Export({.graph = Small(TensorFormat::kNHWC)}, {.int8 = true}).status().message()),
      HasSubstr("the program quantize finds them"));
}

}  // namespace
}  // namespace dtnn
