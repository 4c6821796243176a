#include "tensor/files/safetensors.h"

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

std::string Golden(const std::string& file) { return "tensor/files/testdata/" + file; }
std::string Seed(const std::string& file) { return Golden("fuzz/safetensors/" + file); }

std::string ErrorOf(const absl::Status& status) { return std::string(status.message()); }

class SafetensorsTest : public ::testing::Test {
 protected:
  SafetensorsTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "x.safetensors";
  }
  ~SafetensorsTest() override { fs::remove_all(folder_); }
  fs::path folder_;
  std::string path_;
};

// The header of a file with one tensor "w" of `count` elements of 16 bits.
std::string HalfFile(const std::string& dtype, int64_t count) {
  const std::string json =
      FormatSafetensorsHeader({.entries = {{"w", dtype, {count}, 0, 2 * count}}, .metadata = {}});
  std::string file(8, '\0');
  file[0] = char(json.size());
  return file + json;
}

TEST_F(SafetensorsTest, ReadsWhatTheFormatsOwnLibraryWrites) {
  const absl::StatusOr<SafetensorsReader> reader =
      SafetensorsReader::Open(Golden("numpy.safetensors"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_THAT(reader->names(), UnorderedElementsAre("f32", "f64", "u8", "i16", "i32", "i64", "f16",
                                                    "bool", "scalar", "none"));
  EXPECT_THAT(reader->metadata(),
              UnorderedElementsAre(Pair("format", "NHWC"), Pair("größer", "\"x\"\n")));
  EXPECT_EQ(reader->Read("f32")->shape(), (Shape{2, 3}));
  EXPECT_THAT(testing::Values(*reader->Read("f32")), ElementsAre(-2, -1, 0, 1, 2, 3));
  EXPECT_EQ(reader->Read("f64")->dtype(), DType::kFloat64);
  EXPECT_THAT(testing::Values(*reader->Read("f64")), ElementsAre(-2, -1, 0, 1, 2));
  EXPECT_THAT(testing::Values(*reader->Read("u8")), ElementsAre(0, 1, 2));
  EXPECT_EQ(reader->Read("i16")->dtype(), DType::kInt32);
  EXPECT_THAT(testing::Values(*reader->Read("i16")), ElementsAre(-2, -1, 32767));
  EXPECT_THAT(testing::Values(*reader->Read("i32")), ElementsAre(-2, -1, 0, 1));
  EXPECT_EQ(reader->Read("i64")->shape(), (Shape{2, 2}));
  EXPECT_THAT(testing::Values(*reader->Read("i64")), ElementsAre(-2, -1, 0, 1));
  EXPECT_THAT(testing::Values(*reader->Read("f16")), ElementsAre(-2, 0.5, 65504));
  EXPECT_EQ(reader->Read("scalar")->shape(), Shape{});
  EXPECT_THAT(testing::Values(*reader->Read("scalar")), ElementsAre(7));
  EXPECT_EQ(reader->Read("none")->shape(), (Shape{0, 3}));
  EXPECT_EQ(reader->Read("bool")->dtype(), DType::kInt32);
  EXPECT_EQ(reader->Read("missing").status().code(), absl::StatusCode::kNotFound);

  const SafetensorsReader torch = *SafetensorsReader::Open(Golden("torch.safetensors"));
  EXPECT_EQ(torch.Read("bf16")->dtype(), DType::kFloat32);
  EXPECT_THAT(testing::Values(*torch.Read("bf16")),
              ElementsAre(-2, 0.5, 3, std::numeric_limits<double>::infinity()));
}

TEST_F(SafetensorsTest, EveryFloat16AndBfloat16IsReadExactly) {
  for (const bool brain : {false, true}) {
    std::string file = HalfFile(brain ? "BF16" : "F16", 1 << 16);
    for (int bits = 0; bits < 1 << 16; ++bits) {
      file.push_back(char(bits));
      file.push_back(char(bits >> 8));
    }
    const auto bytes = std::as_bytes(std::span(file));
    const absl::StatusOr<Tensor> read = SafetensorsReader::Parse(bytes, "x")->Read("w");
    ASSERT_TRUE(read.ok()) << read.status();
    const int mantissa_bits = brain ? 7 : 10, exponent_bits = 15 - mantissa_bits;
    const int most = (1 << exponent_bits) - 1, bias = most / 2;
    for (int bits = 0; bits < 1 << 16; ++bits) {
      const int exponent = bits >> mantissa_bits & most, mantissa = bits % (1 << mantissa_bits);
      const double fraction = std::ldexp(mantissa, -mantissa_bits) + (exponent > 0);
      double value = std::ldexp(fraction, std::max(exponent, 1) - bias);
      if (exponent == most) value = mantissa == 0 ? INFINITY : NAN;
      const float actual = read->data<float>()[bits];
      ASSERT_EQ(std::isnan(actual), std::isnan(value)) << bits;
      if (!std::isnan(value)) {
        ASSERT_EQ(double(actual), bits >> 15 ? -value : value) << bits;
        ASSERT_EQ(std::signbit(actual), bits >> 15 == 1) << bits;
      }
    }
  }
}

TEST_F(SafetensorsTest, EverythingComesBackAndWideElementsStandFirst) {
  const NamedTensors tensors = {
      {"u8", testing::IntegerTensor(DType::kUint8, {3}, 1)},
      {"1_Conv2D_weights", testing::RandomTensor(DType::kFloat32, {3, 4}, 2)},
      {"wide \"name\"", testing::RandomTensor(DType::kFloat64, {5}, 3)},
      {"i32", testing::IntegerTensor(DType::kInt32, {}, 4)},
      {"i64", testing::IntegerTensor(DType::kInt64, {2, 0}, 5)}};
  const NamedTexts texts = {{"__format__", "NHWC"}, {"größer", "x\n"}};
  const absl::Status status = WriteSafetensors(path_, tensors, texts);
  ASSERT_TRUE(status.ok()) << status;
  const absl::StatusOr<SafetensorsReader> reader = SafetensorsReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_EQ(reader->metadata(), texts);
  for (const auto& [name, tensor] : tensors) {
    const Tensor back = *reader->Read(name);
    EXPECT_EQ(back.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(back.shape(), tensor.shape()) << name;
    EXPECT_EQ(testing::Values(back), testing::Values(tensor)) << name;
  }
  EXPECT_EQ(reader->names().back(), "u8");
  // What others map into memory is aligned.
  const std::vector<std::byte> bytes = *ReadFile(path_, 1 << 20);
  EXPECT_EQ(size_t(bytes[0]) % 8, 0u);
  EXPECT_EQ(fs::file_size(path_), 8 + size_t(bytes[0]) + 256 * size_t(bytes[1]) + 3 + 48 + 40 + 4);
}

TEST_F(SafetensorsTest, HalvesAreWrittenInTheirBits) {
  const std::vector<double> values = {1.5, -2, 0.25, 3, -0.375};
  for (const DType dtype : {DType::kFloat16, DType::kBfloat16}) {
    ASSERT_EQ(WriteSafetensors(path_, {{"w", testing::TensorOf(dtype, {5}, values)}}),
              absl::OkStatus());
    const auto reader = SafetensorsReader::Open(path_);
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_EQ(reader->Bytes("w"), 10);
    EXPECT_EQ(reader->Read("w")->dtype(), DType::kFloat32);
    EXPECT_EQ(testing::Values(*reader->Read("w")), values);
  }
}

TEST_F(SafetensorsTest, TypesThatTensorsDoNotHaveBecomeTheNextThatHoldsThem) {
  const auto read = [](const std::string& dtype, int64_t count, const std::string& data) {
    const std::string json = FormatSafetensorsHeader(
        {.entries = {{"w", dtype, {count}, 0, int64_t(data.size())}}, .metadata = {}});
    std::string file(8, '\0');
    file[0] = char(json.size());
    file += json + data;
    return SafetensorsReader::Parse(std::as_bytes(std::span(file)), "x")->Read("w");
  };
  const std::string ones(8, '\xff');
  EXPECT_THAT(testing::Values(*read("BOOL", 3, std::string("\0\1\7", 3))), ElementsAre(0, 1, 1));
  EXPECT_THAT(testing::Values(*read("I8", 3, "\x7f\x80\xff")), ElementsAre(127, -128, -1));
  EXPECT_THAT(testing::Values(*read("U16", 2, "\xff\xff\1\2")), ElementsAre(65535, 513));
  EXPECT_THAT(testing::Values(*read("U32", 2, ones)), ElementsAre(4294967295.0, 4294967295.0));
  EXPECT_THAT(testing::Values(*read("U64", 1, ones.substr(1) + '\x7f')), ElementsAre(0x1p63));
  EXPECT_EQ(
      ErrorOf(read("U64", 1, ones).status()),
      "x/\"w\": element 0 is 18446744073709551615; unsigned integers are read up to 2^63 - 1");
  EXPECT_EQ(read("C64", 1, ones).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(SafetensorsTest, AFileWithoutTensorsIsFine) {
  ASSERT_TRUE(WriteSafetensors(path_, {}).ok());
  EXPECT_TRUE(SafetensorsReader::Open(path_)->names().empty());
}

TEST_F(SafetensorsTest, HostileFilesAreRefusedForTheRightReason) {
  const std::pair<const char*, const char*> kReasons[] = {
      {"no_bytes", "has only 0 bytes"},
      {"seven_bytes", "has only 7 bytes"},
      {"length_zero", "no JSON object"},
      {"length_wraps", "claims a header of 18446744073709551615 bytes in a file of 10"},
      {"length_beyond_file", "claims a header of 3 bytes in a file of 10"},
      {"length_4g", "claims a header of 4294967296"},
      {"truncated_data", "is the file complete?"},
      {"trailing_data", "1 bytes follow the last tensor"},
      {"deep_lists", "a list where"},
      {"deep_objects", "no valid JSON at byte"},
      {"nul_behind_object", "a NUL at byte"},
      {"shape_terabytes", "of 4398046511104 bytes"},
      {"twice_same_name", "the key \"w\" twice"},
  };
  for (const auto& [seed, reason] : kReasons) {
    const absl::Status status = SafetensorsReader::Open(Seed(seed)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << seed;
    EXPECT_THAT(ErrorOf(status), AllOf(HasSubstr(seed), HasSubstr(reason)));
  }
  for (const char* seed :
       {"good", "good_torch", "metadata_null", "unknown_fields", "descending", "metadata_last",
        "padded", "path_as_name", "shape_zero_and_huge", "shape_seven_axes"}) {
    EXPECT_TRUE(SafetensorsReader::Open(Seed(seed)).ok()) << seed;
  }
  EXPECT_EQ(SafetensorsReader::Open(Seed("shape_seven_axes"))->Read("w").status().code(),
            absl::StatusCode::kUnimplemented);
}

// Files with holes, which take no room on the disk.
TEST_F(SafetensorsTest, AHeaderHas100MillionBytesAtMost) {
  const auto error = [&](uint64_t length, uint64_t file) {
    std::ofstream(path_).write(reinterpret_cast<const char*>(&length), sizeof(length));
    fs::resize_file(path_, file);
    return ErrorOf(SafetensorsReader::Open(path_).status());
  };
  EXPECT_THAT(error(100'000'001, 200'000'000), HasSubstr("claims a header of 100000001 bytes"));
  EXPECT_THAT(error(93, 100), HasSubstr("claims a header of 93 bytes in a file of 100"));
  EXPECT_THAT(error(92, 100), Not(HasSubstr("claims a header")));
  EXPECT_THAT(error(100'000'000, 200'000'000), Not(HasSubstr("claims a header")));
}

TEST_F(SafetensorsTest, EveryTruncationIsAnError) {
  const std::vector<std::byte> bytes = *ReadFile(Golden("numpy.safetensors"), 1 << 20);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(SafetensorsReader::Parse(std::span(bytes).first(size), "x").ok()) << size;
  }
}

TEST_F(SafetensorsTest, MissingFilesFoldersAndBadNamesSayWhatIsWrong) {
  EXPECT_EQ(SafetensorsReader::Open(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf(SafetensorsReader::Open(path_).status()), HasSubstr(path_));
  EXPECT_THAT(ErrorOf(SafetensorsReader::Open(folder_.string()).status()),
              HasSubstr("is a folder"));
  const Tensor tensor = testing::ZeroTensor(DType::kFloat32, {4, 6});
  EXPECT_THAT(ErrorOf(WriteSafetensors(path_, {{"w", tensor}, {"w", tensor}})),
              HasSubstr("the key \"w\" twice"));
  EXPECT_FALSE(WriteSafetensors(path_, {{"\xff", tensor}}).ok());
  EXPECT_FALSE(WriteSafetensors(path_, {{"__metadata__", tensor}}).ok());
  EXPECT_FALSE(WriteSafetensors(path_, {}, {{"tag", "\xff"}}).ok());
  EXPECT_THAT(ErrorOf(WriteSafetensors(path_, {{"w", tensor.Channels(1, 2, TensorFormat::kNHWC)}})),
              AllOf(HasSubstr("tensor \"w\""), HasSubstr("dense")));
  EXPECT_TRUE(fs::is_empty(folder_));
}

}  // namespace
}  // namespace dtnn
