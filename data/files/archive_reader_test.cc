#include "data/files/archive_reader.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/testing/archives.h"
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
using testing::Member;
using testing::TarBytes;
using testing::ZipBytes;

using Files = std::vector<std::pair<std::string, Bytes>>;

// Reads every member whole, or skips those whose name begins with '-'.
absl::StatusOr<Files> Drain(absl::StatusOr<ArchiveReader> archive) {
  if (!archive.ok()) return archive.status();
  Files files;
  for (;;) {
    const absl::StatusOr<bool> more = archive->Next();
    if (!more.ok()) {
      EXPECT_EQ(archive->Next().status(), more.status()) << "an error stays";
      return more.status();
    }
    if (!*more) return files;
    if (archive->member()[0] == '-') continue;
    absl::StatusOr<Bytes> bytes = archive->ReadAll();
    if (!bytes.ok()) return bytes.status();
    EXPECT_EQ(bytes->size(), archive->size());
    files.emplace_back(archive->member(), *std::move(bytes));
  }
}

absl::StatusOr<Files> Parse(const Bytes& bytes, const ArchiveLimits& limits = {}) {
  return Drain(ArchiveReader::Parse(bytes, "input", limits));
}

// The same through a file.
absl::StatusOr<Files> Open(const Bytes& bytes, const ArchiveLimits& limits = {}) {
  const std::string path = testing::WriteFile(testing::NewFolder("archive"), "input", bytes);
  return Drain(ArchiveReader::Open(path, limits));
}

const std::vector<Member>& Members() {
  static const std::vector<Member> members = {
      {"folder/one", Elements(1)},   {"./two", Elements(511)},       {"three", Elements(512)},
      {"-skipped", Elements(70000)}, {"a//b/./four", Elements(513)}, {"empty", {}},
      {"large", Elements(3000000)}};
  return members;
}

TEST(ArchiveReaderTest, TarPackedTarAndZipGiveTheSameFiles) {
  const Bytes tar = TarBytes(Members());
  Files expected;
  const char* names[] = {"folder/one", "two", "three", "-skipped", "a/b/four", "empty", "large"};
  for (size_t i = 0; i < Members().size(); ++i) {
    if (names[i][0] != '-') expected.emplace_back(names[i], Members()[i].bytes);
  }
  for (const Bytes& bytes : {tar, Gzip(tar), ZipBytes(Members())}) {
    EXPECT_EQ(Parse(bytes).value(), expected);
    EXPECT_EQ(Open(bytes).value(), expected);
  }
}

TEST(ArchiveReaderTest, ReadGivesPieces) {
  for (const Bytes& bytes : {TarBytes(Members()), ZipBytes(Members())}) {
    ArchiveReader archive = ArchiveReader::Parse(bytes, "input").value();
    while (archive.Next().value()) {
      if (archive.member() != "two") continue;
      Bytes piece(300);
      EXPECT_EQ(archive.Read(piece).value(), 300u);
      const Bytes whole = Elements(511);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin()));
      EXPECT_EQ(archive.Read(piece).value(), 211u);
      EXPECT_EQ(archive.Read(piece).value(), 0u);
    }
    EXPECT_FALSE(archive.Next().value()) << "the end stays the end";
  }
}

TEST(ArchiveReaderTest, OffsetsLeadToTheBytesOfPlainTars) {
  const Bytes inner = TarBytes({{"deep", Elements(900)}, {"deeper", Elements(1000)}});
  const Bytes tar = TarBytes({{"first", Elements(1000)}, {"inner.tar", inner}, {"last", {1, 2}}});
  const std::string path = testing::WriteFile(testing::NewFolder("archive"), "outer.tar", tar);
  ArchiveReader archive = ArchiveReader::Open(path).value();
  while (archive.Next().value()) {
    const uint64_t begin = archive.offset().value();
    const Bytes expected(tar.begin() + int64_t(begin),
                         tar.begin() + int64_t(begin + archive.size()));
    if (archive.member() == "inner.tar") {
      ArchiveReader nested = ArchiveReader::OpenRange(path, begin, archive.size()).value();
      ASSERT_TRUE(nested.Next().value());
      EXPECT_EQ(nested.offset().value(), begin + 512);
      ASSERT_TRUE(nested.Next().value());
      EXPECT_EQ(nested.member(), "deeper");
      EXPECT_EQ(nested.offset().value(), begin + 512 + 1024 + 512);
      EXPECT_EQ(nested.ReadAll().value(), Elements(1000));
      EXPECT_FALSE(nested.Next().value());
    }
    EXPECT_EQ(archive.ReadAll().value(), expected);
  }
  EXPECT_FALSE(ArchiveReader::Parse(Gzip(tar), "input").value().offset().has_value());
}

TEST(ArchiveReaderTest, NamesThatLeadOutAreRefused) {
  for (const char* name : {"/etc/passwd", "../x", "a/../../x", "a/..", "..", "//x"}) {
    for (const Bytes& bytes :
         {TarBytes({{"ok", {1}}, {name, {1}}}), ZipBytes({{"ok", {1}}, {name, {1}}})}) {
      const absl::Status status = Parse(bytes).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
      EXPECT_THAT(std::string(status.message()), HasSubstr(name));
      EXPECT_THAT(std::string(status.message()), HasSubstr("input"));
    }
  }
  EXPECT_TRUE(Parse(TarBytes({{"..a/b..", {1}}})).ok()) << "dots alone are no way out";
}

TEST(ArchiveReaderTest, FoldersAndLinksArePassedOver) {
  const Bytes tar = TarBytes({{"./", {}, '5'},
                              {"folder/", {}, '5'},
                              {"soft", {}, '2'},
                              {"hard", {}, '1'},
                              {"folder/file", {7}}});
  EXPECT_EQ(Parse(tar).value(), (Files{{"folder/file", {7}}}));
}

TEST(ArchiveReaderTest, LimitsHold) {
  const Bytes zeros(1000000);
  for (const Bytes& bytes : {Gzip(TarBytes({{"bomb", zeros}})), ZipBytes({{"bomb", zeros}}),
                             TarBytes({{"bomb", zeros}})}) {
    for (const ArchiveLimits& limits :
         {ArchiveLimits{.member_bytes = 999999}, ArchiveLimits{.total_bytes = 999999}}) {
      const absl::Status status = Open(bytes, limits).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    }
  }
  for (const Bytes& bytes : {Gzip(TarBytes({{"bomb", zeros}})), ZipBytes({{"bomb", zeros}})}) {
    EXPECT_EQ(Open(bytes, {.member_bytes = 1000000}).status(), absl::OkStatus());
    EXPECT_THAT(std::string(Open(bytes, {.member_bytes = 999999}).status().message()),
                EndsWith("input: bomb: is 1000000 bytes long; at most 999999 are expected"));
    EXPECT_THAT(std::string(Open(bytes, {.total_bytes = 999999}).status().message()),
                HasSubstr(": the archive unpacks to more than 999999 bytes, which is more than "
                          "expected; is it the right archive, and is it intact?"));
  }
  // A .zip counts by its contents, a packed .tar by all that it unpacks to.
  EXPECT_EQ(Open(ZipBytes({{"bomb", zeros}}), {.total_bytes = 1000000}).status(), absl::OkStatus());
  const Bytes tar = TarBytes({{"bomb", zeros}});
  EXPECT_EQ(Open(Gzip(tar), {.total_bytes = tar.size()}).status(), absl::OkStatus());
  EXPECT_FALSE(Open(Gzip(tar), {.total_bytes = tar.size() - 1}).ok());
  const Bytes three = TarBytes({{"a", {}}, {"b", {}}, {"c", {}}});
  EXPECT_TRUE(Parse(three, {.members = 3}).ok());
  EXPECT_EQ(Parse(three, {.members = 2}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Parse(three, {.members = 2}).status().message(), "input: contains more than 2 members");
}

TEST(ArchiveReaderTest, BombsBehindTheEndCountToo) {
  Bytes tar = TarBytes({{"small", {1}}});
  tar.resize(3000000);
  EXPECT_EQ(Parse(Gzip(tar), {.total_bytes = 1000000}).status().code(),
            absl::StatusCode::kResourceExhausted);
}

Bytes Cut(const Bytes& bytes, size_t length) {
  return Bytes(bytes.begin(), bytes.begin() + int64_t(length));
}

// Archives of a few hundred bytes at every byte, longer ones at every so many.
TEST(ArchiveReaderTest, EveryCutOfPackedArchivesIsNoticed) {
  const std::vector<Member> small = {{"one", Elements(7)}, {"two", Elements(6)}};
  const std::vector<Member> large = {{"one", Elements(700)}, {"two", Elements(600)}};
  for (const auto& [members, stride] : {std::pair(small, size_t{1}), {large, 41}}) {
    for (const Bytes& bytes : {Gzip(TarBytes(members)), ZipBytes(members)}) {
      for (size_t length = 0; length < bytes.size(); length += stride) {
        EXPECT_FALSE(Parse(Cut(bytes, length)).ok()) << length << " of " << bytes.size();
      }
      EXPECT_FALSE(Parse(Cut(bytes, bytes.size() - 1)).ok());
    }
  }
}

// A plain .tar says nothing of its length: a cut between members is an end.
TEST(ArchiveReaderTest, EveryCutOfAPlainTarButThoseBetweenMembersIsNoticed) {
  const Bytes tar = TarBytes({{"one", Elements(700)}, {"two", Elements(600)}});
  // Headers have 512 bytes, and contents are filled up to so many.
  const size_t second = 512 + 1024, end = second + 512 + 600;
  for (size_t length = 0; length < end; ++length) {
    const size_t in_block = length % 512;
    const bool is_near = in_block < 3 || in_block > 509 || length + 3 > end ||
                         (length >= 512 + 698 && length <= 512 + 702);
    if (length == second || !(is_near || length % 43 == 0)) continue;
    EXPECT_EQ(Open(Cut(tar, length)).status().code(), absl::StatusCode::kDataLoss) << length;
  }
  EXPECT_EQ(Open(Cut(tar, second)).value(), (Files{{"one", Elements(700)}}));
}

TEST(ArchiveReaderTest, DamageIsNoticed) {
  Bytes packed = Gzip(TarBytes({{"one", Elements(70000)}}));
  packed[packed.size() - 6] ^= 1;  // gzip's checksum
  EXPECT_EQ(Parse(packed).status().code(), absl::StatusCode::kDataLoss);
  Bytes zip = ZipBytes({{"one", Elements(70000)}});
  zip[zip.size() / 2] ^= 1;
  EXPECT_EQ(Parse(zip).status().code(), absl::StatusCode::kDataLoss);
}

TEST(ArchiveReaderTest, DamageIsNamed) {
  const Bytes tar = TarBytes({{"one", Elements(700)}, {"two", Elements(600)}});
  const auto error = [](const Bytes& bytes, size_t length) {
    return std::string(
        Parse(Bytes(bytes.begin(), bytes.begin() + long(length))).status().message());
  };
  // In the second member, packed and not, and after the last one, where only gzip's end is missing.
  EXPECT_THAT(error(tar, 2100), HasSubstr("input: two: cannot be read as .tar, .tar.gz or .zip ("));
  const Bytes packed = Gzip(tar);
  EXPECT_THAT(error(packed, packed.size() / 2), HasSubstr(": the archive is truncated ("));
  EXPECT_THAT(error(packed, packed.size() / 2),
              EndsWith("); is the download complete? Download it again"));
  EXPECT_EQ(error(packed, packed.size() - 1),
            "input: the gzip data is truncated; download it again");
  Bytes encrypted = ZipBytes({{"one", Elements(10)}});
  const Bytes directory = {'P', 'K', 1, 2};
  const auto at =
      std::search(encrypted.begin(), encrypted.end(), directory.begin(), directory.end()) -
      encrypted.begin();
  encrypted[size_t(at) + 8] |= 1;
  encrypted[6] |= 1;
  EXPECT_EQ(Parse(encrypted).status().message(), "input: one: is encrypted");
}

TEST(ArchiveReaderTest, SparseFilesAreRefused) {
  // As GNU tar stores a file of 1010 bytes whose first thousand are a hole.
  const std::string holes =
      "22 GNU.sparse.major=0\n22 GNU.sparse.minor=0\n"
      "24 GNU.sparse.size=1010\n26 GNU.sparse.numblocks=1\n"
      "26 GNU.sparse.offset=1000\n26 GNU.sparse.numbytes=10\n";
  const Bytes tar =
      TarBytes({{"about", Bytes(holes.begin(), holes.end()), 'x'}, {"holes", Elements(10)}});
  EXPECT_EQ(Parse(tar).status().message(),
            "input: holes: is stored as a sparse file or without its size; store it as a plain "
            "file");
}

TEST(ArchiveReaderTest, MemoryFollowsTheDataNotThePromise) {
  const Bytes tar = TarBytes({{"much", Elements(100), '0', int64_t{1} << 32}});
  const absl::Status status = Parse(tar, {.member_bytes = ~uint64_t{0}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << status;
}

TEST(ArchiveReaderTest, WhatIsNoArchiveIsRefused) {
  EXPECT_THAT(std::string(Parse(Elements(5000)).status().message()), HasSubstr(".tar.gz"));
  EXPECT_FALSE(Parse({}).ok());
  EXPECT_EQ(ArchiveReader::Open("/nonexistent/x.tar").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ArchiveReader::Open(testing::NewFolder("archive")).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST(ArchiveReaderTest, AFileOfAnotherKindIsNamed) {
  const std::string page = "<!DOCTYPE html><title>Sign in</title>" + std::string(2000, ' ');
  const Bytes bytes(page.begin(), page.end());
  const std::string expected =
      ": is an HTML page (a report, or a download that needs a login or another address?); "
      "expected a .tar, "
      ".tar.gz or .zip archive";
  EXPECT_EQ(Parse(bytes).status().message(), "input" + expected);
  EXPECT_THAT(std::string(Open(bytes).status().message()), HasSubstr(expected));
}

}  // namespace
}  // namespace dtnn
