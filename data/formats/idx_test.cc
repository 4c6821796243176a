#include "data/formats/idx.h"

#include <cstdint>
#include <string>
#include <vector>

#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Elements;
using ::testing::EndsWith;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::IdxBytes;
using ::testing::StartsWith;

absl::StatusOr<Tensor> Parse(const Bytes& bytes, uint64_t max_bytes = kMaxIdxBytes) {
  return ParseIdx(MemorySource(bytes), "images", max_bytes);
}

std::string Error(const Bytes& bytes, uint64_t max_bytes = kMaxIdxBytes) {
  const absl::Status status = Parse(bytes, max_bytes).status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), StartsWith("images: "));
  return std::string(status.message());
}

Bytes Contents(const Tensor& array) {
  return Bytes(array.data<uint8_t>(), array.data<uint8_t>() + array.num_elements());
}

TEST(IdxTest, ReadsEveryRankPlainAndGzip) {
  for (const std::vector<uint32_t>& extents : std::vector<std::vector<uint32_t>>{
           {1}, {300}, {5, 7}, {3, 4, 5}, {2, 3, 4, 5}, {0, 28, 28}, {70000, 3}}) {
    int64_t count = 1;
    for (uint32_t extent : extents) count *= extent;
    const Bytes plain = IdxBytes(extents, Elements(count));
    for (const Bytes& bytes : {plain, Gzip(plain)}) {
      const absl::StatusOr<Tensor> array = Parse(bytes);
      ASSERT_TRUE(array.ok()) << array.status();
      EXPECT_EQ(array->dtype(), DType::kUint8);
      EXPECT_EQ(array->shape(),
                Shape::Make(std::vector<int64_t>(extents.begin(), extents.end())).value());
      EXPECT_EQ(Contents(*array), Elements(count));
    }
  }
}

TEST(IdxTest, GzipMembersMayDivideTheFileAnywhere) {
  const Bytes plain = IdxBytes({10, 3}, Elements(30));
  for (size_t at = 0; at <= plain.size(); ++at) {
    Bytes packed = Gzip(std::span(plain).first(at));
    const Bytes second = Gzip(std::span(plain).subspan(at));
    packed.insert(packed.end(), second.begin(), second.end());
    EXPECT_EQ(Contents(Parse(packed).value()), Elements(30)) << at;
  }
}

TEST(IdxTest, EveryPrefixIsRefused) {
  const Bytes plain = IdxBytes({3, 4, 5}, Elements(60));
  for (const Bytes& bytes : {plain, Gzip(plain)}) {
    for (size_t size = 0; size < bytes.size(); ++size) {
      const std::string error = Error(Bytes(bytes.begin(), bytes.begin() + size));
      EXPECT_THAT(error, EndsWith("is the download complete?")) << size << " bytes";
    }
  }
}

TEST(IdxTest, MessageTellsWhatIsThere) {
  Bytes plain = IdxBytes({60000, 28, 28}, Elements(1048576));
  const std::string expected =
      "images: header promises 60000 images of 28x28 (47040000 bytes) but the file contains "
      "1048576; is the download complete?";
  EXPECT_EQ(Error(plain), expected);
  EXPECT_EQ(Error(Gzip(plain)), expected);
  EXPECT_EQ(Error(IdxBytes({10}, Elements(9))),
            "images: header promises 10 values (10 bytes) but the file contains 9; is the download "
            "complete?");
  EXPECT_THAT(Error({}), HasSubstr("is empty"));
}

TEST(IdxTest, AFileOfAnotherKindIsNamed) {
  for (const auto& [text, name] :
       {std::pair<std::string, std::string>("<!DOCTYPE html><title>Sign in</title>",
                                            "an HTML page"),
        {"version https://git-lfs.github.com/spec/v1", "a pointer of Git LFS"},
        {"PK\3\4 and so on", "a zip archive"}}) {
    EXPECT_THAT(Error(Bytes(text.begin(), text.end())), HasSubstr("images: is " + name));
  }
}

TEST(IdxTest, SurplusIsRefused) {
  const Bytes plain = IdxBytes({3, 4}, Elements(13));
  EXPECT_THAT(Error(plain), HasSubstr("promises 3 rows of 4 (12 bytes) but the file contains 13;"));
  EXPECT_THAT(Error(Gzip(plain)), HasSubstr("but the file contains more;"));
  Bytes behind_gzip = Gzip(IdxBytes({3, 4}, Elements(12)));
  behind_gzip.push_back('x');
  EXPECT_THAT(Error(behind_gzip), HasSubstr("after the end of the gzip data"));
}

TEST(IdxTest, HeaderIsChecked) {
  const Bytes good = IdxBytes({2, 2}, Elements(4));
  const auto with = [&](size_t at, uint8_t value) {
    Bytes bytes = good;
    bytes[at] = value;
    return Error(bytes);
  };
  EXPECT_THAT(with(0, 1), HasSubstr("starts with bytes 01 00 08 02, expected 00 00 08"));
  EXPECT_THAT(with(1, 0xff), HasSubstr("is not an IDX file"));
  EXPECT_THAT(with(2, 0x0d), HasSubstr("elements of IDX type 0d; only unsigned bytes (08)"));
  EXPECT_THAT(with(3, 0), HasSubstr("has rank 0; expected 1 to 4"));
  EXPECT_THAT(with(3, 5), HasSubstr("has rank 5; expected 1 to 4"));
}

TEST(IdxTest, HostileExtentsAllocateNothing) {
  constexpr uint32_t kMost = 0xffffffff;
  EXPECT_THAT(Error(IdxBytes({kMost, kMost}, {})), HasSubstr("63 bits"));
  EXPECT_THAT(Error(IdxBytes({kMost, kMost, kMost, kMost}, {})), HasSubstr("63 bits"));
  EXPECT_THAT(Error(IdxBytes({0, kMost, kMost, kMost}, {})), HasSubstr("63 bits"));
  EXPECT_THAT(Error(IdxBytes({65536, 65537}, {})), HasSubstr("more than the 4294967296"));
  // As many bytes as the cap allows, none of which is there.
  EXPECT_THAT(Error(Gzip(IdxBytes({1, kMost}, Elements(3)))), HasSubstr("contains 3;"));
  EXPECT_THAT(Error(IdxBytes({10}, Elements(10)), 9),
              HasSubstr("more than the 9 that are allowed"));
  EXPECT_TRUE(Parse(IdxBytes({10}, Elements(10)), 10).ok());
}

TEST(IdxTest, GzipBombIsRefusedByItsHeader) {
  const Bytes bomb = Gzip(IdxBytes({4}, Bytes(20000000)));
  ASSERT_LT(bomb.size(), 30000u);
  EXPECT_THAT(Error(bomb), HasSubstr("but the file contains more"));
}

TEST(IdxTest, DamagedGzipIsNoticed) {
  Bytes packed = Gzip(IdxBytes({1000}, Elements(1000)));
  Bytes checksum = packed;
  checksum[packed.size() - 8] ^= 1;
  EXPECT_THAT(Error(checksum), HasSubstr("the gzip data is damaged (incorrect data check)"));
  packed[packed.size() / 2] ^= 1;
  Error(packed);
}

TEST(IdxTest, FilesAreToldApartByContent) {
  const std::string folder = testing::NewFolder("idx");
  const Bytes plain = IdxBytes({2, 3}, Elements(6));
  EXPECT_EQ(Contents(ReadIdx(testing::WriteFile(folder, "a.gz", plain)).value()), Elements(6));
  EXPECT_EQ(Contents(ReadIdx(testing::WriteFile(folder, "b", Gzip(plain))).value()), Elements(6));
}

TEST(IdxTest, PlainFilesAreMappedAndOthersUnpacked) {
  const std::string folder = testing::NewFolder("idx");
  const Bytes plain = IdxBytes({2, 3}, Elements(6));
  for (const bool packed : {false, true}) {
    const IdxArray array =
        MapIdx(testing::WriteFile(folder, packed ? "a" : "b", packed ? Gzip(plain) : plain))
            .value();
    EXPECT_EQ(array.shape, (Shape{2, 3}));
    EXPECT_EQ(Bytes(array.elements.view().begin(), array.elements.view().end()), Elements(6));
    EXPECT_EQ(array.elements.mapped(), !packed);
  }
  EXPECT_TRUE(MapIdx(testing::WriteFile(folder, "c", IdxBytes({0, 3}, {})))->elements.empty());
}

// Whatever is wrong with a file, both readers say the same.
TEST(IdxTest, MappedFilesAreCheckedAsOthersAre) {
  const std::string folder = testing::NewFolder("idx");
  const Bytes whole = IdxBytes({3, 4}, Elements(12));
  std::vector<Bytes> files;
  for (size_t size = 0; size < whole.size(); ++size) {
    files.emplace_back(whole.begin(), whole.begin() + int64_t(size));
  }
  files.push_back(whole);
  files.back().push_back(0);
  files.push_back(IdxBytes({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, Elements(12)));
  files.push_back(IdxBytes({0xffffffff, 2}, Elements(12)));
  files.push_back(Gzip(whole));
  files.back().resize(files.back().size() - 4);
  for (const Bytes& bytes : files) {
    const std::string path = testing::WriteFile(folder, "file", bytes);
    const absl::Status status = MapIdx(path).status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status, ReadIdx(path).status());
  }
  EXPECT_EQ(MapIdx(testing::WriteFile(folder, "file", whole), 11).status(),
            ReadIdx(folder + "/file", 11).status());
}

TEST(IdxTest, ErrorsOfFilesNameThePath) {
  const std::string folder = testing::NewFolder("idx");
  const std::string path = testing::WriteFile(folder, "short", IdxBytes({5}, Elements(4)));
  EXPECT_THAT(std::string(ReadIdx(path).status().message()),
              StartsWith(path + ": header promises"));
  EXPECT_THAT(std::string(MapIdx(folder + "/none").status().message()),
              StartsWith(folder + "/none: cannot be opened"));
  EXPECT_THAT(std::string(ReadIdx(folder + "/none").status().message()),
              StartsWith(folder + "/none: cannot be opened"));
}

}  // namespace
}  // namespace dtnn
