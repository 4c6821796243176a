#include "apps/program/other_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

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
  EXPECT_EQ(CheckNotImportable("none.pth", "").message(),
            "none.pth: cannot be opened: No such file or directory");
  for (const char* path : {"", "r18.npz", "r18.safetensors", "pth"}) {
    EXPECT_TRUE(CheckNotImportable(path, "").ok()) << path;
  }
}

}  // namespace
}  // namespace dtnn
