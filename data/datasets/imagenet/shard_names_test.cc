#include "data/datasets/imagenet/shard_names.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

using Files = std::vector<std::string>;

std::string Error(const Files& files) { return std::string(CheckShardNames(files).message()); }

TEST(ShardNamesTest, WholeSetsAndFreeNamesAreFine) {
  EXPECT_EQ(CheckShardNames({}), absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/train-0-of-1.npz"}), absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/train-00001-of-00002.npz", "d/train-00000-of-00002.npz"}),
            absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/a.npz", "d/train-5.npz", "d/one-of-us.npz", "d/-of-5.npz"}),
            absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/00000-of-00002.npz", "d/00001-of-00002.npz"}), absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/train-0-of-3.npy"}), absl::OkStatus());
  EXPECT_EQ(CheckShardNames({"d/a-b-0-of-2.npz", "d/a-b-1-of-2.npz"}), absl::OkStatus());
}

TEST(ShardNamesTest, MissingFilesAreNamed) {
  EXPECT_EQ(Error({"d/train-00000-of-00003.npz", "d/train-00002-of-00003.npz"}),
            "d/train-00001-of-00003.npz: is missing of 3 files; is the copy complete? To use a "
            "part of them, rename them without \"-of-\"");
  Files some;
  for (int i = 0; i < 300; ++i) {
    some.push_back("d/train-00" + std::to_string(1000 + i).substr(1) + "-of-01024.npz");
  }
  EXPECT_EQ(Error(some),
            "d/train-00300-of-01024.npz: is missing, and so are 723 others of 1024 files; is the "
            "copy complete? To use a part of them, rename them without \"-of-\"");
  EXPECT_EQ(Error({"d/my-own-train-0-of-2.npz"}),
            "d/my-own-train-1-of-2.npz: is missing of 2 files; is the copy complete? To use a part "
            "of them, rename them without \"-of-\"");
  EXPECT_EQ(Error({"d/train-1-of-2.npz"}),
            "d/train-0-of-2.npz: is missing of 2 files; is the copy complete? To use a part of "
            "them, rename them without \"-of-\"");
  // However many a name promises.
  EXPECT_NE(Error({"d/train-0-of-9000000000000000000.npz"}), "");
}

TEST(ShardNamesTest, FilesOfTwoSetsAreRefused) {
  const std::string one = "d/train-00000-of-00001.npz";
  for (const char* const other :
       {"d/train-00000-of-00002.npz", "d/train-00001-of-00002.npz", "d/train-0000-of-0001.npz",
        "d/val-00000-of-00001.npz", "d/more.npz"}) {
    for (const Files& files : {Files{one, other}, Files{other, one}}) {
      EXPECT_EQ(Error(files), files[1] + ": is not of the same set as " + files[0] +
                                  ", so that some images would be read twice; delete the files of "
                                  "one, or put them into a folder of their own");
    }
  }
}

}  // namespace
}  // namespace dtnn
