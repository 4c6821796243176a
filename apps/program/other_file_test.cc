#include "apps/program/other_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/array_file.h"

namespace dtnn {
namespace {

using namespace std::string_literals;
using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Folder() {
  const std::string folder = ::testing::TempDir() + "/other_file";
  std::filesystem::create_directories(folder);
  return folder;
}

// What is said of a file with these bytes, after its path.
std::string Said(const std::string& name, const std::string& bytes,
                 std::string_view program = "inspect") {
  const std::string path = Folder() + "/" + name;
  std::ofstream(path) << bytes;
  const std::string message(
      NameOtherFile(absl::DataLossError(path + ": as before"), path, program, "a model").message());
  return message.substr(path.size());
}

TEST(OtherFileTest, SaysWhatAFileIsAndWhichProgramReadsIt) {
  const std::string jpeg = "\xff\xd8\xff\xe0 and so on", zip = "PK\3\4 and so on";
  const std::string safetensors = "\x10\0\0\0\0\0\0\0{\"x\":1}"s;
  EXPECT_EQ(Said("a.jpg", jpeg), ": is a JPEG image, which predict classifies; expected a model");
  EXPECT_EQ(Said("a.npz", jpeg), ": is a JPEG image, which predict classifies; expected a model");
  EXPECT_EQ(Said("a.npz", ""), ": is empty; expected a model");
  EXPECT_EQ(Said("a.pdf", "%PDF-1.5"), ": is a PDF document; expected a model");
  EXPECT_EQ(Said("a.csv", "epoch,loss\n"),
            ": is a history, by its name, which report reads; expected a model");
  EXPECT_EQ(Said("a.npz", safetensors, "report"),
            ": is a .safetensors file; inspect and report read it under a name that ends in "
            ".safetensors; expected a model");
  EXPECT_THAT(Said("a.zip", zip, "report"), HasSubstr("under a name that ends in .npz"));
  EXPECT_THAT(
      Said("a.onnx", "\x08\x08"),
      AllOf(StartsWith(": is an ONNX model, by its name (a model is made of it by: bazel run "
                       "//apps:import -- /"),
            EndsWith("a.onnx OUT.safetensors); expected a model")));
  EXPECT_THAT(
      Said("a.pth", zip),
      EndsWith("a.pth --model=NAME --final-activation=softmax OUT.safetensors); expected a model"));
  // Nothing better is known.
  EXPECT_EQ(Said("a.onnx", "\x08\x08", "import"), ": as before");
  EXPECT_EQ(Said("a.npz", zip), ": as before");
  EXPECT_EQ(Said("a.safetensors", safetensors), ": as before");
  EXPECT_EQ(Said("a.csv", "epoch,loss\n", "report"), ": as before");
  EXPECT_EQ(Said("a.txt", "words"), ": as before");
}

// A state_dict that was saved without PyTorch's own format.
TEST(OtherFileTest, WeightsOfPyTorchAreKnownByTheirNames) {
  const Tensor values = *Tensor::Zeros(DType::kFloat32, Shape{2});
  for (const char* ending : {".safetensors", ".npz"}) {
    const std::string path = Folder() + "/state" + ending, own = Folder() + "/own" + ending;
    ASSERT_TRUE(WriteArrayFile(path, {{"layer1.0.weight", values}}, {}).ok());
    ASSERT_TRUE(WriteArrayFile(own, {{"1_Conv2D_weights", values}}, {}).ok());
    const std::string file = ending == ".npz"s ? "WEIGHTS.safetensors" : path;
    const std::string said = path +
                             ": has weights of PyTorch, by the names of its parameters (a model is "
                             "made of them" +
                             (ending == ".npz"s ? ", saved as .safetensors," : "") +
                             " by: bazel run //apps:import -- " + file + " --model=";
    const std::string end = " --final-activation=softmax OUT.safetensors)";
    EXPECT_EQ(CheckNotImportable(path, "torchvision_resnet18").message(),
              said + "torchvision_resnet18" + end);
    EXPECT_EQ(NameOtherFile(absl::DataLossError("as before"), path, "serve", "a model").message(),
              said + "NAME" + end + "; expected a model");
    EXPECT_TRUE(CheckNotImportable(own, "").ok());
    EXPECT_EQ(NameOtherFile(absl::DataLossError("as before"), own, "serve", "a model").message(),
              "as before");
  }
}

TEST(OtherFileTest, SaysThatItIsAFolderOrMissing) {
  const std::string folder = Folder();
  const auto said = [&](const std::string& path, const char* program) {
    return std::string(
        NameOtherFile(absl::DataLossError("as before"), path, program, "a model").message());
  };
  EXPECT_EQ(said(folder, "inspect"), folder +
                                         ": is a folder; report reads those with checkpoints or a "
                                         "history; expected a model");
  EXPECT_EQ(said(folder, "report"), "as before");
  EXPECT_EQ(said(folder + "/none", "inspect"),
            folder + "/none: cannot be opened: No such file or directory");
}

TEST(OtherFileTest, WeightsThatImportReadsAreRefusedByName) {
  for (const char* name : {"/r18.pth", "/r18.pt", "/net.onnx"}) {
    const std::string path = Folder() + name;
    std::ofstream(path) << "x";
    const std::string said(CheckNotImportable(path, "torchvision_resnet18").message());
    EXPECT_THAT(said, HasSubstr(" by: bazel run //apps:import -- " + path + " "));
    EXPECT_EQ(said.find("--model=torchvision_resnet18 ") != said.npos,
              name != std::string("/net.onnx"));
  }
  const std::string spaces = Folder() + "/my net's.pth";
  std::ofstream(spaces) << "x";
  EXPECT_THAT(std::string(CheckNotImportable(spaces, "a b.npz").message()),
              HasSubstr("//apps:import -- '" + Folder() + "/my net'\\''s.pth' --model='a b.npz' "));
  EXPECT_EQ(CheckNotImportable(Folder(), "").message(),
            Folder() +
                ": is a folder; expected a file of weights or of a model (.npz, "
                ".safetensors); a folder of checkpoints is for --checkpoint-dir with "
                "--resume");
  EXPECT_EQ(CheckNotImportable("none.pth", "").message(),
            "none.pth: cannot be opened: No such file or directory");
  for (const char* path : {"", "r18.npz", "r18.safetensors", "pth"}) {
    EXPECT_TRUE(CheckNotImportable(path, "").ok()) << path;
  }
}

}  // namespace
}  // namespace dtnn
