#include "tensor/files/array_file.h"

#include <filesystem>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(ArrayFileTest, BothFormatsGiveBackArraysAndTexts) {
  const Tensor tensor = testing::RandomTensor(DType::kFloat32, {3, 4}, 1);
  for (const char* ending : {".npz", ".safetensors"}) {
    const std::string path = ::testing::TempDir() + "/x" + ending;
    ASSERT_TRUE(WriteArrayFile(path, {{"w", tensor}}, {{"__format__", "NHWC"}}).ok());
    absl::StatusOr<ArrayFileReader> reader = ArrayFileReader::Open(path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->file(), path);
    EXPECT_TRUE(reader->Contains("w"));
    EXPECT_EQ(reader->names()[0], "w");
    EXPECT_EQ(reader->Bytes("w"), 48 + (std::string_view(ending) == ".npz" ? 128 : 0));
    EXPECT_EQ(reader->Bytes("v"), 0);
    EXPECT_EQ(testing::Values(*reader->Read("w")), testing::Values(tensor));
    EXPECT_EQ(*reader->ReadShape("w"), (Shape{3, 4}));
    EXPECT_EQ(reader->ReadShape("v").status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(**reader->Text("__format__"), "NHWC");
    EXPECT_EQ(*reader->Text("__model__"), std::nullopt);
    EXPECT_EQ(reader->Read("v").status().code(), absl::StatusCode::kNotFound);

    const std::vector<std::byte> bytes = *ReadFile(path, 1 << 20);
    EXPECT_EQ(**ArrayFileReader::Parse(bytes, path)->Text("__format__"), "NHWC");
    std::filesystem::remove(path);
  }
}

TEST(ArrayFileTest, ATextThatIsANumberIsAnError) {
  const std::string path = ::testing::TempDir() + "/x.npz";
  ASSERT_TRUE(WriteNpz(path, {{"tag", testing::ZeroTensor(DType::kFloat32, {})}}).ok());
  EXPECT_THAT(std::string(ArrayFileReader::Open(path)->Text("tag").status().message()),
              HasSubstr("expected a text"));
}

TEST(ArrayFileTest, FilesThatImportReadsAreNamed) {
  for (const std::string path : {"net.onnx", "r18.pth", "r18.pt"}) {
    EXPECT_EQ(ArrayFileReader::Open(path).status().message(),
              path +
                  ": is not named as a file of arrays; only .npz and .safetensors are read; the "
                  "program import makes a model of ONNX files and of weights of PyTorch");
  }
}

TEST(ArrayFileTest, OtherEndingsAreRefusedByName) {
  for (const char* path : {"weights.h5", "npz", "", "x.npz.tmp"}) {
    EXPECT_THAT(std::string(ArrayFileReader::Open(path).status().message()),
                AllOf(HasSubstr(path), HasSubstr("only .npz and .safetensors are read")));
    EXPECT_THAT(std::string(WriteArrayFile(path, {}, {}).message()),
                HasSubstr("must end in .npz or .safetensors"));
    EXPECT_FALSE(ArrayFileReader::Parse({}, path).ok());
  }
}

}  // namespace
}  // namespace dtnn
