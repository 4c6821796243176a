#include "data/files/tar_index.h"

#include <vector>

#include "data/datasets/file_list.h"
#include "data/testing/archives.h"
#include "data/testing/idx_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using testing::Bytes;
using testing::Elements;
using ::testing::HasSubstr;
using testing::TarBytes;

const Bytes kInner = TarBytes({{"x", {1, 2, 3}}, {"y", {}}, {"z", Elements(700)}});

std::string WriteArchive() {
  return testing::WriteFile(
      testing::NewFolder("tar_index"), "outer.tar",
      TarBytes({{"folder/", {}, '5'}, {"a", {9, 8}}, {"folder/b.tar", kInner}}));
}

TEST(TarIndexTest, MembersAreReadInPlace) {
  const std::string path = WriteArchive();
  FileList files;
  const int32_t outer = files.AddContainer(path);
  ASSERT_TRUE(IndexTar(path, [&](const TarMember& member) {
                files.Add(outer, member.name, member.offset, member.size);
                if (member.name != "folder/b.tar") return absl::OkStatus();
                return IndexTarMember(path, member, [&](const TarMember& inner) {
                  files.Add(outer, inner.name, inner.offset, inner.size);
                  return absl::OkStatus();
                });
              }).ok());
  const std::vector<std::pair<std::string, Bytes>> expected = {
      {"a", {9, 8}}, {"folder/b.tar", kInner}, {"x", {1, 2, 3}}, {"y", {}}, {"z", Elements(700)}};
  ASSERT_EQ(files.size(), 5);
  for (int64_t i = 0; i < 5; ++i) {
    Bytes bytes;
    EXPECT_TRUE(files.Read(i, bytes).ok());
    EXPECT_EQ(bytes, expected[size_t(i)].second);
    EXPECT_EQ(files.Name(i), path + ": " + expected[size_t(i)].first);
  }
}

TEST(TarIndexTest, VisitorsErrorsEndTheVisit) {
  int visits = 0;
  const absl::Status status = IndexTar(WriteArchive(), [&](const TarMember&) {
    ++visits;
    return absl::CancelledError("enough");
  });
  EXPECT_EQ(status.message(), "enough");
  EXPECT_EQ(visits, 1);
}

TEST(TarIndexTest, CompressedArchivesAreRefused) {
  const std::string path = testing::WriteFile(testing::NewFolder("tar_index"), "outer.tar.gz",
                                              testing::Gzip(TarBytes({{"a", {1}}})));
  const absl::Status status = IndexTar(path, [](const TarMember&) { return absl::OkStatus(); });
  EXPECT_THAT(std::string(status.message()), HasSubstr(path + ": is compressed"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("gunzip"));
}

// What is to be unpacked is the member, not the archive around it, which is plain.
TEST(TarIndexTest, ACompressedMemberIsRefusedByItsName) {
  const std::string path =
      testing::WriteFile(testing::NewFolder("tar_index"), "outer.tar",
                         TarBytes({{"n01.tar", testing::Gzip(TarBytes({{"a", {1}}}))}}));
  const absl::Status status = IndexTar(path, [&](const TarMember& member) {
    return IndexTarMember(path, member, [](const TarMember&) { return absl::OkStatus(); });
  });
  EXPECT_EQ(status.message(),
            path + ": n01.tar: is compressed, so it does not support random access; unpack " +
                path +
                ", decompress the archives in it, and pack them again (`tar cf`, without z)");
}

TEST(TarIndexTest, HiddenNamesAreSkipped) {
  const std::string path = testing::WriteFile(testing::NewFolder("tar_index"), "outer.tar",
                                              TarBytes({{"./a", {1}},
                                                        {"._a", {2}},
                                                        {"b/.c", {3}},
                                                        {".d/e", {4}},
                                                        {"__MACOSX/f", {5}},
                                                        {"g/h.i", {6}}}));
  std::vector<std::string> names;
  ASSERT_TRUE(IndexTar(path, [&](const TarMember& member) {
                names.push_back(member.name);
                return absl::OkStatus();
              }).ok());
  EXPECT_THAT(names, ::testing::ElementsAre("a", "g/h.i"));
}

TEST(FileListTest, FilesInFoldersAndTruncatedArchives) {
  const std::string folder = testing::NewFolder("file_list");
  testing::WriteFile(folder, "a", Bytes{1, 2});
  const std::string archive = testing::WriteFile(folder, "b.tar", TarBytes({{"m", {5, 6}}}));
  FileList files;
  files.Add(files.AddContainer(folder), "a");
  const int32_t tar = files.AddContainer(archive);
  files.Add(tar, "m", 512, 2);
  files.Add(tar, "behind", 1 << 20, 2);
  files.Add(tar, "huge", 0, uint64_t{1} << 40);
  Bytes bytes;
  ASSERT_TRUE(files.Read(0, bytes).ok());
  EXPECT_EQ(bytes, (Bytes{1, 2}));
  EXPECT_EQ(files.Name(0), folder + "/a");
  ASSERT_TRUE(files.Read(1, bytes).ok());
  EXPECT_EQ(bytes, (Bytes{5, 6}));
  EXPECT_EQ(files.Read(2, bytes).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(files.Read(3, bytes).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace dtnn
