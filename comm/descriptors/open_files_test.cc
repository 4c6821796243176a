#include "comm/descriptors/open_files.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>

#include "gtest/gtest.h"

namespace dtnn {
namespace {

int64_t SoftLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return int64_t(limit.rlim_cur);
}

// In a process of its own: a hard limit that was lowered stays so.
void PrintLimits() {
  const rlimit limit = {.rlim_cur = 100, .rlim_max = 300};
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(1);
  std::cerr << OpenFilesAllowed();
  for (const int64_t needed : {50, 150, 301}) {
    std::cerr << "\n" << AllowOpenFiles(needed) << " " << SoftLimit();
  }
  LimitOpenFiles(400);
  std::cerr << "\n" << SoftLimit();
  LimitOpenFiles(100);
  std::cerr << " " << SoftLimit() << " " << AllowOpenFiles(300) << "\n";
  _exit(0);
}

TEST(OpenFilesDeathTest, TheSoftLimitIsRaisedUpToTheHardOneAndLowered) {
  EXPECT_EXIT(PrintLimits(), ::testing::ExitedWithCode(0),
              "^100\n100 100\n150 150\n300 300\n300 100 300\n$");
}

}  // namespace
}  // namespace dtnn
