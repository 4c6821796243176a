#include "kernels/libraries/library_version.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

absl::StatusCode CodeOf(const LibraryVersion& found) {
  return CheckLibraryVersion("cuDNN", found, {9, 8, 1}).code();
}

TEST(LibraryVersionTest, NewerOnesOfTheSameMajorVersionWillDo) {
  for (const LibraryVersion& found :
       {LibraryVersion{9, 8, 1}, LibraryVersion{9, 8, 2}, LibraryVersion{9, 10, 0}}) {
    EXPECT_EQ(CodeOf(found), absl::StatusCode::kOk) << found.ToString();
  }
  for (const LibraryVersion& found : {LibraryVersion{9, 8, 0}, LibraryVersion{9, 7, 9},
                                      LibraryVersion{8, 9, 7}, LibraryVersion{10, 0, 0}}) {
    EXPECT_EQ(CodeOf(found), absl::StatusCode::kFailedPrecondition) << found.ToString();
  }
}

TEST(LibraryVersionTest, TheErrorNamesBoth) {
  EXPECT_EQ(CheckLibraryVersion("NCCL", LibraryVersion::Of(21703, 10000, 100),
                                LibraryVersion::Of(22805, 10000, 100))
                .message(),
            "found version 2.17.3 of NCCL, and this program needs 2.28.5 or a newer one of NCCL 2; "
            "install it, or build with the one that is there");
}

}  // namespace
}  // namespace dtnn
