#include "tensor/files/npz.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/npy.h"
#include "tools/testing/tensors.h"

namespace dtnn {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Golden(std::string_view file) { return "tensor/files/testdata/" + std::string(file); }
std::string Seed(std::string_view file) {
  return "tensor/files/testdata/fuzz/npz/" + std::string(file);
}

std::string ErrorOf(const std::string& path, int64_t max_bytes = kMaxNpzBytes) {
  return std::string(ReadNpz(path, max_bytes).status().message());
}

std::vector<double> FromMinusTwo(size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), -2);
  return values;
}

NamedTensors Some() {
  return {{"1_Conv2D_weights", testing::RandomTensor(DType::kFloat32, {3, 5, 5, 4}, 1)},
          {"1_Conv2D_biases", testing::RandomTensor(DType::kFloat64, {4}, 2)},
          {"labels", testing::IntegerTensor(DType::kInt64, {7, 1}, 3)},
          {"scalar", testing::IntegerTensor(DType::kInt32, {}, 4)},
          {"nothing", testing::ZeroTensor(DType::kUint8, {0, 3})},
          {"zeros", testing::ZeroTensor(DType::kFloat32, {1000, 10})}};
}

class NpzTest : public ::testing::Test {
 protected:
  NpzTest() {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    path_ = folder_ / "x.npz";
  }
  ~NpzTest() override {
    internal::SetFileFaultHookForTesting(nullptr);
    fs::remove_all(folder_);
  }
  size_t FilesInFolder() const {
    return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
  std::string path_;
};

TEST_F(NpzTest, ReadsStoredAndZip64ArchivesOfNumpy) {
  const NamedTensors stored = *ReadNpz(Golden("stored.npz"));
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].first, "conv_weights");
  EXPECT_EQ(stored[0].second.shape(), (Shape{2, 3}));
  EXPECT_EQ(testing::Values(stored[0].second), FromMinusTwo(6));
  EXPECT_EQ(stored[1].first, "labels");
  EXPECT_EQ(stored[1].second.dtype(), DType::kInt64);

  const absl::StatusOr<NamedTensors> zip64 = ReadNpz(Golden("zip64.npz"));
  ASSERT_TRUE(zip64.ok()) << zip64.status();
  EXPECT_EQ(testing::Values((*zip64)[0].second), FromMinusTwo(6));
  EXPECT_EQ(testing::Values((*zip64)[1].second), FromMinusTwo(4));
}

TEST_F(NpzTest, ReadsDeflatedArchivesOfNumpyByName) {
  NpzReader reader = *NpzReader::Open(Golden("deflated.npz"));
  EXPECT_THAT(reader.names(), ElementsAre("conv_weights", "zeros", "fortran"));
  EXPECT_EQ(testing::Values(*reader.Read("fortran")), FromMinusTwo(6));
  EXPECT_EQ(testing::Values(*reader.Read("zeros")), std::vector<double>(1200, 0.0));
  EXPECT_EQ(testing::Values(*reader.Read("fortran")), FromMinusTwo(6));  // again, in any order
  EXPECT_TRUE(reader.Contains("zeros"));
  EXPECT_FALSE(reader.Contains("zeros.npy"));
}

TEST_F(NpzTest, AnUnknownNameIsNotFoundAndTheNamesAreListed) {
  const absl::Status status = NpzReader::Open(Golden("stored.npz"))->Read("bias").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr("stored.npz: has no array \"bias\""),
                                                   HasSubstr("it contains conv_weights, labels")));
}

TEST_F(NpzTest, AtMostEightNamesAreListed) {
  NamedTensors tensors;
  for (const char name : std::string_view("abcdefghi")) {
    tensors.emplace_back(std::string(1, name), testing::ZeroTensor(DType::kUint8, {1}));
    ASSERT_EQ(WriteNpz(path_, tensors), absl::OkStatus());
    if (tensors.size() < 8) continue;
    EXPECT_THAT(
        std::string(NpzReader::Open(path_)->Read("x").status().message()),
        ::testing::EndsWith(tensors.size() == 8 ? "it contains a, b, c, d, e, f, g, h"
                                                : "it contains a, b, c, d, e, f, g, h, ..."));
  }
}

TEST_F(NpzTest, WhatCannotBeReadIsRefusedWhenItIsReadAndNotSkipped) {
  NpzReader reader = *NpzReader::Open(Golden("mixed.npz"));
  EXPECT_TRUE(reader.Read("values").ok());
  EXPECT_THAT(std::string(reader.Read("tag").status().message()),
              HasSubstr("mixed.npz/tag: dtype \"<U5\" (text)"));
  EXPECT_THAT(std::string(reader.Read("pickled").status().message()),
              HasSubstr("mixed.npz/pickled: contains Python objects"));
  EXPECT_FALSE(ReadNpz(Golden("mixed.npz")).ok());
}

TEST_F(NpzTest, ReadsTextsOfNumpy) {
  NpzReader reader = *NpzReader::Open(Golden("texts.npz"));
  EXPECT_EQ(*reader.ReadText("text"), "größer 日本");
  EXPECT_EQ(*reader.ReadText("bytes"), "NCHW");
  EXPECT_EQ(*reader.ReadText("one"), "only one");
  EXPECT_EQ(*reader.ReadText("empty"), "");
  EXPECT_THAT(std::string(reader.ReadText("two").status().message()),
              HasSubstr("texts.npz/two: contains texts of shape (2,)"));
  EXPECT_THAT(std::string(reader.ReadText("values").status().message()),
              HasSubstr("texts.npz/values: has dtype \"<f4\", expected a text"));
  EXPECT_EQ(reader.ReadText("tag").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(*NpzReader::Open(Golden("mixed.npz"))->ReadText("tag"), "vgg16");
}

TEST_F(NpzTest, TextsComeBackBesideArrays) {
  const Tensor tensor = testing::RandomTensor(DType::kFloat32, {3}, 1);
  const NamedTexts texts = {{"__format__", "NHWC"}, {"name", "größer"}, {"empty", ""}};
  ASSERT_TRUE(WriteNpz(path_, {{"w", tensor}}, NpzCompression::kDeflated, texts).ok());
  NpzReader reader = *NpzReader::Open(path_);
  EXPECT_THAT(reader.names(), ElementsAre("w", "__format__", "name", "empty"));
  EXPECT_EQ(testing::Values(*reader.Read("w")), testing::Values(tensor));
  for (const auto& [name, text] : texts) EXPECT_EQ(*reader.ReadText(name), text);

  EXPECT_THAT(std::string(WriteNpz(path_, {{"w", tensor}}, {}, {{"w", "x"}}).message()),
              HasSubstr("two arrays are named \"w\""));
  EXPECT_THAT(std::string(WriteNpz(path_, {}, {}, {{"tag", "\xff"}}).message()),
              AllOf(HasSubstr("x.npz/tag: "), HasSubstr("UTF-8")));
}

TEST_F(NpzTest, AnArchiveWithoutArraysIsFine) {
  EXPECT_TRUE(ReadNpz(Golden("empty.npz"))->empty());
  ASSERT_TRUE(WriteNpz(path_, {}).ok());
  EXPECT_TRUE(ReadNpz(path_)->empty());
  EXPECT_EQ(*ReadFile(path_, 100), *ReadFile(Golden("empty.npz"), 100));
}

TEST_F(NpzTest, EverythingComesBackStoredOrDeflated) {
  for (NpzCompression compression : {NpzCompression::kStored, NpzCompression::kDeflated}) {
    const NamedTensors tensors = Some();
    const absl::Status status = WriteNpz(path_, tensors, compression);
    ASSERT_TRUE(status.ok()) << status;
    const absl::StatusOr<NamedTensors> back = ReadNpz(path_);
    ASSERT_TRUE(back.ok()) << back.status();
    ASSERT_EQ(back->size(), tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ((*back)[i].first, tensors[i].first);
      EXPECT_EQ((*back)[i].second.dtype(), tensors[i].second.dtype());
      EXPECT_EQ((*back)[i].second.shape(), tensors[i].second.shape());
      EXPECT_EQ(testing::Values((*back)[i].second), testing::Values(tensors[i].second));
    }
    const auto size = fs::file_size(path_);
    EXPECT_EQ(size < 30000, compression == NpzCompression::kDeflated) << size;  // the zeros shrink
  }
  EXPECT_EQ(FilesInFolder(), 1u);
}

TEST_F(NpzTest, TheSameArraysGiveTheSameBytes) {
  ASSERT_TRUE(WriteNpz(path_, Some()).ok());
  const std::vector<std::byte> first = *ReadFile(path_, 1 << 20);
  ASSERT_TRUE(WriteNpz(path_, Some()).ok());
  EXPECT_EQ(*ReadFile(path_, 1 << 20), first);
}

TEST_F(NpzTest, MemoryReadsLikeAFile) {
  const std::vector<std::byte> bytes = *ReadFile(Golden("deflated.npz"), 1 << 20);
  NpzReader reader = *NpzReader::Parse(bytes, "memory.npz");
  EXPECT_EQ(testing::Values(*reader.Read("conv_weights")), FromMinusTwo(6));
  EXPECT_FALSE(NpzReader::Parse({}, "memory.npz").ok());
}

TEST_F(NpzTest, HostileArchivesAreRefusedForTheRightReason) {
  const std::map<std::string, std::string> kReasons = {
      {"no_bytes", "is empty"},
      {"not_a_zip", "is a .npy file"},
      {"truncated_end", "Not a zip archive; is the .npz file complete?"},
      {"duplicate", "has two members"},
      {"path_traversal", "member \"../../etc/w.npy\" has a folder"},
      {"absolute_path", "has a folder"},
      {"backslash_in_name", "has a folder"},
      {"newline_in_name", "control character"},
      {"not_npy", "member \"readme.txt\" is not named like an array"},
      {"only_ending", "is not named like an array"},
      {"encrypted", "is encrypted"},
      {"bzip2", "is compressed with method 12"},
      {"bomb_claims_4g", "claims 4294967294 bytes in"},
      {"bomb_stored_claims_more", "claims"},
      {"header_promises_more", "shape (1000000,) (4000000 bytes) but 8 bytes follow"},
      {"header_promises_less", "shape (1,) (4 bytes) but 8 bytes follow"},
      {"claims_less_than_it_inflates", "bytes follow"},
      {"wrong_crc", "CRC"},
      {"flipped_bit", "CRC"},
      {"object_member", "pickled objects are never loaded"},
  };
  for (const auto& [seed, reason] : kReasons) {
    const std::string error = ErrorOf(Seed(seed));
    EXPECT_THAT(error, AllOf(HasSubstr(seed), HasSubstr(reason)));
  }
}

TEST_F(NpzTest, AFileOfAnotherKindIsNamedByItsContents) {
  const std::pair<std::string, std::string> kFiles[] = {
      {"\x93NUMPY\x01", "x.npz: is a .npy file, which holds one array (numpy.savez makes an .npz)"},
      {"\x80\x04\x95more", "x.npz: is a Python pickle, which is never loaded"},
      {"\x1f\x8b\x08more", "x.npz: is a gzip file (gunzip unpacks it)"},
      {"version https://git-lfs.github.com/spec/v1\n", "x.npz: is a pointer of Git LFS"},
      {"<!DOCTYPE html><html>", "x.npz: is an HTML page"},
      {"train/0.png, in a tar", "x.npz: is not a zip archive; expected an .npz file"}};
  for (const auto& [bytes, error] : kFiles) {
    ASSERT_TRUE(WriteFileAtomically(path_, std::as_bytes(std::span(bytes))).ok());
    EXPECT_THAT(ErrorOf(path_), AllOf(HasSubstr(error), Not(HasSubstr("complete?"))));
    EXPECT_THAT(
        std::string(NpzReader::Parse(std::as_bytes(std::span(bytes)), "x.npz").status().message()),
        HasSubstr(error));
  }
}

TEST_F(NpzTest, OrdinarySeedsOfTheFuzzerAreRead) {
  for (const char* seed : {"good", "good_deflated", "duplicate_by_case", "fortran_member",
                           "zip64_sizes", "zip64_end_record", "utf8_name", "bomb_deflated"}) {
    const absl::Status status = ReadNpz(Seed(seed)).status();
    EXPECT_TRUE(status.ok()) << seed << ": " << status;
  }
}

TEST_F(NpzTest, TheLimitCountsAllArraysTogether) {
  EXPECT_TRUE(ReadNpz(Seed("bomb_deflated"), 1 << 20).ok());
  EXPECT_THAT(ErrorOf(Seed("bomb_deflated"), 1000000), HasSubstr("more than the 1000000 bytes"));
  EXPECT_THAT(ErrorOf(Golden("stored.npz"), 200), HasSubstr("more than the 200 bytes"));
}

TEST_F(NpzTest, EveryTruncationIsAnError) {
  const std::vector<std::byte> bytes = *ReadFile(Golden("deflated.npz"), 1 << 20);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(NpzReader::Parse(std::span(bytes).first(size), "x.npz").ok()) << size;
  }
}

TEST_F(NpzTest, EveryFlippedByteOfAnArrayIsNoticed) {
  ASSERT_TRUE(WriteNpz(path_, {{"w", testing::RandomTensor(DType::kFloat32, {3, 3}, 1)}}).ok());
  std::vector<std::byte> bytes = *ReadFile(path_, 1 << 20);
  const size_t begin = 30 + std::strlen("w.npy");  // behind the local header
  for (size_t i = begin; i < begin + 128 + 36; ++i) {
    bytes[i] ^= std::byte{0x40};
    absl::StatusOr<NpzReader> reader = NpzReader::Parse(bytes, "x.npz");
    ASSERT_TRUE(reader.ok()) << reader.status();
    EXPECT_FALSE(reader->Read("w").ok()) << i;
    bytes[i] ^= std::byte{0x40};
  }
}

TEST_F(NpzTest, MissingFilesFoldersAndBadNamesSayWhatIsWrong) {
  EXPECT_EQ(ReadNpz(path_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(ErrorOf(path_), AllOf(HasSubstr(path_), HasSubstr("No such file")));
  EXPECT_THAT(ErrorOf(folder_), HasSubstr("is a folder"));
  const Tensor tensor = testing::ZeroTensor(DType::kFloat32, {4, 6});
  for (const char* name : {"", "a/b", "..\\a", "a\nb"}) {
    EXPECT_FALSE(WriteNpz(path_, {{name, tensor}}).ok()) << name;
  }
  EXPECT_THAT(std::string(WriteNpz(path_, {{"w", tensor}, {"w", tensor}}).message()),
              HasSubstr("two arrays are named \"w\""));
  EXPECT_THAT(
      std::string(WriteNpz(path_, {{"w", tensor.Channels(1, 2, TensorFormat::kNHWC)}}).message()),
      AllOf(HasSubstr("array \"w\""), HasSubstr("dense")));
  EXPECT_EQ(FilesInFolder(), 0u);
}

// A zip archive says how long a name is in 16 bits; ".npy" is a part of it.
TEST_F(NpzTest, NamesAreAsLongAsAnArchiveCanSay) {
  const Tensor tensor = testing::ZeroTensor(DType::kFloat32, {2});
  const std::string longest(65531, 'n');
  ASSERT_EQ(WriteNpz(path_, {{longest, tensor}}), absl::OkStatus());
  const auto arrays = ReadNpz(path_);
  ASSERT_EQ(arrays.status(), absl::OkStatus());
  ASSERT_EQ(arrays->size(), 1u);
  EXPECT_TRUE(arrays->begin()->first == longest);
  const absl::Status refused = WriteNpz(path_, {{longest + 'n', tensor}});
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("x.npz: the name \"" + std::string(100, 'n') +
                        "...\" has 65536 bytes; names in an archive have at most 65535"));
}

int writes_before_fault;
int FailAfterSomeWrites(std::string_view step) {
  return step == "write" && writes_before_fault-- == 0 ? ENOSPC : 0;
}
int FailRename(std::string_view step) { return step == "rename" ? EIO : 0; }

TEST_F(NpzTest, AFullDiskAtAnyWriteLeavesTheOldFile) {
  ASSERT_TRUE(WriteNpz(path_, {}).ok());
  internal::SetFileFaultHookForTesting(FailAfterSomeWrites);
  int failures = 0;
  absl::Status status;
  do {
    writes_before_fault = failures;
    status = WriteNpz(path_, Some());
    if (status.ok()) break;
    ++failures;
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(path_), HasSubstr("No space left on device")));
    EXPECT_EQ(fs::file_size(path_), 22u);
    EXPECT_EQ(FilesInFolder(), 1u);
  } while (failures < 1000);
  EXPECT_GT(failures, 6);  // one write or more for every array
  EXPECT_TRUE(status.ok());

  internal::SetFileFaultHookForTesting(FailRename);
  EXPECT_FALSE(WriteNpz(path_, {}).ok());
  EXPECT_GT(fs::file_size(path_), 22u);
}

TEST_F(NpzTest, Int16IsWrittenAsSuchAndReadAsInt32) {
  const std::string path = ::testing::TempDir() + "/int16.npz";
  const std::vector<int16_t> values = {1, -2, 32767, -32768, 256, 0};
  const std::string npy = SerializeNpyInt16(values, Shape{3, 2});
  EXPECT_NE(npy.find("'<i2'"), std::string::npos);
  ASSERT_TRUE(WriteNpz(path, {}, NpzCompression::kStored, {}, {{"y", npy}}).ok());
  const Tensor y = NpzReader::Open(path)->Read("y").value();
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(y.data<int32_t>()[i], values[i]);
}

}  // namespace
}  // namespace dtnn
