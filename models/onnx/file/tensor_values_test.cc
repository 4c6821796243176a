#include "models/onnx/file/tensor_values.h"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

onnx::TensorProto Raw(OnnxType type, const std::string& bytes, int64_t count) {
  onnx::TensorProto tensor;
  tensor.set_data_type(int32_t(type));
  tensor.add_dims(count);
  tensor.set_raw_data(bytes);
  return tensor;
}

class TensorValuesTest : public ::testing::Test {
 protected:
  TensorValues Read(const onnx::TensorProto& tensor) {
    const auto values = ReadTensor(tensor, none_);
    EXPECT_TRUE(values.ok()) << values.status();
    return values.ok() ? *values : TensorValues();
  }
  ExternalData none_{""};
};

TEST_F(TensorValuesTest, EveryTypeIsRead) {
  using enum OnnxType;
  EXPECT_THAT(Read(Raw(kFloat16, std::string("\0\x3c\0\xc0", 4), 2)).reals, ElementsAre(1, -2));
  EXPECT_THAT(Read(Raw(kBfloat16, "\x80\x3f", 1)).reals, ElementsAre(1));
  EXPECT_THAT(Read(Raw(kFloat32, std::string("\0\0\0\x3f", 4), 1)).reals, ElementsAre(0.5));
  EXPECT_THAT(Read(Raw(kFloat64, std::string("\0\0\0\0\0\0\xf0\x3f", 8), 1)).reals, ElementsAre(1));
  EXPECT_THAT(Read(Raw(kInt8, "\xff\x7f", 2)).integers, ElementsAre(-1, 127));
  EXPECT_THAT(Read(Raw(kUint8, "\xff", 1)).integers, ElementsAre(255));
  EXPECT_THAT(Read(Raw(kInt32, "\xfe\xff\xff\xff", 1)).integers, ElementsAre(-2));
  EXPECT_THAT(Read(Raw(kInt64, "\xfe\xff\xff\xff\xff\xff\xff\xff", 1)).integers, ElementsAre(-2));
  onnx::TensorProto half = Raw(kFloat16, "", 1);
  half.add_int32_data(0x3c00);
  EXPECT_THAT(Read(half).reals, ElementsAre(1));
  EXPECT_THAT(Read(Raw(kFloat32, "", 0)).reals, ElementsAre());
}

TEST_F(TensorValuesTest, OtherTypesAreRefusedByName) {
  const auto said = [&](int32_t type) {
    return std::string(ReadTensor(Raw(OnnxType(type), "", 0), none_).status().message());
  };
  EXPECT_THAT(said(8), HasSubstr("has elements of type string; float, float16, "));
  EXPECT_THAT(said(0), HasSubstr("of type undefined; "));
  EXPECT_THAT(said(26), HasSubstr("of type int2; "));
  EXPECT_THAT(said(27), HasSubstr("of type 27, which ONNX does not define; "));
  EXPECT_THAT(said(-1), HasSubstr("of type -1, which ONNX does not define; "));
}

// So that the table of names has no gap: its numbers are ONNX's.
TEST(OnnxTypesTest, NamesAreOnnxs) {
  using enum OnnxType;
  const std::pair<OnnxType, const char*> names[] = {
      {kFloat32, "float"},   {kUint8, "uint8"},    {kInt8, "int8"},
      {kInt32, "int32"},     {kInt64, "int64"},    {kBool, "bool"},
      {kFloat16, "float16"}, {kFloat64, "double"}, {kBfloat16, "bfloat16"}};
  for (const auto& [type, name] : names) EXPECT_EQ(Name(type), name);
}

TEST_F(TensorValuesTest, HasAtMostSixteenAxes) {
  onnx::TensorProto tensor = Raw(OnnxType::kFloat32, std::string(4, 0), 1);
  for (int i = 1; i < 16; ++i) tensor.add_dims(1);
  EXPECT_EQ(Read(tensor).dims.size(), 16U);
  tensor.add_dims(1);
  EXPECT_THAT(std::string(ReadTensor(tensor, none_).status().message()),
              HasSubstr("has 17 axes, more than 16"));
  const TensorValues many = {.dims = std::vector<int64_t>(20, 1)};
  EXPECT_THAT(many.ShapeText(), ::testing::EndsWith("1, 1, ...)"));
}

TEST(CountElementsTest, UpTo2To40) {
  constexpr int64_t kMost = int64_t{1} << 40;
  const auto error = [](const std::vector<int64_t>& dims) {
    return std::string(CountElements(dims).status().message());
  };
  EXPECT_EQ(*CountElements(std::vector<int64_t>{kMost}), kMost);
  EXPECT_EQ(*CountElements(std::vector<int64_t>{1 << 20, 1 << 20}), kMost);
  EXPECT_EQ(*CountElements(std::vector<int64_t>{0, kMost, kMost}), 0);
  EXPECT_EQ(error({kMost + 1}), "has an axis of 1099511627777 elements");
  EXPECT_EQ(error({-1}), "has an axis of -1 elements");
  EXPECT_EQ(error({(1 << 20) + 1, 1 << 20}), "has more than 2^40 elements");
}

// In a file beside the model's alone.
TEST(ExternalDataTest, OtherFilesAreRefused) {
  namespace fs = std::filesystem;
  const std::string folder = testing::NewFolder("external");
  testing::WriteFile(folder, "data", std::vector<uint8_t>{9, 0, 0, 0, 0, 0, 0x80, 0x3f});
  fs::create_symlink(folder + "/data", folder + "/link");
  fs::create_directory(folder + "/inner");
  onnx::TensorProto tensor = Raw(OnnxType::kFloat32, "", 1);
  tensor.set_data_location(1);
  const auto read = [&](const std::string& location, const std::string& offset,
                        const std::string& length = "4") {
    tensor.clear_external_data();
    const std::pair<std::string, std::string> entries[] = {
        {"location", location}, {"offset", offset}, {"length", length}};
    for (const auto& [key, value] : entries) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    ExternalData external(folder + "/model.onnx");
    return ReadTensor(tensor, external);
  };
  const auto found = read("data", "4");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(found->reals, ElementsAre(1));
  const std::vector<std::vector<std::string>> refused = {
      {"data", "5", "4", "has its 4 bytes of data at byte 5 of "},
      {"data", "9223372036854775807", "4", "which has 8"},
      {"data", "-4", "4", "offset of its external data is \"-4\""},
      {"data", "0", "8", "has 8 bytes of external data"},
      {"link", "4", "4", "is a link"},
      {"inner", "4", "4", "inner"},
      {"none", "4", "4", "none"},
      {"../external/data", "4", "4", "without a path"},
      {folder + "/data", "4", "4", "without a path"},
      {"..", "4", "4", "without a path"},
      {"", "4", "4", "without a path"},
  };
  for (const auto& one : refused) {
    EXPECT_THAT(std::string(read(one[0], one[1], one[2]).status().message()), HasSubstr(one[3]));
  }
  ExternalData nowhere("");
  EXPECT_THAT(std::string(ReadTensor(tensor, nowhere).status().message()),
              HasSubstr("was not read from a file"));
}

}  // namespace
}  // namespace dtnn
