#include "tensor/files/npy.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/npy_header.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Files that numpy wrote: element i in row-major order is i - 2, unless said otherwise.
std::string Golden(std::string_view file) { return "tensor/files/testdata/" + std::string(file); }

std::vector<double> FromMinusTwo(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), -2);
  return values;
}

std::vector<std::byte> Bytes(std::string_view dictionary, size_t data_bytes) {
  std::string text("\x93NUMPY\x01\x00", 8);
  text.push_back(char(dictionary.size()));
  text.push_back('\0');
  text += dictionary;
  text.append(data_bytes, '\x01');
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::string ErrorOf(std::span<const std::byte> bytes) {
  return std::string(ParseNpy(bytes, "x.npy").status().message());
}

TEST(NpyTest, ReadsWhatNumpyWrote) {
  const struct {
    const char* file;
    DType dtype;
    Shape shape;
  } kFiles[] = {
      {"f4_2x3.npy", DType::kFloat32, {2, 3}},
      {"f4_version2.npy", DType::kFloat32, {2, 3}},
      {"f4_version3.npy", DType::kFloat32, {2, 3}},
      {"f4_big_2x3.npy", DType::kFloat32, {2, 3}},
      {"f8_fortran_2x3x4.npy", DType::kFloat64, {2, 3, 4}},
      {"i2_5.npy", DType::kInt32, {5}},
      {"i8_big_fortran_3x2.npy", DType::kInt64, {3, 2}},
  };
  for (const auto& [file, dtype, shape] : kFiles) {
    const absl::StatusOr<Tensor> tensor = ReadNpy(Golden(file));
    ASSERT_TRUE(tensor.ok()) << tensor.status();
    EXPECT_EQ(tensor->dtype(), dtype) << file;
    EXPECT_EQ(tensor->shape(), shape) << file;
    EXPECT_TRUE(tensor->dense());
    EXPECT_EQ(testing::Values(*tensor), FromMinusTwo(size_t(shape.NumElements()))) << file;
  }
}

TEST(NpyTest, ReadsScalarsEmptyArraysAndSixDimensions) {
  const Tensor scalar = *ReadNpy(Golden("i4_scalar.npy"));
  EXPECT_EQ(scalar.shape(), Shape());
  EXPECT_EQ(testing::Values(scalar), std::vector<double>{7});
  const Tensor empty = *ReadNpy(Golden("u1_0x4.npy"));
  EXPECT_EQ(empty.shape(), (Shape{0, 4}));
  const Tensor six = *ReadNpy(Golden("u1_1x2x1x2x1x2.npy"));
  EXPECT_EQ(six.shape(), (Shape{1, 2, 1, 2, 1, 2}));
  EXPECT_EQ(testing::Values(six), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(NpyTest, FortranOrderIsTransposedInEveryType) {
  // Values 1..6 of a 2x3 matrix, column by column.
  for (const char* descr : {"|u1", "<i2", ">i2", "<i4", ">i4", "<i8", ">i8"}) {
    const size_t size = size_t(descr[2] - '0');
    std::vector<std::byte> bytes =
        Bytes(std::string("{'descr': '") + descr + "', 'fortran_order': True, 'shape': (2, 3)}",
              6 * size);
    const size_t data = bytes.size() - 6 * size;
    for (size_t i = 0; i < 6; ++i) {
      const size_t low = descr[0] == '>' ? size - 1 : 0;
      for (size_t b = 0; b < size; ++b)
        bytes[data + i * size + b] = std::byte(b == low ? i + 1 : 0);
    }
    EXPECT_EQ(testing::Values(*ParseNpy(bytes, "x")), (std::vector<double>{1, 3, 5, 2, 4, 6}))
        << descr;
  }
}

TEST(NpyTest, TypesThatTensorsDoNotHaveBecomeTheNextThatHoldsThem) {
  const auto read = [](const std::string& descr, std::span<const uint8_t> data, int count) {
    std::vector<std::byte> bytes =
        Bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                  std::to_string(count) + ",)}",
              data.size());
    std::memcpy(bytes.data() + bytes.size() - data.size(), data.data(), data.size());
    return ParseNpy(bytes, "x.npy");
  };
  using testing::Values;
  using V = std::vector<double>;
  EXPECT_EQ(Values(*read("|b1", std::array<uint8_t, 3>{0, 1, 255}, 3)), (V{0, 1, 1}));
  EXPECT_EQ(Values(*read("|i1", std::array<uint8_t, 3>{0x7f, 0x80, 0xff}, 3)), (V{127, -128, -1}));
  EXPECT_EQ(Values(*read("<u2", std::array<uint8_t, 4>{0xff, 0xff, 1, 0}, 2)), (V{65535, 1}));
  EXPECT_EQ(Values(*read(">u2", std::array<uint8_t, 4>{0xff, 0xfe, 1, 0}, 2)), (V{65534, 256}));
  EXPECT_EQ(Values(*read("<i2", std::array<uint8_t, 4>{0xff, 0xff, 1, 0}, 2)), (V{-1, 1}));
  EXPECT_EQ(Values(*read("<u4", std::array<uint8_t, 4>{0xff, 0xff, 0xff, 0xff}, 1)),
            V{4294967295.0});
  EXPECT_EQ(Values(*read(">u4", std::array<uint8_t, 4>{0x80, 0, 0, 1}, 1)), V{2147483649.0});
  EXPECT_EQ(Values(*read("<u8", std::array<uint8_t, 8>{5}, 1)), V{5});
  for (const char* descr : {"<u8", ">u8"}) {
    const absl::Status status =
        read(descr, std::array<uint8_t, 8>{0x80, 0, 0, 0, 0, 0, 0, 0x80}, 1).status();
    EXPECT_EQ(status.message(),
              "x.npy: element 0 is 9223372036854775936; unsigned integers are read up to 2^63 - 1");
  }
}

TEST(NpyTest, ObjectsTextAndStructuresAreRefusedByName) {
  EXPECT_THAT(std::string(ReadNpy(Golden("object.npy")).status().message()),
              AllOf(HasSubstr("object.npy"), HasSubstr("pickled objects are never loaded")));
  EXPECT_THAT(std::string(ReadNpy(Golden("text.npy")).status().message()),
              HasSubstr("text.npy: dtype \"<U5\" (text)"));
  EXPECT_THAT(std::string(ReadNpy(Golden("structured.npy")).status().message()),
              HasSubstr("structured dtype"));
}

TEST(NpyTest, EveryTruncationIsAnError) {
  for (const char* file : {"f4_2x3.npy", "f4_version2.npy", "f8_fortran_2x3x4.npy"}) {
    const std::vector<std::byte> bytes = *SerializeNpy(*ReadNpy(Golden(file)));
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string error = ErrorOf(std::span(bytes).first(size));
      EXPECT_THAT(error, AllOf(StartsWith("x.npy: "), HasSubstr("is the file complete?"))) << size;
    }
  }
}

TEST(NpyTest, BytesBehindTheArrayAreAnError) {
  std::vector<std::byte> bytes = *SerializeNpy(*Tensor::Zeros(DType::kFloat32, {2, 3}));
  bytes.push_back(std::byte{0});
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("shape (2, 3) (24 bytes) but 25 bytes follow it"));
}

TEST(NpyTest, HugePromisesAreRefusedBeforeMemoryIsTaken) {
  for (const char* shape : {"(1099511627776,)", "(1152921504606846975,)",
                            "(2147483648, 2147483648)", "(1073741824, 1073741824, 1, 0, 5)"}) {
    const std::string text =
        "{'descr': '|u1', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
    EXPECT_FALSE(ParseNpy(Bytes(text, 16), "x.npy").ok()) << shape;
  }
}

TEST(NpyTest, AHeaderOfNoBytesIsAnError) {
  EXPECT_THAT(ErrorOf(Bytes("", 8)), HasSubstr("not a dictionary"));
  EXPECT_THAT(ErrorOf(Bytes("{", 8)), HasSubstr("not a dictionary"));
}

TEST(NpyTest, WritesNumpysBytes) {
  for (const char* file : {"f4_2x3.npy", "i4_scalar.npy", "u1_0x4.npy", "u1_1x2x1x2x1x2.npy"}) {
    std::vector<std::byte> numpys(1000);
    std::FILE* stream = std::fopen(Golden(file).c_str(), "rb");
    ASSERT_NE(stream, nullptr) << file;
    numpys.resize(std::fread(numpys.data(), 1, numpys.size(), stream));
    std::fclose(stream);
    EXPECT_EQ(*SerializeNpy(*ReadNpy(Golden(file))), numpys) << file;
  }
}

TEST(NpyTest, EveryTypeAndShapeComesBack) {
  for (DType dtype :
       {DType::kFloat32, DType::kFloat64, DType::kUint8, DType::kInt32, DType::kInt64}) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{17}, Shape{3, 0, 2}, Shape{2, 3, 4, 5},
                               Shape{1, 1, 2, 1, 3, 1}}) {
      const Tensor tensor = testing::IntegerTensor(dtype, shape, 1);
      const Tensor back = *ParseNpy(*SerializeNpy(tensor), "x.npy");
      EXPECT_EQ(back.dtype(), dtype);
      EXPECT_EQ(back.shape(), shape);
      EXPECT_EQ(testing::Values(back), testing::Values(tensor));
    }
  }
}

TEST(NpyTest, NotANumberAndInfinityKeepTheirBits) {
  const Tensor tensor = *Tensor::Zeros(DType::kFloat32, {2});
  tensor.data<float>()[0] = -std::numeric_limits<float>::infinity();
  tensor.data<float>()[1] = std::numeric_limits<float>::quiet_NaN();
  const Tensor back = *ParseNpy(*SerializeNpy(tensor), "x.npy");
  EXPECT_EQ(std::memcmp(back.raw_data(), tensor.raw_data(), 8), 0);
}

TEST(NpyTest, FilesComeBackAndMissingOnesAreNotFound) {
  const std::string path = ::testing::TempDir() + "/round_trip.npy";
  const Tensor tensor = testing::RandomTensor(DType::kFloat64, {5, 7}, 1);
  ASSERT_TRUE(WriteNpy(path, tensor).ok());
  EXPECT_EQ(testing::Values(*ReadNpy(path)), testing::Values(tensor));
  EXPECT_THAT(std::string(ReadNpy(path, 100).status().message()), HasSubstr("contains more than"));
  std::filesystem::remove(path);
  EXPECT_EQ(ReadNpy(path).status().code(), absl::StatusCode::kNotFound);
}

TEST(NpyTest, OnlyDenseHostTensorsAreWritten) {
  const Tensor view =
      testing::ZeroTensor(DType::kFloat32, {4, 6}).Channels(1, 2, TensorFormat::kNHWC);
  EXPECT_FALSE(SerializeNpy(view).ok());
  EXPECT_FALSE(SerializeNpy(Tensor()).ok());
  EXPECT_THAT(std::string(WriteNpy("pitched.npy", view).message()),
              AllOf(StartsWith("pitched.npy: "), HasSubstr("dense")));
}

}  // namespace
}  // namespace dtnn
