#include "data/files/file_set.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Gzip;
using ::testing::HasSubstr;
using testing::Member;
using testing::NewFolder;
using testing::TarBytes;
using testing::WriteFile;
using testing::ZipBytes;

const FileSet& Set() {
  static const FileSet set = {.folder = "inner",
                              .archive = "set.tar.gz",
                              .names = {"a", "b", "c"},
                              .how_to_get = "Ask for it."};
  return set;
}

std::vector<Bytes> Contents(const absl::StatusOr<std::vector<LoadedFile>>& files) {
  std::vector<Bytes> contents;
  EXPECT_TRUE(files.ok()) << files.status();
  if (files.ok()) {
    for (const LoadedFile& file : *files) {
      contents.emplace_back(file.bytes.view().begin(), file.bytes.view().end());
      // Only files that nothing has to unpack.
      EXPECT_EQ(file.bytes.mapped(), file.where.find(": ") == std::string::npos) << file.where;
    }
  }
  return contents;
}

std::string Error(const FileSet& set, const std::string& path,
                  absl::StatusCode code = absl::StatusCode::kNotFound) {
  const absl::Status status = LoadFiles(set, path).status();
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

const std::vector<Bytes> kExpected = {{1}, {2, 2}, {}};
const std::vector<Member> kMembers = {
    {"inner/c", {}}, {"inner/readme", {9}}, {"inner/a", {1}}, {"inner/b", {2, 2}}};

TEST(FileSetTest, FindsEveryForm) {
  const std::string bare = NewFolder("bare");
  const std::string outer = NewFolder("outer");
  std::filesystem::create_directory(outer + "/inner");
  for (const std::string& folder : {bare, outer + "/inner"}) {
    WriteFile(folder, "a", Bytes{1});
    WriteFile(folder, "b", Bytes{2, 2});
    WriteFile(folder, "c", {});
  }
  const std::string packed = NewFolder("packed");
  const std::string archive = WriteFile(packed, "set.tar.gz", Gzip(TarBytes(kMembers)));
  const std::string zip = WriteFile(packed, "other.zip", ZipBytes(kMembers));
  const std::string tar =
      WriteFile(packed, "bare.tar", TarBytes({{"./b", {2, 2}}, {"a", {1}}, {"c", {}}}));
  for (const std::string& path : {bare, outer, outer + "/inner", packed, archive, zip, tar}) {
    EXPECT_EQ(Contents(LoadFiles(Set(), path)), kExpected) << path;
  }
  EXPECT_EQ((*LoadFiles(Set(), bare))[1].where, bare + "/b");
  EXPECT_EQ((*LoadFiles(Set(), archive))[1].where, archive + ": inner/b");
}

TEST(FileSetTest, UnpackedFilesComeBeforeTheArchive) {
  const std::string folder = NewFolder("both");
  WriteFile(folder, "set.tar.gz", Bytes{1, 2, 3});
  for (const char* name : {"a", "b", "c"}) WriteFile(folder, name, Bytes{7});
  EXPECT_EQ(Contents(LoadFiles(Set(), folder)), (std::vector<Bytes>{{7}, {7}, {7}}));
}

TEST(FileSetTest, NotFoundListsEveryName) {
  const std::string folder = NewFolder("empty");
  const std::string error = Error(Set(), folder);
  EXPECT_EQ(error, folder +
                       ": the folder contains none of a, b, c, no folder inner with them and no "
                       "set.tar.gz. Ask for it.");
  EXPECT_THAT(Error(Set(), folder + "/none"), HasSubstr("no such folder or archive"));
  const std::string archive = WriteFile(folder, "x.tar", TarBytes({{"other/a", {1}}}));
  EXPECT_THAT(Error(Set(), archive), HasSubstr("the archive contains none of a, b, c"));
}

TEST(FileSetTest, NotFoundNamesBothEndsOfALongList) {
  FileSet set = Set();
  set.names = {"f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9"};
  EXPECT_THAT(Error(set, NewFolder("long")), HasSubstr("contains none of f1 to f9, no folder"));
  set.names.pop_back();
  EXPECT_THAT(Error(set, NewFolder("long")),
              HasSubstr("contains none of f1, f2, f3, f4, f5, f6, f7, f8, no folder"));
}

TEST(FileSetTest, APartOfTheFilesIsNotEnough) {
  const std::string folder = NewFolder("part");
  WriteFile(folder, "b", Bytes{1});
  EXPECT_THAT(
      Error(Set(), folder),
      HasSubstr(folder + ": contains only a part of the data set; missing: a, c. Ask for it."));
  const std::string archive = WriteFile(folder, "set.tar.gz", TarBytes({{"a", {}}, {"b", {}}}));
  EXPECT_THAT(Error(Set(), archive),
              HasSubstr(archive + ": contains only a part of the data set; missing: c. "));
}

TEST(FileSetTest, NamesThatAreNotRequiredMayEndButNotMiss) {
  FileSet set = Set();
  set.required = 1;
  const std::string folder = NewFolder("some");
  WriteFile(folder, "b", Bytes{2});
  EXPECT_THAT(Error(set, folder), HasSubstr("missing: a. "));
  WriteFile(folder, "a", Bytes{1});
  EXPECT_EQ(Contents(LoadFiles(set, folder)), (std::vector<Bytes>{{1}, {2}}));
  std::filesystem::remove(folder + "/b");
  EXPECT_EQ(Contents(LoadFiles(set, folder)), (std::vector<Bytes>{{1}}));
  WriteFile(folder, "c", Bytes{1});
  EXPECT_THAT(Error(set, folder), HasSubstr("missing: b. "));
  const std::string archive = WriteFile(folder, "part.tar", TarBytes({{"b", {2}}, {"a", {1}}}));
  EXPECT_EQ(Contents(LoadFiles(set, archive)), (std::vector<Bytes>{{1}, {2}}));
}

TEST(FileSetTest, AFileOfTheLargestSizeIsRead) {
  FileSet set = Set();
  set.names = {"a"};
  set.max_file_bytes = 10;
  const std::string folder = NewFolder("largest");
  WriteFile(folder, "a", Bytes(10));
  EXPECT_EQ(Contents(LoadFiles(set, folder)), (std::vector<Bytes>{Bytes(10)}));
  WriteFile(folder, "a", Bytes(11));
  EXPECT_EQ(Error(set, folder, absl::StatusCode::kResourceExhausted),
            folder + "/a: is 11 bytes long; at most 10 are expected");
}

TEST(FileSetTest, HostileArchivesAreRefused) {
  const std::string folder = NewFolder("hostile");
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  const auto write = [&](const Bytes& bytes) { return WriteFile(folder, "set.tar.gz", bytes); };
  EXPECT_THAT(Error(Set(), write(TarBytes({{"a", {}}, {"inner/a", {}}})), kInvalid),
              HasSubstr("contains a twice"));
  EXPECT_THAT(Error(Set(), write(TarBytes({{"../a", {}}})), kInvalid), HasSubstr("../a"));
  // A link is not a file.
  EXPECT_THAT(Error(Set(), write(TarBytes({{"a", {}, '2'}, {"b", {}}, {"c", {}}}))),
              HasSubstr("missing: a. "));
  FileSet small = Set();
  small.max_file_bytes = 10;
  constexpr auto kTooLarge = absl::StatusCode::kResourceExhausted;
  EXPECT_THAT(Error(small, write(Gzip(TarBytes({{"a", Bytes(11)}}))), kTooLarge),
              HasSubstr("set.tar.gz: a: is 11 bytes long"));
  small = Set();
  small.max_total_bytes = 5000;
  Error(small, write(Gzip(TarBytes({{"a", {}}, {"zeros", Bytes(5000000)}}))), kTooLarge);
  WriteFile(folder, "a", Bytes(11));
  small.max_file_bytes = 10;
  for (const char* name : {"b", "c"}) WriteFile(folder, name, {});
  EXPECT_THAT(Error(small, folder, kTooLarge), HasSubstr("/a: is 11 bytes long"));
}

TEST(FileSetTest, AFolderInTheArchivesPlaceIsNoArchive) {
  const std::string folder = NewFolder("folder");
  std::filesystem::create_directory(folder + "/set.tar.gz");
  EXPECT_THAT(Error(Set(), folder), HasSubstr("and no set.tar.gz"));
  std::filesystem::create_directory(folder + "/a");
  for (const char* name : {"b", "c"}) WriteFile(folder, name, {});
  EXPECT_THAT(Error(Set(), folder, absl::StatusCode::kFailedPrecondition),
              HasSubstr("/a: is a folder, not a regular file"));
}

}  // namespace
}  // namespace dtnn
