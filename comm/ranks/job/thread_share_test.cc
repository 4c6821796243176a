#include "comm/ranks/job/thread_share.h"

#include "gtest/gtest.h"

namespace dtnn {
namespace {

TEST(ThreadShareTest, RanksThatMayRunAnywhereDivideTheMachine) {
  EXPECT_EQ(ShareThreads(16, 16, 1).threads, 16);
  EXPECT_EQ(ShareThreads(16, 16, 4).threads, 4);
  EXPECT_EQ(ShareThreads(16, 16, 5).threads, 3);
  EXPECT_EQ(ShareThreads(2, 2, 12).threads, 1);  // more ranks than processors
  EXPECT_EQ(ShareThreads(16, 16, 5).warning, "");
  EXPECT_EQ(ShareThreads(2, 2, 12).warning, "");
}

TEST(ThreadShareTest, ABoundRankUsesNoMoreThanItIsBoundTo) {
  EXPECT_EQ(ShareThreads(4, 16, 4).threads, 4);
  EXPECT_EQ(ShareThreads(8, 16, 4).threads, 4);  // two share a socket
  EXPECT_EQ(ShareThreads(1, 2, 2).warning, "");
}

TEST(ThreadShareTest, IdleProcessorsAreTold) {
  const ThreadShare share = ShareThreads(1, 16, 2);
  EXPECT_EQ(share.threads, 1);
  EXPECT_EQ(share.warning,
            "each of the 2 processes on this machine is bound to 1 of its 16 processors; with "
            "mpirun --bind-to none each can use 8");
}

TEST(ThreadShareTest, TheUsersNumberStands) {
  ASSERT_EQ(setenv("OMP_NUM_THREADS", "1", 1), 0);
  EXPECT_EQ(ShareThreadsHere(1).warning, "");
  ASSERT_EQ(unsetenv("OMP_NUM_THREADS"), 0);
  EXPECT_GE(ShareThreadsHere(1).threads, 1);
}

}  // namespace
}  // namespace dtnn
