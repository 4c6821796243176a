#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "apps/conversion/export_model.h"
#include "apps/testing/process.h"
#include "comm/ranks/job/exit_code.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/device/context.h"
#include "models/graph/builder.h"
#include "models/onnx/file/onnx_file.h"
#include "models/serving/saved_model.h"
#include "models/serving/testing/overstated_model.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;

class ExportProgramTest : public ::testing::Test {
 protected:
  absl::Status Run(const ExportFlags& flags) {
    std::ostringstream out;
    const absl::Status status = ExportToOnnx(flags, out);
    text_ = out.str();
    return status;
  }
  std::string folder_ = testing::NewFolder("export"), text_;
};

TEST_F(ExportProgramTest, AModelsFileKeepsItsWeights) {
  GraphBuilder b("net", TensorFormat::kNHWC);
  b.Input({4, 4, 1}).Conv2d(1, {.kernel = 1, .bias = false});
  auto device = *DeviceContext::Create(Device::Cpu());
  const SavedModel model = {.graph = *b.Build(), .dtype = DType::kFloat64};
  auto store = *ParameterStore::Create(model.graph, *device, model.dtype, /*seed=*/3);
  store->Value(1, 0).data<double>()[0] = 0.75;
  const std::string path = folder_ + "/net.npz", out = folder_ + "/net.onnx";
  ASSERT_TRUE(SaveModel(path, model, *store, *device).ok());
  ASSERT_TRUE(Run({.model = path, .out = out}).ok());
  EXPECT_THAT(text_, HasSubstr("rounded to float32"));
  const auto read = *ReadOnnx(out);
  float weight = 0;
  std::memcpy(&weight, read.graph().initializer(0).raw_data().data(), sizeof(weight));
  EXPECT_EQ(weight, 0.75F);
}

TEST_F(ExportProgramTest, AFileThatPromisesTooMuchIsRefused) {
  const std::string path = folder_ + "/net.safetensors";
  const std::string message = testing::SaveOverstatedModel(path);
  EXPECT_EQ(Run({.model = path, .out = folder_ + "/net.onnx"}).message(), message);
}

TEST_F(ExportProgramTest, ANetworkOfTheZooHasInitialWeights) {
  const std::string out = folder_ + "/net.onnx";
  ASSERT_TRUE(Run({.model = "simplecnn", .out = out, .format = "NHWC"}).ok());
  EXPECT_THAT(text_, HasSubstr("simplecnn: a network of the zoo, with initial weights\n"));
  EXPECT_THAT(text_, HasSubstr("images in NHWC\n"));
  EXPECT_THAT(std::string(Run({.model = "simplecn", .out = out}).message()),
              HasSubstr("did you mean \"simplecnn\"?"));
}

TEST_F(ExportProgramTest, WhatIsNotAModelIsNamed) {
  const std::string out = folder_ + "/net.onnx";
  EXPECT_EQ(Run({.model = "vgg61", .out = out}).message(),
            "vgg61: is neither a trained model (.npz, .safetensors) nor the name of a network; did "
            "you mean \"vgg11\"? (benchmark --model=list shows all)");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  std::ofstream("image") << "\x89PNG\r\n\x1a\n";
  EXPECT_EQ(Run({.model = "image", .out = out}).message(),
            "image: is a PNG image, which predict classifies; expected a trained model (.npz, "
            ".safetensors)");
  std::filesystem::current_path(before);
}

TEST_F(ExportProgramTest, FilesOfOtherKindsAreNotReplaced) {
  const std::string out = folder_ + "/net.onnx";
  std::ofstream(out) << "a text";
  EXPECT_FALSE(Run({.model = "simplecnn", .out = out}).ok());
  EXPECT_FALSE(Run({.model = "simplecnn", .out = folder_ + "/net.safetensors"}).ok());
  EXPECT_EQ(text_, "") << "nothing was computed";
}

int ExitCode(const std::string& arguments) {
  return std::system(("apps/export/export " + arguments + " > /dev/null 2>&1").c_str()) >> 8;
}

TEST_F(ExportProgramTest, ProgramAnswersWithExitCodes) {
  EXPECT_EQ(ExitCode("--help"), 0);
  EXPECT_EQ(ExitCode("simplecnn"), kExitUsage);
  EXPECT_EQ(ExitCode("simplecnn " + folder_ + "/a.onnx --tensor-format=NWHC"), kExitUsage);
  EXPECT_EQ(ExitCode(folder_ + "/none.npz " + folder_ + "/a.onnx"), kExitFailed);
  EXPECT_EQ(ExitCode("simplecnn " + folder_ + "/a.onnx"), 0);
  const testing::Outcome eight =
      testing::Launch("apps/export/export", "simplecnn " + folder_ + "/b.onnx --math-mode=int8");
  EXPECT_EQ(eight.exit_code, kExitFailed);
  EXPECT_THAT(eight.text, HasSubstr("has no ranges of values")) << "which 8 bits need";
}

}  // namespace
}  // namespace dtnn
