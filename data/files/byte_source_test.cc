#include "data/files/byte_source.h"

#include <memory>
#include <string>
#include <utility>

#include "data/testing/idx_files.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Elements;
using testing::Gzip;

Bytes operator+(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// All of the source, read in pieces of `step`.
absl::StatusOr<Bytes> ReadAll(ByteSource& source, size_t step) {
  Bytes all, piece(step);
  for (;;) {
    EXPECT_GE(source.bound(), 0u);
    const absl::StatusOr<size_t> count = source.Read(piece);
    if (!count.ok()) return count.status();
    all.insert(all.end(), piece.begin(), piece.begin() + *count);
    if (*count < step) return all;
  }
}

absl::StatusOr<Bytes> Unpack(const Bytes& packed, size_t step = 1 << 20) {
  absl::StatusOr<std::unique_ptr<ByteSource>> source = Unpacked(MemorySource(packed));
  if (!source.ok()) return source.status();
  return ReadAll(**source, step);
}

TEST(ByteSourceTest, PlainBytesPassUnchanged) {
  for (size_t size : {0, 1, 2, 3, 1000}) {
    for (size_t step : {1, 2, 3, 7, 4096}) EXPECT_EQ(*Unpack(Elements(size), step), Elements(size));
  }
}

TEST(ByteSourceTest, GzipIsUnpacked) {
  for (size_t size : {0, 1, 2, 3, 1000, 300000}) {
    for (size_t step : {1, 7, 4096, 1 << 20}) {
      EXPECT_EQ(*Unpack(Gzip(Elements(size)), step), Elements(size));
    }
  }
}

TEST(ByteSourceTest, GzipMembersFollowEachOther) {
  const Bytes packed = Gzip(Elements(10)) + Gzip({}) + Gzip(Elements(70000)) + Gzip(Elements(1));
  for (size_t step : {1, 11, 1 << 20}) {
    EXPECT_EQ(*Unpack(packed, step), Elements(10) + Elements(70000) + Elements(1));
  }
}

TEST(ByteSourceTest, BoundHoldsAtEveryPlace) {
  // Zeros are what gzip packs best.
  for (const Bytes& bytes : {Bytes(3000000), Elements(100000), Bytes()}) {
    for (const Bytes& packed : {bytes, Gzip(bytes)}) {
      auto source = Unpacked(MemorySource(packed)).value();
      Bytes piece(50000);
      size_t left = bytes.size();
      for (;;) {
        ASSERT_GE(source->bound(), left);
        ASSERT_TRUE(!source->exact() || source->bound() == left);
        const size_t count = source->Read(piece).value();
        left -= count;
        if (count < piece.size()) break;
      }
      EXPECT_EQ(left, 0u);
      EXPECT_EQ(source->bound(), 0u);
    }
  }
}

TEST(ByteSourceTest, CutGzipEndsEarlyAndSaysSo) {
  const Bytes bytes = Elements(500), packed = Gzip(bytes);
  for (size_t size = 2; size < packed.size(); ++size) {
    auto source = Unpacked(MemorySource(std::span(packed).first(size))).value();
    const absl::StatusOr<Bytes> read = ReadAll(*source, 1000);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_TRUE(source->truncated()) << size;
    EXPECT_LE(read->size(), bytes.size());
  }
  auto whole = Unpacked(MemorySource(packed)).value();
  ASSERT_TRUE(ReadAll(*whole, 1000).ok());
  EXPECT_FALSE(whole->truncated());
}

TEST(ByteSourceTest, DamagedGzipIsNoticed) {
  const Bytes bytes = Elements(500), packed = Gzip(bytes);
  // The ten bytes before hold the time and the system, the eleventh padding: they may be anything.
  for (size_t at = 11; at < packed.size(); ++at) {
    Bytes damaged = packed;
    damaged[at] ^= 0x10;
    auto source = Unpacked(MemorySource(damaged)).value();
    const absl::StatusOr<Bytes> read = ReadAll(*source, 100);
    EXPECT_TRUE(!read.ok() || source->truncated()) << "byte " << at;
  }
}

TEST(ByteSourceTest, NothingMayFollowGzip) {
  for (const Bytes& garbage : {Bytes{0}, Bytes{1, 2, 3}, Bytes{0x1f, 0x8c}}) {
    EXPECT_EQ(Unpack(Gzip(Elements(10)) + garbage).status().code(), absl::StatusCode::kDataLoss);
  }
}

TEST(ByteSourceTest, FilesAreRead) {
  const std::string folder = testing::NewFolder("byte_source");
  const std::string path = testing::WriteFile(folder, "a", Elements(100000));
  auto source = FileSource(path).value();
  EXPECT_EQ(source->bound(), 100000u);
  EXPECT_EQ(*ReadAll(*source, 4097), Elements(100000));
  EXPECT_EQ(source->bound(), 0u);
}

TEST(ByteSourceTest, MissingFilesAndFoldersAreErrors) {
  const std::string folder = testing::NewFolder("byte_source");
  const absl::Status missing = FileSource(folder + "/none").status();
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.message().find(folder + "/none"), absl::string_view::npos);
  EXPECT_FALSE(FileSource(folder).ok());
}

}  // namespace
}  // namespace dtnn
