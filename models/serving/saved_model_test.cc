#include "models/serving/saved_model.h"

#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "models/graph/builder.h"
#include "models/graph/proto_text.h"
#include "models/parameters/weights.h"

namespace dtnn {
namespace {

std::string Path(const std::string& name) { return ::testing::TempDir() + "/" + name; }

SavedModel Small() {
  GraphBuilder b("small", TensorFormat::kNHWC);
  b.Input({4, 4, 3}).Conv2d(2, {.padding = 1}).Flatten().Fc(3).Softmax();
  SavedModel model = {.graph = *b.Build(), .dtype = DType::kFloat64};
  model.preprocessing.normalization = {{-0.25, -0.5, -0.75}, {1.0 / 3}};
  model.preprocessing.geometry = ImageGeometry{{.crop = 0.875, .resize = 4}, true};
  model.description = {
      .class_names = {"a \"b\"", "m\xc3\xbcnze", "\xff\n"},
      .loss = "categorical_cross_entropy",
      .conv_variant = "im2col",
      .fusions = {.conv_bn_relu = false, .conv_relu = false},
      .training = {.dataset = "folder",
                   .epochs = 3,
                   .optimizer = "adam",
                   .learning_rate = 0.1,
                   .metrics = {{"categorical_accuracy", 0.1 + 0.2}, {"val_mse", 1e-300}}}};
  return model;
}

class SavedModelTest : public ::testing::Test {
 protected:
  std::string Saved(const SavedModel& model, const std::string& name) {
    const auto store = *ParameterStore::Create(model.graph, *device_, model.dtype, 1);
    const absl::Status status = SaveModel(Path(name), model, *store, *device_);
    EXPECT_TRUE(status.ok()) << status;
    return Path(name);
  }
  // The same file with one text changed, or without it.
  std::string Changed(const std::string& tag, const std::string& text) {
    const SavedModel model = Small();
    NamedTexts tags = ModelTags(model);
    tags.emplace_back("__dtype__", "float64");
    for (auto& [name, value] : tags) {
      if (name == tag) value = text;
    }
    if (text.empty()) std::erase_if(tags, [&](const auto& one) { return one.first == tag; });
    EXPECT_TRUE(WriteArrayFile(Path("changed.safetensors"), {}, tags).ok());
    ArrayFileReader file = *ArrayFileReader::Open(Path("changed.safetensors"));
    return std::string(ReadModel(file).status().message());
  }

  std::unique_ptr<DeviceContext> device_ = *DeviceContext::Create(Device::Cpu());
};

TEST_F(SavedModelTest, ComesBackFromEitherKindOfFile) {
  const SavedModel model = Small();
  for (const char* name : {"model.safetensors", "model.npz"}) {
    ArrayFileReader file = *ArrayFileReader::Open(Saved(model, name));
    EXPECT_TRUE(HoldsModel(file).value());
    const absl::StatusOr<SavedModel> back = ReadModel(file);
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(ModelTags(*back), ModelTags(model));
    EXPECT_EQ(back->description, model.description);
    EXPECT_EQ(back->dtype, DType::kFloat64);
    EXPECT_EQ(back->preprocessing.geometry, model.preprocessing.geometry);
  }
}

TEST_F(SavedModelTest, TheElementTypeIsWhatTheFileSaysAndFloat32WithoutAWord) {
  const auto type = [&](const std::string& text) -> std::optional<DType> {
    EXPECT_EQ(Changed("__dtype__", text), "");
    ArrayFileReader file = *ArrayFileReader::Open(Path("changed.safetensors"));
    const absl::StatusOr<SavedModel> model = ReadModel(file);
    return model.ok() ? std::optional(model->dtype) : std::nullopt;
  };
  EXPECT_EQ(type("float64"), DType::kFloat64);
  EXPECT_EQ(type("float32"), DType::kFloat32);
  EXPECT_EQ(type(""), DType::kFloat32);
}

// What is written can be read, to the byte.
TEST_F(SavedModelTest, TextsThatNobodyCouldReadAreNotWritten) {
  SavedModel model = Small();
  const auto description = [&] { return ModelTags(model)[2].second.size(); };
  model.description.written_by = "x";
  model.description.written_by.append(kMostProtoText - description(), 'x');
  ASSERT_EQ(description(), kMostProtoText);
  for (const char* name : {"long.safetensors", "long.npz"}) {
    ArrayFileReader file = *ArrayFileReader::Open(Saved(model, name));
    EXPECT_EQ(ReadModel(file).status(), absl::OkStatus()) << name;
  }
  model.description.written_by += 'x';
  const auto store = *ParameterStore::Create(model.graph, *device_, model.dtype, 1);
  const std::string path = Path("longer.safetensors");
  const absl::Status status = SaveModel(path, model, *store, *device_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            path +
                ": the model's text \"__description__\" has 8388609 bytes; at most 8388608 can "
                "be read again; use shorter names of classes");
  EXPECT_FALSE(ArrayFileReader::Open(path).ok());
}

TEST_F(SavedModelTest, ParametersAloneAreNoModel) {
  const SavedModel model = Small();
  const auto store = *ParameterStore::Create(model.graph, *device_, model.dtype, 1);
  const std::string path = Path("weights.safetensors");
  ASSERT_TRUE(SaveWeights(path, model.graph, *store, *device_).ok());
  ArrayFileReader file = *ArrayFileReader::Open(path);
  EXPECT_FALSE(HoldsModel(file).value());
  const absl::Status status = ReadModel(file).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(
      status.message(),
      path +
          ": has no text \"__network__\": it contains parameters only, not their network; the "
          "program benchmark writes both when it tests the parameters and saves a model");
  const std::string torch = Path("torch.safetensors");
  ASSERT_TRUE(
      WriteArrayFile(torch, {{"conv1.weight", *Tensor::Zeros(DType::kFloat32, Shape{2})}}, {})
          .ok());
  ArrayFileReader state = *ArrayFileReader::Open(torch);
  EXPECT_EQ(ReadModel(state).status().message(),
            torch +
                ": has weights of PyTorch, by their names; the program import makes a model of "
                "them");
}

TEST_F(SavedModelTest, WhatIsWrongNamesFileAndText) {
  const std::string file = Path("changed.safetensors") + ", text ";
  EXPECT_EQ(Changed("__network__", "version: one"),
            file + "\"__network__\": line 1, column 10: Expected integer, got: one");
  EXPECT_EQ(Changed("__network__", "version: 1 format: \"NHWC\""),
            file + "\"__network__\": network \"\": has 0 nodes, expected 1 to 65536");
  EXPECT_EQ(Changed("__dtype__", "float16"),
            file + "\"__dtype__\": is neither float32 nor float64");
  EXPECT_TRUE(
      Changed("__preprocessing__", "{}").starts_with(file + "\"__preprocessing__\": describes"));
  EXPECT_EQ(Changed("__description__", "version: 1 class_name: \"a\""),
            file + "\"__description__\": names 1 classes, but the network has 3 outputs");
  EXPECT_EQ(Changed("__network__", "format: \"NHWC\""),
            file + "\"__network__\": network \"\": has version 0; this program reads version 1");
  EXPECT_EQ(Changed("__description__", "loss: \"mse\""),
            file + "\"__description__\": has version 0; this program reads version 1");
  EXPECT_EQ(Changed("__description__", "version: 9"),
            file + "\"__description__\": has version 9; this program reads version 1");
  EXPECT_EQ(Changed("__description__", "version: 1 fusion: \"all\""),
            file + "\"__description__\": names the unknown fusion \"all\"");
  EXPECT_NE(Changed("__description__", ""), "");
  EXPECT_EQ(Changed("__preprocessing__", ""), "") << "images are then shown as byte / 255";
}

}  // namespace
}  // namespace dtnn
