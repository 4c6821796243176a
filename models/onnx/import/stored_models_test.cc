#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <vector>

#include "data/testing/idx_files.h"
#include "gtest/gtest.h"
#include "models/onnx/export/export.h"
#include "models/onnx/file/onnx_file.h"
#include "models/onnx/import/import.h"
#include "models/onnx/testing/answers.h"
#include "tensor/files/npy.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kFolder[] = "models/onnx/import/testdata/";

// Files of other programs, and what ONNX Runtime answers (testdata/make_models.py).
class StoredModelTest : public ::testing::TestWithParam<std::tuple<const char*, TensorFormat>> {};
INSTANTIATE_TEST_SUITE_P(
    Networks, StoredModelTest,
    ::testing::Combine(::testing::Values("resnet", "vgg", "mobilenet_v2", "squeezenet", "densenet",
                                         "googlenet", "dynamo", "tensorflow", "activations", "unet",
                                         "shufflenet", "convnext", "attention", "transformer",
                                         "padded", "tokens", "tokens_dynamo", "vision",
                                         "vision_dynamo", "convnext_dynamo", "more_activations",
                                         "more_activations_dynamo", "slices", "slices_dynamo",
                                         "groups", "group_normalization"),
                       ::testing::Values(TensorFormat::kNHWC, TensorFormat::kNCHW)),
    [](const auto& info) {
      return std::string(std::get<0>(info.param)) + std::string(Name(std::get<1>(info.param)));
    });

TEST_P(StoredModelTest, AnswersAreThoseOfOnnxRuntime) {
  const auto& [name, format] = GetParam();
  // Where tests run, files are links, which a model's data must not be.
  const std::string folder = testing::NewFolder("import"),
                    path = StrCat(folder, "/", name, ".onnx");
  for (const char* ending : {".onnx", ".onnx.data"}) {
    std::error_code missing;
    std::filesystem::copy_file(StrCat(kFolder, name, ending), StrCat(folder, "/", name, ending),
                               missing);
  }
  const auto onnx = ReadOnnx(path);
  ASSERT_TRUE(onnx.ok()) << onnx.status();
  auto host = *DeviceContext::Create(Device::Cpu());
  const auto imported = ImportModel(*onnx, path, *host, {.format = format});
  ASSERT_TRUE(imported.ok()) << imported.status();
  // A factor that is not trained, and an embedding that is.
  EXPECT_EQ(imported->notes.size(), std::string_view(name).starts_with("vision") ? 2U : 0U);
  EXPECT_EQ(imported->model.graph.format(), format);
  const Tensor expected = *ReadNpy(StrCat(kFolder, name, ".npy"));
  const Tensor x =
      testing::CountedSamples(imported->model.graph, 2, std::string_view(name) != "tensorflow");
  const std::vector<float> y =
      testing::Answers(imported->model, *imported->store, *host, folder + "/model.safetensors", x);
  ASSERT_EQ(int64_t(y.size()), expected.num_elements());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 1e-5) << i;
}

// In float32 too: what rounds to bytes from 0 on is a relu.
TEST(Int8ModelTest, AnswersAreThoseOfOnnxRuntime) {
  const std::string path = StrCat(kFolder, "resnet_int8.onnx");
  auto host = *DeviceContext::Create(Device::Cpu());
  const auto imported = ImportModel(*ReadOnnx(path), path, *host);
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->notes, std::vector<std::string>());
  const Tensor x = testing::CountedSamples(imported->model.graph, 2, /*channels_first=*/true);
  const Tensor expected = *ReadNpy(StrCat(kFolder, "resnet_int8.npy"));
  for (const bool int8 : {false, true}) {
    const std::vector<float> y =
        testing::Answers(imported->model, *imported->store, *host,
                         testing::NewFolder("import") + "/model.safetensors", x, int8);
    ASSERT_EQ(int64_t(y.size()), expected.num_elements());
    for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 0.005) << i;
  }
}

// Files that export wrote of networks above (testdata/make_exports.py).
class StoredExportTest : public ::testing::TestWithParam<const char*> {
 protected:
  StoredExportTest() : imported_(Import(StrCat(kFolder, GetParam(), ".onnx"))) {}

  absl::StatusOr<ImportedModel> Import(const std::string& path) {
    const auto onnx = ReadOnnx(path);
    if (!onnx.ok()) return onnx.status();
    return ImportModel(*onnx, path, *host_);
  }

  std::unique_ptr<DeviceContext> host_ = *DeviceContext::Create(Device::Cpu());
  const absl::StatusOr<ImportedModel> imported_;  // the network that was exported
};
INSTANTIATE_TEST_SUITE_P(Networks, StoredExportTest,
                         ::testing::Values("resnet", "shufflenet", "convnext", "slices", "groups"),
                         [](const auto& info) { return std::string(info.param); });

// Else the answers are those to another file.
TEST_P(StoredExportTest, TheExporterWritesThisFile) {
  ASSERT_TRUE(imported_.ok()) << imported_.status();
  const auto stored = ReadOnnx(StrCat(kFolder, GetParam(), "_export.onnx"));
  ASSERT_TRUE(stored.ok()) << stored.status();
  const auto exported = ExportModel(imported_->model, *imported_->store, *host_);
  ASSERT_TRUE(exported.ok()) << exported.status();
  ASSERT_EQ(exported->opset_import_size(), 1);
  EXPECT_EQ(exported->opset_import(0).ShortDebugString(),
            stored->opset_import(0).ShortDebugString());
  const onnx::GraphProto &now = exported->graph(), &then = stored->graph();
  EXPECT_EQ(now.input(0).ShortDebugString(), then.input(0).ShortDebugString());
  EXPECT_EQ(now.output(0).ShortDebugString(), then.output(0).ShortDebugString());
  ASSERT_EQ(now.node_size(), then.node_size());
  for (int i = 0; i < now.node_size(); ++i) {
    EXPECT_EQ(now.node(i).ShortDebugString(), then.node(i).ShortDebugString());
  }
  ASSERT_EQ(now.initializer_size(), then.initializer_size());
  for (int i = 0; i < now.initializer_size(); ++i) {
    EXPECT_EQ(now.initializer(i).ShortDebugString(), then.initializer(i).ShortDebugString());
  }
}

TEST_P(StoredExportTest, AnswersAreThoseOfOnnxRuntime) {
  ASSERT_TRUE(imported_.ok()) << imported_.status();
  const Tensor x = testing::CountedSamples(imported_->model.graph, 2, /*channels_first=*/true);
  const std::vector<float> y =
      testing::Answers(imported_->model, *imported_->store, *host_,
                       testing::NewFolder("export") + "/model.safetensors", x);
  const Tensor expected = *ReadNpy(StrCat(kFolder, GetParam(), "_export.npy"));
  ASSERT_EQ(int64_t(y.size()), expected.num_elements());
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected.data<float>()[i], 1e-5) << i;
}

}  // namespace
}  // namespace dtnn
